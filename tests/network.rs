//! Network rules for pages: a real Chromium behind the proxy that enforces them, and the program with rules from an
//! operator and from a call.

use crate::support::{
    browsing::block_on,
    leases::{Leases, envelope_of},
    program::PATIENCE,
    web::{BIG_BYTES, Echo, Names, Page, Proxied, Web, rules, until},
};
use codemode_host::network::{Policy, Upstream};
use serde_json::{Value as Json, json};
use std::{
    fs,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream, UdpSocket},
};

#[test]
fn a_page_goes_through_the_proxy_and_names_the_rule_that_refuses_it() {
    block_on(async {
        let web = Web::on("127.0.0.1").await;
        let port = web.port();
        let mut browser = Proxied::with(&[], &["bad.test"]).await;
        assert_eq!(browser.visit(&format!("http://good.test:{port}/a?b")).await, format!("{} | ", web.address));
        // Loopback is not exempt.
        assert_eq!(browser.visit(&format!("http://127.0.0.1:{port}/c")).await, format!("{} | ", web.address));
        let expected = [format!("GET good.test:{port} /a []"), format!("GET 127.0.0.1:{port} /c []")];
        let asked: Vec<_> = web.asked().into_iter().filter(|asked| !asked.contains("favicon")).collect();
        assert_eq!(asked, expected, "nothing of a hop goes further");

        let refused = browser.visit(&format!("http://bad.test:{port}/secret")).await;
        let words = format!("bad.test:{port} is refused by a network rule of codemode: deny bad.test.");
        assert!(refused.starts_with("Refused | ") && refused.contains(&words), "{refused}");
        assert_eq!(browser.refused().await, format!("bad.test:{port} deny bad.test"));
        assert_eq!(browser.visit(&format!("https://bad.test:{port}/")).await, "net::ERR_TUNNEL_CONNECTION_FAILED");
        let link_local = browser.visit("http://169.254.169.254/latest/meta-data/").await;
        assert!(link_local.contains("default: link-local 169.254.0.0/16"), "{link_local}");
        let nowhere = browser.visit("http://nowhere.test/").await;
        assert_eq!(nowhere, "net::ERR_EMPTY_RESPONSE", "a failure, and no document of the proxy's");
        let told = "nowhere.test:80 net::ERR_NAME_NOT_RESOLVED".to_owned();
        assert!(browser.unreachable().contains(&told), "it is told before the browser is answered");
        assert!(!web.asked().iter().any(|asked| asked.contains("bad.test")), "{:?}", web.asked());
    });
}

#[test]
fn bodies_stream_in_both_directions() {
    block_on(async {
        let web = Web::on("127.0.0.1").await;
        let browser = Proxied::with(&[], &[]).await;
        browser.visit(&format!("http://good.test:{}/", web.port())).await;
        let up = "fetch('/count', { method: 'POST', body: new Blob(Array(32).fill('x'.repeat(1 << 20))) })
                  .then((answer) => answer.text())";
        assert_eq!(browser.evaluate(up).await, (32 << 20).to_string());
        let down = "fetch('/big').then((answer) => answer.blob()).then((blob) => blob.size)";
        assert_eq!(browser.evaluate(down).await, BIG_BYTES);
        // Answers are streamed: the first part arrives before the last one is sent.
        let first = "(async () => {
            const reader = (await fetch('/held')).body.getReader();
            const read = async () => new TextDecoder().decode((await reader.read()).value);
            const first = await read();
            await fetch('/release');
            return first + await read();
        })()";
        assert_eq!(browser.evaluate(first).await, "first, last");
        // Many concurrent requests over few connections.
        let many = "Promise.all(Array.from({ length: 60 }, (_, n) => fetch('/echo', { method: 'PUT', body: 'n' + n })
                    .then((answer) => answer.text()))).then((all) => all.every((text, n) => text === 'n' + n))";
        assert_eq!(browser.evaluate(many).await, true);
    });
}

