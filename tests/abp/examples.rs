//! The example requests of the Agent Browser Protocol specification, in its order; answers must have the shape of its
//! examples.

use super::Abp;
use serde_json::{Value as Json, json};

struct Replay {
    abp: Abp,
    tab: String,
}

impl Replay {
    /// Sends an example; `TAB` stands for the tab's id.
    fn ask(&self, method: &str, path: &str, body: Json) -> (u16, Json) {
        self.abp.ask(method, &path.replace("TAB", &self.tab), body)
    }

    /// Sends an example; the answer must have the shape of the specification's.
    fn like(&self, method: &str, path: &str, body: Json, example: &Json) -> Json {
        let (status, answer) = self.ask(method, path, body);
        assert_eq!(status / 100, 2, "{method} {path}: {answer}");
        is_like(&answer, example).unwrap_or_else(|fault| panic!("{method} {path}: {fault} in {answer}"));
        answer
    }

    /// Sends the example of an action; the answer must have the whole envelope.
    fn act(&self, path: &str, body: Json, result: &Json) -> Json {
        let mut envelope = envelope();
        envelope["result"] = result.clone();
        self.like("POST", &format!("/tabs/TAB/{path}"), body, &envelope)
    }

    /// Sends an example about something that does not exist; the error must have the specification's message.
    fn gone(&self, method: &str, path: &str, body: Json, error: &str) {
        let (status, answer) = self.ask(method, path, body);
        assert_eq!((status, &answer["error"]), (404, &json!(error)), "{method} {path}");
    }
}

/// The envelope of an action, as in "Navigate to URL".
fn envelope() -> Json {
    let picture = json!({"data": "UklGR", "width": 1920, "height": 1080, "virtual_time_ms": 1, "format": "webp"});
    json!({
        "result": {}, "screenshot_before": picture, "screenshot_after": picture,
        "scroll": {
            "horizontal_percent": 0, "vertical_percent": 25.5, "horizontal_px": 0, "vertical_px": 1200, "page_width": 1920,
            "page_height": 4700, "viewport_width": 1920, "viewport_height": 1080,
        },
        "events": [{"virtual_time_ms": 1, "data": {}}],
        "timing": {"action_started_ms": 1, "action_completed_ms": 1, "wait_completed_ms": 1, "duration_ms": 500},
    })
}

/// Checks that an answer has every field of an example, with values of the same types; names of states must be equal.
fn is_like(answer: &Json, example: &Json) -> Result<(), String> {
    match (answer, example) {
        (Json::Object(answer), Json::Object(example)) => example.iter().try_for_each(|(name, example)| {
            let value = answer.get(name).ok_or_else(|| format!("no {name}"))?;
            let is_word = ["status", "state", "input_mode", "type", "format"].contains(&name.as_str());
            match (value, example) {
                (Json::String(value), Json::String(example)) if is_word && value != example => {
                    Err(format!("{name} is {value:?}, not {example:?}"))
                }
                _ => is_like(value, example).map_err(|fault| format!("{name}: {fault}")),
            }
        }),
        (Json::Array(answer), Json::Array(example)) => {
            example.first().map_or(Ok(()), |example| answer.iter().try_for_each(|item| is_like(item, example)))
        }
        (Json::Bool(_), Json::Bool(_)) | (Json::Number(_), Json::Number(_)) | (Json::String(_), Json::String(_)) => {
            Ok(())
        }
        (Json::Null, Json::Null) => Ok(()),
        _ => Err(format!("{answer} where the document has {example}")),
    }
}

#[test]
fn a_shape_is_missed_where_something_is_missing_or_of_another_kind() {
    let example = json!({"status": "clicked", "list": [{"x": 1}], "none": null});
    assert_eq!(is_like(&json!({"status": "clicked", "list": [{"x": 2.5}], "none": null, "more": 1}), &example), Ok(()));
    for answer in [
        json!({"status": "moved", "list": [], "none": null}),
        json!({"status": "clicked", "list": [{}], "none": null}),
        json!({"status": "clicked", "list": [{"x": "1"}], "none": null}),
        json!({"status": "clicked", "list": []}),
        json!([]),
    ] {
        is_like(&answer, &example).unwrap_err();
    }
}

