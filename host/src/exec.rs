//! One execution, from a request to its outcome.
//!
//! The modules in the order of their use: a [`Request`] is checked, and `admission` grants it a permit; `created` holds
//! the services and runtimes that are created for it; a run takes its `turns` on a `state` of plain data, with `calls`
//! under way; `outcome` turns the guest's ending into a value or an error report, with `quirks` for the guest's own
//! error messages. The [`Executor`] puts these together, disposes of what was created, and has the result shaped.
//! `direct` is an execution without a script, whose calls a surface makes. `audit` has the traits of observers and
//! audit logs, `trace` records what operators see of an execution, `spans` what a collector receives.

mod admission;
mod audit;
mod calls;
mod created;
mod direct;
mod logins;
mod meter;
mod outcome;
mod poll;
mod quirks;
mod request;
mod spans;
mod state;
mod trace;
mod turns;

pub use admission::{Load, Share};
pub use audit::{AuditSink, LoginAct, NoAudit, NoObserver, Observer};
pub use direct::{Direct, DirectRequest};
pub use meter::{Meter, NoMeter};
pub use request::Request;
pub use trace::{ExecutionTrace, TracedCall, TracedLine, Traces};

use crate::{
    engine::Engine,
    logins::LoginStore,
    program::Program,
    result::{KeptFiles, Shaped, ShapedConsole, Transform},
    secrets::{Masker, SecretStore, SecretsOpened},
    state_dir::StateDir,
};
use admission::{Admission, Permit};
use audit::{ExecutionRefusals, ExecutionSecrets};
use calls::Callees;
use codemode_provider::{
    AnswerFiles, Clock, ExecutionContext, ExecutionId, Folders, LoginStates, RefusalSink, Registry, ReplyRoom, Secrets,
    ServiceProvider, Services,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::{Context, DataFile},
    error::clip,
    limits::{
        ERROR_TEXT_CHARS_MAX, EXECUTIONS_CONCURRENT_MAX, EXECUTIONS_QUEUED_MAX, HOST_ARGUMENTS_WEIGHT_MAX,
        HOST_REPLIES_BYTES_MAX, RESULT_CHARS_DEFAULT, SHAPE_MS_MIN, WARNINGS_MAX,
    },
    message::ConsoleLine,
    session::SessionRequest,
};
use created::Created;
use logins::ExecutionLogins;
use outcome::{Returned, RunOutcome, cancelled, timed_out};
use rand::Rng as _;
use state::{RunState, Summary};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;
use trace::{TraceSink, Tracing};
use tracing::{Instrument as _, Span, warn};
use turns::{Run, RunInputs};

/// A result of at most so many encoded bytes is shaped inline: hardly any of them is long enough to be cut.
const RESULT_BYTES_INLINE_MAX: usize = RESULT_CHARS_DEFAULT / 8;

/// Runs scripts. Cheap to clone.
///
/// An embedder's host needs only this and a provider:
/// `Executor::new(engine, Registry::new(vec![provider])?, Settings::new(state_dir)).execute(request, observer).await`.
#[derive(Clone)]
pub struct Executor {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    registry: Arc<Registry>,
    settings: Settings,
    /// Opened once; if that failed, every execution is refused.
    state_dir: Result<StateDir, ErrorReport>,
    /// The secrets of the state folder; each execution reads them when it starts.
    secrets: Option<SecretStore>,
    admission: Admission,
    /// Host memory for the arguments of running calls, shared by all executions; a permit is a byte of weight.
    argument_room: Arc<Semaphore>,
    /// Host memory for replies that no turn has taken yet.
    reply_room: Arc<ReplyRoom>,
}

/// The settings that all executions of an executor share.
#[derive(Clone)]
pub struct Settings {
    /// The state folder, for everything that the host persists. Executions are refused if it cannot be trusted.
    pub state_dir: PathBuf,
    /// The step between a script's result and its answer.
    pub transform: Arc<dyn Transform>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// Services that the namespaces of an execution share, such as its browser; created in this order before any
    /// runtime.
    pub services: Vec<Arc<dyn ServiceProvider>>,
    /// The audit log of what executions do.
    pub audit: Arc<dyn AuditSink>,
    /// The meter of what executions use.
    pub meter: Arc<dyn Meter>,
    /// Where operators see the script, calls and console of executions; without it nothing of that is recorded.
    pub traces: Option<Arc<Traces>>,
    /// Executions that run at the same time, at most [`EXECUTIONS_CONCURRENT_MAX`].
    pub concurrent_max: usize,
    /// Executions that may wait for a permit.
    pub queued_max: usize,
}

