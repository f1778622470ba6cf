//! The binary codec of values: one tag byte per value, lengths before contents, little-endian.

#[cfg(test)]
mod tests;

use super::{BufferKind, ErrorValue, Text, Value};
use crate::limits::{CODEC_KEYS_MAX, VALUE_DEPTH_MAX};
use std::{collections::HashMap, fmt};

impl Value {
    /// Encodes the value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.finish()
    }

    /// Decodes a value.
    ///
    /// # Errors
    /// When the bytes are not exactly one value, or nest deeper than [`VALUE_DEPTH_MAX`]. The memory that the value
    /// takes is not bounded here: for bytes of a guest, which may be hostile, call [`super::weigh`] first.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::read(&mut reader, 0)?;
        if reader.rest() > 0 { Err(DecodeError("bytes after the value")) } else { Ok(value) }
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Undefined => writer.undefined(),
            Self::Null => writer.null(),
            Self::Bool(value) => writer.bool(*value),
            Self::Number(number) => writer.number(*number),
            Self::BigInt(digits) => writer.bigint(digits),
            Self::String(text) => writer.text(text),
            Self::Date(ms) => writer.date(*ms),
            Self::Bytes(kind, bytes) => writer.bytes(*kind, bytes),
            Self::Map(entries) => {
                writer.map(entries.len());
                for (key, value) in entries {
                    key.write(writer);
                    value.write(writer);
                }
            }
            Self::Set(items) => {
                writer.set(items.len());
                items.iter().for_each(|item| item.write(writer));
            }
            Self::Error(error) => {
                writer.error(error.cause.is_some());
                writer.text(&error.name);
                writer.text(&error.message);
                writer.text(&error.stack);
                if let Some(cause) = &error.cause {
                    cause.write(writer);
                }
            }
            Self::Array(items) => {
                writer.array(items.len());
                items.iter().for_each(|item| item.write(writer));
            }
            Self::Object(entries) => {
                writer.object(entries.len());
                for (key, value) in entries {
                    writer.key(key);
                    value.write(writer);
                }
            }
        }
    }

    fn read(reader: &mut Reader<'_>, depth: usize) -> Result<Self, DecodeError> {
        if depth > VALUE_DEPTH_MAX {
            return Err(DecodeError::TOO_DEEP);
        }
        let next = |reader: &mut Reader<'_>| Self::read(reader, depth + 1);
        Ok(match reader.token()? {
            Token::Undefined => Self::Undefined,
            Token::Null => Self::Null,
            Token::Bool(value) => Self::Bool(value),
            Token::Number(number) => Self::Number(number),
            Token::BigInt(digits) => Self::BigInt(digits.to_owned()),
            Token::String(raw) => Self::String(raw.to_text()),
            Token::Date(ms) => Self::Date(ms),
            Token::Bytes(kind, bytes) => Self::Bytes(kind, bytes.to_vec()),
            Token::Map(count) => {
                let mut entries = Vec::new();
                for _ in 0..count {
                    entries.push((next(reader)?, next(reader)?));
                }
                Self::Map(entries)
            }
            Token::Set(count) => Self::Set((0..count).map(|_| next(reader)).collect::<Result<_, _>>()?),
            Token::Error { has_cause } => Self::Error(Box::new(ErrorValue {
                name: reader.string()?.to_text(),
                message: reader.string()?.to_text(),
                stack: reader.string()?.to_text(),
                cause: if has_cause { Some(next(reader)?) } else { None },
            })),
            Token::Array(count) => Self::Array((0..count).map(|_| next(reader)).collect::<Result<_, _>>()?),
            Token::Object(count) => {
                let mut entries = Vec::new();
                let mut seen: Vec<Text> = std::mem::take(&mut reader.keys);
                for _ in 0..count {
                    let key = match reader.key()? {
                        Key::New(raw) => {
                            let text = raw.to_text();
                            if seen.len() < CODEC_KEYS_MAX {
                                seen.push(text.clone());
                            }
                            text
                        }
                        Key::Seen(index) => seen.get(index).cloned().ok_or(DecodeError::UNKNOWN_KEY)?,
                    };
                    reader.keys = seen;
                    entries.push((key, next(reader)?));
                    seen = std::mem::take(&mut reader.keys);
                }
                reader.keys = seen;
                Self::Object(entries)
            }
        })
    }
}

