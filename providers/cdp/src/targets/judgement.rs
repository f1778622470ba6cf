//! Which targets are for scripts, and what becomes of sessions on one that is not any more.

use super::{GONE_REMEMBERED_MAX, Known, OPENERS_MAX, Targets, kept};
use crate::policy::{self, Shown, Standing, Why};
use codemode_chromium::Event;
use codemode_spec::ErrorReport;
use serde_json::Value as Json;
use std::collections::{HashMap, VecDeque};

/// Schemes of the browser's own that it loads pages from.
const LOADED: &[&str] = &[
    "chrome",
    "chrome-extension",
    "chrome-search",
    "chrome-untrusted",
    "devtools",
    "file",
    "isolated-app",
    "view-source",
];
/// Where events name what is loaded.
const NAMED_AT: &[&str] = &["/request/url", "/response/url", "/frame/url", "/documentURL", "/url"];

/// A session that is to be detached, and the one through which it was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Eviction {
    pub(crate) session: String,
    pub(crate) through: Option<String>,
}

/// A target that a script was attached to went to a scheme that is not for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) kind: String,
    pub(crate) scheme: String,
}

/// Sessions that scripts may not use any more, and what is to be done about them.
#[derive(Default)]
pub(super) struct Bans {
    why: HashMap<String, (Why, u64)>,
    order: VecDeque<String>,
    evictions: Vec<Eviction>,
    left: Vec<Left>,
}

impl Bans {
    pub(super) fn why(&self, session: &str) -> Option<&Why> {
        self.why.get(session).map(|(why, _)| why)
    }

    fn add(&mut self, session: &str, why: Why, from: u64) {
        if self.why.insert(session.to_owned(), (why, from)).is_none() {
            self.order.push_back(session.to_owned());
        }
        // The oldest has long been detached: Chromium does not know it any more.
        if self.order.len() > GONE_REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.why.remove(&oldest);
        }
    }
}

/// Whether events were pushed out before they were read: what targets show may not be what was told last.
#[derive(Default)]
pub(super) struct Blind(Option<u64>);

impl Blind {
    pub(super) fn missed(&mut self, before: u64) {
        self.0 = Some(before);
    }

    /// A list of all targets has come that was asked for at this event; whether it was needed.
    pub(super) fn sees_again(&mut self, asked_at: u64) -> bool {
        self.0.take_if(|missed| asked_at >= *missed).is_some()
    }
}

/// The host has a session of its own on a target.
pub(crate) struct Entered<'a> {
    targets: &'a Targets,
    target: &'a str,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.targets.known().entered.remove(self.target);
    }
}

impl Targets {
    /// What a target is.
    pub(crate) fn standing(&self, target: &str) -> Standing {
        self.known().standing(target)
    }

    /// The host has sent the tab to a page that is for scripts: what it was about to show before does not come.
    pub(crate) fn was_sent_elsewhere(&self, target: &str) {
        if let Some(target) = self.known().targets.get_mut(target) {
            target.tainted = None;
        }
    }

    /// Whether events were missed: a list of the targets must be asked for before one is judged.
    pub(crate) fn is_blind(&self) -> bool {
        self.known().blind.0.is_some()
    }

    /// Something was not told: the next list of all targets says what there is.
    pub(crate) fn missed(&self, before: u64) {
        self.known().blind.missed(before);
    }

    /// Whether a session is one that a script may name.
    pub(crate) fn is_known(&self, session: &str) -> bool {
        self.known().sessions.get(session).is_some_and(|session| !session.hosts)
    }

    /// Why a session was taken from the script, if it was.
    pub(crate) fn refusal(&self, session: &str, method: &str) -> Option<ErrorReport> {
        self.known().bans.why(session).map(|why| policy::has_left(method, why))
    }

    /// Whether a session's target stands still until that session tells it to go on.
    pub(crate) fn is_waiting(&self, session: &str) -> bool {
        self.known().sessions.get(session).is_some_and(|session| session.waiting)
    }

    /// The session's target was told to go on.
    pub(crate) fn goes_on(&self, session: &str) {
        if let Some(session) = self.known().sessions.get_mut(session) {
            session.waiting = false;
        }
    }

    /// Sessions attached to this target until the guard is dropped are the host's own: for one command, not for scripts.
    pub(crate) fn host_enters<'a>(&'a self, target: &'a str) -> Entered<'a> {
        self.known().entered.insert(target.to_owned());
        Entered { targets: self, target }
    }

    /// Sessions that are to be detached, and which targets went where: each is told once.
    pub(crate) fn take_evictions(&self) -> (Vec<Eviction>, Vec<Left>) {
        let bans = &mut self.known().bans;
        (std::mem::take(&mut bans.evictions), std::mem::take(&mut bans.left))
    }

    /// Whether a script may read an event: not one of a session that it may not use, nor what is told of the browser's
    /// own target.
    pub(crate) fn may_be_read(&self, event: &Event) -> bool {
        if !policy::stands() {
            return true;
        }
        let known = self.known();
        let of_session = event.session.as_ref().is_none_or(|session| match known.bans.why.get(session) {
            Some((_, from)) => event.seq < *from,
            None => match known.sessions.get(session) {
                Some(session) => !session.hosts,
                None => known.detached_sessions.contains(session),
            },
        });
        of_session
            && !names_what_is_refused(event)
            && event.params.pointer("/targetInfo/type").and_then(Json::as_str) != Some(super::BROWSER)
    }
}

