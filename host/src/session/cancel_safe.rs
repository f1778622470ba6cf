//! The cancel-safe leased session that providers get: dropping a call leaves no change half done, and no lease held.

use super::leased_session::LeasedSession;
use async_trait::async_trait;
use codemode_provider::{BrowserChannel, BrowserSession, LeaseMark, Promotion, SessionFacts};
use codemode_spec::{ErrorCode, ErrorReport, session::LeaseFacts};
use std::sync::Arc;
use tokio::runtime::Handle;

/// A session whose changes run to completion in dedicated tasks. It is released when this value is dropped, unless it
/// was released before.
pub(super) struct CancelSafe {
    session: Arc<LeasedSession>,
}

impl CancelSafe {
    pub(super) fn new(session: LeasedSession) -> Self {
        Self { session: Arc::new(session) }
    }

    async fn run_to_completion<F>(&self, change: impl FnOnce(Arc<LeasedSession>) -> F) -> Result<(), ErrorReport>
    where
        F: Future<Output = Result<(), ErrorReport>> + Send + 'static,
    {
        let panicked = |_| Err(ErrorReport::new(ErrorCode::HostFault, "changing a session panicked"));
        tokio::spawn(change(Arc::clone(&self.session))).await.unwrap_or_else(panicked)
    }
}

#[async_trait]
impl BrowserSession for CancelSafe {
    fn facts(&self) -> SessionFacts {
        self.session.facts()
    }

    fn lease(&self) -> LeaseFacts {
        self.session.lease()
    }

    fn mark(&self) -> LeaseMark {
        self.session.mark()
    }

    fn lost(&self) -> Option<ErrorReport> {
        self.session.lost()
    }

    async fn check(&self) -> Result<(), ErrorReport> {
        self.session.check().await
    }

    async fn connect(&self) -> Result<BrowserChannel, ErrorReport> {
        self.session.connect().await
    }

    async fn replace(&self, reason: &str) -> Result<(), ErrorReport> {
        let reason = reason.to_owned();
        self.run_to_completion(|session| async move { session.replace(&reason).await }).await
    }

    async fn promote(&self, promotion: Promotion) -> Result<(), ErrorReport> {
        self.run_to_completion(|session| async move { session.promote(promotion).await }).await
    }

    async fn close(&self) -> Result<(), ErrorReport> {
        self.run_to_completion(|session| async move { session.close().await }).await
    }

    async fn reset(&self) -> Result<(), ErrorReport> {
        self.run_to_completion(|session| async move { session.reset().await }).await
    }

    async fn release(&self) -> Result<(), ErrorReport> {
        self.run_to_completion(|session| async move { session.release().await }).await
    }

    fn warnings(&self) -> Vec<String> {
        self.session.warnings()
    }
}

impl Drop for CancelSafe {
    fn drop(&mut self) {
        // Without a runtime, no task can release the session: its lease then expires, because it is not renewed.
        if let (false, Ok(runtime)) = (self.session.is_released(), Handle::try_current()) {
            let session = Arc::clone(&self.session);
            runtime.spawn(async move {
                if let Err(error) = session.release().await {
                    tracing::debug!(%error, "a session that was dropped could not be released");
                }
            });
        }
    }
}
