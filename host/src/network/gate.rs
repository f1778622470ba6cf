//! The rules in force, and the refusals that they caused.

use super::{
    net_error::NetError,
    rules::{NetworkRules, Policy, Rule},
};
use async_trait::async_trait;
use codemode_spec::limits::NETWORK_REFUSALS_QUEUED_MAX;
use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::{
    mpsc::{self, Receiver, Sender, error::TrySendError},
    watch,
};

/// A refused destination. Nothing else of the URL is retained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The host, as it was named.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The rule that refused it.
    pub rule: Rule,
}

/// Is notified why a connection was not established. The browser gets its response only after the method's future
/// completes.
#[async_trait]
pub trait GateObserver: Send + Sync {
    /// Handles a refusal.
    async fn refused(&self, refusal: &Refusal);

    /// Handles a destination that cannot be reached.
    async fn unreachable(&self, host: &str, port: u16, error: NetError);
}

/// The rules that a proxy enforces. They can be replaced while the proxy runs: open connections that the new rules
/// refuse are closed.
pub struct Gate {
    policy: watch::Sender<Arc<Policy>>,
    refused: Sender<Refusal>,
    /// Refusals that found the queue full.
    dropped: AtomicU64,
    observer: OnceLock<Box<dyn GateObserver>>,
}

impl Gate {
    /// A gate with these rules, and the receiver of its refusals. When the queue is full, a refusal is only counted: see
    /// [`Self::take_dropped`].
    #[must_use]
    pub fn new(policy: Policy) -> (Arc<Self>, Receiver<Refusal>) {
        let (refused, refusals) = mpsc::channel(NETWORK_REFUSALS_QUEUED_MAX);
        let policy = watch::Sender::new(Arc::new(policy));
        (Arc::new(Self { policy, refused, dropped: AtomicU64::new(0), observer: OnceLock::new() }), refusals)
    }

    /// Sets the observer of destinations that were not reached. Only the first observer is kept.
    pub fn set_observer(&self, observer: impl GateObserver + 'static) {
        let _ = self.observer.set(Box::new(observer));
    }

    /// Sets or removes the rules of a call, which narrow the others, and replaces those of an earlier call.
    pub fn narrow(&self, call: Option<NetworkRules>) {
        self.policy.send_modify(|policy| *policy = Arc::new(Policy { call, ..Policy::clone(policy) }));
    }

    /// Replaces all rules.
    pub fn replace(&self, policy: Policy) {
        self.policy.send_replace(Arc::new(policy));
    }

    /// The rules in force.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.borrow())
    }

    pub(super) fn changes(&self) -> watch::Receiver<Arc<Policy>> {
        self.policy.subscribe()
    }

    pub(super) fn record_refusal(&self, refusal: Refusal) {
        // Do not wait: the receiver may have been dropped, or be slow.
        if let Err(TrySendError::Full(refusal)) = self.refused.try_send(refusal)
            && !matches!(refusal.rule, Rule::OwnService(_))
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of refusals that were not queued since the last call, other than those of the browser's own services.
    pub fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Notifies the observer of a refusal, before the browser gets its response.
    pub(super) async fn notify_refused(&self, refusal: &Refusal) {
        if let Some(observer) = self.observer.get() {
            observer.refused(refusal).await;
        }
    }

    /// Notifies the observer of an unreachable destination, before the browser gets its response.
    pub(super) async fn notify_unreachable(&self, host: &str, port: u16, error: NetError) {
        if let Some(observer) = self.observer.get() {
            observer.unreachable(host, port, error).await;
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gate").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_that_find_no_place_in_the_queue_are_counted() {
        let (gate, mut refusals) = Gate::new(Policy::default());
        let refuse = |rule: Rule| gate.record_refusal(Refusal { host: "site.test".to_owned(), port: 80, rule });
        for _ in 0..NETWORK_REFUSALS_QUEUED_MAX + 3 {
            refuse(Rule::MetadataName("site.test"));
        }
        refuse(Rule::OwnService("site.test"));
        assert_eq!((refusals.len(), gate.take_dropped()), (NETWORK_REFUSALS_QUEUED_MAX, 3));
        refusals.try_recv().unwrap();
        refuse(Rule::MetadataName("site.test"));
        assert_eq!((refusals.len(), gate.take_dropped()), (NETWORK_REFUSALS_QUEUED_MAX, 0));
    }
}
