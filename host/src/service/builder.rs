//! The builder by which an embedder configures a service.

use super::{
    host::{Inner, Service},
    insight::Insight,
    metrics::Metrics,
    request::ExecuteRequest,
    settings::Settings,
    startup::Startup,
    subsystems::{ServiceConfig, registry},
};
use crate::result::{ForModel, Transform};
use codemode_browser::BrowserProvider;
use codemode_cdp::CdpProvider;
use codemode_provider::{Provider, ServiceProvider};
use codemode_secret::SecretProvider;
use codemode_spec::{ErrorReport, limits::DIRECT_EXECUTIONS_MAX};
use std::sync::{Arc, RwLock};
use tokio::sync::Semaphore;

/// Configures a [`Service`].
pub struct ServiceBuilder {
    settings: Settings,
    providers: Vec<Arc<dyn Provider>>,
    services: Vec<Arc<dyn ServiceProvider>>,
    transform: Arc<dyn Transform>,
    has_browser: bool,
}

impl Service {
    /// A builder for a service. By default the service has the browser and its namespaces, and shapes answers for a
    /// model.
    #[must_use]
    pub fn builder(settings: Settings) -> ServiceBuilder {
        let transform = Arc::new(ForModel);
        ServiceBuilder { settings, providers: Vec::new(), services: Vec::new(), transform, has_browser: true }
    }
}

impl ServiceBuilder {
    /// Adds a namespace. Namespaces are ordered as they were added, after those of the browser.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.providers.push(Arc::new(provider));
        self
    }

    /// Adds a service that namespaces share, identified by its type. It is created after the browser.
    #[must_use]
    pub fn service(mut self, service: impl ServiceProvider) -> Self {
        self.services.push(Arc::new(service));
        self
    }

    /// Replaces the transform from a script's result to its answer; the default is for models.
    #[must_use]
    pub fn transform(mut self, transform: impl Transform + 'static) -> Self {
        self.transform = Arc::new(transform);
        self
    }

    /// Leaves out the browser and its namespaces: scripts can reach only the namespaces that were added.
    #[must_use]
    pub fn without_browser(mut self) -> Self {
        self.has_browser = false;
        self
    }

    /// Builds the service. Nothing is opened before its first use: listing the namespaces needs no state folder, and
    /// administration needs no sandbox.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when a setting is invalid, or two of the namespaces cannot be offered together.
    pub fn build(self) -> Result<Service, ErrorReport> {
        let Self { settings, mut providers, services, transform, has_browser } = self;
        let (session, result_chars) = (Some(settings.session.clone()), Some(settings.result_chars));
        ExecuteRequest { session, result_chars, ..ExecuteRequest::new("") }.check()?;
        if has_browser {
            let of_browser: [Arc<dyn Provider>; 3] =
                [Arc::new(BrowserProvider::new()), Arc::new(CdpProvider::new()), Arc::new(SecretProvider::new())];
            providers.splice(0..0, of_browser);
        }
        let registry = registry(&providers)?;
        let manifests = registry.providers().map(|provider| provider.manifest().clone()).collect();
        let call_defaults = RwLock::new((settings.session.clone(), settings.result_chars));
        let insight = settings.insight.then(Insight::default);
        let config = ServiceConfig { settings, providers, services, transform, has_browser };
        let (administration, execution) = (Startup::default(), Startup::default());
        let (metrics, running) = (Arc::new(Metrics::new()), Arc::default());
        let direct_permits = Arc::new(Semaphore::new(DIRECT_EXECUTIONS_MAX));
        let inner = Inner {
            config,
            manifests,
            administration,
            execution,
            metrics,
            running,
            insight,
            call_defaults,
            direct_permits,
        };
        Ok(Service { inner: Arc::new(inner) })
    }
}
