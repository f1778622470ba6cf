//! A session that is leased to one execution.

use super::{
    leasing::busy,
    manager::Inner,
    store::{EndReason, LeaseName, LeaseRef, Loss, SessionRow, StoreError},
};
use codemode_provider::{BrowserChannel, BrowserOrder, Promotion, SessionFacts};
use codemode_spec::{ErrorCode, ErrorReport, session::SessionMode};
use serde_json::{Value as Json, json};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// A browser and its lease.
#[derive(Clone, Debug)]
pub(super) struct Lent {
    pub(super) session: SessionRow,
    pub(super) lease: LeaseRef,
    /// Until when the lease holds for sure, in milliseconds since the boot. The store may know of a later end.
    pub(super) until_ms: i64,
    /// It was started for this lease.
    pub(super) fresh: bool,
    /// What the reader of the answer should know.
    pub(super) warnings: Vec<String>,
}

/// A session that is leased to one execution, its lease renewed for as long as this lives. Its methods are those of a
/// [`codemode_provider::BrowserSession`].
///
/// # Cancellation
/// A change that is dropped may be half done, and a lease that is not released holds until it expires:
/// [`super::guarded::Guarded`] sees to both.
pub struct Held {
    inner: Arc<Inner>,
    order: BrowserOrder,
    shared: Arc<Shared>,
    _renewing: Option<AbortOnDropHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Held by whatever replaces, promotes, closes or releases: these come one after the other. The store may say of a
    /// lease that it is gone while one of them has not yet noted what came in its place.
    changing: tokio::sync::Mutex<()>,
}

struct State {
    lent: Lent,
    lost: Option<Loss>,
    released: bool,
    warnings: Vec<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    pub(super) fn new(inner: Arc<Inner>, order: BrowserOrder, mut lent: Lent) -> Self {
        let warnings = std::mem::take(&mut lent.warnings);
        let state = State { lent, lost: None, released: false, warnings };
        let shared = Arc::new(Shared { state: Mutex::new(state), changing: tokio::sync::Mutex::default() });
        let renewing = inner.settings.renew_every.map(|every| {
            AbortOnDropHandle::new(tokio::spawn(keep_renewing(Arc::clone(&inner), Arc::clone(&shared), every)))
        });
        Self { inner, order, shared, _renewing: renewing }
    }

    /// Renews the lease once.
    ///
    /// # Errors
    /// When it was lost, or the store fails.
    pub async fn renew(&self) -> Result<(), ErrorReport> {
        Ok(renew(&self.inner, &self.shared).await?)
    }

    /// Ends a browser whose lease is held, and removes what is kept of its key unless it only crashed.
    async fn end_held(&self, session: &SessionRow, lease: &LeaseRef, reason: EndReason) -> Result<(), ErrorReport> {
        self.require_usable()?;
        if reason == EndReason::Crashed {
            self.inner.renew(lease).await.map(drop)
        } else {
            self.inner.store.lease_check(lease, &session.id).await
        }
        .map_err(|error| self.lose(error))?;
        self.inner.end(session, reason, Some(lease)).await?;
        match &session.key {
            Some(key) if reason != EndReason::Crashed => self.inner.forget(key, lease).await,
            _ => Ok(()),
        }
    }

    /// Ends the browser and starts another one in its place, under the same lease if it is shared.
    async fn begin_anew(&self, reason: EndReason) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        let Lent { session, lease, .. } = self.lent();
        self.end_held(&session, &lease, reason).await?;
        if self.order.cancel.is_cancelled() {
            let message = "the execution ended before its next browser was started";
            return Err(ErrorReport::new(ErrorCode::CallCancelled, message));
        }
        let mut lent = match session.key.as_deref() {
            Some(key) => {
                self.inner.renew(&lease).await.map_err(|error| self.lose(error))?;
                self.inner.succeed(&self.order, key, &lease).await?
            }
            None => {
                self.inner.release(&lease).await;
                self.inner.start(&self.order, None, None).await?
            }
        };
        let mut state = self.shared.state();
        state.warnings.append(&mut lent.warnings);
        state.lent = lent;
        Ok(())
    }

    fn lent(&self) -> Lent {
        self.shared.state().lent.clone()
    }

    fn is_shared(&self) -> bool {
        self.shared.state().lent.session.key.is_some()
    }

    fn require_usable(&self) -> Result<(), ErrorReport> {
        let mut state = self.shared.state();
        // Whoever was stopped for longer than the lease holds must not ask anybody to know that it is over.
        if !state.released && state.lost.is_none() && self.inner.now_ms() >= state.lent.until_ms {
            state.lost = Some(Loss::Expired);
        }
        match &state.lost {
            Some(loss) => Err(loss.report()),
            None if state.released => Err(ErrorReport::new(ErrorCode::CallCancelled, "the session was given back")),
            None => Ok(()),
        }
    }

    /// What the store said of the lease, while nothing changes it.
    fn lose(&self, error: StoreError) -> ErrorReport {
        if let StoreError::NotHeld(loss) = &error {
            self.shared.state().lost = Some(loss.clone());
        }
        error.into()
    }
}

