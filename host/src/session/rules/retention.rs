//! Retention: which sessions, leases, logins and audit rows are removed, and when.

use super::{
    Moment,
    lease::{LeaseName, LeaseRecord},
    queue::Waiter,
    session::{EndReason, SessionRecord, SessionState},
};
use codemode_spec::limits::{AUDIT_ROWS_MAX, AUDIT_ROWS_PARTS, LOGINS_KEPT_MS, SESSION_ABANDONED_MS};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// How long ended sessions, unused logins and audit rows are retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Ended sessions, in milliseconds: for so long a late execution learns why its browser ended.
    pub sessions_ms: u64,
    /// The profile and the cookies of a key that no execution uses, in milliseconds.
    pub logins_ms: u64,
    /// The number of audit rows.
    pub audit_rows: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { sessions_ms: SESSION_ABANDONED_MS, logins_ms: LOGINS_KEPT_MS, audit_rows: AUDIT_ROWS_MAX }
    }
}

/// An ended session whose record can be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The session.
    pub id: String,
    /// The key, if no other session of the key has a record: its profile and its cookies have to be removed first.
    pub last_of: Option<String>,
}

/// The records that a sweep removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Forgotten {
    /// Sessions whose tombstone was removed.
    pub sessions: usize,
    /// Keys whose profile and cookies were removed.
    pub keys: Vec<String>,
    /// Audit rows that were replaced by a checkpoint.
    pub audit_rows: usize,
}

/// The ended sessions whose records can be removed, given the rows of all sessions.
#[must_use]
pub fn stale(sessions: &[SessionRecord], retention: &Retention, now: &Moment) -> Vec<Stale> {
    let mut of_keys: HashMap<&str, Vec<&SessionRecord>> = HashMap::new();
    for session in sessions {
        if let Some(key) = &session.row.key {
            of_keys.entry(key).or_default().push(session);
        }
    }
    let ended = sessions.iter().filter(|session| session.row.state == SessionState::Ended);
    let stale = ended.filter_map(|session| {
        let of_key = session.row.key.as_deref().map(|key| (key, &of_keys[key]));
        let last_of = of_key.filter(|(_, others)| !others.iter().any(|other| follows(other, session)));
        let kept_ms = if last_of.is_some() { retention.logins_ms } else { retention.sessions_ms };
        let is_old = age_ms(session, now) > i64::try_from(kept_ms).unwrap_or(i64::MAX);
        is_old.then(|| Stale { id: session.row.id.clone(), last_of: last_of.map(|(key, _)| key.to_owned()) })
    });
    stale.collect()
}

/// Whether the profile of a key belongs to `other` rather than to `session`. A session that is being started has no
/// logins yet, and may never have any.
fn follows(other: &SessionRecord, session: &SessionRecord) -> bool {
    let has_run =
        other.row.state == SessionState::Live || other.row.reason.is_some_and(|reason| reason != EndReason::NotStarted);
    let is_later = other.row.state != SessionState::Ended
        || other.ended_after.zip(session.ended_after).is_some_and(|(other, this)| other > this);
    other.row.id != session.row.id && has_run && is_later
}

/// The time since the end of a session. The wall clock, which can be set at any time, is used only for sessions of
/// earlier boots.
fn age_ms(session: &SessionRecord, now: &Moment) -> i64 {
    if session.row.boot == now.boot {
        now.steady_ms - session.idle_steady_ms
    } else {
        now.wall_ms - session.row.ended_ms.unwrap_or(now.wall_ms)
    }
}

/// Whether a sweep removes the row of a waiter. If the waiter's host died, the row stays until it expires or until
/// another execution claims the lease.
#[must_use]
pub fn is_forgotten_waiter(waiter: &Waiter, now: &Moment) -> bool {
    waiter.boot != now.boot || waiter.until_steady_ms < now.steady_ms
}

/// Whether the row of a lease is removed: no execution holds it or waits for it, and no session of its key has a
/// record. The token floor rises to the largest token of a removed row.
#[must_use]
pub fn is_unused_lease(
    name: &LeaseName,
    lease: &LeaseRecord,
    is_known_key: impl FnOnce(&str) -> bool,
    is_waited_for: impl FnOnce(&LeaseName) -> bool,
) -> bool {
    lease.execution.is_none() && !name.key().is_some_and(is_known_key) && !is_waited_for(name)
}

/// The last row of the audit to remove, if there are more rows than `rows_max`. Removes more rows than necessary, so
/// that the next cut is not due soon: each cut costs a checkpoint.
#[must_use]
pub const fn audit_cut(last: u64, removed: u64, rows_max: u64) -> Option<u64> {
    if last - removed <= rows_max { None } else { Some(last - (rows_max - rows_max / AUDIT_ROWS_PARTS)) }
}
