//! Open dialogs never hang a call: one that waited for its timeout would outlast the patience of a test.

use crate::support::{Execution, Site};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

fn is_blocked(result: Result<Json, ErrorReport>) -> ErrorReport {
    let error = result.expect_err("it is blocked");
    assert_eq!(error.code, ErrorCode::DialogOpen, "{error}");
    assert!(error.hint.contains("Page.handleJavaScriptDialog"), "{}", error.hint);
    error
}

async fn click(execution: &Execution, session: &str) -> Result<Json, ErrorReport> {
    let mouse = |kind: &str| json!({"type": kind, "x": 20, "y": 20, "button": "left", "clickCount": 1});
    execution.page(session, "Input.dispatchMouseEvent", mouse("mousePressed")).await?;
    execution.page(session, "Input.dispatchMouseEvent", mouse("mouseReleased")).await
}

#[tokio::test]
async fn a_dialog_rejects_what_it_blocks_and_only_that() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;
    let (_, other) = execution.open("about:blank").await;
    let target = session.strip_prefix("target:").unwrap();

    // The call that opens it, and one that was pending before.
    let evaluate = |expression: &'static str| execution.evaluate(&session, expression);
    let (under_way, opening) =
        tokio::join!(evaluate("new Promise(() => {})"), evaluate("alert('Hello, ' + document.title)"));
    is_blocked(under_way);
    let error = is_blocked(opening);
    assert_eq!(
        error.message,
        format!(
            "Runtime.evaluate is blocked: the page {session} at {} shows the alert dialog \"Hello, Home\"",
            site.url("/")
        )
    );
    let url = site.url("/");
    assert_eq!(error.details, json!({"type": "alert", "message": "Hello, Home", "url": url, "targetId": target}));

    // A new call, also on another session of the page that the script attached itself.
    is_blocked(evaluate("1").await);
    is_blocked(execution.page(&session, "Page.captureScreenshot", json!({})).await);
    let raw = execution.send("Target.attachToTarget", json!({ "targetId": target })).await.unwrap();
    is_blocked(execution.evaluate(raw["sessionId"].as_str().unwrap(), "1").await);

    // Commands that it does not block.
    assert_eq!(execution.evaluate(&other, "40 + 2").await.unwrap(), 42, "another page");
    execution.page(&session, "Page.bringToFront", json!({})).await.unwrap();
    execution.send("Target.getTargets", json!({})).await.unwrap();
    let info = execution.call("sessionInfo", json!([])).await.unwrap();
    let page = info["targets"].as_array().unwrap().iter().find(|page| page["targetId"] == target).unwrap();
    assert_eq!(page["dialog"], json!({"type": "alert", "message": "Hello, Home"}));

    execution.page(&session, "Page.handleJavaScriptDialog", json!({"accept": true})).await.unwrap();
    assert_eq!(evaluate("document.title").await.unwrap(), "Home");
    execution.page(&session, "Page.captureScreenshot", json!({})).await.unwrap();
    execution.end().await;
}

#[tokio::test]
async fn a_dialog_that_the_page_opens_during_a_call_is_answered_and_the_script_goes_on() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/asking")).await;
    for accept in [true, false] {
        // The click may be answered just before the dialog opens; any command after that is blocked.
        let blocked = match click(&execution, &session).await {
            Ok(_) => {
                execution.wait("Page.javascriptDialogOpening", json!({"sessionId": session})).await.unwrap();
                execution.evaluate(&session, "1").await
            }
            clicked => clicked,
        };
        assert_eq!(is_blocked(blocked).details["type"], "confirm");
        execution.page(&session, "Page.handleJavaScriptDialog", json!({"accept": accept})).await.unwrap();
        assert_eq!(execution.evaluate(&session, "document.title").await.unwrap(), accept.to_string());
        execution.visit(&session, &site.url("/asking")).await;
    }
    execution.end().await;
}

#[tokio::test]
async fn a_prompt_is_answered_with_text() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    let error = is_blocked(execution.evaluate(&session, "globalThis.name = prompt('Who?', 'nobody')").await);
    assert!(error.hint.contains("promptText"), "{}", error.hint);
    let answer = json!({"accept": true, "promptText": "somebody"});
    execution.page(&session, "Page.handleJavaScriptDialog", answer).await.unwrap();
    assert_eq!(execution.evaluate(&session, "globalThis.name").await.unwrap(), "somebody");
    let error = execution.page(&session, "Page.handleJavaScriptDialog", json!({"accept": true})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CdpProtocolError);
    assert_eq!(error.message, "Page.handleJavaScriptDialog: No dialog is showing");
    execution.end().await;
}

