//! Records the events of executions in the audit.

use super::running::Running;
use crate::{
    exec::{AuditSink, LoginAct},
    session::store::{
        Store, StoreError,
        audit::{Batch, Event, EventKind},
    },
};
use codemode_provider::{Account, ExecutionId, LeaseMark, Refusal, Secret};
use codemode_spec::{ErrorCode, envelope::Context, limits::AUDIT_GATHER_MS, session::SessionRequest};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The number of executions whose failures to write rows are remembered.
const FAILURES_MAX: usize = 1024;

/// Writes to the audit of a store. Batches the events of a few milliseconds into one transaction, since each
/// transaction waits for the disk and takes processor time from the browser. Later writes of this process come after
/// the batch.
pub(super) struct Recorder {
    store: Arc<dyn Store>,
    buffer: Arc<Mutex<Buffer>>,
    running: Arc<Running>,
}

#[derive(Default)]
struct Buffer {
    pending: Vec<Event>,
    /// For each execution whose rows could not be written, the error, until the execution is answered.
    failures: HashMap<String, String>,
}

impl Recorder {
    /// `running` has the executions that have not ended.
    pub(super) fn new(store: Arc<dyn Store>, running: Arc<Running>) -> Self {
        Self { store, buffer: Arc::default(), running }
    }

    /// Waits until all events of an execution that has ended are written. Returns the error if one could not be
    /// written.
    pub(super) async fn flush(&self, execution: &str) -> Option<String> {
        let written = self.store.audit_flush().await;
        let missed = lock(&self.buffer).failures.remove(execution);
        missed.or_else(|| written.err().map(|error| error.to_string()))
    }

    fn note(&self, event: Event) {
        let mut buffer = lock(&self.buffer);
        buffer.pending.push(event);
        if buffer.pending.len() > 1 {
            // The first event has enqueued the transaction.
            return;
        }
        drop(buffer);
        let gather = Duration::from_millis(AUDIT_GATHER_MS);
        let pending = Pending { buffer: Arc::clone(&self.buffer), running: Arc::clone(&self.running) };
        self.store.audit_enqueue(Box::new(pending), gather);
    }
}

/// The events that are pending when the batch is written.
struct Pending {
    buffer: Arc<Mutex<Buffer>>,
    running: Arc<Running>,
}

impl Batch for Pending {
    fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut lock(&self.buffer).pending)
    }

    fn failed(&mut self, events: Vec<Event>, error: StoreError) {
        tracing::warn!(%error, "the session store could not note what happened");
        let mut buffer = lock(&self.buffer);
        // The failures of an execution whose client disconnected are never read: bound their number.
        if buffer.failures.len() >= FAILURES_MAX {
            buffer.failures.retain(|execution, _| self.running.find(execution).is_some());
        }
        let executions = events.into_iter().filter_map(|event| event.execution);
        buffer.failures.extend(executions.map(|execution| (execution, error.to_string())));
    }
}

fn lock(buffer: &Mutex<Buffer>) -> MutexGuard<'_, Buffer> {
    // No code panics while it holds this lock.
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The event with the fields of this lease.
fn under(event: Event, lease: Option<&LeaseMark>) -> Event {
    match lease {
        Some(LeaseMark { session, key, token }) => event.session(session).key(key.as_deref()).token(*token),
        None => event,
    }
}

impl AuditSink for Recorder {
    fn started(&self, id: &ExecutionId, caller: &str, code: &str, session: &SessionRequest) {
        let code = blake3::hash(code.as_bytes()).to_hex().to_string();
        let event = Event::new(EventKind::ExecutionStarted).execution(id.as_str()).key(session.key.as_deref());
        let mut detail = json!({"code_blake3": code, "mode": session.mode});
        if !caller.is_empty() {
            detail["caller"] = json!(caller);
        }
        self.note(event.detail(detail));
    }

    fn effect(&self, id: &ExecutionId, namespace: &str, method: &str, account: &Account) {
        let Account { action, origin, to_origin, lease, reads: _ } = account;
        let mut detail = json!({"method": format!("{namespace}.{method}")});
        for (name, value) in [("action", action), ("origin", origin), ("to_origin", to_origin)] {
            if let Some(value) = value {
                detail[name] = json!(value);
            }
        }
        self.note(under(Event::new(EventKind::Call).execution(id.as_str()).detail(detail), lease.as_ref()));
    }

    fn call_refused(&self, id: &ExecutionId, namespace: &str, method: &str, code: ErrorCode) {
        let detail = json!({"method": format!("{namespace}.{method}"), "code": code});
        self.note(Event::new(EventKind::PolicyRefused).execution(id.as_str()).detail(detail));
    }

    fn refused(&self, id: &ExecutionId, refusal: &Refusal) {
        let Refusal { target, scheme, lease } = refusal;
        let event = Event::new(EventKind::PolicyRefused).execution(id.as_str());
        self.note(under(event.detail(json!({"target": target, "scheme": scheme})), lease.as_ref()));
    }

