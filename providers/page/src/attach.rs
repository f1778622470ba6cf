//! Sessions as scripts name them: a raw id, or the handle `target:<id>`, which is reattached whenever necessary.

use crate::{
    connected::ConnectedBrowser,
    dialog::Dialogs,
    reports::{closed, detached, gone},
    targets::Target,
    text::short,
};
use codemode_chromium::{CdpError, Command};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// The prefix of a handle.
pub const HANDLE: &str = "target:";
/// How long a newly attached page may take to enable its dialog events. A page that is already blocked by a dialog
/// never does.
const WATCH_MAX: Duration = Duration::from_secs(2);
/// How long a command may take while a related page, which may share its page's process, shows a dialog.
const RELATIVE_PATIENCE: Duration = Duration::from_millis(500);
/// The maximum number of pages named in a hint.
const PAGES_NAMED_MAX: usize = 5;

/// A session to send to.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The browser's id of the session.
    pub raw: String,
    /// The target it is attached to; unknown only for a session that the browser knows and the host does not.
    pub target: Option<String>,
}

impl Attached {
    /// The handle by which a script names the session from now on. It outlives the session: it is reattached when
    /// needed.
    #[must_use]
    pub fn handle(&self) -> Option<String> {
        self.target.as_ref().map(|target| format!("{HANDLE}{target}"))
    }
}

impl ConnectedBrowser {
    /// The session that a script specifies; a handle is attached now if necessary.
    ///
    /// # Errors
    /// `CDP_TARGET_CLOSED` if its target was closed or the session detached, `INVALID_ARGUMENT` if it never existed.
    pub(crate) async fn resolve(&self, session: &str, timeout: Duration) -> Result<Attached, ErrorReport> {
        if let Some(target) = session.strip_prefix(HANDLE) {
            let raw = self.attach(target, timeout).await?;
            return Ok(Attached { raw, target: Some(target.to_owned()) });
        }
        if self.targets.was_detached(session) {
            return Err(detached(session));
        }
        let target = self.targets.target_of(session).ok_or_else(|| self.not_a_session(session))?;
        Ok(Attached { raw: session.to_owned(), target: Some(target) })
    }

    /// The report of an id that is not a session, which may be that of a target.
    pub(crate) fn not_a_session(&self, session: &str) -> ErrorReport {
        if self.targets.target(session).is_none() {
            return self.no_session(session);
        }
        ErrorReport::new(ErrorCode::InvalidArgument, format!("{session} is a targetId, not a sessionId"))
            .with_hint(format!("Pass sessionId: \"{HANDLE}{session}\", or what ⟦attach targetId⟧ returned."))
    }

    /// The target of a session that a script names; attaches nothing.
    #[must_use]
    pub fn target_named(&self, session: &str) -> Option<String> {
        session.strip_prefix(HANDLE).map(str::to_owned).or_else(|| self.targets.target_of(session))
    }

    /// The raw session of a target's handle, attached now if necessary.
    ///
    /// # Cancellation
    /// May be dropped at any time; a session that was attached meanwhile is detached with the connection.
    pub(crate) async fn attach(&self, target: &str, timeout: Duration) -> Result<String, ErrorReport> {
        if let Some(raw) = self.attached(target) {
            return Ok(raw);
        }
        let raw = self.attach_unwatched(target, timeout).await?;
        self.watch(&raw).await;
        Ok(raw)
    }

    /// The same without sending the target anything: a paused popup does not answer yet.
    pub(crate) async fn attach_unwatched(&self, target: &str, timeout: Duration) -> Result<String, ErrorReport> {
        if let Some(raw) = self.attached(target) {
            return Ok(raw);
        }
        let _turn = self.attaching.lock().await;
        if let Some(raw) = self.attached(target) {
            return Ok(raw);
        }
        if self.targets.was_closed(target) {
            return Err(closed(target));
        }
        let params = json!({"targetId": target, "flatten": true});
        let command = Command { method: "Target.attachToTarget", params, session: None, timeout };
        let answer = self.connection.call(command).await;
        self.catch_up();
        let answer = answer.map_err(|error| match error {
            CdpError::Protocol { .. } if self.targets.was_closed(target) => closed(target),
            CdpError::Protocol { .. } => self.no_target(target),
            CdpError::Closed { reason } => gone(&reason),
            error => error.into(),
        })?;
        let raw = answer["sessionId"].as_str().unwrap_or_default().to_owned();
        self.targets.attached(&raw, target);
        self.handles().insert(target.to_owned(), raw.clone());
        Ok(raw)
    }

