//! What operators see of the executions of one host beside the audit. All of it is in memory alone.

use super::views::Views;
use crate::exec::Traces;
use std::sync::Arc;

/// What operators see of the executions of one host.
#[derive(Default)]
pub(super) struct Insight {
    /// What they run, call and write.
    pub traces: Arc<Traces>,
    /// Their pages.
    pub views: Arc<Views>,
}
