//! The namespace's state in one execution.

use codemode_page::{ExecutionBrowser, gone};
use codemode_provider::{AnswerFiles, ExecutionContext, ExecutionId, LoginStates, Secrets, not_a_state};
use codemode_spec::{ErrorReport, message};
use codemode_verbs::Verbs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name of the global in scripts.
pub(crate) const NAMESPACE: &str = "browser";
/// The runtime of the namespace in one execution.
pub(crate) struct Browser {
    execution: ExecutionId,
    pub(crate) browser: Arc<ExecutionBrowser>,
    pub(crate) verbs: Verbs,
    /// The sink for files that are too large for a script, if the host has one.
    pub(crate) files: Option<Arc<dyn AnswerFiles>>,
}

/// The state that is serialised while the execution is suspended.
#[derive(Serialize, Deserialize)]
struct SuspendedState {
    namespace: String,
    execution: ExecutionId,
    /// Whether the execution had a browser: page ids that its script holds belong to that browser.
    with_browser: bool,
    verbs: Vec<u8>,
}

impl Browser {
    pub(crate) fn new(context: &ExecutionContext) -> Result<Self, ErrorReport> {
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

    pub(crate) async fn restored(context: &ExecutionContext, state: &[u8]) -> Result<Self, ErrorReport> {
        let foreign = || not_a_state(NAMESPACE);
        let kept: SuspendedState = message::decode(state).map_err(|_| foreign())?;
        let made = Self::new(context)?;
        // Decoding may ignore trailing bytes, so re-encode to check that all were read.
        let is_of_this = kept.namespace == NAMESPACE && kept.execution == context.execution;
        if !is_of_this || message::encode(&kept) != state || !made.verbs.restore(&kept.verbs) {
            return Err(foreign());
        }
        if kept.with_browser && !made.browser.is_open().await {
            return Err(gone("the execution goes on where it cannot be reached"));
        }
        Ok(made)
    }

    /// The serialised state, for [`Self::restored`].
    pub(crate) async fn encode(&self) -> Vec<u8> {
        message::encode(&SuspendedState {
            namespace: NAMESPACE.to_owned(),
            execution: self.execution.clone(),
            with_browser: self.browser.is_open().await,
            verbs: self.verbs.encode(),
        })
    }
}
