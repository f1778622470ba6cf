//! The service that creates the browser of each execution.

use crate::{
    browser::ExecutionBrowser,
    config::{BrowserConfig, OPTIONS},
    owned::TargetOwners,
};
use codemode_provider::{ExecutionContext, Folders, ServiceProvider, ServiceRuntime, Sessions};
use codemode_spec::ErrorReport;
use std::sync::Arc;

/// The folder of protocol descriptions, inside the state folder.
const PROTOCOLS: &str = "protocols";

/// Creates one lazily opened [`ExecutionBrowser`] per execution, which its namespaces share.
///
/// Invariant: this is the only holder of [`Sessions`]. A namespace can reach a browser only through the execution's
/// own, so an execution cannot wait for a lease that it holds itself.
pub struct Browsers {
    config: BrowserConfig,
    sessions: Option<Arc<dyn Sessions>>,
    /// The execution that created each target of an external browser.
    owners: Arc<TargetOwners>,
}

impl Browsers {
    /// Browsers as `config` specifies. With `sessions` they are leased; without, they are one-shot browsers that end
    /// with their execution.
    #[must_use]
    pub fn new(config: BrowserConfig, sessions: Option<Arc<dyn Sessions>>) -> Self {
        Self { config, sessions, owners: Arc::default() }
    }
}

impl ServiceProvider for Browsers {
    fn create(&self, context: &mut ExecutionContext) -> Result<Arc<dyn ServiceRuntime>, ErrorReport> {
        let source = self.config.source(context.options.get(OPTIONS))?;
        let folders = context.services.require::<Folders>()?;
        let protocols_dir = self.config.protocols_dir.clone().unwrap_or_else(|| folders.state.join(PROTOCOLS));
        // The browser's copy of the context is taken before the browser is inserted: a reference cycle would never be
        // freed.
        let browser = ExecutionBrowser::new(
            source,
            context.clone(),
            self.sessions.clone(),
            Arc::clone(&self.owners),
            self.config.device_permissions.clone(),
            protocols_dir,
        )?;
        context.services.insert(Arc::clone(&browser));
        Ok(browser)
    }
}
