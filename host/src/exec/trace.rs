//! Traces of executions for operators: the script, the calls and the console lines of running executions and of the
//! last ones that ended, in memory only. Sources and console lines are masked before they arrive here; arguments and
//! results never do.

use codemode_spec::{
    ErrorCode,
    limits::{
        METHOD_NAME_CHARS_MAX, TRACE_CALLS_BYTES_MAX, TRACE_CODE_BYTES_MAX, TRACE_ENTRY_BYTES, TRACE_LOGS_BYTES_MAX,
        TRACES_ENDED_BYTES_MAX, TRACES_ENDED_MAX,
    },
    message::{ConsoleLine, Level},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use utoipa::ToSchema;

/// The outcome of an execution or call that succeeded.
const OK: &str = "ok";

/// What one execution runs, calls and writes, without arguments and results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionTrace {
    /// As the answer's `context.execution_id` names it.
    pub execution: String,
    /// The beginning of the script, as its caller sent it, with the values of secrets masked.
    pub code: String,
    /// Bytes of the whole script.
    pub code_bytes: u64,
    /// How long it runs, or has run, in milliseconds.
    pub took_ms: u64,
    /// `ok`, or the code of its error; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Processor time of its sandbox, in milliseconds; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// The last calls, in the order in which the script made them.
    pub calls: Vec<TracedCall>,
    /// Calls before these.
    pub calls_dropped: u64,
    /// The last console lines.
    pub logs: Vec<TracedLine>,
    /// Bytes of console lines that are not among these.
    pub logs_dropped_bytes: u64,
}

/// A call of a method, without its arguments and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedCall {
    /// As `namespace.method`.
    pub method: String,
    /// When the script made it, in milliseconds since the execution began.
    pub at_ms: u64,
    /// How long the call took, in microseconds; absent while it runs, and where the execution ended first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// `ok`, or the code of its error; absent as `took_us` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// A line of the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedLine {
    /// When the script wrote it, in milliseconds since the execution began.
    pub at_ms: u64,
    /// How important the line is: the name of the console's method.
    #[schema(value_type = String)]
    pub level: Level,
    /// What was written, with the values of secrets masked.
    pub text: String,
}

/// The traces of one host: those of running executions, and of the last ones that ended.
#[derive(Debug, Default)]
pub struct Traces(Mutex<Stored>);

#[derive(Debug, Default)]
struct Stored {
    running: HashMap<String, Arc<Trace>>,
    /// With the bytes of each, oldest first.
    ended: VecDeque<(Arc<Trace>, usize)>,
    ended_bytes: usize,
}

/// The trace of one execution.
#[derive(Debug)]
pub(super) struct Trace {
    execution: String,
    code: String,
    code_bytes: u64,
    began: Instant,
    records: Mutex<Records>,
}

#[derive(Debug, Default)]
struct Records {
    calls: VecDeque<(u32, TracedCall)>,
    calls_bytes: usize,
    calls_dropped: u64,
    logs: VecDeque<TracedLine>,
    logs_bytes: usize,
    logs_dropped_bytes: u64,
    ended: Option<(Result<(), ErrorCode>, Duration, Duration)>,
}

/// Records what one execution does; discards it if the host keeps no traces. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceSink(Option<Arc<Trace>>);

/// Lists an execution as running until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Tracing(Option<(Arc<Traces>, Arc<Trace>)>);

impl Traces {
    /// The trace of an execution, if one is stored.
    #[must_use]
    pub fn find(&self, execution: &str) -> Option<ExecutionTrace> {
        let trace = {
            let kept = lock(&self.0);
            let ended = || kept.ended.iter().map(|(trace, _)| trace).find(|trace| trace.execution == execution);
            kept.running.get(execution).or_else(ended).cloned()
        };
        trace.map(|trace| trace.snapshot())
    }

    /// Starts the trace of an execution with this script, in which the values of secrets are already masked.
    pub(super) fn begin(self: &Arc<Self>, execution: &str, mut code: String) -> Tracing {
        let code_bytes = code.len() as u64;
        cut(&mut code, TRACE_CODE_BYTES_MAX);
        code.shrink_to_fit();
        let (began, records) = (Instant::now(), Mutex::default());
        let trace = Arc::new(Trace { execution: execution.to_owned(), code, code_bytes, began, records });
        lock(&self.0).running.insert(execution.to_owned(), Arc::clone(&trace));
        Tracing(Some((Arc::clone(self), trace)))
    }

