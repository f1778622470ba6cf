//! A browser that a user started: used, never closed, left as it was found.

use crate::support::{Execution, PATIENCE, Site, UsersBrowser, browsers};
use codemode_page::BrowserConfig;
use codemode_provider::Ending;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

async fn pages(execution: &Execution) -> BTreeSet<String> {
    let targets = execution.send("Target.getTargets", json!({})).await.unwrap();
    let targets = targets["targetInfos"].as_array().unwrap().iter();
    let ids = targets.filter(|target| target["type"] == "page").map(|target| target["targetId"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

/// Chromium reports a tab as closed before it has disappeared.
async fn become_again(execution: &Execution, before: &BTreeSet<String>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = pages(execution).await;
        if now == *before {
            return;
        }
        assert!(Instant::now() < deadline, "{now:?} are open, {before:?} were before");
        tokio::task::yield_now().await;
    }
}

fn is_refused(result: Result<Json, ErrorReport>) {
    let error = result.expect_err("it is refused");
    assert_eq!(error.code, ErrorCode::PolicyRefused, "{error}");
}

#[tokio::test]
async fn it_is_left_as_it_was_found() {
    let (external, site) = (UsersBrowser::begin().await, Site::serve().await);
    let watcher = external.execution().await;
    let before = pages(&watcher).await;

    let execution = external.execution().await;
    let info = execution.call("sessionInfo", json!([])).await.unwrap();
    assert_eq!((&info["state"], &info["external"]), (&json!("not-started"), &json!(true)));
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;

    is_refused(execution.send("Browser.close", json!({})).await);
    is_refused(execution.page(&session, "Browser.crash", json!({})).await);
    is_refused(execution.page(&session, "Page.close", json!({})).await);
    let theirs = session.strip_prefix("target:").unwrap();
    is_refused(execution.send("Target.closeTarget", json!({ "targetId": theirs })).await);
    is_refused(execution.send("Storage.clearCookies", json!({})).await);
    is_refused(execution.send("Browser.setDownloadBehavior", json!({"behavior": "deny"})).await);
    for behavior in ["deny", "default"] {
        is_refused(execution.page(&session, "Page.setDownloadBehavior", json!({ "behavior": behavior })).await);
    }
    for whole_store in ["Storage.getCookies", "Network.getAllCookies"] {
        is_refused(execution.page(&session, whole_store, json!({})).await);
    }
    execution.page(&session, "Network.getCookies", json!({})).await.unwrap();

    // What it creates is its own: a tab, one that this tab opens, and a context with a tab.
    let (own, own_session) = execution.open("about:blank").await;
    execution.visit(&own_session, &site.url("/")).await;
    // Without user interaction, Chromium would block it as a popup.
    let open = json!({"expression": "void window.open('/other')", "userGesture": true});
    execution.page(&own_session, "Runtime.evaluate", open).await.unwrap();
    let opened = json!({"where": {"targetInfo": {"openerId": own}}});
    execution.wait("Target.targetCreated", opened).await.unwrap();
    let context = execution.send("Target.createBrowserContext", json!({})).await.unwrap();
    let context = &context["browserContextId"];
    let inside = json!({"url": "about:blank", "browserContextId": context});
    execution.send("Target.createTarget", inside).await.unwrap();
    execution
        .send("Browser.setDownloadBehavior", json!({"behavior": "deny", "browserContextId": context}))
        .await
        .unwrap();
    // Through a page's session as well.
    execution.page(&own_session, "Target.createTarget", json!({"url": "about:blank"})).await.unwrap();
    is_refused(execution.page(&own_session, "Storage.clearCookies", json!({})).await);
    assert_eq!(pages(&watcher).await.len(), before.len() + 4);

    // Another execution cannot attach to it.
    is_refused(watcher.call("attachToTarget", json!([own])).await);
    is_refused(watcher.page(&own_session, "Runtime.enable", json!({})).await);
    is_refused(watcher.send("Target.closeTarget", json!({ "targetId": own })).await);

    execution.life.dispose(Ending::Failed).await.unwrap();
    assert_eq!(execution.life.warnings(), Vec::<String>::new());
    become_again(&watcher, &before).await;
    assert_eq!(watcher.evaluate(&session, "document.title").await.unwrap(), "Home", "the tab it used is still there");
    watcher.end().await;
    external.browser.close().await.unwrap();
}

#[tokio::test]
async fn a_tab_is_closed_even_if_the_call_that_made_it_was_dropped_or_the_execution_is_parked() {
    let external = UsersBrowser::begin().await;
    let watcher = external.execution().await;
    let before = pages(&watcher).await;
    let mut execution = external.execution().await;
    execution.attach().await;
    for _ in 0..3 {
        // One poll: the command is sent, its answer is not awaited.
        let _ = tokio::time::timeout(Duration::ZERO, execution.send("Target.createTarget", json!({"url": ""}))).await;
    }
    let (own, session) = execution.open("about:blank").await;
    let open = json!({"expression": "void window.open('about:blank')", "userGesture": true});
    execution.page(&session, "Runtime.evaluate", open).await.unwrap();
    execution.wait("Target.targetCreated", json!({"where": {"targetInfo": {"openerId": own}}})).await.unwrap();
    execution.life.suspend().await.unwrap();
    execution.life.dispose(Ending::Cancelled).await.unwrap();
    become_again(&watcher, &before).await;
    watcher.end().await;
    external.browser.close().await.unwrap();
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_an_error_that_keeps_its_secrets() {
    // A port that was free a moment ago, on which no process listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = json!({"cdpUrl": format!("ws://127.0.0.1:{port}/x?token=hush"), "headers": {"X-Key": "hush"}});
    let execution = Execution::of(browsers(BrowserConfig::default()), options).await;
    for _ in 0..2 {
        let error = execution.send("Browser.getVersion", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::CdpConnectionFailed, "{error}");
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    }
    execution.end().await;
}
