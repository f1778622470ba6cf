//! What the surfaces say in words.

use codemode_spec::{
    ErrorReport, Manifest,
    envelope::Meta,
    message::{ConsoleLine, Level},
};
use serde_json::Value as Json;
use std::fmt::{Display, Write as _};

/// Cuts of a result that are named one by one.
const CUTS_NAMED_MAX: usize = 5;

/// A line, added to a text.
pub(super) fn line(text: &mut String, line: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// A string as it is, `undefined` by its name, anything else as JSON.
pub(super) fn result(result: &Json, pretty: bool) -> String {
    match result {
        Json::String(text) => text.clone(),
        Json::Object(fields) if fields.len() == 1 && fields.get("$type").is_some_and(|kind| kind == "undefined") => {
            "undefined".to_owned()
        }
        other if pretty => format!("{other:#}"),
        other => other.to_string(),
    }
}

/// `error CODE: message`, where in the script it was, and `hint: …`.
pub(super) fn error(error: &ErrorReport) -> String {
    let mut text = format!("error {}: {}\n", error.code, error.message);
    let detail = |key: &str| error.details.get(key).and_then(Json::as_str).unwrap_or_default().trim_end();
    // The message of a syntax error ends with its frame.
    if !error.message.contains(detail("frame")) {
        line(&mut text, detail("frame"));
    }
    // A stack begins with its error, which is there already.
    let stack = detail("stack").lines().skip_while(|line| !line.trim_start().starts_with("at "));
    stack.for_each(|place| line(&mut text, place));
    line(&mut text, format_args!("hint: {}", error.hint));
    text
}

/// A console line; what is more than information says so.
pub(super) fn console(logged: &ConsoleLine) -> String {
    match logged.level {
        Level::Log | Level::Info => logged.text.clone(),
        Level::Debug => format!("debug: {}", logged.text),
        Level::Warn => format!("warn: {}", logged.text),
        Level::Error => format!("error: {}", logged.text),
    }
}

/// What the reader of a result should know: warnings, and where it was cut.
pub(super) fn remarks(meta: &Meta, artifact: Option<&str>) -> Vec<String> {
    let mut remarks: Vec<String> = meta.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
    if meta.logs_dropped_bytes > 0 {
        remarks.push(format!("console: {} bytes were left out in the middle", meta.logs_dropped_bytes));
    }
    for cut in meta.cuts.iter().take(CUTS_NAMED_MAX) {
        let place = if cut.path.is_empty() { "the result" } else { &cut.path };
        remarks.push(format!("cut: {place}, {} of {} kept of this {}", cut.kept, cut.original, cut.kind));
    }
    let unnamed = meta.cuts.len().saturating_sub(CUTS_NAMED_MAX) as u64 + meta.cuts_unlisted;
    if unnamed > 0 {
        remarks.push(format!("cut: {unnamed} more places"));
    }
    remarks.extend(artifact.map(|path| format!("the whole result: {path}")));
    remarks
}

/// The namespaces as TypeScript declarations.
pub(super) fn declarations(manifests: &[Manifest]) -> String {
    manifests.iter().map(Manifest::to_dts).collect::<Vec<_>>().join("\n")
}
