//! One execution: admit, prepare, create the providers' runtimes, run turns, dispose in reverse, shape the result.

mod admission;
mod call;
mod linger;
mod run;

use crate::{
    engine::Engine,
    program::Program,
    result::{Shaped, Transform},
    state_dir::StateDir,
};
use admission::{Admission, Place};
use codemode_provider::{
    Account, AuditSink, Clock, Ending, ExecutionContext, ExecutionId, Folders, ProviderRuntime, Refusal, Registry,
    ReplyRoom, ServiceProvider, ServiceRuntime, Services,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::Context,
    error::clip,
    limits::{
        CPU_MS_DEFAULT, CPU_MS_MAX, DISPOSE_MS_MAX, ERROR_TEXT_CHARS_MAX, EXECUTIONS_CONCURRENT_MAX,
        EXECUTIONS_QUEUED_MAX, HOST_ARGUMENTS_WEIGHT_MAX, HOST_REPLIES_BYTES_MAX, RESULT_CHARS_DEFAULT,
        RESULT_CHARS_MAX, RESULT_CHARS_MIN, SHAPE_MS_MIN, WALL_MS_DEFAULT, WALL_MS_MAX, WALL_MS_MIN, WARNINGS_MAX,
    },
    message::ConsoleLine,
    session::SessionRequest,
};
use futures::FutureExt as _;
use rand::Rng as _;
use run::{Returned, Run, Stats};
use std::{panic::AssertUnwindSafe, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, info_span, warn};

/// A result of so few encoded bytes is shaped at once: hardly any of them is long enough to be cut.
const RESULT_BYTES_INLINE_MAX: usize = RESULT_CHARS_DEFAULT / 8;

/// Runs scripts. Cheap to clone.
///
/// An embedder's own host is this and a provider:
/// `Executor::new(engine, Registry::new(vec![provider])?, Settings::new(state_dir)).execute(request, observer).await`.
#[derive(Clone)]
pub struct Executor {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    registry: Arc<Registry>,
    settings: Settings,
    /// Looked at once; without one, nothing runs.
    state: Result<StateDir, ErrorReport>,
    admission: Admission,
    /// Room for the arguments of calls that run, of all executions; a permit is a byte of weight.
    argument_room: Arc<Semaphore>,
    /// Room for replies that no turn has taken yet.
    reply_room: Arc<ReplyRoom>,
}

/// What is the same for all executions of an executor.
#[derive(Clone)]
pub struct Settings {
    /// The folder of everything that the host keeps. Executions are refused if it cannot be trusted.
    pub state_dir: PathBuf,
    /// The step between a script's result and its answer.
    pub transform: Arc<dyn Transform>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// What the namespaces of an execution share, as its browser; made in this order before any runtime.
    pub services: Vec<Arc<dyn ServiceProvider>>,
    /// Who writes down what executions do.
    pub record: Arc<dyn Record>,
    /// Executions that run at the same time, at most [`EXECUTIONS_CONCURRENT_MAX`].
    pub concurrent_max: usize,
    /// Executions that wait for a place.
    pub queued_max: usize,
}

/// What to execute.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the model sent.
    pub code: String,
    /// Wall time.
    pub timeout: Duration,
    /// Processor time.
    pub cpu: Duration,
    /// Characters of the result that the reader wants.
    pub result_chars: usize,
    /// Options for the providers and services, by name.
    pub options: serde_json::Map<String, serde_json::Value>,
    /// The browser session to run in.
    pub session: SessionRequest,
    /// Ends the execution.
    pub cancel: CancellationToken,
    /// The seed of the script's randomness; drawn if absent.
    pub seed: Option<[u8; 32]>,
}

impl Request {
    /// A request with the defaults.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            timeout: Duration::from_millis(WALL_MS_DEFAULT),
            cpu: Duration::from_millis(CPU_MS_DEFAULT),
            result_chars: RESULT_CHARS_DEFAULT,
            options: serde_json::Map::new(),
            session: SessionRequest::default(),
            cancel: CancellationToken::new(),
            seed: None,
        }
    }
}

