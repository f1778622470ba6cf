//! Browsers for executions: found or started under a lease, and ended.

use super::{
    browsers::{Browsers, LaunchOrder},
    fence::ordered,
    leases::{Lease, Leases},
    profile_of_key,
    rules::is_usable,
    store::{EndReason, Holder, LeaseName, Loss, NewSession, SessionRow, SessionState, Store, StoreError},
};
use crate::{
    network::{NetworkRules, Policy},
    state_dir::StateDir,
};
use codemode_chromium::Confinement;
use codemode_provider::BrowserOrder;
use codemode_spec::{
    ErrorCode, ErrorReport,
    session::{NetworkLists, SessionMode, SessionRequest},
};
use std::sync::Arc;

/// A session that is leased to an execution.
#[derive(Clone, Debug)]
pub(super) struct LeasedBrowser {
    pub(super) session: SessionRow,
    pub(super) lease: Lease,
    /// Whether the browser was started for this lease.
    pub(super) fresh: bool,
    /// What the reader of the answer should know.
    pub(super) warnings: Vec<String>,
}

/// Finds, starts and ends the browsers of executions.
pub(super) struct Lending {
    pub(super) store: Arc<dyn Store>,
    pub(super) leases: Leases,
    pub(super) browsers: Arc<dyn Browsers>,
    pub(super) places: StateDir,
    /// What browsers may reach of the machine.
    pub(super) confinement: Confinement,
    /// What browsers may reach at most: a call can narrow these rules.
    pub(super) network: NetworkRules,
    pub(super) new_id: Box<dyn Fn() -> String + Send + Sync>,
}

impl Lending {
    /// The browser that was asked for, under its lease.
    pub(super) async fn lend(&self, order: &BrowserOrder) -> Result<LeasedBrowser, ErrorReport> {
        match (order.session.mode, order.session.key.as_deref()) {
            (SessionMode::OneShot, _) | (_, None) => self.start(order, None, None).await,
            (SessionMode::Reuse, Some(key)) => {
                let lease = self.leases.acquire(order, key).await?;
                self.lend_of_key(order, key, lease, true).await
            }
            (SessionMode::Dynamic, Some(key)) => {
                if self.session_of(key).await?.is_none() {
                    return self.start(order, None, None).await;
                }
                let lease = self.leases.acquire(order, key).await?;
                self.lend_of_key(order, key, lease, false).await
            }
        }
    }

    /// The shared browser of a key whose lease is held. If the key has none, a browser is started: the key's if
    /// `is_wanted`, otherwise a browser that is not shared.
    async fn lend_of_key(
        &self,
        order: &BrowserOrder,
        key: &str,
        lease: Lease,
        is_wanted: bool,
    ) -> Result<LeasedBrowser, ErrorReport> {
        let lent = self.try_lend_of_key(order, key, &lease, is_wanted).await;
        if !matches!(&lent, Ok(lent) if lent.lease == lease) {
            self.leases.release_if_held(&lease).await;
        }
        lent
    }

    async fn try_lend_of_key(
        &self,
        order: &BrowserOrder,
        key: &str,
        lease: &Lease,
        is_wanted: bool,
    ) -> Result<LeasedBrowser, ErrorReport> {
        let found = self.session_of(key).await?;
        match found {
            Some(session) if is_usable(session.state, self.browsers.is_kept(&session)) => {
                let (ttl_ms, network) = (order.session.ttl_ms(), self.network_of(order)?);
                let is_held = session.network_held == network && session.network == network;
                let execution = order.execution.as_str();
                self.store
                    .session_attached(&session.id, lease.reference(), execution, ttl_ms, network.as_deref())
                    .await?;
                if !is_held {
                    self.browsers.narrowed(&session).await?;
                }
                Ok(LeasedBrowser { session, lease: lease.clone(), fresh: false, warnings: Vec::new() })
            }
            // The browser ended while its lease was waited for.
            None if !is_wanted => self.start(order, None, None).await,
            found => {
                if let Some(session) = found {
                    self.leases.renewing(lease, self.end(&session, EndReason::Crashed, Some(lease))).await?;
                    self.leases.renew(lease).await?;
                }
                self.succeed(order, key, lease).await
            }
        }
    }

    /// Starts the browser of a key whose last browser has ended.
    pub(super) async fn succeed(
        &self,
        order: &BrowserOrder,
        key: &str,
        lease: &Lease,
    ) -> Result<LeasedBrowser, ErrorReport> {
        let before = self.store.session_ended_of_key(key).await?;
        if before.as_ref().and_then(|before| before.reason).is_some_and(EndReason::forgets) {
            // The process that ended the last browser may have died before it removed the profile.
            self.forget(key, lease).await?;
        }
        let mut lent = self.start(order, Some(key), Some(lease)).await?;
        lent.warnings.extend(before.and_then(|before| before.reason).and_then(|reason| replaced(key, reason)));
        Ok(lent)
    }

