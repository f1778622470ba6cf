//! Leases that were seen to hold, so that a check before an effect costs no transaction.
//!
//! Only a change of the store gives a lease to another holder, ends its session or takes it back. A lease that was seen to
//! hold holds for as long as the store's version stays the same and its time has not come.

use crate::session::rules::LeaseRef;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The leases that were seen to hold at one version of the store.
#[derive(Debug, Default)]
pub struct Seen {
    leases: Mutex<Leases>,
}

#[derive(Debug, Default)]
struct Leases {
    version: i64,
    /// For each lease, the session in which it is used, and until when the lease holds, in milliseconds since the boot.
    /// Only the leases of one version.
    held: HashMap<LeaseRef, (String, i64)>,
}

/// What a database can tell without a transaction: its version, which changes with each change of another connection, and
/// the time since the boot in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Glance<'a> {
    /// The version.
    pub version: i64,
    /// The time.
    pub steady_ms: i64,
    /// What was seen of leases.
    pub seen: &'a Seen,
}

impl Glance<'_> {
    /// Whether a lease was seen to hold for this session, and still does.
    pub(super) fn holds(&self, lease: &LeaseRef, session: &str) -> bool {
        let leases = self.seen.leases();
        let held = leases.held.get(lease);
        leases.version == self.version && held.is_some_and(|(used, until)| used == session && self.steady_ms < *until)
    }

    /// Notes a lease that was found to hold after this glance: a change in between makes that an older version's, and no
    /// more.
    pub(super) fn note(&self, lease: &LeaseRef, session: &str, until_ms: i64) {
        let mut leases = self.seen.leases();
        if leases.version != self.version {
            leases.version = self.version;
            leases.held.clear();
        }
        leases.held.insert(lease.clone(), (session.to_owned(), until_ms));
    }
}

impl Seen {
    fn leases(&self) -> MutexGuard<'_, Leases> {
        // No code panics while it holds this lock.
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::rules::LeaseName;

    #[test]
    fn a_lease_is_believed_at_its_version_in_its_session_and_in_its_time_only() {
        let lease = |token| LeaseRef { name: LeaseName::of_key("shop"), token };
        let seen = Seen::default();
        let glance = |version, steady_ms| Glance { version, steady_ms, seen: &seen };
        assert!(!glance(0, 0).holds(&lease(1), "s-1"));
        glance(4, 0).note(&lease(1), "s-1", 100);
        let rows = [
            (4, 1, "s-1", 99, true),
            (4, 1, "s-1", 100, false),
            (5, 1, "s-1", 99, false),
            (3, 1, "s-1", 99, false),
            (4, 2, "s-1", 99, false),
            (4, 1, "s-2", 99, false),
        ];
        for (version, token, session, now, expected) in rows {
            let holds = glance(version, now).holds(&lease(token), session);
            assert_eq!(holds, expected, "{version} {token} {session} {now}");
        }
        glance(5, 0).note(&lease(2), "s-2", 100);
        assert!(!glance(4, 99).holds(&lease(1), "s-1") && !glance(5, 99).holds(&lease(1), "s-1"));
        assert!(glance(5, 99).holds(&lease(2), "s-2"));
    }
}
