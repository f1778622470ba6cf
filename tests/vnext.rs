//! Browser control vNext over HTTP, from the client's side, with a real host and a real browser.

use crate::support::{
    http::{Client, Serving},
    lab,
    leases::{envelope_of, kill},
    pages::Pages,
    program::{PATIENCE, Place, need_browser, wait_until},
};
use codemode_spec::limits::{VNEXT_ARIA_NODES_MAX, VNEXT_SCREENSHOT_SIDE_MAX};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

/// A host that serves the contract, its client, and a site.
struct Control {
    serving: Serving,
    vnext: Client,
    pages: Pages,
    browsers: Browsers,
}

/// The state folder. Dropping it ends the browsers that hosts have left running under their keepers.
struct Browsers {
    place: Place,
}

impl Drop for Browsers {
    fn drop(&mut self) {
        let listed = envelope_of(self.place.command(&["sessions", "list", "--json"]));
        for session in listed["data"]["sessions"].as_array().into_iter().flatten() {
            self.place.run(&["sessions", "close", session["id"].as_str().unwrap_or_default()]);
        }
        if !std::thread::panicking() {
            wait_until("the end of all processes", PATIENCE, || self.place.processes().is_empty());
        }
    }
}

impl Control {
    fn start(arguments: &[&str]) -> Self {
        Self::on(Place::new(), arguments)
    }

    fn on(place: Place, arguments: &[&str]) -> Self {
        Self::in_place(Browsers { place }, arguments)
    }

    fn in_place(browsers: Browsers, arguments: &[&str]) -> Self {
        need_browser();
        let mut all = vec!["--vnext", "127.0.0.1:0"];
        all.extend(arguments);
        let mut serving = Serving::start(&browsers.place, &all);
        let line = serving.program.receive_line().expect("it says where the contract is served");
        let address = line.trim().strip_prefix("vnext http://").expect("an address").parse().unwrap();
        let pages = lab::block_on(Pages::serve());
        Self { serving, vnext: Client { address }, pages, browsers }
    }

    /// Sends a request; returns status and answer.
    fn ask(&self, method: &str, path: &str, body: &Json) -> (u16, Json) {
        self.ask_with(method, path, body, &[])
    }

    fn ask_with(&self, method: &str, path: &str, body: &Json, headers: &[(&str, &str)]) -> (u16, Json) {
        let body = if body.is_null() { String::new() } else { self.pages.place(&body.to_string()) };
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        let reply = self.vnext.ask(method, path, &all, &body);
        (reply.status, reply.json())
    }

    /// Sends a request that must succeed; returns the answer.
    fn done(&self, method: &str, path: &str, body: Json) -> Json {
        let (status, answer) = self.ask(method, path, &body);
        assert_eq!(status, 200, "{method} {path} {body}: {answer}");
        answer
    }

    /// Performs an action that must succeed; returns the answer.
    fn act(&self, action: Json) -> Json {
        let answer = self.done("POST", "/act", action.clone());
        assert_eq!((&answer["ok"], answer["targetId"].is_string()), (&json!(true), true), "{action}: {answer}");
        answer
    }

    fn evaluate(&self, function: &str) -> Json {
        self.act(json!({"kind": "evaluate", "fn": function}))["result"].take()
    }

    /// The ref in the first line of the snapshot that contains this text.
    fn find(&self, words: &str) -> String {
        let snapshot = self.done("GET", "/snapshot", Json::Null)["snapshot"].as_str().unwrap_or_default().to_owned();
        let line =
            snapshot.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words} in {snapshot}"));
        let (_, after) = line.split_once("[ref=").unwrap_or_else(|| panic!("no ref in {line}"));
        after.split(']').next().unwrap().to_owned()
    }

    fn open(&self, path: &str) -> String {
        let opened = self.done("POST", "/tabs/open", json!({"url": format!("{{{{site}}}}{path}")}));
        opened["targetId"].as_str().unwrap().to_owned()
    }
}

