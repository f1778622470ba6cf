//! Reading whole numbers from JSON in every notation that people and programs use: `1000`, `1e3` and `1000.0` are the
//! same.

use serde::{Deserializer, de};
use std::fmt;

/// 2^53. Beyond it, not every whole number can be represented as a float.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The whole number that a float is, if it is one.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "it was seen to be whole and exact")]
pub fn of_float(float: f64) -> Option<i64> {
    (float.fract() == 0.0 && float.abs() <= EXACT_MAX).then_some(float as i64)
}

/// Replaces every float in a JSON value that is a whole number by an integer.
pub fn in_json(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(of_float) {
                *number = whole.into();
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(in_json),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(in_json),
        _ => {}
    }
}

/// Deserialises an optional field: `#[serde(default, deserialize_with = "whole::optional")]`.
///
/// # Errors
/// When the value is not a whole number, or is negative.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct Whole;

    impl<'de> de::Visitor<'de> for Whole {
        type Value = Option<u64>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a whole number")
        }

        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_any(self)
        }

        fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number))
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            let whole = u64::try_from(number);
            whole.map(Some).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
            let whole = of_float(number).and_then(|whole| u64::try_from(whole).ok());
            whole.map(Some).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
        }
    }

    deserializer.deserialize_option(Whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Asked {
        #[serde(default, deserialize_with = "optional")]
        ms: Option<u64>,
    }

    #[test]
    fn a_whole_number_is_one_however_it_is_written() {
        let read = |text: &str| serde_json::from_str::<Asked>(text).map(|asked| asked.ms).ok();
        for (text, ms) in [("1000", 1000), ("1e3", 1000), ("1000.0", 1000), ("-0.0", 0), ("9007199254740992", 1 << 53)]
        {
            assert_eq!(read(&format!("{{\"ms\": {text}}}")), Some(Some(ms)), "{text}");
        }
        for text in ["{}", "{\"ms\": null}"] {
            assert_eq!(read(text), Some(None));
        }
        for text in ["1.5", "-1", "-1e3", "1e300", "\"1000\"", "true", "[1]"] {
            assert_eq!(read(&format!("{{\"ms\": {text}}}")), None, "{text}");
        }
        let mut json = json!({"a": [1e3, 1.5, -2.0, {"b": 1e300}], "c": "1e3"});
        in_json(&mut json);
        assert_eq!(json.to_string(), json!({"a": [1000, 1.5, -2, {"b": 1e300}], "c": "1e3"}).to_string());
    }
}
