//! The queue of a lease: first come, first served, across all processes.

use super::{
    Moment,
    lease::{Claim, LeaseRecord, LeaseRef, Standing, standing},
};
use codemode_spec::limits::{LEASE_WAITER_RENEW_MS, LEASE_WAITER_TTL_MS, LEASE_WAITERS_MAX};
use serde::{Deserialize, Serialize};

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The lease is granted.
    Granted(LeaseRef),
    /// Another execution holds the lease, or is ahead in the queue. An execution that repeats its claim keeps its
    /// place.
    Busy(Holder),
    /// The queue is full.
    QueueFull(Holder),
}

/// The holder of a lease or, while the lease is free, the execution that has waited longest for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Holder {
    /// The execution.
    pub execution: String,
    /// The token of its lease.
    pub token: u64,
    /// For how long it has held the lease, in milliseconds.
    pub held_ms: i64,
    /// When the lease expires unless it is renewed, in milliseconds from now.
    pub expires_in_ms: i64,
    /// Executions in the queue.
    pub waiting: u32,
}

/// A lease that is held, for an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LeaseRow {
    /// What is leased.
    pub name: String,
    /// The holder.
    pub holder: Holder,
    /// The host in which the holder runs.
    pub host: String,
    /// Whether that host is alive.
    pub host_alive: bool,
}

/// An execution in the queue of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The execution.
    pub execution: String,
    /// The host in which it runs.
    pub host: String,
    /// Whether that host may be alive. Not a column: the store checks it when it loads the row.
    pub host_lives: bool,
    /// The boot to which `until_steady_ms` belongs.
    pub boot: String,
    /// When the execution drops out of the queue unless it repeats its claim, by the steady clock.
    pub until_steady_ms: i64,
}

impl Waiter {
    /// The row of a claim that enters the queue or keeps its place.
    #[must_use]
    pub fn of(claim: &Claim, now: &Moment) -> Self {
        Self {
            execution: claim.execution.clone(),
            host: claim.host.clone(),
            host_lives: true,
            boot: now.boot.clone(),
            until_steady_ms: now.after_ms(LEASE_WAITER_TTL_MS),
        }
    }
}

/// The decision on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The lease is granted now.
    Granted,
    /// The claim has a place in the queue and keeps it.
    KeepsPlace,
    /// The claim enters the queue at its end.
    TakesPlace,
    /// The claim cannot be queued: the lease has no row yet, and another execution is first in its queue.
    NoPlace,
    /// The queue is full.
    QueueFull,
}

/// Whether an execution is still in the queue.
#[must_use]
pub fn is_waiting(waiter: &Waiter, now: &Moment) -> bool {
    waiter.boot == now.boot && waiter.until_steady_ms > now.steady_ms && waiter.host_lives
}

/// The executions that wait, in order of arrival.
fn queue<'a>(waiters: &'a [Waiter], now: &Moment) -> Vec<&'a Waiter> {
    waiters.iter().filter(|waiter| is_waiting(waiter, now)).collect()
}

/// The executions whose rows are removed when `asks` makes a claim: all that have dropped out of the queue, except for
/// `asks` itself, which keeps its place however late it repeats its claim.
#[must_use]
pub fn left_the_queue<'a>(waiters: &'a [Waiter], asks: &str, now: &Moment) -> Vec<&'a str> {
    let left = waiters.iter().filter(|waiter| waiter.execution != asks && !is_waiting(waiter, now));
    left.map(|waiter| waiter.execution.as_str()).collect()
}

/// The decision on a claim, given the lease's row and the rows of its queue in order of arrival.
#[must_use]
pub fn turn(claim: &Claim, lease: Option<&LeaseRecord>, waiters: &[Waiter], now: &Moment) -> Turn {
    let is_own = |waiter: &&Waiter| waiter.execution == claim.execution;
    let queue: Vec<_> = waiters.iter().filter(|waiter| is_own(waiter) || is_waiting(waiter, now)).collect();
    if !is_held(lease, now) && queue.first().is_none_or(is_own) {
        Turn::Granted
    } else if lease.is_none() {
        Turn::NoPlace
    } else if queue.iter().any(is_own) {
        Turn::KeepsPlace
    } else if queue.len() >= LEASE_WAITERS_MAX as usize {
        Turn::QueueFull
    } else {
        Turn::TakesPlace
    }
}

/// Whether a claim that does not wait is granted: only if the lease is free and no execution waits for it.
#[must_use]
pub fn may_take(lease: Option<&LeaseRecord>, waiters: &[Waiter], now: &Moment) -> bool {
    !is_held(lease, now) && queue(waiters, now).is_empty()
}

/// Whether a claim keeps waiting without a change of any row: it cannot be granted, and it was repeated recently.
#[must_use]
pub fn still_waits(claim: &Claim, lease: Option<&LeaseRecord>, waiters: &[Waiter], now: &Moment) -> bool {
    let queue = queue(waiters, now);
    let Some(place) = queue.iter().position(|waiter| waiter.execution == claim.execution) else { return false };
    let asked_lately = queue[place].until_steady_ms > now.after_ms(LEASE_WAITER_TTL_MS - LEASE_WAITER_RENEW_MS);
    lease.is_some() && asked_lately && (place > 0 || is_held(lease, now))
}

/// The holder of a lease, for a claim that is refused.
#[must_use]
pub fn holder(lease: Option<&LeaseRecord>, waiters: &[Waiter], now: &Moment) -> Holder {
    let queue = queue(waiters, now);
    let first = || queue.first().map(|waiter| waiter.execution.clone()).unwrap_or_default();
    let Some(lease) = lease else {
        return Holder { execution: first(), token: 0, held_ms: 0, expires_in_ms: 0, waiting: 0 };
    };
    let held = is_held(Some(lease), now);
    Holder {
        waiting: u32::try_from(queue.len()).unwrap_or(u32::MAX),
        execution: lease.execution.clone().filter(|_| held).unwrap_or_else(first),
        token: lease.token,
        held_ms: if held { now.steady_ms - lease.since_steady_ms } else { 0 },
        expires_in_ms: if held { lease.until_steady_ms - now.steady_ms } else { 0 },
    }
}

fn is_held(lease: Option<&LeaseRecord>, now: &Moment) -> bool {
    lease.is_some_and(|lease| standing(lease, now) == Standing::Held)
}
