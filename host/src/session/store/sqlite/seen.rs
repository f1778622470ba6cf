//! Leases that were seen to hold, so that a look before an effect costs no transaction.
//!
//! Only a change of the store gives a lease to another holder, ends its session or takes it back. A lease that was seen to
//! hold holds for as long as the store's version stays the same and its time has not come.

use crate::session::store::LeaseRef;
use std::collections::HashMap;

/// What one version of the store says.
#[derive(Debug, Default)]
pub(super) struct Seen {
    version: i64,
    /// Until when each lease holds in which session, in milliseconds since the boot. No more than hold at one version.
    leases: HashMap<LeaseRef, (String, i64)>,
}

impl Seen {
    /// Whether the lease of this session was seen to hold at this version of the store, and still does at this time.
    pub(super) fn holds(&self, version: i64, lease: &LeaseRef, session: &str, steady: i64) -> bool {
        self.version == version
            && self.leases.get(lease).is_some_and(|(seen, until)| seen == session && steady < *until)
    }

    /// Notes a lease that was seen to hold after this version had been read.
    pub(super) fn note(&mut self, version: i64, lease: &LeaseRef, session: &str, until: i64) {
        if self.version != version {
            self.version = version;
            self.leases.clear();
        }
        self.leases.insert(lease.clone(), (session.to_owned(), until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::store::LeaseName;

    #[test]
    fn a_lease_is_believed_at_its_version_in_its_session_and_in_its_time_only() {
        let lease = |token| LeaseRef { name: LeaseName::of_key("shop"), token };
        let mut seen = Seen::default();
        assert!(!seen.holds(0, &lease(1), "s-1", 0));
        seen.note(4, &lease(1), "s-1", 100);
        let rows = [
            (4, 1, "s-1", 99, true),
            (4, 1, "s-1", 100, false),
            (5, 1, "s-1", 99, false),
            (3, 1, "s-1", 99, false),
            (4, 2, "s-1", 99, false),
            (4, 1, "s-2", 99, false),
        ];
        for (version, token, session, now, expected) in rows {
            assert_eq!(seen.holds(version, &lease(token), session, now), expected, "{version} {token} {session} {now}");
        }
        seen.note(5, &lease(2), "s-2", 100);
        assert!(!seen.holds(4, &lease(1), "s-1", 99) && !seen.holds(5, &lease(1), "s-1", 99));
        assert!(seen.holds(5, &lease(2), "s-2", 99));
    }
}
