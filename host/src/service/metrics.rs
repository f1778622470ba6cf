//! The metrics of a host, for a monitoring system.
//!
//! Labels have few values: error codes, namespaces of the host, states of sessions.

use super::running::Running;
use crate::{
    exec::{AuditSink, Load, LoginAct, Meter},
    session::{SessionTotals, store::audit::AuditHead},
};
use codemode_provider::{Account, ExecutionId, LeaseMark, Refusal, Secret};
use codemode_spec::{ErrorCode, envelope::Context, session::SessionRequest};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// The outcome label of a success.
const OK: &str = "OK";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfNamespace {
    namespace: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Wall {
    wall: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct State {
    state: &'static str,
}

/// The metrics of one service.
pub(super) struct Metrics {
    registry: Registry,
    executions: Family<Outcome, Counter>,
    execution_time: Histogram,
    processor_time: Histogram,
    calls: Family<OfNamespace, Counter>,
    call_time: Histogram,
    turn_time: Histogram,
    refusals: Family<Wall, Counter>,
    sandbox_memory: Gauge,
    audit_written: Counter,
    audit_rows: Gauge,
    running: Gauge,
    waiting: Gauge,
    sessions: Family<State, Gauge>,
    leases: Gauge,
    browsers: Gauge,
    browser_memory: Gauge,
}

impl Metrics {
    pub(super) fn new() -> Self {
        // From a tenth of a millisecond to some minutes.
        let times = || Histogram::new(exponential_buckets(0.000_1, 4.0, 11));
        let mut metrics = Self {
            registry: Registry::with_prefix("codemode"),
            executions: Family::default(),
            execution_time: times(),
            processor_time: times(),
            calls: Family::default(),
            call_time: times(),
            turn_time: times(),
            refusals: Family::default(),
            sandbox_memory: Gauge::default(),
            audit_written: Counter::default(),
            audit_rows: Gauge::default(),
            running: Gauge::default(),
            waiting: Gauge::default(),
            sessions: Family::default(),
            leases: Gauge::default(),
            browsers: Gauge::default(),
            browser_memory: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("executions", "Executions that ended, by their outcome", metrics.executions.clone());
        let seconds = Unit::Seconds;
        for (name, help, times) in [
            ("execution", "Wall time of executions", &metrics.execution_time),
            ("execution_cpu", "Processor time of the sandboxes of executions", &metrics.processor_time),
            ("call", "Wall time of calls of namespaces", &metrics.call_time),
            ("turn", "Wall time of turns of sandboxes", &metrics.turn_time),
        ] {
            registry.register_with_unit(name, help, seconds.clone(), times.clone());
        }
        registry.register("calls", "Calls that ended, by namespace and outcome", metrics.calls.clone());
        registry.register("refusals", "What scripts were refused, by the wall that did", metrics.refusals.clone());
        registry.register("executions_running", "Executions that run", metrics.running.clone());
        registry.register("executions_waiting", "Executions that wait for a place", metrics.waiting.clone());
        registry.register("sessions", "Browser sessions of the state folder, by state", metrics.sessions.clone());
        registry.register("leases", "Leases that are held", metrics.leases.clone());
        registry.register("browsers", "Browsers of sessions that run", metrics.browsers.clone());
        for (name, help, memory) in [
            (
                "browser_memory",
                "Memory of the browsers of sessions; what processes share counts in part",
                &metrics.browser_memory,
            ),
            ("sandbox_memory", "Linear memory of the sandboxes of executions that run", &metrics.sandbox_memory),
        ] {
            registry.register_with_unit(name, help, Unit::Bytes, memory.clone());
        }
        let written = "Rows of the audit that were ever written to the state folder";
        registry.register("audit_rows_written", written, metrics.audit_written.clone());
        registry.register("audit_rows", "Rows of the audit that are kept", metrics.audit_rows.clone());
        metrics
    }

    fn refused(&self, wall: &'static str) {
        self.refusals.get_or_create(&Wall { wall }).inc();
    }

    /// All metrics in the `OpenMetrics` text format, with the current totals.
    pub(super) fn text(&self, totals: &SessionTotals, audit: &AuditHead, load: Load) -> Result<String, fmt::Error> {
        let set = |gauge: &Gauge, count: u64| {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        // Rows that retention has removed count as written.
        self.audit_written.inner().store(audit.last, Ordering::Relaxed);
        set(&self.audit_rows, audit.last - audit.removed);
        set(&self.running, load.running as u64);
        set(&self.waiting, load.waiting as u64);
        let states = [("starting", totals.starting), ("live", totals.live), ("closing", totals.closing)];
        for (state, count) in states {
            set(&self.sessions.get_or_create(&State { state }), count);
        }
        set(&self.leases, totals.leases);
        set(&self.browsers, totals.browsers);
        set(&self.browser_memory, totals.browser_kib * 1024);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Meter for Metrics {
    fn turn(&self, took: Duration) {
        self.turn_time.observe(took.as_secs_f64());
    }

    fn call(&self, namespace: &str, took: Duration, outcome: Result<(), ErrorCode>) {
        self.call_time.observe(took.as_secs_f64());
        let outcome = outcome.map_or_else(ErrorCode::as_str, |()| OK);
        self.calls.get_or_create(&OfNamespace { namespace: namespace.to_owned(), outcome }).inc();
        if outcome == ErrorCode::PolicyRefused.as_str() {
            self.refused("policy");
        }
    }

    fn sandbox_memory(&self, before: usize, now: usize) {
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.sandbox_memory.inc_by(bytes(now) - bytes(before));
    }

    fn execution(&self, took: Duration, cpu: Duration, outcome: Result<(), ErrorCode>) {
        let outcome = outcome.map_or_else(ErrorCode::as_str, |()| OK);
        self.executions.get_or_create(&Outcome { outcome }).inc();
        self.execution_time.observe(took.as_secs_f64());
        self.processor_time.observe(cpu.as_secs_f64());
    }
}

/// An audit sink that also counts refusals and maintains the registry of running executions.
pub(super) struct Counted {
    pub(super) audit: Arc<dyn AuditSink>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) running: Arc<Running>,
}

impl AuditSink for Counted {
    fn started(&self, id: &ExecutionId, caller: &str, code: &str, session: &SessionRequest) {
        self.running.begin(id.as_str(), caller, session);
        self.audit.started(id, caller, code, session);
    }

    fn effect(&self, id: &ExecutionId, namespace: &str, method: &str, account: &Account) {
        self.audit.effect(id, namespace, method, account);
    }

    fn call_refused(&self, id: &ExecutionId, namespace: &str, method: &str, code: ErrorCode) {
        self.metrics.refused("approval");
        self.audit.call_refused(id, namespace, method, code);
    }

    fn refused(&self, id: &ExecutionId, refusal: &Refusal) {
        self.metrics.refused("target");
        self.audit.refused(id, refusal);
    }

    fn secret_used(&self, id: &ExecutionId, secret: &Secret, lease: Option<&LeaseMark>) {
        self.audit.secret_used(id, secret, lease);
    }

    fn login(&self, id: &ExecutionId, act: LoginAct, key: &str, name: &str, lease: Option<&LeaseMark>) {
        self.audit.login(id, act, key, name, lease);
    }

    fn ended(&self, id: &ExecutionId, outcome: Result<(), ErrorCode>, calls: u64, context: &Context) {
        self.audit.ended(id, outcome, calls, context);
        self.running.end(id.as_str());
    }
}
