//! Base64 and hexadecimal: `atob`, `btoa` and the methods of `Uint8Array`.
//!
//! The decoder follows the ECMAScript proposal for `Uint8Array.fromBase64`; `atob` uses its loose mode.

use super::{
    buffer::{require_uint8_array, uint8_array},
    helper::{Helper, type_error},
    intrinsic::dom_exception,
};
use boa_engine::{
    Context, JsArgs, JsError, JsNativeError, JsObject, JsResult, JsString, JsValue, js_string,
    property::PropertyDescriptor, string::JsStr,
};

pub const HELPERS: &[Helper] = &[
    ("atob", 1, atob),
    ("btoa", 1, btoa),
    ("fromBase64", 1, from_base64),
    ("fromHex", 1, from_hex),
    ("toBase64", 0, to_base64),
    ("toHex", 0, to_hex),
    ("setFromBase64", 1, set_from_base64),
    ("setFromHex", 1, set_from_hex),
];

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// The handling of a last group with fewer than four characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastChunk {
    /// Its padding may be missing.
    Loose,
    /// It must be padded, and its unused bits zero.
    Strict,
    /// It is not decoded.
    StopBeforePartial,
}

/// The result of decoding, complete or up to the first fault.
struct Decoded {
    /// The number of characters consumed.
    read: usize,
    bytes: Vec<u8>,
    /// The fault after them, if any.
    fault: Option<&'static str>,
}

