//! Test support for providers and hosts: a configurable fake provider that records what happens to it, and the
//! life-cycle suite that every provider must pass.
//!
//! Everything here panics instead of returning errors: it is used in tests only.

mod execution;
mod fake;
mod lifecycle;
mod service;

pub use execution::TestExecution;
pub use fake::{FakeProvider, Journal, Moment};
pub use lifecycle::{Subject, lifecycle_suite};
pub use service::{FakeService, FakeShared};

use crate::{
    ArgumentsPlace, CallContext, ExecutionContext, ExecutionId, Folders, NoRefusalSink, Provider, ProviderRuntime,
    RefusalSink, ReplyRoom, Services, SystemClock,
};
use codemode_spec::{ErrorReport, Value, limits::HOST_REPLIES_BYTES_MAX, session::SessionRequest};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

/// Wall time of an execution of the test kit.
const WALL: Duration = Duration::from_secs(120);

/// The context of an execution with a unique id and with options for its providers and services, by name.
///
/// # Panics
/// When the options are not an object.
#[must_use]
pub fn context(state_dir: &Path, options: serde_json::Value) -> ExecutionContext {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let serde_json::Value::Object(options) = options else { panic!("options of an execution are an object") };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let execution = ExecutionId::new(&format!("test-{}-{number}", std::process::id()));
    let mut services = Services::default();
    services.insert(Arc::new(Folders {
        state: state_dir.to_owned(),
        profiles: state_dir.join("profiles"),
        downloads: state_dir.join("downloads").join(execution.as_str()),
    }));
    services.insert(Arc::new(ReplyRoom(Arc::new(Semaphore::new(HOST_REPLIES_BYTES_MAX)))));
    services.insert::<dyn RefusalSink>(Arc::new(NoRefusalSink));
    ExecutionContext {
        execution,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + WALL,
        clock: Arc::new(SystemClock),
        options: Arc::new(options),
        session: SessionRequest::default(),
        services,
    }
}

/// Calls a method as a host would: the arguments are validated against the manifest first.
///
/// # Errors
/// As the validation or the call.
///
/// # Panics
/// When the provider cannot be registered.
pub async fn call(
    provider: &Arc<dyn Provider>,
    runtime: &Arc<dyn ProviderRuntime>,
    method: &str,
    mut arguments: Vec<Value>,
) -> Result<Value, ErrorReport> {
    let registry = crate::Registry::new(vec![Arc::clone(provider)]).expect("the provider can be registered");
    registry.resolve(&provider.manifest().namespace, method, &mut arguments)?;
    let context = CallContext { call: 0, deadline: Instant::now() + WALL, place: ArgumentsPlace::default() };
    let reply = runtime.call(method, arguments, context).await?;
    Ok(reply.value().expect("a reply is a value"))
}
