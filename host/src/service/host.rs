//! The service as an object.

use super::{
    answer::{executed, refused},
    caller::Caller,
    insight::Insight,
    metrics::Metrics,
    parts::{Administration, Execution, Ingredients, not_ours},
    request::ExecuteRequest,
    running::Running,
    settings::Settings,
    startup::Startup,
};
use crate::exec::{Observer, Request};
use codemode_spec::{
    Envelope, ErrorCode, ErrorReport, Manifest,
    limits::WALL_MS_DEFAULT,
    session::{SessionMode, SessionRequest},
};
use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// A host: it executes scripts, and administers sessions and the audit. Cheap to clone; all clones are one service.
///
/// To be used within a runtime. When the last clone is dropped, the sweeper ends; browsers that are kept stay with their
/// keepers.
#[derive(Clone)]
pub struct Service {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub ingredients: Ingredients,
    pub manifests: Vec<Manifest>,
    pub administration: Startup<Administration>,
    pub execution: Startup<Execution>,
    pub metrics: Arc<Metrics>,
    pub running: Arc<Running>,
    /// What an operator sees of executions beside the audit, if the settings want that.
    pub insight: Option<Insight>,
    /// Places of executions without a script.
    pub direct_places: Arc<Semaphore>,
    /// What executions have that do not say: the session, and the characters of a result.
    pub of_calls: RwLock<(SessionRequest, u64)>,
}

impl Service {
    /// The namespaces that scripts can reach. Opens nothing.
    #[must_use]
    pub fn manifests(&self) -> &[Manifest] {
        &self.inner.manifests
    }

    /// Prepares the first execution: loads the sandbox image, or makes it, which takes some seconds and is told to
    /// `progress`, removes what dead hosts left, and begins to sweep sessions now and again.
    ///
    /// # Errors
    /// `NOT_READY` when the sandbox cannot be prepared, `CANCELLED`, and what is wrong with state folder or settings. The
    /// next call tries again.
    ///
    /// # Cancellation
    /// May be dropped at any time, or cancelled by the token.
    pub async fn ready(
        &self,
        progress: &(dyn Fn(&str) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<(), ErrorReport> {
        tokio::select! {
            execution = self.execution(progress) => execution.map(drop),
            () = cancel.cancelled() => {
                Err(ErrorReport::new(ErrorCode::Cancelled, "the call was cancelled before the script began"))
            }
        }
    }

    /// Executes a script and answers, on behalf of the user of this process. Never fails: failures are answers. Prepares the
    /// service if it is not [ready](Self::ready).
    ///
    /// # Cancellation
    /// Dropping the future, or cancelling the token, ends the execution and closes its browser.
    pub async fn execute(
        &self,
        request: ExecuteRequest,
        observer: Arc<dyn Observer>,
        cancel: CancellationToken,
    ) -> Envelope {
        self.execute_for(&Caller::default(), request, observer, cancel).await
    }

    /// As [`Self::execute`], on behalf of a caller, and with what that caller may have.
    ///
    /// # Cancellation
    /// As [`Self::execute`].
    pub async fn execute_for(
        &self,
        caller: &Caller,
        request: ExecuteRequest,
        observer: Arc<dyn Observer>,
        cancel: CancellationToken,
    ) -> Envelope {
        if let Err(error) = request.check() {
            return refused(error);
        }
        let request = match self.request(caller, request, cancel.clone()) {
            Ok(request) => request,
            Err(error) => return refused(error),
        };
        if let Err(error) = self.ready(&|_| {}, &cancel).await {
            return refused(error);
        }
        let Execution { executor, recorder, .. } = self.inner.execution.made().expect("it is ready");
        let mut execution = executor.execute(request, observer).await;
        // What is answered stands in the audit.
        if let Some(error) = recorder.missed(execution.id.as_str()).await {
            execution.warnings.push(format!("The audit is incomplete: {error}"));
        }
        executed(execution)
    }

    /// What is executed, with the settings where the request says nothing.
    fn request(
        &self,
        caller: &Caller,
        request: ExecuteRequest,
        cancel: CancellationToken,
    ) -> Result<Request, ErrorReport> {
        let settings = self.settings();
        let ExecuteRequest { code, timeout_ms, result_chars, session } = request;
        let (usual_session, usual_chars) = self.inner.of_calls.read().unwrap_or_else(PoisonError::into_inner).clone();
        let session = match session {
            Some(session) => session,
            // The settings are for browsers of our own.
            None if settings.is_external() => SessionRequest::default(),
            None => usual_session,
        };
        let session = self.session(caller, session)?;
        let timeout = Duration::from_millis(timeout_ms.unwrap_or(WALL_MS_DEFAULT));
        // A number that is too large for the platform is too large for the executor, which says so.
        let result_chars = usize::try_from(result_chars.unwrap_or(usual_chars)).unwrap_or(usize::MAX);
        Ok(Request { timeout, result_chars, cancel, session, share: caller.share(), ..Request::new(code) })
    }

    /// The session of an execution for a caller, if that may have it.
    pub(super) fn session(&self, caller: &Caller, mut session: SessionRequest) -> Result<SessionRequest, ErrorReport> {
        let settings = self.settings();
        if !self.inner.ingredients.has_browser && session != SessionRequest::default() {
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, "this host has no browser, and so no sessions")
                .with_hint("Leave the session out."));
        }
        if settings.is_external() && session.mode != SessionMode::OneShot {
            let message = format!("the browser of an external endpoint cannot be shared: the mode is {}", session.mode);
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, message)
                .with_hint("Leave the session out, or let the host launch its browsers: without --cdp-url."));
        }
        if settings.is_external() && session.network.is_some() {
            return Err(not_ours("the session has network rules"));
        }
        if settings.is_external() && caller.network.is_some() {
            return Err(not_ours("the caller has network rules"));
        }
        caller.check(&session)?;
        session.caller_network.clone_from(&caller.network);
        Ok(session)
    }

    /// Takes another session, and other characters of a result, for executions that begin from now on and do not say: in the
    /// place of [`Settings::session`] and [`Settings::result_chars`].
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when they are wrong; nothing is taken then.
    pub fn set_defaults_of_calls(&self, session: SessionRequest, result_chars: u64) -> Result<(), ErrorReport> {
        let request = ExecuteRequest::new("");
        ExecuteRequest { session: Some(session.clone()), result_chars: Some(result_chars), ..request }.check()?;
        // Nothing panics while it is held.
        *self.inner.of_calls.write().unwrap_or_else(PoisonError::into_inner) = (session, result_chars);
        Ok(())
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.inner.ingredients.settings
    }

    pub(super) async fn administration(&self) -> Result<&Administration, ErrorReport> {
        let inner = Arc::clone(&self.inner);
        self.inner.administration.get(&|_| {}, move |_| Administration::open(&inner.ingredients.settings)).await
    }

    pub(super) async fn execution(&self, progress: &(dyn Fn(&str) + Send + Sync)) -> Result<&Execution, ErrorReport> {
        let administration = self.administration().await?.clone();
        let inner = Arc::clone(&self.inner);
        self.inner
            .execution
            .get(progress, move |tell| {
                let told = (&inner.metrics, &inner.running, inner.insight.as_ref());
                Execution::open(&inner.ingredients, administration, told, tell)
            })
            .await
    }
}