#[test]
fn a_web_socket_works_until_the_rules_refuse_it() {
    block_on(async {
        let (web, echo) = (Web::on("127.0.0.1").await, Echo::start().await);
        let mut browser = Proxied::with(&[], &["*:1"]).await;
        browser.visit(&format!("http://good.test:{}/", web.port())).await;
        let open = format!(
            "new Promise((done) => {{
                 window.ended = false;
                 window.socket = new WebSocket('ws://good.test:{}/');
                 socket.onmessage = (event) => done(event.data);
                 socket.onclose = () => {{ window.ended = true; done('closed') }};
                 socket.onopen = () => socket.send('hello');
             }})",
            echo.port
        );
        assert_eq!(browser.evaluate(&open).await, "hello");
        // New rules that still allow the host leave the connection open.
        browser.gate.narrow(Some(rules(&["good.test"], &[])));
        let again = "new Promise((done) => { socket.onmessage = (event) => done(event.data); socket.send('again') })";
        assert_eq!(browser.evaluate(again).await, "again");
        browser.gate.narrow(Some(rules(&[], &[&format!("good.test:{}", echo.port)])));
        until("the end of the socket", async || browser.evaluate("ended").await == json!(true)).await;
        let rule = format!("good.test:{0} the call's deny good.test:{0}", echo.port);
        assert_eq!(browser.refused().await, rule);
        assert_eq!(browser.evaluate(&open).await, "closed", "it cannot be opened again");
        browser.gate.narrow(None);
        assert_eq!(browser.evaluate(&open).await, "hello");
    });
}

#[test]
fn a_second_answer_of_the_name_service_changes_nothing() {
    block_on(async {
        let (open, secret) = (Web::on("127.0.0.1").await, Web::on("127.0.0.2").await);
        let names = Names::new(&[
            // DNS rebinding: first an allowed address, then a denied one.
            ("rebound.test", &[&["127.0.0.1"], &["127.0.0.2"]]),
            ("mixed.test", &[&["127.0.0.2", "127.0.0.1"]]),
        ]);
        let policy = Policy::narrow(rules(&[], &["127.0.0.2"]), None);
        let browser = Proxied::start(policy, names, Upstream::default()).await;
        let there = format!("{} | ", open.address);
        assert_eq!(browser.visit(&format!("http://rebound.test:{}/", open.port())).await, there);
        // Another port forces a new resolution.
        let rebound = browser.visit(&format!("http://rebound.test:{}/", secret.port())).await;
        assert!(rebound.contains("deny 127.0.0.2"), "{rebound}");
        assert_eq!(browser.visit(&format!("http://mixed.test:{}/", open.port())).await, there);
        let mixed = browser.visit(&format!("http://mixed.test:{}/", secret.port())).await;
        assert_eq!(mixed, "net::ERR_EMPTY_RESPONSE", "what is not refused does not listen there");
        for host in ["127.0.0.2", "[::ffff:127.0.0.2]", "[64:ff9b::127.0.0.2]", "[2002:7f00:2::]", "0x7f000002"] {
            let text = browser.visit(&format!("http://{host}:{}/", secret.port())).await;
            assert!(text.contains("deny 127.0.0.2"), "{host}: {text}");
        }
        assert_eq!(secret.asked(), Vec::<String>::new());
    });
}

/// A corporate proxy: records request heads, answers requests itself and connects all tunnels to one port.
async fn company_proxy(leads_to: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = client.read_u8().await else { return };
                    head.push(byte);
                }
                let head = String::from_utf8(head).unwrap();
                noted.lock().unwrap().push(head.clone());
                if head.starts_with("CONNECT") {
                    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, leads_to)).await.unwrap();
                    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                } else {
                    let page = "<!doctype html><title>by the company</title>";
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                        page.len()
                    );
                    client.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (port, heads)
}

