//! What a value takes in the memory of the host, told from its bytes before anything is made of them.
//!
//! A hole of an array is one byte in the codec and half a kilobyte as JSON that loses nothing: bytes say little of what
//! they cost. A weight is the most that the value and one JSON form of it take together, with the spare room of what
//! holds them. The constants are those of [`super::Value`] and of serde_json with ordered maps; a test measures both.

use super::codec::{DecodeError, Key, RawText, Reader, Token};
use crate::limits::{CODEC_KEYS_MAX, VALUE_DEPTH_MAX};

/// A value and its JSON, each in the place that holds it.
const VALUE: usize = 128;
/// A kind that JSON does not have: an object of its own with a tag and a value.
const TAGGED: usize = 640;
/// A member of an object beside its value: its name's place in both forms, twice in that which grows.
const MEMBER: usize = 288;
/// An entry of a map beside its key and value: an array of two.
const ENTRY: usize = 256;
/// What an allocation takes beside what it holds.
const ALLOCATION: usize = 32;
/// A code unit of a string that is no text: a number in an array.
const LONE_UNIT: usize = 80;

/// The weight of the value of the codec's bytes, in bytes. Takes no memory itself but for what is nested.
///
/// # Errors
/// When the bytes are not one whole value, or nest deeper than [`VALUE_DEPTH_MAX`].
pub fn weigh(bytes: &[u8]) -> Result<usize, DecodeError> {
    let mut scale = Scale { reader: Reader::new(bytes), open: Vec::new(), keys: Vec::new(), total: 0 };
    scale.value()?;
    while let Some(container) = scale.open.last_mut() {
        let Some(left) = container.left.checked_sub(1) else {
            scale.open.pop();
            continue;
        };
        container.left = left;
        if container.has_keys {
            scale.key()?;
        }
        scale.value()?;
    }
    if scale.reader.rest() > 0 { Err(DecodeError("bytes after the value")) } else { Ok(scale.total) }
}

struct Scale<'a> {
    reader: Reader<'a>,
    open: Vec<Container>,
    /// The weights of the keys that may be named by an index.
    keys: Vec<usize>,
    total: usize,
}

struct Container {
    /// Values yet to come.
    left: usize,
    has_keys: bool,
}

impl Scale<'_> {
    fn value(&mut self) -> Result<(), DecodeError> {
        self.total += match self.reader.token()? {
            Token::Null | Token::Bool(_) => VALUE,
            Token::Number(number) if number.is_finite() && number.to_bits() != (-0.0_f64).to_bits() => VALUE,
            Token::String(raw) => VALUE + text(raw),
            Token::Undefined | Token::Number(_) | Token::Date(_) => TAGGED,
            Token::BigInt(digits) => TAGGED + 2 * digits.len(),
            Token::Bytes(_, bytes) => TAGGED + bytes.len() + bytes.len().div_ceil(3) * 4,
            Token::Array(count) => self.enter(count, false, VALUE)?,
            Token::Set(count) => self.enter(count, false, TAGGED)?,
            Token::Map(count) => self.enter(2 * count, false, TAGGED + count * ENTRY)?,
            Token::Object(count) => self.enter(count, true, TAGGED + count * MEMBER)?,
            Token::Error { has_cause } => {
                let mut texts = 0;
                for _ in 0..3 {
                    texts += VALUE + text(self.reader.string()?);
                }
                self.enter(usize::from(has_cause), false, 2 * TAGGED + texts)?
            }
        };
        Ok(())
    }

    fn enter(&mut self, left: usize, has_keys: bool, weight: usize) -> Result<usize, DecodeError> {
        if self.open.len() > VALUE_DEPTH_MAX {
            return Err(DecodeError::TOO_DEEP);
        }
        self.open.push(Container { left, has_keys });
        Ok(weight)
    }

    fn key(&mut self) -> Result<(), DecodeError> {
        self.total += match self.reader.key()? {
            Key::New(raw) => {
                let weight = text(raw);
                if self.keys.len() < CODEC_KEYS_MAX {
                    self.keys.push(weight);
                }
                weight
            }
            Key::Seen(index) => *self.keys.get(index).ok_or(DecodeError::UNKNOWN_KEY)?,
        };
        Ok(())
    }
}

/// The weight of a string's text in both forms.
fn text(raw: RawText<'_>) -> usize {
    match raw {
        RawText::Latin1(bytes) => 2 * (bytes.len() + bytes.iter().filter(|byte| !byte.is_ascii()).count() + ALLOCATION),
        RawText::Utf8(text) => 2 * (text.len() + ALLOCATION),
        RawText::Utf16(bytes) => {
            let mut text_bytes = 0;
            for unit in char::decode_utf16(RawText::units(bytes)) {
                match unit {
                    Ok(char) => text_bytes += char.len_utf8(),
                    Err(_) => return VALUE + bytes.len() + ALLOCATION + bytes.len() / 2 * LONE_UNIT,
                }
            }
            // While it is read, the text may have up to twice the room that it needs.
            3 * text_bytes + 2 * ALLOCATION
        }
    }
}
