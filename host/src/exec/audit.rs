//! Who is told of executions: an observer while a script runs, and the audit.

use crate::secrets::SecretsOpened;
use codemode_provider::{Account, ExecutionId, LeaseMark, Refusal, RefusalSink, Secret, Secrets};
use codemode_spec::{ErrorCode, envelope::Context, message::ConsoleLine, session::SessionRequest};
use std::sync::Arc;

/// Watches an execution while it runs. Called from the thread of a turn: must return at once.
pub trait Observer: Send + Sync {
    /// The script wrote to the console.
    fn console(&self, _line: &ConsoleLine) {}
    /// The script made a call.
    fn call(&self, _namespace: &str, _method: &str, _calls: u64) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// What became of a saved login state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginAct {
    /// It was saved.
    Saved,
    /// It is about to be given to a browser.
    Loaded,
    /// It was removed.
    Removed,
}

/// Writes down what all executions of a host do. Must return at once.
pub trait AuditSink: Send + Sync {
    /// A script is about to run. The caller of the process itself has no name.
    fn started(&self, _id: &ExecutionId, _caller: &str, _code: &str, _session: &SessionRequest) {}
    /// A script is about to do something that has an effect. Never told: the values of its arguments.
    fn effect(&self, _id: &ExecutionId, _namespace: &str, _method: &str, _account: &Account) {}
    /// A script was refused a call of a method that exists, and its provider has not seen it.
    fn call_refused(&self, _id: &ExecutionId, _namespace: &str, _method: &str, _code: ErrorCode) {}
    /// A provider took something from a script that is not for scripts.
    fn refused(&self, _id: &ExecutionId, _refusal: &Refusal) {}
    /// A secret is about to be put into a page of its origin. Never told: its value.
    fn secret_used(&self, _id: &ExecutionId, _secret: &Secret, _lease: Option<&LeaseMark>) {}
    /// A login state of a session key was saved, loaded or removed. Never told: its values.
    fn login(&self, _id: &ExecutionId, _act: LoginAct, _key: &str, _name: &str, _lease: Option<&LeaseMark>) {}
    /// The execution has ended, and is disposed of. `context` is what it was about.
    fn ended(&self, _id: &ExecutionId, _outcome: Result<(), ErrorCode>, _calls: u64, _context: &Context) {}
}

/// Writes down nothing: for hosts that have no audit.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAudit;

impl AuditSink for NoAudit {}

/// The part of the audit that the providers of one execution have.
pub(super) struct ExecutionRefusals {
    pub(super) audit: Arc<dyn AuditSink>,
    pub(super) execution: ExecutionId,
}

impl RefusalSink for ExecutionRefusals {
    fn refused(&self, refusal: &Refusal) {
        self.audit.refused(&self.execution, refusal);
    }
}

/// The secrets of one execution, whose uses stand in the audit.
pub(super) struct ExecutionSecrets {
    pub(super) audit: Arc<dyn AuditSink>,
    pub(super) execution: ExecutionId,
    pub(super) opened: Arc<SecretsOpened>,
}

impl Secrets for ExecutionSecrets {
    fn all(&self) -> &[Secret] {
        &self.opened.secrets
    }

    fn used(&self, secret: &Secret, lease: Option<&LeaseMark>) {
        self.audit.secret_used(&self.execution, secret, lease);
    }
}
