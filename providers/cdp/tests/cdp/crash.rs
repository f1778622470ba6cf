//! Pages that crash or close, browsers that die.

use crate::support::{Execution, Site, browser_pid, held};
use codemode_provider::Ending;
use codemode_spec::ErrorCode;
use serde_json::json;
use std::process::Command;

const FOREVER: &str = "new Promise(() => {})";

#[tokio::test]
async fn a_crashed_page_rejects_its_calls_until_it_is_loaded_again() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;
    let (_, other) = execution.open("about:blank").await;
    let (pending, waiting, crashing) = tokio::join!(
        execution.evaluate(&session, FOREVER),
        execution.wait("Page.loadEventFired", json!({"sessionId": session})),
        execution.page(&session, "Page.crash", json!({})),
    );
    for error in [pending.unwrap_err(), waiting.unwrap_err(), crashing.unwrap_err()] {
        assert_eq!(error.code, ErrorCode::CdpTargetCrashed, "{error}");
        assert_eq!(error.message, format!("the page {session} crashed at {}", site.url("/")));
        assert!(error.hint.contains("Page.reload"));
    }
    for method in ["Page.captureScreenshot", "Network.enable", "DOM.getDocument"] {
        let error = execution.page(&session, method, json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::CdpTargetCrashed, "{error}");
    }
    assert_eq!(execution.evaluate(&other, "1").await.unwrap(), 1, "another page is not affected");

    execution.page(&session, "Page.reload", json!({})).await.unwrap();
    execution.wait("Page.loadEventFired", json!({"sessionId": session})).await.unwrap();
    assert_eq!(execution.evaluate(&session, "document.title").await.unwrap(), "Home");
    execution.end().await;
}

#[tokio::test]
async fn a_closed_page_rejects_its_calls() {
    let execution = Execution::begin().await;
    let (target, session) = execution.open("about:blank").await;
    let (pending, waiting, closing) = tokio::join!(
        execution.evaluate(&session, FOREVER),
        execution.wait("Page.loadEventFired", json!({"sessionId": session})),
        execution.send("Target.closeTarget", json!({ "targetId": target })),
    );
    assert_eq!(closing.unwrap()["success"], true);
    for error in [pending.unwrap_err(), waiting.unwrap_err()] {
        assert_eq!(error.code, ErrorCode::CdpTargetClosed, "{error}");
    }
    execution.wait("Target.targetDestroyed", json!({"where": {"targetId": target}})).await.unwrap();
    for error in [
        execution.evaluate(&session, "1").await.unwrap_err(),
        execution.call("attachToTarget", json!([target])).await.unwrap_err(),
        execution.wait("Page.loadEventFired", json!({"sessionId": session})).await.unwrap_err(),
        execution.send("Target.closeTarget", json!({ "targetId": target })).await.unwrap_err(),
    ] {
        assert_eq!(error.code, ErrorCode::CdpTargetClosed, "{error}");
        assert_eq!(error.message, format!("the page target:{target} was closed"));
    }
    let (_, session) = execution.open("about:blank").await;
    assert_eq!(execution.page(&session, "Page.close", json!({})).await.unwrap(), json!({}));
    execution.end().await;
}

#[tokio::test]
async fn a_browser_that_is_killed_in_mid_call_is_gone() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    let pid = browser_pid(execution.state.path());
    let kill = async {
        // The call below has been sent by then: this answer proves that the page received it.
        execution.evaluate(&session, "1").await.unwrap();
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    };
    let (pending, waiting, ()) = tokio::join!(
        execution.evaluate(&session, FOREVER),
        execution.wait("Page.loadEventFired", json!({"sessionId": session})),
        kill
    );
    for error in [pending.unwrap_err(), waiting.unwrap_err(), execution.evaluate(&session, "1").await.unwrap_err()] {
        assert_eq!(error.code, ErrorCode::BrowserGone, "{error}");
        assert!(error.retryable);
    }
    assert_eq!(execution.call("sessionInfo", json!([])).await.unwrap()["state"], "gone");

    execution.life.dispose(Ending::Failed).await.unwrap();
    assert_eq!(held(execution.state.path()), Vec::<String>::new());
    let warnings = execution.life.warnings();
    assert_eq!(warnings, ["The browser died or was killed while the script ran; what it held is lost."]);
}

#[tokio::test]
async fn a_script_may_close_its_own_browser() {
    let execution = Execution::begin().await;
    execution.attach().await;
    assert_eq!(execution.send("Browser.close", json!({})).await.unwrap(), json!({}));
    let error = execution.send("Browser.getVersion", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::BrowserGone, "{error}");
    execution.life.dispose(Ending::Succeeded).await.unwrap();
    assert_eq!(execution.life.warnings(), Vec::<String>::new());
    assert_eq!(held(execution.state.path()), Vec::<String>::new());
}
