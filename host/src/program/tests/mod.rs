//! What is accepted, what is refused and with which words, and what hostile text does to the host: nothing.

mod forms;
mod hostile;
mod nesting;
mod refusals;

use super::Program;

/// The script made of a text.
fn source(text: &str) -> String {
    Program::prepare(text).unwrap_or_else(|report| panic!("{text:?}: {report}")).source
}
