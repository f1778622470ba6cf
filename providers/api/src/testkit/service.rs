//! A configurable fake service that records what happens to it.

use super::fake::{Journal, Moment};
use crate::{Ending, ExecutionContext, ServiceProvider, ServiceRuntime};
use async_trait::async_trait;
use codemode_spec::ErrorReport;
use std::sync::Arc;

/// The value that a [`FakeService`] adds to the context: its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeShared(pub String);

/// A service that records its moments in a journal, interleaved with those of the providers that share the journal.
#[derive(Clone, Debug)]
pub struct FakeService {
    name: String,
    journal: Journal,
    create_error: Option<ErrorReport>,
    dispose_error: Option<ErrorReport>,
}

impl FakeService {
    /// A service of this name that succeeds at everything without delay.
    #[must_use]
    pub fn new(name: &str, journal: &Journal) -> Self {
        Self { name: name.to_owned(), journal: journal.clone(), create_error: None, dispose_error: None }
    }

    /// Creating the service fails.
    #[must_use]
    pub fn with_create_error(mut self, error: ErrorReport) -> Self {
        self.create_error = Some(error);
        self
    }

    /// Disposing of the service fails.
    #[must_use]
    pub fn with_dispose_error(mut self, error: ErrorReport) -> Self {
        self.dispose_error = Some(error);
        self
    }
}

impl ServiceProvider for FakeService {
    fn create(&self, context: &mut ExecutionContext) -> Result<Arc<dyn ServiceRuntime>, ErrorReport> {
        if let Some(error) = &self.create_error {
            self.journal.note(&self.name, Moment::CreateFailed);
            return Err(error.clone());
        }
        self.journal.note(&self.name, Moment::Created);
        context.services.insert(Arc::new(FakeShared(self.name.clone())));
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl ServiceRuntime for FakeService {
    async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport> {
        self.journal.note(&self.name, Moment::Disposed(ending));
        self.dispose_error.clone().map_or(Ok(()), Err)
    }
}
