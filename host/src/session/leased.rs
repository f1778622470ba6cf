//! A session that is leased to one execution.

use super::{
    leases::{Lease, busy},
    lending::{LeasedBrowser, Lending},
    store::{EndReason, LeaseName, SessionRow, StoreError},
};
use codemode_provider::{BrowserChannel, BrowserOrder, Promotion, SessionFacts};
use codemode_spec::{
    ErrorCode, ErrorReport,
    session::{LeaseFacts, SessionMode},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// A session that is leased to one execution, its lease renewed until this value is dropped. Its methods are those
/// of a [`codemode_provider::BrowserSession`].
///
/// # Cancellation
/// A change that is dropped may be half done, and a lease that is not released holds until it expires:
/// [`super::cancel_safe::CancelSafe`] sees to both.
pub struct LeasedSession {
    lending: Arc<Lending>,
    order: BrowserOrder,
    shared: Arc<Shared>,
    _renewing: Option<AbortOnDropHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Held by each call that replaces, promotes, closes or releases: such calls run one after the other. The store may
    /// say that a lease is gone while such a call has not yet noted the lease that came in its place.
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
    pub(super) fn new(lending: Arc<Lending>, order: BrowserOrder, mut browser: LeasedBrowser) -> Self {
        let warnings = std::mem::take(&mut browser.warnings);
        let state = State { browser, released: false, warnings };
        let shared = Arc::new(Shared { state: Mutex::new(state), changing: tokio::sync::Mutex::default() });
        let renewing = lending.leases.renew_every().map(|every| {
            AbortOnDropHandle::new(tokio::spawn(keep_renewing(Arc::clone(&lending), Arc::clone(&shared), every)))
        });
        Self { lending, order, shared, _renewing: renewing }
    }

    /// Renews the lease once.
    ///
    /// # Errors
    /// When the lease was lost, or the store fails.
    pub async fn renew(&self) -> Result<(), ErrorReport> {
        Ok(renew(&self.lending, &self.shared).await?)
    }

    /// Ends a browser whose lease is held, and removes the profile and the cookies of its key unless the browser only
    /// crashed.
    async fn end_held(&self, session: &SessionRow, lease: &Lease, reason: EndReason) -> Result<(), ErrorReport> {
        self.require_usable()?;
        if reason == EndReason::Crashed {
            self.lending.leases.renew(lease).await
        } else {
            self.lending.leases.check(lease, &session.id).await
        }
        .map_err(|error| lose(lease, error))?;
        self.lending.end(session, reason, Some(lease)).await?;
        match &session.key {
            Some(key) if reason != EndReason::Crashed => self.lending.forget(key, lease).await,
            _ => Ok(()),
        }
    }

    /// Ends the browser and starts another in its place, under the same lease if the session is shared.
    async fn begin_anew(&self, reason: EndReason) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        let LeasedBrowser { session, lease, .. } = self.browser();
        self.end_held(&session, &lease, reason).await?;
        if self.order.cancel.is_cancelled() {
            let message = "the execution ended before its next browser was started";
            return Err(ErrorReport::new(ErrorCode::CallCancelled, message));
        }
        let mut browser = match session.key.as_deref() {
            Some(key) => {
                self.lending.leases.renew(&lease).await.map_err(|error| lose(&lease, error))?;
                self.lending.succeed(&self.order, key, &lease).await?
            }
            None => {
                self.lending.leases.release_if_held(&lease).await;
                self.lending.start(&self.order, None, None).await?
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
            self.lending.leases.expire(lease);
        }
        match lease.lost() {
            Some(loss) => Err(loss.report()),
            None if state.released => Err(ErrorReport::new(ErrorCode::CallCancelled, "the session was given back")),
            None => Ok(()),
        }
    }
}

impl LeasedSession {
    /// What is known of the session.
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
            downloads_dir: self.lending.places.downloads(&session.id),
            cookies: session.key.as_deref().map(|key| self.lending.places.cookies(key)),
            notes: session.key.as_deref().map(|key| self.lending.places.notes(key)),
            id: session.id,
            key,
        }
    }

    /// What the answer tells of the lease.
    pub fn lease(&self) -> LeaseFacts {
        let LeasedBrowser { session, lease, .. } = self.browser();
        LeaseFacts {
            mode: self.order.session.mode,
            shared: session.key.is_some(),
            token: lease.token(),
            ttl_ms: self.lending.leases.ttl_ms(),
            kept_ms: session.key.is_some().then_some(session.ttl_ms),
            key: session.key,
        }
    }

    /// Whether the lease still holds.
    ///
    /// # Errors
    /// When the lease was lost.
    pub async fn check(&self) -> Result<(), ErrorReport> {
        self.require_usable()?;
        let LeasedBrowser { session, lease, .. } = self.browser();
        if self.lending.leases.check(&lease, &session.id).await.is_err() {
            let _one = self.shared.changing.lock().await;
            self.require_usable()?;
            let LeasedBrowser { session, lease, .. } = self.browser();
            self.lending.leases.check(&lease, &session.id).await.map_err(|error| lose(&lease, error))?;
        }
        // Again: this process may have been stopped while it asked the store.
        self.require_usable()
    }

    /// A channel to the browser.
    ///
    /// # Errors
    /// When the lease was lost, or the browser cannot be reached.
    pub async fn connect(&self) -> Result<BrowserChannel, ErrorReport> {
        self.require_usable()?;
        let LeasedBrowser { session, lease, .. } = self.browser();
        self.lending.browsers.connect(&session.id, lease.reference(), self.order.execution.as_str()).await
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
        self.begin_anew(EndReason::Crashed).await
    }

    /// As [`Self::replace`], and removes the profile and the cookies of the key, so that the new browser begins empty.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub async fn reset(&self) -> Result<(), ErrorReport> {
        self.begin_anew(EndReason::Reset).await
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
        let leases = self.lending.store.leases().await?;
        let is_used = leases.iter().any(|row| row.name == of_key.as_str() && row.host_alive);
        if promotion == Promotion::IfFree && !is_used {
            // Check without taking the lease: releasing it would reset the idle time.
            self.require_no_other(&key).await?;
        }
        let taken = self.lending.leases.take(&self.order, &key).await?;
        let of_key = taken.map_err(|holder| busy(&key, &holder, Duration::ZERO, "it is not free"))?;
        let promoted = self.promote_under(&key, &of_key, promotion).await;
        if promoted.is_err() {
            self.lending.leases.release_if_held(&of_key).await;
        }
        promoted
    }

    /// Promotes the session under the lease of the key.
    async fn promote_under(&self, key: &str, of_key: &Lease, promotion: Promotion) -> Result<(), ErrorReport> {
        let LeasedBrowser { session, lease, .. } = self.browser();
        // Nothing of the other browser may be removed for a browser that cannot take its place.
        let require_own =
            async || self.lending.leases.check(&lease, &session.id).await.map_err(|error| lose(&lease, error));
        require_own().await?;
        match promotion {
            Promotion::IfFree => self.require_no_other(key).await?,
            Promotion::Replace => {
                if let Some(other) = self.lending.session_of(key).await? {
                    let ending = self.lending.end(&other, EndReason::Replaced, Some(of_key));
                    self.lending.leases.renewing(of_key, ending).await?;
                    require_own().await?;
                }
            }
        }
        // The profile of the key is another browser's, and maybe another user's. It is removed first: if this process
        // dies in between, no profile is left in which the data of both are mixed.
        self.lending.forget(key, of_key).await?;
        self.lending.leases.renew(of_key).await?;
        self.lending.store.session_promote(&session.id, lease.reference(), of_key.reference()).await?;
        let mut state = self.shared.state();
        (state.browser.session.key, state.browser.session.profile_kept) = (Some(key.to_owned()), true);
        state.browser.lease = of_key.clone();
        Ok(())
    }

    async fn require_no_other(&self, key: &str) -> Result<(), ErrorReport> {
        let Some(other) = self.lending.session_of(key).await? else { return Ok(()) };
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
        self.lending.leases.release_if_held(&lease).await;
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
            return self.lending.leases.release(&lease).await.map_err(|error| lose(&lease, error));
        }
        let ended = self.lending.end(&session, EndReason::Done, None).await;
        if lease.reference().name == LeaseName::of_session(&session.id) {
            self.lending.leases.release_if_held(&lease).await;
        }
        ended
    }

    /// Whether the lease was released.
    pub(super) fn is_released(&self) -> bool {
        self.shared.state().released
    }

    /// What the reader of the answer should know.
    pub fn warnings(&self) -> Vec<String> {
        self.shared.state().warnings.clone()
    }
}

