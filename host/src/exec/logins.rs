//! The login states that an execution's verbs can use: those of its session key.

use super::audit::{AuditSink, LoginAct};
use crate::logins::LoginStore;
use async_trait::async_trait;
use codemode_provider::{Clock, ExecutionId, LeaseMark, LoginState, LoginStates};
use codemode_spec::{ErrorCode, ErrorReport};
use std::sync::Arc;

/// The login states of the execution's session key; each operation is recorded in the audit log.
pub(super) struct ExecutionLogins {
    pub(super) audit: Arc<dyn AuditSink>,
    pub(super) execution: ExecutionId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: LoginStore,
    /// An execution without a session key has no login states.
    pub(super) key: Option<String>,
}

impl ExecutionLogins {
    fn key(&self) -> Result<String, ErrorReport> {
        self.key.clone().ok_or_else(|| {
            let message = "login states belong to a session key, and this execution has none";
            ErrorReport::new(ErrorCode::UnsupportedOperation, message)
                .with_hint("Call the tool with session {mode: \"reuse\", key: \"…\"}.")
        })
    }

    fn note(&self, act: LoginAct, name: &str, lease: Option<&LeaseMark>) {
        let key = self.key.as_deref().unwrap_or_default();
        self.audit.login(&self.execution, act, key, name, lease);
    }
}

#[async_trait]
impl LoginStates for ExecutionLogins {
    async fn save(&self, name: &str, state: LoginState, lease: Option<&LeaseMark>) -> Result<(), ErrorReport> {
        let (store, key, of) = (self.store.clone(), self.key()?, name.to_owned());
        blocking(move || store.save(&key, &of, &state)).await?;
        self.note(LoginAct::Saved, name, lease);
        Ok(())
    }

    async fn load(&self, name: &str, lease: Option<&LeaseMark>) -> Result<LoginState, ErrorReport> {
        let (store, key, of, now) = (self.store.clone(), self.key()?, name.to_owned(), self.clock.now());
        let state = blocking(move || store.load(&key, &of, now)).await?;
        self.note(LoginAct::Loaded, name, lease);
        Ok(state)
    }

    async fn names(&self) -> Result<Vec<String>, ErrorReport> {
        let (store, key) = (self.store.clone(), self.key()?);
        blocking(move || store.names(&key)).await
    }

    async fn remove(&self, name: &str, lease: Option<&LeaseMark>) -> Result<(), ErrorReport> {
        let (store, key, of) = (self.store.clone(), self.key()?, name.to_owned());
        blocking(move || store.remove(&key, &of)).await?;
        self.note(LoginAct::Removed, name, lease);
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, ErrorReport> + Send + 'static,
) -> Result<T, ErrorReport> {
    tokio::task::spawn_blocking(job).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a task panicked");
        Err(ErrorReport::new(ErrorCode::HostFault, "a part of the host failed"))
    })
}
