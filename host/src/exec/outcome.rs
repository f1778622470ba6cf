//! Converts the guest's outcome into an execution's value, or into an error report.

use super::{
    quirks::{self, Panic},
    state::{RunState, Summary},
};
use crate::{engine::Stop, program::Program, secrets::Masker};
use codemode_provider::{Ending, Registry};
use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    error::clip,
    limits::{ERROR_TEXT_CHARS_MAX, FAULT_CHARS_MAX, MIB, RESULT_WEIGHT_MAX},
    message::{CallError, Encoded, Outcome, Thrown},
    value::weigh,
};

/// The outcome of a run, before its providers are disposed of.
pub(super) struct RunOutcome {
    pub outcome: Result<Returned, ErrorReport>,
    pub summary: Summary,
}

impl RunOutcome {
    /// The outcome of a run of which nothing but the error is known.
    pub(super) fn failed(error: ErrorReport) -> Self {
        Self { outcome: Err(error), summary: Summary::default() }
    }

    /// The ending that is reported to providers.
    pub(super) fn ending(&self) -> Ending {
        match self.outcome.as_ref().map_err(|error| error.code) {
            Ok(_) => Ending::Succeeded,
            Err(ErrorCode::Cancelled) => Ending::Cancelled,
            Err(
                ErrorCode::CpuExceeded | ErrorCode::TimeExceeded | ErrorCode::MemoryExceeded | ErrorCode::StackOverflow,
            ) => Ending::Exceeded,
            Err(ErrorCode::ProviderCreateFailed | ErrorCode::CapacityExceeded) => Ending::NotStarted,
            Err(_) => Ending::Failed,
        }
    }
}

/// A script's return value in encoded form: it is decoded only after its calls and its browser are released.
pub(super) struct Returned {
    value: Encoded,
    program: Program,
}

impl Returned {
    pub(super) fn new(value: Encoded, program: Program) -> Self {
        Self { value, program }
    }

    /// The result with the values of secrets masked.
    pub(super) fn masked(mut self, masker: &Masker) -> Result<Self, ErrorReport> {
        masker.encoded(&mut self.value)?;
        Ok(self)
    }

    /// The decoded value, whose stack positions are mapped to those in the script.
    pub(super) fn into_value(self) -> Result<Value, ErrorReport> {
        let broken = |error| ErrorReport::new(ErrorCode::SandboxFault, format!("the result is {error}"));
        let mut value = self.value.value().map_err(broken)?;
        drop(self.value);
        self.program.stacks().map_value(&mut value);
        Ok(value)
    }

    /// The encoded size in bytes.
    pub(super) fn len(&self) -> usize {
        self.value.0.len()
    }
}

pub(super) fn cancelled() -> ErrorReport {
    ErrorReport::new(ErrorCode::Cancelled, "the execution was cancelled")
}

pub(super) fn timed_out() -> ErrorReport {
    ErrorReport::new(ErrorCode::TimeExceeded, "the execution's time was over")
}

/// The error report for a turn that did not complete.
pub(super) fn stopped(stop: Stop) -> ErrorReport {
    let (stop, hint) = match &stop {
        Stop::Panicked(words) => match quirks::panic(words) {
            Panic::Memory => (Stop::Memory, None),
            Panic::Recursion => (Stop::Stack, None),
            Panic::LostProperty => (stop, Some(quirks::PROPERTIES_HINT)),
            Panic::Defect => (stop, None),
        },
        _ => (stop, None),
    };
    let code = match &stop {
        Stop::Cpu(_) => ErrorCode::CpuExceeded,
        Stop::Time => ErrorCode::TimeExceeded,
        Stop::Cancelled => ErrorCode::Cancelled,
        Stop::Memory => ErrorCode::MemoryExceeded,
        Stop::Stack => ErrorCode::StackOverflow,
        Stop::NoPlace => ErrorCode::CapacityExceeded,
        Stop::Poisoned => ErrorCode::SandboxFault,
        Stop::Panicked(words) | Stop::Fault(words) => {
            tracing::error!(words, "a sandbox broke");
            ErrorCode::SandboxFault
        }
    };
    let report = ErrorReport::new(code, stop.to_string());
    match hint {
        Some(hint) => report.with_hint(hint),
        None => report,
    }
}

/// The encoded result of a script that has ended, or the error report.
pub(super) fn outcome(
    outcome: Outcome,
    state: &mut RunState,
    program: &Program,
    registry: &Registry,
) -> Result<Encoded, ErrorReport> {
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
        Outcome::Threw(thrown) => Err(threw(thrown, state, program, registry)),
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
            let mut what = quirks::without_place(&message, line, column);
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

/// Reports an uncaught error. The error of a failed call keeps its original report, with any prefix that was added to
/// its message; any other error becomes a script error.
fn threw(mut thrown: Thrown, state: &mut RunState, program: &Program, registry: &Registry) -> ErrorReport {
    let stacks = program.stacks();
    let texts = [&mut thrown.message, &mut thrown.stack].into_iter().chain(&mut thrown.causes);
    texts.for_each(|text| stacks.map(text));
    let stack = thrown.stack;
    if let Some(mut report) = thrown.call.and_then(|call| state.take_failure(call)) {
        report.message = with_prefix(report.message, thrown.message);
        return if stack.is_empty() { report } else { report.with_detail("stack", stack) };
    }
    if let Some(mut refused) = thrown.refused {
        refused.message = with_prefix(refused.message, thrown.message);
        return refused_report(refused).with_detail("stack", stack);
    }
    let mut report = ErrorReport::new(ErrorCode::ScriptError, format!("{}: {}", thrown.name, thrown.message))
        .with_detail("name", thrown.name);
    if !thrown.hint.is_empty() {
        report = report.with_hint(thrown.hint);
    } else if let Some(hint) = quirks::hint(&thrown.message, registry) {
        report = report.with_hint(hint);
    }
    if !stack.is_empty() {
        if let Some((line, column)) = first_position(&stack, &program.source_name) {
            let frame = program.code_frame(line, column);
            report = report.with_detail("line", line).with_detail("column", column).with_detail("frame", frame);
        }
        report = report.with_detail("stack", stack);
    }
    if !thrown.causes.is_empty() {
        report = report.with_detail("causes", thrown.causes);
    }
    report
}

/// The message of a failed call as thrown, if it was changed only by a prefix: a layer adds the name of the method that
/// failed.
fn with_prefix(message: String, thrown: String) -> String {
    if thrown.ends_with(&message) { thrown } else { message }
}

/// The report of a call that was refused inside the sandbox.
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
