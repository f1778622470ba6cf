//! The HTTP server of `codemode serve`: one host for many clients. It serves MCP at `/mcp`, ABP below `/api/v1` and at
//! `/abp/mcp`, health at `/healthz` and `/readyz`, metrics at `/metrics`, administration below `/admin/v1`, and the
//! dashboard at `/`. The contract vNext has its own listener.
//!
//! `listener` bounds connections, `guard` checks every request, `tokens` authenticates callers, `sessions` holds the
//! sessions of MCP clients with a handshake, `admin` is the administration, `dashboard` its web page. All answers come
//! from the service.

mod abp;
mod admin;
mod contract;
mod dashboard;
mod guard;
mod listener;
mod sessions;
mod tokens;
mod uploads;
mod vnext;

use super::{
    config::Secret,
    mcp::{BEFORE_CLEAN_UP, Handler, Shared},
};
use crate::service::Service;
use abp::Abp;
use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderValue, Method, StatusCode, header::CONTENT_TYPE},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};
use codemode_spec::{ErrorCode, ErrorReport, limits::DISPOSE_MS_MAX, limits::HTTP_BODY_BYTES_MAX};
use futures::StreamExt as _;
use guard::{Guard, guarded, json, not_for_this_method, public, refusal};
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use sessions::Sessions;
use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokens::Tokens;
use tokio::{net::TcpListener, time::timeout};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};
use vnext::Vnext;

/// The content type of metrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The content type of event streams.
const EVENT_STREAM: &[u8] = b"text/event-stream";
/// How long clients may take to read their last answers before the host exits.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// The settings of the server.
#[derive(Debug)]
pub(super) struct Options {
    pub listen: SocketAddr,
    /// The token from the environment.
    pub token: Option<Secret>,
    /// The file of named tokens.
    pub token_file: Option<PathBuf>,
    /// Accepted host names, in addition to those of loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may send requests.
    pub allowed_origins: Vec<String>,
    /// The grace period of running executions when the host stops.
    pub grace: Duration,
    /// How long the host waits for a client to send or read; capped by the bounds in the limits.
    pub patience: Duration,
    /// The address of the contract vNext, if it is served.
    pub vnext: Option<SocketAddr>,
    /// Whether clients of vNext may evaluate functions in pages.
    pub evaluates: bool,
    /// The folder whose files clients may upload to pages.
    pub uploads: Option<PathBuf>,
    /// Whether the actions of ABP clients are recorded in a history.
    pub keeps_history: bool,
}

/// A server that is bound to its addresses.
pub(super) struct Server {
    shared: Shared,
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    guard: Arc<Guard>,
    /// The contract vNext, on its own listener.
    vnext: Option<VnextServer>,
    abp: Arc<Abp>,
    /// Tracks the answers that are being sent.
    answers: TaskTracker,
    /// Cancels the sessions and streams of MCP clients.
    mcp: CancellationToken,
    grace: Duration,
    patience: Duration,
}

/// The server of the contract vNext, with its own listener.
struct VnextServer {
    vnext: Arc<Vnext>,
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
}

