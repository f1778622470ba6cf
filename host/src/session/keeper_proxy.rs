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
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{NETWORK_REFUSALS_NOTED_MAX, NETWORK_REFUSALS_QUEUED_MAX},
};
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
    /// Refusals that are not in the audit yet.
    pending: Vec<Refusal>,
    /// Refusals beyond them, of which only the number is known.
    pending_further: u64,
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
#[derive(Clone, Default)]
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
            pending_further: 0,
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
            Some(refusal) => self.note(refusal),
            None => std::future::pending().await,
        }
    }

    /// Holds a refusal until it is in the audit.
    fn note(&mut self, refusal: Refusal) {
        // The browser contacts these services by itself; no script does.
        if matches!(refusal.rule, Rule::OwnService(_)) {
            return;
        }
        // While the store fails, a page can cause any number of refusals.
        if self.pending.len() < NETWORK_REFUSALS_QUEUED_MAX {
            self.pending.push(refusal);
        } else {
            self.pending_further += 1;
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
            self.note(refusal);
        }
        self.pending_further += self.gate.take_dropped();
        if self.pending.is_empty() && self.pending_further == 0 {
            return Ok(());
        }
        let Some(row) = store.session(session).await? else { return Ok(()) };
        let name = row.lease_name();
        let holder =
            store.leases().await?.into_iter().find(|lease| lease.name == name.as_str()).map(|lease| lease.holder);
        let token = holder.as_ref().map(|holder| holder.token);
        let mut counted = if self.counted.token == token {
            self.counted.clone()
        } else {
            RefusalCounts { token, ..RefusalCounts::default() }
        };
        let listed = self.pending.iter().map(|Refusal { host, port, rule }| (host.clone(), *port, rule.to_string()));
        let mut details: Vec<_> = listed.filter_map(|known| counted.count(known)).collect();
        details.extend(counted.count_further(self.pending_further));
        let event = |detail| {
            let event = Event::new(EventKind::NetworkRefused).key(row.key.as_deref()).session(session).detail(detail);
            Event { execution: holder.as_ref().map(|holder| holder.execution.clone()), token, ..event }
        };
        let events: Vec<_> = details.into_iter().map(event).collect();
        if !events.is_empty() {
            store.audit_append(&events).await?;
        }
        // Only now: what could not be written is written later.
        self.counted = counted;
        self.pending.clear();
        self.pending_further = 0;
        Ok(())
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
    fn count(&mut self, known: (String, u16, String)) -> Option<serde_json::Value> {
        if self.counts.len() >= NETWORK_REFUSALS_NOTED_MAX && !self.counts.contains_key(&known) {
            return self.count_further(1);
        }
        let count = self.counts.entry(known.clone()).or_default();
        *count += 1;
        let (host, port, rule) = known;
        count.is_power_of_two().then(|| json!({ "host": host, "port": port, "rule": rule, "count": *count }))
    }

    /// Counts refusals that are not listed by destination. Returns the detail of their audit row, if they get one.
    fn count_further(&mut self, more: u64) -> Option<serde_json::Value> {
        let before = self.unlisted;
        self.unlisted += more;
        // Whether a power of two was reached, so that many at once get one row.
        let is_told = self.unlisted.checked_ilog2() > before.checked_ilog2();
        is_told.then(|| json!({ "further": self.unlisted }))
    }
}

/// Parses the rules that a lease requires.
fn policy(rules: &RulesJson) -> serde_json::Result<Policy> {
    rules.as_deref().map_or_else(|| Ok(Policy::default()), serde_json::from_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{
        clock::MachineClock,
        liveness::ProcessLocks,
        store::{
            Access, AuditStore as _, Database, Finish, NewSession, SessionStore as _, SqliteStore, Work,
            audit::AuditFilter,
        },
    };
    use codemode_spec::session::SessionMode;
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        time::Duration,
    };

    /// A store that can be read, and written only some of the time.
    struct Flaky {
        store: SqliteStore,
        fails: AtomicBool,
    }

    #[async_trait]
    impl Database for Flaky {
        async fn transact(&self, access: Access, work: Work) -> Result<(), StoreError> {
            if access == Access::Write && self.fails.load(Ordering::Relaxed) {
                return Err(StoreError::Full { path: "store.db".into() });
            }
            self.store.transact(access, work).await
        }

        fn enqueue(&self, delay: Duration, work: Work, finish: Finish) {
            self.store.enqueue(delay, work, finish);
        }
    }

    #[tokio::test]
    async fn refusals_wait_for_a_store_that_fails_and_take_no_more_memory_than_they_may() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = ProcessLocks::open(folder.path().join("hosts")).unwrap();
        let store =
            SqliteStore::open(&folder.path().join("store.db"), Arc::new(MachineClock), Arc::new(hosts)).unwrap();
        let store = Flaky { store, fails: AtomicBool::new(false) };
        let session = NewSession {
            id: "s-1".to_owned(),
            mode: SessionMode::OneShot,
            key: None,
            profile: "s-1".to_owned(),
            profile_kept: false,
            execution: "x".to_owned(),
            host: "h".to_owned(),
            ttl_ms: 1_000,
            lease: None,
            lease_ttl_ms: 1_000_000,
            network: None,
        };
        store.session_begin(&session).await.unwrap();
        let mut proxy = KeeperProxy::start(None).await.unwrap();
        let refusal = |port| Refusal { host: "site.test".to_owned(), port, rule: Rule::MetadataName("site.test") };
        store.fails.store(true, Ordering::Relaxed);
        let further = 1_000;
        for number in 0..NETWORK_REFUSALS_QUEUED_MAX + further {
            proxy.note(refusal(u16::from(number > 2)));
            if number % 100 == 0 {
                proxy.record_refusals(&store, "s-1").await.unwrap_err();
            }
        }
        assert_eq!(proxy.pending.len(), NETWORK_REFUSALS_QUEUED_MAX);
        store.fails.store(false, Ordering::Relaxed);
        proxy.record_refusals(&store, "s-1").await.unwrap();
        proxy.record_refusals(&store, "s-1").await.unwrap();
        let filter = AuditFilter { kind: Some(EventKind::NetworkRefused), limit: usize::MAX, ..AuditFilter::default() };
        let rows = store.audit_read(&filter).await.unwrap();
        let details = rows.iter().map(|row| serde_json::from_str::<serde_json::Value>(&row.detail).unwrap());
        let details: Vec<_> =
            details.map(|row| (row["port"].as_u64(), row["count"].as_u64(), row["further"].as_u64())).collect();
        let listed = |port, count| (Some(port), Some(count), None);
        let of_second = (0..8).map(|power| listed(1, 1 << power));
        let told =
            [listed(0, 1), listed(0, 2)].into_iter().chain(of_second).chain([(None, None, Some(further as u64))]);
        assert_eq!(details, told.collect::<Vec<_>>());
        assert!(proxy.pending.is_empty());
        assert!(rows.iter().all(|row| row.execution.as_deref() == Some("x") && row.token.is_some()));
    }
}
