//! A host in this process that holds a lease and sends protocol messages directly, bypassing the command table and
//! everything else that a namespace does before it sends a command.

use super::{leases::Leases, program::PATIENCE};
use codemode_chromium::{CdpError, Command, Connection};
use codemode_host::{
    session::{SessionManager, SessionSettings},
    state_dir::StateDir,
};
use codemode_provider::{BrowserChannel, BrowserOrder, BrowserSession, ExecutionId, Sessions as _};
use codemode_spec::{
    limits::LEASE_WAIT_MS_MAX,
    session::{SessionMode, SessionRequest},
};
use serde_json::{Value as Json, json};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub const KEY: &str = "shop";

/// The sessions of a host on the same state folder.
pub fn sessions(leases: &Leases) -> SessionManager {
    let program = env!("CARGO_BIN_EXE_codemode").into();
    SessionManager::open(StateDir::open(leases.state()).unwrap(), program, SessionSettings::default()).unwrap()
}

/// Waits for the lease on the browser of the key.
pub async fn lease(manager: &SessionManager, execution: &str) -> Arc<dyn BrowserSession> {
    let session = SessionRequest { mode: SessionMode::Reuse, key: Some(KEY.to_owned()), ..SessionRequest::default() };
    let order = BrowserOrder {
        execution: ExecutionId::new(execution),
        session,
        executable: None,
        headless: true,
        deadline: Instant::now() + Duration::from_millis(LEASE_WAIT_MS_MAX),
        cancel: CancellationToken::new(),
    };
    manager.open(order).await.unwrap()
}

pub async fn connect(session: &dyn BrowserSession) -> Connection {
    let BrowserChannel { socket, root } = session.connect().await.unwrap();
    Connection::over(socket, root).unwrap()
}

pub async fn call(
    connection: &Connection,
    session: Option<&str>,
    method: &str,
    params: Json,
) -> Result<Json, CdpError> {
    connection.call(Command { method, params, session, timeout: PATIENCE }).await
}

/// Attaches to the first page; returns its protocol session.
pub async fn page(connection: &Connection) -> String {
    let targets = call(connection, None, "Target.getTargets", json!({})).await.unwrap();
    let page = targets["targetInfos"].as_array().unwrap().iter().find(|target| target["type"] == "page").unwrap();
    let attach = json!({"targetId": page["targetId"], "flatten": true});
    let attached = call(connection, None, "Target.attachToTarget", attach).await.unwrap();
    attached["sessionId"].as_str().unwrap().to_owned()
}
