//! Decides which targets scripts may use, and revokes the sessions on targets that they may no longer use.

use super::{
    revoked::{Departure, Detachment},
    state::{OPENERS_MAX, State},
};
use crate::{
    policy::{self, RefusalReason, TargetAccess, UrlAccess},
    text::bounded,
};
use codemode_chromium::Event;

/// Schemes of pages that the browser itself loads and scripts may not use.
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
/// The places in events that contain the URL of a load.
const NAMED_AT: &[&str] = &["/request/url", "/response/url", "/frame/url", "/documentURL", "/url"];

/// Whether an event of a page is about loading a URL that is not for scripts. Such an event can precede the revocation
/// of the session.
pub(super) fn names_refused_url(event: &Event) -> bool {
    let is_of_loading = ["Fetch.", "Network.", "Page."].iter().any(|domain| event.method.starts_with(domain));
    let mut named = NAMED_AT.iter().filter_map(|place| event.params.pointer(place)?.as_str());
    is_of_loading
        && named.any(
            |url| matches!(policy::url_access(url), UrlAccess::Refused(scheme) if LOADED.contains(&scheme.as_str())),
        )
}

impl State {
    pub(super) fn access(&self, id: &str) -> TargetAccess {
        self.access_within(id, OPENERS_MAX)
    }

    /// A frame or a worker is refused if the page around it is. Nesting too deep to follow is refused.
    fn access_within(&self, id: &str, depth_left: usize) -> TargetAccess {
        let Some(target) = self.targets.get(id) else { return TargetAccess::Absent };
        if !policy::is_enforced() {
            return TargetAccess::Usable;
        }
        if !policy::is_kind_for_scripts(&target.kind) || depth_left == 0 {
            return TargetAccess::Refused(RefusalReason::Kind);
        }
        if let Some(scheme) = &target.tainted {
            return TargetAccess::Refused(RefusalReason::Scheme(scheme.clone()));
        }
        if let Some(around) = &target.within {
            match self.access_within(around, depth_left - 1) {
                TargetAccess::Usable => {}
                TargetAccess::Absent => return TargetAccess::NotKnownYet,
                refused => return refused,
            }
        }
        match policy::url_access(&target.url) {
            UrlAccess::NotYet => TargetAccess::NotKnownYet,
            UrlAccess::Refused(scheme) => TargetAccess::Refused(RefusalReason::Scheme(scheme)),
            // An about: page has the origin of its opener.
            UrlAccess::ForScripts if target.url.starts_with("about:") => {
                let opener = target.opener.as_ref().map(|opener| self.access_within(opener, depth_left - 1));
                opener.filter(|opener| matches!(opener, TargetAccess::Refused(_))).unwrap_or(TargetAccess::Usable)
            }
            UrlAccess::ForScripts => TargetAccess::Usable,
        }
    }

    /// Revokes every session of scripts whose target is not for scripts; `true` if there was one.
    ///
    /// A target that then navigates elsewhere is for scripts again, but its revoked sessions stay revoked: their state,
    /// such as bindings and interceptors, ended with them.
    pub(super) fn revoke_refused_sessions(&mut self, from: u64) -> bool {
        self.revoke_refused_sessions_except(None, from)
    }

    /// The same, but not recording a departure for the session `new`: it has just been attached and was refused from
    /// the start, which does not belong in the audit.
    pub(super) fn revoke_refused_sessions_except(&mut self, new: Option<&str>, from: u64) -> bool {
        let judged = self.sessions.iter().filter(|(id, session)| !session.of_host && self.revoked.why(id).is_none());
        let refused = judged.filter_map(|(id, session)| match self.access(&session.target) {
            TargetAccess::Refused(why) => Some((id.clone(), session.through.clone(), session.target.clone(), why)),
            _ => None,
        });
        let refused: Vec<_> = refused.collect();
        let mut reported = Vec::new();
        for (id, through, target, why) in &refused {
            if let (RefusalReason::Scheme(scheme), false) = (why, new == Some(id) || reported.contains(&target)) {
                reported.push(target);
                let kind = self.targets.get(target).map(|target| target.kind.clone()).unwrap_or_default();
                self.revoked.departures.push(Departure { kind, scheme: scheme.clone() });
            }
            self.revoked.add(id, why.clone(), from);
            self.revoked.detachments.push(Detachment { session: id.clone(), through: through.clone() });
        }
        !refused.is_empty()
    }

    /// Applies an event about a load that a session's target is starting. If it loads a page of the browser's own, its
    /// sessions are revoked before the page is there: `Fetch` would otherwise reveal the bytes of a file, and detaching
    /// afterwards may be too late.
    pub(super) fn loads(&mut self, event: &Event) -> bool {
        let session = event.session.as_ref().and_then(|session| self.sessions.get(session));
        let Some(target) = session.and_then(|session| self.targets.get_mut(&session.target)) else { return false };
        let params = &event.params;
        let (url, is_page) = match event.method.as_str() {
            "Fetch.requestPaused" => (&params["request"]["url"], params["resourceType"] == "Document"),
            _ => (&params["url"], params["frameId"] == target.id.as_str()),
        };
        match policy::url_access(url.as_str().unwrap_or_default()) {
            // Other schemes open a program of this machine, or fail: the page stays where it is.
            UrlAccess::Refused(scheme) if is_page && LOADED.contains(&scheme.as_str()) => {
                target.tainted = Some(scheme);
                self.revoke_refused_sessions(event.seq)
            }
            _ => false,
        }
    }

    /// Applies an event about the URL that a frame of a session's target now shows.
    pub(super) fn frame_navigated(&mut self, event: &Event) -> bool {
        let session = event.session.as_ref().and_then(|session| self.sessions.get(session));
        let Some(target) = session.and_then(|session| self.targets.get_mut(&session.target)) else { return false };
        let frame = &event.params["frame"];
        let url = frame["url"].as_str().unwrap_or_default();
        let is_root = frame["id"] == target.id.as_str();
        let changed = match policy::url_access(url) {
            UrlAccess::Refused(scheme) => target.tainted.replace(scheme).is_none(),
            UrlAccess::ForScripts if is_root => {
                let was_tainted = target.tainted.take().is_some();
                let is_first_url = target.url.is_empty();
                if is_first_url {
                    bounded(url).clone_into(&mut target.url);
                }
                was_tainted || is_first_url
            }
            _ => false,
        };
        changed | self.revoke_refused_sessions(event.seq)
    }
}
