//! The receivers of execution events: an observer while a script runs, and the audit log.

use crate::secrets::SecretsOpened;
use codemode_provider::{Account, ExecutionId, LeaseMark, Refusal, RefusalSink, Secret, Secrets};
use codemode_spec::{ErrorCode, envelope::Context, message::ConsoleLine, session::SessionRequest};
use std::sync::Arc;

/// Observes an execution while it runs. Called from a turn thread: must return at once.
pub trait Observer: Send + Sync {
    /// The script wrote to the console.
    fn console(&self, _line: &ConsoleLine) {}
    /// The script made a call.
    fn call(&self, _namespace: &str, _method: &str, _calls: u64) {}
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// An operation on a saved login state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginAct {
    /// It was saved.
    Saved,
    /// It is about to be loaded into a browser.
    Loaded,
    /// It was removed.
    Removed,
}

/// The audit log of all executions of a host. Must return at once.
pub trait AuditSink: Send + Sync {
    /// A script is about to run. `caller` is empty for the process's own user.
    fn started(&self, _id: &ExecutionId, _caller: &str, _code: &str, _session: &SessionRequest) {}
    /// A script is about to make a call with an effect. The values of its arguments are not passed.
    fn effect(&self, _id: &ExecutionId, _namespace: &str, _method: &str, _account: &Account) {}
    /// A script's call of an existing method was refused before it reached the provider.
    fn call_refused(&self, _id: &ExecutionId, _namespace: &str, _method: &str, _code: ErrorCode) {}
    /// A provider refused an action of a script.
    fn refused(&self, _id: &ExecutionId, _refusal: &Refusal) {}
    /// A secret is about to be filled into a page of its origin. Its value is not passed.
    fn secret_used(&self, _id: &ExecutionId, _secret: &Secret, _lease: Option<&LeaseMark>) {}
    /// A login state of a session key was saved, loaded or removed. Its values are not passed.
    fn login(&self, _id: &ExecutionId, _act: LoginAct, _key: &str, _name: &str, _lease: Option<&LeaseMark>) {}
    /// The execution has ended and is disposed of. `context` names its session, lease and page.
    fn ended(&self, _id: &ExecutionId, _outcome: Result<(), ErrorCode>, _calls: u64, _context: &Context) {}
}

/// An audit log that records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAudit;

impl AuditSink for NoAudit {}

/// Records the refusals by one execution's providers in the audit log.
pub(super) struct ExecutionRefusals {
    pub(super) audit: Arc<dyn AuditSink>,
    pub(super) execution: ExecutionId,
}

impl RefusalSink for ExecutionRefusals {
    fn refused(&self, refusal: &Refusal) {
        self.audit.refused(&self.execution, refusal);
    }
}

/// The secrets of one execution; each use is recorded in the audit log.
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
