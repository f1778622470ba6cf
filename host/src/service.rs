//! The façade: plain requests in, envelopes out. Every surface calls it and nothing below it.

mod audit;
mod demo;
mod doctor;
mod leftovers;
mod preparation;
mod record;
mod request;
mod sessions;
mod warming;

pub use audit::{AuditQuery, KnownRow, audit_show, audit_verify};
pub use demo::{DemoData, Timings, demo, serve_site};
pub use doctor::{Check, Diagnosis, Status, doctor};
pub use preparation::{setup, warm_up};
pub use request::ExecuteRequest;
pub use sessions::{SessionInfo, keep, sessions_close, sessions_list, sessions_revoke, sessions_show, sessions_sweep};
pub use warming::Warming;

pub use crate::exec::{NoObserver, Observer};
pub use codemode_spec::session::{NetworkLists, SessionMode, SessionRequest, checked_key};

use crate::{
    config::{Config, Defaults},
    engine::Engine,
    exec::{Execution, Executor, Request, Settings},
    result::console,
};
use codemode_cdp::CdpProvider;
use codemode_page::{BrowserConfig, Browsers};
use codemode_provider::{Registry, Sessions};
use codemode_spec::{
    Envelope, ErrorCode, ErrorReport, Manifest,
    envelope::{Context, ExecutionData, Meta},
    limits::{RESULT_CHARS_DEFAULT, SESSION_SWEEP_MS, WALL_MS_DEFAULT},
};
use record::Recorder;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// The name of the one tool.
pub const TOOL: &str = "browser_execute";

/// A host that is ready to execute.
#[derive(Clone)]
pub struct Service {
    executor: Executor,
    recorder: Arc<Recorder>,
    defaults: Defaults,
    external: bool,
    _sweeping: Arc<AbortOnDropHandle<()>>,
}

/// Is told, in a line, what takes its time.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

impl Service {
    /// A host with the providers of this build. Makes the sandbox image if it is missing, which is told to `progress`.
    /// To be called within a runtime: it sweeps sessions now and again.
    ///
    /// # Errors
    /// `NOT_READY` when the sandbox cannot be prepared.
    pub fn open(config: &Config, progress: &dyn Fn(&str)) -> Result<Self, ErrorReport> {
        let state = config.state()?;
        let defaults = config.defaults()?;
        if config.cdp_url.is_some() && defaults.network != NetworkLists::default() {
            return Err(not_ours("the file of defaults has [network] rules"));
        }
        let sessions = sessions::open(config, &state)?;
        leftovers::remove(&state);
        let images = config.image_dir()?;
        let engine = warm(&images, progress)?;
        let recorder = Arc::new(Recorder::new(Arc::clone(sessions.store())));
        let sweeping = Arc::new(sessions.keep_sweeping(Duration::from_millis(SESSION_SWEEP_MS)));
        let browsers = browsers(config, &defaults, images, Arc::new(sessions))?;
        let settings = Settings {
            concurrent_max: config.concurrent,
            queued_max: config.queued,
            services: vec![Arc::new(browsers)],
            audit: Arc::clone(&recorder) as _,
            ..Settings::new(state.path())
        };
        let (executor, external) = (Executor::new(engine, registry()?, settings), config.cdp_url.is_some());
        Ok(Self { executor, recorder, defaults, external, _sweeping: sweeping })
    }

    /// Executes a script and answers. Never fails: failures are answers.
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
            return answer(TOOL, Err(error), Duration::ZERO);
        }
        let session = match request.session {
            Some(session) => session,
            // The defaults are for browsers of our own.
            None if self.external => SessionRequest::default(),
            None => self.defaults.session.clone(),
        };
        if self.external && session.mode != SessionMode::OneShot {
            let message = format!("the browser of an external endpoint cannot be shared: the mode is {}", session.mode);
            let error = ErrorReport::new(ErrorCode::InvalidArgument, message)
                .with_hint("Leave the session out, or let the host launch its browsers: without --cdp-url.");
            return answer(TOOL, Err(error), Duration::ZERO);
        }
        if self.external && session.network.is_some() {
            return answer(TOOL, Err(not_ours("the session has network rules")), Duration::ZERO);
        }
        let timeout = Duration::from_millis(request.timeout_ms.unwrap_or(WALL_MS_DEFAULT));
        let chars = request.result_chars.or(self.defaults.result.chars).unwrap_or(RESULT_CHARS_DEFAULT as u64);
        // One that is too large for the platform is too large for the executor, which says so.
        let result_chars = usize::try_from(chars).unwrap_or(usize::MAX);
        let request = Request { timeout, result_chars, cancel, session, ..Request::new(request.code) };
        let mut execution = self.executor.execute(request, observer).await;
        // What is answered stands in the audit.
        if let Some(error) = self.recorder.missed(execution.id.as_str()).await {
            execution.warnings.push(format!("The audit is incomplete: {error}"));
        }
        envelope(execution)
    }
}

