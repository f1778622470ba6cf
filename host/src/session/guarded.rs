//! A held session as providers have it: whoever goes away leaves nothing half done, and nothing held.

use super::held::Held;
use async_trait::async_trait;
use codemode_provider::{BrowserChannel, BrowserSession, Promotion, SessionFacts};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::sync::Arc;
use tokio::runtime::Handle;

/// A session whose every change is carried out to its end, in a task of its own, and which is released at the latest
/// when this is dropped.
pub(super) struct Guarded {
    held: Arc<Held>,
}

impl Guarded {
    pub(super) fn new(held: Held) -> Self {
        Self { held: Arc::new(held) }
    }

    async fn whole<F>(&self, change: impl FnOnce(Arc<Held>) -> F) -> Result<(), ErrorReport>
    where
        F: Future<Output = Result<(), ErrorReport>> + Send + 'static,
    {
        let panicked = |_| Err(ErrorReport::new(ErrorCode::HostFault, "changing a session panicked"));
        tokio::spawn(change(Arc::clone(&self.held))).await.unwrap_or_else(panicked)
    }
}

#[async_trait]
impl BrowserSession for Guarded {
    fn facts(&self) -> SessionFacts {
        self.held.facts()
    }

    fn lease(&self) -> Json {
        self.held.lease()
    }

    async fn check(&self) -> Result<(), ErrorReport> {
        self.held.check().await
    }

    async fn connect(&self) -> Result<BrowserChannel, ErrorReport> {
        self.held.connect().await
    }

    async fn replace(&self, reason: &str) -> Result<(), ErrorReport> {
        let reason = reason.to_owned();
        self.whole(|held| async move { held.replace(&reason).await }).await
    }

    async fn promote(&self, promotion: Promotion) -> Result<(), ErrorReport> {
        self.whole(|held| async move { held.promote(promotion).await }).await
    }

    async fn close(&self) -> Result<(), ErrorReport> {
        self.whole(|held| async move { held.close().await }).await
    }

    async fn reset(&self) -> Result<(), ErrorReport> {
        self.whole(|held| async move { held.reset().await }).await
    }

    async fn release(&self) -> Result<(), ErrorReport> {
        self.whole(|held| async move { held.release().await }).await
    }

    fn warnings(&self) -> Vec<String> {
        self.held.warnings()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Without a runtime there is nobody to do it, and the lease ends when it is not renewed.
        if let (false, Ok(runtime)) = (self.held.is_released(), Handle::try_current()) {
            let held = Arc::clone(&self.held);
            runtime.spawn(async move {
                if let Err(error) = held.release().await {
                    tracing::debug!(%error, "a session that nobody has any more could not be released");
                }
            });
        }
    }
}
