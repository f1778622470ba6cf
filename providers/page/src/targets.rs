//! What is known of the browser's targets and of the sessions attached to them, kept up to date from its events.

mod judgement;
mod known;
mod revoked;

pub(crate) use known::OPENERS_MAX;
pub use known::Target;
pub(crate) use revoked::{Departure, Detachment};

use crate::{
    dialog::{self, Dialog},
    policy::{self, Standing},
    reports::{closed, crashed, detached},
    text::{kept, kept_field},
};
use codemode_chromium::{Event, EventLog};
use codemode_spec::ErrorReport;
use judgement::names_what_is_refused;
use known::{Known, is_relevant};
use serde_json::Value as Json;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use url::Url;

/// The kind of the targets that are the browser's own windows and popups.
const BROWSER_UI: &str = "browser_ui";
/// The kind of the browser's own target: it is not there for scripts.
pub(crate) const BROWSER: &str = "browser";
/// Events looked at under one lock of the log.
const EVENTS_AT_ONCE: usize = 500;

/// All targets and sessions of one connection.
pub struct Targets {
    known: Mutex<Known>,
    changed: watch::Sender<()>,
}

impl Targets {
    pub(crate) fn new() -> Self {
        Self { known: Mutex::default(), changed: watch::Sender::new(()) }
    }

    /// Takes in the events that have come since the last time. Cheap if there are none.
    ///
    /// A task does this all the time; a call does it again before it looks, so that what it sees is never older than
    /// the events that the script can have seen.
    pub(crate) fn catch_up(&self, log: &EventLog) {
        let mut known = self.known();
        let mut changed = false;
        while known.read_to < log.cursor() {
            let batch = log.since(known.read_to, EVENTS_AT_ONCE, &is_relevant);
            if batch.dropped > 0 {
                known.gap.missed(batch.next);
            }
            for event in &batch.events {
                changed |= known.apply(event);
            }
            known.read_to = batch.next;
        }
        drop(known);
        if changed {
            self.changed.send_replace(());
        }
    }

    /// Takes in a list of the targets that was asked for when the next event had this sequence number. All events that
    /// came before the list must have been taken in: some may be newer than it.
    pub(crate) fn refreshed(&self, infos: &Json, asked_at: u64) {
        let mut known = self.known();
        let had_gap = known.gap.closed_by_list(asked_at);
        for info in infos.as_array().into_iter().flatten() {
            // What has gone since the list was made stays gone.
            let id = info["targetId"].as_str().unwrap_or_default();
            match known.targets.get_mut(id) {
                Some(target) if target.told < asked_at => {
                    let told = target.told;
                    known.inform(info, told);
                }
                Some(target) if kept_field(info, "url") == target.url => {
                    // The page is the same: only its title may not have been told.
                    target.title = kept_field(info, "title");
                }
                Some(_) => {}
                None => {
                    if had_gap && !known.closed_targets.contains(id) {
                        known.inform(info, asked_at);
                    }
                }
            }
        }
        known.judge_sessions(asked_at);
        drop(known);
        self.changed.send_replace(());
    }

    /// Follows the events until the connection is closed.
    pub(crate) async fn follow(&self, log: &EventLog) {
        loop {
            let from = self.known().read_to;
            if log.wait(from, &is_relevant).await.is_none() {
                self.catch_up(log);
                return;
            }
            self.catch_up(log);
        }
    }

    /// Told whenever a target closed, crashed, came back, or opened or closed a dialog.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// A target by its id.
    #[must_use]
    pub fn target(&self, id: &str) -> Option<Target> {
        self.known().targets.get(id).cloned()
    }

    /// The targets that scripts have to do with, in the order in which they were discovered.
    pub fn visible(&self) -> Vec<Target> {
        let mut targets: Vec<_> = self
            .known()
            .targets
            .values()
            .filter(|target| ![BROWSER_UI, BROWSER].contains(&&*target.kind))
            .cloned()
            .collect();
        targets.sort_by_key(|target| target.order);
        targets
    }

    pub(crate) fn was_closed(&self, target: &str) -> bool {
        self.known().closed_targets.contains(target)
    }

    /// The target that a session is attached to.
    pub fn target_of(&self, session: &str) -> Option<String> {
        self.known().sessions.get(session).map(|session| session.target.clone())
    }

    pub(crate) fn was_detached(&self, session: &str) -> bool {
        self.known().detached_sessions.contains(session)
    }

    /// Records an attachment whose reply came before its event was read.
    pub(crate) fn attached(&self, session: &str, target: &str) {
        self.known().attach(session, target);
    }

