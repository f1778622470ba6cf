//! The ports on which browsers listen for their protocol: whoever reaches one has the browser, and the files of the
//! machine through it. Nothing that a script can start does.

use crate::support::{Execution, PATIENCE, Somebody, browser_pid};
use codemode_chromium::{Command, Connection};
use codemode_spec::ErrorCode;
use serde_json::json;
use std::{
    fs,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::AbortOnDropHandle;

/// Ways to write this machine; at the last of them our listener does not listen.
const HOSTS: [&str; 9] = [
    "127.0.0.1",
    "127.1",
    "0.0.0.0",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "localhost",
    "localhost.",
    "x.localhost",
    "[::1]",
];
/// Ways of a page to reach a server; of those, the ones that were answered.
const ASK: &str = "async (port, hosts) => {
    await navigator.serviceWorker.register('/worker.js');
    const worker = (await navigator.serviceWorker.ready).active;
    const work = url => new Promise((answered, failed) => {
        const {port1, port2} = new MessageChannel();
        port1.onmessage = ({data}) => data ? answered() : failed();
        worker.postMessage(url, [port2]);
    });
    const socket = url => new Promise((onopen, onerror) => Object.assign(new WebSocket(url), {onopen, onerror}));
    const style = href => new Promise((onload, onerror) =>
        document.head.append(Object.assign(document.createElement('link'), {rel: 'stylesheet', href, onload, onerror})));
    const ways = {
        fetch: to => fetch(`http://${to}`, {mode: 'no-cors'}),
        post: to => fetch(`http://${to}`, {mode: 'no-cors', method: 'POST'}),
        work: to => work(`http://${to}`),
        style: to => style(`http://${to}`),
        socket: to => socket(`ws://${to}`),
    };
    const answered = [];
    // All at once: Chromium makes a page wait with more and more WebSockets after those that failed.
    await Promise.all(hosts.flatMap(host => Object.entries(ways).map(([name, way]) =>
        way(`${host}:${port}/json/version?${name}`).then(() => answered.push(`${name} ${host}`), () => {}))));
    return answered;
}";
const WAYS: [&str; 7] = ["fetch", "post", "work", "style", "socket", "navigate", "load"];
const PROXIES: [&str; 4] = ["", "socks4://", "socks5://", "https://"];

/// A server that answers, and remembers how each connection began.
struct Listener {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    _server: AbortOnDropHandle<()>,
}

impl Listener {
    fn on(listener: TcpListener) -> Self {
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let server = {
            let seen = Arc::clone(&seen);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(answer(stream, Arc::clone(&seen)));
                }
            }
        };
        Self { port, seen, _server: AbortOnDropHandle::new(tokio::spawn(server)) }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let length = stream.read(&mut request).await?;
    let request = String::from_utf8_lossy(&request[..length]);
    seen.lock().unwrap().push(request.clone().into_owned());
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (kind, body) = match path.split('?').next() {
        Some("/worker.js") => (
            "text/javascript",
            "onmessage = ({data, ports: [port]}) => fetch(data, {mode: 'no-cors'}).then(() => true, () => false) \
             .then(answered => port.postMessage(answered))",
        ),
        Some("/json/version") if path.ends_with("style") => ("text/css", ""),
        _ => ("text/html", "<!doctype html><title>Here</title>"),
    };
    let status = match path.strip_prefix("/to/") {
        Some(to) => format!("302 Found\r\nlocation: http://{to}"),
        None => "200 OK".to_owned(),
    };
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close", body.len());
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await?;
    stream.shutdown().await
}

/// A script with a page that can ask.
async fn begin(site: &Listener) -> (Execution, String) {
    let execution = Execution::begin().await;
    let page = execution.attach().await;
    execution.visit(&page, &format!("http://127.0.0.1:{}/", site.port)).await;
    (execution, page)
}

async fn anywhere() -> Listener {
    Listener::on(TcpListener::bind("127.0.0.1:0").await.unwrap())
}

/// How the browser of an execution was told something.
fn flag(execution: &Execution, name: &str) -> String {
    let line = fs::read(format!("/proc/{}/cmdline", browser_pid(execution.state.path()))).unwrap();
    let line = String::from_utf8(line).unwrap();
    line.split('\0').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap().to_owned()
}

