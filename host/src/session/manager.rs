//! Gives browsers to executions.

use super::{
    browsers::{Browsers, BrowsersOfKeepers},
    cancel_safe::CancelSafe,
    clock::{Clock, MachineClock},
    door,
    info::{self, SessionInfo, Stock},
    leased::LeasedSession,
    leases::{Lease, Leases, busy},
    lending::Lending,
    liveness::{Liveness as _, ProcessLock, ProcessLocks},
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

/// What the operator can set.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// A lease that is not renewed for this time is lost.
    pub lease_ttl: Duration,
    /// How often a lease is renewed; `None` leaves that to the simulation.
    pub renew_every: Option<Duration>,
    /// How long ended sessions, logins and audit rows are kept.
    pub retention: Retention,
    /// What browsers may reach of the machine.
    pub confinement: Confinement,
    /// What browsers may reach at most: a call can narrow these rules.
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
    lending: Arc<Lending>,
    retention: Retention,
    /// Tells others that this process lives.
    _alive: Option<Arc<ProcessLock>>,
}

impl SessionManager {
    /// The sessions of a state folder, with keepers that run `program`. Removes the locks and sockets of dead processes.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn open(places: StateDir, program: PathBuf, settings: SessionSettings) -> Result<Self, ErrorReport> {
        let locks = ProcessLocks::open(places.hosts())?;
        locks.sweep();
        door::sweep(&places.sockets(), |session| locks.is_alive(session));
        let id = format!("h-{:016x}", rand::random::<u64>());
        let alive = locks.enter(&id)?;
        let clock: Arc<dyn Clock> = Arc::new(MachineClock);
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&places.store(), Arc::clone(&clock), Arc::new(locks.clone()))?);
        let browsers = Arc::new(BrowsersOfKeepers::new(places.clone(), program, Arc::clone(&store), locks));
        let new_id = || format!("s-{:016x}", rand::random::<u64>());
        let manager = Self::of_parts(places, settings, store, browsers, clock, id, Box::new(new_id));
        Ok(Self { _alive: Some(Arc::new(alive)), ..manager })
    }

    /// The sessions of given parts: for simulations.
    pub fn of_parts(
        places: StateDir,
        settings: SessionSettings,
        store: Arc<dyn Store>,
        browsers: Arc<dyn Browsers>,
        clock: Arc<dyn Clock>,
        host: String,
        new_id: Box<dyn Fn() -> String + Send + Sync>,
    ) -> Self {
        let SessionSettings { lease_ttl, renew_every, retention, confinement, network } = settings;
        let leases = Leases::new(Arc::clone(&store), clock, host, lease_ttl, renew_every);
        let lending = Lending { store, leases, browsers, places, confinement, network, new_id };
        Self { lending: Arc::new(lending), retention, _alive: None }
    }

    /// The store: for listings and the audit.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.lending.store
    }

    /// The sessions that live, and the last `ended_max` of those that ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, ended_max: usize) -> Result<Vec<SessionInfo>, ErrorReport> {
        let lending = &self.lending;
        info::list(lending.store.as_ref(), &lending.places, ended_max, lending.leases.wall_ms()).await
    }

    /// How much of everything there is.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn stock(&self) -> Result<Stock, ErrorReport> {
        info::stock(self.lending.store.as_ref()).await
    }

    /// A session by its id, or by its key: the live session of the key, else its last.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no such session; when the store cannot be read.
    pub async fn find(&self, name: &str) -> Result<SessionRow, ErrorReport> {
        info::find(self.lending.store.as_ref(), name).await
    }

    /// What is known of a session; its browser is asked for its pages.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn describe(&self, session: SessionRow) -> Result<SessionInfo, ErrorReport> {
        let lending = &self.lending;
        let leases = lending.store.leases().await?;
        Ok(info::describe(&lending.places, session, &leases, lending.leases.wall_ms()).await)
    }

    /// Leases a browser. See [`Sessions::open`], which is this in a task of its own.
    ///
    /// # Errors
    /// As [`Sessions::open`].
    ///
    /// # Cancellation
    /// A lease that was granted is lost when it is not renewed; its browser ends.
    pub async fn lend(&self, order: BrowserOrder) -> Result<LeasedSession, ErrorReport> {
        let browser = self.lending.lend(&order).await?;
        Ok(LeasedSession::new(Arc::clone(&self.lending), order, browser))
    }

    /// Ends a session for an operator, even while an execution uses it, and removes the profile and the cookies of its key.
    /// If the session has ended, only the profile and the cookies are removed.
    ///
    /// # Errors
    /// When the session cannot be ended: it stays listed. When another session of the key is in use by now.
    pub async fn close(&self, session: &SessionRow) -> Result<(), ErrorReport> {
        let lending = &self.lending;
        if session.state == SessionState::Ended {
            let Some(key) = &session.key else { return Ok(()) };
            let forget = async |lease: &Lease| {
                // Noted first: if this process dies here, the next holder of the key removes the rest.
                lending.store.session_disowned(&session.id).await?;
                lending.forget(key, lease).await
            };
            let forgotten = lending.with_free_key(key, forget).await?;
            return forgotten.map_err(|holder| busy(key, &holder, Duration::ZERO, "it is not free"));
        }
        self.end(session, EndReason::Operator).await
    }

    /// Ends the browser of a session, even while an execution uses it. What is kept of its key stays.
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
        let lending = &self.lending;
        lending.store.session_closing(&session.id, reason, None).await?;
        let lease = lending.leases.seize(session.lease_name(), &(lending.new_id)()).await?;
        let ended = async {
            lending.browsers.end(session, reason).await?;
            match &session.key {
                Some(key) if reason.forgets() => lending.forget(key, &lease).await,
                _ => Ok(()),
            }
        };
        let ended = ended.await;
        lending.leases.release_if_held(&lease).await;
        ended
    }

    /// Takes a session away from its holder. The browser stays if the session is shared and the browser has
    /// started.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke(&self, session: &SessionRow) -> Result<Option<Holder>, ErrorReport> {
        let name = session.lease_name();
        let holder = self.lending.store.lease_revoke(&name).await?;
        self.lending.leases.notify(&name);
        Ok(holder)
    }

    /// Sweeps at this interval for as long as the handle is kept.
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

    /// Ends the sessions that no execution may use any more, and forgets what is old. Keepers do the first by
    /// themselves; this is for sessions whose keeper died, and for operators who do not want to wait.
    ///
    /// # Errors
    /// With the first failure; the rest is done all the same.
    pub async fn sweep(&self) -> Result<Swept, ErrorReport> {
        let lending = &self.lending;
        let mut swept = Swept::default();
        let mut failure = None;
        for session in lending.store.sessions().await? {
            if session.state == SessionState::Ended {
                continue;
            }
            let watch = lending.store.session_watch(&session.id).await?;
            let has_keeper = lending.browsers.is_kept(&session);
            let Some(reason) = ends_in_sweep(session.state, &watch, has_keeper) else { continue };
            match lending.end(&session, reason, None).await {
                Ok(()) => swept.sessions.push(session.id),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let retention = self.retention;
        let (mut gone, mut keys) = (Vec::new(), Vec::new());
        for Stale { id, last_of } in lending.store.stale(&retention).await? {
            let Some(key) = last_of else {
                gone.push(id);
                continue;
            };
            let forget = async |lease: &Lease| {
                lending.forget(&key, lease).await?;
                Ok(lending.store.forget(std::slice::from_ref(&id), &retention).await.map(drop)?)
            };
            match lending.with_free_key(&key, forget).await {
                Ok(Ok(())) => {
                    swept.forgotten.sessions += 1;
                    keys.push(key);
                }
                // An execution uses the key again.
                Ok(Err(_)) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let forgotten = lending.store.forget(&gone, &retention).await?;
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
    /// What the sweep forgot.
    pub forgotten: Forgotten,
}

#[async_trait]
impl Sessions for SessionManager {
    async fn open(&self, order: BrowserOrder) -> Result<Arc<dyn BrowserSession>, ErrorReport> {
        // In a task, so that a caller whose future is dropped leaves nothing half done.
        let (done, opened) = oneshot::channel();
        let manager = self.clone();
        // If the caller is gone, the session is released when it is dropped.
        tokio::spawn(async move { drop(done.send(manager.lend(order).await.map(CancelSafe::new))) });
        let session =
            opened.await.map_err(|_| ErrorReport::new(ErrorCode::HostFault, "opening a session panicked"))??;
        Ok(Arc::new(session))
    }

    async fn look(&self, key: &str) -> Result<Option<KeptBrowser>, ErrorReport> {
        info::look(self.store().as_ref(), &self.lending.places, key, self.lending.leases.wall_ms()).await
    }
}
