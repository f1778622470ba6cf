//! The leases of a host process: acquires, renews and releases them.

use super::{
    clock::Clock,
    store::{Claim, Claimed, Holder, LeaseName, LeaseRef, Loss, Store, StoreError},
};
use codemode_provider::BrowserOrder;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{LEASE_WAIT_SPARE_MS, OPERATION_MS_MAX},
};
use std::{
    collections::HashMap,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// How often a waiter polls for a release by another process. A release in its own process wakes it at once.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A lease that was granted to this process, with the process's knowledge of it: until when the lease is certainly
/// held, and how it was lost. Clones share this state.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    reference: LeaseRef,
    state: Arc<LeaseState>,
}

#[derive(Debug)]
struct LeaseState {
    /// Until when the lease is certainly held, by the steady clock. The store may have a later time.
    until_ms: AtomicI64,
    lost: Mutex<Option<Loss>>,
}

impl Lease {
    /// A lease that the store has granted, with the time until which it is certainly held.
    pub(super) fn new(reference: LeaseRef, until_ms: i64) -> Self {
        let state = LeaseState { until_ms: AtomicI64::new(until_ms), lost: Mutex::default() };
        Self { reference, state: Arc::new(state) }
    }

    /// The name and token by which the store identifies the lease.
    pub(super) const fn reference(&self) -> &LeaseRef {
        &self.reference
    }

    /// The fencing token.
    pub(super) const fn token(&self) -> u64 {
        self.reference.token
    }

    /// How the lease was lost, if this process has learnt of a loss.
    pub(super) fn lost(&self) -> Option<Loss> {
        self.state.lost().clone()
    }

    /// Records that the lease was lost.
    pub(super) fn lose(&self, loss: Loss) {
        *self.state.lost() = Some(loss);
    }

    fn extend(&self, until_ms: i64) {
        self.state.until_ms.fetch_max(until_ms, Ordering::Relaxed);
    }

    fn has_expired(&self, now_ms: i64) -> bool {
        now_ms >= self.state.until_ms.load(Ordering::Relaxed)
    }
}

impl LeaseState {
    fn lost(&self) -> MutexGuard<'_, Option<Loss>> {
        // No code panics while it holds this lock.
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Lease {
    fn eq(&self, other: &Self) -> bool {
        self.reference == other.reference
    }
}

/// Acquires, renews and releases leases in the store. Knows nothing of browsers.
pub(super) struct Leases {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    host: String,
    ttl: Duration,
    renew_every: Option<Duration>,
    /// Notifies the executions of this process that wait for a lease, by the lease's name.
    released: Mutex<HashMap<LeaseName, Weak<Notify>>>,
}

impl Leases {
    pub(super) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        host: String,
        ttl: Duration,
        renew_every: Option<Duration>,
    ) -> Self {
        Self { store, clock, host, ttl, renew_every, released: Mutex::default() }
    }

    /// The id of the host process.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// How often a lease is renewed; `None` leaves that to the simulation.
    pub(super) const fn renew_every(&self) -> Option<Duration> {
        self.renew_every
    }

    /// Waits for the lease of a key's browser: first come, first served, across all processes.
    pub(super) async fn acquire(&self, order: &BrowserOrder, key: &str) -> Result<Lease, ErrorReport> {
        let claim = self.claim(order, key);
        let left = order.deadline.saturating_duration_since(Instant::now());
        let spare = Duration::from_millis(LEASE_WAIT_SPARE_MS).min(left / 4);
        let wait = Duration::from_millis(order.session.wait_ms()).min(left.saturating_sub(spare));
        let deadline = Instant::now() + wait;
        let released = self.release_signal(&claim.name);
        let holder = loop {
            let notified = released.notified();
            // Computed before the query, since the store may respond slowly.
            let until_ms = self.until_ms();
            let holder = match self.store.lease_acquire(&claim).await? {
                Claimed::Granted(lease) => return Ok(Lease::new(lease, until_ms)),
                Claimed::QueueFull(holder) => {
                    return Err(busy(key, &holder, wait, "as many as may wait for it already"));
                }
                Claimed::Busy(holder) => holder,
            };
            tokio::select! {
                biased;
                () = notified => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = order.cancel.cancelled() => break None,
                () = tokio::time::sleep_until(deadline) => break Some(holder),
            }
        };
        self.store.lease_give_up(&claim.name, &claim.execution).await?;
        Err(match holder {
            Some(holder) => busy(key, &holder, wait, "it did not become free"),
            None => ErrorReport::new(ErrorCode::CallCancelled, "the execution ended while it waited for the browser"),
        })
    }

    /// Acquires the lease of a key's browser without waiting. Returns the holder if the lease is not free.
    pub(super) async fn take(&self, order: &BrowserOrder, key: &str) -> Result<Result<Lease, Holder>, StoreError> {
        self.take_for(&self.claim(order, key)).await
    }

    /// As [`Self::take`], for an operation of the host itself.
    pub(super) async fn take_as_host(
        &self,
        name: LeaseName,
        operation: &str,
    ) -> Result<Result<Lease, Holder>, StoreError> {
        self.take_for(&self.claim_of_host(name, operation)).await
    }

