//! The services and runtimes of one execution: created in order before its script runs, disposed of in reverse after it.

use super::outcome::{cancelled, timed_out};
use codemode_provider::{Ending, ExecutionContext, ProviderRuntime, Registry, ServiceProvider, ServiceRuntime};
use codemode_spec::{ErrorCode, ErrorReport, envelope::Context, limits::DISPOSE_MS_MAX};
use futures::FutureExt as _;
use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, timeout};
use tracing::warn;

/// What must be disposed of at the end of an execution, in the order of its creation.
#[derive(Default)]
pub(super) struct Created {
    services: Vec<Arc<dyn ServiceRuntime>>,
    pub(super) runtimes: Vec<Arc<dyn ProviderRuntime>>,
}

impl Created {
    /// Creates the services, then the runtimes. What was created before a failure still needs disposal.
    ///
    /// # Errors
    /// `PROVIDER_CREATE_FAILED` for the first failure, or `CANCELLED` or `TIME_EXCEEDED` if the execution ends
    /// meanwhile.
    pub(super) async fn create_all(
        &mut self,
        services: &[Arc<dyn ServiceProvider>],
        registry: &Registry,
        context: &mut ExecutionContext,
    ) -> Result<(), ErrorReport> {
        for service in services {
            let what = "what the namespaces share";
            match panic::catch_unwind(AssertUnwindSafe(|| service.create(context))) {
                Ok(Ok(runtime)) => self.services.push(runtime),
                Ok(Err(error)) => return Err(create_failed(what, &error)),
                Err(_) => return Err(ErrorReport::new(ErrorCode::HostFault, format!("creating {what} panicked"))),
            }
        }
        for provider in registry.providers() {
            let name = &provider.manifest().namespace;
            let check = context.services.check(&provider.needs());
            check.map_err(|error| create_failed(&format!("the namespace {name}"), &error))?;
            let create = AssertUnwindSafe(provider.create(context.clone())).catch_unwind();
            let made = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep_until(context.deadline) => return Err(timed_out()),
                made = create => made,
            };
            match made {
                Ok(Ok(runtime)) => self.runtimes.push(runtime),
                Ok(Err(error)) => return Err(create_failed(&format!("the namespace {name}"), &error)),
                Err(_) => return Err(ErrorReport::new(ErrorCode::HostFault, format!("creating {name} panicked"))),
            }
        }
        Ok(())
    }

    /// Disposes in reverse order of creation, namespaces before the services that they share, each once. Returns the
    /// failures.
    pub(super) async fn dispose_all(&self, ending: Ending) -> Vec<ErrorReport> {
        let deadline = Instant::now() + Duration::from_millis(DISPOSE_MS_MAX);
        let mut errors = Vec::new();
        for runtime in self.runtimes.iter().rev() {
            errors.extend(disposed("a provider", deadline, runtime.dispose(ending)).await.err());
        }
        for service in self.services.iter().rev() {
            errors.extend(disposed("a shared service", deadline, service.dispose(ending)).await.err());
        }
        errors
    }

    /// Collects the context and the warnings of all services and runtimes, after disposal. A value of an earlier one is
    /// not replaced by that of a later one.
    pub(super) fn describe(&self, context: &mut Context, warnings: &mut Vec<String>) {
        for service in &self.services {
            merge(context, service.describe());
            warnings.extend(service.warnings());
        }
        for runtime in &self.runtimes {
            merge(context, runtime.describe());
            warnings.extend(runtime.warnings());
        }
    }
}

fn create_failed(what: &str, error: &ErrorReport) -> ErrorReport {
    let message = format!("{what} could not be set up: {}", error.message);
    ErrorReport::new(ErrorCode::ProviderCreateFailed, message)
        .with_hint(error.hint.clone())
        .with_detail("cause", error.code.as_str())
}

async fn disposed(
    what: &str,
    deadline: Instant,
    dispose: impl Future<Output = Result<(), ErrorReport>>,
) -> Result<(), ErrorReport> {
    let left = deadline.saturating_duration_since(Instant::now());
    let failure = match timeout(left, AssertUnwindSafe(dispose).catch_unwind()).await {
        Ok(Ok(Ok(()))) => return Ok(()),
        Ok(Ok(Err(error))) => error.message,
        Ok(Err(_)) => "it panicked".to_owned(),
        Err(_) => format!("it took longer than {DISPOSE_MS_MAX} ms"),
    };
    warn!(failure, "{what} could not be disposed of");
    let message = format!("{what} could not clean up: {failure}");
    Err(ErrorReport::new(ErrorCode::ProviderDisposeFailed, message))
}

fn merge(context: &mut Context, more: Context) {
    let Context { execution_id: _, session_id, lease, target_id, url, title } = more;
    context.session_id = context.session_id.take().or(session_id);
    context.lease = context.lease.take().or(lease);
    context.target_id = context.target_id.take().or(target_id);
    context.url = context.url.take().or(url);
    context.title = context.title.take().or(title);
}