    fn end(&self, trace: Arc<Trace>) {
        let bytes = trace.bytes();
        let mut kept = lock(&self.0);
        kept.running.remove(&trace.execution);
        kept.ended_bytes += bytes;
        kept.ended.push_back((trace, bytes));
        while kept.ended.len() > TRACES_ENDED_MAX || kept.ended_bytes > TRACES_ENDED_BYTES_MAX {
            let Some((_, bytes)) = kept.ended.pop_front() else { break };
            kept.ended_bytes -= bytes;
        }
    }
}

impl Tracing {
    /// The sink for the execution's events.
    pub(super) fn sink(&self) -> TraceSink {
        TraceSink(self.0.as_ref().map(|(_, trace)| Arc::clone(trace)))
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        if let Some((traces, trace)) = self.0.take() {
            traces.end(trace);
        }
    }
}

impl TraceSink {
    /// The script wrote a line, in which the values of secrets are already masked.
    pub(super) fn console(&self, line: &ConsoleLine) {
        let Some(trace) = &self.0 else { return };
        let line = TracedLine { at_ms: trace.age_ms(), level: line.level, text: line.text.clone() };
        let mut records = lock(&trace.records);
        records.logs_bytes += line.text.len() + TRACE_ENTRY_BYTES;
        records.logs.push_back(line);
        while records.logs_bytes > TRACE_LOGS_BYTES_MAX {
            let Some(oldest) = records.logs.pop_front() else { break };
            records.logs_bytes -= oldest.text.len() + TRACE_ENTRY_BYTES;
            records.logs_dropped_bytes += oldest.text.len() as u64 + 1;
        }
    }

    /// So many bytes of the console were dropped before they reached the host.
    pub(super) fn console_dropped(&self, bytes: u64) {
        if let Some(trace) = &self.0 {
            lock(&trace.records).logs_dropped_bytes += bytes;
        }
    }

    /// The script made a call.
    pub(super) fn call_began(&self, call: u32, name: &str) {
        let Some(trace) = &self.0 else { return };
        let mut method = name.to_owned();
        cut(&mut method, 4 * METHOD_NAME_CHARS_MAX);
        let traced = TracedCall { method, at_ms: trace.age_ms(), took_us: None, outcome: None };
        let mut records = lock(&trace.records);
        records.calls_bytes += traced.method.len() + TRACE_ENTRY_BYTES;
        records.calls.push_back((call, traced));
        while records.calls_bytes > TRACE_CALLS_BYTES_MAX {
            let Some((_, oldest)) = records.calls.pop_front() else { break };
            records.calls_bytes -= oldest.method.len() + TRACE_ENTRY_BYTES;
            records.calls_dropped += 1;
        }
    }

    /// A call has ended, after this wall time.
    pub(super) fn call_ended(&self, call: u32, took: Duration, outcome: Result<(), ErrorCode>) {
        let Some(trace) = &self.0 else { return };
        let mut records = lock(&trace.records);
        // Search backwards: calls that end are most often recent.
        if let Some((_, traced)) = records.calls.iter_mut().rev().find(|(of, _)| *of == call) {
            traced.took_us = Some(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            traced.outcome = Some(word(outcome).to_owned());
        }
    }

    /// The execution has ended, after this processor time of its sandbox, and is disposed of.
    pub(super) fn ended(&self, outcome: Result<(), ErrorCode>, cpu: Duration) {
        if let Some(trace) = &self.0 {
            let took = trace.began.elapsed();
            lock(&trace.records).ended = Some((outcome, cpu, took));
        }
    }
}

impl Trace {
    fn age_ms(&self) -> u64 {
        milliseconds(self.began.elapsed())
    }

    /// The memory that the trace uses.
    fn bytes(&self) -> usize {
        let records = lock(&self.records);
        self.code.len() + records.calls_bytes + records.logs_bytes + size_of::<Self>()
    }