#[test]
fn a_proxy_of_the_environment_is_used_behind_the_rules() {
    block_on(async {
        let (web, echo) = (Web::on("127.0.0.1").await, Echo::start().await);
        let (port, heads) = company_proxy(echo.port).await;
        let upstream = Upstream::of(|name| match name {
            "http_proxy" | "HTTPS_PROXY" => Some(format!("http://me:secret@127.0.0.1:{port}")),
            "no_proxy" => Some(".internal.test".to_owned()),
            _ => None,
        });
        let names = Names::new(&[("a.internal.test", &[&["127.0.0.1"]])]);
        let policy = Policy::narrow(rules(&[], &["bad.test", "10.0.0.0/8"]), None);
        let browser = Proxied::start(policy, names, upstream.unwrap()).await;
        // The name is not resolved on this machine.
        assert_eq!(browser.visit("http://far.test/page?q").await, "by the company | ");
        let socket = "new Promise((done) => {
            const socket = new WebSocket('ws://socket.test/');
            socket.onmessage = (event) => done(event.data);
            socket.onerror = () => done('error');
            socket.onopen = () => socket.send('through two');
        })";
        assert_eq!(browser.evaluate(socket).await, "through two");
        for refused in
            ["http://bad.test/", "http://10.1.2.3/", "http://169.254.169.254/", "http://metadata.google.internal/"]
        {
            let text = browser.visit(refused).await;
            assert!(text.starts_with("Refused | "), "{refused}: {text}");
        }
        // Exempted hosts and loopback are connected directly.
        let there = format!("{} | ", web.address);
        for host in ["a.internal.test", "127.0.0.1"] {
            assert_eq!(browser.visit(&format!("http://{host}:{}/", web.port())).await, there);
        }
        let heads = heads.lock().unwrap().clone();
        let own = |head: &&String| ["far.test", "socket.test"].iter().any(|name| head.contains(name));
        let seen: Vec<_> = heads.iter().filter(own).map(|head| head.lines().next().unwrap()).collect();
        assert!(seen.starts_with(&["GET http://far.test/page?q HTTP/1.1"]), "{seen:?}");
        assert!(seen.contains(&"CONNECT socket.test:80 HTTP/1.1"), "{seen:?}");
        for head in &heads {
            let head = head.to_ascii_lowercase();
            assert!(head.contains("proxy-authorization: basic bwu6c2vjcmv0"), "{head}");
            assert!(
                !["bad.test", "10.1.2.3", "169.254", "metadata", "internal"].iter().any(|name| head.contains(name)),
                "{head}"
            );
        }
    });
}

/// Starts WebRTC towards itself and towards a UDP port of this machine; returns the number of candidates.
const WEBRTC: &str = "(async () => {
    const found = [];
    const one = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:PORT' }] });
    const other = new RTCPeerConnection();
    one.createDataChannel('x');
    one.onicecandidate = ({ candidate }) => candidate && found.push(candidate.candidate);
    const gathered = new Promise((done) => {
        one.onicegatheringstatechange = () => one.iceGatheringState === 'complete' && done();
    });
    await one.setLocalDescription();
    await other.setRemoteDescription(one.localDescription);
    await other.setLocalDescription();
    await one.setRemoteDescription(other.localDescription);
    await one.addIceCandidate({ candidate: 'candidate:1 1 udp 2113937151 127.0.0.1 PORT typ host', sdpMid: '0', sdpMLineIndex: 0 });
    await gathered;
    window.kept = [one, other];
    return found.length;
})()";

