//! Finds, starts and ends the browsers of executions, each under a lease.

use super::{
    browsers::{Browsers, LaunchOrder},
    keeper_proxy::rules_json,
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

/// A session and its lease, as granted to an execution.
#[derive(Clone, Debug)]
pub(super) struct LeasedBrowser {
    pub(super) session: SessionRow,
    pub(super) lease: Lease,
    /// Whether the browser was started for this lease.
    pub(super) fresh: bool,
    /// Warnings for the answer of the execution.
    pub(super) warnings: Vec<String>,
}

/// Why a key is not free.
#[derive(Debug)]
pub(super) enum KeyUse {
    /// An execution holds its lease.
    Leased(Holder),
    /// It has a session that has not ended, with this id.
    HasBrowser(String),
}

/// Finds, starts and ends the browsers of executions.
pub(super) struct BrowserProvisioner {
    pub(super) store: Arc<dyn Store>,
    pub(super) leases: Leases,
    pub(super) browsers: Arc<dyn Browsers>,
    pub(super) state_dir: StateDir,
    /// Which files of the machine browsers can access.
    pub(super) confinement: Confinement,
    /// The network rules of all browsers: a caller or a call can only narrow them.
    pub(super) network: NetworkRules,
    pub(super) new_id: Box<dyn Fn() -> String + Send + Sync>,
}

impl BrowserProvisioner {
    /// Acquires the requested browser and its lease.
    pub(super) async fn acquire(&self, order: &BrowserOrder) -> Result<LeasedBrowser, ErrorReport> {
        match (order.session.mode, order.session.key.as_deref()) {
            (SessionMode::OneShot, _) | (_, None) => self.start(order, None, None).await,
            (SessionMode::Reuse, Some(key)) => {
                let lease = self.leases.acquire(order, key).await?;
                self.acquire_for_key(order, key, lease, true).await
            }
            (SessionMode::Dynamic, Some(key)) => {
                if self.session_of(key).await?.is_none() {
                    return self.start(order, None, None).await;
                }
                let lease = self.leases.acquire(order, key).await?;
                self.acquire_for_key(order, key, lease, false).await
            }
        }
    }

    /// The shared browser of a key whose lease is held. If the key has none, starts one: shared if `starts_shared`,
    /// otherwise a browser of this execution alone. Releases `lease` unless the returned browser uses it.
    async fn acquire_for_key(
        &self,
        order: &BrowserOrder,
        key: &str,
        lease: Lease,
        starts_shared: bool,
    ) -> Result<LeasedBrowser, ErrorReport> {
        let leased = self.try_acquire_for_key(order, key, &lease, starts_shared).await;
        if !matches!(&leased, Ok(leased) if leased.lease == lease) {
            self.leases.release_if_held(&lease).await;
        }
        leased
    }

    async fn try_acquire_for_key(
        &self,
        order: &BrowserOrder,
        key: &str,
        lease: &Lease,
        starts_shared: bool,
    ) -> Result<LeasedBrowser, ErrorReport> {
        let found = self.session_of(key).await?;
        match found {
            Some(session) if is_usable(session.state, self.browsers.has_keeper(&session)) => {
                let (ttl_ms, network) = (order.session.ttl_ms(), self.network_of(order)?);
                let is_held = session.network_held == network && session.network == network;
                let execution = order.execution.as_str();
                self.store
                    .session_attached(&session.id, lease.reference(), execution, ttl_ms, network.as_deref())
                    .await?;
                if !is_held {
                    self.browsers.await_network_rules(&session).await?;
                }
                Ok(LeasedBrowser { session, lease: lease.clone(), fresh: false, warnings: Vec::new() })
            }
            // The browser ended while the execution waited for its lease.
            None if !starts_shared => self.start(order, None, None).await,
            found => {
                if let Some(session) = found {
                    self.leases.renewing(lease, self.end(&session, EndReason::Crashed, Some(lease))).await?;
                    self.leases.renew(lease).await?;
                }
                self.restart_for_key(order, key, lease).await
            }
        }
    }

    /// Starts a new shared browser of a key whose last browser has ended.
    pub(super) async fn restart_for_key(
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
        let mut leased = self.start(order, Some(key), Some(lease)).await?;
        leased.warnings.extend(before.and_then(|before| before.reason).and_then(|reason| replaced(key, reason)));
        Ok(leased)
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
            downloads_dir: self.state_dir.downloads(&id),
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
                // Starting a browser may take nearly as long as the TTL of the lease.
                self.leases.renew(&granted).await?;
                Ok(LeasedBrowser { session: row, lease: granted, fresh: true, warnings: browser.shortfalls })
            }
            Ok(_) => Err(ErrorReport::new(ErrorCode::SessionExpired, format!("the session {id} was ended at once"))),
            Err(error) => {
                // If the execution has lost the lease meanwhile, it gets that loss as its error, not the keeper's
                // error.
                let held = self.leases.check(&granted, &id).await;
                // The failure to start is the more useful error: a failure to clean up is only logged.
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

    /// The network rules of an execution's browser: the operator's, narrowed by those of the caller and the call.
    fn network_of(&self, order: &BrowserOrder) -> Result<Option<String>, ErrorReport> {
        let rules = |lists: &Option<NetworkLists>| {
            let rules = lists.as_ref().map(NetworkRules::parse).transpose();
            rules.map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))
        };
        let SessionRequest { caller_network, network, .. } = &order.session;
        let policy = Policy { operator: self.network.clone(), caller: rules(caller_network)?, call: rules(network)? };
        Ok(rules_json(&policy))
    }

    /// Runs `work` under the lease of a key that no execution uses and that has no browser. Returns what the key is in
    /// use by if it is not free; then `work` does not run.
    pub(super) async fn with_free_key(
        &self,
        key: &str,
        work: impl AsyncFnOnce(&Lease) -> Result<(), ErrorReport>,
    ) -> Result<Result<(), KeyUse>, ErrorReport> {
        let lease = match self.leases.take_as_host(LeaseName::of_key(key), &(self.new_id)()).await? {
            Ok(lease) => lease,
            Err(holder) => return Ok(Err(KeyUse::Leased(holder))),
        };
        let done = async {
            match self.session_of(key).await? {
                None => work(&lease).await.map(Ok),
                Some(session) => Ok(Err(KeyUse::HasBrowser(session.id))),
            }
        };
        let done = done.await;
        self.leases.release_if_held(&lease).await;
        done
    }

    /// The session of a key that has not ended.
    pub(super) async fn session_of(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        self.store.session_of_key(key).await
    }

    /// Removes the profile and the cookies of a key whose lease is held and whose browser has ended.
    pub(super) async fn forget(&self, key: &str, lease: &Lease) -> Result<(), ErrorReport> {
        // Renewed first, because ending the browser may have taken long.
        self.leases.renew(lease).await?;
        self.browsers.forget_profile(key).await?;
        self.browsers.forget_kept(key).await
    }

    /// Ends a session's browser, `under` its lease or, if no execution may use the session, without one. If the browser
    /// cannot be ended, the session stays, and the next sweep tries again.
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

/// The warning that the browser of a key is not the previous one; `None` if a script ended the previous one on purpose.
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
