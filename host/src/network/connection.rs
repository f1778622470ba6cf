//! One connection of a browser to its proxy.
//!
//! A browser opens separate proxy connections for each destination, and reuses them. So a connection here keeps the
//! link to its last destination open; a request that reuses the link goes to the address that was checked.

use super::{
    connect::{self, Failure, Resolve},
    gate::{Gate, Refusal},
    net_error::NetError,
    page,
    pattern::host as parse_host,
    rules::Rule,
    tunnel::{Activity, Counted, Duplex, copy_both_ways},
    upstream::{Proxy, Scheme, Upstream},
};
use codemode_spec::limits::{NETWORK_HEADER_BYTES_MAX, NETWORK_HEADERS_MAX};
use http_body_util::{Either, Empty, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri, Version,
    body::{Bytes, Incoming},
    client::conn::http1::{self as client, SendRequest},
    header::{
        CONNECTION, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
        TRANSFER_ENCODING, UPGRADE, VIA,
    },
    server::conn::http1 as server,
    service::service_fn,
    upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;
use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;
use url::Host;

/// Headers that apply to a single connection (RFC 9110, 7.6.1), besides those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The `Via` header (RFC 9110, 7.6.3) of requests to programs on this machine. It marks them as requests of a codemode
/// browser, and no page can remove it.
pub const BROWSER_VIA: &str = "1.1 codemode-browser";

type Body = Either<Incoming, Full<Bytes>>;

/// No response is sent: the browser's connection is closed.
#[derive(Debug, Error)]
enum NoResponse {
    /// The link was closed by its destination; the browser then retries.
    #[error("the destination closed a connection that was used again")]
    Lost,
    /// The page gets the browser's own connection error, instead of a document from the proxy.
    #[error("the destination cannot be reached")]
    Unreachable,
}

struct Connection {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The destination of the link or tunnel.
    destination: Option<Destination>,
    /// The link to the destination, while no request uses it.
    link: Option<Link>,
    /// The tunnel that replaces HTTP once the response is written.
    tunnel: Option<(OnUpgrade, Box<dyn Duplex>)>,
}

/// The destination of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Destination {
    host: Host<String>,
    port: u16,
    /// `None` when an upstream proxy resolves the name.
    address: Option<IpAddr>,
}

/// A connection to a destination, or to an upstream proxy.
struct Link {
    sender: SendRequest<Incoming>,
    via: Option<Arc<Proxy>>,
    _driver: AbortOnDropHandle<()>,
}

/// State that all connections of a proxy share.
pub(super) struct Shared {
    pub(super) gate: Arc<Gate>,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) upstream: Upstream,
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shared").field("gate", &self.gate).field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// Serves a connection until either side closes it, it was idle for too long, or new rules refuse its destination.
pub(super) async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    let activity = Activity::default();
    let connection = Arc::new(Connection { shared, state: Mutex::default() });
    let answering = Arc::clone(&connection);
    let service = service_fn(move |request| {
        let answering = Arc::clone(&answering);
        async move { answering.answer(request).await }
    });
    let http = server::Builder::new()
        .preserve_header_case(true)
        .half_close(true)
        .auto_date_header(false)
        .max_headers(NETWORK_HEADERS_MAX)
        .max_buf_size(NETWORK_HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(Counted::new(stream, activity.clone())), service)
        .with_upgrades();
    let serving = async {
        if http.await.is_err() {
            return;
        }
        let tunnel = connection.state().tunnel.take();
        if let Some((upgrade, mut server)) = tunnel
            && let Ok(client) = upgrade.await
        {
            copy_both_ways(&mut TokioIo::new(client), &mut server).await;
        }
    };
    tokio::select! {
        () = connection.refused() => {}
        () = activity.idle() => {}
        () = serving => {}
    }
}

impl Connection {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes when new rules come into force that refuse this connection's destination.
    async fn refused(&self) {
        let mut changes = self.shared.gate.changes();
        while changes.changed().await.is_ok() {
            let destination = self.state().destination.clone();
            if destination.is_some_and(|destination| self.refuse(&destination).is_err()) {
                return;
            }
        }
    }

