//! Which targets are for scripts, and what becomes of sessions on one that is not any more.

use super::{
    known::{Known, OPENERS_MAX},
    revoked::{Departure, Detachment},
};
use crate::{
    policy::{self, Shown, Standing, Why},
    text::kept,
};
use codemode_chromium::Event;

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

/// Whether an event of a page tells of something that is not for scripts: it comes before that is there.
pub(super) fn names_what_is_refused(event: &Event) -> bool {
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
        let judged = self.sessions.iter().filter(|(id, session)| !session.of_host && self.revoked.why(id).is_none());
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
                self.revoked.departures.push(Departure { kind, scheme: scheme.clone() });
            }
            self.revoked.add(id, why.clone(), from);
            self.revoked.detachments.push(Detachment { session: id.clone(), through: through.clone() });
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
