//! The MCP server, which offers one tool. This module serves it over standard input and output; `surface/http` serves
//! it over HTTP.
//!
//! Both current revisions are supported: 2025-11-25 with its handshake, and 2026-07-28, which has none. No state
//! depends on a connection: calls are independent, and when the client disconnects, its executions are cancelled.
#![expect(deprecated, reason = "clients of 2025-11-25 use logging/setLevel; later revisions dropped it")]

mod handler;
mod notices;
mod stdio;
mod tool;
mod trace_context;

pub(super) use handler::{Handler, Shared};

use crate::service::Service;
use codemode_spec::{ErrorCode, ErrorReport, limits::DISPOSE_MS_MAX};
use rmcp::{ServiceExt as _, service::ServerInitializeError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a cancelled execution may take until the disposal of its providers begins.
pub(super) const BEFORE_CLEAN_UP: Duration = Duration::from_secs(5);

/// Serves a service until the client disconnects or the token is cancelled; then all running executions are cancelled
/// and cleaned up.
///
/// # Errors
/// When the client does not speak MCP.
pub async fn serve(service: Service, stop: CancellationToken) -> Result<(), ErrorReport> {
    let shared = Shared::new(service.clone());
    let executions = shared.executions.clone();
    let server = Handler::new(shared);
    // In the background, so that listing the tool does not wait for the sandbox.
    let stopped = stop.clone();
    let startup = tokio::spawn(async move { service.ready(&|_| {}, &stopped).await });
    let served = match server.serve_with_ct(stdio::lines(&stop), stop.clone()).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| lost(&error)),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(no_client(&error)),
    };
    stop.cancel();
    startup.abort();
    executions.close();
    let clean_up = Duration::from_millis(DISPOSE_MS_MAX) + BEFORE_CLEAN_UP;
    if tokio::time::timeout(clean_up, executions.wait()).await.is_err() {
        tracing::warn!("executions did not end in time");
    }
    served
}

fn no_client(error: &ServerInitializeError) -> ErrorReport {
    let why = match error {
        // The message is not repeated: it may contain a script.
        ServerInitializeError::ExpectedInitializeRequest(_) => "its first message is no request".to_owned(),
        other => other.to_string(),
    };
    ErrorReport::new(ErrorCode::InvalidArgument, format!("the client does not speak MCP: {why}"))
        .with_hint("`codemode mcp` is started by an MCP client; see the README for its configuration.")
}

fn lost(error: &tokio::task::JoinError) -> ErrorReport {
    ErrorReport::new(ErrorCode::HostFault, format!("serving ended: {error}"))
}
