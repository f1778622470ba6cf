//! The browser's targets and the sessions attached to them, tracked by its events.

mod access;
mod revoked;
mod state;

pub(crate) use revoked::{Departure, Detachment};
pub(crate) use state::OPENERS_MAX;
pub use state::Target;

use crate::{
    dialog::{self, Dialog},
    policy::{self, TargetAccess},
    reports::{closed, crashed, detached},
    text::{bounded, bounded_field},
};
use access::names_refused_url;
use codemode_chromium::{Event, EventLog};
use codemode_spec::ErrorReport;
use serde_json::Value as Json;
use state::{State, is_relevant};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use url::Url;

/// The type of the targets that are the browser's own windows and popups.
const BROWSER_UI: &str = "browser_ui";
/// The type of the browser's own target, which is hidden from scripts.
pub(crate) const BROWSER: &str = "browser";
/// Events read under one lock of the log.
const EVENTS_AT_ONCE: usize = 500;

/// All targets and sessions of one connection.
pub struct Targets {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl Targets {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), changed: watch::Sender::new(()) }
    }

    /// Applies the events received since the last call. Cheap if there are none.
    ///
    /// A background task does this continuously; each call does it again before it reads the state, so that it never
    /// sees a state older than the events that the script can have seen.
    pub(crate) fn catch_up(&self, log: &EventLog) {
        let mut state = self.state();
        let mut changed = false;
        while state.read_to < log.cursor() {
            let batch = log.since(state.read_to, EVENTS_AT_ONCE, &is_relevant);
            if batch.dropped > 0 {
                state.gap.missed(batch.next);
            }
            for event in &batch.events {
                changed |= state.apply(event);
            }
            state.read_to = batch.next;
        }
        drop(state);
        if changed {
            self.changed.send_replace(());
        }
    }

    /// Applies a list of targets that was requested when the next event had the sequence number `asked_at`. All events
    /// received before the list must have been applied: some may be newer than the list.
    pub(crate) fn refreshed(&self, infos: &Json, asked_at: u64) {
        let mut state = self.state();
        let had_gap = state.gap.closed_by_list(asked_at);
        for info in infos.as_array().into_iter().flatten() {
            // A target destroyed since the list was made stays removed.
            let id = info["targetId"].as_str().unwrap_or_default();
            match state.targets.get_mut(id) {
                Some(target) if target.reported_seq < asked_at => {
                    let reported_seq = target.reported_seq;
                    state.update(info, reported_seq);
                }
                Some(target) if bounded_field(info, "url") == target.url => {
                    // The URL is unchanged: only a new title may not have been reported.
                    target.title = bounded_field(info, "title");
                }
                Some(_) => {}
                None => {
                    if had_gap && !state.closed_targets.contains(id) {
                        state.update(info, asked_at);
                    }
                }
            }
        }
        state.revoke_refused_sessions(asked_at);
        drop(state);
        self.changed.send_replace(());
    }

    /// Applies events until the connection is closed.
    pub(crate) async fn follow(&self, log: &EventLog) {
        loop {
            let from = self.state().read_to;
            if log.wait(from, &is_relevant).await.is_none() {
                self.catch_up(log);
                return;
            }
            self.catch_up(log);
        }
    }

    /// Notified whenever a target closed, crashed, recovered, or opened or closed a dialog.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// A target by its id.
    #[must_use]
    pub fn target(&self, id: &str) -> Option<Target> {
        self.state().targets.get(id).cloned()
    }

    /// The targets that scripts see, in the order in which they were discovered.
    pub fn visible(&self) -> Vec<Target> {
        let mut targets: Vec<_> = self
            .state()
            .targets
            .values()
            .filter(|target| ![BROWSER_UI, BROWSER].contains(&&*target.kind))
            .cloned()
            .collect();
        targets.sort_by_key(|target| target.order);
        targets
    }

    /// The target of the page that opened a target.
    pub(crate) fn opener_of(&self, id: &str) -> Option<String> {
        self.state().targets.get(id)?.opener.clone()
    }

    pub(crate) fn was_closed(&self, target: &str) -> bool {
        self.state().closed_targets.contains(target)
    }

    /// The target that a session is attached to.
    pub fn target_of(&self, session: &str) -> Option<String> {
        self.state().sessions.get(session).map(|session| session.target.clone())
    }

    pub(crate) fn was_detached(&self, session: &str) -> bool {
        self.state().detached_sessions.contains(session)
    }

    /// Records an attachment whose reply came before its event was read.
    pub(crate) fn attached(&self, session: &str, target: &str) {
        self.state().attach(session, target);
    }

    /// Marks a page's session as one whose dialog events are enabled; `false` if it was marked before or is not a
    /// page's.
    pub(crate) fn watch(&self, session: &str) -> bool {
        let mut state = self.state();
        let State { sessions, targets, .. } = &mut *state;
        let Some(session) = sessions.get_mut(session) else { return false };
        let has_page =
            targets.get(&session.target).is_some_and(|target| target.kind == "page" || target.kind == "iframe");
        has_page && !std::mem::replace(&mut session.watched, true)
    }

    /// Marks the session as one that reports all dialogs that its page opens from now on.
    pub(crate) fn set_reports_dialogs(&self, session: &str) {
        if let Some(session) = self.state().sessions.get_mut(session) {
            session.reports_dialogs = true;
        }
    }

    /// Unmarks the session: its dialog events may not be enabled.
    pub(crate) fn unwatch(&self, session: &str) {
        if let Some(session) = self.state().sessions.get_mut(session) {
            (session.watched, session.reports_dialogs) = (false, false);
        }
    }

    /// Whether a session has the events of a domain enabled.
    #[must_use]
    pub fn is_enabled(&self, session: &str, domain: &str) -> bool {
        self.state().sessions.get(session).is_some_and(|session| session.enabled.contains(domain))
    }

    pub(crate) fn set_enabled(&self, session: &str, domain: &str, enabled: bool) {
        if let Some(session) = self.state().sessions.get_mut(session) {
            if enabled {
                session.enabled.insert(domain.to_owned());
            } else {
                session.enabled.remove(domain);
            }
        }
    }

    /// The sequence number of the first event of a session that can concern the document that it shows now.
    pub fn floor(&self, session: &str) -> u64 {
        self.state().sessions.get(session).map_or(0, |session| session.floor)
    }

    pub(crate) fn raise_floor(&self, session: &str, floor: u64) {
        if let Some(session) = self.state().sessions.get_mut(session) {
            session.floor = session.floor.max(floor);
        }
    }

    /// Marks a crashed page as recovered, because it accepted a command that loads it.
    pub(crate) fn revived(&self, target: &str) {
        if let Some(target) = self.state().targets.get_mut(target) {
            target.crashed = false;
        }
    }

    /// Records the page that the script used last.
    pub fn used(&self, target: &str) {
        let mut state = self.state();
        if state.last_used.as_deref() != Some(target) {
            state.last_used = Some(target.to_owned());
        }
    }

    /// The page that the script used last, or else the first one.
    pub fn current(&self) -> Option<Target> {
        let last = { self.state().last_used.clone() };
        last.and_then(|id| self.target(&id)).or_else(|| self.visible().into_iter().find(|target| target.kind == "page"))
    }

    /// Records the URL that the script navigates a page to.
    pub(crate) fn navigating_to(&self, target: &str, url: &Url) {
        if let Some(target) = self.state().targets.get_mut(target) {
            target.display_url = bounded(url.as_str()).to_owned();
        }
    }

    /// Restores the displayed URL of a page whose navigation failed.
    pub(crate) fn navigation_failed(&self, target: &str) {
        if let Some(target) = self.state().targets.get_mut(target).filter(|target| !target.url.is_empty()) {
            target.display_url.clone_from(&target.url);
        }
    }

    /// Records a target that the popup connection reported first.
    pub(crate) fn reported_by_popup_connection(&self, info: &Json) {
        let mut state = self.state();
        let id = info["targetId"].as_str().unwrap_or_default();
        if !state.targets.contains_key(id) && !state.closed_targets.contains(id) {
            state.update(info, 0);
        }
    }

    /// Records the dialog of a `Page.javascriptDialogOpening` on the connection that watches popups. Ignored if the
    /// popup's own session reports its dialogs: that one is in order.
    pub(crate) fn popup_opened_dialog(&self, target: &str, params: &Json) {
        self.update_from_popup_connection(|state| {
            let is_reported =
                state.sessions.values().any(|session| session.reports_dialogs && session.target == target);
            !is_reported && state.open_dialog(target.to_owned(), params, None)
        });
    }

    /// Records that the connection which watches popups reported the end of a dialog. A dialog that a session of this
    /// connection reported is left while that session is attached: it may have opened after this one closed.
    pub(crate) fn popup_closed_dialog(&self, target: &str) {
        self.update_from_popup_connection(|state| {
            let State { sessions, targets, .. } = state;
            let is_reported_elsewhere =
                |dialog: &Dialog| dialog.reporter.as_ref().is_some_and(|session| sessions.contains_key(session));
            let closed = targets
                .get_mut(target)
                .and_then(|target| target.dialog.take_if(|dialog| !is_reported_elsewhere(dialog)));
            closed.is_some()
        });
    }

    fn update_from_popup_connection(&self, update: impl FnOnce(&mut State) -> bool) {
        if update(&mut self.state()) {
            self.changed.send_replace(());
        }
    }

    /// The report of a dialog of a related page that may share the process of a session's page: one that it opened, or
    /// that opened it.
    pub(crate) fn dialog_of_relative(&self, session: &str, method: &str) -> Option<ErrorReport> {
        let state = self.state();
        let own = &state.sessions.get(session)?.target;
        let root = state.root(own);
        let relative =
            |target: &&Target| target.dialog.is_some() && target.id != *own && state.root(&target.id) == root;
        let target = state.targets.values().find(relative).filter(|_| !dialog::answers_without_page(method))?;
        target.dialog.as_ref().map(|dialog| dialog.report(&target.id, method))
    }

    /// Any page with an open dialog.
    pub(crate) fn with_dialog(&self) -> Option<Target> {
        self.state().targets.values().find(|target| target.dialog.is_some()).cloned()
    }

    /// Why a command on a session cannot be answered at present, if it cannot.
    pub fn obstacle(&self, session: &str, method: &str) -> Option<ErrorReport> {
        let state = self.state();
        if let Some(why) = state.revoked.why(session) {
            return Some(policy::revoked(method, why));
        }
        let Some(id) = state.sessions.get(session).map(|session| session.target.as_str()) else {
            return state.detached_sessions.contains(session).then(|| detached(session));
        };
        let Some(target) = state.targets.get(id) else {
            return state.closed_targets.contains(id).then(|| closed(id));
        };
        if target.crashed && !dialog::answers_without_page(method) && !loads_a_page(method) {
            return Some(crashed(&target.id, &target.url));
        }
        let parent = target.parent.as_ref().and_then(|parent| state.targets.get(parent));
        if !dialog::answers_without_page(method)
            && let Some((holder, dialog)) = [Some(target), parent]
                .into_iter()
                .flatten()
                .find_map(|target| target.dialog.as_ref().map(|dialog| (target, dialog)))
        {
            return Some(dialog.report(&holder.id, method));
        }
        None
    }

    /// The report of the crash of a session's page.
    pub(crate) fn crash(&self, session: &str) -> Option<ErrorReport> {
        let state = self.state();
        let target = state.targets.get(&state.sessions.get(session)?.target)?;
        Some(crashed(&target.id, &target.url))
    }

    /// Why no more events can come from a session, if none can.
    pub fn silence(&self, session: &str, event: &str) -> Option<ErrorReport> {
        let state = self.state();
        if let Some(why) = state.revoked.why(session) {
            return Some(policy::revoked(event, why));
        }
        let Some(id) = state.sessions.get(session).map(|session| session.target.as_str()) else {
            return state.detached_sessions.contains(session).then(|| detached(session));
        };
        match state.targets.get(id) {
            None => state.closed_targets.contains(id).then(|| closed(id)),
            Some(target) => {
                (target.crashed && !event.starts_with("Inspector.")).then(|| crashed(&target.id, &target.url))
            }
        }
    }

    /// Whether scripts may use a target.
    pub(crate) fn access(&self, target: &str) -> TargetAccess {
        self.state().access(target)
    }

    /// Records that the host navigated the tab to a page that is for scripts, instead of the refused page that it was
    /// about to show.
    pub(crate) fn navigated_by_host(&self, target: &str) {
        if let Some(target) = self.state().targets.get_mut(target) {
            target.tainted = None;
        }
    }

    /// Whether events were missed: the targets must be listed again before a command is checked.
    pub(crate) fn has_gap(&self) -> bool {
        self.state().gap.is_open()
    }

    /// Records that events before this sequence number may be missing, until the targets are listed again.
    pub(crate) fn missed(&self, before: u64) {
        self.state().gap.missed(before);
    }

    /// Whether a session is known and not one of the host's own.
    pub(crate) fn is_known(&self, session: &str) -> bool {
        self.state().sessions.get(session).is_some_and(|session| !session.of_host)
    }

    /// Why a session was revoked, if it was.
    pub(crate) fn refusal(&self, session: &str, method: &str) -> Option<ErrorReport> {
        self.state().revoked.why(session).map(|why| policy::revoked(method, why))
    }

    /// Whether a session's target is paused until that session resumes it.
    pub(crate) fn is_waiting(&self, session: &str) -> bool {
        self.state().sessions.get(session).is_some_and(|session| session.waiting)
    }

    /// Records that the session's target was resumed.
    pub(crate) fn resumed(&self, session: &str) {
        if let Some(session) = self.state().sessions.get_mut(session) {
            session.waiting = false;
        }
    }

    /// Marks sessions attached to this target as the host's own, until the guard is dropped: they serve one command and
    /// are hidden from scripts.
    pub(crate) fn host_attaches<'a>(&'a self, target: &'a str) -> HostAttachment<'a> {
        self.state().host_attached.insert(target.to_owned());
        HostAttachment { targets: self, target }
    }

    /// Takes the revoked sessions to detach, and the targets that caused it. Each is returned once.
    pub(crate) fn take_detachments(&self) -> (Vec<Detachment>, Vec<Departure>) {
        let revoked = &mut self.state().revoked;
        (std::mem::take(&mut revoked.detachments), std::mem::take(&mut revoked.departures))
    }

    /// Whether a script may read an event: not one of a session that it may not use, nor one about the browser's own
    /// target.
    pub fn may_be_read(&self, event: &Event) -> bool {
        if !policy::is_enforced() {
            return true;
        }
        let state = self.state();
        let of_session = event.session.as_ref().is_none_or(|session| match state.revoked.why.get(session) {
            Some((_, from)) => event.seq < *from,
            None => match state.sessions.get(session) {
                Some(session) => !session.of_host,
                None => state.detached_sessions.contains(session),
            },
        });
        of_session
            && !names_refused_url(event)
            && event.params.pointer("/targetInfo/type").and_then(Json::as_str) != Some(BROWSER)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard: while it lives, sessions attached to the target are the host's own.
pub(crate) struct HostAttachment<'a> {
    targets: &'a Targets,
    target: &'a str,
}

impl Drop for HostAttachment<'_> {
    fn drop(&mut self) {
        self.targets.state().host_attached.remove(self.target);
    }
}

/// Whether a command loads a page, and so recovers a crashed one.
pub(crate) fn loads_a_page(method: &str) -> bool {
    matches!(method, "Page.navigate" | "Page.reload" | "Page.navigateToHistoryEntry")
}

#[cfg(test)]
mod tests;
