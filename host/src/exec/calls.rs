//! The calls of one run: room for their arguments, those that run, and their replies.

use super::{
    audit::{AuditSink, Observer},
    meter::Meter,
    outcome::cancelled,
    spans::CallSpan,
    state::{CallUnderWay, RunState, WaitingCall},
    trace::TraceSink,
};
use crate::secrets::Masker;
use codemode_provider::{ArgumentsPlace, CallContext, ExecutionId, ProviderRuntime, Registry};
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

/// Where the calls of one execution go.
pub(super) struct Callees {
    pub registry: Arc<Registry>,
    pub runtimes: Runtimes,
    pub audit: Arc<dyn AuditSink>,
    pub meter: Arc<dyn Meter>,
    /// Everything that a provider answers goes through it: the one way of replies and events into the sandbox.
    pub masker: Masker,
    /// What an operator sees of the calls and of the console.
    pub trace: TraceSink,
    /// The execution's span.
    pub span: Span,
}

/// A call that has ended.
pub(super) struct Completed {
    pub call: u32,
    pub result: Result<Encoded, ErrorReport>,
}

/// The calls of one run that are running. Those that wait for room are part of the run's state.
pub(super) struct Calls {
    callees: Arc<Callees>,
    room: ArgumentRoom,
    /// When the execution's wall time is over.
    deadline: Instant,
    running: FuturesUnordered<BoxFuture<'static, Completed>>,
}

impl Calls {
    /// With the room in the memory of the host for the arguments of calls that run, a permit a byte of weight.
    pub(super) fn new(callees: Callees, host_room: Arc<Semaphore>, deadline: Instant) -> Self {
        let (callees, room) = (Arc::new(callees), ArgumentRoom::new(host_room));
        Self { callees, room, deadline, running: FuturesUnordered::new() }
    }

    /// What counts turns and calls.
    pub(super) fn meter(&self) -> &dyn Meter {
        &*self.callees.meter
    }

    /// What an operator sees.
    pub(super) fn trace(&self) -> &TraceSink {
        &self.callees.trace
    }

    /// What overwrites the values of secrets.
    pub(super) fn masker(&self) -> &Masker {
        &self.callees.masker
    }

    /// Takes over calls that have left the sandbox, and starts those for which there is room.
    pub(super) fn take(&mut self, state: &mut RunState, calls: Vec<Call>, observer: &dyn Observer) {
        for mut call in calls {
            // A name that no method has is only shown, and need not be whole for that.
            [&mut call.namespace, &mut call.method].into_iter().for_each(|name| self.masker().text(name));
            clip(&mut call.method, METHOD_NAME_CHARS_MAX);
            state.calls += 1;
            observer.call(&call.namespace, &call.method, state.calls);
            let background = self.callees.registry.is_background(&call.namespace, &call.method);
            let name = format!("{}.{}", call.namespace, call.method);
            self.trace().call_began(call.id, &name);
            state.under_way.insert(call.id, CallUnderWay { name, background });
            // What is no value of the codec is said when the call is carried out.
            let weight = weigh(&call.arguments.0).unwrap_or(0);
            state.waiting.push_back(WaitingCall { call, weight });
        }
        self.start_all(state);
    }

    /// Takes the calls that are complete without waiting, as many as one turn is given.
    pub(super) fn poll_ready(&mut self, state: &mut RunState, ready: &mut Vec<Completed>) {
        let size = |completed: &Completed| completed.result.as_ref().map_or(0, |reply| reply.0.len());
        let mut bytes: usize = ready.iter().map(size).sum();
        // No wake-up is lost: the next poll registers its own waker before it looks.
        let mut context = Context::from_waker(Waker::noop());
        while bytes <= TURN_REPLIES_BYTES_MAX
            && let Poll::Ready(Some(completed)) = self.running.poll_next_unpin(&mut context)
        {
            bytes += size(&completed);
            ready.push(completed);
            self.start_all(state);
        }
    }

    /// Waits for the first call to complete, and takes all that are complete then. Knows no time.
    ///
    /// # Errors
    /// `CANCELLED` when the execution is cancelled first.
    ///
    /// # Cancellation
    /// May be dropped at any time: what is ready is taken within one poll.
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
                    Some(weight) => room.place(weight).await,
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

    /// How many calls have left the sandbox and have not ended.
    pub(super) fn outstanding(&self, state: &RunState) -> usize {
        self.running.len() + state.waiting.len()
    }

    /// Cancels all calls.
    pub(super) fn cancel_all(&mut self, state: &mut RunState) {
        self.running.clear();
        state.waiting.clear();
    }

    /// Starts the calls for which there is room, in the order in which the script made them.
    fn start_all(&mut self, state: &mut RunState) {
        while let Some(weight) = self.next_to_start(state)
            && let Some(place) = self.room.try_place(weight)
        {
            self.start_next(state, place);
        }
    }

