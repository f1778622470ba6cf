//! An execution without a script: a surface makes the calls, with the same permit, lease, policy, audit, masking and
//! limits as an execution with a script.

use super::{
    Executor, Granted, Inner,
    admission::Share,
    calls::{ArgumentRoom, Callees, run_call},
    created::Created,
    new_id,
    outcome::cancelled,
    spans,
    state::WaitingCall,
    trace::TraceSink,
};
use crate::result::KeptFiles;
use codemode_provider::{CallContext, Ending, ExecutionId};
use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    envelope::{Context, DataFile},
    limits::{DIRECT_MS_MAX, REPLY_BYTES_MAX, WALL_MS_DEFAULT},
    message::{Call, Encoded},
    session::SessionRequest,
    value::weigh,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{Instrument as _, Span};

/// The request for an execution without a script.
#[derive(Clone, Debug)]
pub struct DirectRequest {
    /// The name of the surface that makes the calls, such as `vnext`; the audit log has its hash in place of a
    /// script's.
    pub program: &'static str,
    /// The browser session.
    pub session: SessionRequest,
    /// The caller's share of the executor's permits.
    pub share: Share,
}

/// An execution that lasts until it is ended or dropped, or for [`DIRECT_MS_MAX`]. Calls may run concurrently, in any
/// number.
pub struct Direct {
    id: ExecutionId,
    callees: Arc<Callees>,
    room: ArgumentRoom,
    calls: Arc<AtomicU32>,
    kept: Arc<KeptFiles>,
    /// Cancels the running calls.
    ending: CancellationToken,
    /// Cancelled once everything is disposed of.
    ended: CancellationToken,
    _ends: DropGuard,
}

impl Executor {
    /// Starts an execution without a script. No browser is opened before the first call.
    ///
    /// # Errors
    /// As for an execution with a script that cannot start: `CAPACITY_EXCEEDED`, `PROVIDER_CREATE_FAILED`, or an error
    /// of the state folder.
    ///
    /// # Cancellation
    /// Dropping the future ends the execution if it has started.
    pub async fn direct(&self, request: DirectRequest) -> Result<Direct, ErrorReport> {
        let (id, ending) = (new_id(), CancellationToken::new());
        let ends = ending.clone().drop_guard();
        let (began, begun) = oneshot::channel();
        let span = spans::execution(&id, &request.share.caller);
        let task = Arc::clone(&self.inner).hold(id.clone(), request, ending, began, ends);
        tokio::spawn(task.instrument(span));
        begun
            .await
            .unwrap_or_else(|_| Err(ErrorReport::new(ErrorCode::HostFault, "the execution was lost inside the host")))
    }
}

impl Inner {
    /// Creates the runtimes, holds them until the execution ends, and disposes of them.
    async fn hold(
        self: Arc<Self>,
        id: ExecutionId,
        request: DirectRequest,
        ending: CancellationToken,
        began: oneshot::Sender<Result<Direct, ErrorReport>>,
        ends: DropGuard,
    ) {
        let DirectRequest { program, session, share } = request;
        let wait = Duration::from_millis(WALL_MS_DEFAULT);
        let admitted = Box::pin(self.admit(&share, wait, Duration::from_millis(DIRECT_MS_MAX), &ending)).await;
        let granted = match admitted {
            Ok(granted) => granted,
            Err(error) => return refused(began, error),
        };
        let (mut context, kept) = match self.context(&id, &session, serde_json::Map::new(), &granted, &ending) {
            Ok(context) => context,
            Err(error) => return refused(began, error),
        };
        let Granted { deadline, secrets, permit: _permit, .. } = granted;
        let start = Instant::now();
        self.settings.audit.started(&id, &share.caller, program, &session);
        let tracing = self.trace(&id, program, &secrets);
        let mut created = Created::default();
        let creation = Box::pin(created.create_all(&self.settings.services, &self.registry, &mut context)).await;
        let (calls, ended) = (Arc::new(AtomicU32::new(0)), CancellationToken::new());
        let outcome = match creation {
            Ok(()) => {
                let callees = Arc::new(self.callees(&created, &secrets, tracing.sink()));
                let direct = Direct {
                    id: id.clone(),
                    callees,
                    room: ArgumentRoom::new(self.argument_room.clone()),
                    calls: Arc::clone(&calls),
                    kept,
                    ending: ending.clone(),
                    ended: ended.clone(),
                    _ends: ends,
                };
                // If the surface has dropped the request, the `Direct` is dropped here, which ends the execution.
                let _ = began.send(Ok(direct));
                tokio::select! {
                    () = ending.cancelled() => {}
                    () = tokio::time::sleep_until(deadline) => {}
                }
                Ok(())
            }
            Err(error) => {
                let code = error.code;
                let _ = began.send(Err(secrets.masker.report(error)));
                Err(code)
            }
        };
        ending.cancel();
        let disposed = if outcome.is_ok() { Ending::Succeeded } else { Ending::NotStarted };
        for error in created.dispose_all(disposed).await {
            tracing::warn!(error = %error.message, "an execution without a script did not clean up");
        }
        let mut about = Context { execution_id: Some(id.to_string()), ..Context::default() };
        created.describe(&mut about, &mut Vec::new());
        secrets.masker.context(&mut about);
        let calls = u64::from(calls.load(Ordering::Relaxed));
        self.settings.audit.ended(&id, outcome, calls, &about);
        tracing.sink().ended(outcome, Duration::ZERO);
        self.settings.meter.execution(start.elapsed(), Duration::ZERO, outcome);
        spans::ended(&Span::current(), outcome);
        ended.cancel();
    }
}