/// The request bodies are those of the specification, in its order.
#[test]
fn the_routes_of_the_document_in_its_order() {
    let control = Control::start(&[]);
    assert_eq!(
        control.done("GET", "/", Json::Null),
        json!({"enabled": true, "running": false, "session": "vnext", "inUse": false})
    );
    assert_eq!(control.done("GET", "/tabs", Json::Null), json!({"running": false, "tabs": []}));
    assert_eq!(control.done("POST", "/start", Json::Null), json!({"ok": true, "session": "vnext"}));
    assert_eq!(control.done("GET", "/", Json::Null)["running"], true);

    let first = control.open("/controls");
    let second = control.open("/fields");
    let tabs = control.done("GET", "/tabs", Json::Null);
    let tab = |id: &str| tabs["tabs"].as_array().unwrap().iter().find(|tab| tab["targetId"] == id).unwrap().clone();
    let url = control.pages.place("{{site}}/controls");
    assert_eq!(tab(&first), json!({"targetId": first, "title": "Controls", "url": url, "type": "page"}));
    assert_eq!(control.done("POST", "/tabs/focus", json!({"targetId": first})), json!({"ok": true, "targetId": first}));
    assert_eq!(
        control.done("DELETE", &format!("/tabs/{}", &second[..12]), Json::Null),
        json!({"ok": true, "targetId": second})
    );

    let gone = control.done("POST", "/navigate", json!({"url": "{{site}}/keys"}));
    assert_eq!(gone, json!({"ok": true, "targetId": first, "url": control.pages.place("{{site}}/keys")}));
    control.done("POST", "/navigate", json!({"url": "{{site}}/controls", "targetId": first}));

    let picture = control.done("POST", "/screenshot", json!({}));
    assert_eq!((&picture["contentType"], &picture["targetId"]), (&json!("image/png"), &json!(first)));
    let bytes = fs::read(picture["path"].as_str().unwrap()).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() as u64 == picture["bytes"].as_u64().unwrap(), "{picture}");
    let of_element =
        control.done("POST", "/screenshot", json!({"ref": control.find("button \"Bold\""), "type": "jpeg"}));
    assert_eq!(of_element["contentType"], "image/jpeg");
    assert!(of_element["bytes"].as_u64() < picture["bytes"].as_u64(), "{of_element} {picture}");

    let ai = control.done("GET", "/snapshot?format=ai", Json::Null);
    assert!(ai["snapshot"].as_str().unwrap().contains("heading \"Shop\" [level=1]"), "{ai}");
    let aria = control.done("GET", "/snapshot?format=aria&limit=3", Json::Null);
    assert_eq!(
        aria["nodes"],
        json!([
            {"ref": "ax1", "role": "heading", "name": "Shop", "depth": 0},
            {"ref": "ax2", "role": "heading", "name": "Goods", "depth": 0},
            {"ref": "ax3", "role": "navigation", "name": "", "depth": 0},
        ]),
        "{}",
        ai["snapshot"]
    );

    control.evaluate("() => { console.log('said'); console.error('wrong', 7); }");
    let all = control.done("GET", "/console", Json::Null);
    let texts =
        |told: &Json| told["messages"].as_array().unwrap().iter().map(|line| line["text"].clone()).collect::<Vec<_>>();
    assert_eq!(texts(&all), ["said", "wrong 7"]);
    assert_eq!(texts(&control.done("GET", "/console?level=error", Json::Null)), ["wrong 7"]);

    let printed = control.done("POST", "/pdf", json!({"targetId": first}));
    assert!(fs::read(printed["path"].as_str().unwrap()).unwrap().starts_with(b"%PDF"), "{printed}");

    assert_eq!(control.done("POST", "/stop", Json::Null), json!({"ok": true, "stopped": true}));
    assert_eq!(control.done("POST", "/stop", Json::Null), json!({"ok": true, "stopped": false}));
    assert_eq!(control.done("GET", "/", Json::Null)["running"], false);
}

