//! A real Chromium behind a proxy, and servers on addresses of this machine that record their requests.

use super::program::{PATIENCE, need_browser};
use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    response::{Html, IntoResponse as _, Response},
};
use codemode_chromium::{Browser, Command, Connection, Event, LaunchOptions, Peers, find};
use codemode_host::network::{
    ForwardProxy, Gate, GateObserver, NetError, NetworkRules, Policy, Refusal, Resolve, Serving, Upstream,
};
use codemode_spec::session::NetworkLists;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value as Json, json};
use std::{
    collections::{HashMap, VecDeque},
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc::Receiver},
};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::AbortOnDropHandle;

/// Parses network rules.
pub fn rules(allow: &[&str], deny: &[&str]) -> NetworkRules {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    NetworkRules::parse(&NetworkLists { allow: list(allow), deny: list(deny) }).unwrap()
}

/// The size of `/big`.
pub const BIG_BYTES: usize = 32 << 20;

/// A web server on an address of this machine.
pub struct Web {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _serving: AbortOnDropHandle<()>,
}

impl Web {
    /// `/echo` streams its request body back, `/count` answers with its length, `/big` with a large body; the second
    /// half of `/held` is sent after a request of `/release`; `/redirect` redirects to its query, `/picture` embeds it
    /// as an image, and `/forged` answers with it as a refusal of the proxy. Every other page has the server's address
    /// as its title.
    pub async fn on(ip: &str) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answering, released) = (Arc::clone(&asked), Arc::new(Notify::new()));
        let answer = move |State(asked): State<Arc<Mutex<Vec<String>>>>, request: Request| {
            let (release, released) = (Arc::clone(&released), Arc::clone(&released));
            async move {
                let (method, path) = (request.method(), request.uri().path().to_owned());
                let query = request.uri().query().unwrap_or_default().to_owned();
                let hop = ["proxy-connection", "proxy-authorization", "keep-alive"];
                let hop: Vec<_> = hop.into_iter().filter(|name| request.headers().contains_key(*name)).collect();
                let host = request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
                asked.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{method} {host} {path} {hop:?}"));
                match path.as_str() {
                    "/echo" => return Response::new(Body::from_stream(request.into_body().into_data_stream())),
                    "/count" => {
                        let chunks = request.into_body().into_data_stream();
                        let bytes = chunks.fold(0, |bytes, chunk| async move { bytes + chunk.unwrap().len() }).await;
                        return bytes.to_string().into_response();
                    }
                    "/big" => return Response::new(Body::from(vec![b'x'; BIG_BYTES])),
                    "/held" => {
                        let last = async move {
                            released.notified().await;
                            Ok::<_, io::Error>("last")
                        };
                        let parts = futures::stream::iter([Ok("first, ")]).chain(futures::stream::once(last));
                        return Response::new(Body::from_stream(parts));
                    }
                    "/release" => release.notify_one(),
                    "/redirect" => return (StatusCode::FOUND, [("location", query)]).into_response(),
                    "/picture" => {
                        let page = format!("<!doctype html><title>a picture</title><img src=\"{query}\">");
                        return Html(page).into_response();
                    }
                    "/forged" => {
                        let page = format!(
                            "<!doctype html><title>Refused</title><p>It is refused by a network rule of codemode: {query}"
                        );
                        return (StatusCode::FORBIDDEN, [("codemode-network-rule", query)], Html(page)).into_response();
                    }
                    _ => {}
                }
                Html(format!("<!doctype html><title>{address}</title>")).into_response()
            }
        };
        let router = Router::new().fallback(answer).with_state(answering);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, asked, _serving: AbortOnDropHandle::new(serving) }
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// A WebSocket echo server.
pub struct Echo {
    pub port: u16,
    _serving: AbortOnDropHandle<()>,
}

impl Echo {
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
                    while let Some(Ok(message)) = socket.next().await {
                        if let Message::Text(_) = message {
                            let _ = socket.send(message).await;
                        }
                    }
                });
            }
        });
        Self { port, _serving: AbortOnDropHandle::new(serving) }
    }
}

/// A scripted resolver: each answer for a name is used once, the last one repeatedly.
#[derive(Default)]
pub struct Names(Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>);

impl Names {
    pub fn new(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let address = |text: &&str| text.parse().unwrap();
        let answers = |answers: &[&[&str]]| answers.iter().map(|one| one.iter().map(address).collect()).collect();
        let names = names.iter().map(|(name, all)| ((*name).to_owned(), answers(all))).collect();
        Arc::new(Self(Mutex::new(names)))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<Vec<IpAddr>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.lock();
        let answers = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() })
    }
}

/// A browser behind a proxy, with one page.
pub struct Proxied {
    pub gate: Arc<Gate>,
    pub proxy: SocketAddr,
    pub refusals: Receiver<Refusal>,
    unreachable: Unreachable,
    page: Page,
    _serving: Serving,
}

