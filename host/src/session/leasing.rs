//! Leases as this process has them: waited for, renewed, given back.

use super::{
    manager::Inner,
    store::{Claim, Claimed, Holder, LeaseName, LeaseRef, StoreError},
};
use codemode_provider::BrowserOrder;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{LEASE_WAIT_SPARE_MS, OPERATION_MS_MAX},
};
use std::{
    pin::pin,
    sync::{Arc, PoisonError, Weak},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// How often a waiter asks whether another process has released the browser. In this one it is told.
const ASK_INTERVAL: Duration = Duration::from_millis(50);

impl Inner {
    /// Waits for the lease of a key's browser: first come, first served, in all processes.
    /// With it, until when it holds for sure.
    pub(super) async fn acquire(&self, order: &BrowserOrder, key: &str) -> Result<(LeaseRef, i64), ErrorReport> {
        let claim = self.claim(order, key);
        let left = order.deadline.saturating_duration_since(Instant::now());
        let spare = Duration::from_millis(LEASE_WAIT_SPARE_MS).min(left / 4);
        let wait = Duration::from_millis(order.session.wait_ms()).min(left.saturating_sub(spare));
        let deadline = Instant::now() + wait;
        let released = self.notified_of(&claim.name);
        let holder = loop {
            let is_told = released.notified();
            let until_ms = self.until_ms();
            let holder = match self.store.lease_acquire(&claim).await? {
                Claimed::Granted(lease) => return Ok((lease, until_ms)),
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

    pub(super) fn claim(&self, order: &BrowserOrder, key: &str) -> Claim {
        Claim {
            name: LeaseName::of_key(key),
            execution: order.execution.to_string(),
            host: self.host.clone(),
            ttl_ms: self.lease_ttl_ms(),
        }
    }

    /// A claim of this host itself, for what no execution does.
    pub(super) fn claim_of_ours(&self, name: LeaseName) -> Claim {
        let execution = format!("{}-{}", self.host, (self.new_id)());
        Claim { name, execution, host: self.host.clone(), ttl_ms: OPERATION_MS_MAX }
    }

    /// Milliseconds since the boot.
    pub(super) fn now_ms(&self) -> i64 {
        self.clock.steady_ms()
    }

    /// Until when a lease holds for sure that is given or renewed now.
    pub(super) fn until_ms(&self) -> i64 {
        self.now_ms().saturating_add_unsigned(self.lease_ttl_ms())
    }

    /// Renews a lease; gives until when it holds for sure.
    pub(super) async fn renew(&self, lease: &LeaseRef) -> Result<i64, StoreError> {
        let until_ms = self.until_ms();
        self.store.lease_renew(lease, self.lease_ttl_ms()).await?;
        Ok(until_ms)
    }

    /// How long a lease holds that is not renewed, in milliseconds.
    pub(super) fn lease_ttl_ms(&self) -> u64 {
        u64::try_from(self.settings.lease_ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// Does what takes long, and renews a lease meanwhile. One that is lost all the same stops nothing: whoever has it now
    /// sees to that.
    pub(super) async fn renewing<T>(&self, lease: &LeaseRef, work: impl Future<Output = T>) -> T {
        let Some(every) = self.settings.renew_every else { return work.await };
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

    /// Gives a lease back that may be lost already: then there is nothing to give.
    pub(super) async fn release(&self, lease: &LeaseRef) {
        if let Err(error) = self.store.lease_release(lease).await {
            tracing::debug!(%error, "a lease was not there to be released");
        }
        self.notify(&lease.name);
    }

    /// Tells those who wait in this process that they may ask again.
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
