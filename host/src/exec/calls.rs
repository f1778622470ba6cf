//! The calls of one run: memory for their arguments, those that run, and their replies.

use super::{
    audit::{AuditSink, Observer},
    meter::Meter,
    outcome::cancelled,
    spans::CallSpan,
    state::{CallUnderWay, RunState, WaitingCall},
    trace::TraceSink,
};
use crate::secrets::Masker;
use codemode_provider::{ArgumentsPlace, CallContext, ExecutionId, ProviderRuntime, Registry, ReplySource};
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Value,
    error::clip,
    limits::{
        ARGUMENTS_WEIGHT_FREE, ARGUMENTS_WEIGHT_MAX, CALLS_OUTSTANDING_MAX, METHOD_NAME_CHARS_MAX, MIB,
        REPLY_BYTES_MAX, TURN_REPLIES_BYTES_MAX, WAITING_CALLS_BYTES_MAX,
    },
    message::{Call, CallError, Encoded, Reply},
    value::weigh,
};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

/// The runtimes of one execution, in the order of their creation.
pub(super) type Runtimes = Arc<[Arc<dyn ProviderRuntime>]>;

/// What an execution's calls are dispatched to and reported to.
pub(super) struct Callees {
    pub registry: Arc<Registry>,
    pub runtimes: Runtimes,
    pub audit: Arc<dyn AuditSink>,
    pub meter: Arc<dyn Meter>,
    /// Masks every provider reply: the only path of replies and events into the sandbox.
    pub masker: Masker,
    /// Records the calls and the console for operators.
    pub trace: TraceSink,
    /// The execution's span.
    pub span: Span,
}

/// A call that has ended.
pub(super) struct Completed {
    pub call: u32,
    pub result: Result<Encoded, ErrorReport>,
}

/// The running calls of one run. Those that wait for memory are part of the run's state.
pub(super) struct Calls {
    callees: Arc<Callees>,
    room: ArgumentRoom,
    /// When the execution's wall time is over.
    deadline: Instant,
    running: FuturesUnordered<BoxFuture<'static, Completed>>,
}

impl Calls {
    /// `host_room` is the host's memory for arguments, shared by all executions; a permit is a byte of weight.
    pub(super) fn new(callees: Callees, host_room: Arc<Semaphore>, deadline: Instant) -> Self {
        let (callees, room) = (Arc::new(callees), ArgumentRoom::new(host_room));
        Self { callees, room, deadline, running: FuturesUnordered::new() }
    }

    /// Counts turns and calls.
    pub(super) fn meter(&self) -> &dyn Meter {
        &*self.callees.meter
    }

    /// Records what operators see.
    pub(super) fn trace(&self) -> &TraceSink {
        &self.callees.trace
    }

    /// Masks the values of secrets.
    pub(super) fn masker(&self) -> &Masker {
        &self.callees.masker
    }

    /// The source of the calls' replies, if the thread that waits for one may read them itself.
    pub(super) fn reply_source(&self) -> Option<Arc<dyn ReplySource>> {
        self.callees.runtimes.iter().find_map(|runtime| runtime.replies())
    }

    /// Accepts calls that have left the sandbox, and starts those whose arguments fit into memory.
    pub(super) fn accept(&mut self, state: &mut RunState, calls: Vec<Call>, observer: &dyn Observer) {
        for mut call in calls {
            // A name that is longer than any method's is used only for display, so it may be clipped.
            [&mut call.namespace, &mut call.method].into_iter().for_each(|name| self.masker().text(name));
            clip(&mut call.method, METHOD_NAME_CHARS_MAX);
            state.calls += 1;
            observer.call(&call.namespace, &call.method, state.calls);
            let background = self.callees.registry.is_background(&call.namespace, &call.method);
            let name = format!("{}.{}", call.namespace, call.method);
            self.trace().call_began(call.id, &name);
            state.under_way.insert(call.id, CallUnderWay { name, background });
            // Malformed arguments are reported when the call is executed.
            let weight = weigh(&call.arguments.0).unwrap_or(0);
            state.waiting.push_back(WaitingCall { call, weight });
        }
        self.start_all(state);
    }

    /// Collects completed calls without waiting, up to the reply bytes of one turn.
    pub(super) fn poll_ready(&mut self, state: &mut RunState, ready: &mut Vec<Completed>) {
        let size = |completed: &Completed| completed.result.as_ref().map_or(0, |reply| reply.0.len());
        let mut bytes: usize = ready.iter().map(size).sum();
        // No wake-up is lost: the next poll registers its own waker before checking.
        let mut context = Context::from_waker(Waker::noop());
        while bytes <= TURN_REPLIES_BYTES_MAX
            && let Poll::Ready(Some(completed)) = self.running.poll_next_unpin(&mut context)
        {
            bytes += size(&completed);
            ready.push(completed);
            self.start_all(state);
        }
    }

