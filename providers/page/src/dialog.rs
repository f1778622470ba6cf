//! Open JavaScript dialogs, and the commands that they block.
//!
//! While an `alert`, `confirm`, `prompt` or `beforeunload` dialog is open, the page's process is blocked: a command
//! that needs it is answered only after the dialog is. The commands that do not need it were found by trying them on
//! Chromium 156.

use crate::text::short;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;

/// An open dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// The text of the dialog.
    pub message: String,
    /// The URL of the page that shows it.
    pub url: String,
    /// The dialog's number in the order of opening. A later dialog of the page has another number, even with the same
    /// text.
    pub number: u64,
    /// The session that reported it; `None` for the connection that watches popups.
    pub(crate) reporter: Option<String>,
}

impl Dialog {
    /// The dialog of a `Page.javascriptDialogOpening`.
    pub(crate) fn from_event(params: &Json, number: u64, reporter: Option<&str>) -> Self {
        let text = |key: &str| short(params.get(key).and_then(Json::as_str).unwrap_or_default());
        Self {
            kind: text("type"),
            message: text("message"),
            url: text("url"),
            number,
            reporter: reporter.map(str::to_owned),
        }
    }

    /// Whether another session's report is of the same dialog: each session of a page reports a dialog once. Reports of
    /// the connection that watches popups do not count, since they are not in order with those of sessions.
    pub(crate) fn is_also(&self, other: &Self) -> bool {
        let are_sessions = self.reporter.is_some() && other.reporter.is_some();
        are_sessions
            && self.reporter != other.reporter
            && (&self.kind, &self.message, &self.url) == (&other.kind, &other.message, &other.url)
    }

    /// The report of a call that the dialog blocks.
    pub(crate) fn report(&self, target: &str, method: &str) -> ErrorReport {
        let Self { kind, message, url, .. } = self;
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

/// How a command behaves whose page cannot answer because it shows a dialog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialogs {
    /// The command fails with `DIALOG_OPEN`, and the script has to answer the dialog.
    #[default]
    Report,
    /// The command waits: a concurrent task answers the dialog.
    Wait,
}

impl Dialogs {
    /// Whether a command keeps waiting in spite of this obstacle.
    pub(crate) fn tolerates(self, obstacle: &ErrorReport) -> bool {
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
