//! One call of a script: room for its arguments, its method, and what came of it.

use super::{Record, Runtimes};
use codemode_provider::{CallContext, ExecutionId, Registry};
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Value,
    limits::{ARGUMENTS_WEIGHT_FREE, ARGUMENTS_WEIGHT_MAX, MIB, ROOM_WAIT_MS_MAX},
    message::{Call, CallError, Encoded},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A call that has ended.
pub(super) struct Completed {
    pub call: u32,
    pub result: Result<Encoded, ErrorReport>,
    /// What its arguments took.
    pub weight: usize,
}

/// A call that has not begun.
pub(super) struct Waiting {
    pub call: Call,
    /// What its arguments will take.
    pub weight: usize,
}

/// Room for the arguments of a call, kept until it is dropped. Waits for calls of other executions, but not for long.
pub(super) async fn room_for(
    call: &Call,
    room: Arc<Semaphore>,
    weight: usize,
) -> Result<Option<OwnedSemaphorePermit>, ErrorReport> {
    let Call { namespace, method, .. } = call;
    if weight > ARGUMENTS_WEIGHT_MAX {
        let message = format!(
            "{namespace}.{method}: the arguments have more values than the host takes: they need {} MiB of memory, at most {} MiB are taken",
            weight.div_ceil(MIB),
            ARGUMENTS_WEIGHT_MAX / MIB
        );
        return Err(ErrorReport::new(ErrorCode::InvalidArgument, message)
            .with_hint("Pass less in one call: in parts, or as one string instead of many values."));
    }
    if weight <= ARGUMENTS_WEIGHT_FREE {
        return Ok(None);
    }
    let permits = room.acquire_many_owned(u32::try_from(weight).unwrap_or(u32::MAX));
    match tokio::time::timeout(Duration::from_millis(ROOM_WAIT_MS_MAX), permits).await {
        Ok(permits) => Ok(permits.ok()),
        Err(_) => {
            let message =
                format!("{namespace}.{method}: other executions hold all the room for arguments that the host has");
            Err(ErrorReport::new(ErrorCode::CapacityExceeded, message))
        }
    }
}

pub(super) async fn carry_out(
    registry: Arc<Registry>,
    runtimes: Runtimes,
    mut call: Call,
    context: CallContext,
    (id, record): (ExecutionId, Arc<dyn Record>),
) -> Result<Encoded, ErrorReport> {
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