    /// Checks a destination against the rules in force, and records a refusal.
    fn refuse(&self, destination: &Destination) -> Result<(), Failure> {
        let Destination { host, port, address } = destination;
        match self.shared.gate.policy().judge(host, *port, *address).refused() {
            None => Ok(()),
            Some(rule) => {
                self.shared.gate.record_refusal(refusal(host, *port, &rule));
                Err(Failure::Refused(rule))
            }
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, NoResponse> {
        let Some((host, port)) = destination(&request) else { return Ok(page::malformed().map(Either::Right)) };
        let (named, is_tunnel) = (host.to_string(), request.method() == Method::CONNECT);
        let answered = if is_tunnel {
            self.tunnel(request, host, port).await.map(|()| Ok(Response::new(Either::Right(Full::default()))))
        } else {
            self.forward(request, host, port).await
        };
        match answered {
            Ok(answer) => answer,
            Err(Failure::Refused(rule)) => Ok(page::refused(&named, port, &rule).map(Either::Right)),
            Err(Failure::Unreachable(error)) => {
                self.shared.gate.notify_unreachable(&named, port, error).await;
                if is_tunnel { Ok(page::no_tunnel().map(Either::Right)) } else { Err(NoResponse::Unreachable) }
            }
        }
    }

    /// Connects to a destination, or to the upstream proxy for it.
    async fn connect(
        &self,
        scheme: Scheme,
        host: Host<String>,
        port: u16,
    ) -> Result<(TcpStream, Option<Arc<Proxy>>), Failure> {
        let Shared { gate, resolver, upstream } = &*self.shared;
        let via = upstream.route(scheme, &host, port);
        let connected = match &via {
            None => connect::connect(gate, &**resolver, &host, port).await,
            // The upstream proxy resolves the name, so check only the name here, without an address.
            Some(proxy) => match gate.policy().judge(&host, port, None).refused() {
                Some(rule) => Err(Failure::Refused(rule)),
                None => proxy.connect(&**resolver).await,
            },
        };
        if let Err(Failure::Refused(rule)) = &connected {
            let refusal = refusal(&host, port, rule);
            gate.notify_refused(&refusal).await;
            gate.record_refusal(refusal);
        }
        let (stream, address) = connected?;
        let address = via.is_none().then_some(address);
        let destination = Destination { host, port, address };
        self.state().destination = Some(destination.clone());
        // The rules may have changed meanwhile; from here on `refused` sees a change.
        let Destination { host, port, .. } = &destination;
        match self.refuse(&destination) {
            Err(Failure::Refused(rule)) => {
                gate.notify_refused(&refusal(host, *port, &rule)).await;
                Err(Failure::Refused(rule))
            }
            judged => judged.map(|()| (stream, via)),
        }
    }

    async fn tunnel(&self, mut request: Request<Incoming>, host: Host<String>, port: u16) -> Result<(), Failure> {
        let (stream, via) = self.connect(Scheme::Connect, host, port).await?;
        let server: Box<dyn Duplex> = match via {
            None => Box::new(stream),
            Some(proxy) => Box::new(tunnel_through(stream, &proxy, request.uri()).await?),
        };
        let upgrade = hyper::upgrade::on(&mut request);
        self.state().tunnel = Some((upgrade, server));
        Ok(())
    }

    async fn forward(
        &self,
        mut request: Request<Incoming>,
        host: Host<String>,
        port: u16,
    ) -> Result<Result<Response<Body>, NoResponse>, Failure> {
        let kept = self.link_to(&host, port);
        let is_kept = kept.is_some();
        let mut link = match kept {
            Some(link) => link,
            None => self.link(host, port).await?,
        };
        prepare(&mut request, link.via.as_deref());
        if self.leads_to_this_machine() {
            // Append: a page may have set a `Via` header of its own.
            request.headers_mut().append(VIA, HeaderValue::from_static(BROWSER_VIA));
        }
        let exchange = async {
            link.sender.ready().await?;
            link.sender.send_request(request).await
        };
        match exchange.await {
            Ok(mut response) => {
                remove_hop_by_hop(response.headers_mut());
                self.state().link = Some(link);
                Ok(Ok(response.map(Either::Left)))
            }
            Err(_) if is_kept => Ok(Err(NoResponse::Lost)),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the destination is a program on this machine, such as a serving codemode host.
    fn leads_to_this_machine(&self) -> bool {
        let address = self.state().destination.as_ref().and_then(|destination| destination.address);
        address.is_some_and(|address| address.to_canonical().is_loopback() || address.is_unspecified())
    }

    /// The link of the last request, if it leads to this destination, is still open and is still allowed.
    fn link_to(&self, host: &Host<String>, port: u16) -> Option<Link> {
        let link = self.state().link.take()?;
        let destination = self.state().destination.clone()?;
        let is_same = destination.host == *host && destination.port == port;
        (is_same && !link.sender.is_closed() && self.refuse(&destination).is_ok()).then_some(link)
    }

    async fn link(&self, host: Host<String>, port: u16) -> Result<Link, Failure> {
        let (stream, via) = self.connect(Scheme::Http, host, port).await?;
        let shaking = client::Builder::new()
            .preserve_header_case(true)
            .max_headers(NETWORK_HEADERS_MAX)
            .max_buf_size(NETWORK_HEADER_BYTES_MAX)
            .handshake(TokioIo::new(stream));
        let (sender, driver) = shaking.await?;
        let driver = tokio::spawn(async move { drop(driver.await) });
        Ok(Link { sender, via, _driver: AbortOnDropHandle::new(driver) })
    }
}

fn refusal(host: &Host<String>, port: u16, rule: &Rule) -> Refusal {
    Refusal { host: host.to_string(), port, rule: rule.clone() }
}

/// The host and port of a proxy request, which has an absolute `http` URL or is a `CONNECT`.
fn destination<T>(request: &Request<T>) -> Option<(Host<String>, u16)> {
    let uri = request.uri();
    let usual = match (request.method() == Method::CONNECT, uri.scheme_str()) {
        (true, None) => None,
        (false, Some("http")) => Some(80),
        _ => return None,
    };
    let authority = uri.authority()?;
    Some((parse_host(authority.host())?, authority.port_u16().or(usual)?))
}

/// Rewrites a proxy request into a request to its destination, or to the upstream proxy.
fn prepare(request: &mut Request<Incoming>, via: Option<&Proxy>) {
    remove_hop_by_hop(request.headers_mut());
    *request.version_mut() = Version::HTTP_11;
    // Send the host that was checked.
    if let Some(authority) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(HOST, host);
    }
    match via {
        Some(proxy) => proxy.authorize(request.headers_mut()),
        None => {
            let path = request.uri().path_and_query().cloned();
            *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
        }
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<_> =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse::<HeaderName>().ok()).collect();
    for name in named.into_iter().chain(HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Opens a tunnel through an upstream proxy.
async fn tunnel_through(stream: TcpStream, proxy: &Proxy, to: &Uri) -> Result<impl Duplex + use<>, Failure> {
    let failed = |_: hyper::Error| Failure::Unreachable(NetError::ProxyConnectionFailed);
    let (mut sender, driver) = client::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let _driver = AbortOnDropHandle::new(tokio::spawn(async move { drop(driver.with_upgrades().await) }));
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.method_mut() = Method::CONNECT;
    if let Some(authority) = to.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(HOST, host);
    }
    *request.uri_mut() = to.clone();
    proxy.authorize(request.headers_mut());
    let response = sender.send_request(request).await.map_err(failed)?;
    match response.status() {
        StatusCode::OK => Ok(TokioIo::new(hyper::upgrade::on(response).await.map_err(failed)?)),
        _ => Err(Failure::Unreachable(NetError::ProxyConnectionFailed)),
    }
}
