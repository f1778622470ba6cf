//! Gives browsers to executions.

use super::{
    browsers::{Browsers, BrowsersOfKeepers, LaunchOrder},
    clock::{Clock, MachineClock},
    door,
    fence::ordered,
    guarded::Guarded,
    held::{Held, Lent},
    hosts::{Host, HostLocks, Liveness as _},
    leasing::busy,
    profile_of_key,
    store::{
        EndReason, Forgotten, Holder, LeaseName, LeaseRef, Loss, NewSession, Retention, SessionRow, SessionState,
        SqliteStore, Stale, Store, StoreError, Watch,
    },
};
use crate::{
    network::{NetworkRules, Policy},
    state_dir::StateDir,
};
use async_trait::async_trait;
use codemode_chromium::Confinement;
use codemode_provider::{BrowserOrder, BrowserSession, Sessions};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{LEASE_RENEW_MS, LEASE_TTL_MS},
    session::SessionMode,
};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};
use tokio::sync::{Notify, oneshot};
use tokio_util::task::AbortOnDropHandle;

/// What can be set.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// A lease that is not renewed for so long is lost.
    pub lease_ttl: Duration,
    /// How often a lease is renewed; `None` leaves that to the simulation.
    pub renew_every: Option<Duration>,
    /// How long what is over is remembered.
    pub retention: Retention,
    /// What browsers may reach of the machine.
    pub confinement: Confinement,
    /// What browsers may reach, whatever a call says.
    pub network: NetworkRules,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            lease_ttl: Duration::from_millis(LEASE_TTL_MS),
            renew_every: Some(Duration::from_millis(LEASE_RENEW_MS)),
            retention: Retention::default(),
            confinement: Confinement::default(),
            network: NetworkRules::default(),
        }
    }
}

/// Gives browsers to executions: one-shot, reuse, dynamic. Cheap to clone.
///
/// # Invariants
/// A browser is used only by the execution that holds its lease; a lease that is not held leads to no effect; a browser
/// whose start or use was broken off is ended by its keeper, whatever became of this process.
#[derive(Clone)]
pub struct SessionManager {
    inner: Arc<Inner>,
    /// Others see by it that this process lives.
    _host: Option<Arc<Host>>,
}

pub(super) struct Inner {
    pub(super) store: Arc<dyn Store>,
    pub(super) browsers: Arc<dyn Browsers>,
    pub(super) settings: SessionSettings,
    pub(super) places: StateDir,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) host: String,
    pub(super) new_id: Box<dyn Fn() -> String + Send + Sync>,
    /// Those who wait in this process, by the name of what they wait for.
    pub(super) released: Mutex<HashMap<LeaseName, Weak<Notify>>>,
}