#[tokio::test]
async fn a_page_that_does_not_want_to_be_left() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/leaving")).await;
    // Chromium shows the dialog only if the page has had user interaction.
    click(&execution, &session).await.unwrap();
    let navigation = execution.page(&session, "Page.navigate", json!({"url": site.url("/")})).await;
    assert_eq!(is_blocked(navigation).details["type"], "beforeunload");
    execution.page(&session, "Page.handleJavaScriptDialog", json!({"accept": true})).await.unwrap();
    execution.wait("Page.loadEventFired", json!({"sessionId": session})).await.unwrap();
    assert_eq!(execution.evaluate(&session, "document.title").await.unwrap(), "Home");
    execution.end().await;
}

#[tokio::test]
async fn a_session_that_the_script_attached_itself_sees_dialogs() {
    let execution = Execution::begin().await;
    let made = execution.send("Target.createTarget", json!({"url": "about:blank"})).await.unwrap();
    let attached = execution.send("Target.attachToTarget", json!({"targetId": made["targetId"]})).await.unwrap();
    let raw = attached["sessionId"].as_str().unwrap();
    is_blocked(execution.evaluate(raw, "alert(1)").await);
    execution.page(raw, "Page.handleJavaScriptDialog", json!({"accept": true})).await.unwrap();
    assert_eq!(execution.evaluate(raw, "1").await.unwrap(), 1);
    execution.end().await;
}

#[tokio::test]
async fn a_wait_that_a_dialog_starves_says_so() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    is_blocked(execution.evaluate(&session, "alert(1)").await);
    // Network is not enabled yet, and cannot be while the dialog is open.
    for name in ["Page.loadEventFired", "Network.responseReceived"] {
        let error = execution.wait(name, json!({"sessionId": session, "timeoutMs": 300})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::DialogOpen, "{error}");
    }
    let opening = execution.wait("Page.javascriptDialogOpening", json!({"sessionId": session})).await.unwrap();
    assert_eq!(opening["params"]["message"], "1");
    execution.end().await;
}

#[tokio::test]
async fn a_dialog_of_a_popup_that_the_script_is_not_attached_to_rejects_what_it_blocks() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;
    for code in ["w.setTimeout('alert(1)')", "w.alert(1)", "w.setTimeout('alert(1)', 300)"] {
        let expression = format!("globalThis.w = window.open('about:blank'); void {code}");
        let open = json!({"expression": expression, "userGesture": true});
        let opening = execution.page(&session, "Runtime.evaluate", open).await;
        let error = match opening {
            Ok(_) => is_blocked(execution.evaluate(&session, "new Promise(() => {})").await),
            opening => is_blocked(opening),
        };
        assert_eq!((&error.details["type"], &error.details["message"]), (&json!("alert"), &json!("1")), "{code}");
        // Answered as the hint says, in the popup that the error names.
        let popup = format!("target:{}", error.details["targetId"].as_str().unwrap());
        assert_ne!(popup, session);
        execution.page(&popup, "Page.handleJavaScriptDialog", json!({"accept": true})).await.unwrap();
        assert_eq!(execution.evaluate(&session, "40 + 2").await.unwrap(), 42, "{code}");
    }
    execution.end().await;
}

#[tokio::test]
async fn popups_without_dialogs_are_as_they_were() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;
    let expression =
        "globalThis.w = window.open('/other'); new Promise(done => w.onload = () => done(w.document.title))";
    let open = json!({"expression": expression, "userGesture": true, "awaitPromise": true});
    let opened = execution.page(&session, "Runtime.evaluate", open).await.unwrap();
    assert_eq!(opened["result"]["value"], "Other");
    let events = execution.call("events", json!([{"names": ["Target.attachedToTarget"]}])).await.unwrap();
    assert!(!events.to_string().contains("waitingForDebugger\":true"), "the script sees nothing of it: {events}");
    execution.end().await;
}