    /// Waits for the first call to complete, and collects all that are complete then. Has no timeout.
    ///
    /// # Errors
    /// `CANCELLED` when the execution is cancelled first.
    ///
    /// # Cancellation
    /// May be dropped at any time: completed calls are collected within a single poll, so dropping loses none.
    pub(super) async fn next_replies(
        &mut self,
        state: &mut RunState,
        cancel: &CancellationToken,
    ) -> Result<Vec<Completed>, ErrorReport> {
        let mut ready = Vec::new();
        while ready.is_empty() && !may_send_more(state) {
            let (next, room) = (self.next_to_start(state), &self.room);
            let place = async {
                match next {
                    Some(weight) => room.reserve(weight).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled()),
                Some(completed) = self.running.next() => ready.push(completed),
                place = place => self.start_next(state, place),
            }
        }
        self.start_all(state);
        self.poll_ready(state, &mut ready);
        Ok(ready)
    }

    /// The number of calls that have left the sandbox and have not ended.
    pub(super) fn outstanding(&self, state: &RunState) -> usize {
        self.running.len() + state.waiting.len()
    }

    /// Cancels all calls.
    pub(super) fn cancel_all(&mut self, state: &mut RunState) {
        self.running.clear();
        state.waiting.clear();
    }

    /// Starts the calls whose arguments fit into memory, in the order in which the script made them.
    fn start_all(&mut self, state: &mut RunState) {
        while let Some(weight) = self.next_to_start(state)
            && let Some(place) = self.room.try_reserve(weight)
        {
            self.start_next(state, place);
        }
    }

    /// The weight of the next call, if one more may run.
    fn next_to_start(&self, state: &RunState) -> Option<usize> {
        let next = state.waiting.front().filter(|_| self.running.len() < CALLS_OUTSTANDING_MAX);
        next.map(|next| next.weight)
    }

    fn start_next(&mut self, state: &mut RunState, place: ArgumentsPlace) {
        let Some(next) = state.waiting.pop_front() else { return };
        let context = CallContext { call: next.call.id, deadline: self.deadline, place };
        self.running.push(run_call(Arc::clone(&self.callees), state.id.clone(), next, context).boxed());
    }
}

/// Executes a call whose arguments have their memory permit, and reports its end. A provider's panic is a failed call.
pub(super) async fn run_call(
    callees: Arc<Callees>,
    execution: ExecutionId,
    waiting: WaitingCall,
    context: CallContext,
) -> Completed {
    let (call, namespace) = (waiting.call.id, waiting.call.namespace.clone());
    let (meter, trace, began) = (callees.meter.clone(), callees.trace.clone(), Instant::now());
    let span = CallSpan::new(&callees.span, &callees.registry, &namespace, &waiting.call.method);
    let running = dispatch_masked(callees, execution, waiting, context).instrument(span.span());
    let running = AssertUnwindSafe(running).catch_unwind();
    let panicked = |_| Err(ErrorReport::new(ErrorCode::HostFault, "the provider panicked in this call"));
    let result = running.await.unwrap_or_else(panicked);
    let outcome = result.as_ref().map(drop).map_err(|error| error.code);
    meter.call(&namespace, began.elapsed(), outcome);
    trace.call_ended(call, began.elapsed(), outcome);
    span.ended(outcome);
    Completed { call, result }
}

/// Whether the sandbox withholds calls that the host could accept now.
pub(super) fn may_send_more(state: &RunState) -> bool {
    state.withheld && state.waiting.is_empty()
}

/// How many more bytes of calls the host accepts.
pub(super) fn bytes_left(state: &RunState) -> u32 {
    let held: usize = state.waiting.iter().map(|waiting| waiting.call.bytes()).sum();
    u32::try_from(WAITING_CALLS_BYTES_MAX.saturating_sub(held)).unwrap_or(u32::MAX)
}

/// The reply to the sandbox for a call that has ended.
pub(super) fn reply(state: &mut RunState, Completed { call, result }: Completed) -> Reply {
    let name = state.under_way.remove(&call).map(|call| call.name).unwrap_or_default();
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
        state.remember_failure(call, report.with_detail("call", name));
        error
    });
    Reply { call, result }
}

/// An error report as the script sees it.
fn call_error(report: &ErrorReport) -> CallError {
    let details = (!report.details.is_null()).then(|| Encoded(Value::from(report.details.clone()).encode()));
    CallError {
        code: report.code.as_str().to_owned(),
        message: report.message.clone(),
        hint: report.hint.clone(),
        retryable: report.retryable,
        details,
    }
}

