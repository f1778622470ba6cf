//! `RegExp.prototype.source`. The engine escapes each slash once too often: for `/a\/b/` it returns the source `a\\/b`,
//! which is a different expression.

use super::intrinsic;
use boa_engine::{
    Context, JsObject, JsResult, JsString, JsValue, NativeFunction,
    builtins::regexp::RegExp,
    js_string,
    object::{FunctionObjectBuilder, builtins::JsRegExp},
    property::PropertyDescriptor,
};

const SLASH: u16 = b'/' as u16;
const BACKSLASH: u16 = b'\\' as u16;

/// Replaces the engine's `get RegExp.prototype.source`.
pub fn install(context: &mut Context) {
    let getter = FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(get_source))
        .name(js_string!("get source"))
        .build();
    let property = PropertyDescriptor::builder().get(getter).enumerable(false).configurable(true).build();
    context.intrinsics().constructors().regexp().prototype().insert_property(js_string!("source"), property);
}

fn get_source(this: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let source = intrinsic::engine_regexp_source(this, context)?;
    Ok(source.as_string().map_or(source, |source| escaped_once(&source).into()))
}

/// The source with backslashes only before those slashes that would end a literal.
fn escaped_once(source: &JsString) -> JsString {
    if !source.as_str().iter().any(|unit| unit == SLASH) {
        return source.clone();
    }
    let units = source.to_vec();
    let mut text = Vec::with_capacity(units.len());
    let (mut in_class, mut escaped) = (false, false);
    for (index, unit) in units.iter().copied().enumerate() {
        // Skip the backslash that the engine inserted before the slash.
        if unit == BACKSLASH && units.get(index + 1) == Some(&SLASH) {
            continue;
        }
        if unit == SLASH && !escaped && !in_class {
            text.push(BACKSLASH);
        }
        if !escaped && unit == u16::from(b'[') {
            in_class = true;
        } else if !escaped && unit == u16::from(b']') {
            in_class = false;
        }
        escaped = unit == BACKSLASH && !escaped;
        text.push(unit);
    }
    JsString::from(text.as_slice())
}

/// A regular expression's source and flags, even if the script replaced the getters.
pub fn regexp_text(object: &JsObject, context: &mut Context) -> Option<(JsString, String)> {
    if !object.is::<RegExp>() {
        return None;
    }
    let source = get_source(&object.clone().into(), &[], context).ok()?.as_string()?;
    let unicode_sets = intrinsic::regexp_unicode_sets(object, context);
    let regexp = JsRegExp::from_object(object.clone()).ok()?;
    let flags = [
        ('d', regexp.has_indices(context).ok()?),
        ('g', regexp.global(context).ok()?),
        ('i', regexp.ignore_case(context).ok()?),
        ('m', regexp.multiline(context).ok()?),
        ('s', regexp.dot_all(context).ok()?),
        ('u', regexp.unicode(context).ok()?),
        ('v', unicode_sets),
        ('y', regexp.sticky(context).ok()?),
    ];
    Some((source, flags.iter().filter(|(_, set)| *set).map(|(flag, _)| *flag).collect()))
}
