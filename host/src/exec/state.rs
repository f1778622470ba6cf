//! The state of a run between two turns, as plain data: what parking an execution would have to persist, besides the
//! request, the memory of its sandbox, and what each of its namespaces keeps (`ProviderRuntime::suspend`).
//!
//! The run works on this state itself, so that nothing it needs later can be missing here. Times are durations, since
//! an instant of one process means nothing in another: [`RunState::advance_time`] advances them.

use codemode_provider::ExecutionId;
use codemode_spec::{
    ErrorReport,
    console::ConsoleBuffer,
    limits::FAILED_CALLS_REMEMBERED,
    message::{Call, ConsoleLine},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The state of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunState {
    pub id: ExecutionId,
    /// Seeds every random draw of the script.
    pub seed: [u8; 32],
    /// The wall clock at the script's start, in milliseconds since the Unix epoch. The script's time is monotonic from
    /// there.
    origin_ms: u64,
    /// Time since `origin_ms`.
    pub age: Duration,
    /// The remaining wall time.
    pub time_left: Duration,
    /// The limit of processor time for all turns together.
    pub cpu: Duration,
    /// The processor time used so far.
    pub cpu_used: Duration,
    /// The age at which the script's next timer is due.
    pub next_timer: Option<Duration>,
    /// Calls made so far.
    pub calls: u64,
    /// Calls that have left the sandbox and have not started, in the order in which the script made them.
    pub waiting: VecDeque<WaitingCall>,
    /// Whether the sandbox withholds further calls.
    pub withheld: bool,
    /// The calls that wait or run, by number. A call that is not in `waiting` was running: if the execution is resumed
    /// in another process, its progress is unknown.
    pub under_way: HashMap<u32, CallUnderWay>,
    /// The reports of failed calls, so that an uncaught failure is reported unchanged.
    failed: VecDeque<(u32, ErrorReport)>,
    /// The retained console output.
    pub console: ConsoleBuffer,
    pub warnings: Vec<String>,
}

/// A call that has left the sandbox and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallUnderWay {
    /// `namespace.method`
    pub name: String,
    /// Whether the script may end without awaiting it.
    pub background: bool,
}

/// A call that has not started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WaitingCall {
    pub call: Call,
    /// The host memory that its decoded arguments need, in bytes.
    pub weight: usize,
}

/// What the answer reports of a run besides its outcome.
#[derive(Default)]
pub(super) struct Summary {
    pub console: Vec<ConsoleLine>,
    pub console_dropped_bytes: u64,
    pub warnings: Vec<String>,
    pub calls: u64,
    pub cpu: Duration,
}

impl RunState {
    /// The state of a run that starts now.
    pub(super) fn new(id: ExecutionId, seed: [u8; 32], now: SystemTime, time_left: Duration, cpu: Duration) -> Self {
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            id,
            seed,
            origin_ms: u64::try_from(since_epoch.as_millis()).unwrap_or_default(),
            age: Duration::ZERO,
            time_left,
            cpu,
            cpu_used: Duration::ZERO,
            next_timer: None,
            calls: 0,
            waiting: VecDeque::new(),
            withheld: false,
            under_way: HashMap::new(),
            failed: VecDeque::new(),
            console: ConsoleBuffer::default(),
            warnings: Vec::new(),
        }
    }

    /// Advances the clocks by time in which the execution was not parked.
    pub(super) fn advance_time(&mut self, time: Duration) {
        self.age += time;
        self.time_left = self.time_left.saturating_sub(time);
    }

    /// The script's time, in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> f64 {
        self.origin_ms as f64 + self.age.as_secs_f64() * 1_000.0
    }

    /// The age at which the script's clock shows this time; the far future if it never does.
    pub(super) fn age_at(&self, time_ms: f64) -> Duration {
        let after_ms = (time_ms - self.origin_ms as f64).max(0.0);
        Duration::try_from_secs_f64(after_ms / 1_000.0).unwrap_or(Duration::MAX / 4)
    }

    /// Stores the report of a failed call. The oldest is dropped beyond the limit: the guest, which identifies the
    /// errors, drops the same ones.
    pub(super) fn remember_failure(&mut self, call: u32, report: ErrorReport) {
        if self.failed.len() == FAILED_CALLS_REMEMBERED {
            self.failed.pop_front();
        }
        self.failed.push_back((call, report));
    }

    /// The report of a failed call, if it is still stored.
    pub(super) fn take_failure(&mut self, call: u32) -> Option<ErrorReport> {
        let place = self.failed.iter().position(|(failed, _)| *failed == call)?;
        self.failed.remove(place).map(|(_, report)| report)
    }

    /// What the answer reports of the run.
    pub(super) fn summary(mut self) -> Summary {
        let (console, console_dropped_bytes) = self.console.take();
        Summary { console, console_dropped_bytes, warnings: self.warnings, calls: self.calls, cpu: self.cpu_used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::ErrorCode;

    fn state() -> RunState {
        let now = UNIX_EPOCH + Duration::from_millis(1_767_225_600_123);
        let left = Duration::from_secs(60);
        RunState::new(ExecutionId::new("x-1"), [7; 32], now, left, Duration::from_secs(10))
    }

    #[test]
    fn time_passes_by_durations() {
        let mut state = state();
        assert_eq!(state.now_ms(), 1_767_225_600_123.0);
        state.advance_time(Duration::from_millis(1_500));
        assert_eq!((state.now_ms(), state.time_left), (1_767_225_601_623.0, Duration::from_millis(58_500)));
        assert_eq!(state.age_at(state.now_ms() + 500.0), Duration::from_secs(2));
        assert_eq!(state.age_at(0.0), Duration::ZERO, "what was due before the script began is due at once");
        assert!(state.age_at(f64::INFINITY) > Duration::from_secs(1 << 40));
        state.advance_time(Duration::from_secs(100));
        assert_eq!(state.time_left, Duration::ZERO);
    }

    #[test]
    fn the_failures_that_are_kept_are_the_latest() {
        let mut state = state();
        for call in 0..FAILED_CALLS_REMEMBERED as u32 + 2 {
            state.remember_failure(call, ErrorReport::new(ErrorCode::CallFailed, format!("failure {call}")));
        }
        assert_eq!((state.take_failure(0), state.take_failure(1)), (None, None));
        assert_eq!(state.take_failure(2).unwrap().message, "failure 2");
        assert_eq!(state.take_failure(2), None);
    }

    #[test]
    fn a_state_that_was_cut_or_changed_is_no_state() {
        let written = serde_json::to_string(&state()).unwrap();
        assert_eq!(serde_json::from_str::<RunState>(&written).unwrap(), state());
        for end in 0..written.len() {
            assert!(serde_json::from_str::<RunState>(&written[..end]).is_err(), "{}", &written[..end]);
        }
        let foreign = written.replace("x-1", "../1");
        assert!(serde_json::from_str::<RunState>(&foreign).is_err(), "the name of an execution names files");
    }
}
