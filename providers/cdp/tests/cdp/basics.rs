//! Pages, screenshots and sessions.

use crate::support::{Execution, PATIENCE, Site, held};
use codemode_provider::Ending;
use codemode_spec::ErrorCode;
use serde_json::json;
use tokio::time::Instant;

#[tokio::test]
async fn a_page_is_visited_and_read() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;
    assert_eq!(execution.evaluate(&session, "document.title").await.unwrap(), "Home");
    assert_eq!(execution.evaluate(&session, "document.querySelector('h1').textContent").await.unwrap(), "Home");

    // Chromium does not report the title by itself; it is requested when the page is loaded.
    let deadline = Instant::now() + PATIENCE;
    while execution.life.describe().title.as_deref() != Some("Home") {
        assert!(Instant::now() < deadline, "{:?}", execution.life.describe());
        execution.evaluate(&session, "1").await.unwrap();
    }
    let context = execution.life.describe();
    assert_eq!(context.url, Some(site.url("/")));
    assert_eq!(context.title.as_deref(), Some("Home"));
    assert_eq!(context.target_id.map(|id| format!("target:{id}")), Some(session));
    assert_eq!(context.session_id.as_deref(), Some(execution.life.context.execution.as_str()));
    execution.end().await;
}

#[tokio::test]
async fn both_forms_of_a_command_are_one() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    let params = json!({"expression": "6 * 7"});
    let positional = json!(["Runtime.evaluate", params, {"sessionId": session, "timeoutMs": 5_000}]);
    let object = json!([{"method": "Runtime.evaluate", "params": params, "sessionId": session, "timeoutMs": 5_000}]);
    for arguments in [positional, object] {
        assert_eq!(execution.call("send", arguments).await.unwrap()["result"]["value"], 42);
    }
    assert_eq!(
        execution.call("send", json!(["Browser.getVersion"])).await.unwrap(),
        execution.call("send", json!([{"method": "Browser.getVersion"}])).await.unwrap()
    );
    let target = session.strip_prefix("target:").unwrap();
    for arguments in [json!([target]), json!([session]), json!([{ "targetId": target }]), json!([])] {
        assert_eq!(execution.call("attachToTarget", arguments).await.unwrap()["sessionId"], session);
    }
    execution.end().await;
}

#[tokio::test]
async fn forty_pictures_in_a_row_of_tabs_that_take_turns() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let first = execution.attach().await;
    let (_, second) = execution.open("about:blank").await;
    execution.visit(&first, &site.url("/")).await;
    execution.visit(&second, &site.url("/other")).await;
    for round in 0..40 {
        // Both runs of one tab and alternations of the two.
        let session = if round % 4 < 2 { &first } else { &second };
        let picture = execution.page(session, "Page.captureScreenshot", json!({"format": "png"})).await;
        let picture = picture.unwrap_or_else(|error| panic!("picture {round}: {error}"));
        assert!(picture["data"].as_str().unwrap().starts_with("iVBORw0KGgo"), "a PNG");
    }
    // Concurrently as well: only one tab can be in front.
    let shoot = |session| execution.page(session, "Page.captureScreenshot", json!({"format": "jpeg"}));
    let pictures = tokio::join!(shoot(&first), shoot(&second), shoot(&first), shoot(&second));
    for picture in [pictures.0, pictures.1, pictures.2, pictures.3] {
        assert!(picture.unwrap()["data"].as_str().unwrap().starts_with("/9j/"), "a JPEG");
    }
    execution.end().await;
}

