//! The name of an execution.

use std::{fmt, sync::Arc};

/// Names an execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionId(Arc<str>);

impl ExecutionId {
    /// The id with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Its text: ASCII letters, digits and `-`, fit for a file name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
