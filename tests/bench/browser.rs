//! The path to a real browser, compared with a minimal WebSocket client on the same browser.

use crate::measure::{Bench, Named, Table, execute, medians_in_turn};
use codemode_cdp::CdpProvider;
use codemode_chromium::{Browser, Command, ConfineMode, Confinement, Connection, LaunchOptions, Peers};
use codemode_host::{
    exec::{Executor, Settings},
    network::{ForwardProxy, Gate, Policy, Serving, SystemResolver, Upstream},
    result::Identity,
    site,
};
use codemode_page::{BrowserConfig, Browsers};
use codemode_provider::{
    ArgumentsPlace, CallContext, Registry, ServiceProvider,
    testkit::{self, TestExecution},
};
use codemode_spec::Value;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value as Json, json};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpStream, runtime::Runtime};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};

pub const BENCHES: &[Named] = &[("cdp.send", cdp_send), ("login flow", login_flow)];

const CALLS: u32 = 500;

pub async fn launch(bench: &Bench) -> Browser {
    launch_as(bench, "bench", None).await
}

/// A browser behind the proxy with the default rules.
async fn proxied(bench: &Bench) -> (Browser, Serving) {
    let (gate, _refusals) = Gate::new(Policy::default());
    let proxy = ForwardProxy::bind(gate, Arc::new(SystemResolver), Upstream::default()).await.expect("a free port");
    let local = proxy.address();
    let browser = launch_as(bench, "proxied", Some(local)).await;
    let peers = Peers::of(browser.pid()).expect("the browser runs");
    let serving = proxy.serve(move |peer| match (peer, local) {
        (SocketAddr::V4(peer), SocketAddr::V4(local)) => peers.hold(peer, local),
        _ => false,
    });
    (browser, serving)
}

async fn launch_as(bench: &Bench, name: &str, proxy: Option<SocketAddr>) -> Browser {
    let executable = codemode_chromium::install(&|line| eprintln!("{line}")).await.expect("Chromium can be installed");
    let options = LaunchOptions {
        // Not confined: a confined browser behind a proxy cannot open a debugging port.
        confinement: Confinement { mode: ConfineMode::Off, ..Confinement::default() },
        // For the minimal client.
        listens: true,
        proxy,
        start_timeout: Duration::from_secs(20),
        ..LaunchOptions::new(executable.path, bench.state.path().join("profiles"), name)
    };
    Browser::launch(options).await.expect("Chromium starts")
}

/// A minimal client: one socket, one call at a time.
pub struct Bare {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next: u64,
    session: Option<String>,
}

impl Bare {
    /// Connects, and attaches to the first page.
    pub async fn connect(url: &str) -> Self {
        let (socket, _) =
            tokio_tungstenite::connect_async_with_config(url, None, true).await.expect("the browser listens");
        let mut bare = Self { socket, next: 0, session: None };
        let targets = bare.call("Target.getTargets", json!({})).await;
        let pages = targets["targetInfos"].as_array().expect("a list of targets");
        let page = pages.iter().find(|target| target["type"] == "page").expect("a page");
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = bare.call("Target.attachToTarget", attach).await;
        bare.session = attached["sessionId"].as_str().map(str::to_owned);
        bare.call("Page.enable", json!({})).await;
        bare
    }

    pub async fn call(&mut self, method: &str, params: Json) -> Json {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).await.expect("the browser listens");
        let id = self.next;
        self.until(|message| message["id"] == id).await["result"].take()
    }

    pub async fn event(&mut self, method: &str) {
        self.until(|message| message["method"] == method).await;
    }

    async fn until(&mut self, wanted: impl Fn(&Json) -> bool) -> Json {
        loop {
            let message = self.socket.next().await.expect("the browser answers").expect("whole messages");
            let message: Json = serde_json::from_slice(&message.into_data()).expect("the protocol is JSON");
            if wanted(&message) {
                return message;
            }
        }
    }
}

/// An executor on an existing browser, so that both clients use the same one.
fn on(bench: &Bench, browser: &Browser) -> Executor {
    let settings = Settings {
        transform: Arc::new(Identity),
        services: vec![at(browser)],
        ..Settings::new(bench.state.path().to_owned())
    };
    let registry = Registry::new(vec![Arc::new(CdpProvider::new())]).expect("the name is right");
    Executor::new(bench.engine.clone(), registry, settings)
}

/// The shared browsers of a host that uses this one.
pub fn at(browser: &Browser) -> Arc<dyn ServiceProvider> {
    let url = browser.endpoint().expect("it listens").ws_url.clone();
    Arc::new(Browsers::new(BrowserConfig { cdp_url: Some(url), ..BrowserConfig::default() }, None))
}

/// A runtime of the provider, without a sandbox.
struct Provided {
    execution: TestExecution,
    session: Value,
}

async fn provided(bench: &Bench, browser: &Browser) -> Provided {
    let context = testkit::context(bench.state.path(), json!({}));
    let services = [at(browser)];
    let beginning = TestExecution::begin(Arc::new(CdpProvider::new()), &services, context);
    let execution = beginning.await.expect("the provider makes a runtime");
    let session = execution.call("attachToTarget", Vec::new()).await.expect("a page");
    Provided { execution, session }
}

fn call_context() -> CallContext {
    CallContext {
        call: 0,
        deadline: tokio::time::Instant::now() + Duration::from_secs(60),
        place: ArgumentsPlace::default(),
    }
}

impl Provided {
    async fn call(&self) {
        let params = Value::from(json!({"expression": "1+1"}));
        let options = Value::Object(vec![("sessionId".into(), self.session.clone())]);
        let arguments = vec![Value::from("Runtime.evaluate"), params, options];
        self.execution.runtime.call("send", arguments, call_context()).await.expect("the browser answers");
    }
}