impl Server {
    /// Binds the addresses; no request is answered before [`Self::run`].
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when there is no token although other machines can reach an address, or the tokens are
    /// invalid; `IO_ERROR` when an address cannot be bound.
    pub(super) async fn bind(service: Service, options: Options) -> Result<Self, ErrorReport> {
        let Options { listen, token, token_file, allowed_hosts, allowed_origins, .. } = options;
        let Options { grace, patience, vnext, evaluates, uploads, keeps_history, .. } = options;
        let addresses: Vec<IpAddr> = [Some(listen), vnext].into_iter().flatten().map(|listen| listen.ip()).collect();
        let tokens = tokens(token.as_ref(), token_file.as_deref(), &addresses)?;
        let mut hosts = allowed_hosts;
        for address in addresses.iter().filter(|address| !address.is_unspecified()) {
            hosts.push(if address.is_ipv6() { format!("[{address}]") } else { address.to_string() });
        }
        let (listener, address) = listening(listen, "--listen").await?;
        let guard = Arc::new(Guard::new(tokens, &hosts, &allowed_origins, patience));
        let (shared, answers, mcp) = (Shared::new(service), TaskTracker::new(), CancellationToken::new());
        let vnext_server = match vnext {
            Some(listen) => {
                let (listener, address) = listening(listen, "--vnext").await?;
                let vnext = Vnext::new(shared.service.clone(), vnext::Options { evaluates, uploads: uploads.clone() });
                let router = vnext::router(&vnext)
                    .layer(middleware::from_fn_with_state(shared.clone(), unless_closing))
                    .layer(middleware::from_fn_with_state(answers.clone(), tracked))
                    .layer(middleware::from_fn_with_state(Arc::clone(&guard), guarded));
                Some(VnextServer { vnext, listener, address, router })
            }
            None => None,
        };
        let abp = Abp::new(shared.service.clone(), uploads, keeps_history);
        let routes = abp::router(&abp).layer(middleware::from_fn_with_state(shared.clone(), unless_closing));
        let (tool, tools) = (shared.clone(), routes.clone());
        let router = Router::new()
            .nest(abp::PREFIX, routes)
            .route_service(abp::MCP_PATH, mcp_service(move || abp::Tools::new(tools.clone()), &guard, &mcp))
            .route_service("/mcp", mcp_service(move || Handler::new(tool.clone()), &guard, &mcp))
            .route("/metrics", get(metrics).with_state(shared.clone()))
            .merge(admin::router(shared.service.clone(), shared.closing.clone()))
            .method_not_allowed_fallback(async || not_for_this_method())
            .layer(middleware::from_fn_with_state(answers.clone(), tracked))
            .layer(middleware::from_fn_with_state(Arc::clone(&guard), guarded))
            .merge(dashboard::router(&guard).layer(middleware::from_fn_with_state(Arc::clone(&guard), public)))
            .route("/healthz", get(healthz))
            .route("/readyz", get(readyz).with_state(shared.clone()))
            .fallback(async || refusal(ErrorReport::new(ErrorCode::UnknownRoute, "there is nothing at this path")))
            .method_not_allowed_fallback(async || not_for_this_method());
        Ok(Self { shared, listener, address, router, guard, vnext: vnext_server, abp, answers, mcp, grace, patience })
    }

    /// The bound address of the contract vNext.
    pub(super) fn vnext_address(&self) -> Option<SocketAddr> {
        self.vnext.as_ref().map(|server| server.address)
    }

    /// The bound address.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle to reload the tokens while the server runs.
    pub(super) fn reload(&self) -> Reload {
        let vnext = self.vnext_address().map(|address| address.ip());
        let addresses = [Some(self.address.ip()), vnext].into_iter().flatten().collect();
        Reload { guard: Arc::clone(&self.guard), addresses }
    }

    /// Serves until `stop` is cancelled. Then new executions are refused; running ones may finish within the grace
    /// period, after which they are cancelled and their calls answered with that error.
    pub(super) async fn run(self, stop: CancellationToken) {
        let Self { shared, listener, address: _, router, guard: _, vnext, abp, answers, mcp, grace, patience } = self;
        let Shared { service, executions, closing, ending, .. } = shared;
        let (startup, stopped) = (service.clone(), stop.clone());
        let startup = tokio::spawn(async move {
            if let Err(error) = startup.ready(&|_| {}, &stopped).await {
                tracing::error!(%error, "the sandbox could not be prepared");
            }
        });
        let closed = CancellationToken::new();
        let (server, vnext) =
            vnext.map(|VnextServer { vnext, listener, router, .. }| ((listener, router), vnext)).unzip();
        let server = server.map(|(listener, router)| {
            let closed = closed.clone();
            AbortOnDropHandle::new(tokio::spawn(
                async move { listener::serve(listener, router, patience, &closed).await },
            ))
        });
        let stopping = async {
            stop.cancelled().await;
            startup.abort();
            closing.cancel();
            executions.close();
            answers.close();
            let ended = async { tokio::join!(executions.wait(), answers.wait()) };
            if timeout(grace, ended).await.is_err() {
                ending.cancel();
                let clean_up = Duration::from_millis(DISPOSE_MS_MAX) + BEFORE_CLEAN_UP;
                if timeout(clean_up, executions.wait()).await.is_err() {
                    tracing::warn!("executions did not end in time");
                }
                let _ = timeout(LAST_ANSWERS, answers.wait()).await;
            }
            // Only the executions end: their browsers keep running under their keepers.
            let ends = async {
                tokio::join!(abp.end(), async {
                    if let Some(vnext) = &vnext {
                        vnext.end().await
                    }
                })
            };
            let _ = timeout(Duration::from_millis(DISPOSE_MS_MAX), ends).await;
            mcp.cancel();
            closed.cancel();
            tokio::time::sleep(LAST_ANSWERS).await;
        };
        tokio::select! {
            () = listener::serve(listener, router, patience, &closed) => {}
            () = stopping => tracing::warn!("some clients did not read their last answer"),
        }
        drop(server);
    }
}