impl Held {
    /// What is known of it.
    pub fn facts(&self) -> SessionFacts {
        let Lent { session, lease, fresh, .. } = self.lent();
        let key = session.key.clone().or_else(|| self.order.session.key.clone());
        let browser = session.browser.as_ref();
        SessionFacts {
            mode: self.order.session.mode,
            shared: session.key.is_some(),
            token: lease.token,
            program: browser.map(|browser| browser.program.clone()).unwrap_or_default(),
            browser_pid: browser.map_or(0, |browser| browser.browser_pid),
            fresh,
            downloads_dir: self.inner.places.downloads(&session.id),
            cookies: session.key.as_deref().map(|key| self.inner.places.cookies(key)),
            id: session.id,
            key,
        }
    }

    /// For the answer.
    pub fn lease(&self) -> Json {
        let Lent { session, lease, .. } = self.lent();
        json!({
            "mode": self.order.session.mode,
            "key": session.key,
            "shared": session.key.is_some(),
            "token": lease.token,
            "ttl_ms": self.inner.lease_ttl_ms(),
            "kept_ms": session.key.is_some().then_some(session.ttl_ms),
        })
    }

    /// Whether the lease still holds.
    ///
    /// # Errors
    /// When it was lost.
    pub async fn check(&self) -> Result<(), ErrorReport> {
        self.require_usable()?;
        let Lent { session, lease, .. } = self.lent();
        if self.inner.store.lease_check(&lease, &session.id).await.is_err() {
            let _one = self.shared.changing.lock().await;
            self.require_usable()?;
            let Lent { session, lease, .. } = self.lent();
            self.inner.store.lease_check(&lease, &session.id).await.map_err(|error| self.lose(error))?;
        }
        // Again: this process may have been stopped while it asked.
        self.require_usable()
    }

    /// A channel to the browser.
    ///
    /// # Errors
    /// When the lease was lost, or the browser cannot be reached.
    pub async fn connect(&self) -> Result<BrowserChannel, ErrorReport> {
        self.require_usable()?;
        let Lent { session, lease, .. } = self.lent();
        self.inner.browsers.connect(&session.id, &lease, self.order.execution.as_str()).await
    }

    /// Starts another browser in the place of one that does not answer.
    ///
    /// # Errors
    /// When the lease is lost, or no other one can be started.
    pub async fn replace(&self, reason: &str) -> Result<(), ErrorReport> {
        tracing::info!(session = self.lent().session.id, reason, "a session's browser does not answer: it is replaced");
        self.begin_anew(EndReason::Crashed).await
    }

