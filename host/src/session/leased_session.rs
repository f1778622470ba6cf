//! A session that is leased to one execution.

use super::{
    leases::{Lease, busy},
    provisioner::{BrowserProvisioner, LeasedBrowser},
    store::{EndReason, LeaseName, SessionRow, StoreError},
};
use codemode_provider::{BrowserChannel, BrowserOrder, LeaseMark, Promotion, SessionFacts};
use codemode_spec::{
    ErrorCode, ErrorReport,
    session::{LeaseFacts, SessionMode},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// A session that is leased to one execution. The lease is renewed in the background until this value is dropped. The
/// methods are those of a [`codemode_provider::BrowserSession`].
///
/// # Cancellation
/// Dropping the future of a change may leave it half done, and a lease that is not released is held until it expires.
/// [`super::cancel_safe::CancelSafe`] prevents both.
pub struct LeasedSession {
    provisioner: Arc<BrowserProvisioner>,
    order: BrowserOrder,
    shared: Arc<Shared>,
    _renewing: Option<AbortOnDropHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Serialises the calls that replace, promote, close or release. While such a call runs, the store may report that
    /// a lease was lost before `state` has the lease that replaced it.
    changing: tokio::sync::Mutex<()>,
}

struct State {
    browser: LeasedBrowser,
    released: bool,
    warnings: Vec<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeasedSession {
    pub(super) fn new(provisioner: Arc<BrowserProvisioner>, order: BrowserOrder, mut browser: LeasedBrowser) -> Self {
        let warnings = std::mem::take(&mut browser.warnings);
        let state = State { browser, released: false, warnings };
        let shared = Arc::new(Shared { state: Mutex::new(state), changing: tokio::sync::Mutex::default() });
        let renewing = provisioner.leases.renew_every().map(|every| {
            AbortOnDropHandle::new(tokio::spawn(keep_renewing(Arc::clone(&provisioner), Arc::clone(&shared), every)))
        });
        Self { provisioner, order, shared, _renewing: renewing }
    }

    /// Renews the lease once.
    ///
    /// # Errors
    /// When the lease was lost, or the store fails.
    pub async fn renew(&self) -> Result<(), ErrorReport> {
        Ok(renew(&self.provisioner, &self.shared).await?)
    }

    /// Ends a browser whose lease is held, and removes the profile and the cookies of its key unless the browser only
    /// crashed.
    async fn end_held(&self, session: &SessionRow, lease: &Lease, reason: EndReason) -> Result<(), ErrorReport> {
        self.require_usable()?;
        if reason == EndReason::Crashed {
            self.provisioner.leases.renew(lease).await
        } else {
            self.provisioner.leases.check(lease, &session.id).await
        }
        .map_err(|error| lose(lease, error))?;
        self.provisioner.end(session, reason, Some(lease)).await?;
        match &session.key {
            Some(key) if reason != EndReason::Crashed => self.provisioner.forget(key, lease).await,
            _ => Ok(()),
        }
    }

    /// Ends the browser and starts a new one in its place, under the same lease if the session is shared.
    async fn restart(&self, reason: EndReason) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        let LeasedBrowser { session, lease, .. } = self.browser();
        self.end_held(&session, &lease, reason).await?;
        if self.order.cancel.is_cancelled() {
            let message = "the execution ended before its next browser was started";
            return Err(ErrorReport::new(ErrorCode::CallCancelled, message));
        }
        let mut browser = match session.key.as_deref() {
            Some(key) => {
                self.provisioner.leases.renew(&lease).await.map_err(|error| lose(&lease, error))?;
                self.provisioner.restart_for_key(&self.order, key, &lease).await?
            }
            None => {
                self.provisioner.leases.release_if_held(&lease).await;
                self.provisioner.start(&self.order, None, None).await?
            }
        };
        let mut state = self.shared.state();
        state.warnings.append(&mut browser.warnings);
        state.browser = browser;
        Ok(())
    }

    fn browser(&self) -> LeasedBrowser {
        self.shared.state().browser.clone()
    }

    fn is_shared(&self) -> bool {
        self.shared.state().browser.session.key.is_some()
    }

    fn require_usable(&self) -> Result<(), ErrorReport> {
        let state = self.shared.state();
        let lease = &state.browser.lease;
        if !state.released {
            self.provisioner.leases.expire(lease);
        }
        match lease.lost() {
            Some(loss) => Err(loss.report()),
            None if state.released => Err(ErrorReport::new(ErrorCode::CallCancelled, "the session was given back")),
            None => Ok(()),
        }
    }
}

impl LeasedSession {
    /// The facts of the session for providers.
    pub fn facts(&self) -> SessionFacts {
        let LeasedBrowser { session, lease, fresh, .. } = self.browser();
        let key = session.key.clone().or_else(|| self.order.session.key.clone());
        let browser = session.browser.as_ref();
        SessionFacts {
            mode: self.order.session.mode,
            shared: session.key.is_some(),
            token: lease.token(),
            program: browser.map(|browser| browser.program.clone()).unwrap_or_default(),
            browser_pid: browser.map_or(0, |browser| browser.browser_pid),
            fresh,
            downloads_dir: self.provisioner.state_dir.downloads(&session.id),
            cookies: session.key.as_deref().map(|key| self.provisioner.state_dir.cookies(key)),
            notes: session.key.as_deref().map(|key| self.provisioner.state_dir.notes(key)),
            id: session.id,
            key,
        }
    }

    /// The facts of the lease for the answer of the execution.
    pub fn lease(&self) -> LeaseFacts {
        let LeasedBrowser { session, lease, .. } = self.browser();
        LeaseFacts {
            mode: self.order.session.mode,
            shared: session.key.is_some(),
            token: lease.token(),
            ttl_ms: self.provisioner.leases.ttl_ms(),
            kept_ms: session.key.is_some().then_some(session.ttl_ms),
            key: session.key,
        }
    }

    /// The lease as the audit identifies it.
    pub fn mark(&self) -> LeaseMark {
        let state = self.shared.state();
        let LeasedBrowser { session, lease, .. } = &state.browser;
        LeaseMark { session: session.id.clone(), key: session.key.clone(), token: lease.token() }
    }

    /// Why the lease is not held any more, as far as this process knows.
    pub fn lost(&self) -> Option<ErrorReport> {
        self.require_usable().err()
    }

    /// Checks that the lease is still held.
    ///
    /// # Errors
    /// When the lease was lost.
    pub async fn check(&self) -> Result<(), ErrorReport> {
        self.require_usable()?;
        let LeasedBrowser { session, lease, .. } = self.browser();
        if self.provisioner.leases.check(&lease, &session.id).await.is_err() {
            let _one = self.shared.changing.lock().await;
            self.require_usable()?;
            let LeasedBrowser { session, lease, .. } = self.browser();
            self.provisioner.leases.check(&lease, &session.id).await.map_err(|error| lose(&lease, error))?;
        }
        // Again: this process may have been stopped during the query to the store.
        self.require_usable()
    }

    /// Opens a channel to the browser.
    ///
    /// # Errors
    /// When the lease was lost, or the browser cannot be reached.
    pub async fn connect(&self) -> Result<BrowserChannel, ErrorReport> {
        self.require_usable()?;
        let LeasedBrowser { session, lease, .. } = self.browser();
        self.provisioner.browsers.connect(&session.id, lease.reference(), self.order.execution.as_str()).await
    }

    /// Starts another browser in the place of a browser that does not answer.
    ///
    /// # Errors
    /// When the lease is lost, or no other browser can be started.
    pub async fn replace(&self, reason: &str) -> Result<(), ErrorReport> {
        tracing::info!(
            session = self.browser().session.id,
            reason,
            "a session's browser does not answer: it is replaced"
        );
        self.restart(EndReason::Crashed).await
    }

    /// As [`Self::replace`], and removes the profile and the cookies of the key, so that the new browser starts empty.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub async fn reset(&self) -> Result<(), ErrorReport> {
        self.restart(EndReason::Reset).await
    }

    /// Makes the browser the shared browser of the key.
    ///
    /// # Errors
    /// When the key has another shared browser, or is in use.
    pub async fn promote(&self, promotion: Promotion) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        self.require_usable()?;
        if self.is_shared() {
            return Ok(());
        }
        let (SessionMode::Dynamic, Some(key)) = (self.order.session.mode, self.order.session.key.clone()) else {
            return Err(ErrorReport::new(ErrorCode::UnsupportedOperation, "a one-shot session cannot be promoted")
                .with_hint("Call the tool with session: {mode: \"dynamic\", key: \"…\"}."));
        };
        let of_key = LeaseName::of_key(&key);
        let leases = self.provisioner.store.leases().await?;
        let is_used = leases.iter().any(|row| row.name == of_key.as_str() && row.host_alive);
        if promotion == Promotion::IfFree && !is_used {
            // Check without taking the lease: releasing it would reset the idle time.
            self.require_no_other(&key).await?;
        }
        let taken = self.provisioner.leases.take(&self.order, &key).await?;
        let of_key = taken.map_err(|holder| busy(&key, &holder, Duration::ZERO, "it is not free"))?;
        let promoted = self.promote_under(&key, &of_key, promotion).await;
        if promoted.is_err() {
            self.provisioner.leases.release_if_held(&of_key).await;
        }
        promoted
    }

    /// Promotes the session under the lease of the key.
    async fn promote_under(&self, key: &str, of_key: &Lease, promotion: Promotion) -> Result<(), ErrorReport> {
        let LeasedBrowser { session, lease, .. } = self.browser();
        // Checked before anything of the other browser is removed: this browser must be able to take its place.
        let require_own =
            async || self.provisioner.leases.check(&lease, &session.id).await.map_err(|error| lose(&lease, error));
        require_own().await?;
        match promotion {
            Promotion::IfFree => self.require_no_other(key).await?,
            Promotion::Replace => {
                if let Some(other) = self.provisioner.session_of(key).await? {
                    let ending = self.provisioner.end(&other, EndReason::Replaced, Some(of_key));
                    self.provisioner.leases.renewing(of_key, ending).await?;
                    require_own().await?;
                }
            }
        }
        // The profile of the key belongs to another browser, and perhaps to another user of the site. It is removed
        // first: if this process dies in between, no profile mixes the data of both.
        self.provisioner.forget(key, of_key).await?;
        self.provisioner.leases.renew(of_key).await?;
        self.provisioner.store.session_promote(&session.id, lease.reference(), of_key.reference()).await?;
        let mut state = self.shared.state();
        (state.browser.session.key, state.browser.session.profile_kept) = (Some(key.to_owned()), true);
        state.browser.lease = of_key.clone();
        Ok(())
    }

    async fn require_no_other(&self, key: &str) -> Result<(), ErrorReport> {
        let Some(other) = self.provisioner.session_of(key).await? else { return Ok(()) };
        let message = format!("another browser is the shared one of {key:?}: the session {}", other.id);
        Err(ErrorReport::new(ErrorCode::SessionBusy, message)
            .with_hint(
                "To use it, return now and call the tool again with the same key. Or have this browser take its place, \
                 which closes it.",
            )
            .with_detail("session", other.id.as_str()))
    }

    /// Ends the browser and removes the profile and the cookies of its key.
    ///
    /// # Errors
    /// When the browser cannot be ended, or the lease was lost.
    pub async fn close(&self) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        let LeasedBrowser { session, lease, .. } = self.browser();
        self.end_held(&session, &lease, EndReason::Closed).await?;
        self.shared.state().released = true;
        self.provisioner.leases.release_if_held(&lease).await;
        Ok(())
    }

    /// Releases the lease: a shared browser stays, another is ended.
    ///
    /// # Errors
    /// When the browser cannot be ended, or the lease was lost.
    pub async fn release(&self) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        if std::mem::replace(&mut self.shared.state().released, true) {
            return Ok(());
        }
        let LeasedBrowser { session, lease, .. } = self.browser();
        if session.key.is_some() {
            return self.provisioner.leases.release(&lease).await.map_err(|error| lose(&lease, error));
        }
        let ended = self.provisioner.end(&session, EndReason::Done, None).await;
        if lease.reference().name == LeaseName::of_session(&session.id) {
            self.provisioner.leases.release_if_held(&lease).await;
        }
        ended
    }

    /// Whether the lease was released.
    pub(super) fn is_released(&self) -> bool {
        self.shared.state().released
    }

    /// Warnings for the answer of the execution.
    pub fn warnings(&self) -> Vec<String> {
        self.shared.state().warnings.clone()
    }
}