/// Watches an execution while it runs. Called from the thread of a turn: must return at once.
pub trait Observer: Send + Sync {
    /// The script wrote to the console.
    fn console(&self, _line: &ConsoleLine) {}
    /// The script made a call.
    fn call(&self, _namespace: &str, _method: &str, _calls: u64) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Writes down what executions do, for an audit. Must return at once.
pub trait Record: Send + Sync {
    /// A script is about to run.
    fn started(&self, _id: &ExecutionId, _code: &str, _session: &SessionRequest) {}
    /// It is about to do something that has an effect. Never told: the values of its arguments.
    fn effect(&self, _id: &ExecutionId, _namespace: &str, _method: &str, _account: &Account) {}
    /// A provider took something from it that is not for scripts.
    fn refused(&self, _id: &ExecutionId, _refusal: &Refusal) {}
    /// It is over, and disposed of. `context` is what it was about.
    fn ended(&self, _id: &ExecutionId, _outcome: Result<(), ErrorCode>, _calls: u64, _context: &Context) {}
}

/// The record of one execution, as its providers have it.
struct Audit {
    record: Arc<dyn Record>,
    execution: ExecutionId,
}

impl AuditSink for Audit {
    fn refused(&self, refusal: &Refusal) {
        self.record.refused(&self.execution, refusal);
    }
}

/// Writes down nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrecorded;

impl Record for Unrecorded {}

/// How an execution went.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Which.
    pub id: ExecutionId,
    /// The shaped result, or why there is none.
    pub outcome: Result<Shaped, ErrorReport>,
    /// What the script wrote to the console, the first and the last of it.
    pub console: Vec<ConsoleLine>,
    /// Console bytes that were dropped between them.
    pub console_dropped_bytes: u64,
    /// What it was about.
    pub context: Context,
    /// What went differently than might be expected.
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
            record: Arc::new(Unrecorded),
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
        let state = StateDir::open(&settings.state_dir).map_err(ErrorReport::from);
        let registry = Arc::new(registry);
        let argument_room = Arc::new(Semaphore::new(HOST_ARGUMENTS_WEIGHT_MAX));
        let reply_room = Arc::new(ReplyRoom(Arc::new(Semaphore::new(HOST_REPLIES_BYTES_MAX))));
        Self { inner: Arc::new(Inner { engine, registry, settings, state, admission, argument_room, reply_room }) }
    }

    /// The namespaces that scripts can reach.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Executes a script. Every failure is part of the answer.
    ///
    /// # Cancellation
    /// Dropping the future cancels the execution; its providers are still disposed of, in the background.
    pub async fn execute(&self, request: Request, observer: Arc<dyn Observer>) -> Execution {
        let id = new_id();
        let cancel = request.cancel.child_token();
        // When the caller goes away, this future is dropped and with it the guard; the task below cleans up.
        let gone = cancel.clone().drop_guard();
        let span = info_span!("execution", id = %id);
        let inner = self.inner.clone();
        let task = tokio::spawn(inner.execute(id.clone(), request, cancel, observer).instrument(span));
        let execution = task.await.unwrap_or_else(|error| {
            warn!(%error, "an execution's task failed");
            Execution::failed(id, ErrorReport::new(ErrorCode::HostFault, "the execution was lost inside the host"))
        });
        drop(gone.disarm());
        execution
    }
}

/// The runtimes of one execution, in the order of their creation.
type Runtimes = Arc<[Arc<dyn ProviderRuntime>]>;

/// What there is to dispose of at the end of an execution, in the order of its creation.
#[derive(Default)]
struct Created {
    services: Vec<Arc<dyn ServiceRuntime>>,
    runtimes: Vec<Arc<dyn ProviderRuntime>>,
}

/// What an execution has been granted.
struct Granted {
    /// It counts as one that runs while this is held.
    place: Arc<Place>,
    deadline: Instant,
    cancel: CancellationToken,
    /// Characters of the result that the reader wants.
    result_chars: usize,
}

/// What the middle of an execution came to, before disposal.
struct Middle {
    outcome: Result<Returned, ErrorReport>,
    stats: Stats,
}

