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

    /// The caller's least recently used session, if it must be closed to make room for another one.
    fn surplus(&self, caller: &str) -> Option<SessionId> {
        let own = || self.sessions.iter().filter(|(_, session)| session.caller == caller);
        if own().count() < MCP_SESSIONS_PER_CALLER_MAX {
            return None;
        }
        own().min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone())
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
        loop {
            let Some(surplus) = self.owned().surplus(&caller) else { break };
            self.owned().sessions.remove(&surplus);
            self.inner.close_session(&surplus).await?;
        }
        let (id, transport) = self.inner.create_session().await?;
        let mut owned = self.owned();
        owned.uses += 1;
        let used = owned.uses;
        owned.sessions.insert(id.clone(), OwnedSession { caller, used });
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
