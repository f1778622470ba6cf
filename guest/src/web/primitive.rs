//! The conversion of objects to primitive values. If an object is converted again while its conversion is running, the
//! engine assumes a cycle and returns `0` or `""` instead: `+money` with `valueOf() { return parseFloat(`${this}`) }`
//! would be `NaN`, and an endless `toString` would return `"0"`. The conversion here treats only arrays that contain
//! themselves in this way, as browsers do.
//!
//! An object without a prototype would still be converted by the engine: see [`super::prototype`]. The engine's
//! conversion also remains in use if a script sets an object's `Symbol.toPrimitive`, own or inherited, to `undefined` or
//! `null`.

use super::{
    helper::{hidden, type_error},
    intrinsic,
};
use boa_engine::{
    Context, JsArgs, JsObject, JsResult, JsString, JsSymbol, JsValue, NativeFunction, js_string,
    native_function::NativeFunctionPointer, object::FunctionObjectBuilder,
};
use std::cell::RefCell;

thread_local! {
    /// The arrays whose conversion to text is running, the outermost first.
    static CONVERTING: RefCell<Vec<JsObject>> = const { RefCell::new(Vec::new()) };
}

/// Installs the conversions on `Object.prototype` and `Date.prototype`.
pub fn install(context: &Context) {
    let constructors = context.intrinsics().constructors();
    let methods: [(JsObject, NativeFunctionPointer); 2] = [
        (constructors.object().prototype(), object_to_primitive),
        (constructors.date().prototype(), date_to_primitive),
    ];
    for (prototype, convert) in methods {
        // Writable, so that a script can assign its own conversion to an object.
        prototype.insert_property(JsSymbol::to_primitive(), hidden(conversion(convert, context)));
    }
}

/// The conversion of ordinary objects, as a function.
pub fn object_conversion(context: &Context) -> JsObject {
    conversion(object_to_primitive, context)
}

fn conversion(convert: NativeFunctionPointer, context: &Context) -> JsObject {
    FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(convert))
        .name(js_string!("[Symbol.toPrimitive]"))
        .length(1)
        .build()
        .into()
}

fn object_to_primitive(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    // The receiver is a primitive only if a script calls this function directly.
    let Some(object) = this.as_object() else { return Ok(this.clone()) };
    let is_text = arguments.get_or_undefined(0).as_string().is_some_and(|hint| hint == js_string!("string"));
    convert(&object, is_text, context)
}

fn date_to_primitive(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let Some(object) = this.as_object() else { return Err(type_error("the receiver is not an object")) };
    let hint = arguments.get_or_undefined(0).as_string().map(|hint| hint.to_std_string_lossy());
    match hint.as_deref() {
        Some("string" | "default") => convert(&object, true, context),
        Some("number") => convert(&object, false, context),
        _ => Err(type_error("the hint is none of \"string\", \"default\" and \"number\"")),
    }
}

/// ECMAScript's OrdinaryToPrimitive.
fn convert(object: &JsObject, is_text: bool, context: &mut Context) -> JsResult<JsValue> {
    let mut methods = [js_string!("valueOf"), js_string!("toString")];
    if is_text {
        methods.reverse();
    }
    for name in methods {
        let method = object.get(name, context)?;
        let Some(method) = method.as_callable() else { continue };
        let value = if intrinsic::is_array_text(&method, context) {
            array_text(object, &method, context)?
        } else {
            method.call(&object.clone().into(), &[], context)?
        };
        if !value.is_object() {
            return Ok(value);
        }
    }
    Err(type_error("cannot convert object to primitive value"))
}

/// The built-in text of an array, which is empty for an array nested in itself.
fn array_text(array: &JsObject, method: &JsObject, context: &mut Context) -> JsResult<JsValue> {
    let is_within = CONVERTING.with_borrow(|converting| converting.iter().any(|other| JsObject::equals(other, array)));
    if is_within {
        return Ok(JsString::default().into());
    }
    CONVERTING.with_borrow_mut(|converting| converting.push(array.clone()));
    let text = method.call(&array.clone().into(), &[], context);
    CONVERTING.with_borrow_mut(Vec::pop);
    text
}
