//! The fields of a request.

use serde_json::{Map, Value as Json};

/// The fields of a request. The contracts also accept numbers and booleans as strings.
#[derive(Default)]
pub(crate) struct Fields(pub(crate) Map<String, Json>);

impl Fields {
    /// A trimmed string that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let text = match self.0.get(name)? {
            Json::String(text) => text.trim().to_owned(),
            value @ (Json::Number(_) | Json::Bool(_)) => value.to_string(),
            _ => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let number = match self.0.get(name)? {
            Json::String(text) => text.trim().parse().ok(),
            value => value.as_f64(),
        };
        number.filter(|number: &f64| number.is_finite())
    }

    pub(crate) fn truth(&self, name: &str) -> Option<bool> {
        match self.0.get(name)? {
            Json::Bool(truth) => Some(*truth),
            Json::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" => Some(true),
                "false" | "0" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A list of strings; a single string is a list of one.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Json::Array(items)) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(Json::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    /// A time in milliseconds, within these bounds.
    pub(crate) fn time_ms(&self, name: &str, default: u64, least: u64, most: u64) -> u64 {
        self.number(name).map_or(default, |ms| (ms.max(0.0) as u64).clamp(least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_truths_may_be_texts_and_times_are_clamped() {
        let Json::Object(fields) = json!({
            "a": " x ", "b": " ", "n": "12.5", "t": "YES", "f": 0, "list": ["1", 2, "3"], "one": "1", "low": 1, "high": 1e12,
            "nan": "NaN", "minus": -5,
        }) else {
            unreachable!()
        };
        let fields = Fields(fields);
        assert_eq!(
            (fields.text("a").as_deref(), fields.text("b"), fields.text("n").as_deref()),
            (Some("x"), None, Some("12.5"))
        );
        assert_eq!((fields.number("n"), fields.number("nan"), fields.number("a")), (Some(12.5), None, None));
        assert_eq!((fields.truth("t"), fields.truth("f"), fields.truth("none")), (Some(true), None, None));
        assert_eq!(
            (fields.texts("list"), fields.texts("one")),
            (vec!["1".to_owned(), "3".to_owned()], vec!["1".to_owned()])
        );
        let times = ["low", "high", "minus", "none", "n"].map(|name| fields.time_ms(name, 8_000, 500, 60_000));
        assert_eq!(times, [500, 60_000, 500, 8_000, 500]);
    }
}
