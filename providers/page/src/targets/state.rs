//! The state of targets and sessions, as reported by the events so far.

use super::revoked::{EventGap, RevokedSessions};
use crate::{dialog::Dialog, policy::TargetAccess, text::bounded_field};
use codemode_chromium::Event;
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet, VecDeque};

/// The number of closed targets, and of detached sessions, whose ids are remembered.
pub(super) const GONE_REMEMBERED_MAX: usize = 1_000;
/// The maximum length of a chain of openers or parents that is followed: pages control how long it is.
pub(crate) const OPENERS_MAX: usize = 16;

/// A target, as reported by events.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The browser's id of the target.
    pub id: String,
    /// Its type, as `page` or `iframe`.
    pub kind: String,
    /// Its URL; empty before anything is loaded.
    pub url: String,
    /// The last title reported.
    pub title: String,
    /// The URL to show to a reader: unlike `url`, already that of a navigation in progress, and never empty between two
    /// documents.
    pub display_url: String,
    /// The target of the page that opened it.
    pub opener: Option<String>,
    /// The browser context that it is in.
    pub context: Option<String>,
    /// For a frame with its own process: the target of the session that reported it.
    pub parent: Option<String>,
    /// The target that contains this frame or worker, as reported by the browser.
    pub within: Option<String>,
    /// The scheme of a frame in it, or of a load that its page is starting, that is not for scripts.
    pub(super) tainted: Option<String>,
    /// The dialog that it shows.
    pub dialog: Option<Dialog>,
    /// Whether its process crashed and it was not loaded again.
    pub crashed: bool,
    /// The target's number in the order of discovery.
    pub(super) order: u64,
    /// The sequence number of the last event that reported it.
    pub(super) reported_seq: u64,
}

/// A session attached to a target.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) target: String,
    /// The parent session, through which it was attached; `None` for one attached at the browser's root.
    pub(super) through: Option<String>,
    /// Whether its target is paused until it is resumed.
    pub(super) waiting: bool,
    /// Whether the host attached it for one command of its own.
    pub(super) of_host: bool,
    /// The domains whose events are enabled.
    pub(super) enabled: HashSet<String>,
    /// Whether enabling the events that the host itself needs has been requested.
    pub(super) watched: bool,
    /// Whether that succeeded, so that it reports dialogs: one that opened before is reported on other sessions only.
    pub(super) reports_dialogs: bool,
    /// Events before this sequence number concern the document before the last navigation.
    pub(super) floor: u64,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) read_to: u64,
    pub(super) discovered: u64,
    pub(super) dialogs_opened: u64,
    pub(super) targets: HashMap<String, Target>,
    pub(super) sessions: HashMap<String, Session>,
    pub(super) closed_targets: Recent,
    pub(super) detached_sessions: Recent,
    pub(super) last_used: Option<String>,
    pub(super) revoked: RevokedSessions,
    pub(super) gap: EventGap,
    /// Targets on which the host is attaching a session of its own.
    pub(super) host_attached: HashSet<String>,
}

/// Whether an event changes the state of targets or sessions.
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

impl State {
    /// Applies one event; `true` if a waiting call may have to check again.
    pub(super) fn apply(&mut self, event: &Event) -> bool {
        let params = &event.params;
        let text = |key: &str| params.get(key).and_then(Json::as_str).unwrap_or_default();
        match event.method.as_str() {
            "Target.targetCreated" | "Target.targetInfoChanged" => {
                let id = params["targetInfo"]["targetId"].as_str().unwrap_or_default();
                let was_known = !matches!(self.access(id), TargetAccess::NotKnownYet | TargetAccess::Absent);
                self.update(&params["targetInfo"], event.seq);
                !was_known | self.revoke_refused_sessions(event.seq)
            }
            "Target.attachedToTarget" => {
                let info = &params["targetInfo"];
                let id = info["targetId"].as_str().unwrap_or_default();
                self.update(info, event.seq);
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
                self.revoke_refused_sessions_except(Some(text("sessionId")), event.seq)
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
                let Some(target) = self.target_of(event) else { return false };
                self.open_dialog(target, params, event.session.as_deref())
            }
            "Page.javascriptDialogClosed" => self.with_target_of(event, |target| target.dialog = None),
            _ => false,
        }
    }

    pub(super) fn update(&mut self, info: &Json, reported_seq: u64) {
        let text = |key: &str| info.get(key).and_then(Json::as_str).map(str::to_owned);
        let Some(id) = text("targetId") else { return };
        let target = self.targets.entry(id.clone()).or_insert_with(|| {
            self.discovered += 1;
            Target { id, order: self.discovered, ..Target::default() }
        });
        target.kind = text("type").unwrap_or_default();
        let url = bounded_field(info, "url");
        if url.split('#').next() != target.url.split('#').next() {
            target.tainted = None;
        }
        if url != target.url && !url.is_empty() {
            target.display_url.clone_from(&url);
        }
        target.url = url;
        target.title = bounded_field(info, "title");
        target.opener = text("openerId");
        target.context = text("browserContextId");
        target.within = text("parentId");
        target.reported_seq = reported_seq;
    }

    /// The first opener in the chain of openers of a target.
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
        // A reply handled late must not restore a session whose detachment was read already.
        if session.is_empty() || self.detached_sessions.contains(session) {
            return;
        }
        let entry = self.sessions.entry(session.to_owned()).or_default();
        target.clone_into(&mut entry.target);
    }

    fn with_target_of(&mut self, event: &Event, change: impl FnOnce(&mut Target)) -> bool {
        self.target_of(event).is_some_and(|target| self.with_target(target, change))
    }

    fn target_of(&self, event: &Event) -> Option<String> {
        let session = event.session.as_ref().and_then(|session| self.sessions.get(session));
        session.map(|session| session.target.clone())
    }

    /// Records the dialog of a `Page.javascriptDialogOpening`, once for all sessions that report it.
    pub(super) fn open_dialog(&mut self, target: String, params: &Json, reporter: Option<&str>) -> bool {
        self.dialogs_opened += 1;
        let dialog = Dialog::from_event(params, self.dialogs_opened, reporter);
        self.with_target(target, |target| {
            if !target.dialog.as_ref().is_some_and(|open| open.is_also(&dialog)) {
                target.dialog = Some(dialog);
            }
        })
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

/// A bounded set of the most recently added ids.
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
