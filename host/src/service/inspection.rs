//! Inspection of the executions of this host by operators, beyond the audit: traces and live views of pages.

use super::{host::Service, views::PageView};
use crate::exec::ExecutionTrace;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The trace of an execution, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionTraced {
    /// Whether this host keeps traces.
    pub kept: bool,
    /// The trace; absent if this host has not run the execution, or if it ended too long ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<ExecutionTrace>,
}

impl Service {
    /// The trace of an execution of this host: its script, calls and console lines. Available while the execution runs,
    /// and for some time after its end.
    #[must_use]
    pub fn executions_trace(&self, execution: &str) -> ExecutionTraced {
        let insight = self.inner.insight.as_ref();
        let trace = insight.and_then(|insight| insight.traces.find(execution));
        ExecutionTraced { kept: insight.is_some(), trace }
    }

    /// The page that an execution of this host uses, as soon as there is a picture after number `after`, or after ten
    /// seconds.
    ///
    /// # Errors
    /// `UNSUPPORTED_OPERATION` when insight is disabled, or the browser is that of an external endpoint;
    /// `CAPACITY_EXCEEDED` when too many executions are viewed or too many requests wait.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn executions_view(&self, execution: &str, after: u64) -> Result<PageView, ErrorReport> {
        let Some(insight) = &self.inner.insight else {
            return Err(ErrorReport::new(ErrorCode::UnsupportedOperation, "this host shows no pages of executions")
                .with_hint("A host that serves does, unless it was started with --no-insight."));
        };
        if self.settings().is_external() {
            let message = "the browser of an external endpoint is not shown: it is its user's";
            return Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message)
                .with_hint("Look at the browser itself, or let the host launch its browsers: without --cdp-url."));
        }
        insight.views.view(execution, after).await
    }
}
