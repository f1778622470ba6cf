//! The console lines of an answer, within their budget.

use super::text::{Ends, cut};
use codemode_spec::{limits::LOG_CHARS_MAX, message::ConsoleLine};

/// What a line takes besides its text: its line break, and the marker's bytes in excess of its characters.
const AROUND_BYTES: usize = 8;
/// The largest size of one line among several: half of the budget, so that it fits at either end.
const LINE_BYTES_MAX: usize = LOG_CHARS_MAX / 2 - AROUND_BYTES;

/// Fits console lines into the model's budget by keeping the first and the last ones. An oversized line is cut in the
/// middle, so that no line is dropped because of its own length; the dropped bytes are added to `dropped_bytes`.
#[must_use]
pub fn within_budget(mut lines: Vec<ConsoleLine>, dropped_bytes: &mut u64) -> Vec<ConsoleLine> {
    if size(&lines) <= LOG_CHARS_MAX {
        return lines;
    }
    let line_bytes_max = if lines.len() == 1 { LOG_CHARS_MAX - AROUND_BYTES } else { LINE_BYTES_MAX };
    for line in lines.iter_mut().filter(|line| line.text.len() > line_bytes_max) {
        let text = cut(&line.text, line_bytes_max, char::len_utf8, Ends::Both).text;
        *dropped_bytes += line.text.len().saturating_sub(text.len()) as u64;
        line.text = text;
    }
    let mut total = size(&lines);
    if total <= LOG_CHARS_MAX {
        return lines;
    }
    let mut head_bytes = 0;
    let head = lines.iter().take_while(|line| {
        head_bytes += line.text.len() + 1;
        head_bytes <= LOG_CHARS_MAX / 2
    });
    let mut tail = lines.split_off(head.count());
    total -= size(&lines);
    let fall_out = tail.iter().take_while(|line| {
        let falls = total > LOG_CHARS_MAX / 2;
        if falls {
            total -= line.text.len() + 1;
            *dropped_bytes += line.text.len() as u64 + 1;
        }
        falls
    });
    let fall_out = fall_out.count();
    lines.extend(tail.drain(fall_out..));
    lines
}

/// The size of lines in bytes, each with its line break.
fn size(lines: &[ConsoleLine]) -> usize {
    lines.iter().map(|line| line.text.len() + 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::message::Level;

    fn shown(texts: &[String]) -> (Vec<String>, u64) {
        let lines = texts.iter().map(|text| ConsoleLine { level: Level::Log, text: text.clone() }).collect();
        let mut dropped = 0;
        let shown = within_budget(lines, &mut dropped);
        assert!(size(&shown) <= LOG_CHARS_MAX);
        (shown.into_iter().map(|line| line.text).collect(), dropped)
    }

    #[test]
    fn a_line_that_is_longer_than_the_budget_keeps_its_ends() {
        let long = format!("begin {} end", "é".repeat(9_000));
        let (lines, dropped) = shown(std::slice::from_ref(&long));
        assert!(lines[0].starts_with("begin é") && lines[0].ends_with("é end"), "{}", lines[0]);
        assert!(lines[0].contains("characters left out"));
        assert_eq!(dropped, (long.len() - lines[0].len()) as u64);
    }

    #[test]
    fn no_line_falls_out_because_of_its_own_length() {
        for place in 0..3 {
            let mut texts = vec!["first".to_owned(), "second".to_owned()];
            texts.insert(place, "x".repeat(9_000));
            let (lines, _) = shown(&texts);
            assert_eq!(lines.len(), 3);
            assert!(lines.contains(&"first".to_owned()) && lines.contains(&"second".to_owned()), "{place}");
        }
        let (lines, _) = shown(&["a".repeat(9_000), "b".repeat(9_000)]);
        assert!(lines[0].starts_with('a') && lines[1].starts_with('b'), "both are shown in part");
    }

    #[test]
    fn of_many_lines_the_first_and_the_last_stay_and_the_rest_is_counted() {
        let texts: Vec<_> = (0..1_000).map(|number| format!("line {number:04}")).collect();
        let (lines, dropped) = shown(&texts);
        assert_eq!((lines.first(), lines.last()), (texts.first(), texts.last()));
        assert_eq!(dropped as usize, (texts.len() - lines.len()) * 10);
        let few = texts[..100].to_vec();
        assert_eq!(shown(&few), (few.clone(), 0), "what fits is not touched");
    }
}