/// The bytes are not a value; the text says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError(pub &'static str);

impl DecodeError {
    /// The value nests deeper than [`VALUE_DEPTH_MAX`].
    pub(super) const TOO_DEEP: Self = Self("nested too deeply");
    /// A key index to which no key was assigned.
    pub const UNKNOWN_KEY: Self = Self("unknown key index");
}

impl fmt::Display for DecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a value of the codec: {}", self.0)
    }
}

impl std::error::Error for DecodeError {}

mod tag {
    pub const UNDEFINED: u8 = 0;
    pub const NULL: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const TRUE: u8 = 3;
    pub const NUMBER: u8 = 4;
    pub const INTEGER: u8 = 5;
    pub const BIGINT: u8 = 6;
    pub const LATIN1: u8 = 7;
    pub const UTF16: u8 = 8;
    pub const DATE: u8 = 9;
    pub const BYTES: u8 = 10;
    pub const MAP: u8 = 11;
    pub const SET: u8 = 12;
    pub const ERROR: u8 = 13;
    pub const ERROR_WITH_CAUSE: u8 = 14;
    pub const ARRAY: u8 = 15;
    pub const OBJECT: u8 = 16;
    pub const SEEN_KEY: u8 = 17;
    pub const UTF8: u8 = 18;
}

/// Writes one value incrementally: the head of a container, then its parts.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
    keys: HashMap<Text, u32>,
}

impl Writer {
    /// The bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the encoded bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes `undefined`.
    pub fn undefined(&mut self) {
        self.bytes.push(tag::UNDEFINED);
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.bytes.push(tag::NULL);
    }

    /// Writes a boolean.
    pub fn bool(&mut self, value: bool) {
        self.bytes.push(if value { tag::TRUE } else { tag::FALSE });
    }

