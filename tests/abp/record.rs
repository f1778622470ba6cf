//! The history of an ABP client, and the network requests stored under tags.

use super::Abp;
use serde_json::{Value as Json, json};
use std::fs;

#[test]
fn the_history_tells_a_client_what_it_did_and_nobody_else() {
    let abp = Abp::start(&[]);
    let tab = abp.open("/login");
    abp.click(&tab, "[name=user]");
    abp.act(&tab, "type", json!({"text": "ada"}));
    abp.act(&tab, "keyboard/press", json!({"key": "Tab"}));
    abp.act(&tab, "type", json!({"text": "lovelace"}));
    let entered = abp.done("POST", &format!("/tabs/{tab}/keyboard/press"), json!({"key": "Enter"}));
    let (failed, _) = abp.ask("POST", &format!("/tabs/{tab}/execute"), json!({"script": "nothing.here"}));
    assert_eq!(failed, 400);

    let data = |path: &str| abp.done("GET", path, Json::Null)["data"].take();
    let session = data("/history/sessions/current");
    let id = session["id"].as_str().unwrap();
    assert_eq!((&session["active"], &session["end_time"]), (&json!(true), &Json::Null), "{session}");
    assert_eq!(data("/history/sessions")["sessions"], json!([session]));
    assert_eq!(data(&format!("/history/sessions/{id}")), session);

    let two = data("/history/actions?limit=2");
    let kinds = |list: &Json, name: &str, kind: &str| -> Vec<String> {
        list[name].as_array().unwrap().iter().map(|item| item[kind].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (kinds(&two, "actions", "action_type"), &two["has_more"]),
        (vec!["execute".into(), "keyboard_press".into()], &json!(true))
    );
    let (thrown, pressed) = (&two["actions"][0], &two["actions"][1]);
    assert_eq!(
        (&thrown["success"], &thrown["error_code"], &thrown["result"]),
        (&json!(false), &json!("EVALUATION_ERROR"), &Json::Null)
    );
    assert_eq!(
        (&pressed["id"], &pressed["params"], &pressed["success"]),
        (&entered["action_id"], &json!({"key": "Enter"}), &json!(true))
    );
    let cursor = two["prev_cursor"].as_str().unwrap();
    let older = data(&format!("/history/actions?limit=2&direction=backward&cursor={cursor}"));
    assert_eq!(kinds(&older, "actions", "action_type"), ["type", "keyboard_press"]);
    assert_eq!(older["actions"][0]["params"], json!({"characters": 8}), "what was typed is not told");
    let newer = data(&format!("/history/actions?limit=5&cursor={}", older["next_cursor"].as_str().unwrap()));
    assert_eq!(
        (kinds(&newer, "actions", "action_type"), &newer["has_more"]),
        (vec!["keyboard_press".into(), "execute".into()], &json!(false))
    );
    assert_eq!(
        kinds(&data("/history/actions?action_type=type&success=true"), "actions", "action_type"),
        ["type", "type"]
    );

    let pressed = pressed["id"].as_str().unwrap();
    assert_eq!(data(&format!("/history/actions/{pressed}"))["action_type"], "keyboard_press");
    for (of, name) in [("before", "screenshot_before"), ("after", "screenshot_after")] {
        let picture = abp.reply("GET", &format!("/history/actions/{pressed}/screenshot?type={of}"), &Json::Null);
        assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/webp")));
        assert_eq!(entered[name]["format"], "webp");
    }
    let none = format!("/history/actions/{}/screenshot", older["actions"][0]["id"].as_str().unwrap());
    let (status, answer) = abp.ask("GET", &none, Json::Null);
    assert_eq!((status, &answer["code"]), (404, &json!("SCREENSHOT_NOT_FOUND")), "that action asked for no pictures");

    let events = data("/history/events?event_type=navigation");
    let event = &events["events"][0];
    assert_eq!(event["data"]["tab_id"], json!(tab), "{events}");
    assert_eq!(data(&format!("/history/events/{}", event["id"].as_str().unwrap())), *event);
    let exported = data(&format!("/history/sessions/{id}/export?include_screenshots=true"));
    assert_eq!(
        (exported["actions"].as_array().unwrap().len(), &exported["export_complete"]),
        (7, &json!(true)),
        "{exported}"
    );
    assert!(exported["actions"][5]["screenshot_after"].as_str().unwrap().starts_with("UklGR"));
    let first = data(&format!("/history/sessions/{id}/export?chunk_size=6"));
    let cursor = first["next_actions_cursor"].as_str().unwrap();
    let rest = data(&format!("/history/sessions/{id}/export?chunk_size=6&actions_cursor={cursor}"));
    assert_eq!(
        (kinds(&rest, "actions", "action_type"), &rest["export_complete"]),
        (vec!["execute".into()], &json!(true))
    );

    // Another client has a separate history, and cannot access entries of this one even by id.
    let headers = [("content-type", "application/json"), ("x-codemode-session", "other")];
    let others = |method: &str, path: &str| abp.serving.ask(method, &format!("/api/v1{path}"), &headers, "");
    assert_eq!(others("GET", &format!("/history/sessions/{id}")).status, 404);
    assert_eq!(others("GET", &format!("/history/actions/{pressed}")).status, 404);
    assert_eq!(others("GET", &format!("/history/actions/{pressed}/screenshot")).status, 404);
    assert_eq!(others("GET", "/history/actions").json()["data"]["actions"], json!([]));
    assert_eq!(others("DELETE", "/history").json()["data"]["deleted_sessions"], 0);

    // Typed text is not stored in the history.
    let folder = abp._browsers.0.folder().join("state/history");
    let written: Vec<u8> =
        fs::read_dir(&folder).unwrap().flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
    let holds = |text: &[u8]| written.windows(text.len()).any(|bytes| bytes == text);
    assert!(holds(b"keyboard_press") && !holds(b"lovelace"), "{}", folder.display());

    assert_eq!(
        abp.done("DELETE", "/history/events?event_type=navigation", Json::Null)["data"]["deleted_count"],
        events["events"].as_array().unwrap().len()
    );
    assert_eq!(abp.done("DELETE", "/history/actions", Json::Null)["data"], json!({"deleted_count": 7}));
    let deleted = abp.done("DELETE", "/history?confirm=true", Json::Null)["data"].take();
    assert_eq!(deleted, json!({"deleted_sessions": 1, "deleted_actions": 0, "deleted_events": 0}));
    for (path, code) in [
        ("/history/sessions/none", "SESSION_NOT_FOUND"),
        ("/history/actions/act_1", "ACTION_NOT_FOUND"),
        ("/history/events/x", "EVENT_NOT_FOUND"),
    ] {
        let (status, answer) = abp.ask("GET", path, Json::Null);
        assert_eq!((status, &answer["code"]), (404, &json!(code)), "{path}");
    }
    assert_eq!(abp.ask("GET", "/history/actions?cursor=x", Json::Null).0, 400);
    assert_eq!(abp.ask("GET", "/history/actions?direction=up", Json::Null).0, 400);
}

#[test]
fn requests_are_kept_under_tags_and_looked_for() {
    let abp = Abp::start(&[]);
    let tab = abp.open("/keys");
    let fetched =
        "Promise.all([fetch('/mirror?one', {method: 'POST', body: 'sent'}), fetch('/missing')]).then(() => 1)";
    let network = json!({"tag": "login-flow", "types": ["Fetch"]});
    let done = abp.act(&tab, "execute", json!({"script": fetched, "network": network}));
    assert_eq!(done["network"], json!({"total": 2, "completed": 2, "pending": 0, "tag": "login-flow"}), "{done}");
    let found = abp.done("GET", "/network?tag=login&include_body=true&method=POST", Json::Null);
    assert_eq!(found["total"], 1, "{found}");
    let call = &found["calls"][0];
    assert_eq!(
        (&call["status"], &call["type"], &call["tab_id"], &call["action_id"]),
        (&json!(200), &json!("Fetch"), &json!(tab), &done["action_id"])
    );
    assert_eq!(call["request_body"], "sent");
    assert!(call["response_body"].as_str().unwrap().contains("/mirror?one"), "{call}");
    assert!(call["response_headers"].is_object() && call["timestamp_ms"].as_u64() > Some(1_700_000_000_000), "{call}");
    let total = |query: &str| abp.done("GET", &format!("/network?{query}"), Json::Null)["total"].as_u64().unwrap();
    assert_eq!(
        (total("status=4%5Cd%5Cd"), total("path=mirror$"), total("query=one"), total("hostname=nowhere")),
        (1, 1, 1, 0)
    );
    assert!(abp.done("GET", "/network", Json::Null)["calls"][0].get("response_body").is_none());
    let (status, wrong) = abp.ask("GET", "/network?url=(", Json::Null);
    assert_eq!((status, wrong["error"].as_str().unwrap()), (400, "url is no regular expression, or too long"));

    let saved = abp.done("POST", "/network/save", json!({"tag": "later", "tab_id": tab}));
    assert_eq!((&saved["tag"], saved["saved"].as_u64() >= Some(3)), (&json!("later"), true), "{saved}");
    assert_eq!(total("tag=later&type=Document"), 1);
    abp.done("POST", &format!("/tabs/{tab}/curl"), json!({"url": "{{site}}/mirror?curl", "tag": "api-call"}));
    assert_eq!(total("tag=api-call&query=curl"), 1);
    // Cookies set by responses are not stored in the history, however the request was made.
    abp.done("POST", &format!("/tabs/{tab}/curl"), json!({"url": "{{site}}/cookie", "tag": "cookies"}));
    abp.act(&tab, "navigate", json!({"url": "{{site}}/cookie", "network": {"tag": "cookies"}}));
    let cookies = abp.done("GET", "/network?tag=cookies", Json::Null);
    assert!(cookies["total"] == 2 && !cookies.to_string().contains("sweet"), "{cookies}");
    assert_eq!(abp.done("DELETE", "/network?tag=api-call", Json::Null), json!({"deleted": 1}));
    let left = total("");
    assert_eq!(abp.done("DELETE", "/network", Json::Null), json!({ "deleted": left }));
    assert_eq!(abp.ask("POST", "/network/save", json!({})).0, 400);
    let wrong = json!({"script": "1", "network": {"types": ["Pigeon"]}});
    assert_eq!(abp.ask("POST", &format!("/tabs/{tab}/execute"), wrong).0, 400);
}
