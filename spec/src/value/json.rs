//! The two JSON forms of a value: lossless, and plain as `JSON.stringify` writes it.

use super::{Text, Value};
use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use serde_json::{Map, Number, Value as Json};

/// The key with which [`Value::to_json`] tags kinds that JSON does not have, and escaped objects: those that have such
/// a key themselves.
pub const JSON_TAG: &str = "$type";

impl Value {
    /// The lossless JSON form. A kind that JSON does not have becomes `{"$type": kind, "value": …}`. A plain object
    /// that has a key `$type` itself becomes `{"$type": "object", "value": [[key, value], …]}`, so data cannot be
    /// mistaken for a tag. The kind of a buffer or view is the name of its class, as `Uint8Array`, and its value is
    /// base64. Integers of at most 53 bits are written without a fraction.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Undefined => object([(JSON_TAG, "undefined".into())]),
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(number) => {
                json_number(*number).map_or_else(|| tagged("number", number_text(*number).into()), Json::Number)
            }
            Self::BigInt(digits) => tagged("bigint", digits.as_str().into()),
            Self::String(Text::Utf8(text)) => text.as_str().into(),
            Self::String(Text::Utf16(units)) => tagged("utf16", units.iter().copied().map(Json::from).collect()),
            Self::Date(ms) => tagged("date", json_date(*ms)),
            Self::Bytes(kind, bytes) => tagged(kind.name(), BASE64.encode(bytes).into()),
            Self::Map(entries) => tagged("map", entries.iter().map(|(key, value)| pair(key, value)).collect()),
            Self::Set(items) => tagged("set", items.iter().map(Self::to_json).collect()),
            Self::Error(error) => {
                let mut fields = Map::new();
                fields.insert(JSON_TAG.into(), "error".into());
                fields.insert("name".into(), error.name.to_string_lossy().into());
                fields.insert("message".into(), error.message.to_string_lossy().into());
                if error.stack != Text::Utf8(String::new()) {
                    fields.insert("stack".into(), error.stack.to_string_lossy().into());
                }
                if let Some(cause) = &error.cause {
                    fields.insert("cause".into(), cause.to_json());
                }
                Json::Object(fields)
            }
            Self::Array(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(entries) => object_json(entries),
        }
    }

    /// The output of `JSON.stringify`, but with bytes as base64 and bigints as strings: properties that are `undefined`
    /// are omitted; `undefined` in arrays, and numbers that JSON does not have, become `null`; dates become ISO
    /// strings; maps, sets and errors become `{}`. `None` for `undefined`.
    #[must_use]
    pub fn to_plain_json(&self) -> Option<Json> {
        Some(match self {
            Self::Undefined => return None,
            Self::Null => Json::Null,
            Self::Map(_) | Self::Set(_) | Self::Error(_) => Json::Object(Map::new()),
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(number) => {
                json_number(if *number == 0.0 { 0.0 } else { *number }).map_or(Json::Null, Json::Number)
            }
            Self::BigInt(digits) => digits.as_str().into(),
            Self::String(text) => text.to_string_lossy().into(),
            Self::Date(ms) => json_date(*ms),
            Self::Bytes(_, bytes) => BASE64.encode(bytes).into(),
            Self::Array(items) => items.iter().map(|item| item.to_plain_json().unwrap_or(Json::Null)).collect(),
            Self::Object(entries) => Json::Object(
                entries
                    .iter()
                    .filter_map(|(key, value)| Some((key.to_string_lossy(), value.to_plain_json()?)))
                    .collect(),
            ),
        })
    }
}

// Built by hand instead of with `json!`, because the macro would copy large values where this code moves them.

fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A value of a kind that JSON does not have.
fn tagged(kind: &str, value: Json) -> Json {
    object([(JSON_TAG, kind.into()), ("value", value)])
}

fn pair(key: &Value, value: &Value) -> Json {
    Json::Array(vec![key.to_json(), value.to_json()])
}

fn object_json(entries: &[(Text, Value)]) -> Json {
    let escaped = entries.iter().any(|(key, _)| matches!(key, Text::Utf16(_)) || *key == Text::from(JSON_TAG));
    if escaped {
        return tagged("object", entries.iter().map(|(key, value)| pair(&Value::String(key.clone()), value)).collect());
    }
    Json::Object(entries.iter().map(|(key, value)| (key.to_string_lossy(), value.to_json())).collect())
}

/// `None` for the numbers that JSON does not have, including -0.
fn json_number(number: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number == 0.0 && number.is_sign_negative() {
        None
    } else if number.fract() == 0.0 && number.abs() <= EXACT {
        Some(Number::from(number as i64))
    } else {
        Number::from_f64(number)
    }
}

fn number_text(number: f64) -> &'static str {
    match number {
        n if n.is_nan() => "NaN",
        n if n == f64::INFINITY => "Infinity",
        n if n == f64::NEG_INFINITY => "-Infinity",
        _ => "-0",
    }
}

/// ISO 8601, as `Date.prototype.toISOString` writes it; `null` for an invalid date.
fn json_date(ms: f64) -> Json {
    if !ms.is_finite() || ms.abs() > 8.64e15 {
        return Json::Null;
    }
    let ms = ms as i64;
    let (days, in_day) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // Days to civil date, after Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let year = match year {
        0..=9_999 => format!("{year:04}"),
        _ => format!("{}{:06}", if year < 0 { '-' } else { '+' }, year.abs()),
    };
    let (hour, minute, second, milli) = (in_day / 3_600_000, in_day / 60_000 % 60, in_day / 1_000 % 60, in_day % 1_000);
    Json::String(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::BufferKind;
    use serde_json::json;

    #[test]
    fn data_cannot_pass_for_a_tag() {
        let forged = Value::Object(vec![("$type".into(), "date".into()), ("value".into(), "2020".into())]);
        assert_eq!(forged.to_json(), json!({"$type": "object", "value": [["$type", "date"], ["value", "2020"]]}));
        assert_eq!(Value::Date(0.0).to_json(), json!({"$type": "date", "value": "1970-01-01T00:00:00.000Z"}));
    }

    #[test]
    fn json_forms() {
        assert_eq!(Value::Number(3.0).to_json().to_string(), "3");
        assert_eq!(Value::Number(-0.0).to_json(), json!({"$type": "number", "value": "-0"}));
        assert_eq!(Value::from(b"hello".to_vec()).to_json(), json!({"$type": "Uint8Array", "value": "aGVsbG8="}));
        let buffer = Value::Bytes(BufferKind::ArrayBuffer, vec![0]);
        assert_eq!(buffer.to_json(), json!({"$type": "ArrayBuffer", "value": "AA=="}));
        assert_eq!(buffer.to_plain_json(), Some(json!("AA==")));
        assert_eq!(Value::Date(951_782_400_000.0).to_plain_json(), Some(json!("2000-02-29T00:00:00.000Z")));
        assert_eq!(Value::Date(-62_198_755_200_000.0).to_plain_json(), Some(json!("-000001-01-01T00:00:00.000Z")));
        let object =
            Value::Object(vec![("a".into(), Value::Undefined), ("b".into(), Value::Array(vec![Value::Undefined]))]);
        assert_eq!(object.to_plain_json(), Some(json!({"b": [null]})));
    }
}