    /// Marks the session as one whose dialogs are seen; `false` if it was before.
    pub(crate) fn watch(&self, session: &str) -> bool {
        let mut known = self.known();
        let Known { sessions, targets, .. } = &mut *known;
        let Some(session) = sessions.get_mut(session) else { return false };
        let has_page =
            targets.get(&session.target).is_some_and(|target| target.kind == "page" || target.kind == "iframe");
        has_page && !std::mem::replace(&mut session.watched, true)
    }

    /// The session tells of all dialogs that its page opens from now on.
    pub(crate) fn tells(&self, session: &str) {
        if let Some(session) = self.known().sessions.get_mut(session) {
            session.tells = true;
        }
    }

    /// It is not certain that the session's dialogs are seen.
    pub(crate) fn unwatch(&self, session: &str) {
        if let Some(session) = self.known().sessions.get_mut(session) {
            (session.watched, session.tells) = (false, false);
        }
    }

    /// Whether the events of a domain come from a session.
    #[must_use]
    pub fn is_enabled(&self, session: &str, domain: &str) -> bool {
        self.known().sessions.get(session).is_some_and(|session| session.enabled.contains(domain))
    }

    pub(crate) fn set_enabled(&self, session: &str, domain: &str, enabled: bool) {
        if let Some(session) = self.known().sessions.get_mut(session) {
            if enabled {
                session.enabled.insert(domain.to_owned());
            } else {
                session.enabled.remove(domain);
            }
        }
    }

    /// Where the events of a session begin that can have to do with what it shows now.
    pub fn floor(&self, session: &str) -> u64 {
        self.known().sessions.get(session).map_or(0, |session| session.floor)
    }

    pub(crate) fn raise_floor(&self, session: &str, floor: u64) {
        if let Some(session) = self.known().sessions.get_mut(session) {
            session.floor = session.floor.max(floor);
        }
    }

    /// The page was told to load again and agreed: it is not the crashed one any more.
    pub(crate) fn revived(&self, target: &str) {
        if let Some(target) = self.known().targets.get_mut(target) {
            target.crashed = false;
        }
    }

    /// The page that the script has used last.
    pub fn used(&self, target: &str) {
        let mut known = self.known();
        if known.last_used.as_deref() != Some(target) {
            known.last_used = Some(target.to_owned());
        }
    }

    /// The page that the script has used last, or else the first one.
    pub fn current(&self) -> Option<Target> {
        let last = { self.known().last_used.clone() };
        last.and_then(|id| self.target(&id)).or_else(|| self.visible().into_iter().find(|target| target.kind == "page"))
    }

    /// The script has sent a page somewhere.
    pub(crate) fn navigating_to(&self, target: &str, url: &Url) {
        if let Some(target) = self.known().targets.get_mut(target) {
            target.at = kept(url.as_str()).to_owned();
        }
    }

    /// A page does not go where the script has sent it.
    pub(crate) fn navigation_failed(&self, target: &str) {
        if let Some(target) = self.known().targets.get_mut(target).filter(|target| !target.url.is_empty()) {
            target.at.clone_from(&target.url);
        }
    }

    /// Takes in a target that another connection told of.
    pub(crate) fn told_by_popups(&self, info: &Json) {
        let mut known = self.known();
        let id = info["targetId"].as_str().unwrap_or_default();
        if !known.targets.contains_key(id) && !known.closed_targets.contains(id) {
            known.inform(info, 0);
        }
    }

    /// A popup opened or closed a dialog. Where its own session tells of dialogs, it tells of them in order.
    pub(crate) fn dialog_of_popup(&self, target: &str, dialog: Option<Dialog>) {
        let mut known = self.known();
        let is_told = known.sessions.values().any(|session| session.tells && session.target == target);
        let changed =
            !(is_told && dialog.is_some()) && known.with_target(target.to_owned(), |target| target.dialog = dialog);
        drop(known);
        if changed {
            self.changed.send_replace(());
        }
    }

    /// The dialog of a page that may share its process with that of a session: one that it opened, or that opened it.
    pub(crate) fn dialog_of_relative(&self, session: &str, method: &str) -> Option<ErrorReport> {
        let known = self.known();
        let own = &known.sessions.get(session)?.target;
        let root = known.root(own);
        let relative =
            |target: &&Target| target.dialog.is_some() && target.id != *own && known.root(&target.id) == root;
        let target = known.targets.values().find(relative).filter(|_| !dialog::answers_without_page(method))?;
        target.dialog.as_ref().map(|dialog| dialog.report(&target.id, method))
    }

    /// Any page with an open dialog.
    pub(crate) fn with_dialog(&self) -> Option<Target> {
        self.known().targets.values().find(|target| target.dialog.is_some()).cloned()
    }

