//! Parts of the language that are needed at run time, taken before a script can replace them.

use super::helper::type_error;
use boa_engine::{
    Context, JsArgs, JsData, JsError, JsObject, JsResult, JsString, JsSymbol, JsValue,
    builtins::error::Error,
    gc::{Finalize, Trace},
    js_string,
    property::PropertyKey,
};

/// Kept in the realm. A field is an object that can be called.
#[derive(Trace, Finalize, JsData)]
struct Intrinsic {
    error_stack: JsObject,
    regexp_source: JsObject,
    regexp_unicode_sets: JsObject,
    normalize: JsObject,
    is_array: JsObject,
    array_text: JsObject,
    property_is_enumerable: JsObject,
    /// Made by the prelude.
    dom_exception: Option<JsObject>,
}

/// Takes everything. Called before anything else runs.
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

/// Where an error was made: one line for each frame, the innermost first. Runs nothing of the script's.
pub fn error_stack(error: &JsObject, context: &mut Context) -> Option<JsString> {
    let getter = with(context, |intrinsic| intrinsic.error_stack.clone());
    getter?.call(&error.clone().into(), &[], context).ok()?.as_string()
}

/// Whether a proxy stands for an array.
///
/// # Errors
/// When it was revoked.
pub fn is_array(proxy: &JsObject, context: &mut Context) -> JsResult<bool> {
    let is_array = with(context, |intrinsic| intrinsic.is_array.clone());
    let answer = is_array.map(|is_array| is_array.call(&JsValue::undefined(), &[proxy.clone().into()], context));
    answer.transpose().map(|answer| answer.is_some_and(|answer| answer.to_boolean()))
}

/// Whether a function is the language's own `Array.prototype.toString`.
pub fn is_array_text(function: &JsObject, context: &Context) -> bool {
    with(context, |intrinsic| JsObject::equals(&intrinsic.array_text, function)).unwrap_or_default()
}

/// Whether an exotic object says that it has such a property and that enumeration shows it.
///
/// # Errors
/// What its traps throw.
pub fn property_is_enumerable(object: &JsObject, key: JsString, context: &mut Context) -> JsResult<bool> {
    let method = with(context, |intrinsic| intrinsic.property_is_enumerable.clone());
    let answer = method.map(|method| method.call(&object.clone().into(), &[key.into()], context));
    answer.transpose().map(|answer| answer.is_none_or(|answer| answer.to_boolean()))
}

/// What the engine says that a regular expression's source is.
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

/// The text with its letters and their accents apart.
pub fn decomposed(text: &JsString, context: &mut Context) -> JsString {
    let normalize = with(context, |intrinsic| intrinsic.normalize.clone());
    let form = [js_string!("NFD").into()];
    let normalized = normalize.and_then(|normalize| normalize.call(&text.clone().into(), &form, context).ok());
    normalized.and_then(|value| value.as_string()).unwrap_or_else(|| text.clone())
}

/// `keepDOMException(constructor)`: from now on, errors of that kind can be made in Rust.
pub fn keep_dom_exception(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let constructor = arguments.get_or_undefined(0).as_object();
    if let Some(intrinsic) = context.realm().host_defined_mut().get_mut::<Intrinsic>() {
        intrinsic.dom_exception = constructor;
    }
    Ok(JsValue::undefined())
}

/// A `DOMException` of that name.
pub fn dom_exception(name: &str, message: &str, context: &mut Context) -> JsError {
    let constructor = with(context, |intrinsic| intrinsic.dom_exception.clone()).flatten();
    let Some(constructor) = constructor else { return type_error(message.to_owned()) };
    let arguments = [js_string!(message).into(), js_string!(name).into()];
    match constructor.construct(&arguments, None, context) {
        Ok(exception) => JsError::from_opaque(exception.into()),
        Err(error) => error,
    }
}

/// `isError(value)`: whether it was made by an `Error` constructor.
pub fn is_error(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    Ok(arguments.get_or_undefined(0).as_object().is_some_and(|object| object.is::<Error>()).into())
}

/// The value of `Symbol.toStringTag`, or of another data property of the object or of what it inherits from: getters
/// are not run, and proxies not asked.
pub fn inherited_data(object: &JsObject, key: &PropertyKey) -> Option<JsValue> {
    let mut holder = Some(object.clone());
    // A chain can be made as long as memory is; what is looked for stands near its beginning.
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

/// The name under which `Object.prototype.toString` knows an object, if it says so in a data property.
pub fn to_string_tag(object: &JsObject) -> Option<JsString> {
    inherited_data(object, &PropertyKey::from(JsSymbol::to_string_tag()))?.as_string()
}
