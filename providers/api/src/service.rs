//! Services of one execution: state that its namespaces share and none of them owns, such as the browser.

use crate::context::{Ending, ExecutionContext};
use async_trait::async_trait;
use codemode_spec::{ErrorReport, envelope::Context};
use std::sync::Arc;

/// Creates a service for each execution.
pub trait ServiceProvider: Send + Sync + 'static {
    /// Adds the service of one execution to the context's services: called once per execution, in registration order,
    /// before any runtime is created. Must open nothing: a service that no call uses costs nothing.
    ///
    /// # Errors
    /// When the service cannot be created. The services created before it are disposed of, and the script does not run.
    fn create(&self, context: &mut ExecutionContext) -> Result<Arc<dyn ServiceRuntime>, ErrorReport>;
}

/// The host's handle on the service of one execution. Namespaces find the service itself in the context, by its type.
#[async_trait]
pub trait ServiceRuntime: Send + Sync {
    /// Suspends the service, in this process: drop connections, keep state. Called between turns, after all namespaces
    /// were suspended. A service does not leave its process: an execution with services resumes where it was suspended.
    ///
    /// # Errors
    /// When the state cannot be retained; the execution ends.
    async fn suspend(&self) -> Result<(), ErrorReport> {
        Ok(())
    }

    /// Resumes the service of a suspended execution. Called before the namespaces are restored.
    ///
    /// # Errors
    /// When the state is gone; the execution ends.
    async fn resume(&self) -> Result<(), ErrorReport> {
        Ok(())
    }

    /// Releases all resources. Called exactly once, in reverse order of creation, after all namespaces were disposed
    /// of, however the execution ended.
    ///
    /// # Errors
    /// An error fails the execution if its script had succeeded; otherwise it becomes a warning.
    async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport>;

    /// The part of the answer's context that this service knows. Called after `dispose`; must not wait.
    fn describe(&self) -> Context {
        Context::default()
    }

    /// Warnings for the reader of the answer. Called after `dispose`.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
