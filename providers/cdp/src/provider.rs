//! The provider, which all executions share.

use crate::{methods::manifest, state::Cdp};
use async_trait::async_trait;
use codemode_page::ExecutionBrowser;
use codemode_provider::{ExecutionContext, Need, Provider, ProviderRuntime};
use codemode_spec::{ErrorReport, Manifest};
use std::sync::Arc;

/// Provides the namespace `cdp`, on the browser of the execution.
pub struct CdpProvider {
    manifest: Manifest,
}

impl CdpProvider {
    /// A script that opens the browser, or connects to it, and returns its product and version: the minimal check that
    /// the namespace works.
    pub const PROBE: &str = "(await cdp.send(\"Browser.getVersion\")).product";

    /// Creates the provider. The host must have the browser among its services: [`codemode_page::Browsers`].
    #[must_use]
    pub fn new() -> Self {
        Self { manifest: manifest() }
    }
}

impl Default for CdpProvider {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Provider for CdpProvider {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::of::<ExecutionBrowser>()]
    }

    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(Cdp::new(&context)?))
    }

    async fn restore(&self, context: ExecutionContext, state: &[u8]) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(Cdp::restored(&context, state).await?))
    }
}