impl Inner {
    async fn execute(
        self: Arc<Self>,
        id: ExecutionId,
        request: Request,
        cancel: CancellationToken,
        observer: Arc<dyn Observer>,
    ) -> Execution {
        let began = Instant::now();
        let mut execution = match Box::pin(self.admitted(&id, request, &cancel, observer)).await {
            Ok(execution) => execution,
            Err(error) => Execution::failed(id, error),
        };
        execution.outcome = execution.outcome.map_err(ErrorReport::bounded);
        execution.duration = began.elapsed();
        execution
    }

    /// Everything for which a place is needed; an error here means that nothing has run. Its stages are boxed, so that
    /// while one waits nothing is kept for the others.
    async fn admitted(
        &self,
        id: &ExecutionId,
        request: Request,
        cancel: &CancellationToken,
        observer: Arc<dyn Observer>,
    ) -> Result<Execution, ErrorReport> {
        check(&request)?;
        let state = self.state.clone()?;
        // First of all: what has no place yet must not wait for the threads of those that have one.
        let place = Arc::new(self.admission.enter(request.timeout, cancel).await?);
        let deadline = Instant::now() + request.timeout;
        let granted = Granted { place, deadline, cancel: cancel.clone(), result_chars: request.result_chars };
        let program = Box::pin(self.prepare(&request.code, &granted)).await?;
        // Cancelled at the end, whatever it is: nothing that a runtime started may go on.
        let ended = cancel.child_token();
        let mut context = ExecutionContext {
            execution: id.clone(),
            cancel: ended.clone(),
            deadline,
            clock: self.settings.clock.clone(),
            options: Arc::new(request.options.clone()),
            session: request.session.clone(),
            services: self.services(id, &state),
        };
        self.settings.record.started(id, &request.code, &request.session);
        let mut created = Created::default();
        let creation = Box::pin(self.create_all(&mut context, &mut created)).await;
        let runtimes: Runtimes = created.runtimes.clone().into();
        let middle = match creation {
            Ok(()) => self.run(id, &request, program, runtimes, &granted, observer).await,
            Err(error) => Middle { outcome: Err(error), stats: Stats::default() },
        };
        ended.cancel();
        let execution = Box::pin(self.finish(id, middle, &created, &granted)).await;
        let outcome = execution.outcome.as_ref().map(drop).map_err(|error| error.code);
        self.settings.record.ended(id, outcome, execution.calls, &execution.context);
        Ok(execution)
    }

    /// Parses the source, which takes up to a second, away from the async workers.
    async fn prepare(&self, code: &str, granted: &Granted) -> Result<Program, ErrorReport> {
        let (code, place) = (code.to_owned(), granted.place.clone());
        let prepared = self.engine.threads().run(move || {
            let _place = place;
            Program::prepare(&code)
        });
        tokio::select! {
            biased;
            () = granted.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(granted.deadline) => Err(time_over()),
            prepared = prepared => prepared
                .unwrap_or_else(|_| Err(ErrorReport::new(ErrorCode::HostFault, "the source could not be read"))),
        }
    }

    /// What the host itself offers to the namespaces of an execution.
    fn services(&self, id: &ExecutionId, state: &StateDir) -> Services {
        let mut services = Services::default();
        services.insert(Arc::new(Folders {
            state: state.path().to_owned(),
            profiles: state.profiles(),
            downloads: state.downloads(id.as_str()),
        }));
        services.insert(self.reply_room.clone());
        services
            .insert::<dyn AuditSink>(Arc::new(Audit { record: self.settings.record.clone(), execution: id.clone() }));
        services
    }