    /// Takes a lease from its holder, for an operator.
    pub(super) async fn seize(&self, name: LeaseName, operation: &str) -> Result<Lease, StoreError> {
        let until_ms = self.until_ms();
        let (lease, _) = self.store.lease_seize(&self.claim_of_host(name, operation)).await?;
        Ok(Lease::new(lease, until_ms))
    }

    async fn take_for(&self, claim: &Claim) -> Result<Result<Lease, Holder>, StoreError> {
        let until_ms = self.until_ms();
        Ok(self.store.lease_take(claim).await?.map(|lease| Lease::new(lease, until_ms)))
    }

    fn claim(&self, order: &BrowserOrder, key: &str) -> Claim {
        let (name, execution) = (LeaseName::of_key(key), order.execution.to_string());
        Claim { name, execution, host: self.host.clone(), ttl_ms: self.ttl_ms() }
    }

    fn claim_of_host(&self, name: LeaseName, operation: &str) -> Claim {
        let execution = format!("{}-{operation}", self.host);
        Claim { name, execution, host: self.host.clone(), ttl_ms: OPERATION_MS_MAX }
    }

    /// The wall time, in milliseconds since the Unix epoch: for display only.
    pub(super) fn wall_ms(&self) -> i64 {
        self.clock.wall_ms()
    }

    /// The time until which a lease that is granted or renewed now is certainly held.
    pub(super) fn until_ms(&self) -> i64 {
        self.clock.steady_ms().saturating_add_unsigned(self.ttl_ms())
    }

    /// The TTL of a lease, in milliseconds.
    pub(super) fn ttl_ms(&self) -> u64 {
        u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// Renews a lease.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the store reports that the lease was lost. The caller must check whether a
    /// promotion has replaced it by another lease.
    pub(super) async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        let until_ms = self.until_ms();
        self.store.lease_renew(&lease.reference, self.ttl_ms()).await?;
        lease.extend(until_ms);
        Ok(())
    }

    /// Checks in the store that a lease is held and its session has not ended.
    pub(super) async fn check(&self, lease: &Lease, session: &str) -> Result<(), StoreError> {
        self.store.lease_check(&lease.reference, session).await
    }

    /// Records the expiry of a lease, if it has expired: a process that was stopped for longer than the TTL must detect
    /// the loss by its own clock.
    pub(super) fn expire(&self, lease: &Lease) {
        if lease.lost().is_none() && lease.has_expired(self.clock.steady_ms()) {
            lease.lose(Loss::Expired);
        }
    }

    /// Awaits `work`, which takes long, and renews a lease meanwhile. If the lease is lost all the same, `work`
    /// continues: the next holder of the lease deals with its effects.
    pub(super) async fn renewing<T>(&self, lease: &Lease, work: impl Future<Output = T>) -> T {
        let Some(every) = self.renew_every else { return work.await };
        let mut work = pin!(work);
        loop {
            if let Ok(done) = tokio::time::timeout(every, work.as_mut()).await {
                return done;
            }
            if let Err(error) = self.renew(lease).await {
                tracing::warn!(%error, "a lease could not be renewed");
            }
        }
    }

    /// Releases a lease.
    ///
    /// # Errors
    /// When the lease was lost, or the store fails. The waiters of this process are notified in either case.
    pub(super) async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let released = self.store.lease_release(&lease.reference).await;
        self.notify(&lease.reference.name);
        released
    }

    /// Releases a lease; does nothing if it was lost.
    pub(super) async fn release_if_held(&self, lease: &Lease) {
        if let Err(error) = self.release(lease).await {
            tracing::debug!(%error, "a lease was not there to be released");
        }
    }

    /// Notifies the waiters of this process, which then query the store again.
    pub(super) fn notify(&self, name: &LeaseName) {
        let waiting = self.released.lock().unwrap_or_else(PoisonError::into_inner).get(name).and_then(Weak::upgrade);
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
    }

    fn release_signal(&self, name: &LeaseName) -> Arc<Notify> {
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        released.retain(|_, waiting| waiting.strong_count() > 0);
        if let Some(waiting) = released.get(name).and_then(Weak::upgrade) {
            return waiting;
        }
        let waiting = Arc::new(Notify::new());
        released.insert(name.clone(), Arc::downgrade(&waiting));
        waiting
    }
}

/// The error for an execution that needs a browser which is in use.
pub(super) fn busy(key: &str, holder: &Holder, waited: Duration, why: &str) -> ErrorReport {
    let Holder { execution, held_ms, expires_in_ms, waiting, .. } = holder;
    let message = format!(
        "the browser of {key:?} is used by the execution {execution}, for {:.1} s now; {why} within {} ms",
        std::time::Duration::from_millis(held_ms.unsigned_abs()).as_secs_f64(),
        waited.as_millis()
    );
    ErrorReport::new(ErrorCode::SessionBusy, message)
        .with_hint(
            "Call again when that execution is over, pass a larger session.wait_ms, or use another key. An operator can \
             take it away: `codemode sessions list`, then `codemode sessions revoke KEY`.",
        )
        .with_detail("holder", execution.as_str())
        .with_detail("held_ms", *held_ms)
        .with_detail("expires_in_ms", *expires_in_ms)
        .with_detail("waiting", *waiting)
}
