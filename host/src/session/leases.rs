//! The leases of a host process: waited for, renewed, given back.

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

/// How often a waiter asks whether another process has released the browser. A release in its own process wakes it.
const ASK_INTERVAL: Duration = Duration::from_millis(50);

/// A lease that this process was granted, and all that the process knows of the lease: until when it holds for certain,
/// and whether it was lost. Clones are the same lease.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    reference: LeaseRef,
    known: Arc<Known>,
}

#[derive(Debug)]
struct Known {
    /// Until when the lease holds, by the steady clock. The store may know of a later end.
    until_ms: AtomicI64,
    lost: Mutex<Option<Loss>>,
}

impl Lease {
    /// A lease that the store has granted, with the time until which the lease holds for certain.
    pub(super) fn new(reference: LeaseRef, until_ms: i64) -> Self {
        let known = Known { until_ms: AtomicI64::new(until_ms), lost: Mutex::default() };
        Self { reference, known: Arc::new(known) }
    }

    /// The reference by which the store knows the lease.
    pub(super) const fn reference(&self) -> &LeaseRef {
        &self.reference
    }

    /// The fencing token.
    pub(super) const fn token(&self) -> u64 {
        self.reference.token
    }

    /// How the lease was lost, as far as this process knows.
    pub(super) fn lost(&self) -> Option<Loss> {
        self.known.lost().clone()
    }

    /// Notes that the lease was lost.
    pub(super) fn lose(&self, loss: Loss) {
        *self.known.lost() = Some(loss);
    }

    fn extend(&self, until_ms: i64) {
        self.known.until_ms.fetch_max(until_ms, Ordering::Relaxed);
    }

    fn has_expired(&self, now_ms: i64) -> bool {
        now_ms >= self.known.until_ms.load(Ordering::Relaxed)
    }
}

impl Known {
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

/// Acquires leases from the store, renews and releases them. Knows no browser.
pub(super) struct Leases {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    host: String,
    ttl: Duration,
    renew_every: Option<Duration>,
    /// Wakes the executions of this process that wait for a lease, by the lease's name.
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

    /// Waits for the lease of a key's browser: first come, first served, in all processes.
    pub(super) async fn acquire(&self, order: &BrowserOrder, key: &str) -> Result<Lease, ErrorReport> {
        let claim = self.claim(order, key);
        let left = order.deadline.saturating_duration_since(Instant::now());
        let spare = Duration::from_millis(LEASE_WAIT_SPARE_MS).min(left / 4);
        let wait = Duration::from_millis(order.session.wait_ms()).min(left.saturating_sub(spare));
        let deadline = Instant::now() + wait;
        let released = self.notified_of(&claim.name);
        let holder = loop {
            let is_told = released.notified();
            // Taken before the store is asked, which may be slow to answer.
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
                () = is_told => {}
                () = tokio::time::sleep(ASK_INTERVAL) => {}
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

    /// Takes the lease of a key's browser for an execution that does not wait. Gives the holder if the lease
    /// is not free.
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

    /// Takes a lease away from its holder, for an operator.
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

    /// The time for people to read, in milliseconds since the Unix epoch.
    pub(super) fn wall_ms(&self) -> i64 {
        self.clock.wall_ms()
    }

    /// The time until which a lease holds for certain that is granted or renewed now.
    pub(super) fn until_ms(&self) -> i64 {
        self.clock.steady_ms().saturating_add_unsigned(self.ttl_ms())
    }

    /// How long a lease holds without being renewed, in milliseconds.
    pub(super) fn ttl_ms(&self) -> u64 {
        u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// Renews a lease.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when the store says that the lease was lost. The caller decides whether that is the
    /// whole truth: a promotion may have put another lease in its place.
    pub(super) async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        let until_ms = self.until_ms();
        self.store.lease_renew(&lease.reference, self.ttl_ms()).await?;
        lease.extend(until_ms);
        Ok(())
    }

    /// Asks the store whether a lease is held and its session lives.
    pub(super) async fn check(&self, lease: &Lease, session: &str) -> Result<(), StoreError> {
        self.store.lease_check(&lease.reference, session).await
    }

    /// Notes that a lease has expired, if so: a process that was stopped for longer than its lease holds must know by
    /// its own clock that the lease is over.
    pub(super) fn expire(&self, lease: &Lease) {
        if lease.lost().is_none() && lease.has_expired(self.clock.steady_ms()) {
            lease.lose(Loss::Expired);
        }
    }

    /// Awaits `work`, which takes long, and renews a lease meanwhile. If the lease is lost all the same, `work` goes
    /// on: the next holder of the lease sees to that.
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
    /// When the lease was lost, or the store fails. The waiters of this process ask again in either case.
    pub(super) async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let released = self.store.lease_release(&lease.reference).await;
        self.notify(&lease.reference.name);
        released
    }

    /// Releases a lease that may be lost already: then nothing is done.
    pub(super) async fn release_if_held(&self, lease: &Lease) {
        if let Err(error) = self.release(lease).await {
            tracing::debug!(%error, "a lease was not there to be released");
        }
    }

    /// Wakes the waiters of this process: they ask the store again.
    pub(super) fn notify(&self, name: &LeaseName) {
        let waiting = self.released.lock().unwrap_or_else(PoisonError::into_inner).get(name).and_then(Weak::upgrade);
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
    }

    fn notified_of(&self, name: &LeaseName) -> Arc<Notify> {
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

/// The refusal of a browser that is in use.
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
