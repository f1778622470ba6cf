//! Cutting plain text to a budget; structured values are cut by [`truncate`](super::truncate()).

use super::measure;

/// A text cut to its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextCut {
    /// The text, with a marker in place of what was left out.
    pub text: String,
    /// The number of characters of the original text.
    pub original_chars: usize,
    /// The number of characters retained; equal to `original_chars` if nothing was left out.
    pub kept_chars: usize,
}

impl TextCut {
    /// Whether something was left out.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.kept_chars < self.original_chars
    }
}

/// Cuts a text in the middle to at most so many characters, including a marker with the number of characters left out.
/// If the budget is shorter than a marker, the marker alone remains. A text within the budget is unchanged, also one
/// that was cut before.
#[must_use]
pub fn truncate_text(text: &str, chars_max: usize) -> TextCut {
    cut(text, chars_max, |_| 1, Ends::Both)
}

/// Which parts of a text are retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// The beginning and a shorter part of the end.
    Both,
    /// The beginning, in groups of four characters, for base64.
    HeadInFours,
}

/// [`truncate_text`] with an individual size for each character.
pub(super) fn cut(text: &str, size_max: usize, size_of: impl Fn(char) -> usize, ends: Ends) -> TextCut {
    let (mut size, mut original) = (0, 0);
    for c in text.chars() {
        size += size_of(c);
        original += 1;
    }
    if size <= size_max {
        return TextCut { text: text.to_owned(), original_chars: original, kept_chars: original };
    }
    // Reserve the marker's greatest length, which it has if everything is left out.
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

/// The marker in place of characters that were left out.
pub(super) fn marker(left_out: usize) -> String {
    format!("…[{} characters left out]…", grouped(left_out as u64))
}

/// A number with thousands separators.
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

/// Cuts a string so that, as JSON with its quotes and escapes, it has at most so many characters.
pub(super) fn cut_json_string(text: &str, chars_max: usize, ends: Ends) -> TextCut {
    cut(text, chars_max.saturating_sub(2), measure::escaped, ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

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
