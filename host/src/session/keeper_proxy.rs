//! The forward proxy of a keeper's browser: enforces the network rules of the current lease, and records refusals in
//! the audit.

use super::store::{
    Store, StoreError,
    audit::{Event, EventKind},
};
use crate::network::{
    ForwardProxy, Gate, GateObserver, NetError, Policy, Refusal, Rule, Serving, SystemResolver, Upstream,
};
use async_trait::async_trait;
use codemode_chromium::{FailedDestination, NoConnection, Peers, Relay};
use codemode_spec::{ErrorCode, ErrorReport, limits::NETWORK_REFUSALS_NOTED_MAX};
use serde_json::json;
use std::{collections::HashMap, fmt::Display, net::SocketAddr, sync::Arc};
use tokio::sync::mpsc::Receiver;

/// The network rules that a lease requires, as JSON: `None` is the default rules.
pub(super) type RulesJson = Option<String>;

/// Serialises rules for the session's record.
pub(super) fn rules_json(policy: &Policy) -> RulesJson {
    // Plain data always serialises.
    (!policy.is_default()).then(|| serde_json::to_string(policy).unwrap_or_default())
}

/// The proxy between one browser and the network.
pub(super) struct KeeperProxy {
    gate: Arc<Gate>,
    address: SocketAddr,
    proxy: ProxyState,
    refusals: Receiver<Refusal>,
    enforced: RulesJson,
    counted: RefusalCounts,
    pending: Vec<Refusal>,
}

enum ProxyState {
    /// The proxy listens, but the browser has not started yet.
    Bound(Box<ForwardProxy>),
    Serving {
        _serving: Serving,
    },
    Closed,
}

/// How often each destination was refused to one lease. A refusal is audited the first, second, fourth, eighth … time.
#[derive(Default)]
struct RefusalCounts {
    token: Option<u64>,
    counts: HashMap<(String, u16, String), u64>,
    unlisted: u64,
}

impl KeeperProxy {
    /// Binds the proxy, before the browser that will use it starts.
    pub(super) async fn start(rules: RulesJson) -> Result<Self, ErrorReport> {
        let failed = |error: &dyn Display| {
            ErrorReport::new(
                ErrorCode::BrowserLaunchFailed,
                format!("the browser's proxy could not be started: {error}"),
            )
        };
        let upstream = Upstream::of_environment().map_err(|fault| {
            failed(&fault).with_hint("Correct the variable, or remove it from the environment of codemode.")
        })?;
        let (gate, refusals) = Gate::new(policy(&rules).map_err(|error| failed(&error))?);
        let proxy = ForwardProxy::bind(Arc::clone(&gate), Arc::new(SystemResolver), upstream).await;
        let proxy = proxy.map_err(|error| failed(&error))?;
        let (address, proxy) = (proxy.address(), ProxyState::Bound(Box::new(proxy)));
        Ok(Self {
            gate,
            address,
            proxy,
            refusals,
            enforced: rules,
            counted: RefusalCounts::default(),
            pending: Vec::new(),
        })
    }

    /// The address on which the proxy listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the browser with this main process, and no other program. Reports failed connections to the browser's
    /// clients.
    pub(super) fn serve(&mut self, browser: u32, relay: Relay) {
        self.gate.set_observer(Clients(relay));
        let ProxyState::Bound(proxy) = std::mem::replace(&mut self.proxy, ProxyState::Closed) else { return };
        // A browser that has exited already opens no connections.
        let Some(peers) = Peers::of(browser) else { return };
        let local = self.address;
        let is_ours = move |peer| match (peer, local) {
            (SocketAddr::V4(peer), SocketAddr::V4(local)) => peers.hold(peer, local),
            _ => false,
        };
        self.proxy = ProxyState::Serving { _serving: proxy.serve(is_ours) };
    }

    /// Waits for the next refusal.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn refused(&mut self) {
        match self.refusals.recv().await {
            Some(refusal) => self.pending.push(refusal),
            None => std::future::pending().await,
        }
    }

    /// Enforces the rules that the lease requires, and records pending refusals.
    pub(super) async fn apply_rules(&mut self, store: &dyn Store, session: &str) -> Result<(), StoreError> {
        self.record_refusals(store, session).await?;
        let Some(row) = store.session(session).await? else { return Ok(()) };
        if row.network == self.enforced {
            return Ok(());
        }
        // Rules that cannot be parsed were written by a newer host, which times out and reports it.
        let Ok(policy) = policy(&row.network) else { return Ok(()) };
        self.gate.replace(policy);
        self.enforced = row.network;
        // Lets the tasks of open connections see the new rules before the host is notified.
        tokio::task::yield_now().await;
        store.session_network_held(session, self.enforced.as_deref()).await
    }

    /// Records pending refusals in the audit, before the session ends or another lease is granted.
    pub(super) async fn record_refusals(&mut self, store: &dyn Store, session: &str) -> Result<(), StoreError> {
        while let Ok(refusal) = self.refusals.try_recv() {
            self.pending.push(refusal);
        }
        // The browser contacts these services by itself; no script does.
        self.pending.retain(|refusal| !matches!(refusal.rule, Rule::OwnService(_)));
        if self.pending.is_empty() {
            return Ok(());
        }
        let Some(row) = store.session(session).await? else { return Ok(()) };
        let name = row.lease_name();
        let holder =
            store.leases().await?.into_iter().find(|lease| lease.name == name.as_str()).map(|lease| lease.holder);
        let token = holder.as_ref().map(|holder| holder.token);
        if self.counted.token != token {
            self.counted = RefusalCounts { token, ..RefusalCounts::default() };
        }
        let mut events = Vec::new();
        for Refusal { host, port, rule } in self.pending.drain(..) {
            let Some(detail) = self.counted.count(host, port, rule.to_string()) else { continue };
            let event = Event::new(EventKind::NetworkRefused).key(row.key.as_deref()).session(session).detail(detail);
            let execution = holder.as_ref().map(|holder| holder.execution.clone());
            events.push(Event { execution, token, ..event });
        }
        if events.is_empty() { Ok(()) } else { store.audit_append(&events).await }
    }
}

/// Reports failed connections to the clients of a browser.
struct Clients(Relay);

#[async_trait]
impl GateObserver for Clients {
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

impl RefusalCounts {
    /// Counts a refusal. Returns the detail of its audit row, if it gets one.
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

/// Parses the rules that a lease requires.
fn policy(rules: &RulesJson) -> serde_json::Result<Policy> {
    rules.as_deref().map_or_else(|| Ok(Policy::default()), serde_json::from_str)
}
