//! Insight into the executions of one host for operators, beyond the audit: traces and live views of pages. It is held
//! in memory only.

use super::views::Views;
use crate::exec::Traces;
use std::sync::Arc;

/// The traces and page views of the executions of one host.
#[derive(Default)]
pub(super) struct Insight {
    /// Scripts, calls and console lines.
    pub traces: Arc<Traces>,
    /// Live views of their pages.
    pub views: Arc<Views>,
}
