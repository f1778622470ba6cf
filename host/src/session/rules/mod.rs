//! The rules of sessions and leases: which execution is granted a lease, how a lease is lost, when a session ends, and
//! which records retention removes.
//!
//! Every rule is a pure function of rows and a [`Moment`]. Rules know no database, read no clock and do not check
//! whether a process is alive: a store loads the rows within a transaction, calls the rule, and writes its result. So a
//! rule is written once for all databases, and its test is a table of rows.

mod lease;
mod loss;
mod queue;
mod retention;
mod session;
#[cfg(test)]
mod tests;

pub use lease::{
    Claim, LeaseName, LeaseRecord, LeaseRef, Standing, freed, granted, is_renewal_noted, renewed, revoked, standing,
};
pub use loss::{Loss, lease_after_promotion, loss, loss_in_use};
pub use queue::{
    Claimed, Holder, LeaseRow, Turn, Waiter, holder, is_waiting, left_the_queue, may_take, still_waits, turn,
};
pub use retention::{Forgotten, Retention, Stale, audit_cut, is_forgotten_waiter, is_unused_lease, stale};
pub use session::{
    Ages, BrowserFacts, EndReason, Fate, KeeperView, NewSession, SessionRecord, SessionRow, SessionState, Watch, ages,
    attached, begun, closing, data_removed, ended, ends_in_sweep, ends_without_store, fate, has_room, idle, is_usable,
    last_ended, promoted, started,
};

/// A moment, as read from the clocks of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since the Unix epoch: for display. Its only decision is the age of sessions that ended before the
    /// last boot.
    pub wall_ms: i64,
    /// Milliseconds since the boot: decides expiry.
    pub steady_ms: i64,
    /// The id of the boot. Steady times of different boots cannot be compared.
    pub boot: String,
}

impl Moment {
    /// The steady time `ms` milliseconds later.
    #[must_use]
    pub const fn after_ms(&self, ms: u64) -> i64 {
        self.steady_ms.saturating_add_unsigned(ms)
    }
}
