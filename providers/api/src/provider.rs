//! The two traits.

use crate::{
    audit::Account,
    context::{CallContext, Ending, ExecutionContext},
    services::Need,
};
use async_trait::async_trait;
use codemode_spec::{ErrorReport, Manifest, Value, envelope::Context, message::Encoded};
use std::sync::Arc;

/// Offers a namespace to scripts.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The namespace, its methods and their parameters. The host validates arguments by it before it calls.
    fn manifest(&self) -> &Manifest;

    /// The services without which no runtime can be made. A host that lacks one says so before it creates any.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    /// Makes the runtime of one execution: called once for each, in the order of registration, before the script runs.
    /// Cheap: nothing is opened before its first use.
    ///
    /// # Errors
    /// When the runtime cannot be made. The runtimes made before it are disposed of, and the script does not run.
    ///
    /// # Cancellation
    /// The future may be dropped; it must leave nothing behind.
    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport>;
}

/// What a provider is for one execution.
#[async_trait]
pub trait ProviderRuntime: Send + Sync {
    /// Carries out one call. Any number run concurrently. The method exists and the arguments fit one of its signatures.
    /// What the arguments take in memory counts until `context.place` is dropped.
    ///
    /// The reply is in the bytes that go into the sandbox: `Ok(value.into())` makes them of a value or of JSON, and what is
    /// large is better written there at once.
    ///
    /// # Errors
    /// Reject the script's promise: the script may catch them.
    ///
    /// # Cancellation
    /// The future is dropped when the execution ends first. Nothing that it started may go on.
    async fn call(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport>;

    /// The execution parks: drop connections, keep state. Called only between turns.
    ///
    /// # Errors
    /// When the state cannot be kept; the execution ends.
    async fn suspend(&self) -> Result<(), ErrorReport> {
        Ok(())
    }

    /// A parked execution goes on, maybe in another process.
    ///
    /// # Errors
    /// When the state is gone; the execution ends.
    async fn resume(&self) -> Result<(), ErrorReport> {
        Ok(())
    }

    /// Lets go of everything. Called exactly once, in the reverse order of creation, when no call is running any more:
    /// on success, failure, timeout, trap, cancellation, a client that went away, or when a later provider could not be
    /// created.
    ///
    /// # Errors
    /// Fail the execution if its script had succeeded; otherwise they become a warning.
    async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport>;

    /// What a call of a method that is not [`codemode_spec::Effect::Read`] does. Asked before the call, must not wait.
    fn account(&self, _method: &str, _arguments: &[Value]) -> Account {
        Account::default()
    }

    /// What the answer should say it was about, as far as this provider knows. Asked after `dispose`, must not wait.
    fn describe(&self) -> Context {
        Context::default()
    }

    /// What the reader of the answer should know besides the result. Asked after `dispose`.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