/// The connection that executions use, without an execution.
struct Driver {
    connection: Connection,
    session: String,
}

async fn driver(browser: &Browser) -> Driver {
    let timeout = Duration::from_secs(10);
    let connection =
        Connection::connect(browser.endpoint().expect("it listens"), timeout).await.expect("the browser listens");
    let ask = |method, params| connection.call(Command { method, params, session: None, timeout });
    let targets = ask("Target.getTargets", json!({})).await.expect("targets");
    let pages = targets["targetInfos"].as_array().expect("a list of targets");
    let page = pages.iter().find(|target| target["type"] == "page").expect("a page");
    let attach = json!({"targetId": page["targetId"], "flatten": true});
    let attached = ask("Target.attachToTarget", attach).await.expect("attached");
    let session = attached["sessionId"].as_str().expect("a session").to_owned();
    Driver { connection, session }
}

impl Driver {
    async fn call(&self) {
        let params = json!({"expression": "1+1"});
        let (session, timeout) = (Some(self.session.as_str()), Duration::from_secs(10));
        let answer = self.connection.call(Command { method: "Runtime.evaluate", params, session, timeout }).await;
        answer.expect("the browser answers");
    }
}

fn cdp_send(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let browser = runtime.block_on(launch(bench));
    let executor = on(bench, &browser);
    let script = |calls: u32| {
        format!(
            "async () => {{ const sessionId = await cdp.attachToTarget(); \
             for (let i = 0; i < {calls}; i++) await cdp.send('Runtime.evaluate', {{expression: '1+1'}}, {{sessionId}}) }}"
        )
    };
    let (many, one) = (script(CALLS + 1), script(1));
    let provided = runtime.block_on(provided(bench, &browser));
    let driver = runtime.block_on(driver(&browser));
    let mut bare = runtime.block_on(Bare::connect(&browser.endpoint().expect("it listens").ws_url));
    let [with, without, provider, alone, bound] = medians_in_turn(
        9,
        [
            &mut || drop(execute(runtime, &executor, &many)),
            &mut || drop(execute(runtime, &executor, &one)),
            &mut || {
                runtime.block_on(async {
                    for _ in 0..CALLS {
                        provided.call().await;
                    }
                });
            },
            &mut || {
                runtime.block_on(async {
                    for _ in 0..CALLS {
                        driver.call().await;
                    }
                });
            },
            &mut || {
                runtime.block_on(async {
                    for _ in 0..CALLS {
                        bare.call("Runtime.evaluate", json!({"expression": "1+1"})).await;
                    }
                });
            },
        ],
    );
    let ours = with.saturating_sub(without) / CALLS;
    table.time("cdp.send of Runtime.evaluate", ours, Some(("a bare client", bound / CALLS)), "≤ 1.1 ×");
    table.time("… of it the provider", provider / CALLS, Some(("a bare client", bound / CALLS)), "–");
    table.time("… of that the driver's connection", alone / CALLS, Some(("a bare client", bound / CALLS)), "–");
    drop(bare);
    runtime.block_on(browser.close()).expect("the browser is ours to close");
}

const FILL: &str = "document.querySelector('#user').value = 'ada'; \
                    document.querySelector('#password').value = 'lovelace'; \
                    document.querySelector('form').requestSubmit()";
const WHO: &str = "document.querySelector('h1').textContent";

fn login_flow(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let site = runtime.block_on(site::serve()).expect("the loopback has a free port");
    let browser = runtime.block_on(launch(bench));
    let executor = on(bench, &browser);
    let login = format!("{}/login", site.url());
    let code = format!(
        "async () => {{
            const sessionId = await cdp.attachToTarget();
            const send = (method, params) => cdp.send(method, params, {{sessionId}});
            const loaded = () => cdp.waitForEvent('Page.loadEventFired', {{sessionId}});
            await send('Page.navigate', {{url: {login}}});
            await loaded();
            await send('Runtime.evaluate', {{expression: {fill}}});
            await loaded();
            return (await send('Runtime.evaluate', {{expression: {who}}})).result.value;
        }}",
        login = json!(login),
        fill = json!(FILL),
        who = json!(WHO),
    );
    let bare_login = async |browser: &Browser| {
        let mut bare = Bare::connect(&browser.endpoint().expect("it listens").ws_url).await;
        bare.call("Page.navigate", json!({"url": login})).await;
        bare.event("Page.loadEventFired").await;
        bare.call("Runtime.evaluate", json!({"expression": FILL})).await;
        bare.event("Page.loadEventFired").await;
        bare.call("Runtime.evaluate", json!({"expression": WHO})).await;
    };
    let [ours, bound] = medians_in_turn(
        31,
        [&mut || drop(execute(runtime, &executor, &code)), &mut || runtime.block_on(bare_login(&browser))],
    );
    table.time("login flow on a running browser", ours, Some(("the same by bare CDP", bound)), "≤ 1.3 ×");
    runtime.block_on(browser.close()).expect("the browser is ours to close");
    // Only now, since a browser goes on working after its page has loaded, at the cost of what is measured next; and both
    // new, since a browser with a long history is slower.
    let plain = runtime.block_on(launch_as(bench, "plain", None));
    let (fenced, _serving) = runtime.block_on(proxied(bench));
    let [with_proxy, bound] = medians_in_turn(
        31,
        [&mut || runtime.block_on(bare_login(&fenced)), &mut || runtime.block_on(bare_login(&plain))],
    );
    table.time("… by bare CDP through the proxy", with_proxy, Some(("without the proxy", bound)), "≤ 1.05 ×");
    for browser in [fenced, plain] {
        runtime.block_on(browser.close()).expect("the browser is ours to close");
    }
}
