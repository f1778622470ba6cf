//! Revoked sessions, and the pending work on them: detaching them and recording why.

use crate::policy::RefusalReason;
use std::collections::{HashMap, VecDeque};

/// The number of revoked sessions that are remembered.
const REVOKED_REMEMBERED_MAX: usize = 1_000;

/// A session to detach, and the session through which it was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Detachment {
    pub(crate) session: String,
    pub(crate) through: Option<String>,
}

/// A target with sessions of a script navigated to a scheme that is not for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) kind: String,
    pub(crate) scheme: String,
}

/// Sessions that scripts may no longer use, with the reason and the first event that scripts may not read.
#[derive(Default)]
pub(super) struct RevokedSessions {
    pub(super) why: HashMap<String, (RefusalReason, u64)>,
    order: VecDeque<String>,
    pub(super) detachments: Vec<Detachment>,
    pub(super) departures: Vec<Departure>,
}

impl RevokedSessions {
    pub(super) fn why(&self, session: &str) -> Option<&RefusalReason> {
        self.why.get(session).map(|(why, _)| why)
    }

    pub(super) fn add(&mut self, session: &str, why: RefusalReason, from: u64) {
        if self.why.insert(session.to_owned(), (why, from)).is_none() {
            self.order.push_back(session.to_owned());
        }
        // The oldest was detached long ago: Chromium does not know it any more.
        if self.order.len() > REVOKED_REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.why.remove(&oldest);
        }
    }
}

/// Whether events were dropped from the buffer before they were read, so that the state of targets may be stale.
#[derive(Default)]
pub(super) struct EventGap(Option<u64>);

impl EventGap {
    pub(super) const fn is_open(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn missed(&mut self, before: u64) {
        self.0 = Some(before);
    }

    /// Closes the gap if the list of all targets was requested after the missed events; `true` if there was a gap to
    /// close.
    pub(super) fn closed_by_list(&mut self, asked_at: u64) -> bool {
        self.0.take_if(|missed| asked_at >= *missed).is_some()
    }
}
