//! Built-in functions of the language that the guest needs at run time, captured before a script can replace them.

use super::helper::type_error;
use boa_engine::{
    Context, JsArgs, JsData, JsError, JsObject, JsResult, JsString, JsSymbol, JsValue,
    builtins::error::Error,
    gc::{Finalize, Trace},
    js_string,
    property::PropertyKey,
};

/// The captured functions, stored in the realm. Every field is a callable object.
#[derive(Trace, Finalize, JsData)]
struct Intrinsic {
    error_stack: JsObject,
    regexp_source: JsObject,
    regexp_unicode_sets: JsObject,
    normalize: JsObject,
    is_array: JsObject,
    array_text: JsObject,
    property_is_enumerable: JsObject,
    /// Set by the prelude, which defines the class.
    dom_exception: Option<JsObject>,
}

/// Captures the functions. Called before anything else runs.
pub fn capture(context: &mut Context) -> JsResult<()> {
    let constructors = context.intrinsics().constructors();
    let intrinsic = Intrinsic {
        error_stack: getter(&constructors.error().prototype(), "stack")?,
        regexp_source: getter(&constructors.regexp().prototype(), "source")?,
        regexp_unicode_sets: getter(&constructors.regexp().prototype(), "unicodeSets")?,
        normalize: method(&constructors.string().prototype(), "normalize")?,
        is_array: method(&constructors.array().constructor(), "isArray")?,
        array_text: method(&constructors.array().prototype(), "toString")?,
        property_is_enumerable: method(&constructors.object().prototype(), "propertyIsEnumerable")?,
        dom_exception: None,
    };
    context.realm().host_defined_mut().insert(intrinsic);
    Ok(())
}

fn getter(holder: &JsObject, name: &str) -> JsResult<JsObject> {
    let property = holder.borrow().properties().get(&PropertyKey::from(js_string!(name)));
    let getter = property.and_then(|property| property.get().and_then(JsValue::as_object));
    getter.ok_or_else(|| type_error(format!("the engine has no getter {name}")))
}

fn method(holder: &JsObject, name: &str) -> JsResult<JsObject> {
    let property = holder.borrow().properties().get(&PropertyKey::from(js_string!(name)));
    let method = property.and_then(|property| property.value().and_then(JsValue::as_object));
    method.ok_or_else(|| type_error(format!("the engine has no method {name}")))
}

fn with<T>(context: &Context, take: impl FnOnce(&Intrinsic) -> T) -> Option<T> {
    context.realm().host_defined().get::<Intrinsic>().map(take)
}

/// The stack trace of an error's creation: one line per frame, the innermost first. Runs no code of the script.
pub fn error_stack(error: &JsObject, context: &mut Context) -> Option<JsString> {
    let getter = with(context, |intrinsic| intrinsic.error_stack.clone());
    getter?.call(&error.clone().into(), &[], context).ok()?.as_string()
}

/// Whether the target of a proxy is an array.
///
/// # Errors
/// When the proxy was revoked.
pub fn is_array(proxy: &JsObject, context: &mut Context) -> JsResult<bool> {
    let is_array = with(context, |intrinsic| intrinsic.is_array.clone());
    let answer = is_array.map(|is_array| is_array.call(&JsValue::undefined(), &[proxy.clone().into()], context));
    answer.transpose().map(|answer| answer.is_some_and(|answer| answer.to_boolean()))
}

/// Whether a function is the built-in `Array.prototype.toString`.
pub fn is_array_text(function: &JsObject, context: &Context) -> bool {
    with(context, |intrinsic| JsObject::equals(&intrinsic.array_text, function)).unwrap_or_default()
}

/// Whether an exotic object reports an own, enumerable property of that name.
///
/// # Errors
/// Errors thrown by the traps of a proxy.
pub fn property_is_enumerable(object: &JsObject, key: JsString, context: &mut Context) -> JsResult<bool> {
    let method = with(context, |intrinsic| intrinsic.property_is_enumerable.clone());
    let answer = method.map(|method| method.call(&object.clone().into(), &[key.into()], context));
    answer.transpose().map(|answer| answer.is_none_or(|answer| answer.to_boolean()))
}

/// The source of a regular expression as the engine's getter returns it.
pub fn engine_regexp_source(this: &JsValue, context: &mut Context) -> JsResult<JsValue> {
    let getter = with(context, |intrinsic| intrinsic.regexp_source.clone());
    getter.map_or(Ok(JsValue::undefined()), |getter| getter.call(this, &[], context))
}

/// Whether a regular expression has the flag `v`.
pub fn regexp_unicode_sets(regexp: &JsObject, context: &mut Context) -> bool {
    let getter = with(context, |intrinsic| intrinsic.regexp_unicode_sets.clone());
    let value = getter.and_then(|getter| getter.call(&regexp.clone().into(), &[], context).ok());
    value.is_some_and(|value| value.to_boolean())
}

/// The text in normalization form NFD, in which accents are separate characters.
pub fn decomposed(text: &JsString, context: &mut Context) -> JsString {
    let normalize = with(context, |intrinsic| intrinsic.normalize.clone());
    let form = [js_string!("NFD").into()];
    let normalized = normalize.and_then(|normalize| normalize.call(&text.clone().into(), &form, context).ok());
    normalized.and_then(|value| value.as_string()).unwrap_or_else(|| text.clone())
}

/// `keepDOMException(constructor)`: captures the class, so that Rust code can create such errors.
pub fn keep_dom_exception(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let constructor = arguments.get_or_undefined(0).as_object();
    if let Some(intrinsic) = context.realm().host_defined_mut().get_mut::<Intrinsic>() {
        intrinsic.dom_exception = constructor;
    }
    Ok(JsValue::undefined())
}

/// Creates a `DOMException` of that name.
pub fn dom_exception(name: &str, message: &str, context: &mut Context) -> JsError {
    let constructor = with(context, |intrinsic| intrinsic.dom_exception.clone()).flatten();
    let Some(constructor) = constructor else { return type_error(message.to_owned()) };
    let arguments = [js_string!(message).into(), js_string!(name).into()];
    match constructor.construct(&arguments, None, context) {
        Ok(exception) => JsError::from_opaque(exception.into()),
        Err(error) => error,
    }
}

/// `isError(value)`: whether an `Error` constructor created the value.
pub fn is_error(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    Ok(arguments.get_or_undefined(0).as_object().is_some_and(|object| object.is::<Error>()).into())
}

/// The value of a data property of an object or of its prototype chain. Runs no getter, and stops at a proxy.
pub fn inherited_data(object: &JsObject, key: &PropertyKey) -> Option<JsValue> {
    let mut holder = Some(object.clone());
    // A script can make the prototype chain arbitrarily long; the wanted properties are near its start.
    for _ in 0..64 {
        let current = holder?;
        if current.is::<boa_engine::builtins::proxy::Proxy>() {
            return None;
        }
        let property = current.borrow().properties().get(key);
        if let Some(property) = property {
            return property.value().cloned();
        }
        holder = current.prototype();
    }
    None
}

/// The object's `Symbol.toStringTag`, the name in `Object.prototype.toString`, if it is stored in a data property.
pub fn to_string_tag(object: &JsObject) -> Option<JsString> {
    inherited_data(object, &PropertyKey::from(JsSymbol::to_string_tag()))?.as_string()
}
