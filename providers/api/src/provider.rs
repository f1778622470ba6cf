//! The two traits of a provider: [`Provider`], which creates runtimes, and [`ProviderRuntime`], which serves the calls
//! of one execution.

use crate::{
    audit::Account,
    context::{CallContext, Ending, ExecutionContext},
    replies::ReplySource,
    services::Need,
};
use async_trait::async_trait;
use codemode_spec::{ErrorCode, ErrorReport, Manifest, Value, envelope::Context, message::Encoded};
use std::sync::Arc;

/// Offers a namespace to scripts.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The namespace, its methods and their parameters. The host validates a call's arguments against it before the
    /// call.
    fn manifest(&self) -> &Manifest;

    /// The services that the runtimes require. If the host lacks one, the execution fails before any runtime is
    /// created.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    /// Creates the runtime of one execution: called once per execution, in registration order, before the script runs.
    /// Must be cheap: resources are opened on first use.
    ///
    /// # Errors
    /// When the runtime cannot be created. The runtimes created before it are disposed of, and the script does not run.
    ///
    /// # Cancellation
    /// The future may be dropped; it must leave nothing behind.
    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport>;

    /// Creates a runtime that continues where a suspended one stopped, possibly in another process. Called instead of
    /// [`Self::create`], once the services of the context exist, with the bytes that [`ProviderRuntime::suspend`]
    /// returned. Hosts call it through [`crate::restore`].
    ///
    /// The bytes were stored outside the host and are untrusted input: they may be truncated, modified, or from another
    /// namespace or version, and must be validated. The default accepts only the empty state of a runtime without
    /// state.
    ///
    /// # Errors
    /// [`not_a_state`] when the bytes are not a state of this namespace, or an error that names a missing resource on
    /// which the state depends. The runtimes restored before it are disposed of, and the execution ends.
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

/// A provider's part in one execution.
#[async_trait]
pub trait ProviderRuntime: Send + Sync {
    /// Executes one call. Any number of calls run concurrently. The method exists, and the arguments match one of its
    /// signatures. The memory of the arguments counts against the host's bound until `context.place` is dropped.
    ///
    /// The reply is encoded as the bytes that go into the sandbox: `Ok(value.into())` encodes a value or JSON; a large
    /// reply is better written as these bytes directly.
    ///
    /// # Errors
    /// An error rejects the script's promise; the script may catch it.
    ///
    /// # Cancellation
    /// The future is dropped if the execution ends first. Nothing that it started may continue.
    async fn call(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport>;

    /// The state of this runtime, as bytes in a format of its own, from which [`Provider::restore`] creates a runtime
    /// that answers as this one would have. At most
    /// [`SUSPENDED_BYTES_MAX`](codemode_spec::limits::SUSPENDED_BYTES_MAX). Called between turns, when no call is
    /// running, through [`crate::suspend`]. A runtime without state returns no bytes; the default refuses, since only
    /// the provider knows whether state would be lost.
    ///
    /// After a success no call follows. The runtime is then either dropped, once another one has been restored from the
    /// bytes, or disposed of, if the execution ends while it is suspended. Resources that the runtime holds outside its
    /// memory must tolerate both.
    ///
    /// # Errors
    /// [`cannot_be_suspended`], or the reason why the state cannot be serialized. The runtime is then unchanged, and
    /// calls may follow.
    ///
    /// # Cancellation
    /// May be dropped at any time, with the effect of a failure.
    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        Err(cannot_be_suspended("it does not say what it keeps"))
    }

    /// Releases all resources. Called exactly once, unless another runtime was restored in its place, in reverse order
    /// of creation, when no call is running any more: on success, failure, timeout, trap, cancellation, client
    /// disconnect, or when a later provider could not be created.
    ///
    /// # Errors
    /// An error fails the execution if its script had succeeded; otherwise it becomes a warning.
    async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport>;

    /// The source of the replies to this runtime's calls, if a thread that waits for a reply may read them itself. Must
    /// not wait.
    fn replies(&self) -> Option<Arc<dyn ReplySource>> {
        None
    }

    /// The audit record of a call whose method's effect is not [`codemode_spec::Effect::Read`]. Called before the call;
    /// must not wait.
    fn account(&self, _method: &str, _arguments: &[Value]) -> Account {
        Account::default()
    }

    /// The part of the answer's context that this provider knows. Called after `dispose`; must not wait.
    fn describe(&self) -> Context {
        Context::default()
    }

    /// Warnings for the reader of the answer. Called after `dispose`.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The error of a namespace that cannot be suspended, at all or at the moment.
#[must_use]
pub fn cannot_be_suspended(why: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::UnsupportedOperation, format!("this namespace cannot be suspended: {why}"))
        .with_hint("Let the execution run to its end.")
}

/// The error for bytes that are not a suspended state of the namespace.
#[must_use]
pub fn not_a_state(namespace: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, format!("these bytes are not a state of the namespace {namespace}"))
        .with_hint("The suspended execution cannot go on: run its script again.")
}
