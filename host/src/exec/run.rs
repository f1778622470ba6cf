//! The turns of one execution.
//!
//! A run hops between two places: on a turn thread it runs the guest and polls the calls that the guest made; when
//! nothing comes for a while it returns to the async side and waits there, with no thread of its own. Calls that are
//! ready at once, as cached answers are, and those that are answered soon, as most commands to a browser are, cost no
//! hop.

use super::{
    Observer, Record, Runtimes,
    call::{ArgumentRoom, Completed, Waiting, call_error, carry_out},
    cancelled,
    linger::poll_until,
    time_over,
};
use crate::{
    engine::{Allowance, Engine, Sandbox, Stop},
    program::Program,
};
use codemode_provider::{ArgumentsPlace, CallContext, Clock, ExecutionId, Registry};
use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    console::ConsoleBuffer,
    error::clip,
    limits::{
        CALLS_OUTSTANDING_MAX, CALLS_PER_EXECUTION_MAX, ERROR_TEXT_CHARS_MAX, FAILED_CALLS_REMEMBERED, FAULT_CHARS_MAX,
        METHOD_NAME_CHARS_MAX, MIB, REPLY_BYTES_MAX, RESULT_WEIGHT_MAX, TURN_REPLIES_BYTES_MAX,
        WAITING_CALLS_BYTES_MAX,
    },
    message::{Call, CallError, ConsoleLine, Encoded, Outcome, Reply, Resume, Start, State, Thrown, Turn},
    value::weigh,
};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, UNIX_EPOCH},
};
use tokio::{runtime::Handle, sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

/// What a run is made of.
pub(super) struct Parts {
    pub id: ExecutionId,
    pub record: Arc<dyn Record>,
    pub engine: Engine,
    pub registry: Arc<Registry>,
    pub runtimes: Runtimes,
    pub program: Program,
    pub seed: [u8; 32],
    pub clock: Arc<dyn Clock>,
    pub deadline: Instant,
    pub cpu: Duration,
    pub cancel: CancellationToken,
    pub observer: Arc<dyn Observer>,
    /// Room in the memory of the host for the arguments of calls that run, a permit a byte of weight.
    pub argument_room: Arc<Semaphore>,
}

/// What there is to say of a run besides its outcome.
#[derive(Default)]
pub(super) struct Stats {
    pub console: Vec<ConsoleLine>,
    pub console_dropped_bytes: u64,
    pub warnings: Vec<String>,
    pub calls: u64,
    pub cpu: Duration,
}

/// How long a turn's thread waits for a reply before it is given to others.
const LINGER_MAX: Duration = Duration::from_millis(5);

/// What the engine says of a variable that is used before its declaration has run. It also says so where it loses sight of
/// one: it does not look for variables in the computed names of a class's methods.
const UNINITIALIZED: &str = "access of uninitialized binding";
const UNINITIALIZED_HINT: &str = "A variable is used before the line that declares it has run: move that up. In the computed \
    name of a class's method only variables of the same function can be used: `const name = outer; class A { [name]() {} }`.";

/// What a script returned, in the codec's bytes: nothing is made of it while its calls and its browser are there.
pub(super) struct Returned {
    value: Encoded,
    program: Program,
}

impl Returned {
    /// The value, with the positions in its stacks as they are in the script.
    pub(super) fn into_value(self) -> Result<Value, ErrorReport> {
        let broken = |error| ErrorReport::new(ErrorCode::SandboxFault, format!("the result is {error}"));
        let mut value = self.value.value().map_err(broken)?;
        drop(self.value);
        self.program.stacks().map_value(&mut value);
        Ok(value)
    }

    /// Bytes of the value.
    pub(super) fn len(&self) -> usize {
        self.value.0.len()
    }
}

pub(super) struct Run {
    parts: Parts,
    /// The wall clock at `began`, in milliseconds since the Unix epoch: time in the script is monotonic from there.
    origin_ms: f64,
    began: Instant,
    sandbox: Option<Sandbox>,
    in_flight: FuturesUnordered<BoxFuture<'static, Completed>>,
    room: ArgumentRoom,
    /// Calls beyond those that may run at the same time.
    waiting: VecDeque<Waiting>,
    /// The sandbox has further calls.
    withheld: bool,
    /// What runs, for the warning about calls that nobody awaited.
    names: HashMap<u32, String>,
    /// Calls that had not ended when the script ended.
    unended: usize,
    /// Calls that the script made too late.
    unsent: Vec<String>,
    /// The reports of failed calls, so that an uncaught one is the answer's error as it was.
    failed: VecDeque<(u32, ErrorReport)>,
    console: ConsoleBuffer,
    stats: Stats,
}

/// What a stretch on a turn thread came to.
#[derive(Debug)]
enum Stretch {
    Waits { next_timer_ms: Option<f64> },
    Ended(Result<Encoded, ErrorReport>),
}

impl Run {
    pub(super) fn new(parts: Parts) -> Box<Self> {
        let room = ArgumentRoom::new(parts.argument_room.clone());
        let since_epoch = parts.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Box::new(Self {
            parts,
            origin_ms: (since_epoch.as_secs_f64() * 1_000.0).floor(),
            began: Instant::now(),
            sandbox: None,
            in_flight: FuturesUnordered::new(),
            room,
            waiting: VecDeque::new(),
            withheld: false,
            names: HashMap::new(),
            unended: 0,
            unsent: Vec::new(),
            failed: VecDeque::new(),
            console: ConsoleBuffer::default(),
            stats: Stats::default(),
        })
    }

    /// Runs to the end of the script or of its means.
    pub(super) async fn complete(self: Box<Self>) -> (Result<Returned, ErrorReport>, Stats) {
        let handle = Handle::current();
        let threads = self.parts.engine.clone();
        let mut replies: Option<Vec<Completed>> = None;
        let mut run = self;
        loop {
            let handle = handle.clone();
            let stretch = threads.threads().run(move || {
                let stretch = run.linger(replies, &handle);
                if matches!(stretch, Stretch::Ended(_)) {
                    run.drop_sandbox();
                }
                (run, stretch)
            });
            let Ok((back, stretch)) = stretch.await else {
                let error = ErrorReport::new(ErrorCode::HostFault, "a turn panicked inside the host");
                return (Err(error), Stats::default());
            };
            run = back;
            let next_timer_ms = match stretch {
                Stretch::Ended(outcome) => return run.end(outcome),
                Stretch::Waits { next_timer_ms } => next_timer_ms,
            };
            match run.wait(next_timer_ms).await {
                Ok(ready) => replies = Some(ready),
                Err(error) => return run.end(Err(error)),
            }
        }
    }

    /// Runs stretch after stretch on one thread for as long as what they wait for comes soon: a hop to the async side
    /// and back would cost a quick reply more than the browser takes for it.
    fn linger(&mut self, mut replies: Option<Vec<Completed>>, handle: &Handle) -> Stretch {
        let _runtime = handle.enter();
        loop {
            let stretch = self.stretch(replies);
            let Stretch::Waits { next_timer_ms } = stretch else { return stretch };
            let due = self.due(next_timer_ms);
            let until = (Instant::now() + LINGER_MAX).min(self.parts.deadline).min(due.unwrap_or(self.parts.deadline));
            // What is ready is taken within one poll: giving up in between loses nothing.
            match poll_until(until.into_std(), self.next_replies()) {
                Some(Ok(ready)) => replies = Some(ready),
                Some(Err(error)) => return Stretch::Ended(Err(error)),
                None if Instant::now() >= self.parts.deadline => return Stretch::Ended(Err(time_over())),
                None if due.is_some_and(|due| Instant::now() >= due) => replies = Some(Vec::new()),
                None => {
                    self.sandbox.iter_mut().for_each(Sandbox::rest);
                    return stretch;
                }
            }
        }
    }

    /// Runs the guest until it has to wait for something that is not ready. `None` begins.
    fn stretch(&mut self, mut replies: Option<Vec<Completed>>) -> Stretch {
        loop {
            let turn = match replies.take() {
                None => self.begin(),
                Some(ready) => self.resume(ready),
            };
            let turn = match turn {
                Ok(turn) => turn,
                Err(stop) => return Stretch::Ended(Err(stop.report())),
            };
            self.keep_console(turn.console, turn.console_dropped);
            let next_timer_ms = match turn.state {
                State::Done { outcome, unhandled, unsent } => {
                    let stacks = self.parts.program.stacks();
                    self.stats.warnings.extend(unhandled.into_iter().map(|mut text| {
                        stacks.map(&mut text);
                        format!("nothing handled: {text}")
                    }));
                    self.unsent = unsent;
                    return Stretch::Ended(self.outcome(outcome));
                }
                State::Waiting { calls, next_timer_ms, withheld } => {
                    self.withheld = withheld;
                    self.take_calls(calls);
                    next_timer_ms
                }
            };
            let mut ready = Vec::new();
            self.poll_ready(&mut ready);
            if ready.is_empty() && !self.may_send_more() {
                return self.waits(next_timer_ms);
            }
            if self.parts.cancel.is_cancelled() {
                return Stretch::Ended(Err(cancelled()));
            }
            if Instant::now() >= self.parts.deadline {
                return Stretch::Ended(Err(time_over()));
            }
            replies = Some(ready);
        }
    }

    fn begin(&mut self) -> Result<Turn, Stop> {
        let start = Start {
            source: self.parts.program.source.clone(),
            source_name: self.parts.program.source_name.clone(),
            namespaces: self.parts.registry.namespaces(),
            seed: self.parts.seed,
            now_ms: self.now_ms(),
            calls_max: CALLS_PER_EXECUTION_MAX,
            call_bytes: self.call_bytes(),
        };
        let allowance = self.allowance();
        let sandbox = self.sandbox.insert(self.parts.engine.sandbox()?);
        sandbox.start(&start, allowance, || {})
    }

    fn resume(&mut self, ready: Vec<Completed>) -> Result<Turn, Stop> {
        let replies = ready.into_iter().map(|Completed { call, result }| self.reply(call, result)).collect();
        let resume = Resume { now_ms: self.now_ms(), replies, call_bytes: self.call_bytes() };
        let allowance = self.allowance();
        let Self { sandbox, in_flight, waiting, unended, .. } = self;
        let let_go = || {
            *unended = in_flight.len() + waiting.len();
            in_flight.clear();
            waiting.clear();
        };
        sandbox.as_mut().ok_or(Stop::Poisoned)?.resume(resume, allowance, let_go)
    }

    /// For how many more bytes of calls there is room.
    fn call_bytes(&self) -> u32 {
        let held: usize = self.waiting.iter().map(|waiting| waiting.call.bytes()).sum();
        u32::try_from(WAITING_CALLS_BYTES_MAX.saturating_sub(held)).unwrap_or(u32::MAX)
    }

    fn reply(&mut self, call: u32, result: Result<Encoded, ErrorReport>) -> Reply {
        let name = self.names.remove(&call).unwrap_or_default();
        let result = result.and_then(|reply| {
            if reply.0.len() > REPLY_BYTES_MAX {
                let message = format!("{name}: the reply is larger than {REPLY_BYTES_MAX} bytes");
                return Err(ErrorReport::new(ErrorCode::CallFailed, message)
                    .with_hint("Ask for less: a part of the document, a filtered list, a smaller image."));
            }
            Ok(reply)
        });
        let result = result.map_err(|report| {
            let report = report.bounded();
            let error = call_error(&report);
            // In the guest's order, which forgets the same ones.
            if self.failed.len() == FAILED_CALLS_REMEMBERED {
                self.failed.pop_front();
            }
            self.failed.push_back((call, report.with_detail("call", name)));
            error
        });
        Reply { call, result }
    }

    fn allowance(&self) -> Allowance {
        Allowance { deadline: self.parts.deadline.into_std(), cpu: self.parts.cpu, cancel: self.parts.cancel.clone() }
    }

    fn now_ms(&self) -> f64 {
        self.origin_ms + self.began.elapsed().as_secs_f64() * 1_000.0
    }

    fn keep_console(&mut self, lines: Vec<ConsoleLine>, dropped_bytes: u64) {
        let stacks = self.parts.program.stacks();
        for mut line in lines {
            stacks.map(&mut line.text);
            self.parts.observer.console(&line);
            self.console.push(line);
        }
        self.console.count_dropped(dropped_bytes);
    }

    fn take_calls(&mut self, calls: Vec<Call>) {
        for mut call in calls {
            // A name that no method has is only shown, and need not be whole for that.
            clip(&mut call.method, METHOD_NAME_CHARS_MAX);
            self.stats.calls += 1;
            self.parts.observer.call(&call.namespace, &call.method, self.stats.calls);
            self.names.insert(call.id, format!("{}.{}", call.namespace, call.method));
            // What is no value of the codec is said when the call is carried out.
            let weight = weigh(&call.arguments.0).unwrap_or(0);
            self.waiting.push_back(Waiting { call, weight });
        }
        self.start_calls();
    }

    /// Starts the calls for which there is room, in the order in which the script made them.
    fn start_calls(&mut self) {
        while let Some(weight) = self.next_to_start()
            && let Some(place) = self.room.try_place(weight)
        {
            self.start_next(place);
        }
    }

    /// Whether the sandbox has calls for which there is room now.
    fn may_send_more(&self) -> bool {
        self.withheld && self.waiting.is_empty()
    }

    /// The weight of the call that is next, if one more may run.
    fn next_to_start(&self) -> Option<usize> {
        let next = self.waiting.front().filter(|_| self.in_flight.len() < CALLS_OUTSTANDING_MAX);
        next.map(|next| next.weight)
    }

    fn start_next(&mut self, place: ArgumentsPlace) {
        let Some(next) = self.waiting.pop_front() else { return };
        let id = next.call.id;
        let context = CallContext { call: id, deadline: self.parts.deadline, place };
        let (registry, runtimes) = (self.parts.registry.clone(), self.parts.runtimes.clone());
        let recorder = (self.parts.id.clone(), self.parts.record.clone());
        let carried_out = AssertUnwindSafe(carry_out(registry, runtimes, next, context, recorder)).catch_unwind();
        self.in_flight.push(
            async move {
                let panicked = |_| Err(ErrorReport::new(ErrorCode::HostFault, "the provider panicked in this call"));
                Completed { call: id, result: carried_out.await.unwrap_or_else(panicked) }
            }
            .boxed(),
        );
    }

    /// Takes the calls that are complete without waiting, as many as one turn is given.
    fn poll_ready(&mut self, ready: &mut Vec<Completed>) {
        let size = |completed: &Completed| completed.result.as_ref().map_or(0, |reply| reply.0.len());
        let mut bytes: usize = ready.iter().map(size).sum();
        // No wake-up is lost: the next poll registers its own waker before it looks.
        let mut context = Context::from_waker(Waker::noop());
        while bytes <= TURN_REPLIES_BYTES_MAX
            && let Poll::Ready(Some(completed)) = self.in_flight.poll_next_unpin(&mut context)
        {
            bytes += size(&completed);
            ready.push(completed);
            self.start_calls();
        }
    }

    fn waits(&self, next_timer_ms: Option<f64>) -> Stretch {
        if self.in_flight.is_empty() && self.waiting.is_empty() && next_timer_ms.is_none() {
            let message = "the script waits for a promise that nothing can settle";
            return Stretch::Ended(Err(ErrorReport::new(ErrorCode::Deadlock, message)));
        }
        Stretch::Waits { next_timer_ms }
    }

    /// When a timer of the script is due.
    fn due(&self, next_timer_ms: Option<f64>) -> Option<Instant> {
        let after_ms = (next_timer_ms? - self.origin_ms).max(0.0);
        Some(self.began + Duration::try_from_secs_f64(after_ms / 1_000.0).unwrap_or(Duration::MAX / 4))
    }

    /// Waits for the first call to complete or the next timer to be due, and takes all that is ready then.
    async fn wait(&mut self, next_timer_ms: Option<f64>) -> Result<Vec<Completed>, ErrorReport> {
        let (deadline, due) = (self.parts.deadline, self.due(next_timer_ms));
        let timer = async move {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(deadline) => Err(time_over()),
            ready = self.next_replies() => ready,
            () = timer => Ok(Vec::new()),
        }
    }

    /// Waits for the first call to complete, and takes all that are complete then. Knows no time.
    async fn next_replies(&mut self) -> Result<Vec<Completed>, ErrorReport> {
        let mut ready = Vec::new();
        while ready.is_empty() && !self.may_send_more() {
            let (next, room) = (self.next_to_start(), &self.room);
            let place = async {
                match next {
                    Some(weight) => room.place(weight).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.parts.cancel.cancelled() => return Err(cancelled()),
                Some(completed) = self.in_flight.next() => ready.push(completed),
                place = place => self.start_next(place),
            }
        }
        self.start_calls();
        self.poll_ready(&mut ready);
        Ok(ready)
    }

    fn outcome(&mut self, outcome: Outcome) -> Result<Encoded, ErrorReport> {
        let program = &self.parts.program;
        match outcome {
            Outcome::Returned(result) => match weigh(&result.0) {
                Ok(weight) if weight > RESULT_WEIGHT_MAX => {
                    let message = format!(
                        "the result has more values than the host takes: they need {} MiB of memory, at most {} MiB are taken",
                        weight.div_ceil(MIB),
                        RESULT_WEIGHT_MAX / MIB
                    );
                    Err(ErrorReport::new(ErrorCode::ResultTooLarge, message))
                }
                Ok(_) => Ok(result),
                Err(error) => Err(ErrorReport::new(ErrorCode::SandboxFault, format!("the result is {error}"))),
            },
            Outcome::Threw(thrown) => Err(self.threw(thrown)),
            Outcome::Unserialisable { mut path, what } => {
                clip(&mut path, ERROR_TEXT_CHARS_MAX / 2);
                let message = format!("{path} is {what}, which cannot be returned");
                Err(ErrorReport::new(ErrorCode::ResultUnserialisable, message).with_detail("path", path))
            }
            Outcome::TooLarge => {
                let message = "the result is larger than what may leave the sandbox";
                Err(ErrorReport::new(ErrorCode::ResultTooLarge, message))
            }
            Outcome::RecursionLimit { mut stack } => {
                let message = "the script's functions called each other too deeply";
                program.stacks().map(&mut stack);
                Err(ErrorReport::new(ErrorCode::StackOverflow, message).with_detail("stack", stack))
            }
            Outcome::Syntax { message, line, column } => {
                // The engine's own words for the place are of another text.
                let mut what = message.replace(&format!(" at line {line}, col {column}"), "");
                clip(&mut what, FAULT_CHARS_MAX);
                let (line, column) = program.map_position(line, column);
                let frame = program.code_frame(line, column);
                let message = format!("{what} at line {line}, column {column}\n\n{frame}");
                Err(ErrorReport::new(ErrorCode::SyntaxError, message)
                    .with_detail("line", line)
                    .with_detail("column", column))
            }
        }
    }

    /// The error of a call that the script did not catch is the answer's error as it was; anything else is the
    /// script's.
    fn threw(&mut self, mut thrown: Thrown) -> ErrorReport {
        let stacks = self.parts.program.stacks();
        [&mut thrown.message, &mut thrown.stack]
            .into_iter()
            .chain(&mut thrown.causes)
            .for_each(|text| stacks.map(text));
        let stack = thrown.stack;
        let failed = thrown.call.and_then(|call| self.failed.iter().position(|(failed, _)| *failed == call));
        if let Some((_, report)) = failed.and_then(|place| self.failed.remove(place)) {
            return if stack.is_empty() { report } else { report.with_detail("stack", stack) };
        }
        if let Some(refused) = thrown.refused {
            return refused_report(refused).with_detail("stack", stack);
        }
        let mut report = ErrorReport::new(ErrorCode::ScriptError, format!("{}: {}", thrown.name, thrown.message))
            .with_detail("name", thrown.name);
        if !thrown.hint.is_empty() {
            report = report.with_hint(thrown.hint);
        } else if thrown.message.to_lowercase().starts_with("cannot destructure") {
            let namespaces: Vec<_> = self.parts.registry.namespaces().into_iter().map(|it| it.name).collect();
            report = report.with_hint(format!(
                "If this is the script's own function: it is called without arguments. What there is are the globals {}.",
                namespaces.join(", ")
            ));
        } else if thrown.message == UNINITIALIZED {
            report = report.with_hint(UNINITIALIZED_HINT);
        }
        if !stack.is_empty() {
            if let Some((line, column)) = first_position(&stack, &self.parts.program.source_name) {
                let frame = self.parts.program.code_frame(line, column);
                report = report.with_detail("line", line).with_detail("column", column).with_detail("frame", frame);
            }
            report = report.with_detail("stack", stack);
        }
        if !thrown.causes.is_empty() {
            report = report.with_detail("causes", thrown.causes);
        }
        report
    }

    fn end(mut self: Box<Self>, outcome: Result<Encoded, ErrorReport>) -> (Result<Returned, ErrorReport>, Stats) {
        let running = self.unended + self.in_flight.len() + self.waiting.len() + self.unsent.len();
        if running > 0 && outcome.is_ok() {
            self.unsent.iter_mut().for_each(|name| clip(name, METHOD_NAME_CHARS_MAX));
            let mut names: Vec<_> = self.names.values().chain(&self.unsent).map(String::as_str).collect();
            names.sort_unstable();
            names.dedup();
            names.truncate(5);
            let names = names.join(", ");
            self.stats.warnings.push(format!(
                "{running} calls had not ended when the script ended and were cancelled ({names}): await every call"
            ));
        }
        (self.stats.console, self.stats.console_dropped_bytes) = self.console.take();
        self.drop_sandbox();
        let Self { parts, stats, .. } = *self;
        (outcome.map(|value| Returned { value, program: parts.program }), stats)
    }

    /// Resetting a sandbox's memory takes a while: it belongs on a turn thread where that is possible.
    fn drop_sandbox(&mut self) {
        if let Some(sandbox) = self.sandbox.take() {
            self.stats.cpu = sandbox.cpu_used();
        }
    }
}

/// Why a call was refused inside the sandbox.
fn refused_report(refused: CallError) -> ErrorReport {
    let code = ErrorCode::ALL.iter().find(|code| code.as_str() == refused.code);
    ErrorReport::new(*code.unwrap_or(&ErrorCode::CallFailed), refused.message).with_hint(refused.hint)
}

/// The first position of the script's own source in a stack.
fn first_position(stack: &str, source_name: &str) -> Option<(u32, u32)> {
    let rest = stack.split(source_name).nth(1)?.strip_prefix(':')?;
    let (line, rest) = rest.split_once(':')?;
    let column = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((line.parse().ok()?, column.parse().ok()?))
}
