//! Objects without a prototype, as far as scripts can tell. The engine's own conversion of an object into a primitive value
//! answers `0` or `""` where it meets the same object again (see [`super::primitive`]), and there is nothing between the two
//! that could tell: it looks up `Symbol.toPrimitive`, finds nothing and counts. So something must be found there. Where a
//! script takes an object's prototype away, the object gets one that has our conversion and nothing else, and what
//! tells prototypes says `null` of it.
//!
//! Not reached are objects whose prototype the engine takes away itself: literals with `__proto__: null` and classes that
//! extend `null`, which the host refuses where they have a conversion of their own (`host/src/program/tree.rs`), and what
//! the engine makes for its own methods, as the groups of a match.

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

/// A function of the language, and the prototype that stands for none.
#[derive(Clone, Debug, Trace, Finalize)]
struct Original {
    function: JsObject,
    none: JsObject,
}

/// What a function of the language does with a prototype.
type Around = fn(&JsValue, &[JsValue], &Original, &mut Context) -> JsResult<JsValue>;

/// Puts ours around whatever gives, takes away or tells a prototype.
pub fn install(context: &mut Context) -> JsResult<()> {
    let none = JsObject::with_null_proto();
    none.insert_property(JsSymbol::to_primitive(), hidden(primitive::of_objects(context)));
    let object = context.intrinsics().constructors().object().constructor();
    let prototype = context.intrinsics().constructors().object().prototype();
    let reflect = context.global_object().get(js_string!("Reflect"), context)?;
    let reflect = reflect.as_object().unwrap_or_else(JsObject::with_null_proto);
    let methods: [(&JsObject, &str, usize, Around); 5] = [
        (&object, "create", 2, create),
        (&object, "setPrototypeOf", 2, set),
        (&object, "getPrototypeOf", 1, told),
        (&reflect, "setPrototypeOf", 2, set),
        (&reflect, "getPrototypeOf", 1, told),
    ];
    for (holder, name, length, around) in methods {
        let key = PropertyKey::from(js_string!(name));
        let original = holder.borrow().properties().get(&key).and_then(|property| property.value().cloned());
        let Some(function) = original.and_then(|value| value.as_object()) else { continue };
        let ours = wrapped(Original { function, none: none.clone() }, around, js_string!(name), length, context);
        holder.insert_property(key, hidden(ours));
    }
    let key = PropertyKey::from(js_string!("__proto__"));
    let accessors = prototype.borrow().properties().get(&key);
    let get = accessors.as_ref().and_then(|it| it.get()).and_then(JsValue::as_object);
    let set = accessors.as_ref().and_then(|it| it.set()).and_then(JsValue::as_object);
    let (Some(get), Some(set)) = (get, set) else { return Ok(()) };
    let get = Original { function: get, none: none.clone() };
    let get = wrapped(get, told, js_string!("get __proto__"), 0, context);
    let set = wrapped(Original { function: set, none }, set_of_receiver, js_string!("set __proto__"), 1, context);
    let accessors = PropertyDescriptor::builder().get(get).set(set).enumerable(false).configurable(true);
    prototype.insert_property(key, accessors.build());
    Ok(())
}

fn wrapped(original: Original, around: Around, name: JsString, length: usize, context: &Context) -> JsObject {
    let function = NativeFunction::from_copy_closure_with_captures(around, original);
    FunctionObjectBuilder::new(context.realm(), function).name(name).length(length).build().into()
}

impl Original {
    fn call(&self, this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
        self.function.call(this, arguments, context)
    }

    /// The prototype that an object gets where a script says `null`.
    fn instead(&self, prototype: &JsValue, of: &JsValue) -> JsValue {
        // A proxy hands it to its traps. What has none already, as `Object.prototype`, keeps none.
        let takes = |object: JsObject| !object.is::<Proxy>() && object.prototype().is_some();
        if prototype.is_null() && of.as_object().is_some_and(takes) {
            self.none.clone().into()
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
    let arguments = [original.none.clone().into(), arguments.get_or_undefined(1).clone()];
    original.call(this, &arguments, context)
}

/// `Object.setPrototypeOf(object, prototype)` and `Reflect.setPrototypeOf`
fn set(this: &JsValue, arguments: &[JsValue], original: &Original, context: &mut Context) -> JsResult<JsValue> {
    let (object, prototype) = (arguments.get_or_undefined(0), arguments.get_or_undefined(1));
    original.call(this, &[object.clone(), original.instead(prototype, object)], context)
}

/// `object.__proto__ = prototype`
fn set_of_receiver(
    this: &JsValue,
    arguments: &[JsValue],
    original: &Original,
    context: &mut Context,
) -> JsResult<JsValue> {
    original.call(this, &[original.instead(arguments.get_or_undefined(0), this)], context)
}

/// `Object.getPrototypeOf(object)`, `Reflect.getPrototypeOf` and `object.__proto__`
fn told(this: &JsValue, arguments: &[JsValue], original: &Original, context: &mut Context) -> JsResult<JsValue> {
    let prototype = original.call(this, arguments, context)?;
    let is_none = prototype.as_object().is_some_and(|prototype| JsObject::equals(&prototype, &original.none));
    Ok(if is_none { JsValue::null() } else { prototype })
}
