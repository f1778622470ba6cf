//! Code frames: the lines around an error's position in the model's text.

use super::position::{Lines, Place};
use std::fmt::Write as _;

/// Lines shown before and after the marked one.
const AROUND: usize = 2;
/// The most characters shown of a line.
const WIDTH: usize = 110;

/// The marked line with a caret under its column, and the lines around it:
///
/// ```text
///   1 | const a = 1;
/// > 2 | const b = ;
///     |           ^
/// ```
pub(super) fn frame(lines: &Lines<'_>, place: Place) -> String {
    let marked = (place.line as usize).clamp(1, lines.count());
    let first = marked.saturating_sub(AROUND).max(1);
    let last = (marked + AROUND).min(lines.count());
    let digits = last.to_string().len();
    // Every line is cut to the same window, so that the caret is under its column.
    let column = place.column.max(1) as usize - 1;
    let from = if column < WIDTH - 10 { 0 } else { column - WIDTH / 2 };

    let mut out = String::new();
    for number in first..=last {
        let mark = if number == marked { '>' } else { ' ' };
        let shown = window(lines.line(number), from);
        let _ = writeln!(out, "{}", format!("{mark} {number:digits$} | {shown}").trim_end());
        if number == marked {
            let before: String =
                shown.chars().take(column - from).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let pad = " ".repeat((column - from).saturating_sub(before.chars().count()));
            let _ = writeln!(out, "  {:digits$} | {before}{pad}^", "");
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// A line's characters from an index on, with control characters replaced, which a terminal could obey.
fn window(line: &str, from: usize) -> String {
    let mut rest = line.chars().skip(from);
    let harmless = |c: char| if c.is_control() && c != '\t' { '\u{FFFD}' } else { c };
    let mut shown: String = rest.by_ref().take(WIDTH).map(harmless).collect();
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{super::position::Unit, *};

    #[test]
    fn the_caret_stands_under_the_column() {
        let lines = Lines::new("let a;\n\tlet b = ;\nc\nd\ne", Unit::Char);
        let shown = frame(&lines, Place { line: 2, column: 10 });
        assert_eq!(shown, "  1 | let a;\n> 2 | \tlet b = ;\n    | \t        ^\n  3 | c\n  4 | d");
    }

    #[test]
    fn long_lines_and_control_characters_are_tamed() {
        let text = format!("{}\u{1b}[2J{}", "x".repeat(5_000), "y".repeat(5_000));
        let lines = Lines::new(&text, Unit::Char);
        for column in [1, 90, 100, 101, 5_001, 10_004, u32::MAX] {
            let shown = frame(&lines, Place { line: 1, column });
            assert!(shown.chars().count() < 3 * WIDTH || column == u32::MAX, "{column}");
            assert!(!shown.contains('\u{1b}'));
        }
    }
}
