//! The state of the execution: the values received from the host, and the output not yet sent to it.

use boa_engine::{JsObject, JsValue, builtins::promise::ResolvingFunctions, object::builtins::JsPromise};
use codemode_spec::{
    console::ConsoleBuffer,
    limits::{CALLS_PER_EXECUTION_MAX, FAILED_CALLS_REMEMBERED},
    message::{Call, CallError, ConsoleLine, Level},
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
};

/// A call that the host has not answered yet.
pub struct PendingCall {
    /// Settles the script's promise.
    pub resolvers: ResolvingFunctions,
    /// An error created when the call was made, so that a rejection has the stack trace of the call.
    pub error: JsObject,
    /// `namespace.method`
    pub name: String,
}

/// How a call failed.
#[derive(Clone)]
pub enum FailedCall {
    /// The host answered it with an error.
    Answered(u32),
    /// The guest refused it before it was sent.
    Refused(CallError),
}

pub struct State {
    pub now_ms: f64,
    pub start_ms: f64,
    pub random: ChaCha8Rng,
    pub console: ConsoleBuffer,
    /// Calls that have not been sent yet, the oldest first.
    pub outbox: VecDeque<Call>,
    /// How many bytes of calls the host accepts in this turn.
    pub call_bytes: usize,
    pub next_call: u32,
    pub calls_max: u32,
    pub pending: BTreeMap<u32, PendingCall>,
    /// The error objects of failed calls, found by identity.
    pub failed: VecDeque<(JsObject, FailedCall)>,
    /// Rejected promises without a handler.
    pub unhandled: Vec<(JsPromise, JsValue)>,
    /// Errors thrown by timer callbacks.
    pub uncaught: Vec<String>,
    /// Further such errors, of which no text is stored.
    pub uncaught_further: usize,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State {
        now_ms: 0.0,
        start_ms: 0.0,
        random: ChaCha8Rng::from_seed([0; 32]),
        console: ConsoleBuffer::default(),
        outbox: VecDeque::new(),
        call_bytes: 0,
        next_call: 0,
        calls_max: CALLS_PER_EXECUTION_MAX,
        pending: BTreeMap::new(),
        failed: VecDeque::new(),
        unhandled: Vec::new(),
        uncaught: Vec::new(),
        uncaught_further: 0,
    });
}

/// Accesses the state. Not re-entrant: `use_it` must not run JavaScript.
pub fn with<T>(use_it: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(use_it)
}

/// The wall clock, in milliseconds since the Unix epoch. It does not advance within a turn.
pub fn now_ms() -> f64 {
    with(|state| state.now_ms)
}

/// When the execution started, on the same clock.
pub fn start_ms() -> f64 {
    with(|state| state.start_ms)
}

/// The next number of the execution's seeded generator.
pub fn random_u64() -> u64 {
    with(|state| state.random.next_u64())
}

/// Writes a console line.
pub fn console(level: Level, text: String) {
    with(|state| state.console.push(ConsoleLine { level, text }));
}

impl State {
    /// Removes the calls for which the host has room from the outbox, and returns them.
    pub fn calls_to_send(&mut self) -> Vec<Call> {
        let mut calls = Vec::new();
        while let Some(call) = self.outbox.front() {
            let Some(left) = self.call_bytes.checked_sub(call.bytes()) else { break };
            self.call_bytes = left;
            calls.extend(self.outbox.pop_front());
        }
        calls
    }

    /// Remembers which call an error belongs to.
    pub fn remember_failed(&mut self, error: JsObject, call: FailedCall) {
        if self.failed.len() == FAILED_CALLS_REMEMBERED {
            self.failed.pop_front();
        }
        self.failed.push_back((error, call));
    }

    /// The failed call to which this error object belongs, by identity.
    pub fn failed_call(&self, error: &JsObject) -> Option<FailedCall> {
        self.failed.iter().find(|(failed, _)| JsObject::equals(failed, error)).map(|(_, call)| call.clone())
    }
}
