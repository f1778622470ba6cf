//! One execution, from a request to how it went.
//!
//! In the order of their use: a [`Request`] is checked, and admitted by `admission`; `created` are the services and
//! runtimes that are made for it; a run takes its `turns` on a `state` that is plain data, and has its `calls` carried
//! out; `outcome` says what that came to, `quirks` what the guest's own words in it mean. The [`Executor`] puts these
//! together, disposes of what was created, and has the result shaped. `direct` is an execution whose calls a surface makes. `audit` has the traits of those who are told, `trace` what an
//! operator sees of it, `spans` what a collector gets.

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
use admission::{Admission, Place};
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
use outcome::{Returned, RunOutcome, cancelled, time_over};
use rand::Rng as _;
use state::{RunState, Summary};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;
use trace::{TraceSink, Tracing};
use tracing::{Instrument as _, Span, warn};
use turns::{Run, RunInputs};

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
    state_dir: Result<StateDir, ErrorReport>,
    /// Those of the state folder, which each execution has as they are when it begins.
    secrets: Option<SecretStore>,
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
    /// Where what executions do is written down.
    pub audit: Arc<dyn AuditSink>,
    /// What counts what they take.
    pub meter: Arc<dyn Meter>,
    /// Where an operator sees what they run, call and write; without it nothing of that is kept.
    pub traces: Option<Arc<Traces>>,
    /// Executions that run at the same time, at most [`EXECUTIONS_CONCURRENT_MAX`].
    pub concurrent_max: usize,
    /// Executions that wait for a place.
    pub queued_max: usize,
}

/// How an execution went.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The shaped result, or why there is none.
    pub outcome: Result<Shaped, ErrorReport>,
    /// What the script wrote to the console, the first and the last of it.
    pub console: Vec<ConsoleLine>,
    /// Files besides those of the result: data that stood in these lines, and what the script put into its answer.
    pub files: Vec<DataFile>,
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

    /// Executes a script. Every failure is part of the answer.
    ///
    /// # Cancellation
    /// Dropping the future cancels the execution; its providers are still disposed of, in the background.
    pub async fn execute(&self, request: Request, observer: Arc<dyn Observer>) -> Execution {
        let id = new_id();
        let cancel = request.cancel.child_token();
        // When the caller goes away, this future is dropped and with it the guard; the task below cleans up.
        let gone = cancel.clone().drop_guard();
        let (inner, of) = (Arc::clone(&self.inner), id.clone());
        let span = spans::execution(&id, &request.share.caller);
        let task = async move {
            let began = Instant::now();
            // Boxed, as the stages of it are, so that while one waits nothing is kept for the others.
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
        drop(gone.disarm());
        execution
    }
}

/// What an execution has been granted.
struct Granted {
    /// It counts as one that runs while this is held.
    place: Arc<Place>,
    deadline: Instant,
    cancel: CancellationToken,
    /// What pages may get and scripts may not see.
    secrets: Arc<SecretsOpened>,
}

impl Granted {
    /// What goes to the script or leaves the host is masked by it.
    fn masker(&self) -> &Masker {
        &self.secrets.masker
    }
}

impl Inner {
    /// Admits, creates, runs, disposes, shapes; an error here means that nothing has run.
    async fn execute(
        &self,
        id: &ExecutionId,
        request: Request,
        cancel: &CancellationToken,
        observer: Arc<dyn Observer>,
    ) -> Result<Execution, ErrorReport> {
        request.check()?;
        let granted = self.admit(&request.share, request.timeout, request.timeout, cancel).await?;
        // What is wrong with a script is shown with its source.
        let prepared = Box::pin(self.prepare(&request.code, &granted)).await;
        let program = prepared.map_err(|error| granted.masker().report(error))?;
        // Cancelled at the end, whatever it is: nothing that a runtime started may go on.
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

    /// Grants a place, for which it waits, and what an execution has for the time that it lasts.
    async fn admit(
        &self,
        share: &Share,
        wait: Duration,
        lasts: Duration,
        cancel: &CancellationToken,
    ) -> Result<Granted, ErrorReport> {
        self.state_dir.as_ref().map_err(Clone::clone)?;
        // First of all: what has no place yet must not wait for the threads of those that have one.
        let place = Arc::new(self.admission.enter(share, wait, cancel).await?);
        let deadline = Instant::now() + lasts;
        // Before anything runs: what could not be masked must not be reached.
        let secrets = self.secrets.as_ref().map_or_else(|| Ok(Arc::default()), SecretStore::open)?;
        Ok(Granted { place, deadline, cancel: cancel.clone(), secrets })
    }

    /// What the runtimes of an execution are given, and the files that they put into its answer. `ended` is cancelled when it
    /// ends.
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

    /// Where an operator sees what an execution does, if this host keeps traces.
    fn trace(&self, id: &ExecutionId, code: &str, secrets: &SecretsOpened) -> Tracing {
        let begin = |traces: &Arc<Traces>| traces.begin(id.as_str(), secrets.masker.masked(code.to_owned()));
        self.settings.traces.as_ref().map(begin).unwrap_or_default()
    }

    /// Where calls go, when the runtimes are there.
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

    /// The run of a program whose runtimes are there.
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
        // Before it is shaped, which writes files.
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

    /// Shapes the console, of an execution that failed too. What was kept of it is so little that it always has the time; it
    /// may write files, though.
    async fn shape_console(&self, id: &ExecutionId, lines: Vec<ConsoleLine>, granted: &Granted) -> ShapedConsole {
        let bytes: usize = lines.iter().map(|line| line.text.len()).sum();
        let Ok(state_dir) = &self.state_dir else { return ShapedConsole { lines, ..ShapedConsole::default() } };
        let artifacts = state_dir.artifacts(id.as_str());
        let (transform, place) = (self.settings.transform.clone(), granted.place.clone());
        let shape = move || {
            let _place = place;
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

    /// Shapes a result. That of a large one may take a second and writes a file: away from the async workers, and not
    /// beyond the execution's time, but for the little that is always granted. What is given up ends by itself, and keeps the
    /// execution's place until then: nothing else has its memory.
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
        let place = granted.place.clone();
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
}

impl Execution {
    /// Of an execution of which nothing has run, or of which nothing else is known.
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

/// 80 random bits: unique without asking anyone, short enough to type.
fn new_id() -> ExecutionId {
    let mut bytes = [0; 10];
    rand::rng().fill_bytes(&mut bytes);
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    ExecutionId::new(&format!("x-{text}"))
}
