//! Encodes JSON text directly into the codec's bytes, without an intermediate tree of values.

use super::{Text, Writer};
use crate::limits::VALUE_DEPTH_MAX;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::{cell::Cell, fmt};

/// Why well-formed JSON was not converted to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonRefusal {
    /// It nests deeper than [`VALUE_DEPTH_MAX`].
    TooDeep,
    /// Its encoding would exceed the encoder's bound.
    TooLarge,
}

impl fmt::Display for JsonRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(out, "it is nested deeper than {VALUE_DEPTH_MAX} levels"),
            Self::TooLarge => out.write_str("it is larger than it may be"),
        }
    }
}

/// Encodes the value that `JSON.parse` would return for a text. It is a [`DeserializeSeed`], usable wherever a
/// serde_json deserializer reads a value.
///
/// If the JSON is refused, only the bytes written so far have been allocated. The depth is bounded here, so the
/// deserializer's own bound, which is smaller, may be disabled.
#[derive(Debug)]
pub struct JsonEncoder {
    bytes_max: usize,
    refusal: Cell<Option<JsonRefusal>>,
}

impl JsonEncoder {
    /// Creates an encoder that writes at most `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, refusal: Cell::new(None) }
    }

    /// Why the last value was refused; `None` if it was malformed. Needed because an error of serde_json carries only
    /// text.
    #[must_use]
    pub fn refusal(&self) -> Option<JsonRefusal> {
        self.refusal.get()
    }
}

impl<'de> DeserializeSeed<'de> for &JsonEncoder {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<u8>, D::Error> {
        let mut writer = Writer::default();
        JsonValue { writer: &mut writer, depth_left: VALUE_DEPTH_MAX, encoder: self }.deserialize(deserializer)?;
        Ok(writer.finish())
    }
}

/// The visitor that writes one value.
struct JsonValue<'w> {
    writer: &'w mut Writer,
    depth_left: usize,
    encoder: &'w JsonEncoder,
}

impl JsonValue<'_> {
    fn refuse<E: de::Error>(&self, why: JsonRefusal) -> E {
        self.encoder.refusal.set(Some(why));
        E::custom(why)
    }

    /// Checks that the bytes fit. Called before writing, so that the bound is never exceeded.
    fn room<E: de::Error>(&self, bytes: usize) -> Result<(), E> {
        // Reserve for a head or a number in addition to the text.
        const LEAST: usize = 16;
        if self.writer.len() + bytes + LEAST > self.encoder.bytes_max {
            return Err(self.refuse(JsonRefusal::TooLarge));
        }
        Ok(())
    }

    /// The visitor for a part of this value.
    fn part<E: de::Error>(&mut self) -> Result<JsonValue<'_>, E> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(JsonValue { writer: self.writer, depth_left, encoder: self.encoder }),
            None => Err(self.refuse(JsonRefusal::TooDeep)),
        }
    }

    fn number<E: de::Error>(self, number: f64) -> Result<(), E> {
        self.room(0)?;
        self.writer.number(number);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for JsonValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValue<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.room(0)?;
        self.writer.bool(value);
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.number(value as f64)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.number(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.number(value)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        self.room(value.len())?;
        self.writer.str(value);
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.room(0)?;
        self.writer.null();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.room(0)?;
        let open = self.writer.open_array();
        let mut count = 0;
        while seq.next_element_seed(self.part()?)?.is_some() {
            count += 1;
        }
        self.writer.close(open, count);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.room(0)?;
        let open = self.writer.open_object();
        let mut count = 0;
        while let Some(key) = map.next_key::<String>()? {
            self.room(key.len())?;
            self.writer.key(&Text::Utf8(key));
            map.next_value_seed(self.part()?)?;
            count += 1;
        }
        self.writer.close(open, count);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use serde_json::json;

    /// Encodes a JSON text. The error is `None` if the text is malformed.
    fn encode(text: &str, bytes_max: usize) -> Result<Vec<u8>, Option<JsonRefusal>> {
        let encoder = JsonEncoder::new(bytes_max);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.disable_recursion_limit();
        let bytes = encoder.deserialize(&mut deserializer);
        bytes.and_then(|bytes| deserializer.end().map(|()| bytes)).map_err(|_| encoder.refusal())
    }

    #[test]
    fn what_comes_out_is_what_a_tree_would_have_said() {
        for json in [
            json!(null),
            json!([1, -2, 1.5, 9_007_199_254_740_993_u64, true, "x\n", "Zürich 🦀", "ÿ", "", {}, []]),
            json!([{"a": 1, "b": {"a": [null]}}, {"b": 2, "a": {"c": "\u{0}"}}]),
        ] {
            let bytes = encode(&json.to_string(), 1_000).unwrap();
            assert_eq!(Value::decode(&bytes), Ok(Value::from(json.clone())), "{json}");
            assert_eq!(bytes, Value::from(json).encode());
        }
        let twice = encode(r#"{"a":1,"a":2}"#, 1_000).unwrap();
        let Ok(Value::Object(entries)) = Value::decode(&twice) else { panic!() };
        assert_eq!(entries.last(), Some(&("a".into(), Value::Number(2.0))), "the last one wins");
    }

    #[test]
    fn bounds_are_kept() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(encode(&deep(VALUE_DEPTH_MAX), 10_000).is_ok());
        assert_eq!(encode(&deep(VALUE_DEPTH_MAX + 2), 10_000), Err(Some(JsonRefusal::TooDeep)));
        assert_eq!(encode(&deep(100_000), 10_000), Err(Some(JsonRefusal::TooDeep)));
        assert_eq!(encode(&format!("{:?}", "x".repeat(1_000)), 1_000), Err(Some(JsonRefusal::TooLarge)));
        assert_eq!(encode(&format!("[{}0]", "0,".repeat(1_000)), 1_000), Err(Some(JsonRefusal::TooLarge)));
        assert_eq!(encode(&format!("{{{:?}:0}}", "x".repeat(1_000)), 1_000), Err(Some(JsonRefusal::TooLarge)));
        for text in ["", "[", "[1,]", "nul", "1 2", r#""\ud800""#] {
            assert_eq!(encode(text, 1_000), Err(None), "{text}");
        }
    }
}
