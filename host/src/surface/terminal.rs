//! Makes untrusted text safe to show: text from pages, scripts and replies may contain terminal control sequences, and
//! lines that imitate codemode's own.
//!
//! Control characters are escaped if the stream is a terminal. Output to a file or a pipe is left unchanged: it is
//! data, which its reader escapes before showing it. Continuation lines are indented wherever they go.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write},
};

/// The prefix of the second and further lines of untrusted text.
const INDENT: &str = "    ";

/// The text as it may be written to a stream: escaped for a terminal.
pub(super) fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { escaped(text) } else { Cow::Borrowed(text) }
}

/// The text with the characters escaped that control a terminal: control characters except newline and tab, and
/// bidirectional overrides. They are escaped as in JSON, so that JSON stays valid.
fn escaped(text: &str) -> Cow<'_, str> {
    escaped_where(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// The text in one line, for a table cell.
pub(super) fn in_one_line(text: &str) -> Cow<'_, str> {
    escaped_where(text, is_obeyed)
}

fn escaped_where(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// C0, DEL and C1, and the overrides and isolates of the bidirectional algorithm.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with its second and further lines indented, so that none of them can pass for one of codemode's own. They
/// stay unchanged if all of them are indented already, as in a code frame.
pub(super) fn indented(text: &str) -> Cow<'_, str> {
    let Some((_, rest)) = text.split_once('\n') else { return Cow::Borrowed(text) };
    let is_indented = |line: &str| line.is_empty() || line.starts_with("  ") || line.starts_with('\t');
    if rest.split('\n').all(is_indented) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\n', &format!("\n{INDENT}")))
}

/// A writer of log events to standard error, one event per call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

impl Log {
    /// Creates a writer; the subscriber does so for each event.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Write for Log {
    /// Writes a whole event: the subscriber passes each in one call.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        let text = as_logged(&String::from_utf8_lossy(event), stderr.is_terminal());
        stderr.write_all(text.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn as_logged(event: &str, is_terminal: bool) -> String {
    let text = event.strip_suffix('\n').unwrap_or(event);
    format!("{}\n", shown(&indented(text), is_terminal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_the_rest_is_not() {
        let plain = "a line\n\ttab äöü 漢字 🦀 \u{200d}";
        assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
        let obeyed = "\u{1b}]0;title\u{7}\u{1b}[2K\rhint\u{8}\u{7f}\u{9b}31m\u{85}\u{202e}\u{2066}\0";
        let shown = r"\u001b]0;title\u0007\u001b[2K\u000dhint\u0008\u007f\u009b31m\u0085\u202e\u2066\u0000";
        assert_eq!(escaped(obeyed), shown);
        assert_eq!(super::shown(obeyed, false), obeyed, "data stays as it is");
        assert_eq!(in_one_line("a\n\tb"), r"a\u000a\u0009b");
        let json = serde_json::json!({ "a\u{202e}": obeyed }).to_string();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped(&json)).unwrap(),
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        );
    }

    #[test]
    fn further_lines_are_indented_unless_they_are() {
        let rows = [
            ("one", "one"),
            ("one\nhint: two", "one\n    hint: two"),
            ("one\n\nhint: two\n  three", "one\n    \n    hint: two\n      three"),
            ("one\n  1 | two\n    | ^", "one\n  1 | two\n    | ^"),
            ("one\n hint: one space is none", "one\n     hint: one space is none"),
            ("one\n", "one\n"),
        ];
        rows.into_iter().for_each(|(text, shown)| assert_eq!(indented(text), shown));
        assert_eq!(as_logged("WARN x: a\nerror B: c\u{1b}\n", true), "WARN x: a\n    error B: c\\u001b\n");
        assert_eq!(as_logged("WARN x: a\nerror B: c\u{1b}\n", false), "WARN x: a\n    error B: c\u{1b}\n");
    }
}