    fn snapshot(&self) -> ExecutionTrace {
        let records = lock(&self.records);
        let took = records.ended.map_or_else(|| self.began.elapsed(), |(.., took)| took);
        ExecutionTrace {
            execution: self.execution.clone(),
            code: self.code.clone(),
            code_bytes: self.code_bytes,
            took_ms: milliseconds(took),
            outcome: records.ended.map(|(outcome, ..)| word(outcome).to_owned()),
            cpu_ms: records.ended.map(|(_, cpu, _)| milliseconds(cpu)),
            calls: records.calls.iter().map(|(_, call)| call.clone()).collect(),
            calls_dropped: records.calls_dropped,
            logs: records.logs.iter().cloned().collect(),
            logs_dropped_bytes: records.logs_dropped_bytes,
        }
    }
}

fn word(outcome: Result<(), ErrorCode>) -> &'static str {
    outcome.map_or_else(ErrorCode::as_str, |()| OK)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Truncates a text to a number of bytes, at a character boundary.
fn cut(text: &mut String, bytes_max: usize) {
    text.truncate(text.floor_char_boundary(bytes_max));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while the lock is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::limits::TRACE_BYTES_MAX;

    fn line(text: &str) -> ConsoleLine {
        ConsoleLine { level: Level::Log, text: text.to_owned() }
    }

    #[test]
    fn an_execution_is_told_while_it_runs_and_after_its_end() {
        let traces = Arc::new(Traces::default());
        let tracing = traces.begin("x-1", "1 + 1".to_owned());
        let sink = tracing.sink();
        sink.console(&line("hello"));
        sink.call_began(1, "fake.one");
        sink.call_began(2, "fake.two");
        sink.call_ended(1, Duration::from_millis(2), Err(ErrorCode::CallFailed));
        let snapshot = traces.find("x-1").unwrap();
        assert_eq!((snapshot.code.as_str(), snapshot.code_bytes, snapshot.outcome.as_deref()), ("1 + 1", 5, None));
        assert_eq!((snapshot.logs[0].text.as_str(), snapshot.logs[0].level), ("hello", Level::Log));
        let calls: Vec<_> =
            snapshot.calls.iter().map(|call| (call.method.as_str(), call.took_us, call.outcome.as_deref())).collect();
        assert_eq!(calls, [("fake.one", Some(2_000), Some("CALL_FAILED")), ("fake.two", None, None)]);
        sink.ended(Ok(()), Duration::from_millis(7));
        drop(tracing);
        let snapshot = traces.find("x-1").unwrap();
        assert_eq!((snapshot.outcome.as_deref(), snapshot.cpu_ms), (Some("ok"), Some(7)));
        assert!(traces.find("x-2").is_none());
        // A host without traces records nothing, and nothing fails.
        let none = Tracing::default();
        none.sink().console(&line("hello"));
        none.sink().call_began(1, "fake.one");
    }

    #[test]
    fn a_trace_and_all_traces_stay_within_their_bounds() {
        let traces = Arc::new(Traces::default());
        for number in 0..TRACES_ENDED_MAX + 10 {
            let tracing = traces.begin(&format!("x-{number}"), "ä".repeat(TRACE_CODE_BYTES_MAX));
            let sink = tracing.sink();
            for call in 0..2_000 {
                sink.call_began(call, &"m".repeat(10_000 / (call as usize + 1) + 1));
                sink.console(&line(if call % 2 == 0 { "" } else { "a line of the console" }));
            }
            let snapshot = traces.find(&format!("x-{number}")).unwrap();
            assert_eq!(
                (snapshot.code.len(), snapshot.code_bytes),
                (TRACE_CODE_BYTES_MAX, 2 * TRACE_CODE_BYTES_MAX as u64)
            );
            assert_eq!(snapshot.calls.len() as u64 + snapshot.calls_dropped, 2_000);
            assert!(snapshot.logs_dropped_bytes > 0);
            let trace = sink.0.as_ref().unwrap();
            assert!(trace.bytes() <= TRACE_BYTES_MAX, "{}", trace.bytes());
        }
        let kept = lock(&traces.0);
        assert!(kept.running.is_empty() && kept.ended_bytes <= TRACES_ENDED_BYTES_MAX, "{}", kept.ended_bytes);
        assert!(kept.ended.len() < TRACES_ENDED_MAX, "the bound on bytes is the smaller one here");
        drop(kept);
        assert!(traces.find("x-0").is_none() && traces.find(&format!("x-{}", TRACES_ENDED_MAX + 9)).is_some());
    }
}
