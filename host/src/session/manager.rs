//! The entry point of this module: acquires browsers for executions, and administers sessions for operators.

use super::{
    browsers::{Browsers, KeeperBrowsers},
    cancel_safe::CancelSafe,
    clock::{Clock, MachineClock},
    info::{self, SessionInfo, SessionTotals},
    keeper_socket,
    leased_session::LeasedSession,
    leases::{Lease, Leases, busy},
    liveness::{Liveness as _, ProcessLock, ProcessLocks},
    provisioner::{BrowserProvisioner, KeyUse},
    rules::ends_in_sweep,
    store::{EndReason, Forgotten, Holder, Retention, SessionRow, SessionState, SqliteStore, Stale, Store},
};
use crate::{network::NetworkRules, state_dir::StateDir};
use async_trait::async_trait;
use codemode_chromium::Confinement;
use codemode_provider::{BrowserOrder, BrowserSession, KeptBrowser, Sessions};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{LEASE_RENEW_MS, LEASE_TTL_MS},
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// The settings of an operator.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// A lease that is not renewed for this time is lost.
    pub lease_ttl: Duration,
    /// How often a lease is renewed; `None` leaves that to the simulation.
    pub renew_every: Option<Duration>,
    /// How long ended sessions, logins and audit rows are retained.
    pub retention: Retention,
    /// Which files of the machine browsers can access.
    pub confinement: Confinement,
    /// The network rules of all browsers: a caller or a call can only narrow them.
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

/// Acquires browsers for executions in the modes one-shot, reuse and dynamic. Cheap to clone.
///
/// # Invariants
/// Only the execution that holds the lease of a browser uses it. A lease that was lost has no further effect. A browser
/// whose start or use was interrupted is ended by its keeper, even if this process dies.
#[derive(Clone)]
pub struct SessionManager {
    provisioner: Arc<BrowserProvisioner>,
    retention: Retention,
    /// Proves to other processes that this process is alive.
    _alive: Option<Arc<ProcessLock>>,
}

