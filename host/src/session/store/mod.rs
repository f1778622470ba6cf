//! The records of sessions and leases, and the audit, for all hosts of a state folder.
//!
//! Callers have three narrow traits: [`LeaseStore`], [`SessionStore`] and [`AuditStore`]; [`Store`] is all of them. Every
//! method is one transaction: what it changes and the audit rows that say so become durable together or not at all.
//!
//! A database need not implement them. It implements [`Database`], which runs transactions, and [`Tables`], which reads and
//! writes rows: the operations on these are written once, and decide by the [rules](super::rules). SQLite is the one
//! database of this crate.

pub mod audit;
mod database;
mod error;
mod operations;
mod seen;
mod sqlite;
mod tables;

pub use super::rules::{
    BrowserFacts, Claim, Claimed, EndReason, Forgotten, Holder, LeaseName, LeaseRef, LeaseRow, Loss, NewSession,
    Retention, SessionRow, SessionState, Stale, Watch,
};
pub use database::{Access, Database, Finish, Work};
pub use error::StoreError;
pub use seen::{Glance, Seen};
pub use sqlite::{SqliteConnection, SqliteStore};
pub use tables::Tables;

use async_trait::async_trait;
use audit::{AuditFilter, AuditHead, AuditRow, Batch, Event, KnownRow, Verdict};
use std::time::Duration;

/// All of the store.
pub trait Store: LeaseStore + SessionStore + AuditStore {}

impl<S: LeaseStore + SessionStore + AuditStore + ?Sized> Store for S {}

/// Keeps leases, and the queues for them.
///
/// Invariants: at most one live lease for each name; the token of a name only grows; each change is in the audit.
///
/// # Cancellation
/// If a future is dropped, its transaction is carried out as a whole or not at all. The same holds for the other traits.
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Takes a lease if it is free and no other execution has waited longer; otherwise takes or keeps a place in the
    /// queue. A lease that expired or whose host is dead is free.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_acquire(&self, claim: &Claim) -> Result<Claimed, StoreError>;

    /// As [`Self::lease_acquire`], for a claim that does not wait: if it is refused, it has no place in the queue.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_take(&self, claim: &Claim) -> Result<Result<LeaseRef, Holder>, StoreError>;

    /// Takes a lease at once, away from its holder and before all waiters: for an operator. Gives the last holder.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_seize(&self, claim: &Claim) -> Result<(LeaseRef, Option<Holder>), StoreError>;

    /// Takes an execution out of the queue of a lease.
    ///
    /// # Errors
    /// When the store fails.
    async fn lease_give_up(&self, name: &LeaseName, execution: &str) -> Result<(), StoreError>;

    /// Extends a lease that is held.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the lease was lost.
    async fn lease_renew(&self, lease: &LeaseRef, ttl_ms: u64) -> Result<(), StoreError>;

    /// Checks that a lease is held and its session lives.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the lease was lost.
    async fn lease_check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError>;

    /// Releases a lease; if its session is shared, the session is idle from now on.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the lease was lost; nothing is changed then.
    async fn lease_release(&self, lease: &LeaseRef) -> Result<(), StoreError>;

    /// Takes a lease away from its holder.
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

/// Keeps sessions.
///
/// Invariants: at most one session that has not ended for each key; each change is in the audit.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Makes a session, under a lease.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`], [`StoreError::TooManySessions`].
    async fn session_begin(&self, session: &NewSession) -> Result<LeaseRef, StoreError>;

    /// Notes that the browser of a session runs. `false` if the session is to end meanwhile.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_started(&self, id: &str, browser: &BrowserFacts) -> Result<bool, StoreError>;

    /// Notes that an execution uses a session that was there before, and what its browser may reach from now on.
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

    /// Notes, as its keeper, what the browser of a session may reach now.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_network_held(&self, id: &str, network: Option<&str>) -> Result<(), StoreError>;

    /// The session of a key that has not ended.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// The last session of a key that has ended, if it is remembered. Sessions whose browser never started do not count.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_ended_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// A session, ended or not.
    ///
    /// # Errors
    /// When the store fails.
    async fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError>;

    /// All sessions, those that have not ended first.
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

    /// Notes that a session's browser is to end. `false` if the session has ended already.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the browser is to end `under` a lease that was lost.
    async fn session_closing(&self, id: &str, reason: EndReason, under: Option<&LeaseRef>) -> Result<bool, StoreError>;

    /// Notes that nothing of a session's browser is left.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_ended(&self, id: &str, reason: EndReason) -> Result<(), StoreError>;

    /// Notes that an operator had the profile and the cookies of an ended session's key removed.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_disowned(&self, id: &str) -> Result<(), StoreError>;

    /// Decides, for its keeper, whether a session's browser may live on; if not, the session is closing from now on.
    ///
    /// # Errors
    /// When the store fails.
    async fn session_watch(&self, id: &str) -> Result<Watch, StoreError>;

    /// Ended sessions that need not be remembered any longer.
    ///
    /// # Errors
    /// When the store fails.
    async fn stale(&self, retention: &Retention) -> Result<Vec<Stale>, StoreError>;

    /// Notes the leases that were lost, forgets these ended sessions, and removes waiters, leases and audit rows that
    /// need not be kept.
    ///
    /// # Errors
    /// When the store fails.
    async fn forget(&self, sessions: &[String], retention: &Retention) -> Result<Forgotten, StoreError>;
}

/// Keeps the audit: an append-only chain of rows.
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

    /// What the audit ends with, and what retention has removed of it.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_head(&self) -> Result<AuditHead, StoreError>;

    /// Checks the chain of the audit, and that `known`, a row that was seen before, is still part of the chain.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, StoreError>;

    /// Adds a batch of events without waiting for it, in one transaction: after this delay at the latest, and before
    /// all writes that the store is asked for later.
    fn audit_enqueue(&self, batch: Box<dyn Batch>, delay: Duration);

    /// Waits until every batch that was enqueued before is written, or has failed.
    ///
    /// # Errors
    /// When the store fails.
    async fn audit_flush(&self) -> Result<(), StoreError>;
}
