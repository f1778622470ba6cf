//! Deserialises Rust types directly from the codec's bytes, without an intermediate [`Value`](super::Value): fields
//! that a type does not have take no memory.

use super::codec::{DecodeError, Key, RawText, Reader, Token};
use crate::limits::{CODEC_KEYS_MAX, VALUE_DEPTH_MAX};
use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
        value::{Error, StringDeserializer},
    },
    forward_to_deserialize_any,
};

/// Deserialises a type from the bytes of one encoded value. `undefined` is read as `null`. Dates, maps, sets, errors,
/// bigints and buffers are refused, because JSON does not have them.
///
/// # Errors
/// When the bytes are not exactly one value, nest deeper than [`VALUE_DEPTH_MAX`], or do not match the type.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let mut typed = TypedDeserializer { reader: Reader::new(bytes), token: None, keys: Vec::new(), depth: 0 };
    let value = T::deserialize(&mut typed)?;
    if typed.reader.rest() > 0 { Err(Error::custom("bytes after the value")) } else { Ok(value) }
}

struct TypedDeserializer<'de> {
    reader: Reader<'de>,
    /// A token that was peeked and not consumed.
    token: Option<Token<'de>>,
    keys: Vec<String>,
    depth: usize,
}

fn decode_error(error: DecodeError) -> Error {
    Error::custom(error)
}

fn text(raw: RawText<'_>) -> String {
    raw.to_text().to_string_lossy()
}

impl<'de> TypedDeserializer<'de> {
    fn token(&mut self) -> Result<Token<'de>, Error> {
        match self.token.take() {
            Some(token) => Ok(token),
            None => self.reader.token().map_err(decode_error),
        }
    }

    fn key(&mut self) -> Result<String, Error> {
        match self.reader.key().map_err(decode_error)? {
            Key::New(raw) => {
                let key = text(raw);
                if self.keys.len() < CODEC_KEYS_MAX {
                    self.keys.push(key.clone());
                }
                Ok(key)
            }
            Key::Seen(index) => self.keys.get(index).cloned().ok_or_else(|| decode_error(DecodeError::UNKNOWN_KEY)),
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= VALUE_DEPTH_MAX {
            return Err(decode_error(DecodeError::TOO_DEEP));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }
}

impl<'de> Deserializer<'de> for &mut TypedDeserializer<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Undefined | Token::Null => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Number(number) if is_whole(number) => visitor.visit_i64(number as i64),
            Token::Number(number) => visitor.visit_f64(number),
            Token::String(RawText::Utf8(text)) => visitor.visit_borrowed_str(text),
            Token::String(raw) => visitor.visit_string(text(raw)),
            Token::Array(left) => self.deeper(|typed| visitor.visit_seq(Parts { typed, left })),
            Token::Object(left) => self.deeper(|typed| visitor.visit_map(Parts { typed, left })),
            Token::BigInt(_)
            | Token::Date(_)
            | Token::Bytes(..)
            | Token::Map(_)
            | Token::Set(_)
            | Token::Error { .. } => Err(Error::custom("a value that JSON does not have")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Undefined | Token::Null => visitor.visit_none(),
            token => {
                self.token = Some(token);
                visitor.visit_some(self)
            }
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.token()? {
            Token::String(raw) => visitor.visit_enum(text(raw).into_deserializer()),
            _ => Err(Error::custom("a string was expected")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// Whether an integer can represent the number exactly.
fn is_whole(number: f64) -> bool {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    number.fract() == 0.0 && number.abs() <= EXACT_MAX && !(number == 0.0 && number.is_sign_negative())
}

/// The items of an array, or the members of an object.
struct Parts<'t, 'de> {
    typed: &'t mut TypedDeserializer<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Parts<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.typed).map(Some)
    }
}

impl<'de> MapAccess<'de> for Parts<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let key: StringDeserializer<Error> = self.typed.key()?.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(&mut *self.typed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use serde::Deserialize;
    use serde_json::{Value as Json, json};

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Page,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        id: i64,
        name: Option<String>,
        kind: Kind,
        #[serde(default)]
        rows: Vec<Row>,
    }

    #[test]
    fn a_type_is_read_and_what_it_does_not_ask_for_is_passed_over() {
        let inner = json!({"kind": "page", "more": [1, {"name": "x"}], "id": 2, "name": null});
        let json = json!({"id": -1, "name": "é", "ignored": {"a": [[], {}]}, "kind": "page", "rows": [inner]});
        let bytes = Value::from(json.clone()).encode();
        let inner = Row { id: 2, name: None, kind: Kind::Page, rows: Vec::new() };
        assert_eq!(
            read::<Row>(&bytes).unwrap(),
            Row { id: -1, name: Some("é".into()), kind: Kind::Page, rows: vec![inner] }
        );
        assert_eq!(read::<Json>(&bytes).unwrap(), json);
    }

    #[test]
    fn what_is_no_value_or_not_of_the_type_is_refused() {
        let bytes = Value::from(json!({"id": 1})).encode();
        assert!(read::<Row>(&bytes).is_err() && read::<Json>(&bytes[1..]).is_err());
        assert!(read::<Json>(&[&bytes[..], &[0]].concat()).is_err());
        assert!(read::<Json>(&Value::Date(0.0).encode()).is_err());
        let deep = (0..=VALUE_DEPTH_MAX).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(read::<Json>(&deep.encode()).is_err());
        assert_eq!(read::<Json>(&Value::Number(1.5).encode()).unwrap(), json!(1.5));
    }
}
