//! What the events have told of targets and sessions so far.

use super::revoked::{EventGap, RevokedSessions};
use crate::{dialog::Dialog, policy::Standing, text::kept_field};
use codemode_chromium::Event;
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet, VecDeque};

/// Targets and sessions that are gone of which it is remembered that they had been there.
pub(super) const GONE_REMEMBERED_MAX: usize = 1_000;
/// Tabs that opened each other, followed at most this far: a bound on what pages control.
pub(crate) const OPENERS_MAX: usize = 16;

/// A target as far as its events tell.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Names it.
    pub id: String,
    /// Its type, as `page` or `iframe`.
    pub kind: String,
    /// Its URL; empty before anything is loaded.
    pub url: String,
    /// Its title, as far as it was told.
    pub title: String,
    /// Its URL for a reader: also that of a page which is on its way, and between two documents has none.
    pub at: String,
    /// The page that opened it.
    pub opener: Option<String>,
    /// The browser context that it is in.
    pub context: Option<String>,
    /// Of a frame with a process of its own: the target of the session that reported it.
    pub parent: Option<String>,
    /// The target whose frame it is in, or whose worker it is, as the browser tells.
    pub within: Option<String>,
    /// The scheme of a frame of its that is not for scripts.
    pub(super) tainted: Option<String>,
    /// The dialog that it shows.
    pub dialog: Option<Dialog>,
    /// Its process crashed, and it was not loaded again.
    pub crashed: bool,
    /// Counts up with each target that is discovered.
    pub(super) order: u64,
    /// The sequence number of the event that told of it last.
    pub(super) told: u64,
}

/// A session attached to a target.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) target: String,
    /// The session that it was attached through; `None` for the browser's own.
    pub(super) through: Option<String>,
    /// Its target stands still until it is told to go on.
    pub(super) waiting: bool,
    /// The host attached it for one command of its own.
    pub(super) of_host: bool,
    /// Domains of which events come.
    pub(super) enabled: HashSet<String>,
    /// Whether the events that the host itself needs were asked for.
    pub(super) watched: bool,
    /// They come: a dialog that opened before is told to others only.
    pub(super) tells: bool,
    /// Events before this sequence number belong to what was there before the last navigation.
    pub(super) floor: u64,
}

#[derive(Default)]
pub(super) struct Known {
    pub(super) read_to: u64,
    pub(super) discovered: u64,
    pub(super) targets: HashMap<String, Target>,
    pub(super) sessions: HashMap<String, Session>,
    pub(super) closed_targets: Recent,
    pub(super) detached_sessions: Recent,
    pub(super) last_used: Option<String>,
    pub(super) revoked: RevokedSessions,
    pub(super) gap: EventGap,
    /// Targets on which the host has a session of its own.
    pub(super) host_attached: HashSet<String>,
}

/// Whether an event tells of targets or sessions.
pub(super) fn is_relevant(event: &Event) -> bool {
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
    /// Takes in one event; `true` if a waiting call may have to look again.
    pub(super) fn apply(&mut self, event: &Event) -> bool {
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
                let of_host = event.session.is_none() && self.host_attached.contains(id);
                if let Some(session) = self.sessions.get_mut(text("sessionId")) {
                    session.through.clone_from(&event.session);
                    session.waiting = params["waitingForDebugger"] == true;
                    session.of_host = of_host;
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

    pub(super) fn inform(&mut self, info: &Json, told: u64) {
        let text = |key: &str| info.get(key).and_then(Json::as_str).map(str::to_owned);
        let Some(id) = text("targetId") else { return };
        let target = self.targets.entry(id.clone()).or_insert_with(|| {
            self.discovered += 1;
            Target { id, order: self.discovered, ..Target::default() }
        });
        target.kind = text("type").unwrap_or_default();
        let url = kept_field(info, "url");
        if url.split('#').next() != target.url.split('#').next() {
            target.tainted = None;
        }
        if url != target.url && !url.is_empty() {
            target.at.clone_from(&url);
        }
        target.url = url;
        target.title = kept_field(info, "title");
        target.opener = text("openerId");
        target.context = text("browserContextId");
        target.within = text("parentId");
        target.told = told;
    }

    /// The page that opened the page that opened it, and so on.
    pub(super) fn root<'a>(&'a self, target: &'a str) -> &'a str {
        let mut root = target;
        for _ in 0..OPENERS_MAX {
            match self.targets.get(root).and_then(|target| target.opener.as_deref()) {
                Some(opener) => root = opener,
                None => break,
            }
        }
        root
    }

    pub(super) fn attach(&mut self, session: &str, target: &str) {
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

    pub(super) fn with_target(&mut self, target: String, change: impl FnOnce(&mut Target)) -> bool {
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
pub(super) struct Recent {
    order: VecDeque<String>,
    set: HashSet<String>,
}

impl Recent {
    pub(super) fn push(&mut self, id: &str) {
        if self.set.insert(id.to_owned()) {
            self.order.push_back(id.to_owned());
        }
        if self.order.len() > GONE_REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.set.contains(id)
    }
}
