//! Tests of commands, answers and events over real connections.

use crate::support::{PATIENCE, Profiles, command, connect, evaluate, page};
use codemode_chromium::cdp::browser_protocol::{browser::GetVersionParams, target::GetTargetsParams};
use codemode_chromium::{CdpError, Command, Connection, Endpoint, Event};
use codemode_spec::{
    ErrorCode,
    limits::{
        CDP_COMMAND_BYTES_MAX, CDP_REPLY_BYTES_MAX, CDP_WEB_MESSAGE_BYTES_MAX, EVENT_RING_BYTES_MAX, REPLY_BYTES_MAX,
        VALUE_DEPTH_MAX,
    },
};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value as Json, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn commands_are_answered_refused_or_time_out_each_by_itself() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let connection = connect(&browser).await;
    let (target, session) = page(&connection, "about:blank").await;

    let sums = (0..50).map(|n| {
        let (connection, session) = (connection.clone(), session.clone());
        async move { evaluate(&connection, &session, &format!("{n} * 2")).await }
    });
    let sums = futures::future::join_all(sums).await;
    assert_eq!(sums, (0..50).map(|n| json!(n * 2)).collect::<Vec<_>>());

    let refused = connection.call(command("Page.nothing", Json::Null, Some(&session))).await.unwrap_err();
    assert!(
        matches!(&refused, CdpError::Protocol { code: -32601, message, .. } if message.contains("Page.nothing")),
        "{refused:?}"
    );
    let refused = connection.call(command("Page.navigate", json!({ "url": 1 }), Some(&session))).await.unwrap_err();
    let CdpError::Protocol { code: -32602, data: Some(data), .. } = &refused else { panic!("{refused:?}") };
    assert!(data.to_string().contains("url"), "what the browser adds is kept: {data}");
    let refused = connection.call(command("Page.enable", Json::Null, Some("none"))).await.unwrap_err();
    assert!(matches!(&refused, CdpError::Protocol { code: -32001, .. }), "{refused:?}");

    let forever = json!({ "expression": "new Promise(() => {})", "awaitPromise": true });
    let short = Duration::from_millis(50);
    let slow = Command { timeout: short, ..command("Runtime.evaluate", forever, Some(&session)) };
    let late = connection.call(slow).await.unwrap_err();
    assert_eq!(late, CdpError::Timeout { method: "Runtime.evaluate".to_owned(), timeout: short });
    assert_eq!(evaluate(&connection, &session, "'still there'").await, "still there");

    let targets = connection.execute(&GetTargetsParams::default(), None, PATIENCE).await.unwrap();
    assert!(targets.target_infos.iter().any(|info| *info.target_id.inner() == target));
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_call_in_a_session_that_is_detached_does_not_wait_for_its_timeout() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let connection = connect(&browser).await;
    let (target, session) = page(&connection, "about:blank").await;
    let (_, other) = page(&connection, "about:blank").await;
    let forever = json!({ "expression": "new Promise(() => {})", "awaitPromise": true });
    let call = connection.call(command("Runtime.evaluate", forever, Some(&session)));
    let close = connection.call(command("Target.closeTarget", json!({ "targetId": target }), None));
    let (answer, closed) = tokio::join!(call, close);
    closed.unwrap();
    let expected = CdpError::Detached { method: "Runtime.evaluate".to_owned(), session };
    // Chromium sometimes answers such a call itself just before.
    assert!(
        matches!(&answer, Err(error) if *error == expected || matches!(error, CdpError::Protocol { .. })),
        "{answer:?}"
    );
    assert_eq!(evaluate(&connection, &other, "1").await, 1);
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn an_event_that_comes_before_its_answer_is_there_when_it_is_waited_for() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let connection = connect(&browser).await;
    let (_, session) = page(&connection, "about:blank").await;
    connection.call(command("Page.enable", Json::Null, Some(&session))).await.unwrap();
    for round in 0..20 {
        let from = connection.events().cursor();
        let url = json!({ "url": format!("data:text/html,{round}") });
        connection.call(command("Page.navigate", url, Some(&session))).await.unwrap();
        let is_ours =
            |event: &Event| event.method == "Page.loadEventFired" && event.session.as_deref() == Some(&session);
        let wait = connection.events().wait(from, &is_ours);
        let event = tokio::time::timeout(PATIENCE, wait).await.expect("no event is lost").unwrap();
        assert!(event.seq >= from && event.params["timestamp"].is_number());
    }
    let batch = connection.events().since(0, usize::MAX, &|event| event.method == "Page.loadEventFired");
    assert_eq!((batch.events.len(), batch.dropped), (20, 0));
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn deep_answers_are_read_and_too_deep_ones_fail_alone() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let connection = connect(&browser).await;
    let (_, session) = page(&connection, "about:blank").await;
    let nest = "let node = document.body; for (let i = 0; i < 120; i++) node = node.appendChild(document.createElement('div'))";
    evaluate(&connection, &session, nest).await;
    // Each element adds two levels, an object in an array. Chromium itself goes to about 300.
    let document = connection.call(command("DOM.getDocument", json!({ "depth": -1 }), Some(&session))).await.unwrap();
    assert!(depth(&document) > 240, "{}", depth(&document));
    browser.close().await.unwrap();
    profiles.assert_nothing_left();

    let (endpoint, server) = scripted(|id, method| {
        let depth = method.parse().unwrap();
        vec![Message::text(format!(r#"{{"id":{id},"result":{}{}}}"#, "[".repeat(depth), "]".repeat(depth)))]
    })
    .await;
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    let ask = async |depth: usize| connection.call(command(&depth.to_string(), Json::Null, None)).await;
    assert_eq!(depth(&ask(VALUE_DEPTH_MAX).await.unwrap()), VALUE_DEPTH_MAX);
    for deeper in [VALUE_DEPTH_MAX + 1, 1_000_000] {
        assert_eq!(ask(deeper).await.unwrap_err(), CdpError::TooDeep { depth_max: VALUE_DEPTH_MAX });
    }
    assert_eq!(depth(&ask(1).await.unwrap()), 1, "others go on");
    connection.close().await;
    server.await.unwrap();
}

fn depth(value: &Json) -> usize {
    match value {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[tokio::test]
async fn text_of_every_kind_comes_through() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let connection = connect(&browser).await;
    let (_, session) = page(&connection, "about:blank").await;
    let text = evaluate(&connection, &session, r#""a\ud800b \ud83d\ude00 \u0000 \u2028 \" \\ ä""#).await;
    assert_eq!(text, "a\u{fffd}b 😀 \0 \u{2028} \" \\ ä");
    let long = evaluate(&connection, &session, "'ä'.repeat(1_000_000)").await;
    assert_eq!(long.as_str().unwrap().len(), 2_000_000);
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn the_connection_ends_with_its_last_clone_or_when_it_is_closed() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let watcher = connect(&browser).await;
    let attached = async || {
        let targets = watcher.execute(&GetTargetsParams::default(), None, PATIENCE).await.unwrap();
        targets.target_infos.iter().filter(|info| info.r#type == "page" && info.attached).count()
    };
    assert_eq!(attached().await, 0);
    let first = connect(&browser).await;
    let _ = page(&first, "about:blank").await;
    let second = first.clone();
    assert_eq!(attached().await, 1);
    drop(first);
    assert_eq!(attached().await, 1, "one clone is left");
    drop(second);
    let deadline = Instant::now() + PATIENCE;
    while attached().await > 0 {
        assert!(Instant::now() < deadline, "the browser was not told");
    }

    let third = connect(&browser).await;
    let clone = third.clone();
    let waiting = tokio::spawn(async move { clone.events().wait(0, &|event| event.method == "never").await });
    third.close().await;
    third.close().await;
    third.closed().await;
    assert!(waiting.await.unwrap().is_none());
    let refused = third.call(command("Browser.getVersion", Json::Null, None)).await.unwrap_err();
    assert!(matches!(&refused, CdpError::Closed { reason } if reason.contains("this side")), "{refused:?}");
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn an_endpoint_is_found_by_its_address() {
    let profiles = Profiles::new();
    let browser = profiles.launch_listening().await;
    let ws_url = browser.endpoint().unwrap().ws_url.clone();
    let address = ws_url.strip_prefix("ws://").and_then(|rest| rest.split('/').next()).unwrap();
    for url in [format!("http://{address}"), format!("http://{address}/"), format!("http://{address}/json/version")] {
        let endpoint = Endpoint::resolve(&url, Vec::new(), PATIENCE).await.unwrap();
        assert_eq!(endpoint.ws_url, ws_url, "{url}");
        assert!(!Connection::connect(&endpoint, PATIENCE).await.unwrap().is_closed());
    }
    let wrong = Endpoint { ws_url: ws_url.replace("/browser/", "/nothing/"), headers: Vec::new() };
    let report = Connection::connect(&wrong, PATIENCE).await.unwrap_err();
    assert_eq!(report.code, ErrorCode::CdpConnectionFailed);
    browser.close().await.unwrap();
    let report = Connection::connect(&Endpoint { ws_url, headers: Vec::new() }, PATIENCE).await.unwrap_err();
    assert_eq!(report.code, ErrorCode::CdpConnectionFailed);
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_browser_behind_a_proxy_is_reached_through_the_proxy() {
    let profiles = Profiles::new();
    let browser = profiles.launch_listening().await;
    let ws_url = browser.endpoint().unwrap().ws_url.clone();
    let inside: String = ws_url.strip_prefix("ws://").and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let outside = listener.local_addr().unwrap().to_string();
    // Rewrites the Host header to the browser's own address, as reverse proxies do, so that the browser reports that
    // address.
    let (own, named) = (inside.clone(), outside.clone());
    let proxy = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (own, named) = (own.clone(), named.clone());
            tokio::spawn(async move {
                let mut head = vec![0; 8192];
                let read = client.read(&mut head).await.unwrap();
                let head = String::from_utf8_lossy(&head[..read]).replace(&named, &own);
                let mut browser = tokio::net::TcpStream::connect(&own).await.unwrap();
                browser.write_all(head.as_bytes()).await.unwrap();
                // Either side may hang up.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut browser).await;
            });
        }
    });
    let endpoint = Endpoint::resolve(&format!("http://{outside}"), Vec::new(), PATIENCE).await.unwrap();
    assert_eq!(endpoint.ws_url, ws_url.replace(&inside, &outside));
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    let version = connection.call(command("Browser.getVersion", Json::Null, None)).await.unwrap();
    assert!(version["product"].as_str().unwrap().contains("Chrome"), "{version}");
    connection.close().await;
    proxy.abort();
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_as_a_browser_is_a_typed_error() {
    let server = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await;
    let report = Endpoint::resolve(&server.url("http"), Vec::new(), PATIENCE).await.unwrap_err();
    assert_eq!(report.code, ErrorCode::CdpConnectionFailed);
    assert!(report.message.contains("is no browser"), "{report}");
    let report = Connection::connect(&server.endpoint(), PATIENCE).await.unwrap_err();
    assert!(report.message.contains("instead of opening a WebSocket"), "{report}");

    let server = Server::start("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n").await;
    let url = format!("{}?token=hush", server.url("http"));
    let report = Endpoint::resolve(&url, vec![("X-Key".to_owned(), "hush".to_owned())], PATIENCE).await.unwrap_err();
    assert!(report.hint.contains("header") && !format!("{report:?}").contains("hush"), "{report:?}");
    let request = server.request().await;
    assert!(request.starts_with("GET /json/version?token=hush HTTP/1.1\r\n"), "{request}");
    assert!(request.to_lowercase().contains("x-key: hush\r\n"), "{request}");

    let server = Server::start("").await;
    let short = Duration::from_millis(100);
    for report in [
        Endpoint::resolve(&server.url("http"), Vec::new(), short).await.unwrap_err(),
        Endpoint::resolve(&server.url("https"), Vec::new(), short).await.unwrap_err(),
        Connection::connect(&server.endpoint(), short).await.unwrap_err(),
    ] {
        assert!(report.message.contains("within 100 ms"), "{report}");
    }
}

/// A server that sends the same answer to every client and keeps the connections open.
struct Server {
    address: std::net::SocketAddr,
    requests: tokio::sync::Mutex<tokio::sync::mpsc::UnboundedReceiver<String>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = tokio::sync::mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = vec![0; 8192];
                let read = socket.read(&mut request).await.unwrap();
                let _ = sender.send(String::from_utf8_lossy(&request[..read]).into_owned());
                socket.write_all(answer.as_bytes()).await.unwrap();
                open.push(socket);
            }
        });
        Self { address, requests: requests.into(), task }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint { ws_url: self.url("ws"), headers: Vec::new() }
    }

    async fn request(&self) -> String {
        self.requests.lock().await.recv().await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The client process of the test below, which trusts the certificate through an environment variable.
#[tokio::test]
async fn client_process() {
    let Some(url) = std::env::var_os("CODEMODE_TEST_ENDPOINT") else { return };
    let endpoint = Endpoint::resolve(url.to_str().unwrap(), Vec::new(), PATIENCE).await.unwrap();
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    let version = connection.execute(&GetVersionParams::default(), None, PATIENCE).await.unwrap();
    let protocol = codemode_chromium::Protocol::read(&endpoint, &version, PATIENCE).await.unwrap();
    assert!(protocol.command("Page.navigate").is_some());
    println!("ws_url={} product={}", endpoint.ws_url, version.product);
}

#[tokio::test]
async fn a_browser_behind_tls_is_reached_if_its_certificate_is_trusted() {
    let profiles = Profiles::new();
    let browser = profiles.launch_listening().await;
    let address = browser.endpoint().unwrap().ws_url.trim_start_matches("ws://").split('/').next().unwrap().to_owned();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let proxy = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, address) = (acceptor.clone(), address.clone());
            tokio::spawn(async move {
                let Ok(mut socket) = acceptor.accept(socket).await else { return };
                let mut browser = tokio::net::TcpStream::connect(address).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut socket, &mut browser).await;
            });
        }
    });
    let report = Endpoint::resolve(&url, Vec::new(), PATIENCE).await.unwrap_err();
    assert_eq!(report.code, ErrorCode::CdpConnectionFailed);
    assert!(report.message.contains("certificate"), "{report}");

    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, certified.cert.pem()).unwrap();
    let client = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "connection::client_process", "--nocapture"])
        .env("CODEMODE_TEST_ENDPOINT", &url)
        .env("SSL_CERT_FILE", &authority)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&client.stdout);
    assert!(client.status.success(), "{said} {}", String::from_utf8_lossy(&client.stderr));
    assert!(said.contains("ws_url=wss://localhost:") && said.contains("Chrome/"), "{said}");
    proxy.abort();
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_crashed_page_is_told_by_an_event_and_others_go_on() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let connection = connect(&browser).await;
    let (_, session) = page(&connection, "about:blank").await;
    let (_, other) = page(&connection, "about:blank").await;
    connection.call(command("Inspector.enable", Json::Null, Some(&session))).await.unwrap();
    let forever = json!({ "expression": "new Promise(() => {})", "awaitPromise": true });
    let pending = connection.call(command("Runtime.evaluate", forever, Some(&session)));
    let crash = connection.call(command("Page.crash", Json::Null, Some(&session)));
    let elsewhere = evaluate(&connection, &other, "new Promise(resolve => setTimeout(resolve, 500, 'done'))");
    let (pending, crash, elsewhere) = tokio::join!(pending, crash, elsewhere);
    assert_eq!(pending, Err(CdpError::Crashed { method: "Runtime.evaluate".to_owned(), session: session.clone() }));
    assert_eq!(crash, Err(CdpError::Crashed { method: "Page.crash".to_owned(), session: session.clone() }));
    assert_eq!(elsewhere, "done");
    let crashed =
        |event: &Event| event.method == "Inspector.targetCrashed" && event.session.as_deref() == Some(&session);
    tokio::time::timeout(PATIENCE, connection.events().wait(0, &crashed)).await.unwrap().unwrap();
    // The page is usable again once it has loaded another document.
    connection.call(command("Page.navigate", json!({ "url": "data:text/html,again" }), Some(&session))).await.unwrap();
    let loaded = async || evaluate(&connection, &session, "document.readyState + document.body?.textContent").await;
    let deadline = Instant::now() + PATIENCE;
    while loaded().await != "completeagain" {
        assert!(Instant::now() < deadline, "the page does not come back");
    }
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