/// The result of an execution.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The shaped result, or the error.
    pub outcome: Result<Shaped, ErrorReport>,
    /// The script's console output: its first and its last lines.
    pub console: Vec<ConsoleLine>,
    /// Files besides those of the result: data found in console lines, and files that the script attached to the answer.
    pub files: Vec<DataFile>,
    /// Bytes of console output that were dropped between the first and the last lines.
    pub console_dropped_bytes: u64,
    /// The session, lease and page that the execution used.
    pub context: Context,
    /// Unexpected events that did not fail the execution.
    pub warnings: Vec<String>,
    /// Provider calls made.
    pub calls: u64,
    /// Processor time of the sandbox.
    pub cpu: Duration,
    /// Wall time, from admission to the end of disposal.
    pub duration: Duration,
}

impl Settings {
    /// The defaults for a state folder: results shaped for a model, the machine's clock.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            transform: Arc::new(crate::result::ForModel),
            clock: Arc::new(codemode_provider::SystemClock),
            services: Vec::new(),
            audit: Arc::new(NoAudit),
            meter: Arc::new(NoMeter),
            traces: None,
            concurrent_max: EXECUTIONS_CONCURRENT_MAX,
            queued_max: EXECUTIONS_QUEUED_MAX,
        }
    }
}

impl Executor {
    /// An executor of scripts that can reach the registry's namespaces.
    #[must_use]
    pub fn new(engine: Engine, registry: Registry, settings: Settings) -> Self {
        let concurrent_max = settings.concurrent_max.clamp(1, EXECUTIONS_CONCURRENT_MAX);
        let admission = Admission::new(concurrent_max, settings.queued_max.min(EXECUTIONS_QUEUED_MAX));
        let state_dir = StateDir::open(&settings.state_dir).map_err(ErrorReport::from);
        let secrets = state_dir.as_ref().ok().map(|state_dir| SecretStore::new(&state_dir.secrets()));
        let registry = Arc::new(registry);
        let argument_room = Arc::new(Semaphore::new(HOST_ARGUMENTS_WEIGHT_MAX));
        let reply_room = Arc::new(ReplyRoom(Arc::new(Semaphore::new(HOST_REPLIES_BYTES_MAX))));
        let inner = Inner { engine, registry, settings, state_dir, secrets, admission, argument_room, reply_room };
        Self { inner: Arc::new(inner) }
    }

    /// The namespaces that scripts can reach.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// How many executions run and wait.
    #[must_use]
    pub fn load(&self) -> Load {
        self.inner.admission.load()
    }

    /// Executes a script. Every failure is reported in the returned [`Execution`].
    ///
    /// # Cancellation
    /// Dropping the future cancels the execution; its providers are still disposed of, in the background.
    pub async fn execute(&self, request: Request, observer: Arc<dyn Observer>) -> Execution {
        let id = new_id();
        let cancel = request.cancel.child_token();
        // When the caller drops this future, the guard cancels the execution; the task below disposes of it.
        let cancel_on_drop = cancel.clone().drop_guard();
        let (inner, of) = (Arc::clone(&self.inner), id.clone());
        let span = spans::execution(&id, &request.share.caller);
        let task = async move {
            let began = Instant::now();
            // Boxed, as its stages are, so that a waiting stage does not hold the memory of the others.
            let executed = Box::pin(inner.execute(&of, request, &cancel, observer)).await;
            let mut execution = executed.unwrap_or_else(|error| Execution::failed(of, error));
            execution.outcome = execution.outcome.map_err(ErrorReport::bounded);
            execution.duration = began.elapsed();
            let outcome = execution.outcome.as_ref().map(drop).map_err(|error| error.code);
            inner.settings.meter.execution(execution.duration, execution.cpu, outcome);
            spans::ended(&Span::current(), outcome);
            execution
        };
        let task = tokio::spawn(task.instrument(span.clone()));
        let execution = task.await.unwrap_or_else(|error| {
            warn!(%error, "an execution's task failed");
            spans::ended(&span, Err(ErrorCode::HostFault));
            Execution::failed(id, ErrorReport::new(ErrorCode::HostFault, "the execution was lost inside the host"))
        });
        drop(cancel_on_drop.disarm());
        execution
    }
}

