//! The rules of sessions and leases: who is granted a lease, whose turn it is, how a lease is lost, what becomes of a
//! session, what is forgotten.
//!
//! Every rule is a pure function of rows and a [`Moment`]. Rules know no database, read no clock and do not ask whether
//! a process lives: a store loads the rows within a transaction, calls the rule, and writes what the rule says. So a
//! rule is written once, whatever database keeps the rows, and a table of rows is its test.

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
    attached, begun, closing, disowned, ended, ends_in_sweep, ends_without_store, fate, has_room, idle, is_usable,
    last_ended, promoted, started,
};

/// A moment, as the clocks of a machine tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since the Unix epoch: for people to read. It decides only the age of what ended before the last
    /// boot.
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
