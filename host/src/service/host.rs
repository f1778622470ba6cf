//! The [`Service`] and its central method: executing a script for a caller.

use super::{
    answer::{executed, refused},
    caller::Caller,
    insight::Insight,
    metrics::Metrics,
    request::ExecuteRequest,
    running::Running,
    settings::Settings,
    startup::Startup,
    subsystems::{Administration, Execution, ServiceConfig, rules_not_enforceable},
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

/// A host: executes scripts, and administers sessions and the audit. Cheap to clone; all clones share one service.
///
/// Must be used within a Tokio runtime. When the last clone is dropped, the sweeper ends; shared browsers keep running
/// under their keepers.
#[derive(Clone)]
pub struct Service {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub config: ServiceConfig,
    pub manifests: Vec<Manifest>,
    pub administration: Startup<Administration>,
    pub execution: Startup<Execution>,
    pub metrics: Arc<Metrics>,
    pub running: Arc<Running>,
    /// Traces and page views of executions, if the settings enable them.
    pub insight: Option<Insight>,
    /// Permits for executions without a script.
    pub direct_permits: Arc<Semaphore>,
    /// The default session and the default `result_chars` of calls.
    pub call_defaults: RwLock<(SessionRequest, u64)>,
}

impl Service {
    /// The namespaces that scripts can reach. Opens nothing.
    #[must_use]
    pub fn manifests(&self) -> &[Manifest] {
        &self.inner.manifests
    }

    /// Prepares the first execution: loads the sandbox image, or builds it, which takes some seconds and is reported to
    /// `progress`; removes the leftovers of dead hosts; and starts the periodic sweep of sessions.
    ///
    /// # Errors
    /// `NOT_READY` when the sandbox cannot be prepared, `CANCELLED`, and errors of the state folder or the settings.
    /// The next call tries again.
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

    /// Executes a script on behalf of the user of this process. Failures are returned as answers too. Prepares the
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

    /// As [`Self::execute`], on behalf of a caller, within that caller's rights.
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
        let Execution { executor, recorder, .. } = self.inner.execution.if_ready().expect("it is ready");
        let mut execution = executor.execute(request, observer).await;
        // The audit rows of an execution are written before it is answered.
        if let Some(error) = recorder.flush(execution.id.as_str()).await {
            execution.warnings.push(format!("The audit is incomplete: {error}"));
        }
        executed(execution)
    }

    /// The request to the executor: fills in the defaults, and checks the caller's rights.
    fn request(
        &self,
        caller: &Caller,
        request: ExecuteRequest,
        cancel: CancellationToken,
    ) -> Result<Request, ErrorReport> {
        let settings = self.settings();
        let ExecuteRequest { code, timeout_ms, result_chars, session } = request;
        let (usual_session, usual_chars) =
            self.inner.call_defaults.read().unwrap_or_else(PoisonError::into_inner).clone();
        let session = match session {
            Some(session) => session,
            // The default session is meant for browsers that codemode launches.
            None if settings.is_external() => SessionRequest::default(),
            None => usual_session,
        };
        let session = self.session(caller, session)?;
        let timeout = Duration::from_millis(timeout_ms.unwrap_or(WALL_MS_DEFAULT));
        // A number that is too large for the platform is also too large for the executor, which refuses it.
        let result_chars = usize::try_from(result_chars.unwrap_or(usual_chars)).unwrap_or(usize::MAX);
        Ok(Request { timeout, result_chars, cancel, session, share: caller.share(), ..Request::new(code) })
    }

    /// The session of an execution, after checking that the caller may use it.
    pub(super) fn session(&self, caller: &Caller, mut session: SessionRequest) -> Result<SessionRequest, ErrorReport> {
        let settings = self.settings();
        if !self.inner.config.has_browser && session != SessionRequest::default() {
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, "this host has no browser, and so no sessions")
                .with_hint("Leave the session out."));
        }
        if settings.is_external() && session.mode != SessionMode::OneShot {
            let message = format!("the browser of an external endpoint cannot be shared: the mode is {}", session.mode);
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, message)
                .with_hint("Leave the session out, or let the host launch its browsers: without --cdp-url."));
        }
        if settings.is_external() && session.network.is_some() {
            return Err(rules_not_enforceable("the session has network rules"));
        }
        if settings.is_external() && caller.network.is_some() {
            return Err(rules_not_enforceable("the caller has network rules"));
        }
        caller.check(&session)?;
        session.caller_network.clone_from(&caller.network);
        Ok(session)
    }

    /// Replaces the defaults [`Settings::session`] and [`Settings::result_chars`] for executions that start from now
    /// on.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when a value is invalid; then nothing is changed.
    pub fn set_defaults_of_calls(&self, session: SessionRequest, result_chars: u64) -> Result<(), ErrorReport> {
        let request = ExecuteRequest::new("");
        ExecuteRequest { session: Some(session.clone()), result_chars: Some(result_chars), ..request }.check()?;
        // No code panics while it holds this lock.
        *self.inner.call_defaults.write().unwrap_or_else(PoisonError::into_inner) = (session, result_chars);
        Ok(())
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.inner.config.settings
    }

    pub(super) async fn administration(&self) -> Result<&Administration, ErrorReport> {
        let inner = Arc::clone(&self.inner);
        self.inner.administration.get(&|_| {}, move |_| Administration::open(&inner.config.settings)).await
    }

    pub(super) async fn execution(&self, progress: &(dyn Fn(&str) + Send + Sync)) -> Result<&Execution, ErrorReport> {
        let administration = self.administration().await?.clone();
        let inner = Arc::clone(&self.inner);
        self.inner
            .execution
            .get(progress, move |tell| {
                let observers = (&inner.metrics, &inner.running, inner.insight.as_ref());
                Execution::open(&inner.config, administration, observers, tell)
            })
            .await
    }
}