    /// Writes a number.
    pub fn number(&mut self, number: f64) {
        let integer = number as i32;
        if f64::from(integer).to_bits() == number.to_bits() {
            self.bytes.push(tag::INTEGER);
            self.bytes.extend_from_slice(&integer.to_le_bytes());
        } else {
            self.bytes.push(tag::NUMBER);
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Writes a bigint, given in decimal.
    pub fn bigint(&mut self, digits: &str) {
        self.head(tag::BIGINT, digits.len());
        self.bytes.extend_from_slice(digits.as_bytes());
    }

    /// Writes a string of Latin-1 bytes.
    pub fn latin1(&mut self, bytes: &[u8]) {
        self.head(tag::LATIN1, bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a string of UTF-16 code units.
    pub fn utf16(&mut self, units: impl ExactSizeIterator<Item = u16>) {
        self.head(tag::UTF16, units.len());
        self.bytes.reserve(units.len() * 2);
        for unit in units {
            self.bytes.extend_from_slice(&unit.to_le_bytes());
        }
    }

    /// Writes a string of Unicode text.
    pub fn str(&mut self, text: &str) {
        let tag = if text.is_ascii() { tag::LATIN1 } else { tag::UTF8 };
        self.head(tag, text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Writes any string.
    pub fn text(&mut self, text: &Text) {
        match text {
            Text::Utf8(text) => self.str(text),
            Text::Utf16(units) => self.utf16(units.iter().copied()),
        }
    }

    /// Writes a date.
    pub fn date(&mut self, ms: f64) {
        self.bytes.push(tag::DATE);
        self.bytes.extend_from_slice(&ms.to_le_bytes());
    }

    /// Writes a buffer or a view.
    pub fn bytes(&mut self, kind: BufferKind, bytes: &[u8]) {
        self.bytes.extend_from_slice(&[tag::BYTES, kind.code()]);
        let count = u32::try_from(bytes.len()).expect("lengths are bounded far below 4 GiB");
        self.bytes.extend_from_slice(&count.to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes the head of a map; the caller then writes its keys and values, alternating.
    pub fn map(&mut self, count: usize) {
        self.head(tag::MAP, count);
    }

    /// Writes the head of a set; the caller then writes its items.
    pub fn set(&mut self, count: usize) {
        self.head(tag::SET, count);
    }

    /// Writes the head of an error; the caller then writes name, message, stack and, if there is one, the cause.
    pub fn error(&mut self, has_cause: bool) {
        self.bytes.push(if has_cause { tag::ERROR_WITH_CAUSE } else { tag::ERROR });
    }

    /// Writes the head of an array; the caller then writes its items.
    pub fn array(&mut self, count: usize) {
        self.head(tag::ARRAY, count);
    }

    /// Writes the head of an object; the caller then writes its keys and values, alternating.
    pub fn object(&mut self, count: usize) {
        self.head(tag::OBJECT, count);
    }

    /// Writes a key of an object, or its index if it was written before.
    pub fn key(&mut self, key: &Text) {
        if let Some(index) = self.keys.get(key) {
            let index = *index as usize;
            self.head(tag::SEEN_KEY, index);
        } else {
            if self.keys.len() < CODEC_KEYS_MAX {
                let index = u32::try_from(self.keys.len()).expect("the bound is smaller");
                self.keys.insert(key.clone(), index);
            }
            self.text(key);
        }
    }

    /// Writes the head of an array whose number of items is set by [`Self::close`].
    pub(super) fn open_array(&mut self) -> Open {
        self.array(0);
        Open { head_end: self.bytes.len() }
    }

    /// Writes the head of an object whose number of entries is set by [`Self::close`].
    pub(super) fn open_object(&mut self) -> Open {
        self.object(0);
        Open { head_end: self.bytes.len() }
    }

    /// Sets the number of parts of an open container.
    pub(super) fn close(&mut self, Open { head_end }: Open, count: usize) {
        let count = u32::try_from(count).expect("lengths are bounded far below 4 GiB");
        self.bytes[head_end - 4..head_end].copy_from_slice(&count.to_le_bytes());
    }

    fn head(&mut self, tag: u8, count: usize) {
        let count = u32::try_from(count).expect("lengths are bounded far below 4 GiB");
        self.bytes.push(tag);
        self.bytes.extend_from_slice(&count.to_le_bytes());
    }
}

/// A container whose number of parts is not known yet.
pub(super) struct Open {
    head_end: usize,
}

/// A string as it is encoded.
#[derive(Clone, Copy, Debug)]
pub enum RawText<'a> {
    /// Latin-1.
    Latin1(&'a [u8]),
    /// Unicode text.
    Utf8(&'a str),
    /// UTF-16, little-endian, two bytes a unit.
    Utf16(&'a [u8]),
}

impl RawText<'_> {
    /// The code units of UTF-16 bytes.
    pub fn units(bytes: &[u8]) -> impl ExactSizeIterator<Item = u16> + '_ {
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
    }

    /// The string, owned.
    #[must_use]
    pub fn to_text(self) -> Text {
        match self {
            Self::Latin1(bytes) => Text::Utf8(match std::str::from_utf8(bytes) {
                Ok(text) if text.is_ascii() => text.to_owned(),
                _ => bytes.iter().map(|byte| char::from(*byte)).collect(),
            }),
            Self::Utf8(text) => Text::Utf8(text.to_owned()),
            Self::Utf16(bytes) => Text::from_utf16(Self::units(bytes).collect()),
        }
    }
}

/// A key of an object.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// A key that has not occurred before; the next index is assigned to it.
    New(RawText<'a>),
    /// A key that has occurred before, by its index.
    Seen(usize),
}

/// A value without parts, or the head of a container.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each is the Value of that name")]
pub enum Token<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    BigInt(&'a str),
    String(RawText<'a>),
    Date(f64),
    Bytes(BufferKind, &'a [u8]),
    Map(usize),
    Set(usize),
    Error { has_cause: bool },
    Array(usize),
    Object(usize),
}

/// Reads one value incrementally. Counts are checked: a count is never larger than the number of remaining bytes, so
/// memory may be reserved for it.
pub struct Reader<'a> {
    bytes: &'a [u8],
    keys: Vec<Text>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of encoded bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, keys: Vec::new() }
    }

    /// The number of remaining bytes.
    #[must_use]
    pub fn rest(&self) -> usize {
        self.bytes.len()
    }

    /// Reads the next token.
    ///
    /// # Errors
    /// When the bytes are not a token.
    pub fn token(&mut self) -> Result<Token<'a>, DecodeError> {
        let tag = self.take(1)?[0];
        Ok(match tag {
            tag::UNDEFINED => Token::Undefined,
            tag::NULL => Token::Null,
            tag::FALSE => Token::Bool(false),
            tag::TRUE => Token::Bool(true),
            tag::NUMBER => Token::Number(self.f64()?),
            tag::INTEGER => Token::Number(f64::from(self.u32()? as i32)),
            tag::BIGINT => {
                let bytes = self.counted(1)?;
                let digits = std::str::from_utf8(bytes).map_err(|_| DecodeError("a bigint is not digits"))?;
                let unsigned = digits.strip_prefix('-').unwrap_or(digits);
                if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(DecodeError("a bigint is not digits"));
                }
                Token::BigInt(digits)
            }
            tag::LATIN1 => Token::String(RawText::Latin1(self.counted(1)?)),
            tag::UTF8 => {
                let text = std::str::from_utf8(self.counted(1)?).map_err(|_| DecodeError("a text is not UTF-8"))?;
                Token::String(RawText::Utf8(text))
            }
            tag::UTF16 => Token::String(RawText::Utf16(self.counted(2)?)),
            tag::DATE => Token::Date(self.f64()?),
            tag::BYTES => {
                let kind = BufferKind::of_code(self.take(1)?[0]).ok_or(DecodeError("an unknown kind of bytes"))?;
                let bytes = self.counted(1)?;
                if !bytes.len().is_multiple_of(kind.element_bytes()) {
                    return Err(DecodeError("bytes that are no whole elements"));
                }
                Token::Bytes(kind, bytes)
            }
            tag::MAP => Token::Map(self.count(2)?),
            tag::SET => Token::Set(self.count(1)?),
            tag::ERROR => Token::Error { has_cause: false },
            tag::ERROR_WITH_CAUSE => Token::Error { has_cause: true },
            tag::ARRAY => Token::Array(self.count(1)?),
            tag::OBJECT => Token::Object(self.count(2)?),
            _ => return Err(DecodeError("unknown tag")),
        })
    }

    /// Reads the next token, which must be a string.
    ///
    /// # Errors
    /// When the token is not a string.
    pub fn string(&mut self) -> Result<RawText<'a>, DecodeError> {
        match self.token()? {
            Token::String(raw) => Ok(raw),
            _ => Err(DecodeError("a string was expected")),
        }
    }

    /// Reads the next key of an object.
    ///
    /// # Errors
    /// When the bytes are not a key.
    pub fn key(&mut self) -> Result<Key<'a>, DecodeError> {
        if self.bytes.first() == Some(&tag::SEEN_KEY) {
            self.take(1)?;
            return Ok(Key::Seen(self.u32()? as usize));
        }
        self.string().map(Key::New)
    }

    /// Reads a count of parts, each of which takes at least `least` bytes.
    fn count(&mut self, least: usize) -> Result<usize, DecodeError> {
        let count = self.u32()? as usize;
        if count.saturating_mul(least) > self.bytes.len() {
            Err(DecodeError("a count beyond the end"))
        } else {
            Ok(count)
        }
    }

    fn counted(&mut self, unit: usize) -> Result<&'a [u8], DecodeError> {
        let count = self.count(unit)?;
        self.take(count * unit)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(DecodeError("cut short"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes were taken")))
    }

    fn f64(&mut self) -> Result<f64, DecodeError> {
        Ok(f64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes were taken")))
    }
}
