//! The two subsystems of a service, each initialised at its first use: [`Administration`] (state folder and stores),
//! and [`Execution`] (sandbox, executor and background sweeps).

use super::{
    cleanup,
    insight::Insight,
    metrics::{Counted, Metrics},
    recorder::Recorder,
    running::Running,
    settings::Settings,
    views::ViewsProvider,
};
use crate::{
    engine::{ArtifactError, Engine},
    exec::{Executor, Settings as ExecutorSettings},
    history::History,
    logins::LoginStore,
    network::NetworkRules,
    result::Transform,
    secrets::SecretStore,
    session::{SessionManager, SessionSettings, store::Retention},
    state_dir::StateDir,
};
use codemode_page::{BrowserConfig, Browsers};
use codemode_provider::{Provider, Registry, ServiceProvider, Sessions};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{AUDIT_ROWS_MIN, SESSION_SWEEP_MS},
    message::Layer,
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio_util::task::AbortOnDropHandle;

/// The configuration from which the subsystems are initialised.
pub(super) struct ServiceConfig {
    pub settings: Settings,
    pub providers: Vec<Arc<dyn Provider>>,
    pub services: Vec<Arc<dyn ServiceProvider>>,
    pub transform: Arc<dyn Transform>,
    pub has_browser: bool,
}

/// The subsystem for administration: the state folder and its stores.
#[derive(Clone)]
pub(super) struct Administration {
    pub state: StateDir,
    pub sessions: SessionManager,
    pub secrets: SecretStore,
    pub logins: LoginStore,
    pub history: History,
    /// How long unused logins are retained.
    pub logins_kept: Duration,
}

/// The subsystem for executions: the sandbox, the executor and the background sweeps.
pub(super) struct Execution {
    pub executor: Executor,
    pub recorder: Arc<Recorder>,
    _sweeping: [AbortOnDropHandle<()>; 2],
}

impl Administration {
    /// Opens the state folder and its stores. Blocks.
    pub(super) fn open(settings: &Settings) -> Result<Self, ErrorReport> {
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
        // Without a keeper, no browser is started under a lease: see `Execution::open`.
        let keeper = settings.keeper.clone().unwrap_or_default();
        let sessions = SessionManager::open(state.clone(), keeper, session_settings)?;
        let secrets = SecretStore::new(&state.secrets());
        let logins = LoginStore::new(&state.logins());
        let (history, logins_kept) = (History::new(&state.history()), Duration::from_millis(retention.logins_ms));
        Ok(Self { state, sessions, secrets, logins, history, logins_kept })
    }
}

impl Execution {
    /// Prepares the sandbox and its executor, and starts the background sweeps. Blocks.
    pub(super) fn open(
        config: &ServiceConfig,
        administration: Administration,
        (metrics, running, insight): (&Arc<Metrics>, &Arc<Running>, Option<&Insight>),
        progress: &dyn Fn(&str),
    ) -> Result<Self, ErrorReport> {
        let ServiceConfig { settings, providers, services, transform, has_browser } = config;
        if settings.is_external() && settings.network != NetworkRules::default() {
            return Err(rules_not_enforceable("the settings have network rules"));
        }
        if !settings.is_external() && !settings.browser.headers.is_empty() {
            return Err(headers_without_endpoint());
        }
        let forgetting_logins = administration.clone().keep_forgetting_logins();
        let Administration { state, sessions, .. } = administration;
        cleanup::remove_old(&state);
        let images = settings.image_dir()?;
        let engine = warm(&images, &layers(providers), progress)?;
        let recorder = Arc::new(Recorder::new(Arc::clone(sessions.store()), Arc::clone(running)));
        let sweeping = sessions.keep_sweeping(Duration::from_millis(SESSION_SWEEP_MS));
        let mut of_executions: Vec<Arc<dyn ServiceProvider>> = Vec::new();
        if *has_browser {
            let protocols_dir = settings.browser.protocols_dir.clone().or(Some(images));
            let config = BrowserConfig { protocols_dir, ..settings.browser.clone() };
            let leased = settings.keeper.is_some().then(|| Arc::new(sessions) as Arc<dyn Sessions>);
            of_executions.push(Arc::new(Browsers::new(config, leased)));
            // After the browser, since services are disposed of in reverse: operators' views detach before it is
            // released.
            of_executions.extend(insight.map(|insight| Arc::new(ViewsProvider(Arc::clone(&insight.views))) as _));
        }
        of_executions.extend(services.iter().cloned());
        let executor_settings = ExecutorSettings {
            concurrent_max: settings.concurrent_max,
            queued_max: settings.queued_max,
            services: of_executions,
            transform: Arc::clone(transform),
            audit: Arc::new(Counted {
                audit: Arc::clone(&recorder) as _,
                metrics: Arc::clone(metrics),
                running: Arc::clone(running),
            }),
            meter: Arc::clone(metrics) as _,
            traces: insight.map(|insight| Arc::clone(&insight.traces)),
            ..ExecutorSettings::new(state.path())
        };
        let executor = Executor::new(engine, registry(providers)?, executor_settings);
        Ok(Self { executor, recorder, _sweeping: [sweeping, forgetting_logins] })
    }
}

/// The error for network rules of an external browser, whose traffic codemode does not control.
pub(super) fn rules_not_enforceable(what: &str) -> ErrorReport {
    let message = format!("{what}, and the browser is that of an external endpoint, whose network is not ours to rule");
    ErrorReport::new(ErrorCode::InvalidArgument, message)
        .with_hint("Leave the rules out, or let the host launch its browsers: without --cdp-url.")
}

/// The error for headers of an endpoint when no endpoint is configured: the browser that codemode launches gets none.
fn headers_without_endpoint() -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, "there are headers for an endpoint, and there is no endpoint")
        .with_hint("Name the endpoint with --cdp-url, or leave the headers out: without --cdp-header.")
}

/// Opens an engine for the image in a folder, and builds the image there if it is missing. Blocks.
pub(super) fn warm(images: &Path, layers: &[Layer], progress: &dyn Fn(&str)) -> Result<Engine, ErrorReport> {
    Engine::open(images, layers, progress).map_err(|error| {
        tracing::error!(error = ?error, "the sandbox could not be prepared");
        let cause = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        let report = ErrorReport::new(ErrorCode::NotReady, format!("{error}{cause}"));
        match error {
            ArtifactError::Layer { .. } | ArtifactError::LayersTooLarge { .. } => {
                report.with_hint("The namespace is at fault: correct the layer in its manifest.")
            }
            _ => report,
        }
    })
}

/// The JavaScript layers of the namespaces.
pub(super) fn layers(providers: &[Arc<dyn Provider>]) -> Vec<Layer> {
    providers.iter().filter_map(|provider| provider.manifest().to_layer()).collect()
}

/// The registry of the namespaces, which checks that they can be offered together.
pub(super) fn registry(providers: &[Arc<dyn Provider>]) -> Result<Registry, ErrorReport> {
    Registry::new(providers.to_vec()).map_err(|error| {
        ErrorReport::new(ErrorCode::InvalidArgument, error.to_string())
            .with_hint("Give the namespaces and methods of this host names that can stand side by side.")
    })
}
