//! What a keeper's browser may reach: the browser's proxy, the rules that the lease orders, and the refusals in the
//! audit.

use super::store::{
    Store, StoreError,
    audit::{Event, EventKind},
};
use crate::network::{ForwardProxy, Gate, Hear, NetError, Policy, Refusal, Rule, Serving, SystemResolver, Upstream};
use async_trait::async_trait;
use codemode_chromium::{FailedDestination, NoConnection, Peers, Relay};
use codemode_spec::{ErrorCode, ErrorReport, limits::NETWORK_REFUSALS_NOTED_MAX};
use serde_json::json;
use std::{collections::HashMap, fmt::Display, net::SocketAddr, sync::Arc};
use tokio::sync::mpsc::Receiver;

/// The rules that a lease orders, as JSON: `None` is the default rules.
pub(super) type Ordered = Option<String>;

/// Writes rules in the form in which a lease orders them.
pub(super) fn ordered(policy: &Policy) -> Ordered {
    // Plain data can be written as JSON.
    (!policy.is_default()).then(|| serde_json::to_string(policy).unwrap_or_default())
}

/// Stands between one browser and the network.
pub(super) struct Fence {
    gate: Arc<Gate>,
    address: SocketAddr,
    proxy: Proxy,
    refusals: Receiver<Refusal>,
    enforced: Ordered,
    noted: Noted,
    waiting: Vec<Refusal>,
}

enum Proxy {
    /// The proxy listens, and the browser has not started yet.
    Bound(Box<ForwardProxy>),
    Serving {
        _serving: Serving,
    },
    Closed,
}

/// What was refused to one lease, and how often: a refusal is noted the first, second, fourth, eighth … time.
#[derive(Default)]
struct Noted {
    token: Option<u64>,
    counts: HashMap<(String, u16, String), u64>,
    unlisted: u64,
}

impl Fence {
    /// Starts a proxy, before the browser that will use it.
    pub(super) async fn start(order: Ordered) -> Result<Self, ErrorReport> {
        let failed = |error: &dyn Display| {
            ErrorReport::new(
                ErrorCode::BrowserLaunchFailed,
                format!("the browser's proxy could not be started: {error}"),
            )
        };
        let upstream = Upstream::of_environment().map_err(|fault| {
            failed(&fault).with_hint("Correct the variable, or remove it from the environment of codemode.")
        })?;
        let (gate, refusals) = Gate::new(policy(&order).map_err(|error| failed(&error))?);
        let proxy = ForwardProxy::bind(Arc::clone(&gate), Arc::new(SystemResolver), upstream).await;
        let proxy = proxy.map_err(|error| failed(&error))?;
        let (address, proxy) = (proxy.address(), Proxy::Bound(Box::new(proxy)));
        Ok(Self { gate, address, proxy, refusals, enforced: order, noted: Noted::default(), waiting: Vec::new() })
    }

    /// Where the proxy listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the browser with this main process, and no other program. The browser's clients are told why there is no connection.
    pub(super) fn serve(&mut self, browser: u32, relay: Relay) {
        self.gate.set_hearer(Clients(relay));
        let Proxy::Bound(proxy) = std::mem::replace(&mut self.proxy, Proxy::Closed) else { return };
        // A browser that is gone already opens no connections.
        let Some(peers) = Peers::of(browser) else { return };
        let local = self.address;
        let is_ours = move |peer| match (peer, local) {
            (SocketAddr::V4(peer), SocketAddr::V4(local)) => peers.hold(peer, local),
            _ => false,
        };
        self.proxy = Proxy::Serving { _serving: proxy.serve(is_ours) };
    }

    /// Waits until something was refused.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn refused(&mut self) {
        match self.refusals.recv().await {
            Some(refusal) => self.waiting.push(refusal),
            None => std::future::pending().await,
        }
    }

    /// Brings the rules that the lease orders into force, and notes what was refused.
    pub(super) async fn look(&mut self, store: &dyn Store, session: &str) -> Result<(), StoreError> {
        self.note(store, session).await?;
        let Some(row) = store.session(session).await? else { return Ok(()) };
        if row.network == self.enforced {
            return Ok(());
        }
        // Rules that cannot be read were written by a newer host, which waits in vain and says so.
        let Ok(policy) = policy(&row.network) else { return Ok(()) };
        self.gate.replace(policy);
        self.enforced = row.network;
        // Open connections see the new rules before the host is told.
        tokio::task::yield_now().await;
        store.session_network_held(session, self.enforced.as_deref()).await
    }

    /// Notes what was refused, before the session ends or goes to another lease.
    pub(super) async fn note(&mut self, store: &dyn Store, session: &str) -> Result<(), StoreError> {
        while let Ok(refusal) = self.refusals.try_recv() {
            self.waiting.push(refusal);
        }
        // The browser asks for these services by itself; no script does.
        self.waiting.retain(|refusal| !matches!(refusal.rule, Rule::OwnService(_)));
        if self.waiting.is_empty() {
            return Ok(());
        }
        let Some(row) = store.session(session).await? else { return Ok(()) };
        let name = row.lease_name();
        let holder =
            store.leases().await?.into_iter().find(|lease| lease.name == name.as_str()).map(|lease| lease.holder);
        let token = holder.as_ref().map(|holder| holder.token);
        if self.noted.token != token {
            self.noted = Noted { token, ..Noted::default() };
        }
        let mut events = Vec::new();
        for Refusal { host, port, rule } in self.waiting.drain(..) {
            let Some(detail) = self.noted.count(host, port, rule.to_string()) else { continue };
            let event = Event::new(EventKind::NetworkRefused).key(row.key.as_deref()).session(session).detail(detail);
            let execution = holder.as_ref().map(|holder| holder.execution.clone());
            events.push(Event { execution, token, ..event });
        }
        if events.is_empty() { Ok(()) } else { store.audit_append(&events).await }
    }
}

/// The clients of a browser.
struct Clients(Relay);

#[async_trait]
impl Hear for Clients {
    async fn refused(&self, Refusal { host, port, rule }: &Refusal) {
        // No script navigates there.
        if !matches!(rule, Rule::OwnService(_)) {
            let why = NoConnection::Refused(rule.to_string());
            self.0.tell_failed(&FailedDestination { host: host.clone(), port: *port, why }).await;
        }
    }

    async fn unreachable(&self, host: &str, port: u16, error: NetError) {
        let why = NoConnection::Unreachable(error.as_str().to_owned());
        self.0.tell_failed(&FailedDestination { host: host.to_owned(), port, why }).await;
    }
}

impl Noted {
    /// Counts a refusal. Gives the detail to note, if this refusal is to be noted.
    fn count(&mut self, host: String, port: u16, rule: String) -> Option<serde_json::Value> {
        let known = (host, port, rule);
        if self.counts.len() >= NETWORK_REFUSALS_NOTED_MAX && !self.counts.contains_key(&known) {
            self.unlisted += 1;
            return self.unlisted.is_power_of_two().then(|| json!({ "further": self.unlisted }));
        }
        let count = self.counts.entry(known.clone()).or_default();
        *count += 1;
        let (host, port, rule) = known;
        count.is_power_of_two().then(|| json!({ "host": host, "port": port, "rule": rule, "count": *count }))
    }
}

/// Reads the rules that a lease orders.
fn policy(order: &Ordered) -> serde_json::Result<Policy> {
    order.as_deref().map_or_else(|| Ok(Policy::default()), serde_json::from_str)
}