/// Reads the tokens of a host that listens on these addresses.
fn tokens(token: Option<&Secret>, file: Option<&Path>, addresses: &[IpAddr]) -> Result<Tokens, ErrorReport> {
    let tokens = Tokens::read(token, file)?;
    if let Some(address) = addresses.iter().find(|address| tokens.is_empty() && !address.is_loopback()) {
        let message = format!("{address} can be reached by other machines, and there is no token");
        return Err(ErrorReport::new(ErrorCode::InvalidArgument, message)
            .with_hint("Give --token-file FILE or the variable CODEMODE_TOKEN, or listen on 127.0.0.1."));
    }
    Ok(tokens)
}

/// Reloads the tokens of a running server.
pub(super) struct Reload {
    guard: Arc<Guard>,
    addresses: Vec<IpAddr>,
}

impl Reload {
    /// Reads the tokens again and returns the number of callers. The previous tokens stay in force if the new ones are
    /// invalid.
    ///
    /// # Errors
    /// As [`Server::bind`] for tokens; also when no token is left although there were some, so that an accidentally
    /// emptied file does not open the host to everyone.
    pub(super) fn tokens(&self, token: Option<&Secret>, file: Option<&Path>) -> Result<usize, ErrorReport> {
        let tokens = tokens(token, file, &self.addresses)?;
        let callers = tokens.len();
        if callers == 0 && self.guard.has_tokens() {
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, "there is no token any more")
                .with_hint("A host that shall need none is started anew."));
        }
        self.guard.set_tokens(tokens);
        Ok(callers)
    }
}

/// Binds an address.
async fn listening(address: SocketAddr, flag: &str) -> Result<(TcpListener, SocketAddr), ErrorReport> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        ErrorReport::new(ErrorCode::IoError, format!("{address} cannot be listened on: {error}"))
            .with_hint(format!("Give another address with {flag}; port 0 is any free one."))
    })?;
    let address = listener.local_addr().unwrap_or(address);
    Ok((listener, address))
}

/// Middleware: refuses requests once the host is stopping, and cancels those still running when the grace period is
/// over.
async fn unless_closing(State(shared): State<Shared>, request: axum::extract::Request, next: Next) -> Response {
    if shared.closing.is_cancelled() {
        return contract::failed(ErrorReport::new(ErrorCode::NotReady, "the host is stopping"));
    }
    tokio::select! {
        answer = next.run(request) => answer,
        () = shared.ending.cancelled() => {
            contract::failed(ErrorReport::new(ErrorCode::Cancelled, "the host is stopping, and the call was cancelled"))
        }
    }
}

/// The library's MCP service over HTTP: revision 2025-11-25 with sessions, 2026-07-28 without.
fn mcp_service<H: ServerHandler>(
    handler: impl Fn() -> H + Send + Sync + 'static,
    guard: &Guard,
    cancel: &CancellationToken,
) -> StreamableHttpService<H, Sessions> {
    // The library checks the Host header as well, so it needs the same names as the guard.
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(guard.hosts().iter().map(|host| host.trim_matches(['[', ']'])))
        .with_max_request_body_bytes(HTTP_BODY_BYTES_MAX)
        .with_cancellation_token(cancel.clone());
    StreamableHttpService::new(move || Ok(handler()), Arc::new(Sessions::new()), config)
}

/// Middleware: tracks each answer until its body is sent, except the event streams that clients of MCP hold open with a
/// GET request. The event stream of a POST request is its answer.
async fn tracked(State(answers): State<TaskTracker>, request: axum::extract::Request, next: Next) -> Response {
    let (answer, is_get) = (answers.token(), request.method() == Method::GET);
    let (parts, body) = next.run(request).await.into_parts();
    let content = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if is_get && content.is_some_and(|content| content.starts_with(EVENT_STREAM)) {
        return Response::from_parts(parts, body);
    }
    let body = body.into_data_stream().map(move |bytes| {
        let _ = &answer;
        bytes
    });
    Response::from_parts(parts, Body::from_stream(body))
}

/// Metrics in the OpenMetrics format.
async fn metrics(State(shared): State<Shared>) -> Response {
    match shared.service.metrics().await {
        Ok(text) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => refusal(error),
    }
}

/// Liveness: answers as long as the process does.
async fn healthz() -> Response {
    json(StatusCode::OK, &serde_json::json!({"ok": true}))
}

/// Readiness: whether an execution could start now.
async fn readyz(State(shared): State<Shared>) -> Response {
    let mut readiness = shared.service.readiness().await;
    if shared.closing.is_cancelled() {
        readiness.ready = false;
        readiness.reasons.push("The host is stopping.".to_owned());
    }
    json(if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &readiness)
}
