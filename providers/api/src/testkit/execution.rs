//! One execution as a host runs it, without a sandbox.

use super::call;
use crate::{Ending, ExecutionContext, Provider, ProviderRuntime, ServiceProvider, ServiceRuntime, restore, suspend};
use codemode_spec::{ErrorReport, Value, envelope::Context};
use std::sync::Arc;

/// The services and the single runtime of an execution, created and disposed of in the same order as by a host.
pub struct TestExecution {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// The provider's runtime.
    pub runtime: Arc<dyn ProviderRuntime>,
    /// The context that the runtime received.
    pub context: ExecutionContext,
    services: Vec<Arc<dyn ServiceRuntime>>,
    /// The state of the suspended runtime.
    kept: Option<Vec<u8>>,
}

impl TestExecution {
    /// Creates the services, then the runtime.
    ///
    /// # Errors
    /// When one of them cannot be created, or a service that the provider requires is missing.
    ///
    /// # Cancellation
    /// May be dropped at any time: nothing is opened yet.
    pub async fn begin(
        provider: Arc<dyn Provider>,
        services: &[Arc<dyn ServiceProvider>],
        mut context: ExecutionContext,
    ) -> Result<Self, ErrorReport> {
        let services = services.iter().map(|service| service.create(&mut context)).collect::<Result<_, _>>()?;
        context.services.check(&provider.needs())?;
        let runtime = provider.create(context.clone()).await?;
        Ok(Self { provider, runtime, context, services, kept: None })
    }

    /// Calls a method as a host would: the arguments are validated against the manifest first.
    ///
    /// # Errors
    /// As the validation or the call.
    pub async fn call(&self, method: &str, arguments: Vec<Value>) -> Result<Value, ErrorReport> {
        call(&self.provider, &self.runtime, method, arguments).await
    }

    /// Suspends the execution: the runtime first, then the services.
    ///
    /// # Errors
    /// The error of the first part that cannot be suspended. If that is the runtime, nothing has changed.
    ///
    /// # Cancellation
    /// Must not be dropped: some parts would be suspended and others not.
    pub async fn suspend(&mut self) -> Result<(), ErrorReport> {
        self.kept = Some(suspend(&self.provider.manifest().namespace, &*self.runtime).await?);
        for service in self.services.iter().rev() {
            service.suspend().await?;
        }
        Ok(())
    }

    /// Resumes the suspended execution: the services first, then a runtime that is restored from the suspended one's
    /// state.
    ///
    /// # Errors
    /// The error of the first part that cannot be resumed.
    ///
    /// # Cancellation
    /// Must not be dropped, as [`Self::suspend`].
    ///
    /// # Panics
    /// When the execution is not suspended.
    pub async fn resume(&mut self) -> Result<(), ErrorReport> {
        for service in &self.services {
            service.resume().await?;
        }
        let kept = self.kept.take().expect("the execution is parked");
        self.runtime = restore(&*self.provider, self.context.clone(), &kept).await?;
        Ok(())
    }

    /// Disposes of the runtime, then of the services.
    ///
    /// # Errors
    /// The first failure; the remaining parts are disposed of nevertheless.
    pub async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport> {
        let mut disposed = self.runtime.dispose(ending).await;
        for service in self.services.iter().rev() {
            disposed = disposed.and(service.dispose(ending).await);
        }
        disposed
    }

    /// The context that the answer would report: that of the first service with a session, or else that of the runtime.
    #[must_use]
    pub fn describe(&self) -> Context {
        let described = self.services.iter().map(|service| service.describe());
        described.into_iter().find(|context| context.session_id.is_some()).unwrap_or_else(|| self.runtime.describe())
    }

    /// All warnings.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let of_services = self.services.iter().flat_map(|service| service.warnings());
        self.runtime.warnings().into_iter().chain(of_services).collect()
    }
}
