//! Conversion of values: into a page as JavaScript source, and back as tagged JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_spec::{
    Value,
    value::{BufferKind, ErrorValue, Text},
};
use serde_json::Value as Json;

/// A JavaScript function that converts a function's result to tagged JSON, which [`returned`] reads.
pub(crate) const SERIALIZE: &str = include_str!("../js/serialize.js");
/// The key of the tag in that JSON.
const TAG: &str = "$";

/// Converts the JSON of [`SERIALIZE`] to a value.
pub(crate) fn returned(json: Json) -> Value {
    match json {
        Json::Array(values) => Value::Array(list(values)),
        Json::Object(mut fields) => match fields.remove(TAG) {
            Some(Json::String(kind)) => tagged(&kind, fields.remove("value").unwrap_or_default()),
            _ => Value::Object(fields.into_iter().map(|(key, value)| (Text::from(key), returned(value))).collect()),
        },
        plain => Value::from(plain),
    }
}

/// Converts a tagged value. The page produces them, so any may be invalid: such a value becomes `undefined`.
fn tagged(kind: &str, value: Json) -> Value {
    match (kind, value) {
        ("number", Json::String(text)) => number(&text),
        ("bigint", Json::String(digits)) if is_integer(&digits) => Value::BigInt(digits),
        ("utf16", Json::Array(units)) => Value::String(Text::Utf16(units.iter().filter_map(unit).collect())),
        ("date", ms) => Value::Date(ms.as_f64().unwrap_or(f64::NAN)),
        ("map", Json::Array(entries)) => Value::Map(pairs(entries)),
        ("set", Json::Array(values)) => Value::Set(list(values)),
        ("object", Json::Array(entries)) => Value::Object(
            pairs(entries)
                .into_iter()
                .filter_map(|(key, value)| match key {
                    Value::String(key) => Some((key, value)),
                    _ => None,
                })
                .collect(),
        ),
        ("error", fields) => {
            let text = |name: &str| Text::from(fields[name].as_str().unwrap_or_default().to_owned());
            let (name, message, stack) = (text("name"), text("message"), text("stack"));
            Value::Error(Box::new(ErrorValue { name, message, stack, cause: None }))
        }
        (kind, Json::String(bytes)) => match (BufferKind::of_name(kind), STANDARD.decode(bytes)) {
            (Some(kind), Ok(bytes)) if bytes.len() % kind.element_bytes() == 0 => Value::Bytes(kind, bytes),
            _ => Value::Undefined,
        },
        _ => Value::Undefined,
    }
}

/// A number that JSON cannot represent.
pub(crate) fn number(text: &str) -> Value {
    Value::Number(match text {
        "-0" => -0.0,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ => f64::NAN,
    })
}

fn is_integer(digits: &str) -> bool {
    let digits = digits.strip_prefix('-').unwrap_or(digits);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

fn unit(unit: &Json) -> Option<u16> {
    u16::try_from(unit.as_u64()?).ok()
}

fn list(values: Vec<Json>) -> Vec<Value> {
    values.into_iter().map(returned).collect()
}

fn pairs(entries: Vec<Json>) -> Vec<(Value, Value)> {
    let pair = |entry: Json| match entry {
        Json::Array(pair) => <[Json; 2]>::try_from(pair).ok().map(|[key, value]| (returned(key), returned(value))),
        _ => None,
    };
    entries.into_iter().filter_map(pair).collect()
}

/// A value as JavaScript source.
pub(crate) fn literal(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(literal).collect::<Vec<_>>().join(",");
    match value {
        Value::Undefined => "undefined".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.is_nan() => "NaN".to_owned(),
        Value::Number(number) if number.is_infinite() => {
            if *number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        }
        Value::Number(number) if *number == 0.0 && number.is_sign_negative() => "-0".to_owned(),
        Value::Number(number) => format!("({number:?})"),
        Value::BigInt(digits) => format!("({digits}n)"),
        Value::String(text) => string(text),
        Value::Date(ms) if ms.is_nan() => "new Date(NaN)".to_owned(),
        Value::Date(ms) => format!("new Date({ms:?})"),
        Value::Bytes(kind, bytes) => {
            let bytes =
                format!("Uint8Array.from(atob(\"{}\"), letter => letter.charCodeAt(0))", STANDARD.encode(bytes));
            match kind {
                BufferKind::Uint8Array => bytes,
                BufferKind::ArrayBuffer => format!("{bytes}.buffer"),
                kind => format!("new {}({bytes}.buffer)", kind.name()),
            }
        }
        Value::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| format!("[{},{}]", literal(key), literal(value))).collect();
            format!("new Map([{}])", entries.join(","))
        }
        Value::Set(values) => format!("new Set([{}])", list(values)),
        Value::Error(error) => {
            format!("Object.assign(new Error({}), {{name: {}}})", string(&error.message), string(&error.name))
        }
        Value::Array(values) => format!("[{}]", list(values)),
        Value::Object(fields) => {
            // Computed keys, so that `__proto__` is an ordinary key.
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("[{}]:{}", string(key), literal(value))).collect();
            format!("({{{}}})", fields.join(","))
        }
    }
}

