//! Sessions that were taken from the script, and what is to be done about them.

use crate::policy::Why;
use std::collections::{HashMap, VecDeque};

/// Revoked sessions that are remembered.
const REVOKED_REMEMBERED_MAX: usize = 1_000;

/// A session that is to be detached, and the one through which it was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Detachment {
    pub(crate) session: String,
    pub(crate) through: Option<String>,
}

/// A target that a script was attached to went to a scheme that is not for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) kind: String,
    pub(crate) scheme: String,
}

/// Sessions that scripts may not use any more, and what is to be done about them.
#[derive(Default)]
pub(super) struct RevokedSessions {
    pub(super) why: HashMap<String, (Why, u64)>,
    order: VecDeque<String>,
    pub(super) detachments: Vec<Detachment>,
    pub(super) departures: Vec<Departure>,
}

impl RevokedSessions {
    pub(super) fn why(&self, session: &str) -> Option<&Why> {
        self.why.get(session).map(|(why, _)| why)
    }

    pub(super) fn add(&mut self, session: &str, why: Why, from: u64) {
        if self.why.insert(session.to_owned(), (why, from)).is_none() {
            self.order.push_back(session.to_owned());
        }
        // The oldest has long been detached: Chromium does not know it any more.
        if self.order.len() > REVOKED_REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.why.remove(&oldest);
        }
    }
}

/// Whether events were pushed out before they were read: what targets show may not be what was told last.
#[derive(Default)]
pub(super) struct EventGap(Option<u64>);

impl EventGap {
    pub(super) const fn is_open(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn missed(&mut self, before: u64) {
        self.0 = Some(before);
    }

    /// A list of all targets has come that was asked for at this event; whether it was needed.
    pub(super) fn closed_by_list(&mut self, asked_at: u64) -> bool {
        self.0.take_if(|missed| asked_at >= *missed).is_some()
    }
}
