//! The two traits.

use crate::{
    audit::Account,
    context::{CallContext, Ending, ExecutionContext},
    services::Need,
};
use async_trait::async_trait;
use codemode_spec::{ErrorCode, ErrorReport, Manifest, Value, envelope::Context, message::Encoded};
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

    /// Makes a runtime that goes on where a suspended one stopped, maybe in another process: called in the place of
    /// [`Self::create`], when the services of the context are there, with what [`ProviderRuntime::suspend`] returned.
    /// Hosts call it through [`crate::restore`].
    ///
    /// The bytes lay outside of the host: they may be cut, changed, of another namespace or of another version, and are
    /// checked like all input from outside. The default takes the empty state of a runtime that keeps nothing.
    ///
    /// # Errors
    /// [`not_a_state`] when the bytes are not a state of this namespace; or with what is not here any more that the state
    /// stands on. The runtimes restored before it are disposed of, and the execution ends.
    ///
    /// # Cancellation
    /// The future may be dropped; it must leave nothing behind.
    async fn restore(&self, context: ExecutionContext, state: &[u8]) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        if state.is_empty() {
            return self.create(context).await;
        }
        Err(not_a_state(&self.manifest().namespace))
    }
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

    /// What this runtime keeps, as bytes of its own format, from which [`Provider::restore`] makes one that answers as this
    /// one would have. At most [`SUSPENDED_BYTES_MAX`](codemode_spec::limits::SUSPENDED_BYTES_MAX). Called between turns,
    /// when no call is running, through [`crate::suspend`]. A runtime that keeps nothing returns no bytes; the default
    /// refuses, since only a provider knows that nothing would be lost.
    ///
    /// After a success no call follows. The runtime is either dropped, when another one has been restored from the bytes,
    /// or disposed of, when the execution ends while it is suspended: what the runtime holds outside of its memory has to
    /// bear both.
    ///
    /// # Errors
    /// [`cannot_be_suspended`], or why the state cannot be kept. Nothing has changed then, and calls may follow.
    ///
    /// # Cancellation
    /// May be dropped at any time, which is as a failure.
    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        Err(cannot_be_suspended("it does not say what it keeps"))
    }

    /// Lets go of everything. Called exactly once, unless another runtime was restored in its place, in the
    /// reverse order of creation, when no call is running any more:
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

/// The report of a namespace that cannot be suspended, or not now.
#[must_use]
pub fn cannot_be_suspended(why: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::UnsupportedOperation, format!("this namespace cannot be suspended: {why}"))
        .with_hint("Let the execution run to its end.")
}

/// The report of bytes that are not what a runtime of the namespace kept.
#[must_use]
pub fn not_a_state(namespace: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, format!("these bytes are not a state of the namespace {namespace}"))
        .with_hint("The suspended execution cannot go on: run its script again.")
}
