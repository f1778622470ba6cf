//! Masking: overwrites the values of secrets, in all their encodings, in text that goes to a script or leaves the host.

use super::forms::forms;
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::Context,
    message::Encoded,
    value::{TextForm, texts},
};
use serde_json::{Map, Value as Json};
use std::{fmt, ops::Range};

/// The byte that replaces each character.
const MASK: u8 = b'*';

/// Overwrites values with asterisks: one per byte, or per character in strings that a script has held, so that the
/// surrounding format stays valid. Does nothing if there are no values; otherwise searches each text once.
#[derive(Clone, Default)]
pub struct Masker {
    search: Option<AhoCorasick>,
}

impl Masker {
    /// Creates a masker for these values.
    ///
    /// # Errors
    /// When there are too many for one search automaton.
    pub fn of<'v>(values: impl IntoIterator<Item = &'v str>) -> Result<Self, aho_corasick::BuildError> {
        let mut patterns: Vec<Vec<u8>> = values.into_iter().flat_map(forms).collect();
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        patterns.sort_unstable();
        patterns.dedup();
        // One form may begin inside another, so search for all overlapping matches.
        let search = AhoCorasickBuilder::new().match_kind(MatchKind::Standard).build(patterns)?;
        Ok(Self { search: Some(search) })
    }

    /// Masks a text in place.
    pub fn text(&self, text: &mut String) {
        let Some(search) = self.search.as_ref().filter(|search| search.is_match(text.as_str())) else { return };
        let mut bytes = std::mem::take(text).into_bytes();
        for found in found_in(search, &bytes, TextForm::Utf8) {
            bytes[found].fill(MASK);
        }
        // Only whole characters were replaced, by ASCII.
        *text = String::from_utf8(bytes).unwrap_or_default();
    }

    /// The text, masked.
    #[must_use]
    pub fn masked(&self, mut text: String) -> String {
        self.text(&mut text);
        text
    }

    /// Masks the texts in an encoded value. Numbers are not masked.
    ///
    /// # Errors
    /// `HOST_FAULT` when the bytes contain a secret and are not a valid encoding.
    pub fn encoded(&self, value: &mut Encoded) -> Result<(), ErrorReport> {
        let Some(search) = self.search.as_ref().filter(|search| search.is_match(&value.0)) else { return Ok(()) };
        let mut ranges: Vec<(TextForm, Range<usize>)> = Vec::new();
        let walked = texts(&value.0, |form, place| {
            let within = found_in(search, &value.0[place.clone()], form);
            ranges.extend(within.into_iter().map(|found| (form, found.start + place.start..found.end + place.start)));
        });
        walked.map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("what is to be masked is {error}")))?;
        for (form, range) in ranges {
            let place = &mut value.0[range];
            match form {
                TextForm::Utf16 => place.chunks_exact_mut(2).for_each(|unit| unit.copy_from_slice(&[MASK, 0])),
                TextForm::Bytes | TextForm::Utf8 => place.fill(MASK),
            }
        }
        Ok(())
    }

    /// Masks all strings in JSON, including keys.
    pub fn json(&self, json: &mut Json) {
        if self.search.is_none() {
            return;
        }
        match json {
            Json::String(text) => self.text(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Json::Object(fields) => {
                let masked: Map<String, Json> = std::mem::take(fields)
                    .into_iter()
                    .map(|(key, mut value)| {
                        self.json(&mut value);
                        (self.masked(key), value)
                    })
                    .collect();
                *fields = masked;
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// The report, masked.
    #[must_use]
    pub fn report(&self, mut report: ErrorReport) -> ErrorReport {
        self.text(&mut report.message);
        self.text(&mut report.hint);
        self.json(&mut report.details);
        report
    }

    /// Masks the URL and the title of an execution's context.
    pub fn context(&self, context: &mut Context) {
        for text in [&mut context.url, &mut context.title].into_iter().flatten() {
            self.text(text);
        }
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.search.is_some() { "Masker(…)" } else { "Masker(nothing)" })
    }
}

/// The ranges of matches in a text, widened to whole characters.
fn found_in(search: &AhoCorasick, text: &[u8], form: TextForm) -> Vec<Range<usize>> {
    let is_inside = |at: usize| match form {
        TextForm::Bytes => false,
        TextForm::Utf8 => text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80),
        TextForm::Utf16 => at % 2 == 1 && at < text.len(),
    };
    let widened = |found: aho_corasick::Match| {
        let (mut start, mut end) = (found.start(), found.end());
        while is_inside(start) {
            start -= 1;
        }
        while is_inside(end) {
            end += 1;
        }
        start..end
    };
    search.find_overlapping_iter(text).map(widened).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::{
        Value,
        value::{BufferKind, Text},
    };
    use proptest::{prelude::*, test_runner::RngSeed};
    use serde_json::json;

    fn masker(values: &[&str]) -> Masker {
        Masker::of(values.iter().copied()).unwrap()
    }

    #[test]
    fn values_are_overwritten_and_the_rest_stays() {
        let masker = masker(&["hunter2", "wört 7", "unter2x"]);
        let rows = [
            ("the password is hunter2.", "the password is *******."),
            ("hunter2hunter2x", "***************"),
            ("ä hunter ä", "ä hunter ä"),
            ("q=w%C3%B6rt+7&x", "q=***********&x"),
            ("wört 7", "*******"),
            ("aHVudGVyMg==", "*********g=="),
        ];
        for (text, masked) in rows {
            assert_eq!(masker.masked(text.to_owned()), masked);
        }
        assert_eq!(Masker::default().masked("hunter2".to_owned()), "hunter2");
    }

    #[test]
    fn a_value_of_the_codec_keeps_its_form() {
        let masker = masker(&["hunter2", "wört 7"]);
        let units: Vec<u16> = "hunter2".encode_utf16().chain([0xd800]).collect();
        let value = Value::Object(vec![
            ("hunter2".into(), Value::Number(7.5)),
            ("a".into(), Value::Array(vec![Value::String("x wört 7".into()), Value::String(Text::Utf16(units))])),
            ("b".into(), Value::Bytes(BufferKind::Uint8Array, b"-hunter2-".to_vec())),
        ]);
        let mut bytes = Encoded::from(value);
        let length = bytes.0.len();
        masker.encoded(&mut bytes).unwrap();
        assert_eq!(bytes.0.len(), length);
        let units: Vec<u16> = "*******".encode_utf16().chain([0xd800]).collect();
        let masked = Value::Object(vec![
            ("*******".into(), Value::Number(7.5)),
            ("a".into(), Value::Array(vec![Value::String("x *******".into()), Value::String(Text::Utf16(units))])),
            ("b".into(), Value::Bytes(BufferKind::Uint8Array, b"-*******-".to_vec())),
        ]);
        assert_eq!(bytes.value().unwrap(), masked);
        assert!(masker.encoded(&mut Encoded(b"hunter2".to_vec())).is_err(), "no value of the codec");
    }

    #[test]
    fn reports_are_masked_in_all_their_parts() {
        let masker = masker(&["hunter2"]);
        let report = ErrorReport::new(ErrorCode::ScriptError, "hunter2 is wrong")
            .with_hint("not hunter2")
            .with_detail("hunter2", json!([{"deep": "hunter2"}, 2]));
        let masked = json!(masker.report(report)).to_string();
        assert!(!masked.contains("hunter2") && masked.contains("*******"), "{masked}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn no_value_is_left_and_no_text_breaks(value in "\\PC{4,20}", before in "\\PC{0,20}", after in "\\PC{0,20}") {
            let masker = masker(&[&value]);
            let text = format!("{before}{value}{after}");
            prop_assert!(!masker.masked(text.clone()).contains(&value));
            let mut bytes = Encoded::from(Value::Array(vec![Value::String(text.as_str().into()), Value::Number(1.5)]));
            masker.encoded(&mut bytes).unwrap();
            let shown = format!("{:?}", bytes.value().unwrap());
            prop_assert!(value.chars().any(|c| !c.is_ascii_graphic()) || !shown.contains(&value));
        }
    }
}
