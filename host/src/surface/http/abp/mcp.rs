//! The MCP server of the contract's tools, at its own path, separate from codemode's tool.

use super::{
    browser::PREFIX,
    tools::{RENAMED, Row, TAB, TOOLS},
};
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, header::CONTENT_TYPE, request::Parts},
    response::Response,
};
use codemode_spec::limits::ABP_TOOL_BYTES_MAX;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Map, Value as Json, json};

/// The path of this MCP server.
pub(crate) const PATH: &str = "/abp/mcp";
/// The fields of an answer with pictures, in the order of the content blocks.
const PICTURES: [&str; 2] = ["screenshot_before", "screenshot_after"];

/// The handler of one client, or of one request where there is no handshake.
pub(crate) struct Tools {
    /// The contract's routes.
    routes: Router,
}

impl Tools {
    pub(crate) const fn new(routes: Router) -> Self {
        Self { routes }
    }

    /// Calls a route on behalf of the client; returns whether it succeeded, and its JSON answer.
    async fn call_route(
        &self,
        context: &RequestContext<RoleServer>,
        method: &str,
        path: &str,
        body: Map<String, Json>,
    ) -> Result<(bool, Json), ErrorData> {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let mut request = Request::builder().method(&method).uri(path);
        if method == Method::GET && !body.is_empty() {
            let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let query: Vec<String> =
                body.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(&text(value)))).collect();
            request = request.uri(format!("{path}?{}", query.join("&")));
        }
        let content = if method == Method::GET { Body::empty() } else { Body::from(Json::Object(body).to_string()) };
        let request = request.header(CONTENT_TYPE, "application/json").body(content);
        let mut request = request.map_err(|_| ErrorData::invalid_params("an argument has no place in a path", None))?;
        if let Some(parts) = context.extensions.get::<Parts>() {
            // The caller, and the header with the session key.
            *request.extensions_mut() = parts.extensions.clone();
            request.headers_mut().extend(
                parts
                    .headers
                    .iter()
                    .filter(|(name, _)| name.as_str().starts_with("x-codemode"))
                    .map(|(name, value)| (Some(name.clone()), value.clone())),
            );
        }
        let Ok(response): Result<Response, _> = TowerToHyperService::new(self.routes.clone()).call(request).await;
        let succeeded = response.status().is_success();
        let bytes = to_bytes(response.into_body(), ABP_TOOL_BYTES_MAX).await;
        let bytes = bytes.map_err(|_| ErrorData::internal_error("the answer is too large", None))?;
        Ok((succeeded, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// The tab that was activated last.
    async fn active_tab(&self, context: &RequestContext<RoleServer>) -> Result<Result<String, Json>, ErrorData> {
        let (succeeded, tabs) = self.call_route(context, "GET", "/tabs", Map::new()).await?;
        if !succeeded {
            return Ok(Err(tabs));
        }
        let active = tabs.as_array().into_iter().flatten().find(|tab| tab["active"] == true);
        let id = active.and_then(|tab| tab["id"].as_str()).map(str::to_owned);
        Ok(id.ok_or_else(|| json!({"error": "there is no tab", "code": "TAB_NOT_FOUND"})))
    }

    async fn call(
        &self,
        row: &Row,
        mut arguments: Map<String, Json>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let mut path = row.path.to_owned();
        for field in row.fields {
            let place = format!("{{{}}}", field.name);
            if !path.contains(&place) {
                continue;
            }
            let value = match arguments.remove(field.name) {
                Some(Json::String(value)) if !value.is_empty() => value,
                _ if field.name == TAB => match self.active_tab(context).await? {
                    Ok(tab) => tab,
                    Err(failure) => return Ok(answer(false, failure)),
                },
                _ => return Err(ErrorData::invalid_params(format!("{} is required", field.name), None)),
            };
            path = path.replace(&place, &utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string());
        }
        if let Some(value) = arguments.remove(RENAMED.0) {
            arguments.insert(RENAMED.1.to_owned(), value);
        }
        let (succeeded, reply) = self.call_route(context, row.method, &path, arguments).await?;
        Ok(answer(succeeded, reply))
    }
}

/// The tool's answer: the JSON as text, with its pictures moved to image blocks.
fn answer(succeeded: bool, mut reply: Json) -> CallToolResult {
    let mut pictures = Vec::new();
    for name in PICTURES {
        if let Some(picture) = reply.get_mut(name)
            && let Some(Json::String(data)) = picture.get_mut("data").map(Json::take)
        {
            pictures.push(ContentBlock::image(data, "image/webp"));
            picture.as_object_mut().map(|picture| picture.remove("data"));
        }
    }
    let mut content = vec![ContentBlock::text(reply.to_string())];
    content.extend(pictures);
    if succeeded { CallToolResult::success(content) } else { CallToolResult::error(content) }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(
                Implementation::new("codemode-abp", env!("CARGO_PKG_VERSION")).with_title("Agent Browser Protocol"),
            )
            .with_instructions(format!("The tools of Agent Browser Protocol. The same as its routes below {PREFIX}."))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(|row| Tool::new(row.name, row.description, row.schema()));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(row) = TOOLS.iter().find(|row| row.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        // When the client cancels the request or disconnects, its action ends as that of a route's client does.
        let called = context.ct.run_until_cancelled(Box::pin(self.call(row, arguments, &context))).await;
        Ok(called.ok_or_else(|| ErrorData::internal_error("the call was cancelled", None))??.into())
    }
}
