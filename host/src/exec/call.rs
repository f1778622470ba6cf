//! One call of a script: room for its arguments, its method, and what came of it.

use super::{Record, Runtimes};
use codemode_provider::{ArgumentsPlace, CallContext, ExecutionId, Registry};
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Value,
    limits::{ARGUMENTS_WEIGHT_FREE, ARGUMENTS_WEIGHT_MAX, MIB},
    message::{Call, CallError, Encoded},
};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A call that has ended.
pub(super) struct Completed {
    pub call: u32,
    pub result: Result<Encoded, ErrorReport>,
}

/// A call that has not begun.
pub(super) struct Waiting {
    pub call: Call,
    /// What its arguments will take.
    pub weight: usize,
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
    pub(super) fn try_place(&self, weight: usize) -> Option<ArgumentsPlace> {
        let Some(permits) = permits(weight) else { return Some(ArgumentsPlace::default()) };
        let own = Arc::clone(&self.own).try_acquire_many_owned(permits).ok()?;
        let host = Arc::clone(&self.host).try_acquire_many_owned(permits).ok()?;
        Some(ArgumentsPlace::of([own, host]))
    }

    /// Waits for one.
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

/// Checks the call, notes its effect for the audit, and has its provider carry it out.
pub(super) async fn carry_out(
    registry: Arc<Registry>,
    runtimes: Runtimes,
    Waiting { mut call, weight }: Waiting,
    context: CallContext,
    (id, record): (ExecutionId, Arc<dyn Record>),
) -> Result<Encoded, ErrorReport> {
    check_weight(&call, weight)?;
    let broken = || ErrorReport::new(ErrorCode::SandboxFault, "the arguments are not values of the codec");
    let encoded = std::mem::take(&mut call.arguments);
    let Ok(Value::Array(mut arguments)) = encoded.value() else { return Err(broken()) };
    drop(encoded);
    let (index, method) = registry.resolve(&call.namespace, &call.method, &mut arguments)?;
    let runtime = runtimes.get(index).ok_or_else(broken)?;
    if method.effect != Effect::Read {
        let account = runtime.account(&method.name, &arguments);
        if !account.reads {
            record.effect(&id, &call.namespace, &method.name, &account);
        }
    }
    // The provider's own name of the method, which may not be the one that a script can write.
    runtime.call(&method.name, arguments, context).await
}

/// How a failure looks to the script.
pub(super) fn call_error(report: &ErrorReport) -> CallError {
    let details = (!report.details.is_null()).then(|| Encoded(Value::from(report.details.clone()).encode()));
    CallError {
        code: report.code.as_str().to_owned(),
        message: report.message.clone(),
        hint: report.hint.clone(),
        retryable: report.retryable,
        details,
    }
}
