//! What the namespace is in one execution.

use codemode_page::{ExecutionBrowser, gone};
use codemode_provider::{AnswerFiles, ExecutionContext, ExecutionId, LoginStates, Secrets, not_a_state};
use codemode_spec::{ErrorReport, message};
use codemode_verbs::Verbs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The global of scripts.
pub(crate) const NAMESPACE: &str = "browser";
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

    /// The bytes of which [`Self::restored`] makes it again.
    pub(crate) async fn kept(&self) -> Vec<u8> {
        message::encode(&Kept {
            namespace: NAMESPACE.to_owned(),
            execution: self.execution.clone(),
            with_browser: self.browser.is_open().await,
            verbs: self.verbs.kept(),
        })
    }
}