/// Records the destinations that could not be reached.
#[derive(Clone, Default)]
struct Unreachable(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl GateObserver for Unreachable {
    async fn refused(&self, _: &Refusal) {}

    async fn unreachable(&self, host: &str, port: u16, error: NetError) {
        let mut unreachable = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unreachable.push(format!("{host}:{port} {}", error.as_str()));
    }
}

impl Proxied {
    pub async fn start(policy: Policy, names: Arc<dyn Resolve>, upstream: Upstream) -> Self {
        let (gate, refusals) = Gate::new(policy);
        let unreachable = Unreachable::default();
        gate.set_observer(unreachable.clone());
        let proxy = ForwardProxy::bind(Arc::clone(&gate), names, upstream).await.unwrap();
        let address = proxy.address();
        let page = Page::launch(Some(address)).await;
        let peers = Peers::of(page.browser.pid()).unwrap();
        let is_ours = move |peer| match (peer, address) {
            (SocketAddr::V4(peer), SocketAddr::V4(local)) => peers.hold(peer, local),
            _ => false,
        };
        Self { gate, proxy: address, refusals, unreachable, page, _serving: proxy.serve(is_ours) }
    }

    /// With these operator rules, and a resolver that maps all names to 127.0.0.1.
    pub async fn with(allow: &[&str], deny: &[&str]) -> Self {
        let names: [(&str, &[&[&str]]); 2] = [("good.test", &[&["127.0.0.1"]]), ("bad.test", &[&["127.0.0.1"]])];
        Self::start(Policy::narrow(rules(allow, deny), None), Names::new(&names), Upstream::default()).await
    }

    /// The destinations that could not be reached so far.
    pub fn unreachable(&self) -> Vec<String> {
        self.unreachable.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The text of the next refusal. Requests that the browser makes on its own are ignored.
    pub async fn refused(&mut self) -> String {
        loop {
            let waiting = tokio::time::timeout(PATIENCE, self.refusals.recv());
            let Refusal { host, port, rule } = waiting.await.expect("a refusal").expect("the gate lives");
            let told = format!("{host}:{port} {rule}");
            if !told.contains("own service") {
                return told;
            }
        }
    }
}

impl std::ops::Deref for Proxied {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.page
    }
}

/// The path of a browser, which is installed if necessary.
fn browser() -> PathBuf {
    need_browser();
    find(None).unwrap().path
}

/// A page of a browser.
pub struct Page {
    pub browser: Browser,
    connection: Connection,
    session: String,
    _folder: TempDir,
}

impl Page {
    pub async fn launch(proxy: Option<SocketAddr>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let executable = tokio::task::spawn_blocking(browser).await.unwrap();
        let options = LaunchOptions::new(executable, folder.path().join("profiles"), "proxied");
        let options = LaunchOptions { proxy, start_timeout: PATIENCE, ..options };
        let browser = Browser::launch(options).await.unwrap();
        let connection = browser.connect().await.unwrap();
        let created = call(&connection, None, "Target.createTarget", json!({"url": "about:blank"})).await;
        let attach = json!({"targetId": created["targetId"], "flatten": true});
        let attached = call(&connection, None, "Target.attachToTarget", attach).await;
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        Self { browser, connection, session, _folder: folder }
    }

    /// Visits a page; returns its title and text once it has loaded.
    pub async fn visit(&self, url: &str) -> String {
        let went = call(&self.connection, Some(&self.session), "Page.navigate", json!({ "url": url })).await;
        if let Some(error) = went["errorText"].as_str() {
            return error.to_owned();
        }
        let text = "document.readyState === 'complete' && document.title + ' | ' + document.body.innerText";
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The document may be replaced while the expression is evaluated.
            if let Json::String(text) = self.evaluate(text).await {
                return text;
            }
            assert!(Instant::now() < deadline, "{url} did not load");
            tokio::task::yield_now().await;
        }
    }

    /// Sends a command to the page and returns the answer.
    pub async fn send(&self, method: &str, params: Json) -> Json {
        call(&self.connection, Some(&self.session), method, params).await
    }

    /// Starts collecting errors of the page.
    pub async fn listen(&self) {
        for domain in ["Log", "Runtime", "Page"] {
            self.send(&format!("{domain}.enable"), json!({})).await;
        }
    }

    /// The errors of the page: console errors, exceptions, and requests refused by its policy or the network.
    pub fn faults(&self) -> Vec<String> {
        let is_fault = |event: &Event| match event.method.as_str() {
            "Log.entryAdded" => event.params["entry"]["level"] == "error",
            "Runtime.consoleAPICalled" => event.params["type"] == "error" || event.params["type"] == "assert",
            "Runtime.exceptionThrown" => true,
            _ => false,
        };
        let batch = self.connection.events().since(0, usize::MAX, &is_fault);
        assert_eq!(batch.dropped, 0, "all was heard");
        batch.events.iter().map(|event| event.params.to_string()).collect()
    }

    /// Evaluates an expression in the page.
    pub async fn evaluate(&self, expression: &str) -> Json {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = call(&self.connection, Some(&self.session), "Runtime.evaluate", params).await;
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }
}

async fn call(connection: &Connection, session: Option<&str>, method: &str, params: Json) -> Json {
    let command = Command { method, params, session, timeout: PATIENCE };
    connection.call(command).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
}

/// Waits for a condition; fails after a timeout.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < deadline, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