    /// The same in the place of one of which nothing is to be kept.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub async fn reset(&self) -> Result<(), ErrorReport> {
        self.begin_anew(EndReason::Reset).await
    }

    /// Makes the browser the shared one of the key.
    ///
    /// # Errors
    /// When another one is, or the key is in use.
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
        let leases = self.inner.store.leases().await?;
        let is_used = leases.iter().any(|row| row.name == of_key.as_str() && row.host_alive);
        if promotion == Promotion::IfFree && !is_used {
            // Not by its lease: whoever gives that back has used the browser.
            self.require_no_other(&key).await?;
        }
        let claim = self.inner.claim(&self.order, &key);
        let taken = self.inner.store.lease_take(&claim).await?;
        let of_key = taken.map_err(|holder| busy(&key, &holder, Duration::ZERO, "it is not free"))?;
        let promoted = self.promote_under(&key, &of_key, promotion).await;
        if promoted.is_err() {
            self.inner.release(&of_key).await;
        }
        promoted
    }

    /// The same under the lease of the key.
    async fn promote_under(&self, key: &str, of_key: &LeaseRef, promotion: Promotion) -> Result<(), ErrorReport> {
        let Lent { session, lease, .. } = self.lent();
        // Nothing of another is to go for a browser that cannot take its place.
        let require_own =
            async || self.inner.store.lease_check(&lease, &session.id).await.map_err(|error| self.lose(error));
        require_own().await?;
        match promotion {
            Promotion::IfFree => self.require_no_other(key).await?,
            Promotion::Replace => {
                if let Some(other) = self.inner.session_of(key).await? {
                    let ending = self.inner.end(&other, EndReason::Replaced, Some(of_key));
                    self.inner.renewing(of_key, ending).await?;
                    require_own().await?;
                }
            }
        }
        // What is kept of the key is another browser's, and another user's it may be. It goes first: whoever dies in
        // between leaves no mixture.
        self.inner.forget(key, of_key).await?;
        let until_ms = self.inner.renew(of_key).await?;
        self.inner.store.session_promote(&session.id, &lease, of_key).await?;
        let mut state = self.shared.state();
        (state.lent.session.key, state.lent.session.profile_kept) = (Some(key.to_owned()), true);
        (state.lent.lease, state.lent.until_ms) = (of_key.clone(), until_ms);
        Ok(())
    }

    async fn require_no_other(&self, key: &str) -> Result<(), ErrorReport> {
        let Some(other) = self.inner.session_of(key).await? else { return Ok(()) };
        let message = format!("another browser is the shared one of {key:?}: the session {}", other.id);
        Err(ErrorReport::new(ErrorCode::SessionBusy, message)
            .with_hint(
                "To close it and have this browser in its place: cdp.startSession({replace: true}). To use it instead, \
                 return now and call the tool again with the same key.",
            )
            .with_detail("session", other.id.as_str()))
    }

    /// Ends the browser and removes what is kept of its key.
    ///
    /// # Errors
    /// When it cannot be ended, or the lease was lost.
    pub async fn close(&self) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        let Lent { session, lease, .. } = self.lent();
        self.end_held(&session, &lease, EndReason::Closed).await?;
        self.shared.state().released = true;
        self.inner.release(&lease).await;
        Ok(())
    }

    /// Gives it back.
    ///
    /// # Errors
    /// When the browser cannot be ended, or the lease was lost.
    pub async fn release(&self) -> Result<(), ErrorReport> {
        let _one = self.shared.changing.lock().await;
        if std::mem::replace(&mut self.shared.state().released, true) {
            return Ok(());
        }
        let Lent { session, lease, .. } = self.lent();
        if session.key.is_some() {
            let released = self.inner.store.lease_release(&lease).await;
            self.inner.notify(&lease.name);
            return released.map_err(|error| self.lose(error));
        }
        let ended = self.inner.end(&session, EndReason::Done, None).await;
        if lease.name == LeaseName::of_session(&session.id) {
            self.inner.release(&lease).await;
        }
        ended
    }

    /// Whether it was given back.
    pub(super) fn is_released(&self) -> bool {
        self.shared.state().released
    }

    /// What the reader of the answer should know.
    pub fn warnings(&self) -> Vec<String> {
        self.shared.state().warnings.clone()
    }
}

async fn keep_renewing(inner: Arc<Inner>, shared: Arc<Shared>, every: Duration) {
    let mut next = tokio::time::interval(every);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick is at once, and the lease is new.
    next.tick().await;
    loop {
        next.tick().await;
        let is_over = |shared: &Shared| {
            let state = shared.state();
            state.released || state.lost.is_some()
        };
        if is_over(&shared) {
            return;
        }
        if let Err(error) = renew(&inner, &shared).await {
            // The store may fail for a while and the lease still hold: it is tried again until it is lost.
            tracing::warn!(%error, "a lease could not be renewed");
        }
    }
}

async fn renew(inner: &Inner, shared: &Shared) -> Result<(), StoreError> {
    let Lent { lease, .. } = shared.state().lent.clone();
    let loss = match inner.renew(&lease).await {
        Ok(until_ms) => {
            let mut state = shared.state();
            if state.lent.lease == lease {
                state.lent.until_ms = until_ms;
            }
            return Ok(());
        }
        Err(StoreError::NotHeld(loss)) => loss,
        Err(error) => return Err(error),
    };
    let _one = shared.changing.lock().await;
    let Lent { lease: now, session, .. } = shared.state().lent.clone();
    if now != lease || shared.state().released {
        return Ok(());
    }
    // What became of the browser says more than that the lease is gone.
    let loss = match inner.store.lease_check(&lease, &session.id).await {
        Err(StoreError::NotHeld(told)) => told,
        _ => loss,
    };
    shared.state().lost = Some(loss.clone());
    Err(StoreError::NotHeld(loss))
}
