//! The memory budget for answers that their callers have not taken yet.

use codemode_spec::limits::{REPLY_BYTES_FREE, REPLY_BYTES_MAX, ROOM_WAIT_MS_MAX};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budgets of one connection and of all connections of a host, with one permit per byte.
pub(crate) struct ReplyBudget {
    own: Arc<Semaphore>,
    host: OnceLock<Arc<Semaphore>>,
    /// Set when an answer has waited in vain for its permits. Until an answer obtains permits again, further answers
    /// fail without waiting.
    stuck: AtomicBool,
}

/// The permits of one answer, released on drop.
#[derive(Debug, Default)]
pub(crate) struct ReplyPermits {
    _own: Option<OwnedSemaphorePermit>,
    _host: Option<OwnedSemaphorePermit>,
}

impl ReplyBudget {
    pub(crate) fn new() -> Self {
        Self { own: Arc::new(Semaphore::new(REPLY_BYTES_MAX)), host: OnceLock::new(), stuck: AtomicBool::new(false) }
    }

    /// Shares a host's budget from now on.
    pub(crate) fn share(&self, host: Arc<Semaphore>) {
        drop(self.host.set(host));
    }

    /// Acquires the permits for an answer. Waits until other answers were taken, but only briefly, because the
    /// browser's further messages are blocked meanwhile. `None` if the budget stays exhausted.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn acquire(&self, bytes: usize) -> Option<ReplyPermits> {
        if bytes <= REPLY_BYTES_FREE {
            return Some(ReplyPermits::default());
        }
        let permits = u32::try_from(bytes).ok()?;
        let patience = if self.stuck.load(Ordering::Relaxed) { 0 } else { ROOM_WAIT_MS_MAX };
        let both = async {
            let own = Arc::clone(&self.own).acquire_many_owned(permits).await.ok()?;
            let host = match self.host.get() {
                Some(host) => Some(Arc::clone(host).acquire_many_owned(permits).await.ok()?),
                None => None,
            };
            Some(ReplyPermits { _own: Some(own), _host: host })
        };
        let acquired = tokio::time::timeout(Duration::from_millis(patience), both).await.ok().flatten();
        self.stuck.store(acquired.is_none(), Ordering::Relaxed);
        acquired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_waited_for_once_and_then_refused_until_one_was_taken() {
        let (budget, host) = (ReplyBudget::new(), Arc::new(Semaphore::new(REPLY_BYTES_MAX)));
        budget.share(Arc::clone(&host));
        let began = tokio::time::Instant::now();
        let all = budget.acquire(REPLY_BYTES_MAX).await.expect("all of it is free");
        assert!(budget.acquire(REPLY_BYTES_FREE).await.is_some(), "what is small always fits");
        assert!(budget.acquire(REPLY_BYTES_FREE + 1).await.is_none());
        let waited = Duration::from_millis(ROOM_WAIT_MS_MAX);
        assert!(began.elapsed() >= waited);
        assert!(budget.acquire(REPLY_BYTES_FREE + 1).await.is_none());
        assert!(began.elapsed() < waited * 2, "the second one did not wait");
        drop(all);
        assert!(budget.acquire(REPLY_BYTES_MAX).await.is_some());
        let _others = host.acquire_many(1).await;
        assert!(budget.acquire(REPLY_BYTES_MAX).await.is_none(), "the host has a bound of its own");
        assert!(budget.acquire(REPLY_BYTES_MAX + 1).await.is_none());
    }
}