/// What an admitted execution holds until it ends.
struct Granted {
    /// The execution counts as running while this is held.
    permit: Arc<Permit>,
    deadline: Instant,
    cancel: CancellationToken,
    /// Values that pages may receive and scripts may not see.
    secrets: Arc<SecretsOpened>,
}

impl Granted {
    /// Masks everything that goes to the script or leaves the host.
    fn masker(&self) -> &Masker {
        &self.secrets.masker
    }
}

impl Inner {
    /// Admits, creates, runs, disposes, shapes. An error here means that nothing has run.
    async fn execute(
        &self,
        id: &ExecutionId,
        request: Request,
        cancel: &CancellationToken,
        observer: Arc<dyn Observer>,
    ) -> Result<Execution, ErrorReport> {
        request.check()?;
        let granted = self.admit(&request.share, request.timeout, request.timeout, cancel).await?;
        // An error in a script quotes its source, which is masked too.
        let prepared = Box::pin(self.prepare(&request.code, &granted)).await;
        let program = prepared.map_err(|error| granted.masker().report(error))?;
        // Cancelled at the end, whatever the outcome: nothing that a runtime started may continue.
        let ended = cancel.child_token();
        let (mut context, kept) = self.context(id, &request.session, request.options.clone(), &granted, &ended)?;
        self.settings.audit.started(id, &request.share.caller, &request.code, &request.session);
        let tracing = self.trace(id, &request.code, &granted.secrets);
        let mut created = Created::default();
        let creation = Box::pin(created.create_all(&self.settings.services, &self.registry, &mut context)).await;
        let run = match creation {
            Ok(()) => {
                let callees = self.callees(&created, &granted.secrets, tracing.sink());
                self.run(id, &request, program, callees, &granted, observer).complete().await
            }
            Err(error) => RunOutcome::failed(error),
        };
        ended.cancel();
        let mut execution = Box::pin(self.finish(id, run, &created, &granted, request.result_chars)).await;
        execution.files.extend(kept.take());
        let outcome = execution.outcome.as_ref().map(drop).map_err(|error| error.code);
        self.settings.audit.ended(id, outcome, execution.calls, &execution.context);
        tracing.sink().ended(outcome, execution.cpu);
        Ok(execution)
    }

    /// Waits for a permit, and reads the secrets that the execution may use.
    async fn admit(
        &self,
        share: &Share,
        wait: Duration,
        lasts: Duration,
        cancel: &CancellationToken,
    ) -> Result<Granted, ErrorReport> {
        self.state_dir.as_ref().map_err(Clone::clone)?;
        // Acquire the permit first: a request without one must not wait for the threads of running executions.
        let permit = Arc::new(self.admission.acquire(share, wait, cancel).await?);
        let deadline = Instant::now() + lasts;
        // Read the secrets before anything runs: a value that could not be masked must not be reachable.
        let secrets = self.open_secrets(Arc::clone(&permit)).await?;
        Ok(Granted { permit, deadline, cancel: cancel.clone(), secrets })
    }