fn string(text: &Text) -> String {
    match text {
        Text::Utf8(text) => Json::from(text.as_str()).to_string(),
        Text::Utf16(units) => {
            format!("\"{}\"", units.iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_json_has_no_form_for_comes_back_by_its_tag() {
        let rows = [
            (json!({"$": "undefined"}), Value::Undefined),
            (json!({"$": "number", "value": "-0"}), Value::Number(-0.0)),
            (json!({"$": "bigint", "value": "-12"}), Value::BigInt("-12".into())),
            (json!({"$": "bigint", "value": "1x"}), Value::Undefined),
            (json!({"$": "date", "value": 5}), Value::Date(5.0)),
            (
                json!({"$": "Uint16Array", "value": "AQI="}),
                Value::Bytes(BufferKind::of_name("Uint16Array").unwrap(), vec![1, 2]),
            ),
            (json!({"$": "Uint16Array", "value": "AQ=="}), Value::Undefined),
            (json!({"$": "Uint16Array", "value": "?"}), Value::Undefined),
            (
                json!({"$": "set", "value": [1, {"$": "undefined"}]}),
                Value::Set(vec![Value::Number(1.0), Value::Undefined]),
            ),
            (json!({"$": "map", "value": [["a", 1], 2, [3]]}), Value::Map(vec![("a".into(), Value::Number(1.0))])),
            (json!({"$": "object", "value": [["$", "a"]]}), Value::Object(vec![("$".into(), "a".into())])),
            (json!({"a": [null]}), Value::Object(vec![("a".into(), Value::Array(vec![Value::Null]))])),
            (json!({"$": "unknown", "value": []}), Value::Undefined),
        ];
        for (json, value) in rows {
            assert_eq!(returned(json.clone()), value, "{json}");
        }
    }

    #[test]
    fn values_are_written_as_source() {
        let rows = [
            (Value::Number(-0.0), "-0"),
            (Value::Number(1e21), "(1e21)"),
            (Value::Number(-1.5), "(-1.5)"),
            (Value::BigInt("-12".into()), "(-12n)"),
            (Value::String("a\"\u{2028}\n".into()), "\"a\\\"\u{2028}\\n\""),
            (Value::String(Text::Utf16(vec![0xd800])), "\"\\ud800\""),
            (
                Value::Bytes(BufferKind::Uint8Array, vec![0, 255]),
                "Uint8Array.from(atob(\"AP8=\"), letter => letter.charCodeAt(0))",
            ),
            (
                Value::Object(vec![("__proto__".into(), Value::Array(vec![Value::Undefined]))]),
                "({[\"__proto__\"]:[undefined]})",
            ),
            (Value::Map(vec![(Value::Null, Value::Date(0.5))]), "new Map([[null,new Date(0.5)]])"),
        ];
        for (value, source) in rows {
            assert_eq!(literal(&value), source);
        }
    }
}
