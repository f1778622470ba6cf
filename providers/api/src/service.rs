//! What the namespaces of an execution share and no one of them owns, as its browser.

use crate::context::{Ending, ExecutionContext};
use async_trait::async_trait;
use codemode_spec::{ErrorReport, envelope::Context};
use std::sync::Arc;

/// Makes one service of each execution.
pub trait ServiceProvider: Send + Sync + 'static {
    /// Puts the service of one execution into the context's services: called once for each, in the order of
    /// registration, before any runtime is created. Opens nothing: a service that no call uses costs nothing.
    ///
    /// # Errors
    /// When the service cannot be made. What was made before it is disposed of, and the script does not run.
    fn create(&self, context: &mut ExecutionContext) -> Result<Arc<dyn ServiceRuntime>, ErrorReport>;
}

/// What a service is for one execution, as the host has it. Namespaces find it in the context, by its type.
#[async_trait]
pub trait ServiceRuntime: Send + Sync {
    /// The execution parks in this process: drop connections, keep state. Called between turns, after all namespaces were
    /// suspended. A service does not leave its process: an execution with services goes on where it was suspended.
    ///
    /// # Errors
    /// When the state cannot be kept; the execution ends.
    async fn suspend(&self) -> Result<(), ErrorReport> {
        Ok(())
    }

    /// A parked execution goes on. Called before the namespaces are restored.
    ///
    /// # Errors
    /// When the state is gone; the execution ends.
    async fn resume(&self) -> Result<(), ErrorReport> {
        Ok(())
    }

    /// Releases everything. Called exactly once, in the reverse order of creation, after all namespaces were disposed
    /// of, whatever the ending was.
    ///
    /// # Errors
    /// Fail the execution if its script had succeeded; otherwise they become a warning.
    async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport>;

    /// What the answer should say it was about. Asked after `dispose`, must not wait.
    fn describe(&self) -> Context {
        Context::default()
    }

    /// What the reader of the answer should know besides the result. Asked after `dispose`.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
