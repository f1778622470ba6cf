//! What is kept of sessions and leases, and what may happen to it.
//!
//! [`SessionStore`] is all that a database must be able to do; [`SqliteStore`] does it. Every method is one transaction:
//! what it changes and the audit rows that say so become durable together or not at all. Methods block; [`StoreHandle`]
//! runs them on a thread of their own.

pub mod audit;
mod error;
mod handle;
mod operations;
mod sqlite;
mod tables;

pub use error::StoreError;
pub use handle::StoreHandle;
pub use sqlite::SqliteStore;

use audit::{AuditFilter, AuditRow, Event, KnownRow, Verdict};

pub use super::rules::{
    BrowserFacts, Claim, Claimed, EndReason, Forgotten, Holder, LeaseName, LeaseRef, LeaseRow, Loss, NewSession,
    Retention, SessionRow, SessionState, Stale, Watch,
};

/// Keeps sessions, leases and the audit.
///
/// Invariants: at most one live lease for each name; the token of a name only grows; at most one session that has not
/// ended for each key; each change is in the audit.
pub trait SessionStore: Send + Sync {
    /// Takes a lease if it is free and nobody has waited longer; otherwise takes or keeps a place in the queue. A lease
    /// that expired or whose host is dead is free.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_acquire(&self, claim: &Claim) -> Result<Claimed, StoreError>;

    /// The same for one that does not wait: whoever is refused has no place in the queue.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_take(&self, claim: &Claim) -> Result<Result<LeaseRef, Holder>, StoreError>;

    /// Takes a lease at once, away from whoever holds it and before all who wait: for an operator. Gives who had it.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_seize(&self, claim: &Claim) -> Result<(LeaseRef, Option<Holder>), StoreError>;

    /// Leaves the queue.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_give_up(&self, name: &LeaseName, execution: &str) -> Result<(), StoreError>;

    /// Extends a lease that is held.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it was lost.
    fn lease_renew(&self, lease: &LeaseRef, ttl_ms: u64) -> Result<(), StoreError>;

    /// Looks whether a lease is held, and its session lives.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it was lost.
    fn lease_check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError>;

    /// Gives a lease back; its session, if it is shared, begins to be idle.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it was lost, and nothing is changed then.
    fn lease_release(&self, lease: &LeaseRef) -> Result<(), StoreError>;

    /// Takes a lease away from its holder.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_revoke(&self, name: &LeaseName) -> Result<Option<Holder>, StoreError>;

    /// The leases that are held.
    ///
    /// # Errors
    /// When the store fails.
    fn leases(&self) -> Result<Vec<LeaseRow>, StoreError>;

    /// Makes a session, under a lease.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`], [`StoreError::TooManySessions`].
    fn session_begin(&self, session: &NewSession) -> Result<LeaseRef, StoreError>;

    /// Notes that the browser of a session runs. `false` if the session is to end meanwhile.
    ///
    /// # Errors
    /// When the store fails.
    fn session_started(&self, id: &str, browser: &BrowserFacts) -> Result<bool, StoreError>;

    /// Notes that an execution uses a session that was there before, and what its browser may reach from now on.
    ///
    /// # Errors
    /// When the store fails.
    fn session_attached(
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
    fn session_network_held(&self, id: &str, network: Option<&str>) -> Result<(), StoreError>;

    /// The session that is a key's and has not ended.
    ///
    /// # Errors
    /// When the store fails.
    fn session_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// The last session of a key that has ended, if it is remembered. One whose browser never started is not meant.
    ///
    /// # Errors
    /// When the store fails.
    fn session_ended_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// A session, ended or not.
    ///
    /// # Errors
    /// When the store fails.
    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError>;

    /// All sessions, those that have not ended first.
    ///
    /// # Errors
    /// When the store fails.
    fn sessions(&self) -> Result<Vec<SessionRow>, StoreError>;

    /// Makes a session that is held by `lease` the shared one of the key that is held by `of_key`, and frees the former.
    /// The key has no session that has not ended, and nothing is kept of it.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when one of the leases was lost, or the session ended.
    fn session_promote(&self, id: &str, lease: &LeaseRef, of_key: &LeaseRef) -> Result<(), StoreError>;

    /// Notes that a session's browser is to end. `false` if it has ended already.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it is to end `under` a lease that was lost.
    fn session_closing(&self, id: &str, reason: EndReason, under: Option<&LeaseRef>) -> Result<bool, StoreError>;

    /// Notes that nothing of a session's browser is left.
    ///
    /// # Errors
    /// When the store fails.
    fn session_ended(&self, id: &str, reason: EndReason) -> Result<(), StoreError>;

    /// Notes that what was kept of an ended session's key was removed by an operator's hand.
    ///
    /// # Errors
    /// When the store fails.
    fn session_disowned(&self, id: &str) -> Result<(), StoreError>;

    /// Decides, as its keeper, whether a session's browser may live on; if not, it is to end from now on.
    ///
    /// # Errors
    /// When the store fails.
    fn session_watch(&self, id: &str) -> Result<Watch, StoreError>;

    /// Ended sessions that need not be remembered any longer.
    ///
    /// # Errors
    /// When the store fails.
    fn stale(&self, retention: &Retention) -> Result<Vec<Stale>, StoreError>;

    /// Notes the leases that were lost, and forgets these ended sessions, and of the rest what is too old or too much.
    ///
    /// # Errors
    /// When the store fails.
    fn forget(&self, sessions: &[String], retention: &Retention) -> Result<Forgotten, StoreError>;

    /// Adds to the audit.
    ///
    /// # Errors
    /// When the store fails.
    fn audit_append(&self, events: &[Event]) -> Result<(), StoreError>;

    /// Reads the audit, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    fn audit_read(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError>;

    /// Checks the chain of the audit, and that a row of it is still the one that was seen before.
    ///
    /// # Errors
    /// When the store fails.
    fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, StoreError>;
}
