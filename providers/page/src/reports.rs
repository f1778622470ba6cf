//! Error reports about pages, sessions and browsers that closed, crashed or died.

use crate::text::short;
use codemode_spec::{ErrorCode, ErrorReport};

/// The report of a browser that died or was closed.
#[must_use]
pub fn gone(reason: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::BrowserGone, format!("the browser is gone: {reason}"))
}

/// The report of a page command or page event that was requested without a session.
#[must_use]
pub fn needs_a_page(method: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, format!("{method} is a command of a page and needs a sessionId"))
        .with_hint(format!("const {{sessionId}} = await ⟦attach⟧; await ⟦send \"{method}\", params, {{sessionId}}⟧."))
}

/// The report of a target that was closed.
#[must_use]
pub fn closed(target: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpTargetClosed, format!("the page target:{target} was closed"))
        .with_hint("Open a page with ⟦send \"Target.createTarget\", {url}⟧ and attach to it with ⟦attach targetId⟧.")
}

/// The report of a session that was detached.
pub(crate) fn detached(session: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpTargetClosed, format!("the session {session} was detached from its page"))
        .with_hint("Attach again with ⟦attach targetId⟧: its handle is attached again by itself when needed.")
}

/// The report of a page whose process crashed.
pub(crate) fn crashed(target: &str, url: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpTargetCrashed, format!("the page target:{target} crashed at {}", short(url)))
        .with_hint("Load it again with ⟦send \"Page.reload\", {}, {sessionId}⟧, or open another page.")
        .with_detail("targetId", target)
}
