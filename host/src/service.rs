//! The façade: a service that executes scripts and administers what they leave. Every surface calls it and nothing below it.
//!
//! It is an object with three parts, each of which is made at its first use and then kept: its settings and namespaces, its
//! administration (state folder and store), and its execution (sandbox image, executor, sweeper). So a list of sessions
//! compiles no sandbox, and a server opens its store once.

mod answer;
mod audit;
mod builder;
mod cleanup;
mod demo;
mod doctor;
mod preparation;
mod record;
mod request;
mod sessions;
mod settings;
mod startup;

pub use answer::{answer, refused};
pub use audit::{AuditQuery, AuditShown};
pub use builder::ServiceBuilder;
pub use demo::{DemoData, SiteServed, Timings, serve_site};
pub use doctor::{Check, Diagnosis, Status};
pub use preparation::{BrowserReady, ImageReady};
pub use request::ExecuteRequest;
pub use sessions::{Reaped, SessionClosed, SessionRevoked, SessionShown, SessionsListed, SessionsSwept, keep};
pub use settings::Settings;

pub use crate::{
    exec::{Observer, Unobserved},
    network::NetworkRules,
    session::{
        SessionInfo,
        store::{
            Retention, SessionState,
            audit::{AuditRow, KnownRow, Verdict},
        },
    },
};
pub use codemode_chromium::{ConfineMode, Confinement};
pub use codemode_page::{BrowserConfig, DevicePermission};
pub use codemode_spec::session::{NetworkLists, SessionMode, SessionRequest, checked_key};

use crate::{
    engine::Engine,
    exec::{Executor, Request, Settings as ExecutorSettings},
    result::Transform,
    session::{SessionManager, SessionSettings},
    state_dir::StateDir,
};
use codemode_page::Browsers;
use codemode_provider::{Provider, ServiceProvider, Sessions};
use codemode_spec::{
    Envelope, ErrorCode, ErrorReport, Manifest,
    limits::{AUDIT_ROWS_MIN, SESSION_SWEEP_MS, WALL_MS_DEFAULT},
};
use record::Recorder;
use startup::Startup;
use std::{path::Path, sync::Arc, time::Duration};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// The name of the one tool.
pub const TOOL: &str = "browser_execute";

/// Is told, in a line, what takes its time.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// A host: it executes scripts, and administers sessions and the audit. Cheap to clone; all clones are one service.
///
/// To be used within a runtime. When the last clone is dropped, the sweeper ends; browsers that are kept stay with their
/// keepers.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    providers: Vec<Arc<dyn Provider>>,
    services: Vec<Arc<dyn ServiceProvider>>,
    transform: Arc<dyn Transform>,
    has_browser: bool,
    manifests: Vec<Manifest>,
    administration: Startup<Administration>,
    execution: Startup<Execution>,
}

/// What administration needs.
#[derive(Clone)]
struct Administration {
    state: StateDir,
    sessions: SessionManager,
}

/// What executions need besides.
struct Execution {
    executor: Executor,
    recorder: Arc<Recorder>,
    _sweeping: AbortOnDropHandle<()>,
}

impl Service {
    /// A service to be put together: by default with the browser, its namespaces, and answers shaped for a model.
    #[must_use]
    pub fn builder(settings: Settings) -> ServiceBuilder {
        ServiceBuilder::new(settings)
    }

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