#[test]
fn the_eleven_kinds_act_on_the_page() {
    let control = Control::start(&[]);
    control.open("/controls");
    control.act(json!({"kind": "click", "ref": control.find("button \"More\"")}));
    assert_eq!(control.evaluate("() => document.title"), "more");
    let user = control.find("textbox \"User name\"");
    control.act(json!({"kind": "type", "ref": user, "text": "ada"}));
    control.act(json!({"kind": "type", "ref": control.find("textbox \"Delivery\""), "text": "12", "slowly": true}));
    assert_eq!(control.evaluate("() => [user.value, zip.value]"), json!(["ada", "12"]));
    control.act(json!({"kind": "press", "key": "Backspace"}));
    assert_eq!(
        control.act(json!({"kind": "evaluate", "ref": user, "fn": "(field) => field.value + zip.value"}))["result"],
        "ada1"
    );
    assert_eq!(control.evaluate("document.links.length"), 2);
    control.act(json!({"kind": "hover", "ref": control.find("link \"Home\"")}));
    assert_eq!(control.evaluate("() => document.querySelector('nav a').matches(':hover')"), true);
    let fields = json!([{"ref": user, "type": "text", "value": "bob"}, {"ref": control.find("checkbox"), "type": "checkbox", "value": false}]);
    control.act(json!({"kind": "fill", "fields": fields}));
    assert_eq!(control.evaluate("() => [user.value, gift.checked]"), json!(["bob", false]));
    control.act(json!({"kind": "resize", "width": 640, "height": 480}));
    assert_eq!(control.evaluate("() => [innerWidth, innerHeight]"), json!([640, 480]));
    control.act(json!({"kind": "wait", "text": "Lamp", "selector": "h1", "url": "**/controls", "loadState": "load", "fn": "() => true", "timeMs": 1}));
    control.act(json!({"kind": "wait", "textGone": "Nowhere to be seen"}));

    control.evaluate(
        "() => { document.body.innerHTML = '<select aria-label=Colour><option value=r>Red<option value=b>Blue</select>\
        <div id=from draggable=true role=button aria-label=Piece style=\"width:40px;height:40px\">x</div>\
        <div id=to role=button aria-label=Field style=\"width:90px;height:90px\">y</div>'; \
        to.ondragover = (event) => event.preventDefault(); to.ondrop = () => { document.title = 'dropped'; }; }",
    );
    control.act(json!({"kind": "select", "ref": control.find("combobox \"Colour\""), "values": ["b"]}));
    assert_eq!(control.evaluate("() => document.querySelector('select').value"), "b");
    control.act(json!({"kind": "drag", "startRef": control.find("\"Piece\""), "endRef": control.find("\"Field\"")}));
    assert_eq!(control.evaluate("() => document.title"), "dropped");

    let closed = control.act(json!({"kind": "close"}))["targetId"].clone();
    let tabs = control.done("GET", "/tabs", Json::Null);
    assert!(tabs["tabs"].as_array().unwrap().iter().all(|tab| tab["targetId"] != closed), "{tabs}");
}

#[test]
fn a_login_in_four_requests_outlives_the_host_and_a_stop() {
    let control = Control::start(&[]);
    control.open("/login");
    let fields = json!([
        {"ref": control.find("textbox \"User"), "type": "text", "value": "ada"},
        {"ref": control.find("textbox \"Password"), "type": "text", "value": "lovelace"},
    ]);
    control.act(json!({"kind": "fill", "fields": fields}));
    control.act(json!({"kind": "click", "ref": control.find("button")}));
    control.act(json!({"kind": "wait", "url": "**/account"}));
    assert_eq!(control.evaluate("() => document.querySelector('#user').textContent"), "ada");
    // A new host, without the state of the previous one, finds the browser unchanged.
    let Control { mut serving, pages, browsers, .. } = control;
    kill(serving.program.pid(), Signal::KILL);
    serving.program.ended(PATIENCE);
    let again = Control { pages, ..Control::in_place(browsers, &[]) };
    assert_eq!(again.evaluate("() => document.querySelector('#user').textContent"), "ada");
    again.done("POST", "/stop", Json::Null);
    again.open("/account");
    assert_eq!(
        again.evaluate("() => document.querySelector('#user').textContent"),
        "ada",
        "what is kept of the key stays"
    );
}