impl SessionManager {
    /// The sessions of a state folder, with keepers that run `program`. Removes the locks and sockets of dead
    /// processes.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn open(state_dir: StateDir, program: PathBuf, settings: SessionSettings) -> Result<Self, ErrorReport> {
        let locks = ProcessLocks::open(state_dir.hosts())?;
        locks.sweep();
        keeper_socket::remove_stale(&state_dir.sockets(), |session| locks.is_alive(session));
        let id = format!("h-{:016x}", rand::random::<u64>());
        let alive = locks.enter(&id)?;
        let clock: Arc<dyn Clock> = Arc::new(MachineClock);
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&state_dir.store(), Arc::clone(&clock), Arc::new(locks.clone()))?);
        let browsers = Arc::new(KeeperBrowsers::new(state_dir.clone(), program, Arc::clone(&store), locks));
        let new_id = || format!("s-{:016x}", rand::random::<u64>());
        let manager = Self::of_parts(state_dir, settings, store, browsers, clock, id, Box::new(new_id));
        Ok(Self { _alive: Some(Arc::new(alive)), ..manager })
    }

    /// A manager with injected dependencies, for simulations.
    pub fn of_parts(
        state_dir: StateDir,
        settings: SessionSettings,
        store: Arc<dyn Store>,
        browsers: Arc<dyn Browsers>,
        clock: Arc<dyn Clock>,
        host: String,
        new_id: Box<dyn Fn() -> String + Send + Sync>,
    ) -> Self {
        let SessionSettings { lease_ttl, renew_every, retention, confinement, network } = settings;
        let leases = Leases::new(Arc::clone(&store), clock, host, lease_ttl, renew_every);
        let provisioner = BrowserProvisioner { store, leases, browsers, state_dir, confinement, network, new_id };
        Self { provisioner: Arc::new(provisioner), retention, _alive: None }
    }

    /// The store: for listings and the audit.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.provisioner.store
    }

    /// The sessions that have not ended, and the last `ended_max` ended sessions.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, ended_max: usize) -> Result<Vec<SessionInfo>, ErrorReport> {
        let provisioner = &self.provisioner;
        info::list(provisioner.store.as_ref(), &provisioner.state_dir, ended_max, provisioner.leases.wall_ms()).await
    }

    /// The numbers of sessions, leases and browsers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn totals(&self) -> Result<SessionTotals, ErrorReport> {
        info::totals(self.provisioner.store.as_ref()).await
    }

    /// A session by its id, or by its key: the live session of the key, else its last.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no such session; when the store cannot be read.
    pub async fn find(&self, name: &str) -> Result<SessionRow, ErrorReport> {
        info::find(self.provisioner.store.as_ref(), name).await
    }

    /// Describes a session. Requests the URLs of the pages from its keeper.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn describe(&self, session: SessionRow) -> Result<SessionInfo, ErrorReport> {
        let provisioner = &self.provisioner;
        let leases = provisioner.store.leases().await?;
        Ok(info::describe(&provisioner.state_dir, session, &leases, provisioner.leases.wall_ms()).await)
    }

    /// Acquires a browser and its lease. [`Sessions::open`] does the same in a dedicated task.
    ///
    /// # Errors
    /// As [`Sessions::open`].
    ///
    /// # Cancellation
    /// A lease that was already granted is not renewed and expires; its browser ends.
    pub async fn acquire(&self, order: BrowserOrder) -> Result<LeasedSession, ErrorReport> {
        let browser = self.provisioner.acquire(&order).await?;
        Ok(LeasedSession::new(Arc::clone(&self.provisioner), order, browser))
    }

    /// Ends a session for an operator, even while an execution uses it, and removes the profile and the cookies of its
    /// key. If the session has ended, only the profile and the cookies are removed.
    ///
    /// # Errors
    /// When the session cannot be ended: it stays listed. When another session of the key is in use by now.
    pub async fn close(&self, session: &SessionRow) -> Result<(), ErrorReport> {
        let provisioner = &self.provisioner;
        if session.state == SessionState::Ended {
            let Some(key) = &session.key else { return Ok(()) };
            let forget = async |lease: &Lease| {
                // Recorded first: if this process dies here, the next holder of the key removes the rest.
                provisioner.store.session_data_removed(&session.id).await?;
                provisioner.forget(key, lease).await
            };
            return provisioner.with_free_key(key, forget).await?.map_err(|used| match used {
                KeyUse::Leased(holder) => busy(key, &holder, Duration::ZERO, "it is not free"),
                KeyUse::HasBrowser(other) => taken_over(key, &other),
            });
        }
        self.end(session, EndReason::Operator).await
    }

    /// Ends the browser of a session, even while an execution uses it. The profile and the cookies of its key stay.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub async fn stop(&self, session: &SessionRow) -> Result<(), ErrorReport> {
        match session.state {
            SessionState::Ended => Ok(()),
            _ => self.end(session, EndReason::Stopped).await,
        }
    }

    async fn end(&self, session: &SessionRow, reason: EndReason) -> Result<(), ErrorReport> {
        let provisioner = &self.provisioner;
        provisioner.store.session_closing(&session.id, reason, None).await?;
        let lease = provisioner.leases.seize(session.lease_name(), &(provisioner.new_id)()).await?;
        let ended = async {
            provisioner.browsers.end(session, reason).await?;
            match &session.key {
                Some(key) if reason.forgets() => provisioner.forget(key, &lease).await,
                _ => Ok(()),
            }
        };
        let ended = ended.await;
        provisioner.leases.release_if_held(&lease).await;
        ended
    }

    /// Revokes the lease on a session, and returns its holder. The browser stays if the session is shared and the
    /// browser has started.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke(&self, session: &SessionRow) -> Result<Option<Holder>, ErrorReport> {
        let name = session.lease_name();
        let holder = self.provisioner.store.lease_revoke(&name).await?;
        self.provisioner.leases.notify(&name);
        Ok(holder)
    }

    /// Sweeps at this interval until the handle is dropped.
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
                            "sessions that no execution may use any more were ended"
                        );
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "the sessions could not all be swept"),
                }
            }
        }))
    }

    /// Ends the sessions that no execution may use any more, and removes what retention no longer covers. Keepers end
    /// their sessions by themselves; the sweep is for sessions whose keeper died, and for operators who do not want to
    /// wait.
    ///
    /// # Errors
    /// The first failure. All other sessions and keys are still processed.
    pub async fn sweep(&self) -> Result<Swept, ErrorReport> {
        let provisioner = &self.provisioner;
        let mut swept = Swept::default();
        let mut failure = FirstFailure::default();
        for session in failure.or_default(provisioner.store.sessions().await) {
            if session.state == SessionState::Ended {
                continue;
            }
            let ended = self.end_if_unused(&session).await;
            if failure.or_default(ended) {
                swept.sessions.push(session.id);
            }
        }
        let retention = self.retention;
        let (mut gone, mut keys, mut of_keys) = (Vec::new(), Vec::new(), 0);
        for Stale { id, last_of } in failure.or_default(provisioner.store.stale(&retention).await) {
            let Some(key) = last_of else {
                gone.push(id);
                continue;
            };
            let forget = async |lease: &Lease| {
                provisioner.forget(&key, lease).await?;
                Ok(provisioner.store.forget(std::slice::from_ref(&id), &retention).await.map(drop)?)
            };
            let forgotten = provisioner.with_free_key(&key, forget).await;
            // Not if the key is in use again.
            if failure.or_default(forgotten.map(|free| free.is_ok())) {
                of_keys += 1;
                keys.push(key);
            }
        }
        let forgotten = failure.or_default(provisioner.store.forget(&gone, &retention).await);
        swept.forgotten = Forgotten { sessions: of_keys + forgotten.sessions, keys, ..forgotten };
        failure.0.map_or(Ok(swept), Err)
    }

    /// Ends the browser of a session that no execution may use any more; `false` if the session stays.
    async fn end_if_unused(&self, session: &SessionRow) -> Result<bool, ErrorReport> {
        let provisioner = &self.provisioner;
        let watch = provisioner.store.session_watch(&session.id).await?;
        let has_keeper = provisioner.browsers.has_keeper(session);
        let Some(reason) = ends_in_sweep(session.state, &watch, has_keeper) else { return Ok(false) };
        provisioner.end(session, reason, None).await.map(|()| true)
    }
}