/// Whether an event of a page tells of something that is not for scripts: it comes before that is there.
fn names_what_is_refused(event: &Event) -> bool {
    let is_of_loading = ["Fetch.", "Network.", "Page."].iter().any(|domain| event.method.starts_with(domain));
    let mut named = NAMED_AT.iter().filter_map(|place| event.params.pointer(place)?.as_str());
    is_of_loading
        && named.any(|url| matches!(policy::shown(url), Shown::Refused(scheme) if LOADED.contains(&scheme.as_str())))
}

impl Known {
    pub(super) fn standing(&self, id: &str) -> Standing {
        self.standing_within(id, OPENERS_MAX)
    }

    /// A frame or a worker is no better than what it is in; what is in too much to be followed is refused.
    fn standing_within(&self, id: &str, depth_left: usize) -> Standing {
        let Some(target) = self.targets.get(id) else { return Standing::Absent };
        if !policy::stands() {
            return Standing::Usable;
        }
        if !policy::is_kind_for_scripts(&target.kind) || depth_left == 0 {
            return Standing::Refused(Why::Kind);
        }
        if let Some(scheme) = &target.tainted {
            return Standing::Refused(Why::Scheme(scheme.clone()));
        }
        if let Some(around) = &target.within {
            match self.standing_within(around, depth_left - 1) {
                Standing::Usable => {}
                Standing::Absent => return Standing::NotKnownYet,
                refused => return refused,
            }
        }
        match policy::shown(&target.url) {
            Shown::NotYet => Standing::NotKnownYet,
            Shown::Refused(scheme) => Standing::Refused(Why::Scheme(scheme)),
            // Such a page has the origin of the one that opened it.
            Shown::ForScripts if target.url.starts_with("about:") => {
                let opener = target.opener.as_ref().map(|opener| self.standing_within(opener, depth_left - 1));
                opener.filter(|opener| matches!(opener, Standing::Refused(_))).unwrap_or(Standing::Usable)
            }
            Shown::ForScripts => Standing::Usable,
        }
    }

    /// Takes every session from the script whose target is not for scripts; `true` if there was one.
    ///
    /// A target that goes on elsewhere is for scripts again, but not those sessions: what was put into them has ended.
    pub(super) fn judge_sessions(&mut self, from: u64) -> bool {
        self.judge_sessions_but(None, from)
    }

    /// The same; one that has just been attached was refused from the beginning, which is nothing to be written down.
    pub(super) fn judge_sessions_but(&mut self, new: Option<&str>, from: u64) -> bool {
        let judged = self.sessions.iter().filter(|(id, session)| !session.hosts && self.bans.why(id).is_none());
        let refused = judged.filter_map(|(id, session)| match self.standing(&session.target) {
            Standing::Refused(why) => Some((id.clone(), session.through.clone(), session.target.clone(), why)),
            _ => None,
        });
        let refused: Vec<_> = refused.collect();
        let mut told = Vec::new();
        for (id, through, target, why) in &refused {
            if let (Why::Scheme(scheme), false) = (why, new == Some(id) || told.contains(&target)) {
                told.push(target);
                let kind = self.targets.get(target).map(|target| target.kind.clone()).unwrap_or_default();
                self.bans.left.push(Left { kind, scheme: scheme.clone() });
            }
            self.bans.add(id, why.clone(), from);
            self.bans.evictions.push(Eviction { session: id.clone(), through: through.clone() });
        }
        !refused.is_empty()
    }

    /// Takes in what a session's target is about to load. A page that loads something of the browser's own is taken from
    /// the script before it is there: `Fetch` would give it the bytes of a file, and what is sent may come too late.
    pub(super) fn loads(&mut self, event: &Event) -> bool {
        let session = event.session.as_ref().and_then(|session| self.sessions.get(session));
        let Some(target) = session.and_then(|session| self.targets.get_mut(&session.target)) else { return false };
        let params = &event.params;
        let (url, is_page) = match event.method.as_str() {
            "Fetch.requestPaused" => (&params["request"]["url"], params["resourceType"] == "Document"),
            _ => (&params["url"], params["frameId"] == target.id.as_str()),
        };
        match policy::shown(url.as_str().unwrap_or_default()) {
            // Others lead to a program of this machine, or nowhere: the page stays where it is.
            Shown::Refused(scheme) if is_page && LOADED.contains(&scheme.as_str()) => {
                target.tainted = Some(scheme);
                self.judge_sessions(event.seq)
            }
            _ => false,
        }
    }

    /// Takes in what a frame of a session's target shows.
    pub(super) fn frame_navigated(&mut self, event: &Event) -> bool {
        let session = event.session.as_ref().and_then(|session| self.sessions.get(session));
        let Some(target) = session.and_then(|session| self.targets.get_mut(&session.target)) else { return false };
        let frame = &event.params["frame"];
        let url = frame["url"].as_str().unwrap_or_default();
        let is_root = frame["id"] == target.id.as_str();
        let changed = match policy::shown(url) {
            Shown::Refused(scheme) => target.tainted.replace(scheme).is_none(),
            Shown::ForScripts if is_root => {
                let was_tainted = target.tainted.take().is_some();
                let is_news = target.url.is_empty();
                if is_news {
                    kept(url).clone_into(&mut target.url);
                }
                was_tainted || is_news
            }
            _ => false,
        };
        changed | self.judge_sessions(event.seq)
    }
}
