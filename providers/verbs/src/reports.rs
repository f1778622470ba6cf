//! Error reports of verbs: translates the in-page engine's refusals.

use codemode_page::Dialog;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::time::Duration;

/// Translates an answer of the in-page engine to an error, if it is a refusal. `waiting_for` describes the target.
pub(crate) fn refusal(answer: &Json, timeout: Duration, waiting_for: &str) -> Option<ErrorReport> {
    let reason = answer["error"].as_str()?;
    let timeout = format!("Timeout {}ms exceeded.", timeout.as_millis());
    let preview = answer["preview"].as_str().unwrap_or("the element");
    let blocked = |what: String| {
        ErrorReport::new(ErrorCode::NotInteractable, format!("{timeout}\nwaiting for {waiting_for}\n{what}"))
    };
    let report = match reason {
        "none" => ErrorReport::new(ErrorCode::ElementNotFound, format!("{timeout}\nwaiting for {waiting_for}")),
        "many" => many(answer, waiting_for),
        "hidden" => blocked(format!("{preview} is not visible")),
        "disabled" => blocked(format!("{preview} is not enabled")),
        "readonly" => blocked(format!("{preview} is not editable")),
        "unstable" => blocked(format!("{preview} is not stable: it keeps moving")),
        "outside" => blocked(format!("{preview} is outside of the viewport and cannot be scrolled into it")),
        "detached" => blocked(format!("{preview} was removed from the page")),
        "covered" => covered(answer, preview, blocked),
        "option" => blocked(text(answer, "message"))
            .with_hint("Choose one of its options.")
            .with_detail("options", answer["options"].clone()),
        "origin" => foreign(answer, waiting_for),
        // A wait for the opposite state.
        "visible" => blocked(format!("{preview} is visible")),
        "attached" => blocked(format!("{preview} is in the page")),
        "kind" => ErrorReport::new(ErrorCode::NotInteractable, text(answer, "message"))
            .with_hint("Choose the method that fits the element."),
        "force" => ErrorReport::new(ErrorCode::NotInteractable, text(answer, "message"))
            .with_hint("Without {force: true} the action waits until the element can be acted upon."),
        "selector" => ErrorReport::new(ErrorCode::InvalidSelector, text(answer, "message")),
        other => ErrorReport::new(ErrorCode::HostFault, format!("the page's engine answered {other:?}")),
    };
    Some(report.with_detail("reason", reason))
}

