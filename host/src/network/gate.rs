//! The rules in force, and what they refused.

use super::{
    net_error::NetError,
    rules::{NetworkRules, Policy, Rule},
};
use async_trait::async_trait;
use codemode_spec::limits::NETWORK_REFUSALS_QUEUED_MAX;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};
use tokio::sync::{
    mpsc::{self, Receiver, Sender},
    watch,
};

/// A destination that was refused. No more of the URL than this is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The host, as it was named.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The rule that refused it.
    pub rule: Rule,
}

/// Is told why there is no connection, before the browser is answered: that happens when the future ends.
#[async_trait]
pub trait Hear: Send + Sync {
    /// Takes in a refusal.
    async fn refused(&self, refusal: &Refusal);

    /// Takes in a destination that cannot be reached.
    async fn unreachable(&self, host: &str, port: u16, error: NetError);
}

/// The rules that a proxy enforces. They can be exchanged while the proxy runs: open connections that the new rules
/// refuse are closed.
pub struct Gate {
    policy: watch::Sender<Arc<Policy>>,
    refused: Sender<Refusal>,
    hearer: OnceLock<Box<dyn Hear>>,
}

impl Gate {
    /// A gate with these rules, and the receiver of its refusals. A refusal that finds the queue full is dropped.
    #[must_use]
    pub fn new(policy: Policy) -> (Arc<Self>, Receiver<Refusal>) {
        let (refused, refusals) = mpsc::channel(NETWORK_REFUSALS_QUEUED_MAX);
        let policy = watch::Sender::new(Arc::new(policy));
        (Arc::new(Self { policy, refused, hearer: OnceLock::new() }), refusals)
    }

    /// Has `hearer` told of each destination without a connection before the browser is answered. Only the first hearer is kept.
    pub fn set_hearer(&self, hearer: impl Hear + 'static) {
        let _ = self.hearer.set(Box::new(hearer));
    }

    /// Narrows the rules by those of a call, in the place of those of another call.
    pub fn narrow(&self, call: Option<NetworkRules>) {
        self.policy.send_modify(|policy| *policy = Arc::new(Policy { call, ..Policy::clone(policy) }));
    }

    /// Exchanges all rules.
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

    pub(super) fn note(&self, refusal: Refusal) {
        // Without waiting: the receiver may be gone or slow.
        let _ = self.refused.try_send(refusal);
    }

    /// Tells the hearer of a refusal, before the browser is answered.
    pub(super) async fn tell(&self, refusal: &Refusal) {
        if let Some(hearer) = self.hearer.get() {
            hearer.refused(refusal).await;
        }
    }

    /// Tells the hearer of a destination that cannot be reached, before the browser is answered.
    pub(super) async fn tell_unreachable(&self, host: &str, port: u16, error: NetError) {
        if let Some(hearer) = self.hearer.get() {
            hearer.unreachable(host, port, error).await;
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gate").field("policy", &self.policy).finish_non_exhaustive()
    }
}