#[test]
fn hooks_answer_what_comes_next_and_the_last_one_wins() {
    let uploads = tempfile::tempdir().unwrap();
    fs::write(uploads.path().join("a.txt"), "hello").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", uploads.path().join("link")).unwrap();
    let control = Control::start(&["--uploads", uploads.path().to_str().unwrap()]);
    control.open("/dialogs");
    let log = || control.evaluate("() => document.querySelector('#log').textContent");
    // No hook is armed: the dialog is dismissed.
    let confirm = control.find("button \"confirm\"");
    control.act(json!({"kind": "click", "ref": confirm}));
    wait_until("an answer", PATIENCE, || log() == "false;");
    control.done("POST", "/hooks/dialog", json!({"accept": false}));
    control.done("POST", "/hooks/dialog", json!({"accept": true, "promptText": "grace"}));
    control.act(json!({"kind": "click", "ref": control.find("button \"prompt\"")}));
    wait_until("an answer", PATIENCE, || log() == "false;grace;");
    // A hook answers one dialog.
    control.act(json!({"kind": "click", "ref": confirm}));
    wait_until("an answer", PATIENCE, || log() == "false;grace;false;");
    // The second of two dialogs, which opens as soon as the first is answered, is dismissed.
    control.evaluate("() => { document.querySelector('#log').textContent = ''; }");
    control.done("POST", "/hooks/dialog", json!({"accept": true}));
    control.act(json!({"kind": "click", "ref": control.find("button \"two\"")}));
    wait_until("both answers", PATIENCE, || log() == "true;false;");
    // An expired hook answers nothing and holds no dialog open.
    control.done("POST", "/hooks/dialog", json!({"accept": true, "timeoutMs": 1}));
    wait_until("the end of the hook", PATIENCE, || {
        control.act(json!({"kind": "click", "ref": confirm}));
        log().as_str().unwrap().ends_with("false;false;")
    });

    control.done("POST", "/navigate", json!({"url": "{{site}}/upload"}));
    let trigger = control.find("button \"Several\"");
    let chosen = || control.evaluate("() => document.querySelector('#log').textContent");
    control.done("POST", "/hooks/file-chooser", json!({"paths": ["a.txt"], "ref": trigger}));
    wait_until("the file", PATIENCE, || chosen() == "a.txt text/plain 5");
    let whole = uploads.path().join("a.txt");
    control.done("POST", "/hooks/file-chooser", json!({"paths": [whole, "a.txt"], "element": "#files"}));
    wait_until("the files", PATIENCE, || chosen() == "a.txt text/plain 5, a.txt text/plain 5");
    for outside in ["/etc/passwd", "../a.txt", "link", ".", "none.txt", "/proc/self/environ"] {
        let (status, answer) =
            control.ask("POST", "/hooks/file-chooser", &json!({"paths": [outside], "element": "#file"}));
        assert_eq!((status, &answer["code"]), (403, &json!("POLICY_REFUSED")), "{outside}: {answer}");
        assert!(!answer.to_string().contains("root:"), "{answer}");
    }
}

