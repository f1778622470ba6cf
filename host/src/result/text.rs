//! Results and console lines as plain text, and cutting text.
//!
//! These are the plain forms of `truncateResponse` and `sandboxResponseText` of the seed; structured values are cut by
//! [`truncate`](super::truncate()).

use super::{Shaped, measure};
use codemode_spec::{
    limits::LOG_CHARS_MAX,
    message::{ConsoleLine, Level},
};
use serde_json::Value as Json;

/// A text within its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextCut {
    /// The text, with a marker where something was left out.
    pub text: String,
    /// Characters of the text before.
    pub original_chars: usize,
    /// Characters of it that are still there. The same number, if nothing was left out.
    pub kept_chars: usize,
}

impl TextCut {
    /// Whether something was left out.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.kept_chars < self.original_chars
    }
}

/// Cuts a text in the middle, so that it has at most so many characters, the marker with the number of those left out
/// included. Below the length of a marker, the marker alone is what is left. Text within the budget is not touched, nor is
/// a text that was cut before and still is within it.
#[must_use]
pub fn truncate_text(text: &str, chars_max: usize) -> TextCut {
    cut(text, chars_max, |_| 1, Ends::Both)
}

/// What of a text stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Its beginning and, less of it, its end.
    Both,
    /// Its beginning, in groups of four characters: base64.
    HeadInFours,
}

/// As [`truncate_text`], where each character has a size of its own.
pub(super) fn cut(text: &str, size_max: usize, size_of: impl Fn(char) -> usize, ends: Ends) -> TextCut {
    let (mut size, mut original) = (0, 0);
    for c in text.chars() {
        size += size_of(c);
        original += 1;
    }
    if size <= size_max {
        return TextCut { text: text.to_owned(), original_chars: original, kept_chars: original };
    }
    // The marker is never longer than if all were left out.
    let left = size_max.saturating_sub(marker(original).chars().count());
    let head_size = if ends == Ends::Both { left - left / 4 } else { left };
    let take = |chars: &mut dyn Iterator<Item = char>, mut left: usize| {
        let mut taken: Vec<char> = Vec::new();
        for c in chars {
            let Some(rest) = left.checked_sub(size_of(c)) else { break };
            left = rest;
            taken.push(c);
        }
        taken
    };
    let mut head = take(&mut text.chars(), head_size);
    let mut tail = take(&mut text.chars().rev(), left - head_size);
    if ends == Ends::HeadInFours {
        head.truncate(head.len() / 4 * 4);
    }
    tail.reverse();
    let kept = head.len() + tail.len();
    let text = head.into_iter().chain(marker(original - kept).chars()).chain(tail).collect();
    TextCut { text, original_chars: original, kept_chars: kept }
}

/// What stands where characters were left out.
pub(super) fn marker(left_out: usize) -> String {
    format!("…[{} characters left out]…", grouped(left_out as u64))
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The result and the console lines as one text for a model. A result that was cut to a budget of its own is not cut a
/// second time; any other is cut to `chars_max`, and the console lines to [`LOG_CHARS_MAX`].
#[must_use]
pub fn sandbox_output_text(shaped: &Shaped, logs: &[ConsoleLine], chars_max: usize) -> String {
    let result = match &shaped.result {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let already_cut = !shaped.cuts.is_empty();
    let mut text = if already_cut { result } else { truncate_text(&result, chars_max).text };
    if !logs.is_empty() {
        let lines: Vec<_> = logs.iter().map(line).collect();
        text.push_str("\n\nConsole:\n");
        text.push_str(&truncate_text(&lines.join("\n"), LOG_CHARS_MAX).text);
    }
    if already_cut {
        let places = shaped.cuts.len() as u64 + shaped.cuts_unlisted;
        text.push_str(&format!("\n\n[cut in {} {}", grouped(places), if places == 1 { "place" } else { "places" }));
        if let Some(path) = &shaped.artifact {
            text.push_str("; the whole result: ");
            text.push_str(path);
        }
        text.push(']');
    }
    text
}

fn line(line: &ConsoleLine) -> String {
    match line.level {
        Level::Log | Level::Info => line.text.clone(),
        Level::Debug => format!("debug: {}", line.text),
        Level::Warn => format!("warn: {}", line.text),
        Level::Error => format!("error: {}", line.text),
    }
}

/// A string of JSON cut to so many characters, its quotes and escapes counted.
pub(super) fn cut_json_string(text: &str, chars_max: usize, ends: Ends) -> TextCut {
    cut(text, chars_max.saturating_sub(2), measure::escaped, ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::envelope::Cut;
    use proptest::{prelude::*, test_runner::RngSeed};
    use serde_json::json;

    #[test]
    fn numbers_are_grouped() {
        let rows = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")];
        for (number, text) in rows {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_text_is_cut_in_the_middle() {
        assert_eq!(truncate_text("abc", 3).text, "abc");
        let cut = truncate_text(&"0123456789".repeat(10), 60);
        assert_eq!(cut.text, "0123456789012345678901234…[67 characters left out]…23456789");
        assert_eq!((cut.original_chars, cut.kept_chars, cut.is_cut()), (100, 33, true));
    }

    #[test]
    fn what_was_cut_is_not_cut_again() {
        let logs = [ConsoleLine { level: Level::Warn, text: "careful".into() }];
        let shaped = Shaped {
            result: json!("x".repeat(500)),
            cuts: vec![Cut { path: String::new(), kind: "string".into(), original: 900, kept: 460 }],
            artifact: Some("somewhere/result.json".into()),
            ..Shaped::default()
        };
        let text = sandbox_output_text(&shaped, &logs, 100);
        let end = "\n\nConsole:\nwarn: careful\n\n[cut in 1 place; the whole result: somewhere/result.json]";
        assert_eq!(text, "x".repeat(500) + end);
        let uncut = Shaped { cuts: vec![], ..shaped };
        assert!(sandbox_output_text(&uncut, &[], 100).contains("characters left out"));
        assert_eq!(
            sandbox_output_text(&Shaped { result: json!([1, "a"]), ..Shaped::default() }, &[], 100),
            "[1,\"a\"]"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn any_text_fits_any_budget(text in "\\PC{0,300}", chars_max in 40..300_usize) {
            let cut = truncate_text(&text, chars_max);
            prop_assert!(cut.text.chars().count() <= chars_max);
            prop_assert_eq!(cut.is_cut(), text.chars().count() > chars_max);
            prop_assert_eq!(truncate_text(&cut.text, chars_max).text, cut.text);
        }
    }
}
