//! The store: persists sessions, leases and the audit for all host processes of a state folder.
//!
//! Callers use three narrow traits: [`LeaseStore`], [`SessionStore`] and [`AuditStore`]; [`Store`] combines them. Every
//! method is one transaction: its changes and their audit rows become durable together or not at all.
//!
//! A database does not implement these traits. It implements [`Database`], which runs transactions, and [`Tables`],
//! which reads and writes rows. The operations on top are written once, and decide by the [rules](super::rules). SQLite
//! is the only database of this crate.

pub mod audit;
mod database;
mod error;
mod lease_cache;
mod operations;
mod sqlite;
mod tables;

pub use super::rules::{
    BrowserFacts, Claim, Claimed, EndReason, Forgotten, Holder, LeaseName, LeaseRef, LeaseRow, Loss, NewSession,
    Retention, SessionRow, SessionState, Stale, Watch,
};
pub use database::{Access, Database, Finish, Work};
pub use error::StoreError;
pub use lease_cache::{CachedLeases, LeaseCache};
pub use sqlite::{SqliteConnection, SqliteStore};
pub use tables::Tables;

use async_trait::async_trait;
use audit::{AuditFilter, AuditHead, AuditRow, Batch, Event, KnownRow, Verdict};
use std::time::Duration;

/// All operations of the store.
pub trait Store: LeaseStore + SessionStore + AuditStore {}

impl<S: LeaseStore + SessionStore + AuditStore + ?Sized> Store for S {}

/// Stores leases and their queues.
///
/// Invariants: at most one live lease for each name; the token of a name only grows; each change is in the audit.
///
/// # Cancellation
/// If a future is dropped, its transaction is executed as a whole or not at all. The same holds for the other traits.
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Acquires a lease if it is free and no other execution has waited longer; otherwise enters the queue or keeps its
    /// place there. A lease that expired or whose host is dead is free.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_acquire(&self, claim: &Claim) -> Result<Claimed, StoreError>;

    /// As [`Self::lease_acquire`], for a claim that does not wait: if it is refused, it does not enter the queue.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_take(&self, claim: &Claim) -> Result<Result<LeaseRef, Holder>, StoreError>;

    /// Takes a lease immediately, from its holder and ahead of all waiters, for an operator. Returns the last holder.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_seize(&self, claim: &Claim) -> Result<(LeaseRef, Option<Holder>), StoreError>;

    /// Removes an execution from the queue of a lease.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_give_up(&self, name: &LeaseName, execution: &str) -> Result<(), StoreError>;

    /// Extends a lease that is held.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the lease was lost.
    async fn lease_renew(&self, lease: &LeaseRef, ttl_ms: u64) -> Result<(), StoreError>;

    /// Checks that a lease is held and its session has not ended.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the lease was lost.
    async fn lease_check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError>;

    /// Releases a lease; if its session is shared, the session is idle from now on.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the lease was lost; then nothing is changed.
    async fn lease_release(&self, lease: &LeaseRef) -> Result<(), StoreError>;

    /// Revokes a lease. Returns its holder.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_revoke(&self, name: &LeaseName) -> Result<Option<Holder>, StoreError>;

    /// The leases that are held.
    ///
    /// # Errors
    /// When the store fails.
    async fn leases(&self) -> Result<Vec<LeaseRow>, StoreError>;
}

/// Stores sessions.
///
/// Invariants: at most one session that has not ended for each key; each change is in the audit.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Creates a session under a lease.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`], [`StoreError::TooManySessions`].
    async fn session_begin(&self, session: &NewSession) -> Result<LeaseRef, StoreError>;

    /// Records that the browser of a session has started. `false` if the session is closing or has ended.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_started(&self, id: &str, browser: &BrowserFacts) -> Result<bool, StoreError>;

    /// Records that an execution attaches to an existing session, and the network rules that its browser now requires.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_attached(
        &self,
        id: &str,
        lease: &LeaseRef,
        execution: &str,
        ttl_ms: u64,
        network: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Records the network rules that the keeper of a session now enforces.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_network_held(&self, id: &str, network: Option<&str>) -> Result<(), StoreError>;

    /// The session of a key that has not ended.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// The last ended session of a key, if it has a record. Sessions whose browser never started do not count.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_ended_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// A session, ended or not.
    ///
    /// # Errors
    /// When the store fails.
    async fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError>;

    /// All sessions: first those that have not ended, in the order of their creation; then the others, in the order of
    /// their end.
    ///
    /// # Errors
    /// When the store fails.
    async fn sessions(&self) -> Result<Vec<SessionRow>, StoreError>;

    /// Makes a session that is held by `lease` the shared session of the key that is held by `of_key`, and frees
    /// `lease`. All sessions of the key must have ended, and its profile and cookies must have been removed.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when one of the leases was lost, or the session ended.
    async fn session_promote(&self, id: &str, lease: &LeaseRef, of_key: &LeaseRef) -> Result<(), StoreError>;

    /// Marks a session as closing: its browser has to end. `false` if the session has ended already.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the lease `under` which the session is closed was lost.
    async fn session_closing(&self, id: &str, reason: EndReason, under: Option<&LeaseRef>) -> Result<bool, StoreError>;

    /// Marks a session as ended: its browser and all its processes have exited.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_ended(&self, id: &str, reason: EndReason) -> Result<(), StoreError>;

    /// Records that an operator removes the profile and the cookies of an ended session's key.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_data_removed(&self, id: &str) -> Result<(), StoreError>;

    /// Decides, for its keeper, whether a session's browser may keep running; if not, marks the session as closing.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_watch(&self, id: &str) -> Result<Watch, StoreError>;

    /// Ended sessions whose records can be removed.
    ///
    /// # Errors
    /// When the store fails.
    async fn stale(&self, retention: &Retention) -> Result<Vec<Stale>, StoreError>;

    /// Records the losses of leases, and removes these ended sessions and all waiters, leases and audit rows that
    /// retention no longer covers.
    ///
    /// # Errors
    /// When the store fails.
    async fn forget(&self, sessions: &[String], retention: &Retention) -> Result<Forgotten, StoreError>;
}

/// Stores the audit: an append-only hash chain of rows.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Adds events to the audit.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_append(&self, events: &[Event]) -> Result<(), StoreError>;

    /// Reads the audit, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_read(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError>;

    /// The last row of the audit, and the last row that retention has removed.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_head(&self) -> Result<AuditHead, StoreError>;

    /// Verifies the hash chain of the audit, and that `known`, a row that an operator noted earlier, is still part of
    /// it.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, StoreError>;

    /// Enqueues a batch of events to be added in one transaction: after this delay at the latest, and before all writes
    /// that are requested later.
    fn audit_enqueue(&self, batch: Box<dyn Batch>, delay: Duration);

    /// Waits until every batch that was enqueued before has been written or has failed.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_flush(&self) -> Result<(), StoreError>;
}