    /// The services, then the runtimes. What was made before a failure is there to be disposed of.
    async fn create_all(&self, context: &mut ExecutionContext, created: &mut Created) -> Result<(), ErrorReport> {
        for service in &self.settings.services {
            let made = service.create(context);
            created.services.push(made.map_err(|error| create_failed("what the namespaces share", &error))?);
        }
        for provider in self.registry.providers() {
            let name = &provider.manifest().namespace;
            let check = context.services.check(&provider.needs());
            check.map_err(|error| create_failed(&format!("the namespace {name}"), &error))?;
            let create = AssertUnwindSafe(provider.create(context.clone())).catch_unwind();
            let made = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep_until(context.deadline) => return Err(time_over()),
                made = create => made,
            };
            match made {
                Ok(Ok(runtime)) => created.runtimes.push(runtime),
                Ok(Err(error)) => return Err(create_failed(&format!("the namespace {name}"), &error)),
                Err(_) => return Err(ErrorReport::new(ErrorCode::HostFault, format!("creating {name} panicked"))),
            }
        }
        Ok(())
    }

    async fn run(
        &self,
        id: &ExecutionId,
        request: &Request,
        program: Program,
        runtimes: Runtimes,
        granted: &Granted,
        observer: Arc<dyn Observer>,
    ) -> Middle {
        let seed = request.seed.unwrap_or_else(|| {
            let mut seed = [0; 32];
            rand::rng().fill_bytes(&mut seed);
            seed
        });
        let run = Run::new(run::Parts {
            id: id.clone(),
            record: self.settings.record.clone(),
            engine: self.engine.clone(),
            registry: self.registry.clone(),
            runtimes,
            program,
            seed,
            clock: self.settings.clock.clone(),
            deadline: granted.deadline,
            cpu: request.cpu,
            cancel: granted.cancel.clone(),
            observer,
            argument_room: self.argument_room.clone(),
        });
        let (outcome, stats) = run.complete().await;
        Middle { outcome, stats }
    }

    /// Shapes a result. That of a large one may take a second and writes a file: away from the async workers, and not
    /// beyond the execution's time, but for the little that is always granted. What is given up ends by itself, and keeps the
    /// execution's place until then: nothing else has its memory.
    async fn shape(&self, id: &ExecutionId, returned: Returned, granted: &Granted) -> Result<Shaped, ErrorReport> {
        let transform = self.settings.transform.clone();
        let artifacts = self.state.clone()?.artifacts(id.as_str());
        let inline = returned.len() <= RESULT_BYTES_INLINE_MAX;
        let (place, chars) = (granted.place.clone(), granted.result_chars);
        let shape = move || {
            let _place = place;
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
            () = tokio::time::sleep_until(deadline) => Err(time_over()),
        }
    }

    async fn finish(&self, id: &ExecutionId, middle: Middle, created: &Created, granted: &Granted) -> Execution {
        let Middle { mut outcome, stats } = middle;
        let mut context = Context { execution_id: Some(id.to_string()), ..Context::default() };
        let mut warnings = stats.warnings;
        for error in dispose_all(created, ending(&outcome)).await {
            match &outcome {
                Ok(_) => outcome = Err(error),
                Err(_) => warnings.push(error.message),
            }
        }
        for service in &created.services {
            merge(&mut context, service.describe());
            warnings.extend(service.warnings());
        }
        for runtime in &created.runtimes {
            merge(&mut context, runtime.describe());
            warnings.extend(runtime.warnings());
        }
        let outcome = match outcome {
            Ok(returned) => self.shape(id, returned, granted).await,
            Err(error) => Err(error),
        };
        if let Ok(shaped) = &outcome {
            warnings.extend(shaped.warnings.iter().cloned());
        }
        warnings.truncate(WARNINGS_MAX);
        warnings.iter_mut().for_each(|warning| clip(warning, ERROR_TEXT_CHARS_MAX));
        Execution {
            id: id.clone(),
            outcome,
            console: stats.console,
            console_dropped_bytes: stats.console_dropped_bytes,
            context,
            warnings,
            calls: stats.calls,
            cpu: stats.cpu,
            duration: Duration::ZERO,
        }
    }
}

impl Execution {
    fn failed(id: ExecutionId, error: ErrorReport) -> Self {
        Self {
            context: Context { execution_id: Some(id.to_string()), ..Context::default() },
            id,
            outcome: Err(error),
            console: Vec::new(),
            console_dropped_bytes: 0,
            warnings: Vec::new(),
            calls: 0,
            cpu: Duration::ZERO,
            duration: Duration::ZERO,
        }
    }
}

