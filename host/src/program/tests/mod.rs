//! Tests of the accepted forms, of the refusals with their wording, and of hostile text, which must not harm the host.

mod forms;
mod hostile;
mod nesting;
mod refusals;

use super::Program;

/// The script for a text.
fn source(text: &str) -> String {
    Program::prepare(text).unwrap_or_else(|report| panic!("{text:?}: {report}")).source
}
