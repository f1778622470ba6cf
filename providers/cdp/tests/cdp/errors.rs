//! Mistakes are reported before a command is sent, each with its own hint.

use crate::support::Execution;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

fn is(result: Result<Json, ErrorReport>, code: ErrorCode, message: &str, hint: &str) {
    let error = result.expect_err(message);
    assert_eq!((error.code, error.message.as_str(), error.hint.as_str()), (code, message, hint));
}

#[tokio::test]
async fn commands() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;

    is(
        execution.page(&session, "Page.navigat", json!({})).await,
        ErrorCode::UnknownMethod,
        "the browser has no command Page.navigat",
        "Did you mean Page.navigate? cdp.spec({search: \"navigat\"}) finds others.",
    );
    is(
        execution.page(&session, "Page.loadEventFired", json!({})).await,
        ErrorCode::UnknownMethod,
        "Page.loadEventFired is an event, not a command",
        "Wait for it: await cdp.waitForEvent(\"Page.loadEventFired\", {sessionId}).",
    );
    is(
        execution.send("Page.navigate", json!({"url": "https://a.test/"})).await,
        ErrorCode::InvalidArgument,
        "Page.navigate is a command of a page and needs a sessionId",
        "const {sessionId} = await cdp.attachToTarget(); await cdp.send(\"Page.navigate\", params, {sessionId}).",
    );
    is(
        execution
            .send(
                "Emulation.setDeviceMetricsOverride",
                json!({"width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": false}),
            )
            .await,
        ErrorCode::InvalidArgument,
        "Emulation.setDeviceMetricsOverride is a command of a page and needs a sessionId",
        "const {sessionId} = await cdp.attachToTarget(); await cdp.send(\"Emulation.setDeviceMetricsOverride\", params, {sessionId}).",
    );
    is(
        execution.page(&session, "Page.navigate", json!({"url": "about:blank", "sessionId": session})).await,
        ErrorCode::InvalidArgument,
        "Page.navigate: sessionId: is unknown; there are url, referrer, transitionType, frameId, referrerPolicy",
        "sessionId is not a parameter of the command: cdp.send(\"Page.navigate\", params, {sessionId}).",
    );
    let error = execution.page(&session, "Page.captureScreenshot", json!({"formt": "png", "quality": "high"})).await;
    let error = error.unwrap_err();
    assert_eq!((error.code, error.details["faults"].as_array().unwrap().len()), (ErrorCode::InvalidArgument, 2));
    assert!(error.message.contains("format") && error.message.contains("quality"), "{}", error.message);
    assert_eq!(error.hint, "cdp.spec(\"Page.captureScreenshot\") says what it takes.");
    is(
        execution.page(&session, "SystemInfo.getInfo", json!({})).await,
        ErrorCode::PolicyRefused,
        "SystemInfo.getInfo is refused: it tells about this machine, or about others who use the browser",
        "Measure a page with Performance.getMetrics, PerformanceTimeline or Profiler.",
    );
    is(
        execution.page("nonsense", "Runtime.enable", json!({})).await,
        ErrorCode::InvalidArgument,
        "there is no session \"nonsense\"",
        &format!(
            "Attach first: const {{sessionId}} = await cdp.attachToTarget(targetId). The open pages are {session} (about:blank)."
        ),
    );
    is(
        execution.page("target:NONSENSE", "Runtime.enable", json!({})).await,
        ErrorCode::InvalidArgument,
        "there is no target \"NONSENSE\"",
        &format!("The open pages are {session} (about:blank)."),
    );
    let target = session.strip_prefix("target:").unwrap();
    is(
        execution.page(target, "Runtime.enable", json!({})).await,
        ErrorCode::InvalidArgument,
        &format!("{target} is a targetId, not a sessionId"),
        &format!("Pass sessionId: \"{session}\", or what cdp.attachToTarget(targetId) returned."),
    );
    is(
        execution.page(&session, "DOM.describeNode", json!({"nodeId": 4_711})).await,
        ErrorCode::CdpProtocolError,
        "DOM.describeNode: Could not find node with given id",
        "cdp.spec(\"DOM.describeNode\") says what it takes and returns.",
    );
    execution.end().await;
}

#[tokio::test]
async fn a_name_of_megabytes_stays_out_of_messages_and_logs() {
    let execution = Execution::begin().await;
    let name = format!("Page.{}", "x".repeat(1_000_000));
    for error in [
        execution.page("nobody", &name, json!({})).await.unwrap_err(),
        execution.page(&name, "Page.enable", json!({})).await.unwrap_err(),
        execution.page(&format!("target:{name}"), "Page.enable", json!({})).await.unwrap_err(),
        execution.wait(&name, json!({"sessionId": "nobody"})).await.unwrap_err(),
        execution.call("spec", json!([name])).await.unwrap_err(),
        execution.call("attachToTarget", json!([name])).await.unwrap_err(),
    ] {
        assert!(serde_json::to_string(&error).unwrap().len() < 2_000);
    }
    let log = execution.call("getDebugLog", json!([])).await.unwrap();
    assert!(log.to_string().len() < 5_000);
    execution.end().await;
}

#[tokio::test]
async fn events() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    is(
        execution.wait("Page.loadEventFire", json!({"sessionId": session})).await,
        ErrorCode::UnknownMethod,
        "the browser has no event Page.loadEventFire",
        "Did you mean Page.loadEventFired? cdp.spec(\"Page\") lists the events of a domain.",
    );
    is(
        execution.wait("Page.navigate", json!({"sessionId": session})).await,
        ErrorCode::UnknownMethod,
        "Page.navigate is a command, not an event",
        "Send it: await cdp.send(\"Page.navigate\", params, {sessionId}).",
    );
    is(
        execution.wait("Page.loadEventFired", json!({})).await,
        ErrorCode::InvalidArgument,
        "Page.loadEventFired is an event of a page and needs a sessionId",
        "const {sessionId} = await cdp.attachToTarget(); await cdp.waitForEvent(\"Page.loadEventFired\", {sessionId}).",
    );
    execution.end().await;
}

#[tokio::test]
async fn arguments_are_checked_before_anything_starts() {
    let execution = Execution::begin().await;
    for (method, arguments) in [
        ("send", json!([])),
        ("send", json!([7])),
        ("send", json!([{"params": {}}])),
        ("send", json!([{"method": "Browser.getVersion", "session": "x"}])),
        ("send", json!(["Browser.getVersion", {}, "session"])),
        ("send", json!(["Browser.getVersion", {}, {"timeoutMs": 0}])),
        ("attachToTarget", json!([7])),
        ("waitForEvent", json!([])),
        ("waitForEvent", json!(["Page.loadEventFired", {"where": "x"}])),
        ("events", json!([{"limit": 0}])),
        ("events", json!([{"names": "Page.loadEventFired"}])),
        ("spec", json!([{"query": "x"}])),
        ("sessionInfo", json!([1])),
    ] {
        let error = execution.call(method, arguments.clone()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{method} {arguments}: {error}");
    }
    assert_eq!(execution.call("sessionInfo", json!([])).await.unwrap()["state"], "not-started");
    execution.end().await;
}
