//! The description of one execution, and the registry of those that run in this host.

use codemode_spec::{ErrorCode, ErrorReport, session::SessionRequest};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};
use utoipa::ToSchema;

/// An execution, without its script and its result, which are not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionInfo {
    /// The id, which the answer has as `context.execution_id`.
    pub id: String,
    /// The execution's state.
    pub state: ExecutionState,
    /// The caller that requested it; absent for the user of the host's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The requested session key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The session that it used last; absent until its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The requested session mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// When it started, in milliseconds since the Unix epoch; absent if retention has removed that audit row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// When it ended, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// `ok`, or the code of its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The number of calls that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// The state of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionState {
    /// This host runs it.
    Running,
    /// It has ended.
    Ended,
    /// The audit has no end of it: another host runs it, or died before it recorded the end.
    Unknown,
}

impl ExecutionInfo {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            state: ExecutionState::Running,
            caller: None,
            key: None,
            session: None,
            mode: None,
            started_ms: None,
            ended_ms: None,
            outcome: None,
            calls: None,
        }
    }
}

/// The executions that run in this host. Bounded by the number of concurrent executions.
#[derive(Default)]
pub(super) struct Running(Mutex<BTreeMap<String, ExecutionInfo>>);

impl Running {
    pub(super) fn begin(&self, id: &str, caller: &str, session: &SessionRequest) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let execution = ExecutionInfo {
            caller: (!caller.is_empty()).then(|| caller.to_owned()),
            key: session.key.clone(),
            mode: Some(session.mode.to_string()),
            started_ms: i64::try_from(now).ok(),
            ..ExecutionInfo::new(id)
        };
        self.lock().insert(id.to_owned(), execution);
    }

    pub(super) fn end(&self, id: &str) {
        self.lock().remove(id);
    }

    pub(super) fn find(&self, id: &str) -> Option<ExecutionInfo> {
        self.lock().get(id).cloned()
    }

    /// All running executions, latest start first.
    pub(super) fn all(&self) -> Vec<ExecutionInfo> {
        let mut all: Vec<_> = self.lock().values().cloned().collect();
        all.sort_by_key(|execution| std::cmp::Reverse(execution.started_ms));
        all
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, ExecutionInfo>> {
        // No code panics while it holds this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for an execution that the audit does not have.
pub(super) fn unknown_execution(execution: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::NotFound, format!("the audit knows no execution {execution:?}"))
        .with_hint("Every answer names its execution in context.execution_id; `codemode audit show` lists them.")
}
