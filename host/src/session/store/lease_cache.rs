//! A cache of lease checks, so that most checks before an effect need no transaction.
//!
//! A lease is granted to another holder, revoked or released, and its session ends, only by a write to the store. So a
//! lease that was found to be held stays held until the store's version changes or the lease expires.

use crate::session::rules::LeaseRef;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The leases that were found to be held at one version of the store.
#[derive(Debug, Default)]
pub struct LeaseCache {
    leases: Mutex<Leases>,
}

#[derive(Debug, Default)]
struct Leases {
    version: i64,
    /// For each lease, the session for which it was checked, and its expiry in milliseconds since the boot. All entries
    /// belong to `version`.
    held: HashMap<LeaseRef, (String, i64)>,
}

/// The lease cache together with the store's version and the time, both read without a transaction. The version changes
/// with each write by another connection.
#[derive(Clone, Copy, Debug)]
pub struct CachedLeases<'a> {
    /// The current version of the store.
    pub version: i64,
    /// The time since the boot, in milliseconds.
    pub steady_ms: i64,
    /// The cached checks.
    pub cache: &'a LeaseCache,
}

impl CachedLeases<'_> {
    /// Whether a lease was found to be held for this session, and still is.
    pub(super) fn holds(&self, lease: &LeaseRef, session: &str) -> bool {
        let leases = self.cache.leases();
        let held = leases.held.get(lease);
        leases.version == self.version && held.is_some_and(|(used, until)| used == session && self.steady_ms < *until)
    }

    /// Adds a lease that was found to be held after `self.version` was read. If the store changed in between, the entry
    /// is stale at once, since it belongs to the older version.
    pub(super) fn insert(&self, lease: &LeaseRef, session: &str, until_ms: i64) {
        let mut leases = self.cache.leases();
        if leases.version != self.version {
            leases.version = self.version;
            leases.held.clear();
        }
        leases.held.insert(lease.clone(), (session.to_owned(), until_ms));
    }
}

impl LeaseCache {
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
        let cache = LeaseCache::default();
        let cached = |version, steady_ms| CachedLeases { version, steady_ms, cache: &cache };
        assert!(!cached(0, 0).holds(&lease(1), "s-1"));
        cached(4, 0).insert(&lease(1), "s-1", 100);
        let rows = [
            (4, 1, "s-1", 99, true),
            (4, 1, "s-1", 100, false),
            (5, 1, "s-1", 99, false),
            (3, 1, "s-1", 99, false),
            (4, 2, "s-1", 99, false),
            (4, 1, "s-2", 99, false),
        ];
        for (version, token, session, now, expected) in rows {
            let holds = cached(version, now).holds(&lease(token), session);
            assert_eq!(holds, expected, "{version} {token} {session} {now}");
        }
        cached(5, 0).insert(&lease(2), "s-2", 100);
        assert!(!cached(4, 99).holds(&lease(1), "s-1") && !cached(5, 99).holds(&lease(1), "s-1"));
        assert!(cached(5, 99).holds(&lease(2), "s-2"));
    }
}
