//! The interface to the rows of a store within one transaction.

use super::{
    StoreError,
    audit::{AuditFilter, AuditHead, AuditRow},
};
use crate::session::rules::{LeaseName, LeaseRecord, Moment, SessionRecord, Waiter};

/// Reads and writes rows within one transaction. It decides nothing: each operation loads the rows that a rule needs,
/// applies the rule, and writes its result.
///
/// Invariant: what is read stays valid until the transaction is committed. If the transaction fails, nothing is
/// written.
///
/// # Errors
/// All methods fail when the database does.
pub trait Tables {
    /// The time of the transaction: the same for all its operations.
    fn now(&self) -> &Moment;

    /// The row of a lease.
    fn lease(&mut self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError>;

    /// The rows of the leases that have a holder, by name.
    fn leases_held(&mut self) -> Result<Vec<(LeaseName, LeaseRecord)>, StoreError>;

    /// The rows of all leases, by name.
    fn leases(&mut self) -> Result<Vec<(LeaseName, LeaseRecord)>, StoreError>;

    /// Writes the row of a lease, whether or not a row of this name exists.
    fn lease_put(&mut self, name: &LeaseName, lease: &LeaseRecord) -> Result<(), StoreError>;

    /// Removes the row of a lease.
    fn lease_remove(&mut self, name: &LeaseName) -> Result<(), StoreError>;

    /// The largest token of the leases whose rows were removed.
    fn token_floor(&mut self) -> Result<u64, StoreError>;

    /// Writes the token floor.
    fn token_floor_put(&mut self, token: u64) -> Result<(), StoreError>;

    /// The queue of a lease, in the order in which its executions came.
    fn waiters(&mut self, name: &LeaseName) -> Result<Vec<Waiter>, StoreError>;

    /// The queues of all leases.
    fn waiters_of_all(&mut self) -> Result<Vec<(LeaseName, Waiter)>, StoreError>;

    /// Writes the row of a waiter: at the end of the queue, or in the place that this execution has already.
    fn waiter_put(&mut self, name: &LeaseName, waiter: &Waiter) -> Result<(), StoreError>;

    /// Removes an execution from a queue. `false` if the execution was not in the queue.
    fn waiter_remove(&mut self, name: &LeaseName, execution: &str) -> Result<bool, StoreError>;

    /// The row of a session.
    fn session(&mut self, id: &str) -> Result<Option<SessionRecord>, StoreError>;

    /// The session of a key that has not ended. There is at most one such session.
    fn session_of_key(&mut self, key: &str) -> Result<Option<SessionRecord>, StoreError>;

    /// All sessions of a key, ended or not.
    fn sessions_of_key(&mut self, key: &str) -> Result<Vec<SessionRecord>, StoreError>;

    /// All sessions: first those that have not ended, in the order of their creation; then the others, in the order of
    /// their end.
    fn sessions(&mut self) -> Result<Vec<SessionRecord>, StoreError>;

    /// How many sessions have not ended.
    fn sessions_open(&mut self) -> Result<usize, StoreError>;

    /// The keys of all sessions, each once.
    fn session_keys(&mut self) -> Result<Vec<String>, StoreError>;

    /// Writes the row of a session, whether or not a row of this id exists.
    fn session_put(&mut self, session: &SessionRecord) -> Result<(), StoreError>;

    /// Removes the row of a session.
    fn session_remove(&mut self, id: &str) -> Result<(), StoreError>;

    /// The head of the audit; `None` if it was removed, which no operation does.
    fn audit_head(&mut self) -> Result<Option<AuditHead>, StoreError>;

    /// Writes the head of the audit. A head that was removed is not written again:
    /// [`super::AuditStore::audit_verify`] reports it.
    fn audit_head_put(&mut self, head: &AuditHead) -> Result<(), StoreError>;

    /// The hash of a row of the audit.
    fn audit_hash(&mut self, id: u64) -> Result<Option<String>, StoreError>;

    /// Adds a row to the audit.
    fn audit_put(&mut self, row: &AuditRow) -> Result<(), StoreError>;

    /// Removes the rows of the audit up to and including this row; returns their number.
    fn audit_remove_up_to(&mut self, id: u64) -> Result<usize, StoreError>;

    /// The last rows of the audit that pass the filter, oldest first.
    fn audit_rows(&mut self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError>;

    /// Visits the rows of the audit in order, until `visit` returns `false`: there are too many rows to load at once.
    fn audit_visit(&mut self, visit: &mut dyn FnMut(AuditRow) -> bool) -> Result<(), StoreError>;
}