fn sextet(unit: u16, url_safe: bool) -> Option<u32> {
    let unit = u8::try_from(unit).ok()?;
    let value = match unit {
        b'A'..=b'Z' => unit - b'A',
        b'a'..=b'z' => unit - b'a' + 26,
        b'0'..=b'9' => unit - b'0' + 52,
        b'+' if !url_safe => 62,
        b'/' if !url_safe => 63,
        b'-' if url_safe => 62,
        b'_' if url_safe => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

const fn is_space(unit: u16) -> bool {
    matches!(unit, 0x09 | 0x0A | 0x0C | 0x0D | 0x20)
}

fn decode(text: JsStr<'_>, url_safe: bool, last: LastChunk, bytes_max: usize) -> Decoded {
    let mut decoded = Decoded { read: 0, bytes: Vec::with_capacity((text.len() / 4 * 3).min(bytes_max)), fault: None };
    if bytes_max == 0 {
        return decoded;
    }
    let mut units = text.iter().enumerate().filter(|(_, unit)| !is_space(*unit));
    let (mut chunk, mut held) = (0_u32, 0_u32);
    while let Some((index, unit)) = units.next() {
        if unit == u16::from(b'=') {
            return padding(decoded, units.map(|(_, unit)| unit), chunk, held, last, text.len());
        }
        let Some(value) = sextet(unit, url_safe) else {
            decoded.fault = Some("it has a character that is not of the alphabet");
            return decoded;
        };
        // A group that does not fit is left for the next call.
        let room = bytes_max - decoded.bytes.len();
        if (room == 1 && held == 2) || (room == 2 && held == 3) {
            return decoded;
        }
        chunk = chunk << 6 | value;
        held += 1;
        if held == 4 {
            decoded.bytes.extend_from_slice(&chunk.to_be_bytes()[1..]);
            (chunk, held) = (0, 0);
            decoded.read = index + 1;
            if decoded.bytes.len() == bytes_max {
                return decoded;
            }
        }
    }
    match (held, last) {
        (0, _) => decoded.read = text.len(),
        (_, LastChunk::StopBeforePartial) => {}
        (1, _) => decoded.fault = Some("its last group has a single character"),
        (_, LastChunk::Strict) => decoded.fault = Some("its padding is missing"),
        (_, LastChunk::Loose) => finish(&mut decoded, chunk, held, text.len()),
    }
    decoded
}

/// Checks the end of the text, from its first `=`.
fn padding(
    mut decoded: Decoded,
    mut rest: impl Iterator<Item = u16>,
    chunk: u32,
    held: u32,
    last: LastChunk,
    length: usize,
) -> Decoded {
    let complete = match held {
        0 | 1 => false,
        2 => match rest.next() {
            None if last == LastChunk::StopBeforePartial => return decoded,
            next => next == Some(u16::from(b'=')),
        },
        _ => true,
    };
    if !complete || rest.next().is_some() {
        decoded.fault = Some("its padding is wrong");
        return decoded;
    }
    let unused = if held == 2 { 0b1111 } else { 0b11 };
    if last == LastChunk::Strict && chunk & unused != 0 {
        decoded.fault = Some("the unused bits of its last character are not zero");
        return decoded;
    }
    finish(&mut decoded, chunk, held, length);
    decoded
}

/// Decodes a last group of two or three characters.
fn finish(decoded: &mut Decoded, chunk: u32, held: u32, length: usize) {
    let bits = chunk << (6 * (4 - held));
    decoded.bytes.extend_from_slice(&bits.to_be_bytes()[1..held as usize]);
    decoded.read = length;
}

fn encode(bytes: &[u8], alphabet: &[u8; 64], padded: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().chain([&0, &0]).take(3).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        for place in 0..=group.len() {
            text.push(alphabet[(bits >> (18 - 6 * place)) as usize & 63]);
        }
        if padded {
            text.resize(text.len() + 3 - group.len(), b'=');
        }
    }
    text
}

fn decode_hex(text: JsStr<'_>, bytes_max: usize) -> Decoded {
    let digit = |unit: u16| char::from_u32(u32::from(unit)).and_then(|digit| digit.to_digit(16));
    let mut decoded = Decoded { read: 0, bytes: Vec::new(), fault: None };
    if !text.len().is_multiple_of(2) {
        decoded.fault = Some("it has an odd number of digits");
        return decoded;
    }
    let mut units = text.iter();
    while decoded.bytes.len() < bytes_max {
        let (Some(high), Some(low)) = (units.next(), units.next()) else { break };
        let (Some(high), Some(low)) = (digit(high), digit(low)) else {
            decoded.fault = Some("it has a character that is not a hexadecimal digit");
            break;
        };
        decoded.bytes.push((high * 16 + low) as u8);
        decoded.read += 2;
    }
    decoded
}

fn latin1(bytes: &[u8]) -> JsValue {
    JsString::from(JsStr::latin1(bytes)).into()
}

fn atob(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = argument(arguments, "atob", context)?;
    let decoded = decode(text.as_str(), false, LastChunk::Loose, usize::MAX);
    match decoded.fault {
        None => Ok(latin1(&decoded.bytes)),
        Some(fault) => {
            let message = format!("atob: the text is not base64: {fault}");
            Err(dom_exception("InvalidCharacterError", &message, context))
        }
    }
}

fn btoa(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = argument(arguments, "btoa", context)?;
    let bytes: Result<Vec<u8>, _> = text.as_str().iter().map(u8::try_from).collect();
    match bytes {
        Ok(bytes) => Ok(latin1(&encode(&bytes, STANDARD, true))),
        Err(_) => {
            let message = "btoa: the text has characters above U+00FF; use new TextEncoder().encode(text).toBase64()";
            Err(dom_exception("InvalidCharacterError", message, context))
        }
    }
}

fn argument(arguments: &[JsValue], name: &str, context: &mut Context) -> JsResult<JsString> {
    match arguments.first() {
        Some(value) => value.to_string(context),
        None => Err(type_error(format!("{name} needs a text"))),
    }
}

/// The methods of `Uint8Array` do not convert their argument: anything but a string is an error.
fn text_argument(arguments: &[JsValue]) -> JsResult<JsString> {
    arguments.get_or_undefined(0).as_string().ok_or_else(|| type_error("the first argument must be a string"))
}

fn options(value: &JsValue) -> JsResult<Option<JsObject>> {
    match value.as_object() {
        None if !value.is_undefined() => Err(type_error("the options must be an object")),
        options => Ok(options),
    }
}

fn option(options: Option<&JsObject>, key: &'static str, context: &mut Context) -> JsResult<JsValue> {
    options.map_or(Ok(JsValue::undefined()), |options| options.get(js_string!(key), context))
}

fn is_url_safe(options: Option<&JsObject>, context: &mut Context) -> JsResult<bool> {
    let value = option(options, "alphabet", context)?;
    match value.as_string().map(|text| text.to_std_string_lossy()).as_deref() {
        Some("base64") => Ok(false),
        Some("base64url") => Ok(true),
        None if value.is_undefined() => Ok(false),
        _ => Err(type_error("alphabet must be \"base64\" or \"base64url\"")),
    }
}

fn last_chunk(options: Option<&JsObject>, context: &mut Context) -> JsResult<LastChunk> {
    let value = option(options, "lastChunkHandling", context)?;
    match value.as_string().map(|text| text.to_std_string_lossy()).as_deref() {
        Some("loose") => Ok(LastChunk::Loose),
        Some("strict") => Ok(LastChunk::Strict),
        Some("stop-before-partial") => Ok(LastChunk::StopBeforePartial),
        None if value.is_undefined() => Ok(LastChunk::Loose),
        _ => Err(type_error("lastChunkHandling must be \"loose\", \"strict\" or \"stop-before-partial\"")),
    }
}

fn malformed(form: &str, fault: &str) -> JsError {
    JsNativeError::syntax().with_message(format!("the text is not {form}: {fault}")).into()
}

fn from_base64(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = text_argument(arguments)?;
    let options = options(arguments.get_or_undefined(1))?;
    let (url_safe, last) = (is_url_safe(options.as_ref(), context)?, last_chunk(options.as_ref(), context)?);
    let decoded = decode(text.as_str(), url_safe, last, usize::MAX);
    match decoded.fault {
        None => Ok(uint8_array(&decoded.bytes, context)?.into()),
        Some(fault) => Err(malformed("base64", fault)),
    }
}

fn from_hex(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = text_argument(arguments)?;
    let decoded = decode_hex(text.as_str(), usize::MAX);
    match decoded.fault {
        None => Ok(uint8_array(&decoded.bytes, context)?.into()),
        Some(fault) => Err(malformed("hexadecimal", fault)),
    }
}

fn to_base64(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    require_uint8_array(this, context)?;
    let options = options(arguments.get_or_undefined(0))?;
    let alphabet = if is_url_safe(options.as_ref(), context)? { URL_SAFE } else { STANDARD };
    let padded = !option(options.as_ref(), "omitPadding", context)?.to_boolean();
    // Validated again, because getters of the options may have resized or detached the buffer.
    let view = require_uint8_array(this, context)?;
    Ok(latin1(&view.read(|bytes| encode(bytes, alphabet, padded))))
}

fn to_hex(this: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let view = require_uint8_array(this, context)?;
    let digits = |byte: &u8| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
    Ok(latin1(&view.read(|bytes| bytes.iter().flat_map(digits).collect::<Vec<u8>>())))
}

fn set_from_base64(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    require_uint8_array(this, context)?;
    let text = text_argument(arguments)?;
    let options = options(arguments.get_or_undefined(1))?;
    let (url_safe, last) = (is_url_safe(options.as_ref(), context)?, last_chunk(options.as_ref(), context)?);
    let view = require_uint8_array(this, context)?;
    let decoded = decode(text.as_str(), url_safe, last, view.length);
    write_decoded(&view, decoded, "base64", context)
}

fn set_from_hex(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let view = require_uint8_array(this, context)?;
    let text = text_argument(arguments)?;
    let decoded = decode_hex(text.as_str(), view.length);
    write_decoded(&view, decoded, "hexadecimal", context)
}

/// Writes the decoded bytes, even if a fault follows them.
fn write_decoded(view: &super::buffer::View, decoded: Decoded, form: &str, context: &mut Context) -> JsResult<JsValue> {
    view.write(|into| into[..decoded.bytes.len()].copy_from_slice(&decoded.bytes))?;
    if let Some(fault) = decoded.fault {
        return Err(malformed(form, fault));
    }
    let result = JsObject::with_object_proto(context.intrinsics());
    for (key, value) in [("read", decoded.read), ("written", decoded.bytes.len())] {
        let property = PropertyDescriptor::builder().value(value).writable(true).enumerable(true).configurable(true);
        result.insert_property(js_string!(key), property.build());
    }
    Ok(result.into())
}
