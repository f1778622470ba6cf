//! The implementation of `TextEncoder` and `TextDecoder`.

use super::{
    buffer::{View, require_uint8_array, uint8_array},
    helper::{Helper, type_error},
};
use boa_engine::{
    Context, JsArgs, JsData, JsNativeError, JsObject, JsResult, JsString, JsValue,
    gc::{Finalize, Trace},
    js_string,
    object::builtins::JsArray,
    string::JsStr,
};

pub const HELPERS: &[Helper] = &[
    ("encode", 1, encode),
    ("encodeInto", 2, encode_into),
    ("decoderNew", 3, decoder_new),
    ("decoderEncoding", 1, decoder_encoding),
    ("decoderDecode", 3, decoder_decode),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Windows1252,
}

impl Encoding {
    /// The supported encoding of a label of the WHATWG Encoding Standard.
    fn of_label(label: &str) -> Option<Self> {
        Some(match label.trim_matches(['\t', '\n', '\x0C', '\r', ' ']).to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" | "unicode-1-1-utf-8" | "unicode11utf8" | "unicode20utf8" | "x-unicode20utf8" => {
                Self::Utf8
            }
            "utf-16le" | "utf-16" | "ucs-2" | "unicode" | "unicodefeff" | "csunicode" | "iso-10646-ucs-2" => {
                Self::Utf16Le
            }
            "utf-16be" | "unicodefffe" => Self::Utf16Be,
            "windows-1252" | "latin1" | "iso-8859-1" | "iso8859-1" | "iso88591" | "iso_8859-1" | "iso_8859-1:1987"
            | "iso-ir-100" | "csisolatin1" | "l1" | "ascii" | "us-ascii" | "ansi_x3.4-1968" | "cp1252" | "x-cp1252"
            | "cp819" | "ibm819" => Self::Windows1252,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }
}

/// The code points of the bytes 0x80 to 0x9F, where Windows-1252 differs from Latin-1.
const WINDOWS_1252: [u16; 32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
];

/// A decoder, with the bytes of an incomplete character at the end of its last input.
#[derive(Trace, Finalize, JsData)]
struct Decoder {
    #[unsafe_ignore_trace]
    encoding: Encoding,
    fatal: bool,
    ignore_bom: bool,
    /// Whether the stream has produced output, after which U+FEFF is no longer a byte order mark.
    has_output: bool,
    #[unsafe_ignore_trace]
    pending: Vec<u8>,
}

/// The input is invalid in the encoding, and the decoder is `fatal`.
struct Malformed;

impl Decoder {
    fn decode(&mut self, input: &[u8], stream: bool) -> Result<JsString, Malformed> {
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(input);
        let decoded = match self.encoding {
            Encoding::Utf8 => self.utf8(&bytes, stream),
            Encoding::Utf16Le => self.utf16(&bytes, stream, u16::from_le_bytes),
            Encoding::Utf16Be => self.utf16(&bytes, stream, u16::from_be_bytes),
            Encoding::Windows1252 => Ok(windows_1252(&bytes)),
        };
        if !stream || decoded.is_err() {
            self.has_output = false;
            self.pending.clear();
        }
        decoded
    }

    /// Whether a byte order mark at the start of the next output is dropped. Called with the first output of a stream.
    fn drops_bom(&mut self) -> bool {
        !std::mem::replace(&mut self.has_output, true) && !self.ignore_bom
    }

    fn utf8(&mut self, mut bytes: &[u8], stream: bool) -> Result<JsString, Malformed> {
        let mut text = String::with_capacity(bytes.len());
        while let Err(error) = std::str::from_utf8(bytes) {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            match error.error_len() {
                None if stream => {
                    self.pending = rest.to_vec();
                    bytes = &[];
                    break;
                }
                _ if self.fatal => return Err(Malformed),
                length => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    bytes = &rest[length.unwrap_or(rest.len())..];
                }
            }
        }
        text.push_str(&String::from_utf8_lossy(bytes));
        if text.is_empty() {
            return Ok(js_string!());
        }
        let drops_bom = self.drops_bom();
        Ok(js_string!(text.strip_prefix('\u{FEFF}').filter(|_| drops_bom).unwrap_or(&text)))
    }

    fn utf16(&mut self, bytes: &[u8], stream: bool, unit: fn([u8; 2]) -> u16) -> Result<JsString, Malformed> {
        let (pairs, odd) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        let ends_high = units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit));
        let kept = if stream && ends_high { units.len() - 1 } else { units.len() };
        let mut text = Vec::with_capacity(units.len());
        for character in char::decode_utf16(units[..kept].iter().copied()) {
            match character {
                Ok(character) => text.extend_from_slice(character.encode_utf16(&mut [0; 2])),
                Err(_) if self.fatal => return Err(Malformed),
                Err(_) => text.push(0xFFFD),
            }
        }
        if stream {
            self.pending = bytes[kept * 2..].to_vec();
        } else if !odd.is_empty() {
            if self.fatal {
                return Err(Malformed);
            }
            // An unpaired surrogate followed by half a unit counts as one error.
            if !ends_high {
                text.push(0xFFFD);
            }
        }
        if text.is_empty() {
            return Ok(js_string!());
        }
        let drops_bom = self.drops_bom();
        Ok(JsString::from(text.strip_prefix(&[0xFEFF]).filter(|_| drops_bom).unwrap_or(&text)))
    }
}