/// A scripted browser, which answers each command as the test defines.
async fn scripted(
    answers: impl Fn(u64, &str) -> Vec<Message> + Send + Sync + 'static,
) -> (Endpoint, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ws_url = format!("ws://{}/", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(socket).await.unwrap();
        while let Some(Ok(Message::Text(text))) = socket.next().await {
            let command: Json = serde_json::from_str(&text).unwrap();
            for answer in answers(command["id"].as_u64().unwrap(), command["method"].as_str().unwrap()) {
                if socket.send(answer).await.is_err() {
                    return;
                }
            }
        }
    });
    (Endpoint { ws_url, headers: Vec::new() }, task)
}

#[tokio::test]
async fn answers_that_make_no_sense_hurt_no_other_call() {
    let (endpoint, server) = scripted(|id, method| match method {
        "malformed" => vec![Message::text(format!(r#"{{"id":{id},"result":{{"a":tru}}}}"#))],
        "noise" => vec![
            Message::text("nonsense"),
            Message::binary(vec![1, 2, 3]),
            Message::text("[]"),
            Message::text("{}"),
            Message::text(r#"{"id":999999,"result":{}}"#),
            Message::text(format!(r#"{{"method":"Deep.event","params":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000))),
            Message::text(format!(r#"{{"id":{id},"result":{{"ok":true}}}}"#)),
            Message::text(format!(r#"{{"id":{id},"result":{{"twice":true}}}}"#)),
        ],
        "refused" => vec![Message::text(format!(r#"{{"id":{id},"error":"words"}}"#))],
        _ => Vec::new(),
    })
    .await;
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    let malformed = connection.call(command("malformed", Json::Null, None)).await.unwrap_err();
    assert!(matches!(malformed, CdpError::Malformed { .. }), "{malformed:?}");
    assert_eq!(connection.call(command("noise", Json::Null, None)).await.unwrap(), json!({ "ok": true }));
    let refused = connection.call(command("refused", Json::Null, None)).await.unwrap_err();
    assert!(matches!(refused, CdpError::Protocol { code: 0, .. }), "{refused:?}");
    let batch = connection.events().since(0, 10, &|_| true);
    assert_eq!((batch.events.len(), batch.dropped, batch.next), (0, 1, 1), "the event that is too deep is counted");
    connection.close().await;
    server.await.unwrap();
}

#[tokio::test]
async fn answers_and_events_that_take_too_much_memory_fail_alone() {
    let (endpoint, server) = scripted(|id, method| {
        let values = |count: usize| format!("[0{}]", ",0".repeat(count - 1));
        let event = |count: usize| Message::text(format!(r#"{{"method":"Some.event","params":{}}}"#, values(count)));
        let answer = |text: String| Message::text(format!(r#"{{"id":{id},"result":{text}}}"#));
        match method {
            // Each value takes two bytes on the wire and five in the codec.
            "values" => vec![answer(values(REPLY_BYTES_MAX / 5))],
            "many" => vec![answer(values(REPLY_BYTES_MAX / 6))],
            "bytes" => vec![answer(format!(r#""{}""#, "x".repeat(CDP_REPLY_BYTES_MAX)))],
            // The first event exceeds the bound on all events; the second and the third do so only together.
            _ => vec![
                event(EVENT_RING_BYTES_MAX / 100),
                event(EVENT_RING_BYTES_MAX / 250),
                event(EVENT_RING_BYTES_MAX / 250),
                event(1),
                answer("1".into()),
            ],
        }
    })
    .await;
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    for method in ["values", "bytes"] {
        let refused = connection.call(command(method, Json::Null, None)).await.unwrap_err();
        assert!(matches!(refused, CdpError::TooLarge { bytes_max: CDP_REPLY_BYTES_MAX, .. }), "{refused:?}");
    }
    let many = connection.ask(command("many", Json::Null, None)).await.unwrap();
    assert!(many.0.len() > REPLY_BYTES_MAX / 6 * 5, "what is passed on may have many values");
    let refused = connection.call(command("many", Json::Null, None)).await.unwrap_err();
    assert!(matches!(refused, CdpError::TooLarge { .. }), "what the host reads itself may not: {refused:?}");
    assert_eq!(connection.call(command("events", Json::Null, None)).await.unwrap(), 1);
    let batch = connection.events().since(0, 10, &|_| true);
    assert_eq!((batch.events.len(), batch.dropped, batch.next), (2, 2, 4));
    connection.close().await;
    server.await.unwrap();
}

#[tokio::test]
async fn answers_that_are_not_taken_have_a_bound_and_what_is_small_goes_on() {
    let large = |id| Message::text(format!(r#"{{"id":{id},"result":"{}"}}"#, "x".repeat(REPLY_BYTES_MAX / 2 + 100)));
    let (endpoint, server) = scripted(move |id, method| match method {
        "large" => vec![large(id)],
        _ => vec![Message::text(format!(r#"{{"id":{id},"result":1}}"#))],
    })
    .await;
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    // Sent, and not polled again: the first answer holds its permits, and the second obtains none.
    let mut first = Box::pin(connection.ask(command("large", Json::Null, None)));
    let mut second = Box::pin(connection.ask(command("large", Json::Null, None)));
    assert!(futures::poll!(&mut first).is_pending());
    assert!(futures::poll!(&mut second).is_pending());
    assert_eq!(connection.call(command("small", Json::Null, None)).await.unwrap(), 1, "it came after both");
    let refused = second.await.unwrap_err();
    assert!(matches!(refused, CdpError::NoRoom { .. }), "{refused:?}");
    assert!(first.await.unwrap().0.len() > REPLY_BYTES_MAX / 2);
    assert!(connection.ask(command("large", Json::Null, None)).await.is_ok(), "there is room again");
    connection.close().await;
    server.await.unwrap();
}

#[tokio::test]
async fn a_message_beyond_the_bound_fails_as_such() {
    let (endpoint, server) = scripted(|id, _| {
        let mut answer = format!(r#"{{"id":{id},"result":""#).into_bytes();
        answer.resize(CDP_WEB_MESSAGE_BYTES_MAX + 1, b'x');
        vec![Message::text(String::from_utf8(answer).unwrap())]
    })
    .await;
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    let params = json!("x".repeat(CDP_COMMAND_BYTES_MAX));
    let refused = connection.call(command("large", params, None)).await.unwrap_err();
    assert!(matches!(refused, CdpError::TooLarge { bytes_max: CDP_COMMAND_BYTES_MAX, .. }), "{refused:?}");
    assert!(!connection.is_closed(), "nothing was sent");
    let refused = connection.call(command("small", Json::Null, None)).await.unwrap_err();
    let bytes_max = CDP_WEB_MESSAGE_BYTES_MAX;
    assert_eq!(refused, CdpError::TooLarge { bytes: bytes_max + 1, bytes_max });
    assert!(connection.is_closed());
    // The socket is closed although the connection is still held, so the server does not stay blocked in a write.
    tokio::time::timeout(PATIENCE, server).await.expect("the socket is closed").unwrap();
    drop(connection);
}

#[tokio::test]
async fn a_call_that_is_dropped_keeps_nothing_and_others_go_on() {
    let (endpoint, server) = scripted(|id, method| match method {
        "answered" => vec![Message::text(format!(r#"{{"id":{id},"result":1}}"#))],
        _ => Vec::new(),
    })
    .await;
    let connection = Connection::connect(&endpoint, PATIENCE).await.unwrap();
    for _ in 0..100 {
        let call = connection.call(command("unanswered", Json::Null, None));
        assert!(tokio::time::timeout(Duration::from_micros(200), call).await.is_err());
    }
    assert_eq!(connection.call(command("answered", Json::Null, None)).await.unwrap(), 1);
    // The number of pending calls is visible only in the `Debug` output.
    assert!(format!("{connection:?}").contains("pending: 0"), "{connection:?}");
    connection.close().await;
    server.await.unwrap();
}
