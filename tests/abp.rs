//! Agent Browser Protocol over HTTP, from the client's side, with a real host and a real browser.

mod examples;
mod record;

use crate::support::{
    http::{Client, Reply, Serving, call},
    lab,
    leases::envelope_of,
    pages::Pages,
    program::{PATIENCE, Place, need_browser, wait_until},
};
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    time::{Duration, Instant},
};

/// A host that serves the contract, and a site.
struct Abp {
    serving: Serving,
    pages: Pages,
    _browsers: Browsers,
}

/// The state folder. Dropping it ends the browsers that the host has left running under their keepers.
struct Browsers(Place);

impl Drop for Browsers {
    fn drop(&mut self) {
        let listed = envelope_of(self.0.command(&["sessions", "list", "--json"]));
        for session in listed["data"]["sessions"].as_array().into_iter().flatten() {
            self.0.run(&["sessions", "close", session["id"].as_str().unwrap_or_default()]);
        }
        if !std::thread::panicking() {
            wait_until("the end of all processes", PATIENCE, || self.0.processes().is_empty());
        }
    }
}

impl Abp {
    fn start(arguments: &[&str]) -> Self {
        need_browser();
        let browsers = Browsers(Place::new());
        let serving = Serving::start(&browsers.0, arguments);
        let pages = lab::block_on(Pages::serve());
        wait_until("readiness", PATIENCE, || serving.ask("GET", "/readyz", &[], "").status == 200);
        Self { serving, pages, _browsers: browsers }
    }

    fn reply(&self, method: &str, path: &str, body: &Json) -> Reply {
        let body = if body.is_null() { String::new() } else { self.pages.place(&body.to_string()) };
        self.serving.ask(method, &format!("/api/v1{path}"), &[("content-type", "application/json")], &body)
    }

    /// Sends a request; returns status and answer.
    fn ask(&self, method: &str, path: &str, body: Json) -> (u16, Json) {
        let reply = self.reply(method, path, &body);
        (reply.status, reply.json())
    }

    /// Sends a request that must succeed; returns the answer.
    fn done(&self, method: &str, path: &str, body: Json) -> Json {
        let (status, answer) = self.ask(method, path, body.clone());
        assert!(status / 100 == 2, "{status} to {method} {path} {body}: {answer}");
        answer
    }

    /// Performs an action without screenshots.
    fn act(&self, tab: &str, action: &str, mut body: Json) -> Json {
        body["screenshot"] = json!({"area": "none"});
        self.done("POST", &format!("/tabs/{tab}/{action}"), body)
    }

    fn evaluate(&self, tab: &str, script: &str) -> Json {
        let body = json!({"script": script, "wait_until": {"type": "immediate"}});
        self.act(tab, "execute", body)["result"]["value"].take()
    }

    fn open(&self, path: &str) -> String {
        let opened = self.done("POST", "/tabs", json!({"url": format!("{{{{site}}}}{path}")}));
        opened["id"].as_str().unwrap().to_owned()
    }