fn many(answer: &Json, waiting_for: &str) -> ErrorReport {
    let count = answer["count"].as_u64().unwrap_or_default();
    let mut message = format!("strict mode violation: {waiting_for} resolved to {count} elements:");
    let matches: Vec<&str> = answer["matches"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    for (number, shown) in matches.iter().enumerate() {
        message.push_str(&format!("\n    {}) {shown}", number + 1));
    }
    ErrorReport::new(ErrorCode::MultipleMatches, message).with_detail("count", count)
}

/// The document of the field, or one that contains it, is not of the secret's origin.
fn foreign(answer: &Json, waiting_for: &str) -> ErrorReport {
    let (origin, wanted) = (text(answer, "origin"), text(answer, "wanted"));
    let whose = if answer["around"] == true { "a document around that of" } else { "the document of" };
    let seen = if origin == "null" { "has no origin of its own".to_owned() } else { format!("is of {origin}") };
    let message = format!("{whose} {waiting_for} {seen}, and the secret is for pages of {wanted}: nothing was put in");
    ErrorReport::new(ErrorCode::PolicyRefused, message)
        .with_hint(format!(
            "Go to a page of {wanted} first; no frame of another origin and no page that holds one gets it."
        ))
        .with_detail("origin", origin)
        .with_detail("wanted", wanted)
}

/// The document of an element was replaced before it could be acted upon.
pub(crate) fn replaced(waiting_for: &str) -> ErrorReport {
    let message = format!("the document of {waiting_for} was replaced by another one");
    ErrorReport::new(ErrorCode::ElementNotFound, message).with_detail("reason", "replaced")
}

/// Whether a report is that of [`replaced`].
pub(crate) fn is_replaced(report: &ErrorReport) -> bool {
    report.details["reason"] == "replaced"
}

/// Whether a command that failed because its document is gone had begun to run there.
pub(crate) fn had_begun(report: &ErrorReport) -> bool {
    // Other messages mean that the browser did not find the world, so nothing has run in it.
    report.message.contains("was destroyed") || report.message.contains("navigated or closed")
}

fn covered(answer: &Json, preview: &str, blocked: impl Fn(String) -> ErrorReport) -> ErrorReport {
    let by = text(answer, "by");
    let from = answer["within"].as_str().map(|within| format!(" from {within} subtree")).unwrap_or_default();
    blocked(format!("{by}{from} intercepts pointer events that are meant for {preview}"))
        .with_hint("Close or scroll away what covers it, or pass {force: true}.")
        .with_detail("by", by)
}

/// The page did not answer within the verb's timeout.
pub(crate) fn unanswered(method: &str, dialog: Option<&Dialog>, timeout: Duration) -> ErrorReport {
    let timeout = timeout.as_millis();
    if let Some(dialog) = dialog {
        let message = format!(
            "Timeout {timeout}ms exceeded.\nThe page shows the {} dialog {:?}, which nothing has answered",
            dialog.kind, dialog.message
        );
        return ErrorReport::new(ErrorCode::DialogOpen, message)
            .with_hint("Accept or dismiss it in the dialog listener: page.on(\"dialog\", dialog => dialog.accept()).");
    }
    ErrorReport::new(
        ErrorCode::CallTimeout,
        format!("Timeout {timeout}ms exceeded.\nThe page did not answer {method}: a script of its own may be running without end"),
    )
    .with_hint("Reload the page, or close it and open it anew.")
}

/// A target matches more elements than can be read or passed to a function at once.
pub(crate) fn too_many(words: &str, most: usize) -> ErrorReport {
    let message = format!("{words} finds more than {most} elements");
    ErrorReport::new(ErrorCode::ResultTooLarge, message).with_hint(
        "Count them with locator.count(), name fewer, or look for them in the page: \
         page.evaluate(() => document.querySelectorAll(…).length).",
    )
}

/// The page is paused.
pub(crate) fn halted() -> ErrorReport {
    ErrorReport::new(ErrorCode::NotInteractable, "the page is frozen: none of its scripts runs")
        .with_hint("Let it go on first: await page.thaw().")
        .with_detail("reason", "halted")
}

/// A wait for something other than an element timed out.
pub(crate) fn too_late(waiting_for: &str, timeout: Duration) -> ErrorReport {
    let message = format!("Timeout {}ms exceeded.\nwaiting for {waiting_for}", timeout.as_millis());
    ErrorReport::new(ErrorCode::CallTimeout, message)
        .with_hint("Wait for something that happens, or give the step more time.")
        .with_detail("reason", "timeout")
}

/// An invalid argument.
pub(crate) fn invalid(message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, message)
}

fn text(answer: &Json, field: &str) -> String {
    answer[field].as_str().unwrap_or_default().to_owned()
}

/// The report of an exception thrown by a function of the script.
pub(crate) fn exception(thrown: &Json) -> ErrorReport {
    let exception = &thrown["exception"];
    let text = match exception["description"].as_str() {
        Some(description) => description.to_owned(),
        None => match exception.get("value") {
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => thrown["text"].as_str().unwrap_or("the function threw").to_owned(),
        },
    };
    let report = ErrorReport::new(ErrorCode::JsException, text);
    if exception["className"] == "ReferenceError" {
        return report.with_hint(
            "The function runs in the page and sees no variable of the script: pass values as the argument after the function.",
        );
    }
    report
}
