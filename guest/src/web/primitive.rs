//! Objects as primitive values. The engine takes an object that is converted while it is being converted for a cycle, and
//! answers `0` or `""` in its place: `+money` with `valueOf() { return parseFloat(`${this}`) }` would be `NaN`, and an
//! endless `toString` would come to `"0"`. Only arrays may be cut so, as browsers do where an array holds itself.
//!
//! An object that has no prototype would still be converted by the engine: see [`super::prototype`]. One is, if a script
//! puts `undefined` or `null` where the conversion stands, in the object itself or in what it inherits from.

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
    /// The arrays that are being written as text, the outermost first.
    static WRITING: RefCell<Vec<JsObject>> = const { RefCell::new(Vec::new()) };
}

/// Gives `Object.prototype` and `Date.prototype` a conversion of ours.
pub fn install(context: &Context) {
    let constructors = context.intrinsics().constructors();
    let methods: [(JsObject, NativeFunctionPointer); 2] =
        [(constructors.object().prototype(), of_object), (constructors.date().prototype(), of_date)];
    for (prototype, convert) in methods {
        // Writable, so that a script can assign one of its own to an object.
        prototype.insert_property(JsSymbol::to_primitive(), hidden(conversion(convert, context)));
    }
}

/// The conversion of ordinary objects, as a function.
pub fn of_objects(context: &Context) -> JsObject {
    conversion(of_object, context)
}

fn conversion(convert: NativeFunctionPointer, context: &Context) -> JsObject {
    FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(convert))
        .name(js_string!("[Symbol.toPrimitive]"))
        .length(1)
        .build()
        .into()
}

fn of_object(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    // A primitive value comes here only by a call of the script's own.
    let Some(object) = this.as_object() else { return Ok(this.clone()) };
    let is_text = arguments.get_or_undefined(0).as_string().is_some_and(|hint| hint == js_string!("string"));
    convert(&object, is_text, context)
}

fn of_date(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
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

/// The language's own text of an array, which is empty where the array stands within itself.
fn array_text(array: &JsObject, method: &JsObject, context: &mut Context) -> JsResult<JsValue> {
    let is_within = WRITING.with_borrow(|writing| writing.iter().any(|other| JsObject::equals(other, array)));
    if is_within {
        return Ok(JsString::default().into());
    }
    WRITING.with_borrow_mut(|writing| writing.push(array.clone()));
    let text = method.call(&array.clone().into(), &[], context);
    WRITING.with_borrow_mut(Vec::pop);
    text
}
