//! What is known of one execution, and which of them run in this host.

use codemode_spec::{ErrorCode, ErrorReport, session::SessionRequest};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};
use utoipa::ToSchema;

/// An execution, without its script and its result, which nothing but its answer has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionInfo {
    /// As the answer's `context.execution_id` names it.
    pub id: String,
    /// Whether it runs.
    pub state: ExecutionState,
    /// Who asked for it; absent for the user of the host's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The session key that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The session that it used last, known at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session mode that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// When it began, in milliseconds since the Unix epoch; absent if retention has removed that row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// `ok`, or the code of its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Calls that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// Whether an execution runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionState {
    /// This host runs it.
    Running,
    /// It has ended.
    Ended,
    /// The audit has no end of it: another host runs it, or died before it could note the end.
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

/// The executions that run in this host, as many as run at the same time.
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

    /// All of them, the last that began first.
    pub(super) fn all(&self) -> Vec<ExecutionInfo> {
        let mut all: Vec<_> = self.lock().values().cloned().collect();
        all.sort_by_key(|execution| std::cmp::Reverse(execution.started_ms));
        all
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, ExecutionInfo>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The refusal to tell of an execution that is not known.
pub(super) fn unknown_execution(execution: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::NotFound, format!("the audit knows no execution {execution:?}"))
        .with_hint("Every answer names its execution in context.execution_id; `codemode audit show` lists them.")
}
