//! An error in a source, with its position.

use codemode_spec::ErrorCode;
use oxc::{
    diagnostics::{Diagnostics, OxcDiagnostic},
    span::LabeledSpan,
};
use std::borrow::Cow;

/// The hint about imports.
pub(super) const NO_MODULES_HINT: &str = "There are no modules in the sandbox: remove the import and use the namespaces \
     that the tool describes and the built-in globals (URL, TextEncoder, crypto, structuredClone, setTimeout …).";

/// The reason why a source is refused, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Option<Cow<'static, str>>,
    /// The byte offset in the code.
    pub offset: usize,
}

impl Fault {
    pub fn new(code: ErrorCode, message: impl Into<String>, offset: usize) -> Self {
        Self { code, message: message.into(), hint: None, offset }
    }

    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The first of the diagnostics. `shift` is the offset of the code in the parsed text, `length` the code's length.
pub(super) fn fault_of(diagnostics: &Diagnostics, shift: usize, length: usize) -> Option<Fault> {
    let redeclared = |it: &&LabeledSpan| it.label().is_some_and(|label| label.contains("redeclared"));
    let offset = |it: &OxcDiagnostic| {
        let label = it.labels.iter().find(redeclared).or(it.labels.first());
        label.map_or(0, LabeledSpan::offset) as usize
    };
    let first = diagnostics.errors().min_by_key(|diagnostic| offset(diagnostic))?;
    let at = offset(first).saturating_sub(shift).min(length);
    let mut fault = Fault::new(ErrorCode::SyntaxError, first.message.to_string(), at);
    if let Some(help) = first.help.as_ref().filter(|help| !help.is_empty()) {
        fault.hint = Some(format!("{}. Nothing has run.", help.trim_end_matches('.')).into());
    }
    if fault.message.contains("import.meta") {
        fault.hint = Some(NO_MODULES_HINT.into());
    }
    Some(fault)
}
