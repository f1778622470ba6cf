//! Estimates the host memory that a value will take from its encoded bytes, before it is decoded.
//!
//! The length of the encoding says little about that: a hole of an array is one byte in the codec and half a kilobyte
//! in lossless JSON. The weight of a value is an upper bound of the memory of the value and one JSON form of it
//! together, including the spare capacity of their containers. The constants are those of [`super::Value`] and of
//! serde_json with ordered maps; a test measures both.

use super::codec::{DecodeError, Key, RawText, Reader, Token};
use crate::limits::{CODEC_KEYS_MAX, VALUE_DEPTH_MAX};

/// A value and its JSON, each in its slot of the containing collection.
const VALUE: usize = 128;
/// A value of a kind that JSON does not have: its JSON is an object with a tag and a value.
const TAGGED: usize = 640;
/// A member of an object, without its value: the slot of its name in both forms, twice in the form that grows.
const MEMBER: usize = 288;
/// An entry of a map, without its key and value: an array of two.
const ENTRY: usize = 256;
/// The overhead of an allocation.
const ALLOCATION: usize = 32;
/// A code unit of a string with lone surrogates: its JSON is an array of numbers.
const LONE_UNIT: usize = 80;

/// The weight of an encoded value, in bytes. The function itself allocates only in proportion to the nesting depth and
/// to the number of distinct keys.
///
/// # Errors
/// When the bytes are not exactly one value, or nest deeper than [`VALUE_DEPTH_MAX`].
pub fn weigh(bytes: &[u8]) -> Result<usize, DecodeError> {
    let mut weigher = Weigher { reader: Reader::new(bytes), open: Vec::new(), keys: Vec::new(), total: 0 };
    weigher.value()?;
    while let Some(container) = weigher.open.last_mut() {
        let Some(left) = container.left.checked_sub(1) else {
            weigher.open.pop();
            continue;
        };
        container.left = left;
        if container.has_keys {
            weigher.key()?;
        }
        weigher.value()?;
    }
    if weigher.reader.rest() > 0 { Err(DecodeError("bytes after the value")) } else { Ok(weigher.total) }
}

struct Weigher<'a> {
    reader: Reader<'a>,
    open: Vec<Container>,
    /// The weights of the keys to which an index is assigned.
    keys: Vec<usize>,
    total: usize,
}

struct Container {
    /// The number of remaining values.
    left: usize,
    has_keys: bool,
}

impl Weigher<'_> {
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
            // While the text is decoded, its buffer may have up to twice the needed capacity.
            3 * text_bytes + 2 * ALLOCATION
        }
    }
}
