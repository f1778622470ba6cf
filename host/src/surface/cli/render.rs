//! Printing. A reader that has gone away is no reason to fail.

use crate::surface::terminal::shown;
use codemode_spec::Envelope;
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

/// The words of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    /// Data, for standard output.
    pub out: String,
    /// What is said beside it, for standard error.
    pub err: String,
}

/// Prints an answer, as words or as JSON in one line, and says how the process ends.
pub(super) fn print(envelope: &Envelope, words: Option<Text>) -> ExitCode {
    let Text { out, err } = words.unwrap_or_else(|| Text {
        out: serde_json::to_string(envelope).expect("plain data can be written as JSON"),
        err: String::new(),
    });
    say(err.trim_end());
    data(&out);
    if envelope.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Data to standard output, ending with a line's end.
pub(super) fn data(text: &str) {
    if text.is_empty() {
        return;
    }
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    let text = shown(text, out.is_terminal());
    let written = write!(out, "{text}{end}").and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        say(&format!("standard output cannot be written: {error}"));
    }
}

/// A line to standard error.
pub(super) fn say(line: &str) {
    if !line.is_empty() {
        let mut err = io::stderr().lock();
        let line = shown(line, err.is_terminal());
        let _ = writeln!(err, "{line}");
    }
}