#[test]
fn web_rtc_sends_nothing_around_the_proxy() {
    block_on(async {
        let udp = Arc::new(UdpSocket::bind(("127.0.0.1", 0)).await.unwrap());
        let port = udp.local_addr().unwrap().port();
        let packets = Arc::new(AtomicUsize::new(0));
        let (listening, counted) = (Arc::clone(&udp), Arc::clone(&packets));
        tokio::spawn(async move {
            while listening.recv(&mut [0; 2048]).await.is_ok() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let probe = WEBRTC.replace("PORT", &port.to_string());
        let web = Web::on("127.0.0.1").await;
        let browser = Proxied::with(&[], &[]).await;
        browser.visit(&format!("http://good.test:{}/", web.port())).await;
        assert_eq!(browser.evaluate(&probe).await, 0, "ways that it found");
        // The same probe from a browser without a proxy arrives; waiting for it gives the first one time to arrive too.
        let plain = Page::launch(None).await;
        assert_eq!(packets.load(Ordering::Relaxed), 0);
        plain.visit(&format!("http://127.0.0.1:{}/", web.port())).await;
        // Without waiting for the end of gathering, which comes only after a long timeout.
        plain.evaluate(&probe.replace("await gathered", "")).await;
        until("packets of the other one", async || packets.load(Ordering::Relaxed) > 0).await;
        plain.browser.close().await.unwrap();
        packets.store(0, Ordering::Relaxed);
        assert_eq!(browser.evaluate(&probe).await, 0);
        browser.visit(&format!("http://good.test:{}/after", web.port())).await;
        assert_eq!(packets.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn no_other_process_can_use_the_proxy() {
    block_on(async {
        let web = Web::on("127.0.0.1").await;
        let (strict, other) = tokio::join!(Proxied::with(&[], &["127.0.0.0/8"]), Proxied::with(&[], &[]));
        // This process is not the browser to which the proxy belongs.
        let mut stranger = TcpStream::connect(other.proxy).await.unwrap();
        let request = format!("GET http://127.0.0.1:{}/stranger HTTP/1.1\r\nHost: x\r\n\r\n", web.port());
        stranger.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // Closed, or reset because of unread data.
        let _ = tokio::time::timeout(PATIENCE, stranger.read_to_end(&mut answer)).await.expect("it is closed");
        assert_eq!(String::from_utf8_lossy(&answer), "");
        // A page that requests the other proxy's port through its own proxy, and one that requests its own proxy's.
        for proxy in [strict.proxy, other.proxy] {
            let through = other.visit(&format!("http://127.0.0.1:{}/", proxy.port())).await;
            assert_eq!(through, "net::ERR_EMPTY_RESPONSE");
        }
        // From an allowed page: the error page shown for a refused one cannot load anything.
        other.visit(&format!("http://127.0.0.1:{}/", web.port())).await;
        let tunnel = format!(
            "new Promise((done) => {{ const socket = new WebSocket('ws://127.0.0.1:{}/'); \
             socket.onerror = () => done('error'); socket.onopen = () => done('open') }})",
            strict.proxy.port()
        );
        assert_eq!(other.evaluate(&tunnel).await, "error");
        assert!(!web.asked().iter().any(|asked| asked.contains("stranger")), "{:?}", web.asked());
        // Each proxy works for its own browser.
        assert_eq!(other.visit(&format!("http://127.0.0.1:{}/", web.port())).await, format!("{} | ", web.address));
        let refused = strict.visit(&format!("http://127.0.0.1:{}/", web.port())).await;
        assert!(refused.contains("deny 127.0.0.0/8"), "{refused}");
    });
}

/// Reads the title and text of a page, also of the error page that a refused navigation shows.
const TITLE: &str = "await visit('/'); while (await evaluate('document.readyState') !== 'complete'); \
                     await evaluate('document.title + \" | \" + document.body.innerText')";

fn result(envelope: &Json) -> &str {
    envelope["data"]["result"].as_str().unwrap_or_else(|| panic!("{envelope}"))
}

/// Asserts that a script's navigation was refused: to which host, and by which rule.
#[track_caller]
fn assert_network_refused(answer: &Json, words: &str) {
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_default();
    let begin = "Page.navigate is refused: a network rule of codemode refuses ";
    assert!(error["code"] == "POLICY_REFUSED" && message.starts_with(begin) && message.ends_with(words), "{answer}");
}

fn refusals(leases: &Leases) -> Vec<Json> {
    let mut shown = leases.ask(&["audit", "show", "--json"]);
    let Json::Array(rows) = shown["data"]["rows"].take() else { panic!("{shown}") };
    rows.into_iter().filter(|row| row["kind"] == "network.refused").collect()
}

#[test]
fn an_operators_rule_refuses_and_the_audit_tells() {
    let leases = Leases::new();
    let site = leases.site.url().replace("http://", "");
    let config = leases.state().with_file_name("rules.toml");
    fs::write(&config, "[network]\ndeny = [\"127.0.0.2\", \"localhost\"]\n").unwrap();
    let config = config.to_str().unwrap();
    let code = |host: &str| leases.script(TITLE).replace("127.0.0.1", host).replace("'/'", "'/secret?token=1'");
    let run = |code: &str| leases.ask(&["run", "--json", "--config", config, "-e", code]);
    assert_eq!(result(&run(&code("127.0.0.1"))), "A page | ");
    let refused = run(&code("127.0.0.2"));
    let (_, port) = site.split_once(':').unwrap();
    assert_network_refused(&refused, &format!("127.0.0.2:{port} (deny 127.0.0.2)"));
    let rows = refusals(&leases);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(row["execution"], refused["context"]["execution_id"], "{row}");
    assert!(row["session"].is_string() && row["token"].is_u64(), "{row}");
    let detail: Json = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
    let port: u16 = port.parse().unwrap();
    assert_eq!(detail, json!({"host": "127.0.0.2", "port": port, "rule": "deny 127.0.0.2", "count": 1}));
    assert!(!row.to_string().contains("secret"), "{row}");
    assert_eq!(leases.ask(&["audit", "verify", "--json"])["data"]["intact"], true);

    fs::write(leases.state().with_file_name("wrong.toml"), "[network]\nallow = [\"http://a.test\", \"*b\"]\n").unwrap();
    let wrong = leases.state().with_file_name("wrong.toml");
    let wrong = envelope_of(leases.command(&["run", "--json", "--config", wrong.to_str().unwrap(), "-e", "1"]));
    let message = wrong["error"]["message"].as_str().unwrap();
    assert!(message.contains("http://a.test") && message.contains("\"*b\""), "{message}");
}

#[test]
fn a_call_narrows_a_shared_browser_for_its_own_lease() {
    let leases = Leases::new();
    let code = leases.script(TITLE);
    let run = |more: &[&str]| leases.ask(&[&["run", "--json", "--session-key", "shop", "-e", &code], more].concat());
    assert_eq!(result(&run(&[])), "A page | ");
    let first = leases.session("shop")["id"].clone();
    let refused = run(&["--net-deny", "127.0.0.0/8"]);
    assert_network_refused(&refused, "(the call's deny 127.0.0.0/8)");
    assert_eq!(result(&run(&[])), "A page | ", "that lease is over");
    let refused = run(&["--net-allow", "elsewhere.test"]);
    assert_network_refused(&refused, "(the call's allow does not name it)");
    assert_eq!(result(&run(&["--net-allow", "127.0.0.1"])), "A page | ");
    assert_eq!(leases.session("shop")["id"], first, "it was one browser all the time");
    let rows = refusals(&leases);
    assert!(rows.iter().all(|row| row["key"] == "shop"), "{rows:?}");
    let wrong = run(&["--net-deny", "http://a.test/"]);
    assert_eq!(wrong["error"]["code"], "INVALID_ARGUMENT", "{wrong}");
    assert_eq!(leases.ask(&["sessions", "close", "shop", "--json"])["ok"], true);
}

/// Navigates to each URL; returns the error's code and details, or the page's title.
const NAVIGATIONS: &str = "
const outcomes = {};
for (const url of URLS) {
  try {
    const { errorText } = await send('Page.navigate', { url });
    while (await evaluate('document.readyState') !== 'complete');
    outcomes[url] = errorText ?? await evaluate('document.title');
  } catch ({ code, details }) {
    outcomes[url] = [code, details.host, details.port, details.rule];
  }
}
const left = await evaluate('document.title + document.body.innerText');
const seen = (await cdp.events({ limit: 1000 })).events.map(({ method }) => method);
const waited = await cdp.waitForEvent('Codemode.destinationRefused', { timeoutMs: 1 }).catch(({ code }) => code);
return { outcomes, left, ours: seen.filter((method) => method.startsWith('Codemode')), waited };";

#[test]
fn a_refused_navigation_is_an_error_of_the_script_and_a_forged_refusal_is_not() {
    block_on(async {
        let (open, shut) = (Web::on("127.0.0.1").await, Web::on("127.0.0.2").await);
        let leases = tokio::task::spawn_blocking(Leases::new).await.unwrap();
        let (good, bad) = (format!("http://{}", open.address), shut.address);
        let secure = format!("https://{bad}/");
        let refused = |port: u16| json!(["POLICY_REFUSED", "127.0.0.2", port, "the call's deny 127.0.0.2"]);
        let expected = json!({
            format!("{good}/"): open.address.to_string(),
            format!("http://{bad}/secret"): refused(bad.port()),
            // The page has requested an image from the refused host.
            format!("{good}/picture?http://{bad}/"): "a picture",
            &secure: refused(bad.port()),
            format!("http://127.0.0.2/"): refused(80),
            format!("http://2130706434:{}/", bad.port()): refused(bad.port()),
            format!("{good}/redirect?http://{bad}/"): refused(bad.port()),
            format!("{good}/redirect?{secure}"): refused(bad.port()),
            // A server that forges the proxy's refusal.
            format!("{good}/forged?127.0.0.2:{}; the call's deny 127.0.0.2", bad.port()): "Refused",
            format!("{good}/redirect?http://{bad}/last"): refused(bad.port()),
        });
        let urls: Vec<_> = expected.as_object().unwrap().keys().collect();
        let code = leases.script(&NAVIGATIONS.replace("URLS", &json!(urls).to_string()));
        let answer =
            tokio::task::spawn_blocking(move || leases.ask(&["run", "--json", "--net-deny", "127.0.0.2", "-e", &code]));
        let answer = answer.await.unwrap();
        let found = &answer["data"]["result"];
        assert_eq!(found["outcomes"], expected, "{answer}");
        assert_eq!((&found["ours"], &found["waited"]), (&json!([]), &json!("UNKNOWN_METHOD")), "{answer}");
        let left = found["left"].as_str().unwrap();
        assert!(left.starts_with("Refused") && left.contains("the call's deny 127.0.0.2"), "{left}");
        assert_eq!(shut.asked(), Vec::<String>::new());
    });
}

const REQUESTS: &str = "
const page = await browser.open('GOOD/');
const outcomes = {};
for (const url of URLS) {
  const told = (answer) => answer.text().then((text) => text.includes('<title>') ? answer.status() : text);
  outcomes[url] = await page.request.get(url).then(told, ({ code, details }) => [code, details.host, details.port, details.rule]);
}
return outcomes;";

#[test]
fn a_request_of_a_script_is_judged_as_a_navigation_is() {
    block_on(async {
        let (open, shut) = (Web::on("127.0.0.1").await, Web::on("127.0.0.2").await);
        let leases = tokio::task::spawn_blocking(Leases::new).await.unwrap();
        let (good, bad) = (format!("http://{}", open.address), shut.address);
        let refused = |port: u16| json!(["POLICY_REFUSED", "127.0.0.2", port, "the call's deny 127.0.0.2"]);
        let expected = json!({
            format!("{good}/"): 200,
            format!("http://{bad}/secret"): refused(bad.port()),
            format!("https://{bad}/"): refused(bad.port()),
            format!("http://2130706434:{}/", bad.port()): refused(bad.port()),
            format!("{good}/redirect?http://{bad}/"): refused(bad.port()),
            format!("{good}/redirect?https://{bad}/"): refused(bad.port()),
        });
        let urls: Vec<_> = expected.as_object().unwrap().keys().collect();
        let code = leases.script(&REQUESTS.replace("URLS", &json!(urls).to_string()).replace("GOOD", &good));
        let answer =
            tokio::task::spawn_blocking(move || leases.ask(&["run", "--json", "--net-deny", "127.0.0.2", "-e", &code]));
        let answer = answer.await.unwrap();
        assert_eq!(answer["data"]["result"], expected, "{answer}");
        assert_eq!(shut.asked(), Vec::<String>::new());
    });
}