#[tokio::test]
async fn nothing_starts_before_it_is_needed_and_then_once() {
    let execution = Execution::begin().await;
    let before = execution.call("sessionInfo", json!([])).await.unwrap();
    assert_eq!(before, json!({"mode": "one-shot", "state": "not-started", "external": false, "targets": []}));
    assert_eq!(execution.call("getDebugLog", json!([])).await.unwrap(), json!([]));
    assert_eq!(held(execution.state.path()), Vec::<String>::new());

    let first = || execution.attach();
    let sessions = tokio::join!(first(), first(), first(), first());
    assert!([&sessions.1, &sessions.2, &sessions.3].iter().all(|session| **session == sessions.0));
    crate::support::browser_pid(execution.state.path());

    let info = execution.call("sessionInfo", json!([])).await.unwrap();
    assert_eq!((&info["state"], &info["external"]), (&json!("running"), &json!(false)));
    assert!(info["browser"].as_str().unwrap().contains('/'), "{info}");
    let target = &info["targets"][0];
    assert_eq!(info["targetsTotal"], 1);
    assert_eq!((&target["type"], &target["url"]), (&json!("page"), &json!("about:blank")), "{info}");
    assert_eq!((&target["sessionId"], &target["attached"]), (&json!(sessions.0), &json!(true)));
    execution.end().await;
}

#[tokio::test]
async fn a_handle_outlives_its_raw_session() {
    let execution = Execution::begin().await;
    let (target, handle) = execution.open("about:blank").await;
    execution.evaluate(&handle, "globalThis.kept = 7").await.unwrap();
    let attached = execution.wait("Target.attachedToTarget", json!({"where": {"targetInfo": {"targetId": target}}}));
    let raw = attached.await.unwrap()["params"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(execution.evaluate(&raw, "globalThis.kept").await.unwrap(), 7, "the raw id works as well");

    execution.send("Target.detachFromTarget", json!({ "sessionId": raw })).await.unwrap();
    let error = execution.evaluate(&raw, "1").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CdpTargetClosed, "{error}");
    assert_eq!(execution.evaluate(&handle, "globalThis.kept").await.unwrap(), 7, "attached again by itself");
    execution.end().await;
}

#[tokio::test]
async fn the_debug_log_holds_names_and_times_and_no_values() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    execution.evaluate(&session, "'hush'").await.unwrap();
    execution.page(&session, "Runtime.evaluat", json!({"expression": "'hush'"})).await.unwrap_err();
    let log = execution.call("getDebugLog", json!([{"limit": 2}])).await.unwrap();
    assert!(!log.to_string().contains("hush"), "{log}");
    let lines: Vec<_> = log.as_array().unwrap().iter().map(|line| (&line["method"], &line["outcome"])).collect();
    assert_eq!(
        lines,
        [(&json!("Runtime.evaluate"), &json!("ok")), (&json!("Runtime.evaluat"), &json!("UNKNOWN_METHOD"))]
    );
    assert_eq!(log[0]["sessionId"], session.as_str());
    assert!(log[0]["durationMs"].as_f64().unwrap() > 0.0);
    execution.call("clearDebugLog", json!([])).await.unwrap();
    assert_eq!(execution.call("getDebugLog", json!([])).await.unwrap(), json!([]));
    execution.end().await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_ends_at_its_timeout() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    let params = json!({"expression": "new Promise(() => {})", "awaitPromise": true});
    let call = json!(["Runtime.evaluate", params, {"sessionId": session, "timeoutMs": 200}]);
    let error = execution.call("send", call).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CallTimeout);
    assert_eq!(error.message, "Runtime.evaluate was not answered within 200 ms");
    assert_eq!(execution.evaluate(&session, "1").await.unwrap(), 1, "the page goes on");
    execution.end().await;
}

#[tokio::test]
async fn a_page_cannot_make_an_answer_long() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    let long = "x".repeat(1_000_000);
    execution.visit(&session, &format!("data:text/html,<title>{long}</title>")).await;
    execution.call("sessionInfo", json!([])).await.unwrap();
    // As a host does: at the end.
    execution.life.dispose(Ending::Succeeded).await.unwrap();
    let context = execution.life.describe();
    let (url, title) = (context.url.unwrap(), context.title.unwrap());
    assert!(url.starts_with("data:text/html,<title>xx") && url.ends_with('…') && url.len() < 1_000, "{}", url.len());
    assert!(title.starts_with("xx") && title.ends_with('…') && title.len() < 1_000, "{}", title.len());
}