/// Executes a call and masks its reply or error.
async fn dispatch_masked(
    callees: Arc<Callees>,
    execution: ExecutionId,
    call: WaitingCall,
    context: CallContext,
) -> Result<Encoded, ErrorReport> {
    let masker = callees.masker.clone();
    match dispatch(callees, execution, call, context).await {
        Ok(mut reply) => masker.encoded(&mut reply).map(|()| reply),
        Err(error) => Err(masker.report(error)),
    }
}

/// Checks a call, records its effect or refusal in the audit log, and passes it to its provider.
async fn dispatch(
    callees: Arc<Callees>,
    execution: ExecutionId,
    WaitingCall { mut call, weight }: WaitingCall,
    context: CallContext,
) -> Result<Encoded, ErrorReport> {
    let Callees { registry, runtimes, audit, masker, .. } = &*callees;
    check_weight(&call, weight)?;
    let broken = || ErrorReport::new(ErrorCode::SandboxFault, "the arguments are not values of the codec");
    let encoded = std::mem::take(&mut call.arguments);
    let Ok(Value::Array(mut arguments)) = encoded.value() else { return Err(broken()) };
    drop(encoded);
    let resolved = registry.resolve(&call.namespace, &call.method, &mut arguments);
    if let Err(error) = &resolved
        && error.code == ErrorCode::ApprovalRequired
    {
        audit.call_refused(&execution, &call.namespace, &call.method, error.code);
    }
    let (index, method) = resolved?;
    let runtime = runtimes.get(index).ok_or_else(broken)?;
    if method.effect != Effect::Read {
        let mut account = runtime.account(&method.name, &arguments);
        if !account.reads {
            let texts = [&mut account.action, &mut account.origin, &mut account.to_origin];
            texts.into_iter().flatten().for_each(|text| masker.text(text));
            audit.effect(&execution, &call.namespace, &method.name, &account);
        }
    }
    // The provider's canonical method name, which may differ from the one in the script.
    runtime.call(&method.name, arguments, context).await
}

/// Refuses arguments that are heavier than the execution's whole allowance.
fn check_weight(call: &Call, weight: usize) -> Result<(), ErrorReport> {
    if weight <= ARGUMENTS_WEIGHT_MAX {
        return Ok(());
    }
    let message = format!(
        "{}.{}: the arguments have more values than the host takes: they need {} MiB of memory, at most {} MiB are taken",
        call.namespace,
        call.method,
        weight.div_ceil(MIB),
        ARGUMENTS_WEIGHT_MAX / MIB
    );
    Err(ErrorReport::new(ErrorCode::InvalidArgument, message)
        .with_hint("Pass less in one call: in parts, or as one string instead of many values."))
}

/// Memory for the arguments of calls: the execution's allowance, and the host's, which all executions share.
pub(super) struct ArgumentRoom {
    own: Arc<Semaphore>,
    host: Arc<Semaphore>,
}

impl ArgumentRoom {
    pub(super) fn new(host: Arc<Semaphore>) -> Self {
        Self { own: Arc::new(Semaphore::new(ARGUMENTS_WEIGHT_MAX)), host }
    }

    /// A permit for arguments of this weight; `None` if it must wait.
    fn try_reserve(&self, weight: usize) -> Option<ArgumentsPlace> {
        let Some(permits) = permits(weight) else { return Some(ArgumentsPlace::default()) };
        let own = Arc::clone(&self.own).try_acquire_many_owned(permits).ok()?;
        let host = Arc::clone(&self.host).try_acquire_many_owned(permits).ok()?;
        Some(ArgumentsPlace::of([own, host]))
    }

    /// Waits for a permit for arguments of this weight.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn reserve(&self, weight: usize) -> ArgumentsPlace {
        let Some(permits) = permits(weight) else { return ArgumentsPlace::default() };
        let own = Arc::clone(&self.own).acquire_many_owned(permits).await;
        let host = Arc::clone(&self.host).acquire_many_owned(permits).await;
        // Neither semaphore is ever closed.
        own.and_then(|own| Ok(ArgumentsPlace::of([own, host?]))).unwrap_or_default()
    }
}

/// The semaphore permits for a weight: none if it is so small that it need not wait, or so large that the call will be
/// refused.
fn permits(weight: usize) -> Option<u32> {
    u32::try_from(weight).ok().filter(|_| (ARGUMENTS_WEIGHT_FREE + 1..=ARGUMENTS_WEIGHT_MAX).contains(&weight))
}
