//! Builds the envelope, the common format of all answers, from the results of commands and executions.

use super::request::TOOL;
use crate::{exec::Execution, result::console};
use codemode_spec::{
    Envelope, ErrorReport,
    envelope::{Context, ExecutionData, Meta},
};
use serde::Serialize;
use std::time::Duration;

/// The answer to a command other than an execution.
#[must_use]
pub fn answer<T: Serialize>(command: &str, outcome: Result<T, ErrorReport>, duration: Duration) -> Envelope {
    let (data, error) = match outcome {
        Ok(data) => (Some(serde_json::to_value(data).expect("plain data can be written as JSON")), None),
        Err(error) => (None, Some(error.bounded())),
    };
    Envelope {
        ok: error.is_none(),
        command: command.to_owned(),
        context: Context::default(),
        data,
        error,
        meta: Meta { duration_ms: millis(duration), ..Meta::default() },
    }
}

/// The answer to a call of the tool that was refused before an execution was created.
#[must_use]
pub fn refused(error: ErrorReport) -> Envelope {
    answer::<()>(TOOL, Err(error), Duration::ZERO)
}

/// The answer to an execution.
pub(super) fn executed(execution: Execution) -> Envelope {
    let mut meta = Meta {
        duration_ms: millis(execution.duration),
        warnings: execution.warnings,
        logs_dropped_bytes: execution.console_dropped_bytes,
        calls: execution.calls,
        cpu_ms: millis(execution.cpu),
        ..Meta::default()
    };
    let logs = console::within_budget(execution.console, &mut meta.logs_dropped_bytes);
    let files = execution.files;
    let (data, error) = match execution.outcome {
        Ok(shaped) => {
            meta.truncated = !shaped.cuts.is_empty() || shaped.cuts_unlisted > 0;
            meta.cuts = shaped.cuts;
            meta.cuts_unlisted = shaped.cuts_unlisted;
            let (result, images, artifact) = (Some(shaped.result), shaped.images, shaped.artifact);
            let files = [shaped.files, files].concat();
            (Some(ExecutionData { result, logs, images, files, artifact }), None)
        }
        Err(error) if logs.is_empty() && files.is_empty() => (None, Some(error)),
        Err(error) => (Some(ExecutionData { logs, files, ..ExecutionData::default() }), Some(error)),
    };
    Envelope {
        ok: error.is_none(),
        command: TOOL.to_owned(),
        context: execution.context,
        data: data.map(|data| serde_json::to_value(data).expect("plain data can be written as JSON")),
        error,
        meta,
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