    /// Executes a script and answers. Never fails: failures are answers. Prepares the service if it is not [ready](Self::ready).
    ///
    /// # Cancellation
    /// Dropping the future, or cancelling the token, ends the execution and closes its browser.
    pub async fn execute(
        &self,
        request: ExecuteRequest,
        observer: Arc<dyn Observer>,
        cancel: CancellationToken,
    ) -> Envelope {
        if let Err(error) = request.check() {
            return refused(error);
        }
        let request = match self.request(request, cancel.clone()) {
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
        answer::executed(execution)
    }

    /// What is executed, with the settings where the request says nothing.
    fn request(&self, request: ExecuteRequest, cancel: CancellationToken) -> Result<Request, ErrorReport> {
        let settings = &self.inner.settings;
        let ExecuteRequest { code, timeout_ms, result_chars, session } = request;
        let session = match session {
            Some(session) => session,
            // The settings are for browsers of our own.
            None if settings.is_external() => SessionRequest::default(),
            None => settings.session.clone(),
        };
        if !self.inner.has_browser && session != SessionRequest::default() {
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
        let timeout = Duration::from_millis(timeout_ms.unwrap_or(WALL_MS_DEFAULT));
        // A number that is too large for the platform is too large for the executor, which says so.
        let result_chars = usize::try_from(result_chars.unwrap_or(settings.result_chars)).unwrap_or(usize::MAX);
        Ok(Request { timeout, result_chars, cancel, session, ..Request::new(code) })
    }

    async fn administration(&self) -> Result<&Administration, ErrorReport> {
        let inner = Arc::clone(&self.inner);
        self.inner.administration.get(&|_| {}, move |_| Administration::open(&inner.settings)).await
    }

    async fn execution(&self, progress: &(dyn Fn(&str) + Send + Sync)) -> Result<&Execution, ErrorReport> {
        let administration = self.administration().await?.clone();
        let inner = Arc::clone(&self.inner);
        self.inner.execution.get(progress, move |tell| Execution::open(&inner, administration, tell)).await
    }
}

impl Administration {
    /// The state folder, with its store. Blocks.
    fn open(settings: &Settings) -> Result<Self, ErrorReport> {
        let state = settings.state()?;
        let retention =
            Retention { audit_rows: settings.retention.audit_rows.max(AUDIT_ROWS_MIN), ..settings.retention };
        let lease_ttl = settings.lease_ttl.max(Duration::from_millis(1));
        let session_settings = SessionSettings {
            lease_ttl,
            renew_every: Some(lease_ttl / 6),
            retention,
            confinement: settings.browser.confinement.clone(),
            network: settings.network.clone(),
        };
        // Without a keeper no browser is started under a lease: see `Execution::open`.
        let keeper = settings.keeper.clone().unwrap_or_default();
        let sessions = SessionManager::open(state.clone(), keeper, session_settings)?;
        Ok(Self { state, sessions })
    }
}

impl Execution {
    /// The sandbox, with its executor. Blocks.
    fn open(inner: &Inner, administration: Administration, progress: &dyn Fn(&str)) -> Result<Self, ErrorReport> {
        let Inner { settings, providers, services, transform, has_browser, .. } = inner;
        if settings.is_external() && settings.network != NetworkRules::default() {
            return Err(not_ours("the settings have network rules"));
        }
        let Administration { state, sessions } = administration;
        cleanup::remove_old(&state);
        let images = settings.image_dir()?;
        let engine = warm(&images, progress)?;
        let recorder = Arc::new(Recorder::new(Arc::clone(sessions.store())));
        let sweeping = sessions.keep_sweeping(Duration::from_millis(SESSION_SWEEP_MS));
        let mut of_executions: Vec<Arc<dyn ServiceProvider>> = Vec::new();
        if *has_browser {
            let protocols_dir = settings.browser.protocols_dir.clone().or(Some(images));
            let config = BrowserConfig { protocols_dir, ..settings.browser.clone() };
            let leased = settings.keeper.is_some().then(|| Arc::new(sessions) as Arc<dyn Sessions>);
            of_executions.push(Arc::new(Browsers::new(config, leased)));
        }
        of_executions.extend(services.iter().cloned());
        let executor_settings = ExecutorSettings {
            concurrent_max: settings.concurrent_max,
            queued_max: settings.queued_max,
            services: of_executions,
            transform: Arc::clone(transform),
            record: Arc::clone(&recorder) as _,
            ..ExecutorSettings::new(state.path())
        };
        let executor = Executor::new(engine, builder::registry(providers)?, executor_settings);
        Ok(Self { executor, recorder, _sweeping: sweeping })
    }
}

/// The refusal of rules that nothing would enforce.
fn not_ours(what: &str) -> ErrorReport {
    let message = format!("{what}, and the browser is that of an external endpoint, whose network is not ours to rule");
    ErrorReport::new(ErrorCode::InvalidArgument, message)
        .with_hint("Leave the rules out, or let the host launch its browsers: without --cdp-url.")
}

/// An engine for the image in a folder, made there if it is missing. Blocks.
fn warm(images: &Path, progress: &dyn Fn(&str)) -> Result<Engine, ErrorReport> {
    Engine::open(images, progress).map_err(|error| {
        tracing::error!(error = ?error, "the sandbox could not be prepared");
        let cause = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        ErrorReport::new(ErrorCode::NotReady, format!("{error}{cause}"))
    })
}
