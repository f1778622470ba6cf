//! Renders typed answers: as text for people, or as the JSON envelope in one line. A closed output pipe is not a
//! failure.

use super::context::Output;
use crate::{
    service,
    surface::{terminal::shown, text},
};
use codemode_spec::{Envelope, ErrorReport};
use serde::Serialize;
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// An answer rendered as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    /// Data, for standard output.
    pub out: String,
    /// Remarks and errors, for standard error.
    pub err: String,
}

/// The answer of a command. Serialised, it is the `data` of the envelope.
pub(super) trait Answer: Serialize {
    /// Appends the answer as text; `took` is the command's duration.
    fn words(&self, text: &mut Text, took: Duration);

    /// The error of a command that failed although it has an answer.
    fn failure(&self) -> Option<ErrorReport> {
        None
    }

    /// The text of an error.
    fn error(error: &ErrorReport) -> String {
        text::error(error)
    }
}

/// Executes a command and prints its answer.
pub(super) async fn answered<T: Answer>(
    command: &str,
    output: Output,
    work: impl Future<Output = Result<T, ErrorReport>>,
) -> ExitCode {
    let began = Instant::now();
    let outcome = work.await.map_err(ErrorReport::bounded);
    let took = began.elapsed();
    let failure = outcome.as_ref().map_or_else(|error| Some(error.clone()), Answer::failure);
    let words = (!output.json).then(|| {
        let mut words = Text::default();
        if let Ok(answer) = &outcome {
            answer.words(&mut words, took);
        }
        words.err.push_str(&failure.as_ref().map(T::error).unwrap_or_default());
        words
    });
    let mut envelope = service::answer(command, outcome, took);
    envelope.ok = failure.is_none();
    envelope.error = failure;
    print(&envelope, words)
}

/// Runs the work until `stop` is cancelled. Only for work that leaves nothing half done when it is dropped.
pub(super) async fn unless_stopped<T>(
    stop: &CancellationToken,
    work: impl Future<Output = Result<T, ErrorReport>>,
) -> Result<T, ErrorReport> {
    tokio::select! {
        outcome = work => outcome,
        () = stop.cancelled() => Err(ErrorReport::new(codemode_spec::ErrorCode::Cancelled, "it was cancelled")),
    }
}

/// Prints an answer, as text or as JSON in one line, and returns the exit code.
pub(super) fn print(envelope: &Envelope, words: Option<Text>) -> ExitCode {
    let Text { out, err } = words.unwrap_or_else(|| Text {
        out: serde_json::to_string(envelope).expect("plain data can be written as JSON"),
        err: String::new(),
    });
    say(err.trim_end());
    data(&out);
    if envelope.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes data to standard output, terminated by a newline.
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

/// Writes a line to standard error.
pub(super) fn say(line: &str) {
    if !line.is_empty() {
        let mut err = io::stderr().lock();
        let line = shown(line, err.is_terminal());
        let _ = writeln!(err, "{line}");
    }
}