/// The first failure of several steps, all of which are taken.
#[derive(Default)]
struct FirstFailure(Option<ErrorReport>);

impl FirstFailure {
    fn or_default<T: Default>(&mut self, step: Result<T, impl Into<ErrorReport>>) -> T {
        step.unwrap_or_else(|error| {
            self.0.get_or_insert_with(|| error.into());
            T::default()
        })
    }
}

/// The error for removing the profile and the cookies of an ended session whose key has another browser by now.
fn taken_over(key: &str, other: &str) -> ErrorReport {
    let message = format!("what is stored of {key:?} belongs to another browser by now: the session {other}");
    ErrorReport::new(ErrorCode::SessionBusy, message)
        .with_hint("Close that session: this ends its browser and removes the profile and the cookies of the key.")
        .with_detail("session", other)
}

/// The result of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Swept {
    /// The sessions that were ended.
    pub sessions: Vec<String>,
    /// The records that the sweep removed.
    pub forgotten: Forgotten,
}

#[async_trait]
impl Sessions for SessionManager {
    async fn open(&self, order: BrowserOrder) -> Result<Arc<dyn BrowserSession>, ErrorReport> {
        // In a task, so that dropping the caller's future leaves nothing half done.
        let (done, opened) = oneshot::channel();
        let manager = self.clone();
        // If the caller's future was dropped, dropping the session releases it.
        tokio::spawn(async move { drop(done.send(manager.acquire(order).await.map(CancelSafe::new))) });
        let session =
            opened.await.map_err(|_| ErrorReport::new(ErrorCode::HostFault, "opening a session panicked"))??;
        Ok(Arc::new(session))
    }

    async fn look(&self, key: &str) -> Result<Option<KeptBrowser>, ErrorReport> {
        info::live_browser(self.store().as_ref(), &self.provisioner.state_dir, key, self.provisioner.leases.wall_ms())
            .await
    }
}
