//! One execution as a host lives it, without a sandbox.

use super::call;
use crate::{Ending, ExecutionContext, Provider, ProviderRuntime, ServiceProvider, ServiceRuntime, restore, suspend};
use codemode_spec::{ErrorReport, Value, envelope::Context};
use std::sync::Arc;

/// The services and the one runtime of an execution, in the order in which a host makes and disposes of them.
pub struct TestExecution {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// Its runtime.
    pub runtime: Arc<dyn ProviderRuntime>,
    /// What the runtime was given.
    pub context: ExecutionContext,
    services: Vec<Arc<dyn ServiceRuntime>>,
    /// What the runtime kept when it was suspended.
    kept: Option<Vec<u8>>,
}

impl TestExecution {
    /// Makes the services, then the runtime.
    ///
    /// # Errors
    /// When one of them cannot be made, or a service is missing that the provider needs.
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

    /// Calls a method as a host would: the arguments are checked against the manifest first.
    ///
    /// # Errors
    /// As the check or the call.
    pub async fn call(&self, method: &str, arguments: Vec<Value>) -> Result<Value, ErrorReport> {
        call(&self.provider, &self.runtime, method, arguments).await
    }

    /// The execution parks: the runtime is suspended, then the services.
    ///
    /// # Errors
    /// As the first part that cannot park. When that is the runtime, nothing has changed.
    ///
    /// # Cancellation
    /// Must not be dropped: some parts would be parked and others not.
    pub async fn suspend(&mut self) -> Result<(), ErrorReport> {
        self.kept = Some(suspend(&self.provider.manifest().namespace, &*self.runtime).await?);
        for service in self.services.iter().rev() {
            service.suspend().await?;
        }
        Ok(())
    }

    /// The parked execution goes on: the services first, then a runtime that is restored from what the suspended one kept.
    ///
    /// # Errors
    /// As the first part that cannot go on.
    ///
    /// # Cancellation
    /// Must not be dropped, as [`Self::suspend`].
    ///
    /// # Panics
    /// When the execution is not parked.
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
    /// With the first failure; the rest is disposed of all the same.
    pub async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport> {
        let mut disposed = self.runtime.dispose(ending).await;
        for service in self.services.iter().rev() {
            disposed = disposed.and(service.dispose(ending).await);
        }
        disposed
    }

    /// What the answer would say that the execution was about: the first service that knows a session.
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
