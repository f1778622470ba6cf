//! What an embedder puts into a service.

use super::{
    host::{Inner, Service},
    insight::Insight,
    metrics::Metrics,
    parts::{Ingredients, registry},
    request::ExecuteRequest,
    settings::Settings,
    startup::Startup,
};
use crate::result::{ForModel, Transform};
use codemode_browser::BrowserProvider;
use codemode_cdp::CdpProvider;
use codemode_provider::{Provider, ServiceProvider};
use codemode_secret::SecretProvider;
use codemode_spec::{ErrorReport, limits::DIRECT_EXECUTIONS_MAX};
use std::sync::{Arc, RwLock};
use tokio::sync::Semaphore;

/// A service that is being put together.
pub struct ServiceBuilder {
    settings: Settings,
    providers: Vec<Arc<dyn Provider>>,
    services: Vec<Arc<dyn ServiceProvider>>,
    transform: Arc<dyn Transform>,
    has_browser: bool,
}

impl Service {
    /// A service to be put together: by default with the browser, its namespaces, and answers shaped for a model.
    #[must_use]
    pub fn builder(settings: Settings) -> ServiceBuilder {
        let transform = Arc::new(ForModel);
        ServiceBuilder { settings, providers: Vec::new(), services: Vec::new(), transform, has_browser: true }
    }
}

impl ServiceBuilder {
    /// With a namespace more. Namespaces stand in the order in which they were added, those of the browser first.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.providers.push(Arc::new(provider));
        self
    }

    /// With something that namespaces share, by its type. The browser is made before it.
    #[must_use]
    pub fn service(mut self, service: impl ServiceProvider) -> Self {
        self.services.push(Arc::new(service));
        self
    }

    /// With another step between a script's result and its answer than the one for models.
    #[must_use]
    pub fn transform(mut self, transform: impl Transform + 'static) -> Self {
        self.transform = Arc::new(transform);
        self
    }

    /// Without the browser and its namespaces: scripts reach what was added, and nothing else.
    #[must_use]
    pub fn without_browser(mut self) -> Self {
        self.has_browser = false;
        self
    }

    /// The service. Nothing is opened before its first use: listing the namespaces needs no state folder, administration
    /// needs no sandbox.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the settings are wrong, or two of the namespaces cannot be offered together.
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
        let of_calls = RwLock::new((settings.session.clone(), settings.result_chars));
        let insight = settings.insight.then(Insight::default);
        let ingredients = Ingredients { settings, providers, services, transform, has_browser };
        let (administration, execution) = (Startup::default(), Startup::default());
        let (metrics, running) = (Arc::new(Metrics::new()), Arc::default());
        let direct_places = Arc::new(Semaphore::new(DIRECT_EXECUTIONS_MAX));
        let inner = Inner {
            ingredients,
            manifests,
            administration,
            execution,
            metrics,
            running,
            insight,
            of_calls,
            direct_places,
        };
        Ok(Service { inner: Arc::new(inner) })
    }
}