/// Notes the loss of a lease that the store reports, while no other call changes the session.
fn lose(lease: &Lease, error: StoreError) -> ErrorReport {
    if let StoreError::NotHeld(loss) = &error {
        lease.lose(loss.clone());
    }
    error.into()
}

async fn keep_renewing(lending: Arc<Lending>, shared: Arc<Shared>, every: Duration) {
    let mut next = tokio::time::interval(every);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick comes at once, and the lease is new: skip that tick.
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
        if let Err(error) = renew(&lending, &shared).await {
            // The store may fail for a while and the lease still hold: renewal is tried again until the lease is lost.
            tracing::warn!(%error, "a lease could not be renewed");
        }
    }
}

async fn renew(lending: &Lending, shared: &Shared) -> Result<(), StoreError> {
    let lease = shared.state().browser.lease.clone();
    let loss = match lending.leases.renew(&lease).await {
        Err(StoreError::NotHeld(loss)) => loss,
        renewed => return renewed,
    };
    let _one = shared.changing.lock().await;
    let LeasedBrowser { lease: now, session, .. } = shared.state().browser.clone();
    if now != lease || shared.state().released {
        return Ok(());
    }
    // How the browser ended tells the reader more than that the lease is gone.
    let loss = match lending.leases.check(&lease, &session.id).await {
        Err(StoreError::NotHeld(told)) => told,
        _ => loss,
    };
    lease.lose(loss.clone());
    Err(StoreError::NotHeld(loss))
}
