//! What executions do, written into the audit.

use crate::{
    exec::Record,
    session::store::{
        StoreHandle,
        audit::{Event, EventKind},
    },
};
use codemode_provider::{Account, ExecutionId};
use codemode_spec::{ErrorCode, session::SessionRequest};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes into the audit of a store. What comes while a transaction runs goes into the next one together.
pub(super) struct Recorder {
    store: StoreHandle,
    pending: Arc<Mutex<Vec<Event>>>,
}

impl Recorder {
    pub(super) fn new(store: StoreHandle) -> Self {
        Self { store, pending: Arc::default() }
    }

    fn note(&self, event: Event) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.push(event);
        if pending.len() > 1 {
            // Whoever put in the first one has asked for the transaction.
            return;
        }
        drop(pending);
        let pending = Arc::clone(&self.pending);
        self.store.spawn(move |store| {
            let events = std::mem::take(&mut *pending.lock().unwrap_or_else(PoisonError::into_inner));
            store.audit_append(&events)
        });
    }
}

impl Record for Recorder {
    fn started(&self, id: &ExecutionId, code: &str, session: &SessionRequest) {
        let code = blake3::hash(code.as_bytes()).to_hex().to_string();
        let event = Event::new(EventKind::ExecutionStarted).execution(id.as_str()).key(session.key.as_deref());
        self.note(event.detail(json!({"code_blake3": code, "mode": session.mode})));
    }

    fn effect(&self, id: &ExecutionId, namespace: &str, method: &str, account: &Account) {
        let Account { action, origin, reads: _ } = account;
        let mut detail = json!({"method": format!("{namespace}.{method}")});
        if let Some(action) = action {
            detail["action"] = json!(action);
        }
        if let Some(origin) = origin {
            detail["origin"] = json!(origin);
        }
        self.note(Event::new(EventKind::Call).execution(id.as_str()).detail(detail));
    }

    fn ended(&self, id: &ExecutionId, outcome: Result<(), ErrorCode>, calls: u64) {
        let outcome = outcome.map_or_else(ErrorCode::as_str, |()| "ok");
        let event = Event::new(EventKind::ExecutionEnded).execution(id.as_str());
        self.note(event.detail(json!({"outcome": outcome, "calls": calls})));
    }
}