/// The refusal of rules that nothing would enforce.
fn not_ours(what: &str) -> ErrorReport {
    let message = format!("{what}, and the browser is that of an external endpoint, whose network is not ours to rule");
    ErrorReport::new(ErrorCode::InvalidArgument, message)
        .with_hint("Leave the rules out, or let the host launch its browsers: without --cdp-url.")
}

/// The namespaces of this build.
fn registry() -> Result<Registry, ErrorReport> {
    Registry::new(vec![Arc::new(CdpProvider::new())])
        .map_err(|error| ErrorReport::new(ErrorCode::HostFault, error.to_string()))
}

/// The browser that the namespaces of an execution share.
fn browsers(
    config: &Config,
    defaults: &Defaults,
    protocols_dir: PathBuf,
    sessions: Arc<dyn Sessions>,
) -> Result<Browsers, ErrorReport> {
    let config = BrowserConfig {
        browser: config.browser.clone(),
        cdp_url: config.cdp_url.clone(),
        headers: config.cdp_header.iter().map(|header| (header.name.clone(), header.value.0.clone())).collect(),
        headless: !config.headed,
        device_permissions: defaults.policy.device_permissions.clone(),
        confinement: config.confinement()?,
        protocols_dir: Some(protocols_dir),
    };
    Ok(Browsers::new(config, Some(sessions)))
}

/// The namespaces that scripts can reach. Needs no sandbox.
///
/// # Errors
/// When the providers of this build cannot be offered together.
pub fn manifests(config: &Config) -> Result<Vec<Manifest>, ErrorReport> {
    // A wrong file of defaults is told by every command.
    config.defaults()?;
    Ok(registry()?.providers().map(|provider| provider.manifest().clone()).collect())
}

/// An engine for the image in a folder, made there if it is missing.
///
/// # Errors
/// `NOT_READY` when it can be neither loaded nor made.
pub fn warm(images: &Path, progress: &dyn Fn(&str)) -> Result<Engine, ErrorReport> {
    Engine::open(images, progress).map_err(|error| {
        tracing::error!(error = ?error, "the sandbox could not be prepared");
        let cause = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        ErrorReport::new(ErrorCode::NotReady, format!("{error}{cause}"))
    })
}

/// The answer to an execution.
fn envelope(execution: Execution) -> Envelope {
    let mut meta = Meta {
        duration_ms: millis(execution.duration),
        warnings: execution.warnings,
        logs_dropped_bytes: execution.console_dropped_bytes,
        calls: execution.calls,
        cpu_ms: millis(execution.cpu),
        ..Meta::default()
    };
    let logs = console::within_budget(execution.console, &mut meta.logs_dropped_bytes);
    let (data, error) = match execution.outcome {
        Ok(shaped) => {
            meta.truncated = !shaped.cuts.is_empty() || shaped.cuts_unlisted > 0;
            meta.cuts = shaped.cuts;
            meta.cuts_unlisted = shaped.cuts_unlisted;
            let (result, images, artifact) = (Some(shaped.result), shaped.images, shaped.artifact);
            (Some(ExecutionData { result, logs, images, files: shaped.files, artifact }), None)
        }
        Err(error) if logs.is_empty() => (None, Some(error)),
        Err(error) => (Some(ExecutionData { logs, ..ExecutionData::default() }), Some(error)),
    };
    Envelope {
        ok: error.is_none(),
        command: TOOL.to_owned(),
        context: execution.context,
        data: data.map(|data| serde_json::to_value(data).expect("plain data can be written as JSON")),
        error,
        meta,
    }
}

/// An answer of a command that is no execution.
#[must_use]
pub fn answer(command: &str, outcome: Result<serde_json::Value, ErrorReport>, duration: Duration) -> Envelope {
    let (data, error) = match outcome {
        Ok(data) => (Some(data), None),
        Err(error) => (None, Some(error.bounded())),
    };
    Envelope {
        ok: error.is_none(),
        command: command.to_owned(),
        context: Context::default(),
        data,
        error,
        meta: Meta { duration_ms: millis(duration), ..Meta::default() },
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