/// Records the loss of a lease that the store reports. The caller makes sure that no other call changes the session.
fn lose(lease: &Lease, error: StoreError) -> ErrorReport {
    if let StoreError::NotHeld(loss) = &error {
        lease.lose(loss.clone());
    }
    error.into()
}

async fn keep_renewing(provisioner: Arc<BrowserProvisioner>, shared: Arc<Shared>, every: Duration) {
    let mut next = tokio::time::interval(every);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick fires immediately, when the lease is new.
    next.tick().await;
    loop {
        next.tick().await;
        let is_over = |shared: &Shared| {
            let state = shared.state();
            state.released || state.browser.lease.lost().is_some()
        };
        if is_over(&shared) {
            return;
        }
        if let Err(error) = renew(&provisioner, &shared).await {
            // The store may fail temporarily while the lease is still valid: retry until the lease is lost.
            tracing::warn!(%error, "a lease could not be renewed");
        }
    }
}

async fn renew(provisioner: &BrowserProvisioner, shared: &Shared) -> Result<(), StoreError> {
    let lease = shared.state().browser.lease.clone();
    let loss = match provisioner.leases.renew(&lease).await {
        Err(StoreError::NotHeld(loss)) => loss,
        renewed => return renewed,
    };
    let _one = shared.changing.lock().await;
    let LeasedBrowser { lease: now, session, .. } = shared.state().browser.clone();
    if now != lease || shared.state().released {
        return Ok(());
    }
    // The reason why the browser ended is more useful than the loss of the lease.
    let loss = match provisioner.leases.check(&lease, &session.id).await {
        Err(StoreError::NotHeld(cause)) => cause,
        _ => loss,
    };
    lease.lose(loss.clone());
    Err(StoreError::NotHeld(loss))
}
