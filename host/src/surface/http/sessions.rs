//! The sessions of MCP clients with a handshake. A session can be used only by the caller that created it, and each
//! caller has a bounded number of them.

use crate::service::Caller;
use codemode_spec::limits::{MCP_SESSION_IDLE_MS_MAX, MCP_SESSIONS_PER_CALLER_MAX};
use futures::Stream;
use mcp_session::{
    ServerSseMessage, SessionId, SessionManager,
    local::{LocalSessionManager, LocalSessionManagerError, SessionConfig},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_server::session as mcp_session,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

tokio::task_local! {
    /// The caller of the request that is being answered.
    pub(super) static CALLER: Arc<Caller>;
}

/// The library's session manager, with an owner for each session.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    owned: Mutex<Owned>,
}

#[derive(Default)]
struct Owned {
    /// A logical clock, incremented with each use of a session.
    uses: u64,
    sessions: HashMap<SessionId, OwnedSession>,
}

struct OwnedSession {
    caller: String,
    used: u64,
}

impl Owned {
    /// Records a use of a session; `false` if the caller does not own it.
    fn touch(&mut self, id: &SessionId, caller: &str) -> bool {
        self.uses += 1;
        match self.sessions.get_mut(id).filter(|session| session.caller == caller) {
            Some(session) => {
                session.used = self.uses;
                true
            }
            None => false,
        }
    }

    /// Adds a session. Removes and returns the caller's least recently used one if there are too many.
    fn add(&mut self, id: SessionId, caller: String) -> Option<SessionId> {
        let own = || self.sessions.iter().filter(|(_, session)| session.caller == caller);
        let surplus = own().min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone());
        let surplus = surplus.filter(|_| own().count() >= MCP_SESSIONS_PER_CALLER_MAX);
        if let Some(surplus) = &surplus {
            self.sessions.remove(surplus);
        }
        self.uses += 1;
        self.sessions.insert(id, OwnedSession { caller, used: self.uses });
        surplus
    }
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(Duration::from_millis(MCP_SESSION_IDLE_MS_MAX));
        let mut inner = LocalSessionManager::default();
        inner.session_config = config;
        Self { inner, owned: Mutex::default() }
    }

    fn owned(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the current caller; `None` when the library closes a session on its own.
fn caller() -> Option<String> {
    CALLER.try_with(|caller| caller.name.clone()).ok()
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let caller = caller().unwrap_or_default();
        let (id, transport) = self.inner.create_session().await?;
        // Counted and added in one step: of concurrent creations each sees the others.
        let surplus = self.owned().add(id.clone(), caller);
        if let Some(surplus) = surplus {
            self.inner.close_session(&surplus).await?;
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    /// Whether the session exists and belongs to the caller; the session of another caller is reported as missing.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let is_own = self.owned().touch(id, &caller().unwrap_or_default());
        Ok(is_own && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        if caller().is_some_and(|caller| !self.owned().touch(id, &caller)) {
            return Ok(());
        }
        self.owned().sessions.remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, future::join_all};

    #[tokio::test]
    async fn sessions_created_at_the_same_time_stay_within_the_bound() {
        let sessions = Sessions::new();
        let mut creations = join_all((0..MCP_SESSIONS_PER_CALLER_MAX + 8).map(|_| sessions.create_session()));
        {
            // All of them wait for the library.
            let _busy = sessions.inner.sessions.write().await;
            assert!((&mut creations).now_or_never().is_none());
        }
        let created = creations.await;
        assert!(created.iter().all(Result::is_ok));
        let ids = |owned: &Owned| owned.sessions.keys().cloned().collect::<std::collections::HashSet<_>>();
        let kept = ids(&sessions.owned());
        assert_eq!(kept.len(), MCP_SESSIONS_PER_CALLER_MAX);
        assert_eq!(kept, sessions.inner.sessions.read().await.keys().cloned().collect());
    }
}