/// All faults of a request at once.
fn check(request: &Request) -> Result<(), ErrorReport> {
    let mut faults = Vec::new();
    let wall_ms = request.timeout.as_millis();
    if wall_ms < u128::from(WALL_MS_MIN) || wall_ms > u128::from(WALL_MS_MAX) {
        faults.push(format!("timeout_ms must be between {WALL_MS_MIN} and {WALL_MS_MAX}, it is {wall_ms}"));
    }
    if request.cpu.is_zero() || request.cpu.as_millis() > u128::from(CPU_MS_MAX) {
        faults.push(format!("the processor time must be between 1 and {CPU_MS_MAX} ms"));
    }
    if !(RESULT_CHARS_MIN..=RESULT_CHARS_MAX).contains(&request.result_chars) {
        let chars = request.result_chars;
        faults.push(format!("result_chars must be between {RESULT_CHARS_MIN} and {RESULT_CHARS_MAX}, it is {chars}"));
    }
    if faults.is_empty() { Ok(()) } else { Err(ErrorReport::new(ErrorCode::InvalidArgument, faults.join("; "))) }
}

/// Disposes in the reverse order of creation, namespaces before what they share, each once. Returns what failed.
async fn dispose_all(created: &Created, ending: Ending) -> Vec<ErrorReport> {
    let deadline = Instant::now() + Duration::from_millis(DISPOSE_MS_MAX);
    let mut errors = Vec::new();
    for runtime in created.runtimes.iter().rev() {
        errors.extend(disposed("a provider", deadline, runtime.dispose(ending)).await.err());
    }
    for service in created.services.iter().rev() {
        errors.extend(disposed("a shared service", deadline, service.dispose(ending)).await.err());
    }
    errors
}

async fn disposed(
    what: &str,
    deadline: Instant,
    dispose: impl Future<Output = Result<(), ErrorReport>>,
) -> Result<(), ErrorReport> {
    let left = deadline.saturating_duration_since(Instant::now());
    let failure = match timeout(left, AssertUnwindSafe(dispose).catch_unwind()).await {
        Ok(Ok(Ok(()))) => return Ok(()),
        Ok(Ok(Err(error))) => error.message,
        Ok(Err(_)) => "it panicked".to_owned(),
        Err(_) => format!("it took longer than {DISPOSE_MS_MAX} ms"),
    };
    warn!(failure, "{what} could not be disposed of");
    let message = format!("{what} could not clean up: {failure}");
    Err(ErrorReport::new(ErrorCode::ProviderDisposeFailed, message))
}

fn ending(outcome: &Result<Returned, ErrorReport>) -> Ending {
    match outcome {
        Ok(_) => Ending::Succeeded,
        Err(error) => match error.code {
            ErrorCode::Cancelled => Ending::Cancelled,
            ErrorCode::CpuExceeded | ErrorCode::TimeExceeded | ErrorCode::MemoryExceeded | ErrorCode::StackOverflow => {
                Ending::Exceeded
            }
            ErrorCode::ProviderCreateFailed | ErrorCode::CapacityExceeded => Ending::NotStarted,
            _ => Ending::Failed,
        },
    }
}

/// What a later provider says does not replace what an earlier one said.
fn merge(context: &mut Context, more: Context) {
    let Context { execution_id: _, session_id, lease, target_id, url, title } = more;
    context.session_id = context.session_id.take().or(session_id);
    context.lease = context.lease.take().or(lease);
    context.target_id = context.target_id.take().or(target_id);
    context.url = context.url.take().or(url);
    context.title = context.title.take().or(title);
}

fn create_failed(what: &str, error: &ErrorReport) -> ErrorReport {
    let message = format!("{what} could not be set up: {}", error.message);
    ErrorReport::new(ErrorCode::ProviderCreateFailed, message)
        .with_hint(error.hint.clone())
        .with_detail("cause", error.code.as_str())
}

fn cancelled() -> ErrorReport {
    ErrorReport::new(ErrorCode::Cancelled, "the execution was cancelled")
}

fn time_over() -> ErrorReport {
    ErrorReport::new(ErrorCode::TimeExceeded, "the execution's time was over")
}

/// 80 random bits: unique without asking anyone, short enough to type.
fn new_id() -> ExecutionId {
    let mut bytes = [0; 10];
    rand::rng().fill_bytes(&mut bytes);
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    ExecutionId::new(&format!("x-{text}"))
}
