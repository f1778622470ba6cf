//! What is known of the browser's targets and of the sessions attached to them, kept up to date from its events.

mod judgement;

use codemode_chromium::{Event, EventLog};
use codemode_spec::{ErrorCode, ErrorReport, limits::TARGET_TEXT_BYTES_MAX};
use serde_json::Value as Json;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;
use url::Url;

use crate::{
    dialog::{self, Dialog},
    policy::{self, Standing},
};

use judgement::{Bans, Blind};
pub(crate) use judgement::{Eviction, Left};

/// Targets and sessions that are gone of which it is remembered that they had been there.
const GONE_REMEMBERED_MAX: usize = 1_000;
/// Tabs that opened each other, followed at most this far: a bound on what pages control.
pub(crate) const OPENERS_MAX: usize = 16;
/// The kind of the targets that are the browser's own windows and popups.
const BROWSER_UI: &str = "browser_ui";
/// The kind of the browser's own target: it is not there for scripts.
pub(crate) const BROWSER: &str = "browser";
/// Events looked at under one lock of the log.
const EVENTS_AT_ONCE: usize = 500;

/// A target as far as its events tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) url: String,
    pub(crate) title: String,
    /// Its URL for a reader: also that of a page which is on its way, and between two documents has none.
    pub(crate) at: String,
    pub(crate) opener: Option<String>,
    pub(crate) context: Option<String>,
    /// Of a frame with a process of its own: the target of the session that reported it.
    pub(crate) parent: Option<String>,
    /// The target whose frame it is in, or whose worker it is, as the browser tells.
    within: Option<String>,
    /// The scheme of a frame of its that is not for scripts.
    tainted: Option<String>,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) crashed: bool,
    /// Counts up with each target that is discovered.
    order: u64,
    /// The sequence number of the event that told of it last.
    told: u64,
}

/// A session attached to a target.
#[derive(Clone, Debug, Default)]
struct Session {
    target: String,
    /// The session that it was attached through; `None` for the browser's own.
    through: Option<String>,
    /// Its target stands still until it is told to go on.
    waiting: bool,
    /// The host attached it for one command of its own.
    hosts: bool,
    /// Domains of which events come.
    enabled: HashSet<String>,
    /// Whether the events that the host itself needs were asked for.
    watched: bool,
    /// Events before this sequence number belong to what was there before the last navigation.
    floor: u64,
}

#[derive(Default)]
struct Known {
    read_to: u64,
    discovered: u64,
    targets: HashMap<String, Target>,
    sessions: HashMap<String, Session>,
    closed_targets: Recent,
    detached_sessions: Recent,
    last_used: Option<String>,
    bans: Bans,
    blind: Blind,
    /// Targets on which the host has a session of its own.
    entered: HashSet<String>,
}

