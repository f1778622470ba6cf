//! The provider, and the namespace for one execution.

use crate::{account, methods, words::in_words_of_browser};
use async_trait::async_trait;
use codemode_page::{ExecutionBrowser, gone};
use codemode_provider::{
    Account, AnswerFiles, CallContext, Ending, ExecutionContext, ExecutionId, LoginStates, Need, Provider,
    ProviderRuntime, Secrets, not_a_state,
};
use codemode_spec::{ErrorCode, ErrorReport, Manifest, Value, message, message::Encoded};
use codemode_verbs::Verbs;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The global of scripts.
pub(crate) const NAMESPACE: &str = "browser";
/// How long the tabs of requests that were given up may take to close.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// Offers the namespace `browser`, on the browser of the execution.
pub struct BrowserProvider {
    manifest: Manifest,
}

impl BrowserProvider {
    /// The namespace. The host must have the browser among its services: `codemode_page::Browsers`.
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

/// One execution's `browser`.
pub(crate) struct Browser {
    execution: ExecutionId,
    pub(crate) browser: Arc<ExecutionBrowser>,
    pub(crate) verbs: Verbs,
    /// Where files go that are too large for a script, if the host has such a place.
    pub(crate) files: Option<Arc<dyn AnswerFiles>>,
}

/// What is kept while the execution is suspended.
#[derive(Serialize, Deserialize)]
struct Kept {
    namespace: String,
    execution: ExecutionId,
    /// The execution had a browser: what its script holds, as pages, is of that one.
    with_browser: bool,
    verbs: Vec<u8>,
}

impl Browser {
    fn new(context: &ExecutionContext) -> Result<Self, ErrorReport> {
        let browser: Arc<ExecutionBrowser> = context.services.require()?;
        let mut verbs = Verbs::new(Arc::clone(&browser));
        if let Some(secrets) = context.services.get::<dyn Secrets>() {
            verbs = verbs.with_secrets(secrets);
        }
        if let Some(logins) = context.services.get::<dyn LoginStates>() {
            verbs = verbs.with_logins(logins);
        }
        Ok(Self { execution: context.execution.clone(), verbs, browser, files: context.services.get() })
    }

    async fn restored(context: &ExecutionContext, state: &[u8]) -> Result<Self, ErrorReport> {
        let foreign = || not_a_state(NAMESPACE);
        let kept: Kept = message::decode(state).map_err(|_| foreign())?;
        let made = Self::new(context)?;
        // What was read may be less than there is: what is written of it says whether it is all.
        let is_of_this = kept.namespace == NAMESPACE && kept.execution == context.execution;
        if !is_of_this || message::encode(&kept) != state || !made.verbs.restore(&kept.verbs) {
            return Err(foreign());
        }
        if kept.with_browser && !made.browser.is_open().await {
            return Err(gone("the execution goes on where it cannot be reached"));
        }
        Ok(made)
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
                Err(in_words_of_browser(self.browser.why_gone(error).await))
            }
            answer => answer.map(Encoded::from).map_err(in_words_of_browser),
        }
    }

    /// The browser is not this namespace's own: the host parks it after all namespaces.
    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        Ok(message::encode(&Kept {
            namespace: NAMESPACE.to_owned(),
            execution: self.execution.clone(),
            with_browser: self.browser.is_open().await,
            verbs: self.verbs.kept(),
        }))
    }

    /// The browser is not this namespace's own: the host disposes of it after all namespaces.
    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        self.verbs.leave();
        self.verbs.close_errands(Instant::now() + CLOSE_MAX).await;
        Ok(())
    }

    fn account(&self, method: &str, arguments: &[Value]) -> Account {
        account::account(self, method, arguments)
    }

    fn warnings(&self) -> Vec<String> {
        self.verbs.warnings()
    }
}