fn windows_1252(bytes: &[u8]) -> JsString {
    if !bytes.iter().any(|byte| (0x80..0xA0).contains(byte)) {
        return JsString::from(JsStr::latin1(bytes));
    }
    let units = bytes.iter().map(|byte| match byte {
        0x80..0xA0 => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => u16::from(*byte),
    });
    JsString::from(units.collect::<Vec<u16>>().as_slice())
}

/// `encode(text)`: the text in UTF-8, as a `Uint8Array`.
fn encode(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = arguments.get_or_undefined(0).as_string().unwrap_or_default();
    Ok(uint8_array(text.to_std_string_lossy().as_bytes(), context)?.into())
}

/// `encodeInto(text, bytes)`: `[units read, bytes written]`
fn encode_into(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = arguments.get_or_undefined(0).as_string().unwrap_or_default().to_std_string_lossy();
    let view = require_uint8_array(arguments.get_or_undefined(1), context)?;
    let (mut read, mut written) = (0, 0);
    for character in text.chars() {
        if written + character.len_utf8() > view.length {
            break;
        }
        read += character.len_utf16();
        written += character.len_utf8();
    }
    view.write(|into| into[..written].copy_from_slice(&text.as_bytes()[..written]))?;
    Ok(JsArray::from_iter([read, written].map(JsValue::from), context).into())
}

/// `decoderNew(label, fatal, ignoreBOM)`
fn decoder_new(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let label = arguments.get_or_undefined(0).as_string().unwrap_or_default().to_std_string_lossy();
    let Some(encoding) = Encoding::of_label(&label) else {
        let message =
            format!("TextDecoder: the encoding {label:?} is not here; utf-8, utf-16le, utf-16be and latin1 are");
        return Err(JsNativeError::range().with_message(message).into());
    };
    let decoder = Decoder {
        encoding,
        fatal: arguments.get_or_undefined(1).to_boolean(),
        ignore_bom: arguments.get_or_undefined(2).to_boolean(),
        has_output: false,
        pending: Vec::new(),
    };
    Ok(JsObject::from_proto_and_data(None, decoder).into())
}

fn decoder(arguments: &[JsValue]) -> JsResult<JsObject> {
    let object = arguments.get_or_undefined(0).as_object().filter(|object| object.is::<Decoder>());
    object.ok_or_else(|| type_error("not a decoder"))
}

fn decoder_encoding(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let decoder = decoder(arguments)?;
    let name = decoder.downcast_ref::<Decoder>().map(|decoder| decoder.encoding.name());
    Ok(js_string!(name.unwrap_or_default()).into())
}

/// `decoderDecode(decoder, bytes, stream)`
fn decoder_decode(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let decoder = decoder(arguments)?;
    let stream = arguments.get_or_undefined(2).to_boolean();
    let input = arguments.get_or_undefined(1);
    let view = View::of(input, context)?;
    if view.is_none() && !input.is_undefined() {
        return Err(type_error("TextDecoder.decode needs an ArrayBuffer or a view of one, such as a Uint8Array"));
    }
    let Some(mut decoder) = decoder.downcast_mut::<Decoder>() else { return Err(type_error("not a decoder")) };
    let decoded = match view {
        Some(view) => view.read(|bytes| decoder.decode(bytes, stream)),
        None => decoder.decode(&[], stream),
    };
    decoded
        .map(JsValue::from)
        .map_err(|Malformed| type_error(format!("TextDecoder.decode: the bytes are not {}", decoder.encoding.name())))
}
