//! The JavaScript values that cross the boundary, and their codec.
//!
//! The codec is binary. The kind of a value is in a tag byte outside the data, so no string and no key can forge
//! another kind. Strings are encoded as the writing side stores them: Latin-1 or UTF-16 with lone surrogates by the
//! engine, UTF-8 by the host. A key that has occurred before may be replaced by its index.
//!
//! Values that leave JavaScript for good have two JSON forms: [`Value::to_json`] loses nothing and escapes its tags;
//! [`Value::to_plain_json`] is the output of `JSON.stringify`, for protocols that speak JSON.

mod buffer;
mod codec;
mod from_json;
mod json;
mod texts;
mod typed;
mod weight;

pub use buffer::BufferKind;
pub use codec::{DecodeError, Key, RawText, Reader, Token, Writer};
pub use from_json::{JsonEncoder, JsonRefusal};
pub use json::JSON_TAG;
pub use texts::{TextForm, texts};
pub use typed::read;
pub use weight::weigh;

use std::fmt;

/// A JavaScript string: Unicode text, or UTF-16 code units if it has lone surrogates.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Text {
    /// Well-formed text.
    Utf8(String),
    /// Code units with at least one lone surrogate.
    Utf16(Vec<u16>),
}

impl Text {
    /// Converts UTF-16 code units.
    #[must_use]
    pub fn from_utf16(units: Vec<u16>) -> Self {
        match String::from_utf16(&units) {
            Ok(text) => Self::Utf8(text),
            Err(_) => Self::Utf16(units),
        }
    }

    /// The text, each lone surrogate replaced by U+FFFD.
    #[must_use]
    pub fn to_string_lossy(&self) -> String {
        match self {
            Self::Utf8(text) => text.clone(),
            Self::Utf16(units) => String::from_utf16_lossy(units),
        }
    }

    fn into_string_lossy(self) -> String {
        match self {
            Self::Utf8(text) => text,
            Self::Utf16(units) => String::from_utf16_lossy(&units),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), out)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Utf8(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Utf8(text)
    }
}

/// A value that crosses the boundary. Functions, symbols and cycles do not.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `undefined`
    Undefined,
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Any number, NaN, -0 and the infinities included.
    Number(f64),
    /// A bigint, in decimal.
    BigInt(String),
    /// A string.
    String(Text),
    /// A `Date`: milliseconds since the epoch, NaN if invalid.
    Date(f64),
    /// An `ArrayBuffer`, or a view of one with the bytes in its range, in memory order: little-endian. The other side
    /// gets an object of the same kind, with a dedicated buffer.
    Bytes(BufferKind, Vec<u8>),
    /// A `Map`, in insertion order.
    Map(Vec<(Value, Value)>),
    /// A `Set`, in insertion order.
    Set(Vec<Value>),
    /// An `Error`.
    Error(Box<ErrorValue>),
    /// An array; holes are `undefined`.
    Array(Vec<Value>),
    /// A plain object: the own enumerable properties with string keys, in order.
    Object(Vec<(Text, Value)>),
}

/// The parts of an `Error`.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorValue {
    /// `error.name`
    pub name: Text,
    /// `error.message`
    pub message: Text,
    /// `error.stack`; empty if there is none.
    pub stack: Text,
    /// `error.cause`, if it has one.
    pub cause: Option<Value>,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Vec<u8>> for Value {
    /// A `Uint8Array`.
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(BufferKind::default(), bytes)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<serde_json::Value> for Value {
    /// Converts numbers to JavaScript numbers, as `JSON.parse` would.
    fn from(json: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::String(Text::Utf8(text)),
            Json::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Json::Object(entries) => {
                Self::Object(entries.into_iter().map(|(key, value)| (Text::Utf8(key), value.into())).collect())
            }
        }
    }
}

impl Value {
    /// The name of the value's kind, as a JavaScript programmer knows it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::BigInt(_) => "bigint",
            Self::String(_) => "string",
            Self::Date(_) => "Date",
            Self::Bytes(kind, _) => kind.name(),
            Self::Map(_) => "Map",
            Self::Set(_) => "Set",
            Self::Error(_) => "Error",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.into_string_lossy()
    }
}
