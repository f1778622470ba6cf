//! The turns of one run.
//!
//! A run alternates between two places. On a turn thread it runs the guest and polls the calls that the guest made.
//! When no reply arrives for a while, it returns to the async side and waits there without a thread. Replies that are
//! ready at once, such as cached ones, and those that arrive soon, such as most replies of a browser, need no switch.

#[cfg(test)]
mod tests;

use super::{
    audit::Observer,
    calls::{Callees, Calls, Completed, bytes_left, may_send_more, reply},
    meter::SandboxMemory,
    outcome::{Returned, RunOutcome, cancelled, outcome, stopped, timed_out},
    poll::poll_until,
    state::RunState,
};
use crate::{
    engine::{Allowance, Engine, Sandbox, Stop},
    program::Program,
};
use codemode_provider::Registry;
use codemode_spec::{
    ErrorCode, ErrorReport,
    error::clip,
    limits::{CALLS_PER_EXECUTION_MAX, METHOD_NAME_CHARS_MAX},
    message::{ConsoleLine, Encoded, Resume, Start, State, Turn},
};
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Handle, sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

/// The inputs of a run that are not part of its serialisable state.
pub(super) struct RunInputs {
    pub engine: Engine,
    pub program: Program,
    pub callees: Callees,
    /// The host's memory for the arguments of running calls, shared by all executions; a permit is a byte of weight.
    pub argument_room: Arc<Semaphore>,
    pub cancel: CancellationToken,
    pub observer: Arc<dyn Observer>,
}

/// How long a turn thread waits for a reply before it is released: most pages load within this time, and a reply is
/// delivered sooner to a thread that waits for it. There are as many turn threads as concurrent executions.
const POLL_MAX: Duration = Duration::from_millis(250);

/// One run of a script: its state, and its resources in this process.
pub(super) struct Run {
    state: RunState,
    /// The instant at which the durations of the state were last updated.
    state_at: Instant,
    engine: Engine,
    program: Program,
    registry: Arc<Registry>,
    cancel: CancellationToken,
    observer: Arc<dyn Observer>,
    sandbox: Option<Sandbox>,
    memory: SandboxMemory,
    calls: Calls,
    /// Calls that the script made too late.
    unsent: Vec<String>,
}

/// The result of a sequence of turns on one thread.
#[derive(Debug)]
enum TurnProgress {
    /// The script waits for calls, or for its next timer.
    Waits,
    Ended(Result<Encoded, ErrorReport>),
}

impl Run {
    /// A run of a state whose durations hold at `state_at`.
    pub(super) fn new(state: RunState, state_at: Instant, inputs: RunInputs) -> Box<Self> {
        let deadline = state_at + state.time_left;
        let RunInputs { engine, program, callees, argument_room, cancel, observer } = inputs;
        Box::new(Self {
            state,
            state_at,
            engine,
            program,
            registry: Arc::clone(&callees.registry),
            cancel,
            observer,
            sandbox: None,
            memory: SandboxMemory::none(Arc::clone(&callees.meter)),
            calls: Calls::new(callees, argument_room, deadline),
            unsent: Vec::new(),
        })
    }

    /// Runs until the script ends or reaches a limit.
    ///
    /// # Cancellation
    /// Dropping the future cancels the running calls. A turn that is running continues until it waits.
    pub(super) async fn complete(self: Box<Self>) -> RunOutcome {
        let handle = Handle::current();
        let engine = self.engine.clone();
        let mut run = self;
        let mut replies: Option<Vec<Completed>> = None;
        loop {
            let handle = handle.clone();
            let advanced = engine.threads().run(move || {
                let _runtime = handle.enter();
                let progress = run.advance(replies);
                (run, progress)
            });
            let Ok((back, progress)) = advanced.await else {
                return RunOutcome::failed(ErrorReport::new(ErrorCode::HostFault, "a turn panicked inside the host"));
            };
            run = back;
            if let TurnProgress::Ended(outcome) = progress {
                return run.end(outcome);
            }
            match run.wait().await {
                Ok(ready) => replies = Some(ready),
                Err(error) => return run.end(Err(error)),
            }
        }
    }

