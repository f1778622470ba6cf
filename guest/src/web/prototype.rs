//! Emulates objects without a prototype. The engine's own conversion of an object to a primitive value returns `0` or
//! `""` if it meets the same object again (see [`super::primitive`]), and it is used for every object without a
//! `Symbol.toPrimitive`. So every object must find one. If a script removes an object's prototype, the object gets a
//! stand-in prototype that has the guest's conversion and nothing else, and every function that returns prototypes
//! returns `null` for the stand-in.
//!
//! This does not cover objects that the engine itself creates without a prototype. Those are literals with
//! `__proto__: null` and classes that extend `null`, which the host refuses if they define a conversion
//! (`host/src/program/tree.rs`), and objects that the engine's own methods return, such as the groups of a match.

#[cfg(test)]
mod tests;

use super::{helper::hidden, primitive};
use boa_engine::{
    Context, JsArgs, JsObject, JsResult, JsString, JsSymbol, JsValue, NativeFunction,
    builtins::proxy::Proxy,
    gc::{Finalize, Trace},
    js_string,
    object::FunctionObjectBuilder,
    property::{PropertyDescriptor, PropertyKey},
};

/// A built-in function, and the stand-in prototype.
#[derive(Clone, Debug, Trace, Finalize)]
struct Original {
    function: JsObject,
    stand_in: JsObject,
}

/// The replacement of a built-in function that sets or returns a prototype.
type Wrapper = fn(&JsValue, &[JsValue], &Original, &mut Context) -> JsResult<JsValue>;

/// Wraps the built-in functions that set, remove or return a prototype.
pub fn install(context: &mut Context) -> JsResult<()> {
    let stand_in = JsObject::with_null_proto();
    stand_in.insert_property(JsSymbol::to_primitive(), hidden(primitive::object_conversion(context)));
    let object = context.intrinsics().constructors().object().constructor();
    let prototype = context.intrinsics().constructors().object().prototype();
    let reflect = context.global_object().get(js_string!("Reflect"), context)?;
    let reflect = reflect.as_object().unwrap_or_else(JsObject::with_null_proto);
    let methods: [(&JsObject, &str, usize, Wrapper); 5] = [
        (&object, "create", 2, create),
        (&object, "setPrototypeOf", 2, set_prototype_of),
        (&object, "getPrototypeOf", 1, get_prototype_of),
        (&reflect, "setPrototypeOf", 2, set_prototype_of),
        (&reflect, "getPrototypeOf", 1, get_prototype_of),
    ];
    for (holder, name, length, wrapper) in methods {
        let key = PropertyKey::from(js_string!(name));
        let original = holder.borrow().properties().get(&key).and_then(|property| property.value().cloned());
        let Some(function) = original.and_then(|value| value.as_object()) else { continue };
        let original = Original { function, stand_in: stand_in.clone() };
        holder.insert_property(key, hidden(wrapped(original, wrapper, js_string!(name), length, context)));
    }
    let key = PropertyKey::from(js_string!("__proto__"));
    let accessors = prototype.borrow().properties().get(&key);
    let get = accessors.as_ref().and_then(|it| it.get()).and_then(JsValue::as_object);
    let set = accessors.as_ref().and_then(|it| it.set()).and_then(JsValue::as_object);
    let (Some(get), Some(set)) = (get, set) else { return Ok(()) };
    let get = Original { function: get, stand_in: stand_in.clone() };
    let get = wrapped(get, get_prototype_of, js_string!("get __proto__"), 0, context);
    let set = Original { function: set, stand_in };
    let set = wrapped(set, set_proto, js_string!("set __proto__"), 1, context);
    let accessors = PropertyDescriptor::builder().get(get).set(set).enumerable(false).configurable(true);
    prototype.insert_property(key, accessors.build());
    Ok(())
}

fn wrapped(original: Original, wrapper: Wrapper, name: JsString, length: usize, context: &Context) -> JsObject {
    let function = NativeFunction::from_copy_closure_with_captures(wrapper, original);
    FunctionObjectBuilder::new(context.realm(), function).name(name).length(length).build().into()
}

impl Original {
    fn call(&self, this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
        self.function.call(this, arguments, context)
    }

    /// The prototype that an object gets: the stand-in if the script sets `null`.
    fn substitute(&self, prototype: &JsValue, of: &JsValue) -> JsValue {
        // A proxy passes the prototype to its traps. An object without one, as `Object.prototype`, stays without.
        let needs_stand_in = |object: JsObject| !object.is::<Proxy>() && object.prototype().is_some();
        if prototype.is_null() && of.as_object().is_some_and(needs_stand_in) {
            self.stand_in.clone().into()
        } else {
            prototype.clone()
        }
    }
}

/// `Object.create(prototype, properties)`
fn create(this: &JsValue, arguments: &[JsValue], original: &Original, context: &mut Context) -> JsResult<JsValue> {
    if !arguments.get_or_undefined(0).is_null() {
        return original.call(this, arguments, context);
    }
    let arguments = [original.stand_in.clone().into(), arguments.get_or_undefined(1).clone()];
    original.call(this, &arguments, context)
}

/// `Object.setPrototypeOf(object, prototype)` and `Reflect.setPrototypeOf`
fn set_prototype_of(
    this: &JsValue,
    arguments: &[JsValue],
    original: &Original,
    context: &mut Context,
) -> JsResult<JsValue> {
    let (object, prototype) = (arguments.get_or_undefined(0), arguments.get_or_undefined(1));
    original.call(this, &[object.clone(), original.substitute(prototype, object)], context)
}

/// `object.__proto__ = prototype`
fn set_proto(this: &JsValue, arguments: &[JsValue], original: &Original, context: &mut Context) -> JsResult<JsValue> {
    original.call(this, &[original.substitute(arguments.get_or_undefined(0), this)], context)
}

/// `Object.getPrototypeOf(object)`, `Reflect.getPrototypeOf` and `object.__proto__`
fn get_prototype_of(
    this: &JsValue,
    arguments: &[JsValue],
    original: &Original,
    context: &mut Context,
) -> JsResult<JsValue> {
    let prototype = original.call(this, arguments, context)?;
    let is_stand_in = prototype.as_object().is_some_and(|prototype| JsObject::equals(&prototype, &original.stand_in));
    Ok(if is_stand_in { JsValue::null() } else { prototype })
}
