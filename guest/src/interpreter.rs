//! The engine with one context and one execution, which each turn runs until it is idle.

use crate::{
    bridge::{self, Bridge},
    codec, fault, memory, state, timers, web,
};
use boa_engine::{
    Context, JsError, JsResult, JsValue, Script, Source,
    builtins::promise::{OperationType, Promise, PromiseState},
    context::{Clock, HostHooks, time::JsInstant},
    job::{GenericJob, Job, JobExecutor, PromiseJob},
    object::{JsObject, builtins::JsPromise},
};
use codemode_spec::{
    limits::{ENGINE_STACK_VALUES_MAX, LAYER_LOOP_TURNS_MAX, RECURSION_DEPTH_MAX, RESULT_BYTES_MAX},
    message::{Encoded, Layer, LayerAdded, Outcome, Resume, Start, State, Turn},
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use std::{cell::RefCell, collections::VecDeque, path::Path, rc::Rc};

/// The engine with its globals, and the execution that it runs.
pub struct Guest {
    context: Context,
    jobs: Rc<Jobs>,
    bridge: Bridge,
    main: Option<JsPromise>,
}

impl Guest {
    /// Creates an engine with every global of the platform, before any namespace or script is known.
    pub fn new() -> JsResult<Self> {
        let jobs = Rc::new(Jobs::default());
        let mut context = Context::builder()
            .job_executor(jobs.clone())
            .host_hooks(Rc::new(Hooks))
            .clock(Rc::new(TurnClock))
            .build()?;
        context.runtime_limits_mut().set_recursion_limit(RECURSION_DEPTH_MAX);
        context.runtime_limits_mut().set_stack_size_limit(ENGINE_STACK_VALUES_MAX);
        web::install(&mut context)?;
        let bridge = Bridge::new(&mut context)?;
        context.run_jobs()?;
        // Collect the prelude's garbage while the image is built, so that no execution pays for it.
        memory::collect();
        Ok(Self { context, jobs, bridge, main: None })
    }

    /// Evaluates a layer and stores its function in the image. Called only while the image is built.
    ///
    /// # Errors
    /// Why the layer cannot be used, as a message for its author.
    pub fn add_layer(&mut self, layer: &Layer) -> LayerAdded {
        let context = &mut self.context;
        context.runtime_limits_mut().set_loop_iteration_limit(LAYER_LOOP_TURNS_MAX);
        let added = self.bridge.add_layer(layer, context);
        let ran = context.run_jobs().map_err(|error| fault::text(error, context));
        context.runtime_limits_mut().disable_loop_iteration_limit();
        added.and(ran)?;
        // Timers, console lines and rejections must not be frozen into the image: every execution would get them.
        if timers::next_due().is_some() {
            return Err("the layer sets a timer before it is called".to_owned());
        }
        if let Some(line) = state::with(|state| state.console.take()).0.first() {
            return Err(format!("the layer writes to the console before it is called: {}", line.text));
        }
        if let Some(text) = fault::unhandled(None, context).first() {
            return Err(format!("nothing handled: {text}"));
        }
        memory::collect();
        Ok(())
    }

    /// Starts the execution and runs it until it is idle.
    pub fn start(&mut self, start: Start) -> Turn {
        state::with(|state| {
            state.now_ms = start.now_ms;
            state.start_ms = start.now_ms;
            state.random = ChaCha8Rng::from_seed(start.seed);
            state.calls_max = start.calls_max;
            state.call_bytes = start.call_bytes as usize;
        });
        let begun = self.begin(start);
        self.finish_turn(begun)
    }

    /// Delivers replies and due timers to the execution, and runs it until it is idle.
    pub fn resume(&mut self, resume: Resume) -> Turn {
        state::with(|state| {
            state.now_ms = resume.now_ms;
            state.call_bytes = resume.call_bytes as usize;
        });
        let mut result = Ok(());
        for reply in resume.replies {
            memory::collect_if_grown();
            result = result.and_then(|()| bridge::settle_or_report(reply, &mut self.context));
            // Run each reply's continuations before the next reply is delivered, as if it had arrived alone.
            result = result.and_then(|()| self.context.run_jobs());
        }
        let result = result.and_then(|()| timers::run_due(resume.now_ms, &mut self.context));
        let result = result.map_err(|error| fault::outcome(error, &mut self.context));
        self.finish_turn(result)
    }

    fn begin(&mut self, start: Start) -> Result<(), Outcome> {
        let context = &mut self.context;
        for namespace in start.namespaces {
            self.bridge.install(namespace, context).map_err(|error| fault::outcome(error, context))?;
        }
        let source = Source::from_bytes(start.source.as_bytes()).with_path(Path::new(&start.source_name));
        let script = Script::parse(source, None, context).map_err(|error| syntax(&error, context))?;
        let main = evaluate(&script, context).map_err(|error| fault::outcome(error, context))?;
        self.main = Some(main);
        context.run_jobs().map_err(|error| fault::outcome(error, context))
    }

    fn finish_turn(&mut self, result: Result<(), Outcome>) -> Turn {
        let state = match result.err().or_else(|| self.settled()) {
            Some(outcome) => {
                let unhandled = fault::unhandled(self.main.as_ref(), &mut self.context);
                // Taken last, because the getters of the result may have made calls, too.
                let outbox = state::with(|state| std::mem::take(&mut state.outbox));
                let unsent = outbox.into_iter().map(|call| format!("{}.{}", call.namespace, call.method)).collect();
                State::Done { outcome, unhandled, unsent }
            }
            None => {
                let calls = state::with(state::State::calls_to_send);
                let withheld = state::with(|state| !state.outbox.is_empty());
                State::Waiting { calls, next_timer_ms: timers::next_due(), withheld }
            }
        };
        let (console, console_dropped) = state::with(|state| state.console.take());
        Turn { state, console, console_dropped }
    }

    /// The execution's outcome, if the script's promise is settled.
    fn settled(&mut self) -> Option<Outcome> {
        let context = &mut self.context;
        match self.main.as_ref()?.state() {
            PromiseState::Pending => None,
            PromiseState::Fulfilled(value) => Some(match codec::encode(&value, RESULT_BYTES_MAX, context) {
                Ok(bytes) => Outcome::Returned(Encoded(bytes)),
                Err(refusal) => fault::refused(refusal, context),
            }),
            PromiseState::Rejected(reason) => Some(Outcome::Threw(fault::thrown(&reason, context))),
        }
    }

    /// Whether no job is queued. Invariant: true between turns.
    pub fn is_idle(&self) -> bool {
        self.jobs.queue.borrow().is_empty()
    }
}

/// Runs the script. If its completion value is a function, calls it. Returns a promise for the resulting value.
fn evaluate(script: &Script, context: &mut Context) -> JsResult<JsPromise> {
    let mut value = script.evaluate(context)?;
    if let Some(function) = value.as_callable() {
        value = function.call(&JsValue::undefined(), &[], context)?;
    }
    // A native promise is used directly, so that a script which changed `Promise.prototype` has no influence here.
    match value.as_promise() {
        Some(promise) => Ok(promise),
        None => JsPromise::resolve(value, context),
    }
}

/// The outcome of a source that the engine refused although the host's parser accepted it.
fn syntax(error: &JsError, context: &mut Context) -> Outcome {
    let message = match error.try_native(context) {
        Ok(native) => native.message().to_owned(),
        Err(_) => error.to_string(),
    };
    let (line, column) = position(&message).unwrap_or((0, 0));
    Outcome::Syntax { message, line, column }
}

/// Parses the position in "… at line 3, col 14".
fn position(message: &str) -> Option<(u32, u32)> {
    let (_, rest) = message.rsplit_once("at line ")?;
    let (line, column) = rest.split_once(", col ")?;
    let digits = column.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((line.parse().ok()?, digits.parse().ok()?))
}

/// The queue of promise jobs: the only work that the engine can queue inside the guest.
#[derive(Default)]
struct Jobs {
    queue: RefCell<VecDeque<Runnable>>,
}

enum Runnable {
    Promise(PromiseJob),
    Generic(GenericJob),
}

impl JobExecutor for Jobs {
    fn enqueue_job(self: Rc<Self>, job: Job, _: &mut Context) {
        match job {
            Job::PromiseJob(job) => self.queue.borrow_mut().push_back(Runnable::Promise(job)),
            Job::GenericJob(job) => self.queue.borrow_mut().push_back(Runnable::Generic(job)),
            // The guest has its own timers, and the engine schedules no other kind of job.
            _ => {}
        }
    }

    fn run_jobs(self: Rc<Self>, context: &mut Context) -> JsResult<()> {
        loop {
            let Some(job) = self.queue.borrow_mut().pop_front() else { break };
            memory::collect_if_grown();
            match job {
                Runnable::Promise(job) => job.call(context)?,
                Runnable::Generic(job) => job.call(context)?,
            };
        }
        context.clear_kept_objects();
        Ok(())
    }
}

struct Hooks;

impl HostHooks for Hooks {
    fn promise_rejection_tracker(&self, promise: &JsObject<Promise>, operation: OperationType, _: &mut Context) {
        let Ok(promise) = JsPromise::from_object(promise.clone().upcast()) else { return };
        match operation {
            OperationType::Reject => {
                let PromiseState::Rejected(reason) = promise.state() else { return };
                state::with(|state| state.unhandled.push((promise, reason)));
            }
            OperationType::Handle => {
                state::with(|state| state.unhandled.retain(|(other, _)| !JsObject::equals(other, &promise)));
            }
        }
    }

    /// Scripts see UTC, independently of the host's time zone.
    fn local_timezone_offset_seconds(&self, _: i64) -> i32 {
        0
    }

    /// The engine checks this before it allocates a buffer.
    fn max_buffer_size(&self, _: &mut Context) -> u64 {
        memory::collect_if_grown();
        codemode_spec::limits::MEMORY_BYTES_MAX as u64
    }
}

struct TurnClock;

impl Clock for TurnClock {
    fn now(&self) -> JsInstant {
        let ms = state::now_ms();
        JsInstant::new((ms / 1_000.0) as u64, ((ms % 1_000.0) * 1e6) as u32)
    }

    fn system_time_millis(&self) -> i64 {
        state::now_ms() as i64
    }
}