#[test]
fn each_status_of_the_contract() {
    let control = Control::start(&["--no-evaluate"]);
    let said = |method: &str, path: &str, body: Json| {
        let (status, answer) = control.ask(method, path, &body);
        (status, answer["error"].as_str().unwrap_or_default().to_owned())
    };
    let is = |status: u16, error: &str| (status, error.to_owned());
    assert_eq!(said("POST", "/tabs/focus", json!({"targetId": "x"})), is(409, "browser not running"));
    assert_eq!(said("DELETE", "/tabs/x", Json::Null), is(409, "browser not running"));
    assert_eq!(said("POST", "/tabs/open", json!({})), is(400, "url is required"));
    assert_eq!(said("POST", "/tabs/focus", json!({})), is(400, "targetId is required"));
    assert_eq!(said("POST", "/navigate", json!({"url": " "})), is(400, "url is required"));
    assert_eq!(said("POST", "/act", json!({})), is(400, "kind is required"));
    assert_eq!(said("POST", "/act", json!({"kind": "click"})), is(400, "ref is required"));
    let (status, answer) = control.ask("POST", "/act", &json!({"kind": "click", "selector": "#a"}));
    assert!(status == 400 && answer["hint"].as_str().unwrap().contains("ref"), "{answer}");
    assert_eq!(
        said("POST", "/act", json!({"kind": "evaluate", "fn": "1"})),
        is(403, "evaluating functions is disabled on this host")
    );
    assert_eq!(said("POST", "/act", json!({"kind": "wait", "fn": "1"})).0, 403);
    assert_eq!(
        said("POST", "/screenshot", json!({"fullPage": true, "ref": "e1"})),
        is(400, "fullPage is not supported for element screenshots")
    );
    assert_eq!(said("GET", "/snapshot?format=dom", Json::Null), is(400, "format must be ai|aria"));
    assert_eq!(said("POST", "/hooks/dialog", json!({})), is(400, "accept is required"));
    assert_eq!(said("POST", "/hooks/file-chooser", json!({})), is(400, "paths are required"));
    assert_eq!(said("POST", "/hooks/file-chooser", json!({"paths": ["a"]})).0, 403);
    assert_eq!(said("GET", "/click", Json::Null), is(404, "there is nothing at this path"));
    assert_eq!(said("GET", "/act", Json::Null), is(405, "this path is not for this method"));
    for body in ["[]", "{", "\"x\"", "\u{7f}"] {
        let reply = control.vnext.ask("POST", "/act", &[("content-type", "application/json")], body);
        assert_eq!((reply.status, &reply.json()["error"]), (400, &json!("the body must be a JSON object")), "{body:?}");
    }
    // None of these requests has started a browser.
    assert_eq!(control.done("GET", "/", Json::Null)["running"], false);

    let (one, two) = (control.open("/controls"), control.open("/keys"));
    let shared: String = one.chars().zip(two.chars()).take_while(|(one, two)| one == two).map(|(one, _)| one).collect();
    assert_eq!(said("POST", "/tabs/focus", json!({"targetId": "no-such"})), is(404, "tab not found"));
    if !shared.is_empty() {
        assert_eq!(said("POST", "/tabs/focus", json!({"targetId": shared})), is(409, "ambiguous target id prefix"));
    }
    let (status, answer) = control.ask("POST", "/act", &json!({"kind": "click", "ref": "e99999", "timeoutMs": 500}));
    assert_eq!((status, &answer["code"]), (422, &json!("ELEMENT_NOT_FOUND")), "{answer}");
    assert_eq!(said("POST", "/navigate", json!({"url": "{{closed}}"})).0, 502);
    assert_eq!(said("POST", "/navigate", json!({"url": "file:///etc/passwd"})).0, 403);
    let (status, answer) = control.ask("POST", "/act", &json!({"kind": "wait", "text": "never here", "timeoutMs": 1}));
    assert_eq!((status, &answer["code"]), (422, &json!("ELEMENT_NOT_FOUND")), "{answer}");
    let (status, answer) = control.ask("GET", "/snapshot?format=aria&limit=100000", &Json::Null);
    assert!(status == 200 && answer["nodes"].as_array().unwrap().len() <= VNEXT_ARIA_NODES_MAX, "{answer}");
    control.done("POST", "/act", json!({"kind": "resize", "width": 3000, "height": 900}));
    let wide = control.done("POST", "/screenshot", json!({}));
    let png = fs::read(wide["path"].as_str().unwrap()).unwrap();
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), VNEXT_SCREENSHOT_SIDE_MAX);
}