    /// The raw session of a target's handle, if it is still attached.
    fn attached(&self, target: &str) -> Option<String> {
        let raw = self.handles().get(target).cloned()?;
        self.targets.target_of(&raw).is_some().then_some(raw)
    }

    /// Enables the events that the host needs of a newly attached page: dialogs and crashes.
    pub(crate) async fn watch(&self, raw: &str) {
        if !self.targets.watch(raw) {
            return;
        }
        self.targets.set_enabled(raw, "Page", true);
        let enable = |method| {
            self.connection.call(Command { method, params: Json::Null, session: Some(raw), timeout: WATCH_MAX })
        };
        tokio::select! {
            biased;
            // A page that does not answer stays attached: its next command reports what is wrong.
            (enabled, _) = async { tokio::join!(enable("Page.enable"), enable("Inspector.enable")) } => {
                if enabled.is_ok() {
                    self.targets.set_reports_dialogs(raw);
                }
            }
            _ = self.obstructed(raw, "Page.enable", Dialogs::Report) => {}
        }
    }

    /// Waits until a command on a session cannot be answered any more, and returns why: its page closed or crashed or,
    /// unless the caller waits through dialogs, shows a dialog. A dialog of a page that it opened, or that opened it,
    /// counts only if it stays open for a while.
    pub async fn obstructed(&self, raw: &str, method: &str, dialogs: Dialogs) -> ErrorReport {
        let mut changes = self.targets.changes();
        loop {
            self.catch_up();
            if let Some(obstacle) = self.targets.obstacle(raw, method).filter(|obstacle| !dialogs.tolerates(obstacle)) {
                return obstacle;
            }
            if dialogs == Dialogs::Report && self.targets.dialog_of_relative(raw, method).is_some() {
                // Most related pages share a process, but not all.
                let waited = tokio::time::timeout(RELATIVE_PATIENCE, changes.changed()).await;
                if let (Err(_), Some(report)) = (waited, self.targets.dialog_of_relative(raw, method)) {
                    return report;
                }
                continue;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The name under which a script sees the session of an event: its handle if it has one, otherwise the raw id.
    #[must_use]
    pub fn name_of(&self, raw: &str) -> String {
        match self.targets.target_of(raw) {
            Some(target) if self.handles().get(&target).is_some_and(|handle| handle == raw) => {
                format!("{HANDLE}{target}")
            }
            _ => raw.to_owned(),
        }
    }

    pub(crate) fn no_target(&self, target: &str) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, format!("there is no target {:?}", short(target)))
            .with_hint(self.pages_hint())
    }

    pub(crate) fn no_session(&self, session: &str) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, format!("there is no session {:?}", short(session)))
            .with_hint(format!("Attach first: const {{sessionId}} = await ⟦attach targetId⟧. {}", self.pages_hint()))
    }

    fn pages_hint(&self) -> String {
        let pages: Vec<Target> = self.targets.visible().into_iter().filter(|target| target.kind == "page").collect();
        if pages.is_empty() {
            return "There is no page: open one with ⟦send \"Target.createTarget\", {url}⟧.".to_owned();
        }
        let named: Vec<_> = pages
            .iter()
            .take(PAGES_NAMED_MAX)
            .map(|page| format!("{HANDLE}{} ({})", page.id, short(&page.url)))
            .collect();
        let more = pages.len().saturating_sub(PAGES_NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("The open pages are {}{more}.", named.join(", "))
    }
}