    /// Runs turn after turn on one thread for as long as the script's replies arrive at once or soon: switching to the
    /// async side and back takes longer than the browser takes for a quick reply. `None` starts the script.
    fn advance(&mut self, mut replies: Option<Vec<Completed>>) -> TurnProgress {
        loop {
            match self.turn(replies.take()) {
                Ok(None) => {}
                Ok(Some(value)) => return self.ended(Ok(value)),
                Err(error) => return self.ended(Err(error)),
            }
            let mut ready = Vec::new();
            self.calls.poll_ready(&mut self.state, &mut ready);
            if ready.is_empty() && !may_send_more(&self.state) {
                if self.is_deadlocked() {
                    let message = "the script waits for a promise that nothing can settle";
                    return self.ended(Err(ErrorReport::new(ErrorCode::Deadlock, message)));
                }
                match self.poll_soon() {
                    Ok(Some(soon)) => ready = soon,
                    Ok(None) => {
                        self.sandbox.iter_mut().for_each(Sandbox::release_stack_pages);
                        return TurnProgress::Waits;
                    }
                    Err(error) => return self.ended(Err(error)),
                }
            } else if self.cancel.is_cancelled() {
                return self.ended(Err(cancelled()));
            } else if Instant::now() >= self.deadline() {
                return self.ended(Err(timed_out()));
            }
            replies = Some(ready);
        }
    }

    /// Runs one turn of the guest, until it waits or ends.
    fn turn(&mut self, replies: Option<Vec<Completed>>) -> Result<Option<Encoded>, ErrorReport> {
        self.update_clocks();
        let began = Instant::now();
        let turn = match replies {
            None => self.start(),
            Some(ready) => self.resume(ready),
        };
        self.calls.meter().turn(began.elapsed());
        self.memory.set(self.sandbox.as_ref().map_or(0, Sandbox::memory_bytes));
        self.state.cpu_used += self.sandbox.as_ref().map_or(Duration::ZERO, Sandbox::turn_cpu);
        let Turn { state, console, console_dropped } = turn.map_err(stopped)?;
        self.keep_console(console, console_dropped);
        match state {
            State::Waiting { calls, next_timer_ms, withheld } => {
                self.state.withheld = withheld;
                self.state.next_timer = next_timer_ms.map(|time_ms| self.state.age_at(time_ms));
                self.calls.accept(&mut self.state, calls, &*self.observer);
                Ok(None)
            }
            State::Done { outcome: ending, unhandled, unsent } => {
                let stacks = self.program.stacks();
                self.state.warnings.extend(unhandled.into_iter().map(|mut text| {
                    stacks.map(&mut text);
                    format!("nothing handled: {text}")
                }));
                self.unsent = unsent;
                outcome(ending, &mut self.state, &self.program, &self.registry).map(Some)
            }
        }
    }

    fn start(&mut self) -> Result<Turn, Stop> {
        let start = Start {
            source: self.program.source.clone(),
            source_name: self.program.source_name.clone(),
            namespaces: self.registry.namespaces(),
            seed: self.state.seed,
            now_ms: self.state.now_ms(),
            calls_max: CALLS_PER_EXECUTION_MAX,
            call_bytes: bytes_left(&self.state),
        };
        let allowance = self.allowance();
        let sandbox = self.sandbox.insert(self.engine.sandbox()?);
        sandbox.start(&start, allowance, || {})
    }

    fn resume(&mut self, ready: Vec<Completed>) -> Result<Turn, Stop> {
        let replies = ready.into_iter().map(|completed| reply(&mut self.state, completed)).collect();
        let resume = Resume { now_ms: self.state.now_ms(), replies, call_bytes: bytes_left(&self.state) };
        let allowance = self.allowance();
        let Self { sandbox, calls, state, .. } = self;
        let before_end = || calls.cancel_all(state);
        sandbox.as_mut().ok_or(Stop::Poisoned)?.resume(resume, allowance, before_end)
    }