    /// Starts a browser: the shared browser of a key under the key's lease, or a browser that is not shared.
    pub(super) async fn start(
        &self,
        order: &BrowserOrder,
        key: Option<&str>,
        lease: Option<&Lease>,
    ) -> Result<LeasedBrowser, ErrorReport> {
        let id = (self.new_id)();
        let session = NewSession {
            id: id.clone(),
            mode: order.session.mode,
            key: key.map(str::to_owned),
            profile: key.map_or_else(|| id.clone(), profile_of_key),
            profile_kept: key.is_some(),
            execution: order.execution.to_string(),
            host: self.leases.host().to_owned(),
            ttl_ms: order.session.ttl_ms(),
            lease: lease.map(|lease| lease.reference().clone()),
            lease_ttl_ms: self.leases.ttl_ms(),
            network: self.network_of(order)?,
        };
        let launch = LaunchOrder {
            session: id.clone(),
            profile: session.profile.clone(),
            profile_kept: session.profile_kept,
            executable: order.executable.clone(),
            headless: order.headless,
            downloads_dir: self.places.downloads(&id),
            confinement: self.confinement.clone(),
            network: session.network.clone(),
        };
        let until_ms = self.leases.until_ms();
        let granted = self.store.session_begin(&session).await?;
        let granted = lease.cloned().unwrap_or_else(|| Lease::new(granted, until_ms));
        let launched = self.leases.renewing(&granted, self.browsers.launch(&launch)).await;
        let Some(row) = self.store.session(&id).await? else {
            return Err(Loss::Ended { session: id, reason: None }.report());
        };
        match launched {
            Ok(browser) if row.state == SessionState::Live => {
                // A browser may take nearly as long to start as a lease holds.
                self.leases.renew(&granted).await?;
                Ok(LeasedBrowser { session: row, lease: granted, fresh: true, warnings: browser.shortfalls })
            }
            Ok(_) => Err(ErrorReport::new(ErrorCode::SessionExpired, format!("the session {id} was ended at once"))),
            Err(error) => {
                // An execution that has lost the lease meanwhile is told of the loss, and not of the keeper's error.
                let held = self.leases.check(&granted, &id).await;
                // The failure to start tells the reader more than the failure to clean up, which is logged only.
                if let Err(error) = self.end(&row, EndReason::NotStarted, None).await {
                    tracing::warn!(%error, "a browser that did not start could not be cleaned up");
                }
                if lease.is_none() {
                    self.leases.release_if_held(&granted).await;
                }
                Err(match held {
                    Err(StoreError::NotHeld(loss)) => loss.report(),
                    _ => error,
                })
            }
        }
    }

    /// What an execution's browser may reach: what the operator allows, narrowed by the rules of the caller and the call.
    fn network_of(&self, order: &BrowserOrder) -> Result<Option<String>, ErrorReport> {
        let rules = |lists: &Option<NetworkLists>| {
            let rules = lists.as_ref().map(NetworkRules::parse).transpose();
            rules.map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))
        };
        let SessionRequest { caller_network, network, .. } = &order.session;
        let policy = Policy { operator: self.network.clone(), caller: rules(caller_network)?, call: rules(network)? };
        Ok(ordered(&policy))
    }

    /// Does `work` under the lease of a key that no execution uses and that has no browser. Gives the holder if an
    /// execution uses the key.
    pub(super) async fn with_free_key(
        &self,
        key: &str,
        work: impl AsyncFnOnce(&Lease) -> Result<(), ErrorReport>,
    ) -> Result<Result<(), Holder>, ErrorReport> {
        let lease = match self.leases.take_as_host(LeaseName::of_key(key), &(self.new_id)()).await? {
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
        self.leases.release_if_held(&lease).await;
        done.map(Ok)
    }

    /// The session of a key that has not ended.
    pub(super) async fn session_of(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        self.store.session_of_key(key).await
    }

    /// Removes the profile and the cookies of a key whose lease is held and whose browser has ended.
    pub(super) async fn forget(&self, key: &str, lease: &Lease) -> Result<(), ErrorReport> {
        // Ending the browser may have taken long.
        self.leases.renew(lease).await?;
        self.browsers.forget_profile(key).await?;
        self.browsers.forget_kept(key).await
    }

    /// Ends a session's browser: `under` its lease, or, without one, when no execution may use it. If the browser
    /// cannot be ended, the session stays, and the next sweep ends it.
    pub(super) async fn end(
        &self,
        session: &SessionRow,
        reason: EndReason,
        under: Option<&Lease>,
    ) -> Result<(), ErrorReport> {
        if self.store.session_closing(&session.id, reason, under.map(Lease::reference)).await? {
            self.browsers.end(session, reason).await?;
        }
        Ok(())
    }
}

/// What the reader of an answer is told when the browser is not the one that was there, unless a
/// script had closed or reset it itself.
pub(super) fn replaced(key: &str, reason: EndReason) -> Option<String> {
    let what = match reason {
        EndReason::Crashed | EndReason::Idle | EndReason::Stopped | EndReason::Abandoned => {
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