/// All targets and sessions of one connection.
pub(crate) struct Targets {
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
                known.blind.missed(batch.next);
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
        let was_blind = known.blind.sees_again(asked_at);
        for info in infos.as_array().into_iter().flatten() {
            // What has gone since the list was made stays gone.
            let id = info["targetId"].as_str().unwrap_or_default();
            match known.targets.get_mut(id) {
                Some(target) if target.told < asked_at => {
                    let told = target.told;
                    known.inform(info, told);
                }
                Some(target) if kept_text(info, "url") == target.url => {
                    // The page is the same: only its title may not have been told.
                    target.title = kept_text(info, "title");
                }
                Some(_) => {}
                None => {
                    if was_blind && !known.closed_targets.contains(id) {
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
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(crate) fn target(&self, id: &str) -> Option<Target> {
        self.known().targets.get(id).cloned()
    }

    /// The targets that scripts have to do with, in the order in which they were discovered.
    pub(crate) fn visible(&self) -> Vec<Target> {
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
    pub(crate) fn target_of(&self, session: &str) -> Option<String> {
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

    /// It is not certain that the session's dialogs are seen.
    pub(crate) fn unwatch(&self, session: &str) {
        if let Some(session) = self.known().sessions.get_mut(session) {
            session.watched = false;
        }
    }

    pub(crate) fn is_enabled(&self, session: &str, domain: &str) -> bool {
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
    pub(crate) fn floor(&self, session: &str) -> u64 {
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
    pub(crate) fn used(&self, target: &str) {
        let mut known = self.known();
        if known.last_used.as_deref() != Some(target) {
            known.last_used = Some(target.to_owned());
        }
    }

    /// The page that the script has used last, or else the first one.
    pub(crate) fn current(&self) -> Option<Target> {
        let last = { self.known().last_used.clone() };
        last.and_then(|id| self.target(&id)).or_else(|| self.visible().into_iter().find(|target| target.kind == "page"))
    }

    /// The script has sent a page somewhere.
    pub(crate) fn heads_for(&self, target: &str, url: &Url) {
        if let Some(target) = self.known().targets.get_mut(target) {
            target.at = kept(url.as_str()).to_owned();
        }
    }

    /// A page does not go where the script has sent it.
    pub(crate) fn stays(&self, target: &str) {
        if let Some(target) = self.known().targets.get_mut(target).filter(|target| !target.url.is_empty()) {
            target.at.clone_from(&target.url);
        }
    }

    /// Takes in a target that another connection told of.
    pub(crate) fn introduced(&self, info: &Json) {
        let mut known = self.known();
        let id = info["targetId"].as_str().unwrap_or_default();
        if !known.targets.contains_key(id) && !known.closed_targets.contains(id) {
            known.inform(info, 0);
        }
    }

    /// A popup opened or closed a dialog. Of one that is watched already its own session tells, and in order.
    pub(crate) fn dialog_of_popup(&self, target: &str, dialog: Option<Dialog>) {
        let mut known = self.known();
        let is_watched = known.sessions.values().any(|session| session.watched && session.target == target);
        let changed =
            !(is_watched && dialog.is_some()) && known.with_target(target.to_owned(), |target| target.dialog = dialog);
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
    pub(crate) fn obstacle(&self, session: &str, method: &str) -> Option<ErrorReport> {
        let known = self.known();
        if let Some(why) = known.bans.why(session) {
            return Some(policy::has_left(method, why));
        }
        let Some(id) = known.sessions.get(session).map(|session| session.target.as_str()) else {
            return known.detached_sessions.contains(session).then(|| detached(session));
        };
        let Some(target) = known.targets.get(id) else {
            return known.closed_targets.contains(id).then(|| closed(id));
        };
        if target.crashed && !dialog::answers_without_page(method) && !loads_a_page(method) {
            return Some(crashed(target));
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
        known.targets.get(&known.sessions.get(session)?.target).map(crashed)
    }

    /// Why no more events can come from a session, if none can.
    pub(crate) fn silence(&self, session: &str, event: &str) -> Option<ErrorReport> {
        let known = self.known();
        if let Some(why) = known.bans.why(session) {
            return Some(policy::has_left(event, why));
        }
        let Some(id) = known.sessions.get(session).map(|session| session.target.as_str()) else {
            return known.detached_sessions.contains(session).then(|| detached(session));
        };
        match known.targets.get(id) {
            None => known.closed_targets.contains(id).then(|| closed(id)),
            Some(target) => (target.crashed && !event.starts_with("Inspector.")).then(|| crashed(target)),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a command makes a crashed page live again.
pub(crate) fn loads_a_page(method: &str) -> bool {
    matches!(method, "Page.navigate" | "Page.reload" | "Page.navigateToHistoryEntry")
}

/// The report of a target that is gone.
pub(crate) fn closed(target: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpTargetClosed, format!("the page target:{target} was closed")).with_hint(
        "Open a page with cdp.send(\"Target.createTarget\", {url}) and attach to it with cdp.attachToTarget(targetId).",
    )
}

/// The report of a session that is gone.
pub(crate) fn detached(session: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpTargetClosed, format!("the session {session} was detached from its page")).with_hint(
        "Attach again with cdp.attachToTarget(targetId): its handle is attached again by itself when needed.",
    )
}

fn crashed(target: &Target) -> ErrorReport {
    ErrorReport::new(
        ErrorCode::CdpTargetCrashed,
        format!("the page target:{} crashed at {}", target.id, short(&target.url)),
    )
    .with_hint("Load it again with cdp.send(\"Page.reload\", {}, {sessionId}), or open another page.")
    .with_detail("targetId", target.id.clone())
}

/// A text cut to what a message can bear.
pub(crate) fn short(text: &str) -> String {
    cut(text, 200)
}

/// The beginning of a text of a target, which a page can make megabytes long: enough to judge and to name it.
pub(crate) fn kept(text: &str) -> &str {
    &text[..text.floor_char_boundary(TARGET_TEXT_BYTES_MAX)]
}

fn kept_text(info: &Json, key: &str) -> String {
    kept(info[key].as_str().unwrap_or_default()).to_owned()
}

/// A text cut to so many characters.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn is_relevant(event: &Event) -> bool {
    matches!(
        event.method.as_str(),
        "Target.targetCreated"
            | "Target.targetInfoChanged"
            | "Target.targetDestroyed"
            | "Target.targetCrashed"
            | "Target.attachedToTarget"
            | "Target.detachedFromTarget"
            | "Page.javascriptDialogOpening"
            | "Page.javascriptDialogClosed"
            | "Page.frameNavigated"
            | "Page.frameStartedNavigating"
            | "Fetch.requestPaused"
            | "Inspector.targetCrashed"
            | "Inspector.targetReloadedAfterCrash"
    )
}

impl Known {
    /// Takes in one event; whether it can matter to somebody who waits.
    fn apply(&mut self, event: &Event) -> bool {
        let params = &event.params;
        let text = |key: &str| params.get(key).and_then(Json::as_str).unwrap_or_default();
        match event.method.as_str() {
            "Target.targetCreated" | "Target.targetInfoChanged" => {
                let id = params["targetInfo"]["targetId"].as_str().unwrap_or_default();
                let was_known = !matches!(self.standing(id), Standing::NotKnownYet | Standing::Absent);
                self.inform(&params["targetInfo"], event.seq);
                !was_known | self.judge_sessions(event.seq)
            }
            "Target.attachedToTarget" => {
                let info = &params["targetInfo"];
                let id = info["targetId"].as_str().unwrap_or_default();
                self.inform(info, event.seq);
                self.attach(text("sessionId"), id);
                let hosts = event.session.is_none() && self.entered.contains(id);
                if let Some(session) = self.sessions.get_mut(text("sessionId")) {
                    session.through.clone_from(&event.session);
                    session.waiting = params["waitingForDebugger"] == true;
                    session.hosts = hosts;
                }
                let parent = event.session.as_ref().and_then(|session| self.sessions.get(session));
                let parent = parent.map(|session| session.target.clone());
                if let Some(target) = self.targets.get_mut(id) {
                    target.parent = target.parent.take().or(parent);
                }
                self.judge_sessions_but(Some(text("sessionId")), event.seq)
            }
            "Page.frameNavigated" => self.frame_navigated(event),
            "Page.frameStartedNavigating" | "Fetch.requestPaused" => self.loads(event),
            "Target.detachedFromTarget" => {
                self.sessions.remove(text("sessionId"));
                self.detached_sessions.push(text("sessionId"));
                true
            }
            "Target.targetDestroyed" => {
                self.targets.remove(text("targetId"));
                self.closed_targets.push(text("targetId"));
                true
            }
            "Target.targetCrashed" => self.with_target(text("targetId").to_owned(), |target| {
                target.crashed = true;
                target.dialog = None;
            }),
            "Inspector.targetCrashed" => self.with_target_of(event, |target| {
                target.crashed = true;
                target.dialog = None;
            }),
            "Inspector.targetReloadedAfterCrash" => self.with_target_of(event, |target| target.crashed = false),
            "Page.javascriptDialogOpening" => {
                self.with_target_of(event, |target| target.dialog = Some(Dialog::from_event(params)))
            }
            "Page.javascriptDialogClosed" => self.with_target_of(event, |target| target.dialog = None),
            _ => false,
        }
    }

    fn inform(&mut self, info: &Json, told: u64) {
        let text = |key: &str| info.get(key).and_then(Json::as_str).map(str::to_owned);
        let Some(id) = text("targetId") else { return };
        let target = self.targets.entry(id.clone()).or_insert_with(|| {
            self.discovered += 1;
            Target { id, order: self.discovered, ..Target::default() }
        });
        target.kind = text("type").unwrap_or_default();
        let url = kept_text(info, "url");
        if url.split('#').next() != target.url.split('#').next() {
            target.tainted = None;
        }
        if url != target.url && !url.is_empty() {
            target.at.clone_from(&url);
        }
        target.url = url;
        target.title = kept_text(info, "title");
        target.opener = text("openerId");
        target.context = text("browserContextId");
        target.within = text("parentId");
        target.told = told;
    }

    /// The page that opened the page that opened it, and so on.
    fn root<'a>(&'a self, target: &'a str) -> &'a str {
        let mut root = target;
        for _ in 0..OPENERS_MAX {
            match self.targets.get(root).and_then(|target| target.opener.as_deref()) {
                Some(opener) => root = opener,
                None => break,
            }
        }
        root
    }

    fn attach(&mut self, session: &str, target: &str) {
        // A reply that is handled late must not bring back a session whose end was read already.
        if session.is_empty() || self.detached_sessions.contains(session) {
            return;
        }
        let entry = self.sessions.entry(session.to_owned()).or_default();
        target.clone_into(&mut entry.target);
    }

    fn with_target_of(&mut self, event: &Event, change: impl FnOnce(&mut Target)) -> bool {
        let session = event.session.as_ref().and_then(|session| self.sessions.get(session));
        let Some(target) = session.map(|session| session.target.clone()) else { return false };
        self.with_target(target, change)
    }

    fn with_target(&mut self, target: String, change: impl FnOnce(&mut Target)) -> bool {
        match self.targets.get_mut(&target) {
            Some(target) => {
                change(target);
                true
            }
            None => false,
        }
    }
}

/// The last of many ids.
#[derive(Default)]
struct Recent {
    order: VecDeque<String>,
    set: HashSet<String>,
}

impl Recent {
    fn push(&mut self, id: &str) {
        if self.set.insert(id.to_owned()) {
            self.order.push_back(id.to_owned());
        }
        if self.order.len() > GONE_REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
    }

    fn contains(&self, id: &str) -> bool {
        self.set.contains(id)
    }
}

#[cfg(test)]
mod tests;
