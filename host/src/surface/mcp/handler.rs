//! The MCP request handler, independent of the transport.

use super::{notices, tool, trace_context};
use crate::service::{self, Caller, ExecuteRequest, Service, TOOL};
use axum::http::request::Parts;
use codemode_spec::{Envelope, ErrorCode, ErrorReport};
use opentelemetry::context::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, LoggingLevel, PaginatedRequestParams,
        ProtocolVersion, ServerCapabilities, ServerConfig, SetLevelRequestParams, Tool,
    },
    service::RequestContext,
};
use serde_json::Value as Json;
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long a client may cache the list of tools, which does not change while the program runs.
const TOOLS_TTL_MS: u64 = 3_600_000;

/// The state that all clients of a host share.
#[derive(Clone)]
pub(in crate::surface) struct Shared {
    pub(in crate::surface) service: Service,
    tool: Tool,
    /// The running executions.
    pub(in crate::surface) executions: TaskTracker,
    /// Once cancelled, new calls are refused.
    pub(in crate::surface) closing: CancellationToken,
    /// Once cancelled, running executions are cancelled; their calls are still answered.
    pub(in crate::surface) ending: CancellationToken,
}

impl Shared {
    pub(in crate::surface) fn new(service: Service) -> Self {
        let tool = tool::definition(service.manifests());
        let (executions, closing, ending) = (TaskTracker::new(), CancellationToken::new(), CancellationToken::new());
        Self { service, tool, executions, closing, ending }
    }
}

/// The handler of one client, or of one request where there is no handshake.
pub(in crate::surface) struct Handler {
    shared: Shared,
    /// The least severe [`LoggingLevel`] that a client of a revision with a handshake wants to see.
    level: AtomicU8,
}

impl Handler {
    pub(in crate::surface) const fn new(shared: Shared) -> Self {
        Self { shared, level: AtomicU8::new(LoggingLevel::Info as u8) }
    }

    async fn execute(&self, request: ExecuteRequest, context: &RequestContext<RoleServer>) -> Envelope {
        let (reporter, notices) = notices::channel(context, self.least_level(context));
        let service = &self.shared.service;
        let cancel = context.ct.child_token();
        let execution = async {
            // A call that arrives before the sandbox is ready gets the preparation reported as its progress.
            match service.ready(&|text| reporter.preparing(text), &cancel).await {
                Ok(()) => service.execute_for(&caller(context), request, reporter.clone(), cancel.clone()).await,
                Err(error) => service::refused(error),
            }
        };
        let mut execution = pin!(notices.during(execution).with_context(trace_context::of(&context.meta)));
        tokio::select! {
            envelope = &mut execution => return envelope,
            () = self.shared.ending.cancelled() => cancel.cancel(),
        }
        let mut envelope = execution.await;
        if let Some(error) = envelope.error.as_mut().filter(|error| error.code == ErrorCode::Cancelled) {
            "the host is stopping, and the call was cancelled".clone_into(&mut error.message);
        }
        envelope
    }

    /// The least severe console level that the client wants to see while the script runs.
    fn least_level(&self, context: &RequestContext<RoleServer>) -> Option<u8> {
        if is_stateless(context) {
            return context.meta.log_level().map(|level| level as u8);
        }
        Some(self.level.load(Ordering::Relaxed))
    }
}

/// The caller of a message: over HTTP, the one that its token identifies.
fn caller(context: &RequestContext<RoleServer>) -> Arc<Caller> {
    let parts = context.extensions.get::<Parts>();
    parts.and_then(|parts| parts.extensions.get::<Arc<Caller>>()).cloned().unwrap_or_default()
}

/// Whether the client uses the revision without a handshake, in which every request is self-contained.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl ServerHandler for Handler {
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
        let mut list = ListToolsResult::with_all_items(vec![self.shared.tool.clone()]);
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
        let _execution = self.shared.executions.token();
        if self.shared.closing.is_cancelled() {
            let error = ErrorReport::new(ErrorCode::NotReady, "the host is stopping")
                .with_hint("Call again when it is back, or call another host.");
            return Ok(tool::answer(service::refused(error)).into());
        }
        let arguments = Json::Object(request.arguments.unwrap_or_default());
        let envelope = match ExecuteRequest::from_json(arguments) {
            // Boxed, as the library keeps the futures of all methods in one.
            Ok(request) => Box::pin(self.execute(request, &context)).await,
            Err(error) => service::refused(error),
        };
        Ok(tool::answer(envelope).into())
    }
}
