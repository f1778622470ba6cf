//! `Math.random` and `crypto`: all random numbers come from the execution's own seeded generator. The engine's
//! generator would return the same numbers in every execution, because its seed is frozen in the image.

use super::{
    buffer::View,
    helper::{HIDDEN, hidden},
    intrinsic::dom_exception,
};
use crate::state::random_u64;
use boa_engine::{
    Context, JsArgs, JsResult, JsSymbol, JsValue, NativeFunction,
    builtins::typed_array::TypedArrayKind,
    js_string,
    object::{FunctionObjectBuilder, ObjectInitializer},
    property::Attribute,
};

/// The most bytes that one call of `crypto.getRandomValues` fills, as the platform specifies.
const RANDOM_BYTES_MAX: usize = 65_536;

pub fn install(context: &mut Context) -> JsResult<()> {
    let random = FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(math_random))
        .name(js_string!("random"))
        .build();
    context.intrinsics().objects().math().insert_property(js_string!("random"), hidden(random));
    let crypto = ObjectInitializer::new(context)
        .function(NativeFunction::from_fn_ptr(random_uuid), js_string!("randomUUID"), 0)
        .function(NativeFunction::from_fn_ptr(get_random_values), js_string!("getRandomValues"), 1)
        .property(JsSymbol::to_string_tag(), js_string!("Crypto"), Attribute::CONFIGURABLE)
        .build();
    context.register_global_property(js_string!("crypto"), crypto, HIDDEN)
}

/// A number in [0, 1) with 53 random bits.
fn math_random(_: &JsValue, _: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    const BITS: f64 = (1_u64 << 53) as f64;
    Ok(((random_u64() >> 11) as f64 / BITS).into())
}

/// A version 4 UUID (RFC 9562).
fn random_uuid(_: &JsValue, _: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let random = u128::from(random_u64()) << 64 | u128::from(random_u64());
    let (version, variant) = (0xF_u128 << 76, 0b11_u128 << 62);
    let bits = random & !version & !variant | 4 << 76 | 0b10 << 62;
    let hex = format!("{bits:032x}");
    let text = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    Ok(js_string!(text).into())
}

fn get_random_values(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let value = arguments.get_or_undefined(0);
    let view = match View::of(value, context)? {
        Some(view) if view.kind.is_some_and(is_integer) => view,
        _ => {
            let message = "crypto.getRandomValues fills a typed array of integers, such as new Uint8Array(16)";
            return Err(dom_exception("TypeMismatchError", message, context));
        }
    };
    if view.length > RANDOM_BYTES_MAX {
        let message = format!("crypto.getRandomValues fills at most {RANDOM_BYTES_MAX} bytes in one call");
        return Err(dom_exception("QuotaExceededError", &message, context));
    }
    view.write(|bytes| {
        for group in bytes.chunks_mut(8) {
            group.copy_from_slice(&random_u64().to_le_bytes()[..group.len()]);
        }
    })?;
    Ok(value.clone())
}

const fn is_integer(kind: TypedArrayKind) -> bool {
    !matches!(kind, TypedArrayKind::Float16 | TypedArrayKind::Float32 | TypedArrayKind::Float64)
}