    /// Why a command on a session cannot be answered as things stand, if it cannot.
    pub fn obstacle(&self, session: &str, method: &str) -> Option<ErrorReport> {
        let known = self.known();
        if let Some(why) = known.revoked.why(session) {
            return Some(policy::has_left(method, why));
        }
        let Some(id) = known.sessions.get(session).map(|session| session.target.as_str()) else {
            return known.detached_sessions.contains(session).then(|| detached(session));
        };
        let Some(target) = known.targets.get(id) else {
            return known.closed_targets.contains(id).then(|| closed(id));
        };
        if target.crashed && !dialog::answers_without_page(method) && !loads_a_page(method) {
            return Some(crashed(&target.id, &target.url));
        }
        let parent = target.parent.as_ref().and_then(|parent| known.targets.get(parent));
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
        let known = self.known();
        let target = known.targets.get(&known.sessions.get(session)?.target)?;
        Some(crashed(&target.id, &target.url))
    }

    /// Why no more events can come from a session, if none can.
    pub fn silence(&self, session: &str, event: &str) -> Option<ErrorReport> {
        let known = self.known();
        if let Some(why) = known.revoked.why(session) {
            return Some(policy::has_left(event, why));
        }
        let Some(id) = known.sessions.get(session).map(|session| session.target.as_str()) else {
            return known.detached_sessions.contains(session).then(|| detached(session));
        };
        match known.targets.get(id) {
            None => known.closed_targets.contains(id).then(|| closed(id)),
            Some(target) => {
                (target.crashed && !event.starts_with("Inspector.")).then(|| crashed(&target.id, &target.url))
            }
        }
    }

    /// What a target is.
    pub(crate) fn standing(&self, target: &str) -> Standing {
        self.known().standing(target)
    }

    /// The host has sent the tab to a page that is for scripts: what it was about to show before does not come.
    pub(crate) fn navigated_by_host(&self, target: &str) {
        if let Some(target) = self.known().targets.get_mut(target) {
            target.tainted = None;
        }
    }

    /// Whether events were missed: a list of the targets must be asked for before one is judged.
    pub(crate) fn has_gap(&self) -> bool {
        self.known().gap.is_open()
    }

    /// Something was not told: the next list of all targets says what there is.
    pub(crate) fn missed(&self, before: u64) {
        self.known().gap.missed(before);
    }

    /// Whether a session is one that a script may name.
    pub(crate) fn is_known(&self, session: &str) -> bool {
        self.known().sessions.get(session).is_some_and(|session| !session.of_host)
    }

    /// Why a session was taken from the script, if it was.
    pub(crate) fn refusal(&self, session: &str, method: &str) -> Option<ErrorReport> {
        self.known().revoked.why(session).map(|why| policy::has_left(method, why))
    }

    /// Whether a session's target stands still until that session tells it to go on.
    pub(crate) fn is_waiting(&self, session: &str) -> bool {
        self.known().sessions.get(session).is_some_and(|session| session.waiting)
    }

    /// The session's target was told to go on.
    pub(crate) fn resumed(&self, session: &str) {
        if let Some(session) = self.known().sessions.get_mut(session) {
            session.waiting = false;
        }
    }

    /// Sessions attached to this target until the guard is dropped are the host's own: for one command, not for scripts.
    pub(crate) fn host_attaches<'a>(&'a self, target: &'a str) -> HostAttachment<'a> {
        self.known().host_attached.insert(target.to_owned());
        HostAttachment { targets: self, target }
    }

    /// Sessions that are to be detached, and which targets went where: each is told once.
    pub(crate) fn take_detachments(&self) -> (Vec<Detachment>, Vec<Departure>) {
        let revoked = &mut self.known().revoked;
        (std::mem::take(&mut revoked.detachments), std::mem::take(&mut revoked.departures))
    }

    /// Whether a script may read an event: not one of a session that it may not use, nor what is told of the browser's
    /// own target.
    pub fn may_be_read(&self, event: &Event) -> bool {
        if !policy::stands() {
            return true;
        }
        let known = self.known();
        let of_session = event.session.as_ref().is_none_or(|session| match known.revoked.why.get(session) {
            Some((_, from)) => event.seq < *from,
            None => match known.sessions.get(session) {
                Some(session) => !session.of_host,
                None => known.detached_sessions.contains(session),
            },
        });
        of_session
            && !names_what_is_refused(event)
            && event.params.pointer("/targetInfo/type").and_then(Json::as_str) != Some(BROWSER)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host has a session of its own on a target.
pub(crate) struct HostAttachment<'a> {
    targets: &'a Targets,
    target: &'a str,
}

impl Drop for HostAttachment<'_> {
    fn drop(&mut self) {
        self.targets.known().host_attached.remove(self.target);
    }
}

/// Whether a command makes a crashed page live again.
pub(crate) fn loads_a_page(method: &str) -> bool {
    matches!(method, "Page.navigate" | "Page.reload" | "Page.navigateToHistoryEntry")
}

#[cfg(test)]
mod tests;