/// Tries everything that a script can do to reach a port: what its page can, and what the protocol offers. Gives the
/// ways that were answered.
async fn reached(execution: &Execution, page: &str, port: u16) -> Vec<String> {
    let answered = execution.evaluate(page, &format!("({ASK})({port}, {})", json!(HOSTS))).await.unwrap();
    let mut answered: Vec<String> = serde_json::from_value(answered).unwrap();
    let frames = execution.page(page, "Page.getFrameTree", json!({})).await.unwrap();
    let (_, tab) = execution.open("about:blank").await;
    for host in HOSTS {
        let url = |way: &str| format!("http://{host}:{port}/json/version?{way}");
        let went = execution.page(&tab, "Page.navigate", json!({"url": url("navigate")})).await.unwrap();
        let options = json!({"disableCache": true, "includeCredentials": false});
        let load = json!({"frameId": frames["frameTree"]["frame"]["id"], "url": url("load"), "options": options});
        let loaded = execution.page(page, "Network.loadNetworkResource", load).await.unwrap();
        let ways = [("navigate", went.get("errorText").is_none()), ("load", loaded["resource"]["success"] == true)];
        answered.extend(ways.iter().filter(|(_, is_answered)| *is_answered).map(|(way, _)| format!("{way} {host}")));
    }
    for scheme in PROXIES {
        let proxy = json!({"proxyServer": format!("{scheme}127.0.0.1:{port}"), "proxyBypassList": "<-loopback>"});
        if execution.send("Target.createBrowserContext", proxy).await.is_ok() {
            answered.push(format!("proxy {scheme}"));
        }
    }
    answered
}

#[tokio::test]
async fn no_page_reaches_the_protocol_of_its_own_browser_or_of_another() {
    let (site, other) = (anywhere().await, Somebody::begin().await);
    let (execution, page) = begin(&site).await;
    let own: u16 = flag(&execution, "--remote-debugging-port").parse().unwrap();
    let others = other.browser.endpoint().ws_url.split([':', '/']).nth(4).unwrap().parse().unwrap();
    for port in [own, others] {
        TcpStream::connect(("127.0.0.1", port)).await.expect("the browser listens");
        assert_eq!(reached(&execution, &page, port).await, Vec::<String>::new(), "{port}");
    }
    let away = json!({"url": format!("http://127.0.0.1:{}/to/localhost:{own}/json/version", site.port)});
    let went = execution.page(&page, "Page.navigate", away).await.unwrap();
    assert_eq!(went["errorText"], "net::ERR_NAME_NOT_RESOLVED", "a server sends it there");
    let (_, tab) = execution.open(&format!("http://127.0.0.1:{own}/json/version")).await;
    let text = execution.evaluate(&tab, "document.body.innerText").await.unwrap();
    assert!(!text.as_str().unwrap().contains("webSocketDebuggerUrl"), "{text}");
    other.browser.close().await.unwrap();
    execution.end().await;
}

#[tokio::test]
async fn whoever_listens_on_such_a_port_hears_nothing_and_on_others_everything() {
    let site = anywhere().await;
    let (execution, page) = begin(&site).await;
    let rules = flag(&execution, "--host-resolver-rules");
    let mut reserved = None;
    for port in rules.split("MAP *:").filter_map(|rule| rule.split(' ').next()?.parse::<u16>().ok()) {
        reserved = TcpListener::bind(("127.0.0.1", port)).await.ok();
        if reserved.is_some() {
            break;
        }
    }
    let reserved = Listener::on(reserved.expect("one of them is free"));
    assert_eq!(reached(&execution, &page, reserved.port).await, Vec::<String>::new());
    assert_eq!(reserved.seen(), Vec::<String>::new());

    // Or else the above would prove nothing.
    let other = anywhere().await;
    reached(&execution, &page, other.port).await;
    let seen: Vec<_> =
        other.seen().iter().map(|request| request.lines().next().unwrap_or_default().to_owned()).collect();
    for way in WAYS {
        let asked = seen.iter().filter(|line| line.contains(&format!("?{way} "))).count();
        // Three of them are the same host once they are read, and one is not ours.
        assert!(asked >= HOSTS.len() - 3, "{way}: {seen:#?}");
    }
    execution.end().await;
}

#[tokio::test]
async fn a_page_that_shows_a_file_is_not_for_scripts() {
    let somebody = Somebody::begin().await;
    let theirs = Connection::connect(somebody.browser.endpoint(), PATIENCE).await.unwrap();
    let params = json!({"url": "file:///etc/passwd"});
    let create = Command { method: "Target.createTarget", params, session: None, timeout: PATIENCE };
    let made = theirs.call(create).await.unwrap();
    let execution = somebody.execution().await;
    for refused in [
        execution.call("attachToTarget", json!([made["targetId"]])).await,
        execution.send("Target.attachToTarget", json!({"targetId": made["targetId"]})).await,
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.code, ErrorCode::PolicyRefused, "{error}");
    }
    execution.end().await;
    somebody.browser.close().await.unwrap();
}