    /// Reads the secrets off the async workers, since they are in files.
    async fn open_secrets(&self, permit: Arc<Permit>) -> Result<Arc<SecretsOpened>, ErrorReport> {
        let Some(secrets) = self.secrets.clone() else { return Ok(Arc::default()) };
        // Not on a turn thread: scripts may occupy them all.
        let opened = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            secrets.open()
        });
        let lost = |_| Err(ErrorReport::new(ErrorCode::HostFault, "the secrets could not be read"));
        opened.await.unwrap_or_else(lost)
    }

    /// The context for an execution's runtimes, and the files that they attach to its answer. `ended` is cancelled when
    /// the execution ends.
    fn context(
        &self,
        id: &ExecutionId,
        session: &SessionRequest,
        options: serde_json::Map<String, serde_json::Value>,
        granted: &Granted,
        ended: &CancellationToken,
    ) -> Result<(ExecutionContext, Arc<KeptFiles>), ErrorReport> {
        let state_dir = self.state_dir.as_ref().map_err(Clone::clone)?;
        let mut services = self.services(id, session, state_dir, &granted.secrets);
        let kept = Arc::new(KeptFiles::new(state_dir.artifacts(id.as_str())));
        services.insert::<dyn AnswerFiles>(Arc::clone(&kept) as _);
        let context = ExecutionContext {
            execution: id.clone(),
            cancel: ended.clone(),
            deadline: granted.deadline,
            clock: self.settings.clock.clone(),
            options: Arc::new(options),
            session: session.clone(),
            services,
        };
        Ok((context, kept))
    }

    /// Starts the trace that operators see, if this host keeps traces.
    fn trace(&self, id: &ExecutionId, code: &str, secrets: &SecretsOpened) -> Tracing {
        let begin = |traces: &Arc<Traces>| traces.begin(id.as_str(), secrets.masker.masked(code.to_owned()));
        self.settings.traces.as_ref().map(begin).unwrap_or_default()
    }

    /// The targets of the execution's calls, once its runtimes exist.
    fn callees(&self, created: &Created, secrets: &SecretsOpened, trace: TraceSink) -> Callees {
        Callees {
            registry: self.registry.clone(),
            runtimes: created.runtimes.clone().into(),
            audit: self.settings.audit.clone(),
            meter: self.settings.meter.clone(),
            masker: secrets.masker.clone(),
            trace,
            span: Span::current(),
        }
    }

    /// Parses the source, which takes up to a second, off the async workers.
    async fn prepare(&self, code: &str, granted: &Granted) -> Result<Program, ErrorReport> {
        let (code, permit) = (code.to_owned(), granted.permit.clone());
        let prepared = self.engine.threads().run(move || {
            let _permit = permit;
            Program::prepare(&code)
        });
        tokio::select! {
            biased;
            () = granted.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(granted.deadline) => Err(timed_out()),
            prepared = prepared => prepared
                .unwrap_or_else(|_| Err(ErrorReport::new(ErrorCode::HostFault, "the source could not be read"))),
        }
    }

    /// The services that the host itself offers to the namespaces of an execution.
    fn services(
        &self,
        id: &ExecutionId,
        session: &SessionRequest,
        state_dir: &StateDir,
        secrets: &Arc<SecretsOpened>,
    ) -> Services {
        let mut services = Services::default();
        services.insert(Arc::new(Folders {
            state: state_dir.path().to_owned(),
            profiles: state_dir.profiles(),
            downloads: state_dir.downloads(id.as_str()),
        }));
        services.insert(self.reply_room.clone());
        let refusals = ExecutionRefusals { audit: self.settings.audit.clone(), execution: id.clone() };
        services.insert::<dyn RefusalSink>(Arc::new(refusals));
        let (audit, opened) = (self.settings.audit.clone(), Arc::clone(secrets));
        services.insert::<dyn Secrets>(Arc::new(ExecutionSecrets { audit, execution: id.clone(), opened }));
        services.insert::<dyn LoginStates>(Arc::new(ExecutionLogins {
            audit: self.settings.audit.clone(),
            execution: id.clone(),
            clock: self.settings.clock.clone(),
            store: LoginStore::new(&state_dir.logins()),
            key: session.key.clone(),
        }));
        services
    }

    /// The run of a program, once its runtimes exist.
    fn run(
        &self,
        id: &ExecutionId,
        request: &Request,
        program: Program,
        callees: Callees,
        granted: &Granted,
        observer: Arc<dyn Observer>,
    ) -> Box<Run> {
        let seed = request.seed.unwrap_or_else(|| {
            let mut seed = [0; 32];
            rand::rng().fill_bytes(&mut seed);
            seed
        });
        let now = Instant::now();
        let time_left = granted.deadline.saturating_duration_since(now);
        let state = RunState::new(id.clone(), seed, self.settings.clock.now(), time_left, request.cpu);
        Run::new(
            state,
            now,
            RunInputs {
                engine: self.engine.clone(),
                program,
                callees,
                argument_room: self.argument_room.clone(),
                cancel: granted.cancel.clone(),
                observer,
            },
        )
    }

    /// Disposes of what was created, and has the result shaped.
    async fn finish(
        &self,
        id: &ExecutionId,
        run: RunOutcome,
        created: &Created,
        granted: &Granted,
        result_chars: usize,
    ) -> Execution {
        let ending = run.ending();
        let RunOutcome { outcome, summary } = run;
        let masker = granted.masker();
        // Mask before shaping, which writes files.
        let mut outcome = outcome.and_then(|returned| returned.masked(masker));
        let Summary { console, console_dropped_bytes, mut warnings, calls, cpu } = summary;
        for error in created.dispose_all(ending).await {
            match &outcome {
                Ok(_) => outcome = Err(error),
                Err(_) => warnings.push(error.message),
            }
        }
        let mut context = Context { execution_id: Some(id.to_string()), ..Context::default() };
        created.describe(&mut context, &mut warnings);
        let outcome = match outcome {
            Ok(returned) => self.shape(id, returned, granted, result_chars).await,
            Err(error) => Err(error),
        };
        if let Ok(shaped) = &outcome {
            warnings.extend(shaped.warnings.iter().cloned());
        }
        let ShapedConsole { lines: console, files, warnings: of_console } =
            self.shape_console(id, console, granted).await;
        warnings.extend(of_console);
        warnings.truncate(WARNINGS_MAX);
        warnings.iter_mut().for_each(|warning| {
            masker.text(warning);
            clip(warning, ERROR_TEXT_CHARS_MAX);
        });
        masker.context(&mut context);
        let outcome = outcome.map_err(|error| masker.report(error));
        let duration = Duration::ZERO;
        Execution {
            id: id.clone(),
            outcome,
            console,
            files,
            console_dropped_bytes,
            context,
            warnings,
            calls,
            cpu,
            duration,
        }
    }

    /// Shapes the console, also of an execution that failed. It is not limited by the execution's time, because so
    /// little console output is retained; it may write files, though.
    async fn shape_console(&self, id: &ExecutionId, lines: Vec<ConsoleLine>, granted: &Granted) -> ShapedConsole {
        let bytes: usize = lines.iter().map(|line| line.text.len()).sum();
        let Ok(state_dir) = &self.state_dir else { return ShapedConsole { lines, ..ShapedConsole::default() } };
        let artifacts = state_dir.artifacts(id.as_str());
        let (transform, permit) = (self.settings.transform.clone(), granted.permit.clone());
        let shape = move || {
            let _permit = permit;
            transform.console(lines, &artifacts)
        };
        if bytes <= RESULT_BYTES_INLINE_MAX {
            return shape();
        }
        self.engine.threads().run(shape).await.unwrap_or_else(|_| ShapedConsole {
            warnings: vec!["the console could not be shaped, and is left out".to_owned()],
            ..ShapedConsole::default()
        })
    }

    /// Shapes a result. Shaping a large one may take a second and writes a file, so it runs off the async workers and
    /// within the execution's remaining time, with a minimum that is always granted. An abandoned shaping job runs to
    /// its end and holds the execution's permit until then, so that no other execution is admitted into its memory.
    async fn shape(
        &self,
        id: &ExecutionId,
        returned: Returned,
        granted: &Granted,
        chars: usize,
    ) -> Result<Shaped, ErrorReport> {
        let transform = self.settings.transform.clone();
        let artifacts = self.state_dir.clone()?.artifacts(id.as_str());
        let inline = returned.len() <= RESULT_BYTES_INLINE_MAX;
        let permit = granted.permit.clone();
        let shape = move || {
            let _permit = permit;
            returned.into_value().map(|value| transform.transform(value, chars, &artifacts))
        };
        if inline {
            return shape();
        }
        let deadline = granted.deadline.max(Instant::now() + Duration::from_millis(SHAPE_MS_MIN));
        tokio::select! {
            biased;
            () = granted.cancel.cancelled() => Err(cancelled()),
            shaped = self.engine.threads().run(shape) => shaped
                .unwrap_or_else(|_| Err(ErrorReport::new(ErrorCode::HostFault, "the result could not be shaped"))),
            () = tokio::time::sleep_until(deadline) => Err(timed_out()),
        }
    }
}

impl Execution {
    /// The result of an execution of which nothing has run, or of which nothing else is known.
    fn failed(id: ExecutionId, error: ErrorReport) -> Self {
        Self {
            context: Context { execution_id: Some(id.to_string()), ..Context::default() },
            id,
            outcome: Err(error),
            console: Vec::new(),
            files: Vec::new(),
            console_dropped_bytes: 0,
            warnings: Vec::new(),
            calls: 0,
            cpu: Duration::ZERO,
            duration: Duration::ZERO,
        }
    }
}

/// 80 random bits: unique without coordination, short enough to type.
fn new_id() -> ExecutionId {
    let mut bytes = [0; 10];
    rand::rng().fill_bytes(&mut bytes);
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    ExecutionId::new(&format!("x-{text}"))
}
