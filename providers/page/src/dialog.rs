//! Open JavaScript dialogs, and which commands they block.
//!
//! While `alert`, `confirm`, `prompt` or `beforeunload` is open, the page's process stands still: a command that needs
//! it is not answered before the dialog is. Which commands do not need it was found by trying them on Chromium 156.

use crate::text::short;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;

/// An open dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// The page that shows it.
    pub url: String,
}

impl Dialog {
    pub(crate) fn from_event(params: &Json) -> Self {
        let text = |key: &str| short(params.get(key).and_then(Json::as_str).unwrap_or_default());
        Self { kind: text("type"), message: text("message"), url: text("url") }
    }

    /// The report to a call that the dialog blocks.
    pub(crate) fn report(&self, target: &str, method: &str) -> ErrorReport {
        let Self { kind, message, url } = self;
        let hint = match kind.as_str() {
            "prompt" => {
                "Answer it with ⟦send \"Page.handleJavaScriptDialog\", {accept: true, promptText: \"…\"}, \
                 {sessionId}⟧, then go on."
            }
            _ => "Answer it with ⟦send \"Page.handleJavaScriptDialog\", {accept: true}, {sessionId}⟧, then go on.",
        };
        ErrorReport::new(
            ErrorCode::DialogOpen,
            format!("{method} is blocked: the page target:{target} at {url} shows the {kind} dialog {message:?}"),
        )
        .with_hint(hint)
        .with_detail("type", kind.clone())
        .with_detail("message", message.clone())
        .with_detail("url", url.clone())
        .with_detail("targetId", target)
    }
}

/// What becomes of a command whose page cannot answer because it shows a dialog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialogs {
    /// The command fails with `DIALOG_OPEN`: nothing answers the dialog but the script.
    #[default]
    Report,
    /// The command waits: something beside it answers the dialog.
    Wait,
}

impl Dialogs {
    /// Whether a command goes on waiting in spite of what keeps its page from answering.
    pub(crate) fn bear(self, obstacle: &ErrorReport) -> bool {
        self == Self::Wait && obstacle.code == ErrorCode::DialogOpen
    }
}

/// Whether the browser's own process answers a command: it is answered while a dialog is open or the page has crashed.
pub(crate) fn answers_without_page(method: &str) -> bool {
    let (domain, _) = method.split_once('.').unwrap_or_default();
    match domain {
        "Browser" | "Fetch" | "IO" | "Security" | "Storage" | "SystemInfo" | "Tracing" => true,
        "Target" => method != "Target.setAutoAttach",
        _ => matches!(
            method,
            "Page.handleJavaScriptDialog"
                | "Page.bringToFront"
                | "Page.close"
                | "Page.getNavigationHistory"
                | "Page.resetNavigationHistory"
                | "Page.setWebLifecycleState"
                | "Page.stopLoading"
                | "Network.clearBrowserCookies"
                | "Network.getCookies"
                | "Network.setCookie"
        ),
    }
}