impl SessionManager {
    /// The sessions of a state folder, with keepers that run `program`. Ends what dead processes left.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn open(places: StateDir, program: PathBuf, settings: SessionSettings) -> Result<Self, ErrorReport> {
        let hosts = HostLocks::open(places.hosts())?;
        hosts.sweep();
        door::sweep(&places.sockets(), |session| hosts.is_alive(session));
        let id = format!("h-{:016x}", rand::random::<u64>());
        let host = hosts.enter(&id)?;
        let clock: Arc<dyn Clock> = Arc::new(MachineClock);
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&places.store(), Arc::clone(&clock), Arc::new(hosts.clone()))?);
        let browsers = Arc::new(BrowsersOfKeepers::new(places.clone(), program, Arc::clone(&store), hosts));
        let new_id = || format!("s-{:016x}", rand::random::<u64>());
        let manager = Self::of_parts(places, settings, store, browsers, clock, id, Box::new(new_id));
        Ok(Self { _host: Some(Arc::new(host)), ..manager })
    }

    /// One of parts: for simulations.
    pub fn of_parts(
        places: StateDir,
        settings: SessionSettings,
        store: Arc<dyn Store>,
        browsers: Arc<dyn Browsers>,
        clock: Arc<dyn Clock>,
        host: String,
        new_id: Box<dyn Fn() -> String + Send + Sync>,
    ) -> Self {
        let inner = Inner { store, browsers, settings, places, clock, host, new_id, released: Mutex::default() };
        Self { inner: Arc::new(inner), _host: None }
    }

    /// The store: for those who look.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Leases a browser. See [`Sessions::open`], which is this in a task of its own.
    ///
    /// # Errors
    /// As [`Sessions::open`].
    ///
    /// # Cancellation
    /// A lease that was granted is lost when it is not renewed; its browser ends.
    pub async fn lend(&self, order: BrowserOrder) -> Result<Held, ErrorReport> {
        let lent = self.inner.lend(&order).await?;
        Ok(Held::new(self.inner.clone(), order, lent))
    }

    /// Ends a session by an operator's hand, whoever uses it, and removes what is kept of its key. Of one that has ended
    /// only the latter is left to do.
    ///
    /// # Errors
    /// When it cannot be ended: it stays listed. When another session of the key is in use by now.
    pub async fn close(&self, session: &SessionRow) -> Result<(), ErrorReport> {
        let inner = &self.inner;
        let claim = inner.claim_of_ours(session.lease_name());
        if session.state == SessionState::Ended {
            let Some(key) = &session.key else { return Ok(()) };
            let forget = async |lease: &LeaseRef| {
                // First: whoever comes after one who died here removes the rest.
                inner.store.session_disowned(&session.id).await?;
                inner.forget(key, lease).await
            };
            let forgotten = inner.with_free_key(key, forget).await?;
            return forgotten.map_err(|holder| busy(key, &holder, Duration::ZERO, "it is not free"));
        }
        inner.store.session_closing(&session.id, EndReason::Operator, None).await?;
        let (lease, _) = inner.store.lease_seize(&claim).await?;
        let closed = async {
            inner.browsers.end(session, EndReason::Operator).await?;
            match &session.key {
                Some(key) => inner.forget(key, &lease).await,
                None => Ok(()),
            }
        };
        let closed = closed.await;
        inner.release(&lease).await;
        closed
    }

    /// Takes a session away from whoever uses it. The browser stays if it is shared and has started.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke(&self, session: &SessionRow) -> Result<Option<Holder>, ErrorReport> {
        let name = session.lease_name();
        let holder = self.inner.store.lease_revoke(&name).await?;
        self.inner.notify(&name);
        Ok(holder)
    }

    /// Sweeps now and again for as long as the handle is kept.
    pub fn keep_sweeping(&self, every: Duration) -> AbortOnDropHandle<()> {
        let manager = self.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut next = tokio::time::interval(every);
            next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                next.tick().await;
                match manager.sweep().await {
                    Ok(swept) if !swept.sessions.is_empty() => {
                        tracing::info!(
                            sessions = swept.sessions.len(),
                            "sessions that nobody may use any more were ended"
                        );
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "the sessions could not all be swept"),
                }
            }
        }))
    }

    /// Ends what nobody may use any more, and forgets what is old. Keepers do the first by themselves; this is for
    /// sessions whose keeper died, and for those who do not want to wait.
    ///
    /// # Errors
    /// With the first failure; the rest is done all the same.
    pub async fn sweep(&self) -> Result<Swept, ErrorReport> {
        let inner = &self.inner;
        let mut swept = Swept::default();
        let mut failure = None;
        for session in inner.store.sessions().await? {
            if session.state == SessionState::Ended {
                continue;
            }
            let reason = match inner.store.session_watch(&session.id).await? {
                Watch::End(reason) => reason,
                Watch::Keep if session.state == SessionState::Live && !inner.browsers.is_kept(&session) => {
                    EndReason::Crashed
                }
                Watch::Keep => continue,
            };
            match inner.end(&session, reason, None).await {
                Ok(()) => swept.sessions.push(session.id),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let retention = inner.settings.retention;
        let (mut gone, mut keys) = (Vec::new(), Vec::new());
        for Stale { id, last_of } in inner.store.stale(&retention).await? {
            let Some(key) = last_of else {
                gone.push(id);
                continue;
            };
            let forget = async |lease: &LeaseRef| {
                inner.forget(&key, lease).await?;
                Ok(inner.store.forget(std::slice::from_ref(&id), &retention).await.map(drop)?)
            };
            match inner.with_free_key(&key, forget).await {
                Ok(Ok(())) => {
                    swept.forgotten.sessions += 1;
                    keys.push(key);
                }
                // Somebody uses it again.
                Ok(Err(_)) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let forgotten = inner.store.forget(&gone, &retention).await?;
        swept.forgotten.sessions += forgotten.sessions;
        swept.forgotten.audit_rows = forgotten.audit_rows;
        swept.forgotten.keys = keys;
        failure.map_or(Ok(swept), Err)
    }
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Swept {
    /// The sessions that were ended.
    pub sessions: Vec<String>,
    /// What is forgotten.
    pub forgotten: Forgotten,
}

#[async_trait]
impl Sessions for SessionManager {
    async fn open(&self, order: BrowserOrder) -> Result<Arc<dyn BrowserSession>, ErrorReport> {
        // In a task, so that a caller who goes away leaves nothing half done.
        let (done, opened) = oneshot::channel();
        let manager = self.clone();
        // What nobody takes any more is released when it is dropped.
        tokio::spawn(async move { drop(done.send(manager.lend(order).await.map(Guarded::new))) });
        let guarded =
            opened.await.map_err(|_| ErrorReport::new(ErrorCode::HostFault, "opening a session panicked"))??;
        Ok(Arc::new(guarded))
    }
}

impl Inner {
    /// The browser that was asked for, under its lease.
    pub(super) async fn lend(&self, order: &BrowserOrder) -> Result<Lent, ErrorReport> {
        match (order.session.mode, order.session.key.as_deref()) {
            (SessionMode::OneShot, _) | (_, None) => self.start(order, None, None).await,
            (SessionMode::Reuse, Some(key)) => {
                let (lease, until_ms) = self.acquire(order, key).await?;
                self.lend_of_key(order, key, lease, until_ms, true).await
            }
            (SessionMode::Dynamic, Some(key)) => {
                if self.session_of(key).await?.is_none() {
                    return self.start(order, None, None).await;
                }
                let (lease, until_ms) = self.acquire(order, key).await?;
                self.lend_of_key(order, key, lease, until_ms, false).await
            }
        }
    }

    /// The shared browser of a key whose lease is held. If there is none, it is started, or, for one who does not want
    /// it to be, one that is not shared.
    async fn lend_of_key(
        &self,
        order: &BrowserOrder,
        key: &str,
        lease: LeaseRef,
        until_ms: i64,
        is_wanted: bool,
    ) -> Result<Lent, ErrorReport> {
        let lent = self.try_lend_of_key(order, key, &lease, until_ms, is_wanted).await;
        if !matches!(&lent, Ok(lent) if lent.lease == lease) {
            self.release(&lease).await;
        }
        lent
    }

    async fn try_lend_of_key(
        &self,
        order: &BrowserOrder,
        key: &str,
        lease: &LeaseRef,
        until_ms: i64,
        is_wanted: bool,
    ) -> Result<Lent, ErrorReport> {
        let found = self.session_of(key).await?;
        let is_usable = |row: &SessionRow| row.state == SessionState::Live && self.browsers.is_kept(row);
        match found {
            Some(session) if is_usable(&session) => {
                let (ttl_ms, network) = (order.session.ttl_ms(), self.network(order)?);
                let is_held = session.network_held == network && session.network == network;
                let execution = order.execution.as_str();
                self.store.session_attached(&session.id, lease, execution, ttl_ms, network.as_deref()).await?;
                if !is_held {
                    self.browsers.narrowed(&session).await?;
                }
                Ok(Lent { session, lease: lease.clone(), until_ms, fresh: false, warnings: Vec::new() })
            }
            // It ended while it was waited for.
            None if !is_wanted => self.start(order, None, None).await,
            found => {
                if let Some(session) = found {
                    self.renewing(lease, self.end(&session, EndReason::Crashed, Some(lease))).await?;
                    self.renew(lease).await?;
                }
                self.succeed(order, key, lease).await
            }
        }
    }

    /// Starts the browser of a key whose last one has ended.
    pub(super) async fn succeed(&self, order: &BrowserOrder, key: &str, lease: &LeaseRef) -> Result<Lent, ErrorReport> {
        let before = self.store.session_ended_of_key(key).await?;
        if before.as_ref().and_then(|before| before.reason).is_some_and(EndReason::forgets) {
            // Whoever ended it may have died before it was done.
            self.forget(key, lease).await?;
        }
        let mut lent = self.start(order, Some(key), Some(lease)).await?;
        lent.warnings.extend(before.and_then(|before| before.reason).and_then(|reason| replaced(key, reason)));
        Ok(lent)
    }

    /// Starts a browser: the shared one of a key under its lease, or one that is not shared.
    pub(super) async fn start(
        &self,
        order: &BrowserOrder,
        key: Option<&str>,
        lease: Option<&LeaseRef>,
    ) -> Result<Lent, ErrorReport> {
        let id = (self.new_id)();
        let session = NewSession {
            id: id.clone(),
            mode: order.session.mode,
            key: key.map(str::to_owned),
            profile: key.map_or_else(|| id.clone(), profile_of_key),
            profile_kept: key.is_some(),
            execution: order.execution.to_string(),
            host: self.host.clone(),
            ttl_ms: order.session.ttl_ms(),
            lease: lease.cloned(),
            lease_ttl_ms: self.lease_ttl_ms(),
            network: self.network(order)?,
        };
        let launch = LaunchOrder {
            session: id.clone(),
            profile: session.profile.clone(),
            profile_kept: session.profile_kept,
            executable: order.executable.clone(),
            headless: order.headless,
            downloads_dir: self.places.downloads(&id),
            confinement: self.settings.confinement.clone(),
            network: session.network.clone(),
        };
        let granted = self.store.session_begin(&session).await?;
        let launched = self.renewing(&granted, self.browsers.launch(&launch)).await;
        let Some(row) = self.store.session(&id).await? else {
            return Err(Loss::Ended { session: id, reason: None }.report());
        };
        match launched {
            Ok(browser) if row.state == SessionState::Live => {
                // A browser may take nearly as long to start as a lease holds.
                let until_ms = self.renew(&granted).await?;
                Ok(Lent { session: row, lease: granted, until_ms, fresh: true, warnings: browser.shortfalls })
            }
            Ok(_) => Err(ErrorReport::new(ErrorCode::SessionExpired, format!("the session {id} was ended at once"))),
            Err(error) => {
                // Whoever has lost the lease meanwhile is told so, and not what its keeper made of it.
                let held = self.store.lease_check(&granted, &id).await;
                // What keeps it from ending is worth less to the reader than why it did not start.
                if let Err(error) = self.end(&row, EndReason::NotStarted, None).await {
                    tracing::warn!(%error, "a browser that did not start could not be cleaned up");
                }
                if lease.is_none() {
                    self.release(&granted).await;
                }
                Err(match held {
                    Err(StoreError::NotHeld(loss)) => loss.report(),
                    _ => error,
                })
            }
        }
    }

    /// What an execution's browser may reach: what the operator allows, narrowed by what it asked for itself.
    fn network(&self, order: &BrowserOrder) -> Result<Option<String>, ErrorReport> {
        let call = order.session.network.as_ref().map(NetworkRules::parse).transpose();
        let call = call.map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))?;
        Ok(ordered(&Policy::narrow(self.settings.network.clone(), call)))
    }

    /// Does something under the lease of a key that nobody uses and that has no browser. Gives whoever uses it, if somebody
    /// does.
    async fn with_free_key(
        &self,
        key: &str,
        work: impl AsyncFnOnce(&LeaseRef) -> Result<(), ErrorReport>,
    ) -> Result<Result<(), Holder>, ErrorReport> {
        let claim = self.claim_of_ours(LeaseName::of_key(key));
        let lease = match self.store.lease_take(&claim).await? {
            Ok(lease) => lease,
            Err(holder) => return Ok(Err(holder)),
        };
        let done = async {
            match self.session_of(key).await? {
                None => work(&lease).await,
                Some(_) => Ok(()),
            }
        };
        let done = done.await;
        self.release(&lease).await;
        done.map(Ok)
    }

    /// The session that is a key's and has not ended.
    pub(super) async fn session_of(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        self.store.session_of_key(key).await
    }

    /// Removes what is kept of a key whose lease is held and whose browser has ended.
    pub(super) async fn forget(&self, key: &str, lease: &LeaseRef) -> Result<(), ErrorReport> {
        // To end the browser may have taken long.
        self.renew(lease).await?;
        self.browsers.forget_profile(key).await?;
        self.browsers.forget_cookies(key).await
    }

    /// Ends a session's browser, under a lease if it is not anybody's to end. If that fails the session stays, to be ended
    /// by whoever sweeps.
    pub(super) async fn end(
        &self,
        session: &SessionRow,
        reason: EndReason,
        under: Option<&LeaseRef>,
    ) -> Result<(), ErrorReport> {
        if self.store.session_closing(&session.id, reason, under).await? {
            self.browsers.end(session, reason).await?;
        }
        Ok(())
    }
}

/// What the reader of an answer is told when the browser is not the one that was there, if it is worth a word: what a
/// script closed or reset is missed by nobody.
pub(super) fn replaced(key: &str, reason: EndReason) -> Option<String> {
    let what = match reason {
        EndReason::Crashed | EndReason::Idle | EndReason::Abandoned => {
            "Cookies and stored data of the key are back as far as they were saved; tabs and what pages held in memory are \
             gone."
        }
        EndReason::Operator => "Nothing of it is left: log in again.",
        EndReason::Done | EndReason::Closed | EndReason::Reset | EndReason::Replaced | EndReason::NotStarted => {
            return None;
        }
    };
    Some(format!("The browser of {key:?} was replaced by a fresh one: {reason}. {what}"))
}
