//! Sessions as scripts name them: a raw id, or the handle `target:<id>` that is attached again whenever it must be.

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

/// Starts a handle.
pub const HANDLE: &str = "target:";
/// How long a page that is just attached may take to say that it will report its dialogs. One that an open dialog
/// blocks never says it.
const WATCH_MAX: Duration = Duration::from_secs(2);
/// How long a command may take while another page that may share the process of its page shows a dialog.
const RELATIVE_PATIENCE: Duration = Duration::from_millis(500);
/// Pages named in a hint.
const PAGES_NAMED_MAX: usize = 5;

/// A session to send to.
#[derive(Clone, Debug)]
pub struct Attached {
    /// As the browser names it.
    pub raw: String,
    /// Its target; unknown only of a session that the browser knows and the host does not.
    pub target: Option<String>,
}

impl Attached {
    /// How a script names the session from now on. The handle outlives the session: it is attached again when needed.
    #[must_use]
    pub fn handle(&self) -> Option<String> {
        self.target.as_ref().map(|target| format!("{HANDLE}{target}"))
    }
}

impl ConnectedBrowser {
    /// The session that a script means.
    ///
    /// # Errors
    /// `CDP_TARGET_CLOSED` if it is gone, `INVALID_ARGUMENT` if there never was such a target.
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

    /// The report of what is no session, as far as is known.
    pub(crate) fn not_a_session(&self, session: &str) -> ErrorReport {
        if self.targets.target(session).is_none() {
            return self.no_session(session);
        }
        ErrorReport::new(ErrorCode::InvalidArgument, format!("{session} is a targetId, not a sessionId"))
            .with_hint(format!("Pass sessionId: \"{HANDLE}{session}\", or what ⟦attach targetId⟧ returned."))
    }

    /// The target of a session as a script names it; nothing is attached.
    #[must_use]
    pub fn target_named(&self, session: &str) -> Option<String> {
        session.strip_prefix(HANDLE).map(str::to_owned).or_else(|| self.targets.target_of(session))
    }

    /// The raw session of a target's handle, attached now if it is not.
    ///
    /// # Cancellation
    /// May be dropped at any time; a session that was attached meanwhile ends with the connection.
    pub(crate) async fn attach(&self, target: &str, timeout: Duration) -> Result<String, ErrorReport> {
        if let Some(raw) = self.attached(target) {
            return Ok(raw);
        }
        let raw = self.attach_unwatched(target, timeout).await?;
        self.watch(&raw).await;
        Ok(raw)
    }

    /// The same without asking the target for anything: a popup that waits does not answer yet.
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

    /// The raw session that a target's handle has, if that still lives.
    fn attached(&self, target: &str) -> Option<String> {
        let raw = self.handles().get(target).cloned()?;
        self.targets.target_of(&raw).is_some().then_some(raw)
    }

    /// Asks a page that was just attached for its events: the dialogs, and its crash.
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
            // A page that does not answer is attached all the same: its next command says what is wrong with it.
            (enabled, _) = async { tokio::join!(enable("Page.enable"), enable("Inspector.enable")) } => {
                if enabled.is_ok() {
                    self.targets.tells(raw);
                }
            }
            _ = self.obstructed(raw, "Page.enable", Dialogs::Report) => {}
        }
    }

    /// Waits until a command on a session cannot be answered any more: its page closed or crashed, or, unless dialogs are
    /// waited for, it shows a dialog, or one that it opened or that opened it does, which was not answered for a while.
    pub async fn obstructed(&self, raw: &str, method: &str, dialogs: Dialogs) -> ErrorReport {
        let mut changes = self.targets.changes();
        loop {
            self.catch_up();
            if let Some(obstacle) = self.targets.obstacle(raw, method).filter(|obstacle| !dialogs.bear(obstacle)) {
                return obstacle;
            }
            if dialogs == Dialogs::Report && self.targets.dialog_of_relative(raw, method).is_some() {
                // Most such pages share a process, but not all.
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

    /// How a script names the session of an event: by its handle if it has one.
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
