//! MCP over standard input and output: one tool.
//!
//! Both revisions in the field are served: 2025-11-25 with its handshake, and 2026-07-28, which has none. Nothing here
//! depends on a connection living on: every call stands for itself, and when the client goes away, what it had started
//! ends.
#![expect(deprecated, reason = "clients of 2025-11-25 use logging/setLevel; later revisions dropped it")]

mod notices;
mod stdio;
mod tool;

use crate::service::{self, ExecuteRequest, Service, TOOL};
use codemode_spec::{Envelope, ErrorCode, ErrorReport, limits::DISPOSE_MS_MAX};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, LoggingLevel, PaginatedRequestParams,
        ProtocolVersion, ServerCapabilities, ServerConfig, SetLevelRequestParams, Tool,
    },
    service::{RequestContext, ServerInitializeError},
};
use serde_json::Value as Json;
use std::{
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long a client may keep the list of tools: it is the same for as long as this program is.
const TOOLS_TTL_MS: u64 = 3_600_000;

/// How long executions may take to get to the disposal of their providers.
const BEFORE_CLEAN_UP: Duration = Duration::from_secs(5);

/// Serves a service until the client goes away or the token is cancelled; then everything that runs is ended and cleaned up.
///
/// # Errors
/// When the client does not speak MCP.
pub async fn serve(service: Service, stop: CancellationToken) -> Result<(), ErrorReport> {
    let executions = TaskTracker::new();
    let server = Server {
        tool: tool::definition(service.manifests()),
        service: service.clone(),
        level: AtomicU8::new(LoggingLevel::Info as u8),
        executions: executions.clone(),
    };
    // Listing the tool need not wait for the sandbox.
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
        // Not repeated: it may hold a script.
        ServerInitializeError::ExpectedInitializeRequest(_) => "its first message is no request".to_owned(),
        other => other.to_string(),
    };
    ErrorReport::new(ErrorCode::InvalidArgument, format!("the client does not speak MCP: {why}"))
        .with_hint("`codemode mcp` is started by an MCP client; see the README for its configuration.")
}

fn lost(error: &tokio::task::JoinError) -> ErrorReport {
    ErrorReport::new(ErrorCode::HostFault, format!("serving ended: {error}"))
}

struct Server {
    tool: Tool,
    service: Service,
    /// The least severe [`LoggingLevel`] that a client of a revision with a handshake wants to see.
    level: AtomicU8,
    executions: TaskTracker,
}

impl Server {
    async fn execute(&self, request: ExecuteRequest, context: &RequestContext<RoleServer>) -> Envelope {
        let (reporter, notices) = notices::channel(context, self.least_level(context));
        let execution = async {
            // What an early call waits for is told as its progress.
            match self.service.ready(&|text| reporter.preparing(text), &context.ct).await {
                Ok(()) => self.service.execute(request, reporter.clone(), context.ct.clone()).await,
                Err(error) => service::refused(error),
            }
        };
        notices.during(execution).await
    }

    /// Which console lines the client wants to see while the script runs.
    fn least_level(&self, context: &RequestContext<RoleServer>) -> Option<u8> {
        if is_stateless(context) {
            return context.meta.log_level().map(|level| level as u8);
        }
        Some(self.level.load(Ordering::Relaxed))
    }
}

/// Whether the client speaks the revision without a handshake, in which every request says all that matters to it.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_logging().enable_tools().build())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(Implementation::new("codemode", env!("CARGO_PKG_VERSION")).with_title("codemode"))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.level.store(request.level as u8, Ordering::Relaxed);
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = ListToolsResult::with_all_items(vec![self.tool.clone()]);
        if is_stateless(&context) {
            list.ttl_ms = Some(TOOLS_TTL_MS);
        }
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != TOOL {
            let message = format!("there is no tool {:?}; the only one is {TOOL}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let _execution = self.executions.token();
        let arguments = Json::Object(request.arguments.unwrap_or_default());
        let envelope = match ExecuteRequest::from_json(arguments) {
            // Boxed, as the library keeps the futures of all methods in one.
            Ok(request) => Box::pin(self.execute(request, &context)).await,
            Err(error) => service::refused(error),
        };
        Ok(tool::answer(envelope).into())
    }
}