    fn allowance(&self) -> Allowance {
        Allowance {
            deadline: self.deadline().into_std(),
            cpu: self.state.cpu,
            cpu_used: self.state.cpu_used,
            cancel: self.cancel.clone(),
        }
    }

    /// Updates the durations of the state.
    fn update_clocks(&mut self) {
        let now = Instant::now();
        self.state.advance_time(now.saturating_duration_since(self.state_at));
        self.state_at = now;
    }

    fn keep_console(&mut self, lines: Vec<ConsoleLine>, dropped_bytes: u64) {
        let stacks = self.program.stacks();
        for mut line in lines {
            stacks.map(&mut line.text);
            self.calls.masker().text(&mut line.text);
            self.observer.console(&line);
            self.calls.trace().console(&line);
            self.state.console.push(line);
        }
        self.calls.trace().console_dropped(dropped_bytes);
        self.state.console.count_dropped(dropped_bytes);
    }

    /// The end of the wall time.
    fn deadline(&self) -> Instant {
        self.state_at + self.state.time_left
    }

    fn is_deadlocked(&self) -> bool {
        self.calls.outstanding(&self.state) == 0 && self.state.next_timer.is_none()
    }

    /// When the script's next timer is due.
    fn timer_due(&self) -> Option<Instant> {
        Some(self.state_at + self.state.next_timer?.saturating_sub(self.state.age))
    }

    /// Polls on this thread, for a moment, for a reply or a timer; `None` if neither came in that time.
    fn poll_soon(&mut self) -> Result<Option<Vec<Completed>>, ErrorReport> {
        let (deadline, due) = (self.deadline(), self.timer_due());
        let until = (Instant::now() + POLL_MAX).min(deadline).min(due.unwrap_or(deadline));
        // Completed calls are collected within a single poll, so abandoning the future loses none.
        let source = self.calls.reply_source();
        match poll_until(until.into_std(), source.as_deref(), self.calls.next_replies(&mut self.state, &self.cancel)) {
            Some(ready) => ready.map(Some),
            None if Instant::now() >= deadline => Err(timed_out()),
            None if due.is_some_and(|due| Instant::now() >= due) => Ok(Some(Vec::new())),
            None => Ok(None),
        }
    }

    /// Waits until a call completes or the next timer is due, and collects all calls that are complete then.
    async fn wait(&mut self) -> Result<Vec<Completed>, ErrorReport> {
        let (deadline, due) = (self.deadline(), self.timer_due());
        let timer = async move {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(deadline) => Err(timed_out()),
            ready = self.calls.next_replies(&mut self.state, &self.cancel) => ready,
            () = timer => Ok(Vec::new()),
        }
    }

    /// Drops the sandbox here, if possible: resetting its memory takes a while, which belongs on a turn thread.
    fn ended(&mut self, outcome: Result<Encoded, ErrorReport>) -> TurnProgress {
        self.sandbox = None;
        self.memory.set(0);
        TurnProgress::Ended(outcome)
    }

    fn end(mut self: Box<Self>, outcome: Result<Encoded, ErrorReport>) -> RunOutcome {
        let is_awaited = |name: &&mut String| {
            name.split_once('.').is_none_or(|(namespace, method)| !self.registry.is_background(namespace, method))
        };
        let mut names: Vec<_> = self
            .unsent
            .iter_mut()
            .filter(is_awaited)
            .map(|name| {
                clip(name, METHOD_NAME_CHARS_MAX);
                name.as_str()
            })
            .collect();
        names.extend(self.state.under_way.values().filter(|call| !call.background).map(|call| call.name.as_str()));
        let running = names.len();
        if running > 0 && outcome.is_ok() {
            names.sort_unstable();
            names.dedup();
            names.truncate(5);
            let names = names.join(", ");
            self.state.warnings.push(format!(
                "{running} calls had not ended when the script ended and were cancelled ({names}): await every call"
            ));
        }
        let Self { state, program, .. } = *self;
        RunOutcome { outcome: outcome.map(|value| Returned::new(value, program)), summary: state.summary() }
    }
}