    /// The centre of an element.
    fn middle(&self, tab: &str, selector: &str) -> Json {
        let script = format!(
            "(() => {{ const b = document.querySelector({selector:?}).getBoundingClientRect(); \
                              return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        );
        let point = self.evaluate(tab, &script);
        json!({"x": point[0], "y": point[1]})
    }

    fn click(&self, tab: &str, selector: &str) -> Json {
        self.act(tab, "click", self.middle(tab, selector))
    }
}

fn kinds(answer: &Json) -> Vec<&str> {
    answer["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn tabs_and_navigation_as_the_document_has_them() {
    let abp = Abp::start(&[]);
    let status = abp.done("GET", "/browser/status", Json::Null);
    let all = json!({"http_server": true, "browser_window": true, "devtools": true});
    assert_eq!(status, json!({"success": true, "data": {"ready": true, "state": "ready", "components": all}}));
    assert_eq!(abp.done("GET", "/browser/input-mode", Json::Null), json!({"input_mode": "agent"}));

    let (status, blank) = abp.ask("POST", "/tabs", json!({}));
    assert_eq!((status, &blank["url"]), (201, &json!("about:blank")));
    let tab = abp.open("/controls");
    let url = |path: &str| abp.pages.place(&format!("{{{{site}}}}{path}"));
    let list = abp.done("GET", "/tabs", Json::Null);
    assert!(
        list.as_array()
            .unwrap()
            .contains(&json!({"id": tab, "url": url("/controls"), "title": "Controls", "active": true})),
        "{list}"
    );
    let shown = json!({"id": tab, "url": url("/controls"), "title": "Controls", "loading": false});
    assert_eq!(abp.done("GET", &format!("/tabs/{tab}"), Json::Null), shown);

    let gone = abp.act(&tab, "navigate", json!({"url": "{{site}}/keys", "network": {"tag": "login-flow"}}));
    assert_eq!(gone["result"], json!({"status": "navigated", "url": url("/keys")}));
    let event = &gone["events"][0];
    assert_eq!((&event["type"], &event["data"]["url"]), (&json!("navigation"), &json!(url("/keys"))), "{gone}");
    assert!(gone["network"]["total"].as_u64() >= Some(1) && gone["network"]["tag"] == "login-flow", "{gone}");
    let timing = ["action_started_ms", "action_completed_ms", "wait_completed_ms"]
        .map(|name| gone["timing"][name].as_u64().unwrap());
    assert!(timing.is_sorted() && gone["timing"]["duration_ms"] == timing[2] - timing[0], "{gone}");
    assert!(gone.get("screenshot_before").is_none() && gone["scroll"]["viewport_width"].as_u64() > Some(0), "{gone}");

    let back = abp.act(&tab, "back", json!({}));
    assert_eq!(
        (&back["result"]["url"], &back["events"][0]["data"]["navigation_type"]),
        (&json!(url("/controls")), &json!("back_forward"))
    );
    assert_eq!(abp.act(&tab, "forward", json!({}))["result"]["url"], url("/keys"));
    assert_eq!(abp.ask("POST", &format!("/tabs/{tab}/forward"), json!({})).0, 400);
    assert_eq!(abp.act(&tab, "reload", json!({}))["events"][0]["data"]["navigation_type"], "reload");
    assert_eq!(abp.done("POST", &format!("/tabs/{tab}/stop"), json!({})), json!({"status": "stopped", "tab_id": tab}));
    let activated = abp.done("POST", &format!("/tabs/{tab}/activate"), json!({}));
    assert_eq!((&activated["status"], &activated["tab_id"]), (&json!("activated"), &json!(tab)));
    assert_eq!(abp.done("DELETE", &format!("/tabs/{tab}"), Json::Null), json!({}));
    let (status, lost) = abp.ask("GET", &format!("/tabs/{tab}"), Json::Null);
    assert_eq!(
        (status, &lost["error"], &lost["code"]),
        (404, &json!(format!("Tab {tab} not found")), &json!("TAB_NOT_FOUND"))
    );
    assert_eq!(abp.done("POST", "/browser/shutdown", json!({"timeout_ms": 5000}))["success"], true);
}

#[test]
fn a_login_by_mouse_and_keyboard_with_pictures_before_and_after() {
    let abp = Abp::start(&[]);
    let tab = abp.open("/login");
    abp.click(&tab, "[name=user]");
    assert_eq!(abp.act(&tab, "type", json!({"text": "ada"}))["result"], json!({"status": "typed", "text": "ada"}));
    abp.act(&tab, "keyboard/press", json!({"key": "Tab"}));
    abp.act(&tab, "type", json!({"text": "lovelacE"}));
    abp.act(&tab, "keyboard/press", json!({"key": "Backspace"}));
    abp.act(&tab, "type", json!({"text": "e"}));
    let body = abp.middle(&tab, "button");
    let clicked = abp.done("POST", &format!("/tabs/{tab}/click"), body);
    assert_eq!(kinds(&clicked), ["navigation"], "{}", clicked["events"]);
    assert_eq!(abp.evaluate(&tab, "document.querySelector('#user').textContent"), "ada");
    let (before, after) = (&clicked["screenshot_before"], &clicked["screenshot_after"]);
    for picture in [before, after] {
        assert!(picture["data"].as_str().unwrap().starts_with("UklGR"), "a WebP in base64");
        assert_eq!((&picture["format"], picture["width"].as_u64() > Some(100)), (&json!("webp"), true));
    }
    assert_ne!(before["data"], after["data"]);
    let text = abp.done("POST", &format!("/tabs/{tab}/text"), json!({"selector": "#user"}));
    assert_eq!(text, json!({"text": "ada"}));
    assert_eq!(abp.done("POST", &format!("/tabs/{tab}/text"), json!({"selector": "#none"})), json!({"text": null}));

    // Overlays appear in the screenshot unless they are disabled, and never remain in the page.
    let bare = abp.reply(
        "GET",
        &format!("/tabs/{tab}/screenshot?disable_markup=clickable,typeable,scrollable,grid,selected"),
        &Json::Null,
    );
    let marked = abp.reply("GET", &format!("/tabs/{tab}/screenshot"), &Json::Null);
    assert_eq!((bare.header("content-type"), bare.body == marked.body), (Some("image/webp"), false));
    let posted =
        abp.done("POST", &format!("/tabs/{tab}/screenshot"), json!({"screenshot": {"disable_markup": ["grid"]}}));
    assert!(posted["screenshot_after"]["data"].is_string(), "{posted}");
    assert_eq!(abp.evaluate(&tab, "document.documentElement.outerHTML.includes('codemode')"), false);
}

#[test]
fn the_mouse_the_wheel_keys_and_scripts() {
    let abp = Abp::start(&[]);
    let tab = abp.open("/controls");
    abp.act(&tab, "move", abp.middle(&tab, "nav a"));
    assert_eq!(abp.evaluate(&tab, "document.querySelector('nav a').matches(':hover')"), true);
    abp.evaluate(&tab, "void (window.seen = [], addEventListener('click', (e) => seen.push([e.detail, e.shiftKey])))");
    let mut twice = abp.middle(&tab, "#bold");
    twice["click_count"] = json!(2);
    twice["modifiers"] = json!(["ShiftLeft"]);
    abp.act(&tab, "click", twice);
    assert_eq!(abp.evaluate(&tab, "seen"), json!([[1, true], [2, true]]));

    abp.evaluate(&tab, "void (document.body.style.height = '5000px', user.focus())");
    let scrolled = abp.act(
        &tab,
        "scroll",
        json!({"x": 100, "y": 100, "delta_y": 300, "wait_until": {"type": "time", "duration_ms": 300}}),
    );
    assert_eq!(
        (&scrolled["scroll"]["vertical_px"], scrolled["scroll"]["page_height"].as_u64() >= Some(5000)),
        (&json!(300), true),
        "{scrolled}"
    );
    let (_, nothing) = abp.ask("POST", &format!("/tabs/{tab}/scroll"), json!({"x": 1, "y": 1}));
    assert_eq!(nothing["error"], "delta_x or delta_y must be non-zero");

    abp.act(&tab, "type", json!({"action_params": {"text": "abc"}}));
    abp.act(&tab, "keyboard/press", json!({"key": "a", "modifiers": ["Control"]}));
    abp.act(&tab, "keyboard/down", json!({"key": "Shift"}));
    abp.act(&tab, "keyboard/press", json!({"key": "x"}));
    abp.act(&tab, "keyboard/up", json!({"key": "Shift"}));
    assert_eq!(abp.evaluate(&tab, "user.value"), "X");

    for (script, result) in [
        ("document.querySelectorAll('li').length", json!({"value": 4, "type": "number"})),
        ("undefined", json!({"value": null, "type": "undefined"})),
        ("Promise.resolve({a: [1]})", json!({"value": {"a": [1]}, "type": "object"})),
        ("'x'", json!({"value": "x", "type": "string"})),
        ("true", json!({"value": true, "type": "boolean"})),
    ] {
        assert_eq!(abp.act(&tab, "execute", json!({"script": script}))["result"], result, "{script}");
    }
    let (status, failed) = abp.ask("POST", &format!("/tabs/{tab}/execute"), json!({"script": "nothing.here"}));
    assert_eq!((status, &failed["code"]), (400, &json!("EVALUATION_ERROR")), "{failed}");
    assert_eq!(abp.act(&tab, "wait", json!({"ms": 10}))["result"], json!({"status": "waited", "ms": 10}));
    assert_eq!(abp.ask("POST", &format!("/tabs/{tab}/wait"), json!({"ms": 60_001})).0, 400);
}

#[test]
fn dialogs_choosers_downloads_and_requests() {
    let uploads = tempfile::tempdir().unwrap();
    fs::write(uploads.path().join("a.txt"), "hello").unwrap();
    let abp = Abp::start(&["--uploads", uploads.path().to_str().unwrap()]);
    let tab = abp.open("/dialogs");
    let dialog = |path: &str| format!("/tabs/{tab}/dialog{path}");
    assert_eq!(abp.done("GET", &dialog(""), Json::Null), json!({"present": false}));
    let body = abp.middle(&tab, "#prompt");
    let clicked = abp.done("POST", &format!("/tabs/{tab}/click"), body);
    assert_eq!(kinds(&clicked), ["dialog"]);
    let told = &clicked["events"][0]["data"];
    assert_eq!(
        (&told["dialog_type"], &told["default_prompt"], &told["pending"]),
        (&json!("prompt"), &json!("nobody"), &json!(true))
    );
    assert_eq!(clicked["screenshot_after"]["stale"], true, "a page with a dialog is not drawn");
    let shown = json!({"present": true, "dialog_type": "prompt", "message": "name?", "default_prompt": "nobody"});
    assert_eq!(abp.done("GET", &dialog(""), Json::Null), shown);
    assert_eq!(abp.done("POST", &dialog("/accept"), json!({"prompt_text": "grace"})), json!({"success": true}));
    abp.click(&tab, "#confirm");
    let (status, blocked) = abp.ask("POST", &format!("/tabs/{tab}/keyboard/press"), json!({"key": "a"}));
    assert_eq!((status, &blocked["code"]), (409, &json!("DIALOG_OPEN")), "{blocked}");
    abp.done("POST", &dialog("/dismiss"), json!({}));
    assert_eq!(abp.evaluate(&tab, "document.querySelector('#log').textContent"), "grace;false;");
    let (status, none) = abp.ask("POST", &dialog("/accept"), json!({}));
    assert_eq!((status, &none["code"]), (404, &json!("DIALOG_NOT_PRESENT")));

    abp.act(&tab, "navigate", json!({"url": "{{site}}/upload"}));
    let opened = abp.click(&tab, "#files");
    let chooser = &opened["events"][0]["data"];
    assert_eq!(
        (&opened["events"][0]["type"], &chooser["chooser_type"]),
        (&json!("file_chooser"), &json!("open_multiple"))
    );
    let path = format!("/file-chooser/{}", chooser["id"].as_str().unwrap());
    assert_eq!(abp.ask("POST", &path, json!({"files": ["/etc/passwd"]})).0, 403);
    assert_eq!(abp.done("POST", &path, json!({"files": ["a.txt"]})), json!({"success": true}));
    assert_eq!(abp.evaluate(&tab, "document.querySelector('#log').textContent"), "a.txt text/plain 5");
    assert_eq!(abp.ask("POST", &path, json!({"files": ["a.txt"]})).0, 404);
    // A chooser that refuses files can be answered again.
    let opened = abp.click(&tab, "label");
    let path = format!("/file-chooser/{}", opened["events"][0]["data"]["id"].as_str().unwrap());
    let (status, refused) = abp.ask("POST", &path, json!({"files": ["a.txt", "a.txt"]}));
    assert!(status / 100 == 4 && status != 404, "{refused}");
    assert_eq!(abp.done("POST", &path, json!({"files": ["a.txt"]})), json!({"success": true}));

    abp.click(&tab, "#download");
    let newest = || abp.done("GET", "/downloads?limit=1", Json::Null)["downloads"][0]["id"].clone();
    wait_until("the beginning of the download", PATIENCE, || newest().is_string());
    let id = newest().as_str().unwrap().to_owned();
    wait_until("the download", PATIENCE, || {
        abp.done("GET", &format!("/downloads/{id}"), Json::Null)["state"] == "completed"
    });
    let list = abp.done("GET", "/downloads?state=completed", Json::Null);
    assert_eq!(
        (&list["downloads"][0]["id"], &list["downloads"][0]["bytes_received"]),
        (&json!(id), &json!(20 << 20)),
        "{list}"
    );
    assert_eq!(abp.ask("GET", "/downloads/none", Json::Null).0, 404);

    abp.act(&tab, "navigate", json!({"url": "{{site}}/cookie"}));
    let answer =
        abp.done("POST", &format!("/tabs/{tab}/curl"), json!({"url": "{{site}}/mirror", "headers": {"x-mine": "1"}}));
    assert_eq!(
        (&answer["status"], &answer["body_encoding"], &answer["redirected"]),
        (&json!(200), &json!("text"), &json!(false))
    );
    assert!(answer["body"].as_str().unwrap().contains("x-mine"), "{answer}");
}

#[test]
fn what_is_wrong_or_not_there_says_so() {
    let abp = Abp::start(&[]);
    for (method, path) in [("POST", "/tabs/x/pin"), ("POST", "/tabs/x/drag"), ("GET", "/cookies"), ("GET", "/window")] {
        let (status, answer) = abp.ask(method, path, json!({}));
        let error = answer["error"].as_str().unwrap();
        assert!(status == 501 && error.contains(&format!("/api/v1{path}")), "{status} {answer}");
    }
    assert_eq!(abp.ask("GET", "/nowhere", Json::Null).0, 404);
    assert_eq!(abp.ask("PUT", "/tabs", json!({})).0, 405);
    let tab = abp.open("/controls");
    for (action, body, error) in [
        ("click", json!({"x": 1}), "x and y are required"),
        ("click", json!({"x": 1, "y": 1, "button": "thumb"}), "button must be left, right or middle"),
        ("click", json!({"x": 1, "y": 1, "modifiers": ["Hyper"]}), "modifiers must be Shift, Control, Alt or Meta"),
        ("navigate", json!({}), "url is required"),
        ("type", json!({}), "text is required"),
        ("keyboard/press", json!({}), "key is required"),
        ("execute", json!({}), "script is required"),
        ("wait", json!({"ms": -1}), "ms is required, from 0 to 60000"),
        (
            "click",
            json!({"x": 1, "y": 1, "wait_until": {"type": "soon"}}),
            "wait_until.type must be action_complete, immediate or time",
        ),
        ("click", json!({"x": 1, "y": 1, "screenshot": {"area": "moon"}}), "screenshot.area must be viewport or none"),
    ] {
        let (status, answer) = abp.ask("POST", &format!("/tabs/{tab}/{action}"), body);
        assert_eq!((status, answer["error"].as_str().unwrap()), (400, error), "{action}");
    }
    let (status, answer) = abp.ask("POST", &format!("/tabs/{tab}/navigate"), json!({"url": "file:///etc/passwd"}));
    assert_eq!((status, &answer["code"]), (403, &json!("POLICY_REFUSED")), "{answer}");
    assert_eq!(abp.ask("POST", &format!("/tabs/{tab}/navigate"), json!({"url": "{{closed}}"})).0, 502);
}

#[test]
fn a_person_takes_the_turn_and_the_agent_waits() {
    let abp = Abp::start(&["--no-history"]);
    let tab = abp.open("/controls");
    let mode = |mode: &str| abp.done("POST", "/browser/input-mode", json!({"input_mode": mode}));
    assert_eq!(abp.ask("POST", "/browser/input-mode", json!({"input_mode": "cat"})).0, 400);
    let client: &Client = &abp.serving;
    let begins = json!({"script": "document.body.id = 'begun', new Promise(() => {})"}).to_string();
    let path = format!("/api/v1/tabs/{tab}/execute");
    std::thread::scope(|scope| {
        // A running action is cancelled.
        let waiting = scope.spawn(|| client.ask("POST", &path, &[("content-type", "application/json")], &begins));
        wait_until("the beginning of the action", PATIENCE, || {
            let begun = abp.done("POST", &format!("/tabs/{tab}/text"), json!({"selector": "#begun"}));
            begun["text"].is_string()
        });
        assert_eq!(mode("human"), json!({"input_mode": "human"}));
        let reply = waiting.join().unwrap();
        let error = "it is a person's turn: the input mode is human";
        assert_eq!((reply.status, &reply.json()["error"]), (409, &json!(error)));
    });
    assert_eq!(abp.done("GET", "/browser/input-mode", Json::Null), json!({"input_mode": "human"}));
    for (path, body) in [
        ("click", json!({"x": 1, "y": 1})),
        ("navigate", json!({"url": "{{site}}/keys"})),
        ("wait", json!({"ms": 1})),
        ("screenshot", json!({})),
        ("dialog/accept", json!({})),
    ] {
        assert_eq!(abp.ask("POST", &format!("/tabs/{tab}/{path}"), body).0, 409, "{path}");
    }
    assert_eq!(abp.ask("POST", "/file-chooser/fc_1", json!({"cancel": true})).0, 409);
    assert_eq!(abp.reply("GET", &format!("/tabs/{tab}/screenshot"), &Json::Null).status, 200, "looking is no action");
    // The input mode of another browser is independent.
    let headers = [("content-type", "application/json"), ("x-codemode-session", "other")];
    let other = abp.serving.ask("GET", "/api/v1/browser/input-mode", &headers, "");
    assert_eq!(other.json(), json!({"input_mode": "agent"}));
    assert_eq!(mode("agent"), json!({"input_mode": "agent"}));
    assert_eq!(abp.act(&tab, "wait", json!({"ms": 1}))["action_id"], Json::Null, "nothing is noted");

    // A cancelled click has released its modifiers before the page receives the next key.
    let busy =
        "bold.onclick = () => { document.title = 'busy'; const end = Date.now() + 2000; while (Date.now() < end); }";
    abp.evaluate(&tab, &format!("void ({busy}, user.focus())"));
    let mut click = abp.middle(&tab, "#bold");
    click["modifiers"] = json!(["Shift"]);
    let (path, click) = (format!("/api/v1/tabs/{tab}/click"), click.to_string());
    std::thread::scope(|scope| {
        let clicking = scope.spawn(|| client.ask("POST", &path, &[("content-type", "application/json")], &click));
        wait_until("the click", PATIENCE, || {
            let tabs = abp.done("GET", "/tabs", Json::Null);
            tabs.as_array().unwrap().iter().any(|one| one["title"] == "busy")
        });
        mode("human");
        assert_eq!(clicking.join().unwrap().status, 409);
    });
    mode("agent");
    wait_until("a key without Shift", PATIENCE, || {
        abp.evaluate(&tab, "void (user.value = '', user.focus())");
        abp.act(&tab, "keyboard/press", json!({"key": "x"}));
        abp.evaluate(&tab, "user.value") == "x"
    });
    // A long text is typed no further once a person has control, or the client has disconnected.
    const LETTERS: u64 = 3_000;
    let typed = || {
        let tabs = abp.done("GET", "/tabs", Json::Null);
        let title = tabs.as_array().unwrap().iter().find(|one| one["id"] == tab).unwrap()["title"].clone();
        title.as_str().unwrap().parse::<u64>().unwrap()
    };
    let text = json!({"text": "a".repeat(LETTERS as usize), "screenshot": {"area": "none"}}).to_string();
    let request =
        client.request("POST", &format!("/api/v1/tabs/{tab}/type"), &[("content-type", "application/json")], &text);
    for disconnects in [false, true] {
        let counts = "user.oninput = () => { document.title = user.value.length; }";
        abp.evaluate(&tab, &format!("void (user.value = '', document.title = 0, {counts}, user.focus())"));
        let mut stream = client.connect();
        stream.write_all(request.as_bytes()).unwrap();
        wait_until("the first letters", PATIENCE, || typed() > 0);
        if disconnects {
            drop(stream);
        } else {
            mode("human");
            assert_eq!(Reply::read(stream).status, 409);
        }
        let mut last = (typed(), Instant::now());
        wait_until("the end of typing", PATIENCE, || {
            let now = typed();
            if now != last.0 {
                last = (now, Instant::now());
            }
            last.1.elapsed() > Duration::from_millis(500)
        });
        assert!(last.0 < LETTERS, "disconnects: {disconnects}");
        mode("agent");
    }
    let (status, none) = abp.ask("GET", "/history/actions", Json::Null);
    assert_eq!((status, &none["code"]), (404, &json!("HISTORY_DISABLED")));
    let data = abp.done("GET", "/browser/session-data", Json::Null);
    assert_eq!((&data["data"]["database_path"], &data["data"]["screenshots_enabled"]), (&Json::Null, &json!(false)));
}

#[test]
fn the_thirty_tools_are_calls_of_the_routes() {
    let abp = Abp::start(&[]);
    let send = |method: &str, params: Json| {
        let mut message = call(&json!({}));
        let meta = message["params"]["_meta"].take();
        message["params"] = params;
        message["params"]["_meta"] = meta;
        message["method"] = json!(method);
        abp.serving.raw(abp.serving.message_to("/abp/mcp", &[], &message).as_bytes()).message()
    };
    let tool = |name: &str, arguments: Json| {
        let arguments: Json = serde_json::from_str(&abp.pages.place(&arguments.to_string())).unwrap();
        let answer = send("tools/call", json!({"name": name, "arguments": arguments}));
        let words = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let told: Json = serde_json::from_str(words).unwrap();
        (answer["result"]["isError"] == true, told, answer["result"]["content"].clone())
    };
    let listed = send("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 30);
    assert!(tools.iter().all(|tool| tool["name"].as_str().unwrap().starts_with("browser_")), "{listed}");

    assert_eq!(tool("browser_get_status", json!({})).1["data"]["ready"], true);
    let (_, opened, _) = tool("browser_new_tab", json!({"url": "{{site}}/login"}));
    let tab = opened["id"].as_str().unwrap();
    let (_, value, content) = tool(
        "browser_execute_javascript",
        json!({"tab_id": tab, "expression": "document.querySelector('[name=user]').focus(), 6 * 7", "screenshot": {"area": "none"}}),
    );
    assert_eq!((&value["result"], content.as_array().unwrap().len()), (&json!({"value": 42, "type": "number"}), 1));
    // Without a tab id, the active tab is used.
    tool("browser_type", json!({"text": "ada"}));
    tool("browser_keyboard_press", json!({"key": "Tab"}));
    let (_, typed, content) = tool("browser_type", json!({"text": "lovelace"}));
    assert_eq!(typed["result"]["status"], "typed");
    let kinds: Vec<&str> = content.as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "image"], "before, then after");
    assert_ne!(content[1]["data"], content[2]["data"]);
    assert!(typed["screenshot_after"].get("data").is_none() && typed["screenshot_after"]["width"].is_number());
    tool("browser_keyboard_press", json!({"key": "Enter"}));
    let (_, info, _) = tool("browser_get_tab_info", json!({"tab_id": tab}));
    assert_eq!(info["url"], abp.pages.place("{{site}}/account"), "{info}");
    let (_, tabs, _) = tool("browser_list_tabs", json!({}));
    assert!(tabs.as_array().unwrap().iter().any(|one| one["id"] == tab && one["active"] == true), "{tabs}");
    assert_eq!(tool("browser_list_downloads", json!({"state": "completed", "limit": 3})).1, json!({"downloads": []}));

    let (is_error, gone, _) = tool("browser_click", json!({"tab_id": "../tabs", "x": 1, "y": 1}));
    assert_eq!((is_error, &gone["code"]), (true, &json!("TAB_NOT_FOUND")), "{gone}");
    let (is_error, refused, _) = tool("browser_navigate", json!({"url": "file:///etc/passwd"}));
    assert_eq!((is_error, &refused["code"]), (true, &json!("POLICY_REFUSED")));
    let none = send("tools/call", json!({"name": "browser_fly", "arguments": {}}));
    assert!(none["error"]["message"].as_str().unwrap().contains("browser_fly"), "{none}");
    let none = send("tools/call", json!({"name": "browser_get_download", "arguments": {}}));
    assert_eq!(none["error"]["message"], "download_id is required");
    assert_eq!(tool("browser_close_tab", json!({"tab_id": tab})).1, json!({}));
    assert_eq!(tool("browser_shutdown", json!({})).1["success"], true);
}

#[test]
fn events_tell_of_scrolling_and_of_the_end_of_downloads() {
    let uploads = tempfile::tempdir().unwrap();
    fs::write(uploads.path().join("a.txt"), "hello").unwrap();
    let abp = Abp::start(&["--uploads", uploads.path().to_str().unwrap()]);
    let tab = abp.open("/controls");
    abp.evaluate(&tab, "void (document.body.style.height = '5000px')");
    let pause = json!({"type": "time", "duration_ms": 300});
    let scrolled = abp.act(&tab, "scroll", json!({"x": 100, "y": 100, "delta_y": 300, "wait_until": pause}));
    assert_eq!(kinds(&scrolled), ["scroll"], "{scrolled}");
    let told = &scrolled["events"][0]["data"];
    assert_eq!(
        (&told["delta"], &told["source"], &told["position"]["vertical_px"]),
        (&json!({"x": 0, "y": 300, "direction": "down"}), &json!("wheel"), &json!(300))
    );
    let back = abp.act(&tab, "keyboard/press", json!({"key": "Home", "wait_until": pause}));
    assert_eq!(
        (&back["events"][0]["data"]["source"], &back["events"][0]["data"]["delta"]["direction"]),
        (&json!("keyboard"), &json!("up")),
        "{back}"
    );

    abp.act(&tab, "navigate", json!({"url": "{{site}}/upload"}));
    let clicked = abp.click(&tab, "#download");
    let mut ended = kinds(&clicked).contains(&"download_completed").then_some(clicked);
    wait_until("the end of the download", PATIENCE, || {
        let waited = ended.is_none().then(|| abp.act(&tab, "wait", json!({"ms": 10})));
        ended = ended.take().or(waited.filter(|waited| kinds(waited).contains(&"download_completed")));
        ended.is_some()
    });
    let ended = ended.unwrap();
    let event = ended["events"].as_array().unwrap().iter().find(|event| event["type"] == "download_completed").unwrap();
    assert_eq!(event["data"]["bytes_received"], 20 << 20, "{event}");

    let opened = abp.click(&tab, "#files");
    let chooser = opened["events"][0]["data"]["id"].as_str().unwrap().to_owned();
    abp.done("POST", &format!("/file-chooser/{chooser}"), json!({"files": ["a.txt"]}));
    let selected = abp.done("GET", "/history/events?event_type=file_selected", Json::Null);
    assert_eq!(selected["data"]["events"][0]["data"]["files"], json!(["a.txt"]), "{selected}");
}

#[test]
fn popups_of_lists_are_told_of_and_answered() {
    let abp = Abp::start(&[]);
    let tab = abp.open("/keys");
    let list = "<select id=list><option>A<option>B<option disabled>C</select>";
    abp.evaluate(
        &tab,
        &format!(
            "void (document.body.innerHTML = '{list}', window.seen = [], list.onchange = () => seen.push(list.value))"
        ),
    );
    let open = || {
        let opened = abp.click(&tab, "#list");
        assert_eq!(kinds(&opened), ["select_open"], "{opened}");
        opened["events"][0]["data"].clone()
    };
    let told = open();
    let label = |index: usize| told["options"][index]["label"].clone();
    assert_eq!((label(0), label(1), &told["options"][0]["selected"]), (json!("A"), json!("B"), &json!(true)), "{told}");
    assert_eq!((&told["multiple"], &told["pending"], &told["tab_id"]), (&json!(false), &json!(true), &json!(tab)));
    let path = |told: &Json| format!("/select/{}", told["id"].as_str().unwrap());
    assert_eq!(abp.ask("POST", &path(&told), json!({})).0, 400);
    let (status, refused) = abp.ask("POST", &path(&told), json!({"indices": [2]}));
    assert!(status / 100 == 4 && status != 404, "{refused}");
    assert_eq!(abp.done("POST", &path(&told), json!({"indices": [1]})), json!({"success": true}));
    assert_eq!(abp.evaluate(&tab, "[list.value, ...seen]"), json!(["B", "B"]));
    let (status, gone) = abp.ask("POST", &path(&told), json!({"indices": [0]}));
    let message = format!("Select popup {} not found or already closed", told["id"].as_str().unwrap());
    assert_eq!((status, gone["error"].as_str().unwrap()), (404, &message[..]));
    assert_eq!(abp.done("POST", &path(&open()), json!({"cancel": true})), json!({"success": true}));
    assert_eq!(abp.evaluate(&tab, "[list.value, ...seen]"), json!(["B", "B"]));
}

#[test]
fn scripts_stand_still_between_actions() {
    let abp = Abp::start(&[]);
    let tab = abp.open("/controls");
    let state = || abp.done("GET", &format!("/tabs/{tab}/execution"), Json::Null);
    let pause = |body: Json| abp.done("POST", &format!("/tabs/{tab}/execution"), body);
    assert_eq!(state(), json!({"enabled": false, "paused": false, "virtual_time_base_ms": null}));
    assert_eq!(abp.ask("POST", &format!("/tabs/{tab}/execution"), json!({})).0, 400);
    let gaps = "let last = performance.now(); window.gap = 0; \
                void setInterval(() => { gap = Math.max(gap, performance.now() - last); last = performance.now(); }, 10)";
    abp.evaluate(&tab, gaps);
    let paused = pause(json!({"paused": true, "initial_virtual_time": 1_700_000_000.0}));
    assert_eq!(paused, json!({"enabled": true, "paused": true, "virtual_time_base_ms": 1_700_000_000_000_u64}));
    let began = Instant::now();
    wait_until("a while in which the page stands still", PATIENCE, || {
        assert_eq!(abp.reply("GET", &format!("/tabs/{tab}/screenshot"), &Json::Null).status, 200);
        assert_eq!(state()["paused"], true);
        began.elapsed() > Duration::from_millis(700)
    });
    // An action resumes the paused page meanwhile.
    let clicked = abp.click(&tab, "#bold");
    assert_eq!(clicked["result"]["status"], "clicked");
    assert_eq!(abp.done("GET", &format!("/tabs/{tab}"), Json::Null)["title"], "bold", "the click was handled");
    assert!(abp.evaluate(&tab, "gap").as_f64() > Some(500.0));
    assert_eq!(abp.done("POST", &format!("/tabs/{tab}/text"), json!({"selector": "h1"})), json!({"text": "Shop"}));
    assert_eq!(state()["paused"], true);
    let gone = abp.act(&tab, "navigate", json!({"url": "{{site}}/keys"}));
    assert_eq!(gone["result"]["url"], abp.pages.place("{{site}}/keys"));
    assert_eq!(state()["paused"], true);

    // The page is paused again also when the client disconnects during an action.
    let mut stream = abp.serving.connect();
    let headers = [("content-type", "application/json")];
    let request = abp.serving.request("POST", &format!("/api/v1/tabs/{tab}/wait"), &headers, r#"{"ms": 60000}"#);
    stream.write_all(request.as_bytes()).unwrap();
    wait_until("the action", PATIENCE, || state()["paused"] == false);
    drop(stream);
    wait_until("the pause after it", PATIENCE, || state()["paused"] == true);

    // What is known of the page is true also when the client disconnects while the page is paused or resumed.
    for round in 0..40 {
        let was_paused = state()["paused"] == true;
        let mut stream = abp.serving.connect();
        let body = json!({"paused": !was_paused}).to_string();
        let path = format!("/api/v1/tabs/{tab}/execution");
        stream.write_all(abp.serving.request("POST", &path, &headers, &body).as_bytes()).unwrap();
        // Gives up at another moment in each round.
        stream.set_read_timeout(Some(Duration::from_millis(1 + round))).unwrap();
        let _ = stream.read(&mut [0; 1]);
        drop(stream);
        // The agent's pauses, and no others, end when a person takes control.
        abp.done("POST", "/browser/input-mode", json!({"input_mode": "human"}));
        assert_eq!(state()["paused"], false, "round {round}: was paused: {was_paused}");
        abp.done("POST", "/browser/input-mode", json!({"input_mode": "agent"}));
    }
    pause(json!({"paused": true}));

    // The page runs while a person has control, and is paused again when the agent takes over.
    abp.done("POST", "/browser/input-mode", json!({"input_mode": "human"}));
    assert_eq!(state()["paused"], false);
    assert_eq!(abp.ask("POST", &format!("/tabs/{tab}/execution"), json!({"paused": true})).0, 409);
    abp.done("POST", "/browser/input-mode", json!({"input_mode": "agent"}));
    assert_eq!(state()["paused"], true);
    assert_eq!(pause(json!({"paused": false}))["paused"], false);
    assert_eq!(abp.done("POST", "/browser/shutdown", json!({}))["success"], true);
}