#[test]
fn a_face_goes_around_nothing() {
    const OF_CI: &str = "ci-0123456789abcdef0123456789abcdef";
    let place = Place::new();
    let file = place.folder().join("tokens.toml");
    let text = format!("[ci]\ntoken = \"{OF_CI}\"\nkeys = [\"ci-*\"]\n[ci.network]\ndeny = [\"localhost\"]\n");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let control = Control::on(place, &["--token-file", file.to_str().unwrap()]);
    assert_eq!(control.ask("GET", "/", &Json::Null).0, 401);
    let token = format!("Bearer {OF_CI}");
    let with = |key: &str, method: &str, path: &str, body: &Json| {
        control.ask_with(method, path, body, &[("authorization", &token), ("x-codemode-session", key)])
    };
    // The caller can use its own session keys, and no others.
    for (method, path) in [("GET", "/"), ("POST", "/start"), ("POST", "/stop"), ("GET", "/tabs"), ("POST", "/pdf")] {
        assert_eq!(with("mine", method, path, &Json::Null).0, 403, "{path}");
    }
    assert_eq!(with("", "POST", "/start", &Json::Null).0, 400);
    // The caller's network rules apply.
    let (status, answer) = with("ci-1", "POST", "/navigate", &json!({"url": "{{other}}/controls"}));
    assert_eq!((status, &answer["code"]), (403, &json!("POLICY_REFUSED")), "{answer}");
    assert_eq!(with("ci-1", "POST", "/navigate", &json!({"url": "{{site}}/controls"})).0, 200);
    // The lease applies: other executions wait for the browser, and the error names the holder.
    let asked = json!({"code": "await browser.pages()", "session": {"mode": "reuse", "key": "ci-1", "wait_ms": 0}});
    let busy = control.serving.execute(&[("authorization", &token)], &asked);
    assert_eq!(busy["error"]["code"], "SESSION_BUSY", "{busy}");
    assert_eq!(with("ci-1", "POST", "/stop", &Json::Null).0, 200);
    // The audit records the requests.
    let audit = control.browsers.place.run(&["audit", "show", "--json"]);
    let audit = String::from_utf8(audit.stdout).unwrap();
    assert!(audit.contains(r#"\"caller\":\"ci\""#) && audit.contains("browser.goto"), "{audit}");
    assert!(!audit.contains(OF_CI), "{audit}");
    // Requests from foreign pages are refused.
    for (headers, why) in
        [(vec![("host", "evil.example")], "host"), (vec![("origin", "http://evil.example")], "origin")]
    {
        let mut all = vec![("authorization", token.as_str())];
        all.extend(headers);
        assert_eq!(control.vnext.ask("GET", "/", &all, "").status, 403, "{why}");
    }
}

#[test]
fn a_host_that_is_told_to_stop_leaves_the_browsers_to_their_keepers() {
    let control = Control::start(&["--grace", "200ms"]);
    control.open("/controls");
    let vnext = control.vnext;
    let waiting = std::thread::spawn(move || {
        let endless = "() => { document.title = 'waits'; return new Promise(() => {}); }";
        let body = json!({"kind": "evaluate", "fn": endless, "timeoutMs": 60_000});
        let reply = vnext.ask("POST", "/act", &[], &body.to_string());
        (reply.status, reply.json()["code"].clone())
    });
    wait_until("a request that waits", PATIENCE, || control.evaluate("() => document.title") == "waits");
    let Control { mut serving, browsers, .. } = control;
    let place = &browsers.place;
    serving.program.signal(Signal::TERM);
    assert_eq!(serving.program.ended(PATIENCE).code(), Some(0));
    let (status, code) = waiting.join().unwrap();
    assert_eq!((status, code), (499, json!("CANCELLED")));
    let listed = place.run(&["sessions", "list", "--json"]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("\"key\":\"vnext\""));
}
