//! `codemode serve`, tested by well-behaved and by hostile clients.

use crate::support::{
    http::{Reply, STATELESS, Serving, call, with_session},
    leases::Witness,
    program::{PATIENCE, Place, need_browser, wait_until},
    resident::beside_sandboxes_kib,
};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

const OF_CI: &str = "ci-0123456789abcdef0123456789abcdef";
const OF_ME: &str = "me-fedcba9876543210fedcba9876543210";
/// A script that runs until it is cancelled.
const ENDLESS: &str = "console.warn('running'); await new Promise((r) => setTimeout(r, 1e8))";

/// A host with two callers, one of which is restricted.
fn with_tokens(place: &Place, arguments: &[&str]) -> Serving {
    let file = place.folder().join("tokens.toml");
    let text = format!(
        "[ci]\ntoken = \"{OF_CI}\"\nconcurrent = 1\nqueued = 0\nkeys = [\"ci-*\"]\n[ci.network]\ndeny = [\"localhost\"]\n\
         [me]\ntoken = \"{OF_ME}\"\n"
    );
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--token-file"]);
    command.arg(file).args(arguments).env("CODEMODE_LOG", "trace");
    command.stderr(fs::File::create(place.folder().join("log")).unwrap());
    Serving::of(command)
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn code(arguments: &str) -> Json {
    json!({ "code": arguments })
}

/// Starts an endless execution; the thread returns its answer.
fn begin(serving: &Serving, headers: &[(&str, &str)]) -> thread::JoinHandle<Option<Reply>> {
    serving.begin(headers, &json!({"code": ENDLESS, "timeout_ms": 600_000}))
}

#[test]
fn both_revisions_are_served_and_the_host_says_when_it_is_ready() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    assert_eq!(serving.ask("GET", "/healthz", &[], "").json(), json!({"ok": true}));
    need_browser();
    wait_until("readiness", PATIENCE, || serving.ask("GET", "/readyz", &[], "").status == 200);
    assert_eq!(serving.ask("GET", "/readyz", &[], "").json(), json!({"ready": true, "reasons": []}));

    let session = serving.initialize(&[]);
    let headers = with_session(&[], &session);
    let list = serving.send(&headers, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).message();
    assert_eq!(list["result"]["tools"][0]["name"], "browser_execute", "{list}");
    let params = json!({"name": "browser_execute", "arguments": code("console.log('one'); 1 + 1")});
    let called = serving.send(&headers, &json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}));
    let envelope = &called.message()["result"]["structuredContent"];
    assert_eq!((&envelope["data"]["result"], &envelope["data"]["logs"][0]["text"]), (&json!(2), &json!("one")));

    let answer = serving.execute(&[], &code("console.log('one'); 1 + 1"));
    assert_eq!((&answer["data"]["result"], &answer["data"]["logs"][0]["text"]), (&json!(2), &json!("one")));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}}});
    let versions = serving.send(&[], &message).message()["result"]["supportedVersions"].clone();
    assert!(versions.as_array().is_some_and(|versions| versions.contains(&json!(STATELESS))), "{versions}");

    let numbers = serving.ask("GET", "/metrics", &[], "");
    assert!(numbers.header("content-type").unwrap().starts_with("application/openmetrics-text"), "{numbers:?}");
    let number = |name: &str| {
        let line = numbers.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {}", numbers.body)).parse::<f64>().unwrap()
    };
    assert_eq!(number("codemode_executions_total{outcome=\"OK\"}"), 2.0);
    assert_eq!((number("codemode_executions_running"), number("codemode_leases")), (0.0, 0.0));
    assert_eq!(number("codemode_execution_seconds_count"), 2.0);
    assert!(number("codemode_turn_seconds_count") >= 2.0 && numbers.body.ends_with("# EOF\n"), "{}", numbers.body);

    // A client can delete its session.
    assert_eq!(serving.ask("DELETE", "/mcp", &headers, "").status / 100, 2);
    assert_eq!(serving.send(&headers, &json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"})).status, 404);
}

#[test]
fn a_caller_needs_its_token_and_no_token_is_written_anywhere() {
    let place = Place::new();
    let serving = with_tokens(&place, &[]);
    let me = bearer(OF_ME);
    for (headers, why) in [
        (vec![], "the request has no token"),
        (vec![("authorization", "Basic bWU6bWU=")], "the request has no token"),
        (vec![("authorization", me.as_str()), ("authorization", me.as_str())], "the request has no token"),
        (vec![("authorization", "Bearer me-fedcba9876543210fedcba9876543211")], "the request's token is not known"),
        (vec![("authorization", "Bearer ")], "the request has no token"),
    ] {
        let refused = serving.send(&headers, &call(&code("1")));
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")), "{why}");
        let error = &refused.json()["error"];
        assert_eq!((&error["code"], &error["message"]), (&json!("UNAUTHENTICATED"), &json!(why)));
    }
    // A token in the query is not accepted.
    let refused = serving.ask("POST", &format!("/mcp?access_token={OF_ME}"), &[], "{}");
    assert_eq!((refused.status, serving.ask("GET", "/metrics", &[], "").status), (401, 401));
    for scheme in ["Bearer", "bearer"] {
        let answer = serving.execute(&[("authorization", &format!("{scheme} {OF_ME}"))], &code("1 + 1"));
        assert_eq!(answer["data"]["result"], 2, "{answer}");
    }
    // The caller's name is in the audit, and the token is stored nowhere.
    let audit = place.run(&["audit", "show", "--json"]);
    let audit = String::from_utf8(audit.stdout).unwrap();
    assert!(audit.contains(r#"\"caller\":\"me\""#), "{audit}");
    drop(serving);
    let log = fs::read_to_string(place.folder().join("log")).unwrap();
    assert!(!log.is_empty());
    for text in [&audit, &log] {
        assert!(!text.contains(OF_ME) && !text.contains(OF_CI), "{text}");
    }
    let state = walk(&place.folder().join("state"));
    assert!(!state.is_empty() && !state.iter().any(|bytes| bytes.windows(OF_ME.len()).any(|w| w == OF_ME.as_bytes())));
}

/// The contents of all files below a folder.
fn walk(folder: &std::path::Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { fs::read(path).into_iter().collect() }).collect()
}

#[test]
fn a_caller_has_its_keys_its_network_and_its_places_and_no_session_of_another() {
    need_browser();
    let place = Place::new();
    let (serving, site) = (with_tokens(&place, &[]), Witness::start());
    let (of_ci, of_me) = (bearer(OF_CI), bearer(OF_ME));
    let (ci, me) = ([("authorization", of_ci.as_str())], [("authorization", of_me.as_str())]);
    let reuse = |key: &str, code: &str| json!({"code": code, "session": {"mode": "reuse", "key": key}});
    let refused = serving.execute(&ci, &reuse("mine", "1"));
    assert_eq!(refused["error"]["code"], "POLICY_REFUSED", "{refused}");
    assert_eq!(refused["error"]["hint"], "Use one of this caller's keys: ci-*.");
    // The operator's rules for this caller apply whatever its call requests, and do not apply to another caller.
    let visit = format!(
        "const page = await browser.open('{}'); await page.title()",
        site.url().replace("127.0.0.1", "localhost")
    );
    let lifting = json!({"allow": ["*"]});
    for (key, network) in [("ci-1", Json::Null), ("ci-2", lifting)] {
        let mut arguments = reuse(key, &visit);
        if !network.is_null() {
            arguments["session"]["network"] = network;
        }
        let answer = serving.execute(&ci, &arguments);
        assert_eq!(answer["error"]["code"], "POLICY_REFUSED", "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("the caller's deny localhost"), "{answer}");
    }
    assert_eq!(serving.execute(&me, &code(&visit))["ok"], true);

    // One execution, and no queue.
    let running = begin(&serving, &ci);
    let full = serving.execute(&ci, &code("1"));
    assert_eq!(full["error"]["code"], "CAPACITY_EXCEEDED", "{full}");
    assert_eq!(serving.execute(&me, &code("1"))["data"]["result"], 1);

    let session = serving.initialize(&ci);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(serving.send(&with_session(&me, &session), &list).status, 404);
    let stream = [("accept", "text/event-stream")];
    let stream: Vec<_> = with_session(&me, &session).into_iter().chain(stream).collect();
    assert_eq!(serving.ask("GET", "/mcp", &stream, "").status, 404);
    serving.ask("DELETE", "/mcp", &with_session(&me, &session), "");
    assert_eq!(serving.send(&with_session(&ci, &session), &list).status, 200);
    serving.program.signal(Signal::TERM);
    drop(serving);
    running.join().unwrap();
}

#[test]
fn a_client_that_goes_away_ends_what_it_had_started() {
    let place = Place::new();
    let serving = Serving::start(&place, &["--token-file", tokens_of_one(&place).to_str().unwrap()]);
    let token = bearer(OF_ME);
    let headers = [("authorization", token.as_str())];
    // The slot is free again as soon as the client has disconnected.
    for _ in 0..3 {
        let mut stream = serving.connect();
        let mut message = call(&json!({"code": ENDLESS, "timeout_ms": 600_000}));
        message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning");
        stream.write_all(serving.message(&headers, &message).as_bytes()).unwrap();
        let mut seen = String::new();
        while !seen.contains("running") {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap();
            seen += &String::from_utf8_lossy(&bytes[..read]);
        }
        drop(stream);
        let answer = serving.execute(&headers, &code("'next'"));
        assert_eq!(answer["data"]["result"], "next", "{answer}");
    }
}

/// A token file with one caller that may run one execution.
fn tokens_of_one(place: &Place) -> std::path::PathBuf {
    let file = place.folder().join("one.toml");
    fs::write(&file, format!("[me]\ntoken = \"{OF_ME}\"\nconcurrent = 1\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file
}

#[test]
fn foreign_hosts_and_pages_are_refused() {
    let place = Place::new();
    let serving =
        Serving::start(&place, &["--allowed-host", "tools.example", "--allowed-origin", "https://app.example"]);
    let own = format!("http://{}", serving.address);
    let status = |headers: &[(&str, &str)]| serving.send(headers, &call(&code("1"))).status;
    for (headers, expected) in [
        (vec![], 200),
        (vec![("host", "tools.example")], 200),
        (vec![("origin", own.as_str())], 200),
        (vec![("origin", "https://app.example")], 200),
        (vec![("host", "evil.example")], 403),
        (vec![("host", "evil.example"), ("origin", "http://evil.example")], 403),
        (vec![("host", "tools.example"), ("host", "evil.example")], 403),
        (vec![("origin", "http://evil.example")], 403),
        (vec![("origin", "null")], 403),
        (vec![("sec-fetch-site", "none")], 200),
        (vec![("sec-fetch-site", "same-origin")], 200),
        (vec![("sec-fetch-site", "cross-site")], 403),
        (vec![("sec-fetch-site", "same-site")], 403),
        (vec![("sec-fetch-site", "cross-site"), ("origin", "https://app.example")], 200),
        (vec![("via", "1.0 mine, 1.1 codemode-browser")], 403),
    ] {
        assert_eq!(status(&headers), expected, "{headers:?}");
    }
    let missing = serving.raw(b"POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    assert!(matches!(missing.status, 400 | 403), "{missing:?}");
}

#[test]
fn a_script_does_not_reach_the_host_that_runs_it() {
    need_browser();
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let script = r#"
        const page = await browser.open("about:blank");
        const seen = [];
        for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
          for (const path of ["/mcp", "/admin/v1/sessions", "/api/v1/tabs", "/metrics", "/", "/dashboard/app.js"]) {
            const answer = await page.goto(`http://${host}:PORT${path}`).catch((error) => error);
            if (answer?.status?.() === 200) seen.push([host, path, await page.textContent("body")]);
          }
        await page.goto("http://127.0.0.1:PORT/healthz");
        const posted = await page.evaluate(async () => {
          const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", "x-via": "1.1 x" };
          const answers = [];
          for (const path of ["/mcp", "/api/v1/tabs", "/admin/v1/sessions/x/revoke"])
            answers.push((await fetch(path, { method: "POST", headers, body: "{}" })).status);
          return answers;
        });
        const sent = await page.request.get("http://127.0.0.1:PORT/admin/v1/sessions").then((a) => a.status());
        ({ seen, posted, sent })"#;
    let script = script.replace("PORT", &serving.address.port().to_string());
    let answer = serving.execute(&[], &code(&script));
    let result = &answer["data"]["result"];
    assert_eq!(result, &json!({"seen": [], "posted": [403, 403, 403], "sent": 403}), "{answer}");
}

#[test]
fn what_no_client_would_send_is_refused_and_harms_nobody() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    serving.execute(&[], &code("1"));
    let memory = || {
        let status = fs::read_to_string(format!("/proc/{}/status", serving.program.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
        line.trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let before = memory();
    let host = format!("host: {}\r\n", serving.address);
    let kind = "content-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\n";
    let head = |more: &str| format!("POST /mcp HTTP/1.1\r\n{host}{kind}{more}\r\n").into_bytes();
    let with_body = |body: &[u8]| [head(&format!("content-length: {}\r\n", body.len())), body.to_vec()].concat();

    let large = serving.raw(&[head("content-length: 104857600\r\n"), vec![b' '; 1 << 20]].concat());
    assert_eq!((large.status, &large.json()["error"]["code"]), (413, &json!("REQUEST_TOO_LARGE")));
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    let chunked = serving.raw(&[head("transfer-encoding: chunked\r\n"), chunk.repeat(20)].concat());
    assert_eq!(chunked.status, 413, "{chunked:?}");
    let headers: String = (0..10_000).map(|number| format!("x-{number}: 1\r\n")).collect();
    assert!(matches!(serving.raw(&head(&headers)).status, 400 | 431));
    let long = format!("x: {}\r\n", "a".repeat(1 << 20));
    assert!(matches!(serving.raw(&head(&long)).status, 400 | 431));
    let nested = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    for body in [b"\xff\xfe{}".as_slice(), b"", b"[]", b"{}", b"{\"jsonrpc\":", nested.as_bytes(), b"null"] {
        let status = serving.raw(&with_body(body)).status;
        assert_eq!(status / 100, 4, "{status} for {:?}", String::from_utf8_lossy(&body[..body.len().min(40)]));
    }
    let mut ended = serving.connect();
    ended.write_all(&[head("content-length: 100\r\n"), b"{".to_vec()].concat()).unwrap();
    ended.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(Reply::try_read(ended).is_none_or(|reply| reply.status == 400));
    for text in [
        "\0\0\0",
        "GET\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "POST /mcp HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
    ] {
        let mut stream = serving.connect();
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        assert!(Reply::try_read(stream).is_none_or(|reply| reply.status == 400), "{text:?}");
    }
    assert_eq!(serving.ask("PUT", "/mcp", &[], "").status, 405);
    assert_eq!(serving.ask("GET", "/../../etc/passwd", &[], "").status, 404);
    assert_eq!(serving.execute(&[], &code("1 + 1"))["data"]["result"], 2);
    let grown = memory() - before;
    assert!(grown < 64 * 1024, "{grown} kB more");
}

#[test]
fn a_caller_that_opens_session_after_session_loses_the_oldest() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let first = serving.initialize(&[]);
    let second = serving.initialize(&[]);
    for _ in 2..codemode_spec::limits::MCP_SESSIONS_PER_CALLER_MAX {
        serving.initialize(&[]);
    }
    // The first session was used most recently.
    assert_eq!(serving.send(&with_session(&[], &first), &list).status, 200);
    serving.initialize(&[]);
    assert_eq!(serving.send(&with_session(&[], &first), &list).status, 200);
    assert_eq!(serving.send(&with_session(&[], &second), &list).status, 404);
}

#[test]
fn a_host_that_is_told_to_stop_lets_executions_end_and_tells_the_rest() {
    let place = Place::new();
    let mut serving = Serving::start(&place, &["--grace", "3s"]);
    serving.execute(&[], &code("1"));
    let endless = begin(&serving, &[]);
    let mut soon = serving.connect();
    let message = call(&code("await new Promise((r) => setTimeout(r, 1000)); 'done'"));
    soon.write_all(serving.message(&[], &message).as_bytes()).unwrap();
    let session = serving.initialize(&[]);
    serving.program.signal(Signal::TERM);
    wait_until("refusals", PATIENCE, || serving.ask("GET", "/readyz", &[], "").status == 503);
    let refused = serving.execute(&[], &code("1"));
    assert_eq!(
        (&refused["error"]["code"], &refused["error"]["message"]),
        (&json!("NOT_READY"), &json!("the host is stopping"))
    );
    // One execution completed within the grace period; the other was cancelled, and its answer says so.
    let done = Reply::read(soon).message();
    assert_eq!(done["result"]["structuredContent"]["data"]["result"], "done", "{done}");
    let cancelled = endless.join().unwrap().expect("an answer").json();
    let error = &cancelled["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "CANCELLED", "{cancelled}");
    assert!(error["message"].as_str().unwrap().contains("the host is stopping"), "{error}");
    assert!(serving.program.ended(PATIENCE).success());
    drop(session);
    assert_eq!(place.processes(), Vec::<String>::new());
}

#[test]
fn others_than_this_machine_need_a_token() {
    let place = Place::new();
    let refused = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("there is no token") && words.contains("--token-file"), "{words}");
    let mut command = place.command(&["serve", "--listen", "0.0.0.0:0"]);
    command.env("CODEMODE_TOKEN", OF_ME).stderr(Stdio::null());
    let serving = Serving::of(command);
    assert!(serving.address.ip().is_unspecified());
    let taken = place.run(&["serve", "--listen", &format!("127.0.0.1:{}", serving.address.port())]);
    assert_eq!(taken.status.code(), Some(1));
    let words = String::from_utf8(taken.stderr).unwrap();
    assert!(words.contains("cannot be listened on") && words.contains("--listen"), "{words}");
}

#[test]
fn a_killed_host_leaves_nothing_and_its_successor_goes_on() {
    need_browser();
    let place = Place::new();
    let reuse = |code: &str| json!({"code": code, "session": {"mode": "reuse", "key": "shop"}});
    let mut serving = Serving::start(&place, &[]);
    let answer = serving.execute(&[], &reuse("await browser.open('about:blank'); 1"));
    assert_eq!(answer["ok"], true, "{answer}");
    let one_shot = format!("await browser.open('about:blank'); {ENDLESS}");
    let mut message = call(&json!({"code": one_shot, "timeout_ms": 600_000}));
    message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning");
    let mut stream = serving.connect();
    stream.write_all(serving.message(&[], &message).as_bytes()).unwrap();
    let mut seen = String::new();
    while !seen.contains("running") {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).unwrap();
        assert_ne!(read, 0, "{seen}");
        seen += &String::from_utf8_lossy(&bytes[..read]);
    }
    serving.program.signal(Signal::KILL);
    serving.program.ended(PATIENCE);
    let serving = Serving::start(&place, &[]);
    let pages = serving.execute(&[], &reuse("(await browser.pages()).length"));
    assert_eq!(pages["ok"], true, "{pages}");
    assert!(pages["meta"]["warnings"].as_array().is_some_and(Vec::is_empty), "{pages}");
    // The browser of the cancelled execution has ended, that of the key keeps running.
    wait_until("one browser", Duration::from_secs(20), || {
        let keepers = place.processes().into_iter().filter(|line| line.contains(" keep"));
        keepers.count() == 1
    });
    assert!(place.run(&["sessions", "close", "shop"]).status.success());
    wait_until("no browser", PATIENCE, || place.processes().iter().all(|line| line.contains(" serve ")));
}

#[test]
fn a_host_that_is_killed_under_load_leaves_its_keys_to_its_successor() {
    need_browser();
    let place = Place::new();
    let mut serving = Serving::start(&place, &[]);
    let of_key = |key: &str| {
        let code = "const [page] = await browser.pages(); (page ?? await browser.open('about:blank')).url()";
        json!({"code": code, "session": {"mode": "reuse", "key": key, "wait_ms": 20_000}})
    };
    let one_shot = json!({"code": "(await browser.open('about:blank')).url()", "timeout_ms": 60_000});
    let kinds = [of_key("one"), of_key("two"), one_shot, json!({"code": "1 + 1"})];
    let answered = kinds.each_ref().map(|_| AtomicUsize::new(0));
    let (host, closed) = (*serving, AtomicUsize::new(0));
    thread::scope(|scope| {
        for client in 0..24 {
            let kind = if client < 8 { client % 3 } else { 3 };
            let (arguments, answered, closed) = (&kinds[kind], &answered[kind], &closed);
            scope.spawn(move || {
                // Until the host has exited.
                while let Ok(mut stream) = std::net::TcpStream::connect(host.address) {
                    let sent = stream.write_all(host.message(&[], &call(arguments)).as_bytes());
                    let Some(_) = sent.ok().and_then(|()| Reply::try_read(stream)) else { break };
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                closed.fetch_add(1, Ordering::Relaxed);
            });
        }
        wait_until("answers of each kind", PATIENCE * 2, || {
            answered.iter().all(|answered| answered.load(Ordering::Relaxed) >= 2)
        });
        serving.program.signal(Signal::KILL);
        serving.program.ended(PATIENCE);
    });
    assert_eq!(closed.into_inner(), 24, "every client has seen that it is gone");
    let serving = Serving::start(&place, &[]);
    for key in ["one", "two"] {
        let adopted = serving.execute(&[], &of_key(key));
        assert_eq!((&adopted["ok"], &adopted["data"]["result"]), (&json!(true), &json!("about:blank")), "{adopted}");
    }
    let keepers = || place.processes().into_iter().filter(|line| line.contains(" keep")).count();
    wait_until("the browsers of the keys alone", PATIENCE, || keepers() == 2);
    for key in ["one", "two"] {
        assert!(place.run(&["sessions", "close", key]).status.success());
    }
    wait_until("no browser", PATIENCE, || place.processes().iter().all(|line| line.contains(" serve ")));
    let verified = place.run(&["audit", "verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

/// The variable that overrides the duration of the load test.
const LOAD_SECONDS: &str = "CODEMODE_LOAD_SECONDS";
const LOAD_SECONDS_USUAL: u64 = 120;

#[test]
fn many_clients_get_answers_or_are_told_to_come_again_and_nothing_is_left() {
    need_browser();
    let place = Place::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    // As many concurrent browsers as this machine can start in time.
    command.env("CODEMODE_CONCURRENT", "6").env("CODEMODE_QUEUED", "40");
    let serving = Serving::of(command);
    let seconds =
        std::env::var(LOAD_SECONDS).ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(LOAD_SECONDS_USUAL);
    // The host's resources: open files, threads, and MiB of memory excluding its sandboxes.
    let used = || {
        let entries = |folder: &str| fs::read_dir(format!("/proc/{}/{folder}", serving.program.pid())).unwrap().count();
        (entries("fd"), entries("task"), beside_sandboxes_kib(serving.program.pid()) / 1024)
    };
    // One execution of each kind first, so that one-time allocations are not counted.
    for session in [json!({"mode": "one-shot"}), json!({"mode": "reuse", "key": "shop"})] {
        let first = serving.execute(&[], &json!({"code": "await browser.open('about:blank'); 1", "session": session}));
        assert_eq!(first["ok"], true, "{first}");
    }
    assert!(place.run(&["sessions", "close", "shop"]).status.success());
    wait_until("both browsers' end", PATIENCE, || place.processes().iter().all(|line| line.contains(" serve ")));
    let before = used();
    let until = Instant::now() + Duration::from_secs(seconds);
    let look = "const page = await browser.open('data:text/html,<title>T</title>'); await page.title()";
    let kinds = [
        ("pure", "1 + 1", Json::Null),
        ("one-shot", look, json!({"mode": "one-shot"})),
        ("reuse", look, json!({"mode": "reuse", "key": "shop", "wait_ms": 5_000})),
        ("dynamic", look, json!({"mode": "dynamic", "key": "shop", "wait_ms": 0})),
    ];
    let host = *serving;
    let client = |number: usize| {
        let mut answers = Vec::new();
        while Instant::now() < until {
            // Most scripts need no dedicated browser.
            let (kind, code, session) = &kinds[if number < 48 { 0 } else { number % 4 }];
            let mut arguments = json!({"code": code, "timeout_ms": 60_000});
            if !session.is_null() {
                arguments["session"] = session.clone();
            }
            let began = Instant::now();
            let answer = host.execute(&[], &arguments);
            let outcome = answer["error"]["code"].as_str().unwrap_or("OK").to_owned();
            answers.push((*kind, outcome, began.elapsed()));
        }
        answers
    };
    let answers: Vec<_> = thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|number| {
                scope.spawn({
                    let client = &client;
                    move || client(number)
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    for (kind, ..) in &kinds {
        let mut times: Vec<_> =
            answers.iter().filter(|(of, outcome, _)| of == kind && outcome == "OK").map(|(.., took)| *took).collect();
        times.sort();
        let at = |percent: usize| times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
        // With mode `dynamic`, a key that always has a holder may be busy for all other executions.
        assert!(!times.is_empty() || *kind == "dynamic", "no answer of the kind {kind}");
        eprintln!("{kind}: {} answers, p50 {:?}, p95 {:?}, p99 {:?}", times.len(), at(50), at(95), at(99));
    }
    let others = answers
        .iter()
        .filter(|(_, outcome, _)| !matches!(outcome.as_str(), "OK" | "SESSION_BUSY" | "CAPACITY_EXCEEDED"));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&(&str, String, Duration)>::new());
    assert!(place.run(&["sessions", "close", "shop"]).status.success());
    wait_until("all browsers' end", PATIENCE, || place.processes().iter().all(|line| line.contains(" serve ")));
    let is_back = || {
        let (files, threads, memory) = used();
        files <= before.0 + 4 && threads <= before.1 + 4 && memory <= before.2 + 64
    };
    // Turn threads exit after ten idle seconds.
    eprintln!("open files, threads, MiB: {before:?} before, {:?} after", used());
    wait_until("what the host had before", PATIENCE, is_back);
    eprintln!("and {:?} when all is over", used());
}

/// A host with short timeouts for slow clients.
fn impatient(place: &Place) -> Serving {
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("CODEMODE_PATIENCE_MS", "2000");
    Serving::of(command)
}

/// The number of sockets that a host has open.
fn sockets(serving: &Serving) -> usize {
    let open = fs::read_dir(format!("/proc/{}/fd", serving.program.pid())).unwrap().flatten();
    let of_clients = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    of_clients.filter(|to| to.to_string_lossy().starts_with("socket:")).count()
}

/// Reads a connection to its end; returns the number of bytes, and whether it was closed without a reset.
fn rest(mut stream: std::net::TcpStream) -> (usize, bool) {
    let (mut read, mut bytes) = (0, vec![0; 1 << 16]);
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return (read, true),
            Ok(more) => read += more,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it did not end in time: {error}");
                return (read, false);
            }
        }
    }
}

#[test]
fn clients_that_do_not_go_on_are_let_go_and_keep_nobody_waiting() {
    let place = Place::new();
    let serving = impatient(&place);
    let host = format!("host: {}\r\n", serving.address);
    let open = |words: &str| {
        let mut stream = serving.connect();
        stream.write_all(words.as_bytes()).unwrap();
        stream
    };
    let (began, before) = (Instant::now(), sockets(&serving));
    let silent: Vec<_> = (0..20).map(|_| open("")).collect();
    let half_a_head: Vec<_> = (0..20).map(|_| open(&format!("POST /mcp HTTP/1.1\r\n{host}x: "))).collect();
    let kind = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    let half_a_body: Vec<_> =
        (0..20).map(|_| open(&format!("POST /mcp HTTP/1.1\r\n{host}{kind}content-length: 100\r\n\r\n{{"))).collect();
    let kept_alive = open(&format!("GET /healthz HTTP/1.1\r\n{host}\r\n"));
    // Meanwhile another client is answered at once.
    assert_eq!(serving.ask("GET", "/healthz", &[], "").status, 200);
    assert_eq!(serving.execute(&[], &code("1 + 1"))["data"]["result"], 2);
    for stream in half_a_body {
        let reply = Reply::read(stream);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (408, &json!("REQUEST_TIMEOUT")));
    }
    for stream in silent.into_iter().chain(half_a_head).chain([kept_alive]) {
        rest(stream);
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2) && took < PATIENCE, "{took:?}");
    wait_until("closed connections", PATIENCE, || sockets(&serving) <= before);
}

#[test]
fn clients_that_do_not_read_are_let_go_and_give_back_what_they_held() {
    let place = Place::new();
    let serving = impatient(&place);
    let idle = sockets(&serving);
    let ran = serving.execute(&[], &code("'x'.repeat(50_000)"));
    let execution = ran["context"]["execution_id"].as_str().unwrap_or_else(|| panic!("{ran}"));
    // More than the socket buffers of both sides can hold.
    let bytes = 30_000_000;
    fs::write(place.folder().join("state/artifacts").join(execution).join("result.json"), vec![b'x'; bytes]).unwrap();
    let path = format!("/admin/v1/executions/{execution}/files/result.json");
    let request = serving.request("GET", &path, &[], "");
    wait_until("closed connections", PATIENCE, || sockets(&serving) <= idle);
    let began = Instant::now();
    // As many downloads as may be sent at the same time.
    let slow: Vec<_> = (0..codemode_spec::limits::ADMIN_FILES_SENT_MAX)
        .map(|_| {
            let mut stream = serving.connect();
            // On some systems a socket buffer could hold the whole file.
            rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 1 << 16).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut first = [0; 1];
            stream.read_exact(&mut first).unwrap();
            stream
        })
        .collect();
    let next = serving.ask("GET", &path, &[], "");
    assert_eq!((next.status, next.body.len()), (200, bytes), "the next one has its turn");
    assert!(began.elapsed() >= Duration::from_secs(2), "its turn came when the first of them was let go");
    wait_until("closed connections", PATIENCE, || sockets(&serving) <= idle);
    for stream in slow {
        let (read, _) = rest(stream);
        assert!(read < bytes, "{read} bytes, though nobody read them");
    }
    assert_eq!(serving.execute(&[], &code("1 + 1"))["data"]["result"], 2);
}

#[test]
fn a_download_under_way_has_the_grace_period_of_a_host_that_stops() {
    let place = Place::new();
    let mut serving = Serving::start(&place, &["--grace", "60s"]);
    let ran = serving.execute(&[], &code("'x'.repeat(50_000)"));
    let execution = ran["context"]["execution_id"].as_str().unwrap_or_else(|| panic!("{ran}"));
    // More than the socket buffers of both sides can hold.
    let bytes = 30_000_000;
    fs::write(place.folder().join("state/artifacts").join(execution).join("result.json"), vec![b'x'; bytes]).unwrap();
    let mut stream = serving.connect();
    rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 1 << 16).unwrap();
    let path = format!("/admin/v1/executions/{execution}/files/result.json");
    stream.write_all(serving.request("GET", &path, &[], "").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    let began = Instant::now();
    serving.program.signal(Signal::TERM);
    wait_until("longer than clients have for their last answers", PATIENCE, || {
        assert_eq!(serving.ask("GET", "/healthz", &[], "").status, 200);
        began.elapsed() > Duration::from_secs(4)
    });
    let (read, whole) = rest(stream);
    assert!(whole && read > bytes, "{read} bytes");
    assert!(serving.program.ended(PATIENCE).success());
}

#[test]
fn a_picture_that_is_waited_for_does_not_hold_up_a_host_that_stops() {
    let place = Place::new();
    let mut serving = Serving::start(&place, &["--grace", "60s"]);
    let mut script = serving.connect();
    let message = serving.message(&[], &call(&json!({"code": ENDLESS, "timeout_ms": 600_000})));
    script.write_all(message.as_bytes()).unwrap();
    let mut running = Json::Null;
    wait_until("the execution", PATIENCE, || {
        let listed = serving.ask("GET", "/admin/v1/executions?running=true", &[], "").json();
        running = listed["data"]["executions"][0]["id"].clone();
        running.is_string()
    });
    let path = format!("/admin/v1/executions/{}/view?after=1000000", running.as_str().unwrap());
    let mut waiting = serving.connect();
    waiting.write_all(serving.request("GET", &path, &[], "").as_bytes()).unwrap();
    let began = Instant::now();
    wait_until("a while in which no picture comes", PATIENCE, || began.elapsed() > Duration::from_millis(500));
    serving.program.signal(Signal::TERM);
    let told = Reply::read(waiting);
    assert_eq!((told.status, &told.json()["error"]["code"]), (503, &json!("NOT_READY")), "{told:?}");
    // The host waits for the execution, whose other views are refused at once.
    assert_eq!(serving.ask("GET", &path, &[], "").json()["error"]["message"], "the host is stopping");
    drop(script);
    assert!(serving.program.ended(PATIENCE).success());
}

#[test]
fn a_host_with_all_places_taken_stops_in_time_and_each_caller_is_told() {
    need_browser();
    let place = Place::new();
    let mut serving = Serving::start(&place, &["--grace", "1s"]);
    let key = json!({"mode": "reuse", "key": "shop"});
    let browsing = format!("await browser.open('about:blank'); {ENDLESS}");
    let mut running = vec![serving.begin(&[], &json!({"code": browsing, "session": key, "timeout_ms": 600_000}))];
    for number in 1..codemode_spec::limits::EXECUTIONS_CONCURRENT_MAX {
        let code = if number < 4 { &browsing } else { ENDLESS };
        running.push(serving.begin(&[], &json!({"code": code, "timeout_ms": 600_000})));
    }
    let numbers = serving.ask("GET", "/metrics", &[], "").body;
    assert!(numbers.contains("\ncodemode_executions_running 32\n"), "{numbers}");
    // One more waits for a permit; if it gets one when the others end, its time is over.
    let mut waiting = serving.connect();
    waiting.write_all(serving.message(&[], &call(&code(ENDLESS))).as_bytes()).unwrap();
    wait_until("one that waits", PATIENCE, || {
        serving.ask("GET", "/metrics", &[], "").body.contains("\ncodemode_executions_waiting 1\n")
    });
    let began = Instant::now();
    serving.program.signal(Signal::TERM);
    assert!(serving.program.ended(PATIENCE).success());
    let took = began.elapsed();
    for running in running {
        let answer = running.join().unwrap().expect("an answer").json();
        let error = &answer["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "CANCELLED", "{answer}");
        assert!(error["message"].as_str().unwrap().contains("the host is stopping"), "{error}");
    }
    let waited = Reply::read(waiting).message();
    assert_eq!(waited["result"]["structuredContent"]["error"]["code"], "CANCELLED", "{waited}");
    // The grace period, the end of the browsers, and the time for last answers.
    assert!(took < Duration::from_secs(1 + 20 + 5 + 2), "{took:?}");
    wait_until("one browser, that of the key", PATIENCE, || {
        place.processes().into_iter().filter(|line| line.contains(" keep")).count() == 1
    });
    assert!(place.run(&["sessions", "close", "shop"]).status.success());
    wait_until("no process", PATIENCE, || place.processes().is_empty());
}
