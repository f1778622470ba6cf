//! The provider, and the runtime of the namespace in one execution.

use crate::{account::account, execution::Browser, hints::in_terms_of_browser, methods};
use async_trait::async_trait;
use codemode_page::ExecutionBrowser;
use codemode_provider::{Account, CallContext, Ending, ExecutionContext, Need, Provider, ProviderRuntime, ReplySource};
use codemode_spec::{ErrorCode, ErrorReport, Manifest, Value, message::Encoded};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The time limit at disposal for closing scratch tabs, and for restoring native `<select>` popups.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// Provides the namespace `browser`, on the browser of the execution.
pub struct BrowserProvider {
    manifest: Manifest,
}

impl BrowserProvider {
    /// Creates the provider. The host must offer the browser service, `codemode_page::Browsers`.
    #[must_use]
    pub fn new() -> Self {
        Self { manifest: methods::manifest() }
    }
}

impl Default for BrowserProvider {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Provider for BrowserProvider {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::of::<ExecutionBrowser>()]
    }

    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(Browser::new(&context)?))
    }

    async fn restore(&self, context: ExecutionContext, state: &[u8]) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(Browser::restored(&context, state).await?))
    }
}

#[async_trait]
impl ProviderRuntime for Browser {
    async fn call(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport> {
        let argument = arguments.into_iter().next().unwrap_or_else(|| Value::Object(Vec::new()));
        let answer = match methods::find(method) {
            Some(row) => (row.run)(self, argument, context).await,
            None => Err(ErrorReport::new(ErrorCode::UnknownMethod, format!("browser.{method} does not exist"))),
        };
        match answer {
            Err(error) if error.code == ErrorCode::BrowserGone => {
                Err(in_terms_of_browser(self.browser.why_gone(error).await))
            }
            answer => answer.map(Encoded::from).map_err(in_terms_of_browser),
        }
    }

    /// Serialises the namespace's own state. The browser is shared: the host suspends it after all namespaces.
    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        Ok(self.encode().await)
    }

    /// Closes what the namespace opened. The browser is shared: the host disposes of it after all namespaces.
    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        self.verbs.store_refs();
        let deadline = Instant::now() + CLOSE_MAX;
        tokio::join!(self.verbs.close_scratch_tabs(deadline), self.verbs.end_selects(deadline));
        Ok(())
    }

    fn replies(&self) -> Option<Arc<dyn ReplySource>> {
        self.browser.replies()
    }

    fn account(&self, method: &str, arguments: &[Value]) -> Account {
        account(&self.browser, method, arguments)
    }

    fn warnings(&self) -> Vec<String> {
        self.verbs.warnings()
    }
}