impl Direct {
    /// The execution's id.
    #[must_use]
    pub fn id(&self) -> &ExecutionId {
        &self.id
    }

    /// Whether the execution no longer accepts calls.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ending.is_cancelled()
    }

    /// Calls a method of a namespace, as a script would.
    ///
    /// # Errors
    /// The error of the method; `CANCELLED` when the execution ends first; `CALL_TIMEOUT` when there is no memory for
    /// the arguments before the deadline.
    ///
    /// # Cancellation
    /// May be dropped at any time: the call is cancelled as when a script ends.
    pub async fn call(
        &self,
        namespace: &str,
        method: &str,
        arguments: Vec<Value>,
        deadline: Instant,
    ) -> Result<Value, ErrorReport> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        self.callees.trace.call_began(number, &format!("{namespace}.{method}"));
        let arguments = Encoded::from(Value::Array(arguments));
        let weight = weigh(&arguments.0).unwrap_or(0);
        let call = Call { id: number, namespace: namespace.to_owned(), method: method.to_owned(), arguments };
        let mut unfinished = Unfinished::new(self.callees.trace.clone(), number);
        let running = async {
            let reserved = tokio::time::timeout_at(deadline, self.room.reserve(weight)).await;
            let no_room = |_| {
                let message =
                    format!("{namespace}.{method}: other calls needed the memory for its arguments for too long");
                ErrorReport::new(ErrorCode::CallTimeout, message)
                    .with_hint("Call again when other calls are over; nothing was done.")
            };
            let place = reserved.map_err(no_room).inspect_err(|error| unfinished.code = error.code)?;
            let context = CallContext { call: number, deadline, place };
            let waiting = WaitingCall { call, weight };
            let completed = run_call(Arc::clone(&self.callees), self.id.clone(), waiting, context).await;
            unfinished.finish();
            completed.result
        };
        let reply = tokio::select! {
            biased;
            () = self.ending.cancelled() => Err(cancelled()),
            result = running => result,
        };
        let reply = reply.map_err(ErrorReport::bounded)?;
        if reply.0.len() > REPLY_BYTES_MAX {
            let message = format!("{namespace}.{method}: the reply is larger than {REPLY_BYTES_MAX} bytes");
            return Err(ErrorReport::new(ErrorCode::CallFailed, message));
        }
        let broken = |error| ErrorReport::new(ErrorCode::HostFault, format!("the reply is {error}"));
        reply.value().map_err(broken)
    }

    /// Stores a file for the client of the surface, for as long as scripts' results are retained.
    ///
    /// # Errors
    /// `RESULT_TOO_LARGE` or `IO_ERROR`.
    pub async fn keep(&self, name: &'static str, content: Vec<u8>) -> Result<DataFile, ErrorReport> {
        let kept = Arc::clone(&self.kept);
        let put = tokio::task::spawn_blocking(move || kept.put(name, &content)).await;
        put.unwrap_or_else(|error| {
            Err(ErrorReport::new(ErrorCode::HostFault, format!("the file was not kept: {error}")))
        })
    }

    /// Ends the execution and cancels the running calls.
    pub fn end(&self) {
        self.ending.cancel();
    }

    /// Returns when the execution has ended and everything is disposed of.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

/// A call whose end is not in the trace yet. Dropping this records it: the call was cancelled, or did not start.
struct Unfinished {
    trace: TraceSink,
    number: u32,
    began: Instant,
    code: ErrorCode,
}

impl Unfinished {
    fn new(trace: TraceSink, number: u32) -> Self {
        Self { trace, number, began: Instant::now(), code: ErrorCode::Cancelled }
    }

    /// The call has ended, and `run_call` has recorded that.
    fn finish(&mut self) {
        self.trace = TraceSink::default();
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.trace.call_ended(self.number, self.began.elapsed(), Err(self.code));
    }
}

/// Reports that the execution could not start.
fn refused(began: oneshot::Sender<Result<Direct, ErrorReport>>, error: ErrorReport) {
    spans::ended(&Span::current(), Err(error.code));
    let _ = began.send(Err(error));
}