#[test]
fn each_example_of_the_document_is_answered_as_there() {
    let abp = Abp::start(&[]);
    let tab = abp.open("/controls");
    let replay = Replay { abp, tab };

    // Browser management.
    let components = json!({"http_server": true, "browser_window": true, "devtools": true});
    let ready = json!({"success": true, "data": {"ready": true, "state": "ready", "components": components}});
    replay.like("GET", "/browser/status", Json::Null, &ready);
    let data = replay.like(
        "GET",
        "/browser/session-data",
        Json::Null,
        &json!({"success": true, "data": {"screenshots_enabled": false}}),
    );
    assert!(data["data"].as_object().unwrap().contains_key("database_path"), "{data}");
    replay.like("GET", "/browser/input-mode", Json::Null, &json!({"input_mode": "agent"}));
    replay.like("POST", "/browser/input-mode", json!({"input_mode": "human"}), &json!({"input_mode": "human"}));
    replay.like("POST", "/browser/input-mode", json!({"input_mode": "agent"}), &json!({"input_mode": "agent"}));

    // Tab management.
    let tabs = json!([{"id": "tab_abc123", "url": "https://example.com", "title": "Example Domain", "active": true}]);
    replay.like("GET", "/tabs", Json::Null, &tabs);
    let shown = json!({"id": "tab_abc123", "url": "https://example.com", "title": "Example Domain", "loading": false});
    replay.like("GET", "/tabs/TAB", Json::Null, &shown);
    let opened = json!({"id": "tab_xyz789", "url": "about:blank"});
    let body = json!({"url": "{{site}}/keys", "active": true, "index": 0});
    let other = replay.like("POST", "/tabs", body, &opened)["id"].as_str().unwrap().to_owned();
    replay.like(
        "POST",
        &format!("/tabs/{other}/activate"),
        Json::Null,
        &json!({"status": "activated", "tab_id": "t", "index": 0}),
    );
    assert_eq!(replay.like("DELETE", &format!("/tabs/{other}"), Json::Null, &json!({})), json!({}));

    // Navigation.
    let wait = json!({"type": "action_complete", "timeout_ms": 30000});
    let body = json!({"url": "{{site}}/keys", "referrer": "{{other}}/", "wait_until": wait});
    let gone = replay.act("navigate", body, &json!({"status": "navigated", "url": "https://example.com"}));
    assert_eq!(gone["events"][0]["data"]["url"], replay.abp.pages.place("{{site}}/keys"));
    let back = json!({ "wait_until": wait });
    replay.act("back", back.clone(), &json!({}));
    replay.act("forward", back.clone(), &json!({}));
    replay.act("reload", back, &json!({}));
    replay.like("POST", "/tabs/TAB/stop", Json::Null, &json!({"status": "stopped", "tab_id": "tab_abc123"}));

    // The mouse.
    let wait = json!({"type": "action_complete", "timeout_ms": 5000});
    let body = json!({"x": 100, "y": 200, "button": "left", "click_count": 1, "modifiers": [], "wait_until": wait});
    replay.act("click", body, &json!({"status": "clicked"}));
    let screenshot = json!({"area": "viewport", "disable_markup": ["grid", "scrollable"], "cursor": true});
    let body = json!({"x": 100, "y": 200, "wait_until": {"type": "action_complete"}, "screenshot": screenshot});
    replay.act("click", body, &json!({"status": "clicked"}));
    replay.act("move", json!({"x": 100, "y": 200}), &json!({}));
    replay.act("scroll", json!({"x": 100, "y": 200, "delta_x": 0, "delta_y": -300}), &json!({}));

    // The keyboard.
    let typed = replay.act("type", json!({"text": "Hello, World!"}), &json!({}));
    assert!(typed["result"].to_string().contains("Hello, World!"), "{}", typed["result"]);
    let none: [&str; 0] = [];
    replay.act("keyboard/press", json!({"key": "Enter", "modifiers": none}), &json!({}));
    for key in ["c", "v", "a", "z", "s", "f", "w", "t"] {
        replay.act(
            "keyboard/press",
            json!({"key": key, "modifiers": ["Control"], "screenshot": {"area": "viewport"}}),
            &json!({}),
        );
    }
    replay.act("keyboard/press", json!({"key": "z", "modifiers": ["Control", "Shift"]}), &json!({}));
    replay.act("keyboard/down", json!({"key": "Shift", "modifiers": none}), &json!({}));
    replay.act("keyboard/up", json!({"key": "Shift"}), &json!({}));

    // Scripts, with all their examples.
    for (script, kind) in [
        ("document.querySelectorAll('a').length", "number"),
        ("document.title", "string"),
        ("window.location.href", "string"),
        ("document.body.innerText.length", "number"),
        ("document.querySelectorAll('button').length", "number"),
        ("document.forms.length", "number"),
        ("document.readyState", "string"),
        ("window.scrollY", "number"),
        ("JSON.stringify(Array.from(document.querySelectorAll('h1')).map(h => h.textContent))", "string"),
        ("window.APP_STATE?.user?.isLoggedIn ?? false", "boolean"),
    ] {
        let value = replay.act("execute", json!({"script": script}), &json!({"type": kind}));
        assert!(!value["result"]["value"].is_null(), "{script}");
    }

    // Pictures, text, waiting.
    let picture = replay.abp.reply(
        "GET",
        &format!("/tabs/{}/screenshot?disable_markup=grid,scrollable", replay.tab),
        &Json::Null,
    );
    assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/webp")));
    replay.act(
        "screenshot",
        json!({"screenshot": {"disable_markup": ["grid"], "format": "webp", "cursor": true}}),
        &json!({}),
    );
    assert_eq!(
        replay.like("POST", "/tabs/TAB/text", json!({"selector": ".main-content"}), &json!({})),
        json!({"text": null})
    );
    replay.like("POST", "/tabs/TAB/text", json!({}), &json!({"text": "The extracted text content..."}));
    replay.act("wait", json!({"ms": 2000}), &json!({"status": "waited", "ms": 2000}));

    // Dialogs, downloads, file choosers, popups: none of them exists.
    replay.like("GET", "/tabs/TAB/dialog", Json::Null, &json!({"present": false}));
    assert_eq!(
        replay.ask("POST", "/tabs/TAB/dialog/accept", json!({"prompt_text": "User input for prompt dialogs"})).0,
        404
    );
    assert_eq!(replay.ask("POST", "/tabs/TAB/dialog/dismiss", Json::Null).0, 404);
    replay.like("GET", "/downloads?state=in_progress&limit=100", Json::Null, &json!({"downloads": []}));
    assert_eq!(replay.ask("GET", "/downloads/dl_123", Json::Null).0, 404);
    assert_eq!(replay.ask("POST", "/downloads/dl_123/cancel", Json::Null).0, 404);
    let chooser = "File chooser fc_abc123 not found or already closed";
    replay.gone("POST", "/file-chooser/fc_abc123", json!({"cancel": true}), chooser);
    let files = json!({"files": ["/path/to/document.pdf", "/path/to/image.png"]});
    assert_eq!(replay.ask("POST", "/file-chooser/fc_abc123", files).0, 403, "the operator has named no folder");
    assert_eq!(replay.ask("POST", "/file-chooser/fc_abc123", json!({"path": "/path/to/save/output.pdf"})).0, 400);
    let popup = "Select popup sp_abc123 not found or already closed";
    for body in [json!({"indices": [1]}), json!({"indices": [0, 2, 3]}), json!({"cancel": true})] {
        replay.gone("POST", "/select/sp_abc123", body, popup);
    }

    // Network capture.
    let network = json!({"tag": "login-flow", "types": ["XHR", "Fetch"]});
    let body = json!({"script": "fetch('/things').then((answer) => answer.status)", "network": network});
    let counted = replay.like(
        "POST",
        "/tabs/TAB/execute",
        body,
        &json!({"network": {"total": 12, "completed": 10, "pending": 2, "tag": ""}}),
    );
    assert_eq!((&counted["network"]["total"], &counted["network"]["tag"]), (&json!(1), &json!("login-flow")));
    let call = json!({
        "id": "net_abc123", "tag": "login-flow", "tab_id": "tab_abc123", "action_id": "act_xyz789", "url": "https://api.example.com/login",
        "method": "POST", "status": 200, "request_headers": {}, "response_headers": {"content-type": "application/json"},
        "response_body": "", "timing_ms": 124, "timestamp_ms": 1,
    });
    replay.like("GET", "/network?tag=login-flow&include_body=true", Json::Null, &json!({"calls": [call], "total": 1}));
    replay.like(
        "POST",
        "/network/save",
        json!({"tag": "login-flow", "tab_id": replay.tab}),
        &json!({"saved": 12, "tag": "login-flow"}),
    );
    replay.like("DELETE", "/network?tag=login-flow", Json::Null, &json!({"deleted": 42}));
    let body = json!({
        "url": "{{site}}/things", "method": "GET", "headers": {"Authorization": "Bearer eyJ..."}, "body": "", "tag": "api-call",
    });
    let answered = json!({
        "status": 200, "headers": {"content-type": "application/json"}, "body": "", "body_encoding": "text", "url": "", "redirected": false,
    });
    assert_eq!(replay.like("POST", "/tabs/TAB/curl", body, &answered)["status"], 200);

    // History.
    let listed = |name: &str, item: Json| json!({"success": true, "data": {name: [item], "has_more": false}});
    let session = replay.like(
        "GET",
        "/history/sessions/current",
        Json::Null,
        &json!({"success": true, "data": {"id": "", "start_time": 1}}),
    );
    let session = session["data"]["id"].as_str().unwrap();
    replay.like("GET", "/history/sessions", Json::Null, &listed("sessions", json!({"id": ""})));
    replay.like(
        "GET",
        &format!("/history/sessions/{session}"),
        Json::Null,
        &json!({"success": true, "data": {"id": ""}}),
    );
    let exported =
        json!({"success": true, "data": {"session": {"id": ""}, "actions": [{"id": ""}], "events": [{"id": ""}]}});
    replay.like("GET", &format!("/history/sessions/{session}/export"), Json::Null, &exported);
    let actions = replay.like(
        "GET",
        "/history/actions",
        Json::Null,
        &listed("actions", json!({"id": "", "action_type": "", "success": true})),
    );
    let action = actions["data"]["actions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|action| action["screenshot_after_path"].is_string());
    let action = action.unwrap()["id"].as_str().unwrap();
    replay.like(
        "GET",
        &format!("/history/actions/{action}"),
        Json::Null,
        &json!({"success": true, "data": {"id": ""}}),
    );
    let picture = replay.abp.reply("GET", &format!("/history/actions/{action}/screenshot"), &Json::Null);
    assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/webp")));
    let events =
        replay.like("GET", "/history/events", Json::Null, &listed("events", json!({"id": "", "event_type": ""})));
    let event = events["data"]["events"][0]["id"].as_str().unwrap();
    replay.like("GET", &format!("/history/events/{event}"), Json::Null, &json!({"success": true, "data": {"id": ""}}));
    for path in ["/history/actions", "/history/events", "/history"] {
        replay.like("DELETE", path, Json::Null, &json!({"success": true, "data": {}}));
    }

    // Execution control.
    let body = json!({"paused": true, "initial_virtual_time": 1700000000.0});
    let state = json!({"enabled": true, "paused": true, "virtual_time_base_ms": 1700000000000.0});
    replay.like("POST", "/tabs/TAB/execution", body, &state);
    assert_eq!(replay.like("GET", "/tabs/TAB/execution", Json::Null, &state)["paused"], true);
    assert_eq!(replay.like("POST", "/tabs/TAB/execution", json!({"paused": false}), &state)["paused"], false);
    replay.like("POST", "/browser/shutdown", json!({"timeout_ms": 5000}), &json!({"success": true}));
}
