//! The calls of one execution to the namespace.

use crate::{account::account, hints::in_terms_of_cdp, methods, state::Cdp};
use async_trait::async_trait;
use codemode_provider::{Account, CallContext, Ending, ProviderRuntime, ReplySource};
use codemode_spec::{ErrorCode, ErrorReport, Value, message::Encoded};
use std::sync::Arc;

#[async_trait]
impl ProviderRuntime for Cdp {
    async fn call(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport> {
        let answer = match methods::find(method) {
            Some(row) => (row.run)(self, arguments, context).await,
            None => Err(ErrorReport::new(ErrorCode::UnknownMethod, format!("cdp.{method} does not exist"))),
        };
        match answer {
            Err(error) if error.code == ErrorCode::BrowserGone => {
                Err(in_terms_of_cdp(self.browser.why_gone(error).await))
            }
            answer => answer.map_err(in_terms_of_cdp),
        }
    }

    /// The browser is not this namespace's own: the host parks it after all namespaces.
    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        Ok(self.save().await)
    }

    /// The browser is not this namespace's own: the host disposes of it after all namespaces.
    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        Ok(())
    }

    fn replies(&self) -> Option<Arc<dyn ReplySource>> {
        self.browser.replies()
    }

    fn account(&self, method: &str, arguments: &[Value]) -> Account {
        methods::find(method).map(|row| account(self, row.access, arguments)).unwrap_or_default()
    }
}