    /// The weight of the call that is next, if one more may run.
    fn next_to_start(&self, state: &RunState) -> Option<usize> {
        let next = state.waiting.front().filter(|_| self.running.len() < CALLS_OUTSTANDING_MAX);
        next.map(|next| next.weight)
    }

    fn start_next(&mut self, state: &mut RunState, place: ArgumentsPlace) {
        let Some(next) = state.waiting.pop_front() else { return };
        let context = CallContext { call: next.call.id, deadline: self.deadline, place };
        self.running.push(carried_out(Arc::clone(&self.callees), state.id.clone(), next, context).boxed());
    }
}

/// Carries out a call that has its place. A provider that panics has failed.
pub(super) async fn carried_out(
    callees: Arc<Callees>,
    execution: ExecutionId,
    waiting: WaitingCall,
    context: CallContext,
) -> Completed {
    let (call, namespace) = (waiting.call.id, waiting.call.namespace.clone());
    let (meter, trace, began) = (callees.meter.clone(), callees.trace.clone(), Instant::now());
    let span = CallSpan::new(&callees.span, &callees.registry, &namespace, &waiting.call.method);
    let carried_out = carry_out_masked(callees, execution, waiting, context).instrument(span.span());
    let carried_out = AssertUnwindSafe(carried_out).catch_unwind();
    let panicked = |_| Err(ErrorReport::new(ErrorCode::HostFault, "the provider panicked in this call"));
    let result = carried_out.await.unwrap_or_else(panicked);
    let outcome = result.as_ref().map(drop).map_err(|error| error.code);
    meter.call(&namespace, began.elapsed(), outcome);
    trace.call_ended(call, began.elapsed(), outcome);
    span.ended(outcome);
    Completed { call, result }
}

/// Whether the sandbox has calls for which there is room now.
pub(super) fn may_send_more(state: &RunState) -> bool {
    state.withheld && state.waiting.is_empty()
}

/// For how many more bytes of calls there is room.
pub(super) fn bytes_left(state: &RunState) -> u32 {
    let held: usize = state.waiting.iter().map(|waiting| waiting.call.bytes()).sum();
    u32::try_from(WAITING_CALLS_BYTES_MAX.saturating_sub(held)).unwrap_or(u32::MAX)
}

/// What goes into the sandbox of a call that has ended.
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

/// How a failure looks to the script.
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

/// Has a call carried out, and masks what comes of it.
async fn carry_out_masked(
    callees: Arc<Callees>,
    execution: ExecutionId,
    call: WaitingCall,
    context: CallContext,
) -> Result<Encoded, ErrorReport> {
    let masker = callees.masker.clone();
    match carry_out(callees, execution, call, context).await {
        Ok(mut reply) => masker.encoded(&mut reply).map(|()| reply),
        Err(error) => Err(masker.report(error)),
    }
}

/// Checks the call, notes its effect or its refusal for the audit, and has its provider carry it out.
async fn carry_out(
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
    // The provider's own name of the method, which may not be the one that a script can write.
    runtime.call(&method.name, arguments, context).await
}

/// Refuses arguments that no place is large enough for.
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

/// Room for the arguments of calls: that of the execution, and that of the host, which all executions share.
pub(super) struct ArgumentRoom {
    own: Arc<Semaphore>,
    host: Arc<Semaphore>,
}

impl ArgumentRoom {
    pub(super) fn new(host: Arc<Semaphore>) -> Self {
        Self { own: Arc::new(Semaphore::new(ARGUMENTS_WEIGHT_MAX)), host }
    }

    /// A place for arguments of this weight; `None` if there is none yet.
    fn try_place(&self, weight: usize) -> Option<ArgumentsPlace> {
        let Some(permits) = permits(weight) else { return Some(ArgumentsPlace::default()) };
        let own = Arc::clone(&self.own).try_acquire_many_owned(permits).ok()?;
        let host = Arc::clone(&self.host).try_acquire_many_owned(permits).ok()?;
        Some(ArgumentsPlace::of([own, host]))
    }

    /// Waits for a place for arguments of this weight.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn place(&self, weight: usize) -> ArgumentsPlace {
        let Some(permits) = permits(weight) else { return ArgumentsPlace::default() };
        let own = Arc::clone(&self.own).acquire_many_owned(permits).await;
        let host = Arc::clone(&self.host).acquire_many_owned(permits).await;
        // Neither semaphore is ever closed.
        own.and_then(|own| Ok(ArgumentsPlace::of([own, host?]))).unwrap_or_default()
    }
}

/// The permits that a weight needs: none where it is so small that it need not wait, or so large that the call is refused
/// when it is carried out.
fn permits(weight: usize) -> Option<u32> {
    u32::try_from(weight).ok().filter(|_| (ARGUMENTS_WEIGHT_FREE + 1..=ARGUMENTS_WEIGHT_MAX).contains(&weight))
}