    fn secret_used(&self, id: &ExecutionId, secret: &Secret, lease: Option<&LeaseMark>) {
        let event = Event::new(EventKind::SecretUsed).execution(id.as_str());
        self.note(under(event.detail(json!({"name": secret.name, "origin": secret.origin})), lease));
    }

    fn login(&self, id: &ExecutionId, act: LoginAct, key: &str, name: &str, lease: Option<&LeaseMark>) {
        let kind = match act {
            LoginAct::Saved => EventKind::LoginSaved,
            LoginAct::Loaded => EventKind::LoginLoaded,
            LoginAct::Removed => EventKind::LoginRemoved,
        };
        let mut detail = json!({ "name": name });
        if act == LoginAct::Removed {
            detail["by"] = json!("script");
        }
        // The lease of a browser that is not shared has no key.
        self.note(under(Event::new(kind).execution(id.as_str()).detail(detail), lease).key(Some(key)));
    }

    fn ended(&self, id: &ExecutionId, outcome: Result<(), ErrorCode>, calls: u64, context: &Context) {
        let outcome = outcome.map_or_else(ErrorCode::as_str, |()| "ok");
        let mut event = Event::new(EventKind::ExecutionEnded).execution(id.as_str());
        if let (Some(session), Some(lease)) = (&context.session_id, &context.lease) {
            event = event.session(session).key(lease.key.as_deref()).token(lease.token);
        }
        self.note(event.detail(json!({"outcome": outcome, "calls": calls})));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{
        clock::MachineClock,
        liveness::ProcessLocks,
        store::{AuditStore as _, SqliteStore, audit::AuditFilter},
    };

    #[tokio::test]
    async fn an_execution_that_runs_is_told_of_its_missing_rows_however_many_others_miss_some() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = ProcessLocks::open(folder.path().join("hosts")).unwrap();
        let store =
            SqliteStore::open(&folder.path().join("store.db"), Arc::new(MachineClock), Arc::new(hosts)).unwrap();
        let running = Arc::<Running>::default();
        let recorder = Recorder::new(Arc::new(store), Arc::clone(&running));
        let fail = |execution: &str| {
            let event = Event::new(EventKind::Call).execution(execution);
            let error = StoreError::Failed { path: "store.db".into(), cause: "the disk is gone".to_owned() };
            let mut pending = Pending { buffer: Arc::clone(&recorder.buffer), running: Arc::clone(&running) };
            pending.failed(vec![event], error);
        };
        running.begin("x-long", "", &SessionRequest::default());
        fail("x-long");
        for number in 0..2 * FAILURES_MAX {
            fail(&format!("x-{number}"));
            assert!(lock(&recorder.buffer).failures.len() <= FAILURES_MAX);
        }
        let missed = recorder.flush("x-long").await;
        assert!(missed.as_ref().is_some_and(|error| error.contains("the disk is gone")), "{missed:?}");
        assert_eq!(recorder.flush("x-long").await, None);
    }

    #[tokio::test]
    async fn refusals_stand_in_the_audit_by_scheme_or_by_method() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let hosts = ProcessLocks::open(folder.path().join("hosts")).unwrap();
            SqliteStore::open(&folder.path().join("store.db"), Arc::new(MachineClock), Arc::new(hosts)).unwrap()
        };
        let recorder = Recorder::new(Arc::new(open()), Arc::default());
        let lease = LeaseMark { session: "s-1".to_owned(), key: Some("shop".to_owned()), token: 7 };
        let refusal =
            Refusal { target: "iframe".to_owned(), scheme: "chrome-extension".to_owned(), lease: Some(lease) };
        recorder.refused(&ExecutionId::new("x-1"), &refusal);
        recorder.call_refused(&ExecutionId::new("x-2"), "shop", "pay", ErrorCode::ApprovalRequired);
        assert_eq!((recorder.flush("x-1").await, recorder.flush("x-2").await), (None, None));
        let store = open();
        let rows = store.audit_read(&AuditFilter { limit: 10, ..AuditFilter::default() }).await.unwrap();
        let [row, call] = rows.as_slice() else { panic!("two rows: {rows:?}") };
        assert_eq!(
            (call.kind.as_str(), call.detail.as_str(), call.execution.as_deref()),
            ("policy.refused", r#"{"method":"shop.pay","code":"APPROVAL_REQUIRED"}"#, Some("x-2"))
        );
        assert_eq!(
            (row.kind.as_str(), row.detail.as_str(), row.execution.as_deref(), row.key.as_deref(), row.token),
            (
                "policy.refused",
                r#"{"target":"iframe","scheme":"chrome-extension"}"#,
                Some("x-1"),
                Some("shop"),
                Some(7)
            )
        );
        assert!(store.audit_verify(None).await.unwrap().intact);
    }
}
