//! Administration over HTTP: every route and refusal, checked against the OpenAPI document.

use crate::support::{
    http::{Reply, Serving},
    leases::Witness,
    program::{PATIENCE, Place, need_browser, wait_until},
};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
};

const OF_CI: &str = "ci-0123456789abcdef0123456789abcdef";
const OF_OPS: &str = "ops-fedcba9876543210fedcba9876543210";
/// A secret that no answer may contain.
const VALUE: &str = "correct horse battery staple";

/// A client that validates each answer against the host's OpenAPI document.
struct Api<'a> {
    serving: &'a Serving,
    document: Json,
    /// The operations that have been answered with data.
    answered: RefCell<BTreeSet<(String, String)>>,
}

impl<'a> Api<'a> {
    fn of(serving: &'a Serving, headers: &[(&str, &str)]) -> Self {
        let told = serving.ask("GET", "/admin/v1/openapi.json", headers, "");
        assert_eq!(told.status, 200, "{told:?}");
        let mut document = told.json();
        close(&mut document["components"]["schemas"]);
        Self { serving, document, answered: RefCell::default() }
    }

    /// The methods and paths of all operations.
    fn operations(&self) -> BTreeSet<(String, String)> {
        let paths = self.document["paths"].as_object().unwrap();
        let operations = paths.iter().flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(move |method| (method.to_ascii_uppercase(), path.clone()))
        });
        operations.collect()
    }

    /// Sends a request; asserts that the answer conforms to the document.
    fn ask(
        &self,
        method: &str,
        template: &str,
        names: &[(&str, &str)],
        query: &str,
        headers: &[(&str, &str)],
    ) -> Reply {
        let mut path = format!("/admin/v1{template}");
        for (name, value) in names {
            path = path.replace(&format!("{{{name}}}"), &value.replace('/', "%2F"));
        }
        assert!(!path.contains('{'), "{path}");
        let reply = self.serving.ask(method, &format!("{path}{query}"), headers, "");
        self.check(method, template, &reply);
        reply
    }

    /// Sends a request that must succeed; returns the data.
    fn data(&self, method: &str, template: &str, names: &[(&str, &str)], query: &str) -> Json {
        let mut answer = self.ask(method, template, names, query, &[]).json();
        assert_eq!((&answer["ok"], &answer["error"]), (&json!(true), &Json::Null), "{method} {template}: {answer}");
        answer["data"].take()
    }

    fn get(&self, template: &str, names: &[(&str, &str)], query: &str) -> Json {
        self.data("GET", template, names, query)
    }

    /// Asserts that an answer is an error with this status; returns its code.
    fn refused(&self, status: u16, reply: &Reply) -> String {
        let answer = reply.json();
        assert_eq!((reply.status, &answer["ok"]), (status, &json!(false)), "{answer}");
        assert!(answer["error"]["hint"].as_str().is_some_and(|hint| hint.len() > 10), "{answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }

    fn check(&self, method: &str, template: &str, reply: &Reply) {
        let path = format!("/admin/v1{template}");
        let operation = &self.document["paths"][&path][method.to_ascii_lowercase()];
        let exact = &operation["responses"][reply.status.to_string()];
        let response =
            if exact.is_null() { &operation["responses"][format!("{}XX", reply.status / 100)] } else { exact };
        assert!(response.is_object(), "{method} {path} tells nothing of {}: {reply:?}", reply.status);
        let kind = reply.header("content-type").unwrap();
        let mut schema = response["content"][kind]["schema"].clone();
        assert!(!schema.is_null(), "{method} {path} tells nothing of {kind}: {response}");
        if reply.status == 200 {
            self.answered.borrow_mut().insert((method.to_owned(), path.clone()));
        }
        if kind != "application/json" || template == "/openapi.json" && reply.status == 200 {
            return;
        }
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let faults: Vec<_> = validator.iter_errors(&reply.json()).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{method} {path}: {faults:#?} in {}", reply.body);
    }
}

/// Makes a schema reject fields that it does not declare.
fn close(schema: &mut Json) {
    match schema {
        Json::Object(fields) => {
            if fields.contains_key("properties") {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            fields.values_mut().for_each(close);
        }
        Json::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// A host with two callers, one of which may administer.
fn with_tokens(place: &Place) -> Serving {
    let file = place.folder().join("tokens.toml");
    fs::write(&file, format!("[ci]\ntoken = \"{OF_CI}\"\n[ops]\ntoken = \"{OF_OPS}\"\nadmin = true\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    Serving::start(place, &["--token-file", file.to_str().unwrap()])
}

/// Runs a command and returns the data that it prints.
fn data_of(mut command: Command) -> Json {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let mut envelope: Json = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(envelope["ok"], true, "{envelope}");
    envelope["data"].take()
}

fn set_secret(place: &Place) {
    let mut setting = place.command(&["secrets", "set", "SHOP", "--origin", "https://shop.test"]);
    let mut setting = setting.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    setting.stdin.take().unwrap().write_all(VALUE.as_bytes()).unwrap();
    assert!(setting.wait().unwrap().success());
}

#[test]
fn each_route_answers_as_the_document_says_and_as_the_command_line_does() {
    need_browser();
    let (place, site) = (Place::new(), Witness::start());
    set_secret(&place);
    let mut serving = Serving::start(&place, &["--grace", "1s"]);
    let api = Api::of(&serving, &[]);
    let key = "team/shop";
    let reuse = |code: &str| json!({"code": code, "session": {"mode": "reuse", "key": key}, "timeout_ms": 600_000});
    let ran = serving.execute(&[], &reuse(&format!(
        "const page = await browser.open('{}/a'); await page.context().storageState({{ path: 'shop' }}); 'x'.repeat(50_000)",
        site.url()
    )));
    assert_eq!(ran["ok"], true, "{ran}");
    let first = ran["context"]["execution_id"].as_str().unwrap();

    // An active lease.
    let held = reuse(&format!(
        "await browser.open('{}/b'); console.warn('running'); await new Promise((r) => setTimeout(r, 1e8))",
        site.url()
    ));
    let holding = serving.begin(&[], &held);
    let sessions = api.get("/sessions", &[], "");
    let session = &sessions["sessions"][0];
    let id = session["id"].as_str().unwrap();
    assert_eq!((&session["key"], &session["state"]), (&json!(key), &json!("live")), "{session}");
    let holder = session["lease"]["holder"]["execution"].as_str().unwrap();
    for name in [id, key] {
        assert_eq!(api.get("/sessions/{name}", &[("name", name)], "")["session"]["id"], id);
    }
    // Running and ended executions of this host.
    let traced = api.get("/executions/{execution}/trace", &[("execution", first)], "");
    let trace = &traced["trace"];
    assert_eq!((&traced["kept"], &trace["execution"], &trace["outcome"]), (&json!(true), &json!(first), &json!("ok")));
    assert!(trace["code"].as_str().unwrap().contains("'x'.repeat(50_000)"), "{trace}");
    assert!(trace["calls"].as_array().unwrap().iter().all(|call| call["outcome"] == "ok"), "{trace}");
    assert!(!trace.to_string().contains("/a\""), "no arguments, but those that stand in the script: {trace}");
    let view = api.get("/executions/{execution}/view", &[("execution", holder)], "");
    assert_eq!((&view["running"], view["picture"].as_u64().is_some_and(|number| number > 0)), (&json!(true), true));
    let leases = api.get("/leases", &[], "");
    assert_eq!(leases["leases"][0]["holder"]["execution"], holder, "{leases}");
    assert_eq!(
        (leases["leases"].as_array().map(Vec::len), &leases["leases"][0]["host_alive"]),
        (Some(1), &json!(true))
    );

    let running = api.get("/executions", &[], "?running=true");
    assert_eq!(
        (&running["executions"][0]["id"], &running["executions"][0]["state"]),
        (&json!(holder), &json!("running"))
    );
    assert_eq!(running["executions"].as_array().map(Vec::len), Some(1), "{running}");
    let executions = api.get("/executions", &[], "");
    let seen: Vec<_> =
        executions["executions"].as_array().unwrap().iter().map(|it| (&it["id"], &it["state"])).collect();
    assert_eq!(seen, [(&json!(holder), &json!("running")), (&json!(first), &json!("ended"))]);
    let shown = api.get("/executions/{execution}", &[("execution", first)], "");
    let of_first = &shown["execution"];
    assert_eq!(
        (&of_first["outcome"], &of_first["key"], &of_first["mode"]),
        (&json!("ok"), &json!(key), &json!("reuse"))
    );
    assert_eq!((&of_first["session"], &shown["files"][0]["name"]), (&json!(id), &json!("result.json")), "{shown}");
    assert_eq!(shown["rows"][0]["kind"], "execution.started", "{shown}");
    let dump = api.get("/executions/{execution}/dump", &[("execution", first)], "");
    assert!(!dump.to_string().contains(key), "{dump}");
    let files = api.get("/executions/{execution}/files", &[("execution", first)], "");
    assert_eq!(files["files"], shown["files"]);
    let file = api.ask(
        "GET",
        "/executions/{execution}/files/{file}",
        &[("execution", first), ("file", "result.json")],
        "",
        &[],
    );
    assert_eq!(
        (file.body.len() as u64, file.header("x-content-type-options")),
        (files["files"][0]["bytes"].as_u64().unwrap(), Some("nosniff"))
    );
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"result.json\""));
    assert_eq!(file.json(), json!("x".repeat(50_000)));
    assert_eq!(file.header("content-type"), Some("application/octet-stream"));

    // The answers equal those of the command line, for data that does not change meanwhile.
    for (path, arguments) in
        [("/secrets", &["secrets", "list", "--json"][..]), ("/logins", &["logins", "list", "--json"]), ("/leases", &[])]
    {
        let over_http = api.get(path, &[], "");
        if !arguments.is_empty() {
            assert_eq!(over_http, data_of(place.command(arguments)), "{path}");
        }
        assert!(!over_http.to_string().contains(VALUE), "{over_http}");
    }
    assert_eq!(shown, data_of(place.command(&["executions", "show", first, "--json"])));
    let of_first = format!("?execution={first}&limit=1000");
    assert_eq!(
        api.get("/audit", &[], &of_first),
        data_of(place.command(&["audit", "show", "--execution", first, "--json"]))
    );
    let of_key = api.get("/audit", &[], &format!("?key={}&session={id}&since_ms=600000", key.replace('/', "%2F")));
    assert!(of_key["rows"].as_array().unwrap().iter().all(|row| row["key"] == key && row["session"] == id), "{of_key}");
    let verdict = api.get("/audit/verify", &[], "");
    let known = format!("?expect={}:{}", verdict["last"], verdict["hash"].as_str().unwrap());
    assert_eq!(api.get("/audit/verify", &[], &known)["intact"], true);

    let revoked = api.data("POST", "/sessions/{name}/revoke", &[("name", key)], "");
    assert_eq!(revoked["revoked"]["execution"], holder, "{revoked}");
    wait_until("the lease's end", PATIENCE, || api.get("/leases", &[], "")["leases"] == json!([]));
    let closed = api.data("POST", "/sessions/{name}/close", &[("name", id)], "");
    assert_eq!(closed, json!({"closed": id, "already": false}));
    assert_eq!(api.get("/sessions", &[], "")["sessions"], json!([]));
    assert_eq!(api.get("/sessions", &[], "?ended=true")["sessions"][0]["id"], id);
    api.data("POST", "/sweep", &[], "");
    let removed = api.data("DELETE", "/logins/{key}/{name}", &[("key", key), ("name", "shop")], "");
    assert_eq!(removed, json!({"removed": "shop", "key": key}));
    let removed = api.data("DELETE", "/secrets/{name}", &[("name", "SHOP")], "");
    assert_eq!(removed, json!({"removed": "SHOP", "origin": "https://shop.test"}));
    api.ask("GET", "/openapi.json", &[], "", &[]);
    assert_eq!(*api.answered.borrow(), api.operations(), "each operation was answered");

    serving.program.signal(Signal::TERM);
    serving.program.ended(PATIENCE);
    holding.join().unwrap();
    wait_until("no process", PATIENCE, || place.processes().is_empty());
}

#[test]
fn only_callers_who_are_named_administer() {
    let place = Place::new();
    let serving = with_tokens(&place);
    let (of_ci, of_ops) = (format!("Bearer {OF_CI}"), format!("Bearer {OF_OPS}"));
    let (ci, ops) = ([("authorization", of_ci.as_str())], [("authorization", of_ops.as_str())]);
    let api = Api::of(&serving, &ops);
    let names = [("name", "a"), ("key", "a"), ("execution", "x-1"), ("file", "a.json")];
    for (method, path) in api.operations() {
        let template = path.strip_prefix("/admin/v1").unwrap();
        let ask = |headers: &[(&str, &str)]| api.ask(&method, template, &names, "", headers);
        assert_eq!(api.refused(401, &ask(&[])), "UNAUTHENTICATED", "{path}");
        assert_eq!(api.refused(401, &ask(&[("authorization", "Bearer 0")])), "UNAUTHENTICATED", "{path}");
        let refused = ask(&ci);
        assert_eq!(api.refused(403, &refused), "POLICY_REFUSED", "{path}");
        assert!(refused.json()["error"]["hint"].as_str().unwrap().contains("admin = true"), "{refused:?}");
        let foreign = [ops[0], ("origin", "http://evil.example")];
        assert_eq!(api.refused(403, &ask(&foreign)), "POLICY_REFUSED", "{path}");
        let foreign = [ops[0], ("host", "evil.example")];
        assert_eq!(api.refused(403, &ask(&foreign)), "POLICY_REFUSED", "{path}");
        let admitted = ask(&ops);
        assert!(matches!(admitted.status, 200 | 400 | 404), "{method} {path}: {admitted:?}");
        assert!(
            admitted.status != 404 || admitted.json()["error"]["code"] == "NOT_FOUND",
            "{method} {path}: {admitted:?}"
        );
    }
    // A wrong method is reported only to callers who may administer.
    let wrong = |headers: &[(&str, &str)]| serving.ask("PATCH", "/admin/v1/sessions", headers, "");
    assert_eq!(
        (api.refused(405, &wrong(&ops)).as_str(), wrong(&ops).header("allow")),
        ("UNKNOWN_ROUTE", Some("GET,HEAD"))
    );
    assert_eq!((wrong(&[]).status, wrong(&ci).status), (401, 403));
    assert_eq!(api.refused(404, &serving.ask("GET", "/admin/v1/nothing", &ops, "")), "UNKNOWN_ROUTE");

    // The caller of the environment's token may not administer.
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("CODEMODE_TOKEN", OF_CI).stderr(Stdio::null());
    let other = Serving::of(command);
    assert_eq!(other.ask("GET", "/admin/v1/sessions", &ci, "").status, 403);
    assert_eq!(other.ask("GET", "/metrics", &ci, "").status, 200);
}

#[test]
fn a_fault_of_a_request_is_named_and_what_is_not_there_is_not_invented() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let api = Api::of(&serving, &[]);
    let faults = [
        ("GET", "/sessions", "?ende=true", "ende"),
        ("GET", "/sessions", "?ended=perhaps", "ended"),
        ("GET", "/leases", "?limit=1", "limit"),
        ("GET", "/executions", "?limit=0", "limit"),
        ("GET", "/executions/{execution}/view", "?after=-1", "after"),
        ("GET", "/executions/{execution}/trace", "?after=1", "after"),
        ("GET", "/executions", "?limit=501", "between 1 and 500"),
        ("GET", "/audit", "?limit=1001", "between 1 and 1000"),
        ("GET", "/audit", "?key=a&key=b", "key"),
        ("GET", "/audit", "?before=-1", "before"),
        ("GET", "/audit/verify", "?expect=7", "PLACE:HASH"),
        ("POST", "/sessions/{name}/close", "?force=true", "force"),
    ];
    let missing = [
        ("GET", "/sessions/{name}", "", "no session"),
        ("POST", "/sessions/{name}/close", "", "no session"),
        ("POST", "/sessions/{name}/revoke", "", "no session"),
        ("GET", "/executions/{execution}", "", "knows no execution"),
        ("GET", "/executions/{execution}/dump", "", "knows no execution"),
        ("GET", "/executions/{execution}/files", "", "knows no execution"),
        ("GET", "/executions/{execution}/files/{file}", "", "has no file"),
        ("DELETE", "/logins/{key}/{name}", "", "no login state"),
        ("DELETE", "/secrets/{name}", "", "no secret"),
    ];
    let refused = |status: u16, code: &str, (method, template, query, word): (&str, &str, &str, &str)| {
        let names = [("name", "a"), ("key", "a"), ("execution", "../run"), ("file", "../sessions.db")];
        let reply = api.ask(method, template, &names, query, &[]);
        assert_eq!(api.refused(status, &reply), code, "{template}{query}");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(word), "{template}{query}: {message}");
    };
    faults.into_iter().for_each(|row| refused(400, "INVALID_ARGUMENT", row));
    missing.into_iter().for_each(|row| refused(404, "NOT_FOUND", row));
    // Requests from foreign pages and with foreign host names are refused also without tokens.
    for foreign in [("origin", "http://evil.example"), ("origin", "null"), ("host", "evil.example")] {
        let refused = api.ask("POST", "/sweep", &[], "", &[foreign]);
        assert_eq!(api.refused(403, &refused), "POLICY_REFUSED", "{foreign:?}");
    }
    let escape = serving.ask("GET", "/admin/v1/executions/%ff/files", &[], "");
    assert_eq!(api.refused(400, &escape), "INVALID_ARGUMENT");
    let host = serving.address;
    let head = format!(
        "POST /admin/v1/sweep HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: 104857600\r\n\r\n"
    );
    let large = serving.raw(&[head.into_bytes(), vec![b' '; 1 << 20]].concat());
    api.check("POST", "/sweep", &large);
    assert_eq!(api.refused(413, &large), "REQUEST_TOO_LARGE");

    // The audit is verified by its hash chain.
    serving.execute(&[], &json!({"code": "1"}));
    let store = Connection::open(place.folder().join("state/sessions.db")).unwrap();
    store.execute_batch("UPDATE audit SET detail = '{}' WHERE kind = 'execution.ended'").unwrap();
    let broken = api.ask("GET", "/audit/verify", &[], "", &[]);
    assert_eq!(api.refused(500, &broken), "AUDIT_BROKEN");
    assert_eq!(broken.json()["error"]["details"]["verdict"]["intact"], false);
}

#[test]
fn what_is_in_use_is_not_ended_by_the_way() {
    need_browser();
    let place = Place::new();
    let mut serving = Serving::start(&place, &["--grace", "1s"]);
    let api = Api::of(&serving, &[]);
    let reuse = |code: &str| json!({"code": code, "session": {"mode": "reuse", "key": "shop"}, "timeout_ms": 600_000});
    let first = serving.execute(&[], &reuse("await browser.open('about:blank'); 1"));
    let first = first["context"]["session_id"].as_str().unwrap_or_else(|| panic!("{first}")).to_owned();
    api.data("POST", "/sessions/{name}/close", &[("name", &first)], "");
    let holding = serving.begin(
        &[],
        &reuse(
            "await browser.open('about:blank'); console.warn('running'); await new Promise((r) => setTimeout(r, 1e8))",
        ),
    );
    let busy = api.ask("POST", "/sessions/{name}/close", &[("name", &first)], "", &[]);
    assert_eq!(api.refused(409, &busy), "SESSION_BUSY");
    api.data("POST", "/sessions/{name}/close", &[("name", "shop")], "");
    serving.program.signal(Signal::TERM);
    serving.program.ended(PATIENCE);
    holding.join().unwrap();
    wait_until("no process", PATIENCE, || place.processes().is_empty());
}

#[test]
fn long_lists_come_in_parts() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let api = Api::of(&serving, &[]);
    let mut ran: Vec<_> = (0..7)
        .map(|number| serving.execute(&[], &json!({"code": number.to_string()}))["context"]["execution_id"].clone())
        .collect();
    ran.reverse();
    let (mut found, mut query) = (Vec::new(), "?limit=3".to_owned());
    let mut parts = Vec::new();
    loop {
        let part = api.get("/executions", &[], &query);
        let executions = part["executions"].as_array().unwrap();
        parts.push(executions.len());
        found.extend(executions.iter().map(|execution| execution["id"].clone()));
        let Some(before) = part["before"].as_u64() else { break };
        query = format!("?limit=3&before={before}");
    }
    assert_eq!((found, parts), (ran, vec![3, 3, 1]));

    let all = api.get("/audit", &[], "");
    assert_eq!(all["before"], Json::Null, "{all}");
    let (mut found, mut query) = (Vec::new(), "?limit=5".to_owned());
    loop {
        let part = api.get("/audit", &[], &query);
        found.splice(0..0, part["rows"].as_array().unwrap().iter().cloned());
        let Some(before) = part["before"].as_u64() else { break };
        query = format!("?limit=5&before={before}");
    }
    assert_eq!(json!(found), all["rows"]);
    let last = data_of(place.command(&["audit", "show", "--json", "--limit", "1"]));
    let earlier =
        data_of(place.command(&["audit", "show", "--json", "--limit", "1", "--before", &last["before"].to_string()]));
    assert_eq!((&last["rows"][0], &earlier["rows"][0]), (&found[found.len() - 1], &found[found.len() - 2]));
}
