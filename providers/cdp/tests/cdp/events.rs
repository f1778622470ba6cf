//! Waiting for events and reading them.

use crate::support::{Execution, Site};
use codemode_spec::ErrorCode;
use serde_json::json;

#[tokio::test]
async fn an_event_that_fires_before_the_wait_is_reached_is_not_lost() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.page(&session, "Network.enable", json!({})).await.unwrap();
    execution.page(&session, "Page.navigate", json!({"url": site.url("/fetching")})).await.unwrap();
    // Both requests are over when the page reports so: the waits below start after all of these events.
    let both = "(async () => { while (performance.getEntriesByType('resource').length < 2) \
                await new Promise(done => setTimeout(done, 1)) })()";
    execution.evaluate(&session, both).await.unwrap();
    let wait = |pattern: &str| {
        let pattern = json!({"response": {"url": pattern, "status": 200}});
        execution.wait("Network.responseReceived", json!({"sessionId": session, "where": pattern}))
    };
    let two = wait("*/api/two").await.unwrap();
    assert_eq!((&two["method"], &two["sessionId"]), (&json!("Network.responseReceived"), &json!(session)));
    assert_eq!(two["params"]["response"]["url"], site.url("/api/two"));
    let one = wait("*/api/one").await.unwrap();
    assert_eq!(one["params"]["response"]["url"], site.url("/api/one"), "a wait for something else takes nothing away");
    assert!(one["seq"].as_u64() < two["seq"].as_u64());
    execution.wait("Page.loadEventFired", json!({"sessionId": session})).await.unwrap();
    execution.end().await;
}

#[tokio::test]
async fn successive_waits_return_successive_events_and_concurrent_ones_the_same() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    let wait = || execution.wait("Runtime.consoleAPICalled", json!({"sessionId": session}));
    // Runtime is not enabled yet: the wait enables it.
    let (first, same, _) =
        tokio::join!(wait(), wait(), execution.evaluate(&session, "console.log('a'), console.log('b')"));
    let text = |event: &serde_json::Value| event["params"]["args"][0]["value"].as_str().unwrap().to_owned();
    let (first, same) = (first.unwrap(), same.unwrap());
    assert_eq!((text(&first), text(&same)), ("a".to_owned(), "a".to_owned()));
    assert_eq!(text(&wait().await.unwrap()), "b");
    execution.evaluate(&session, "console.log('c')").await.unwrap();
    assert_eq!(text(&wait().await.unwrap()), "c");
    execution.end().await;
}

#[tokio::test]
async fn what_the_page_before_had_to_say_is_no_news() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    for path in ["/", "/other", "/"] {
        // No wait for the loads of the pages before.
        execution.page(&session, "Page.navigate", json!({"url": site.url(path)})).await.unwrap();
        execution.evaluate(&session, "new Promise(done => setTimeout(done, 0))").await.unwrap();
    }
    let sent = execution.call("events", json!([{"sessionId": session}])).await.unwrap()["next"].as_u64().unwrap();
    execution.page(&session, "Page.reload", json!({})).await.unwrap();
    let event = execution.wait("Page.loadEventFired", json!({"sessionId": session})).await.unwrap();
    assert!(event["seq"].as_u64().unwrap() >= sent, "the load of this page, not of one before");
    execution.end().await;
}

#[tokio::test]
async fn buffered_events_are_read_from_a_cursor_on() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    let read = |options| execution.call("events", json!([options]));
    let names = json!(["Runtime.consoleAPICalled"]);
    let start = read(json!({"sessionId": session, "names": names})).await.unwrap()["next"].clone();
    execution.evaluate(&session, "for (let i = 0; i < 5; i++) console.log(i)").await.unwrap();
    let mut seen = Vec::new();
    let mut since = start;
    loop {
        let batch = read(json!({"sessionId": session, "names": names, "since": since, "limit": 2})).await.unwrap();
        let events = batch["events"].as_array().unwrap();
        assert!(events.len() <= 2);
        assert_eq!(batch["dropped"], 0);
        if events.is_empty() {
            break;
        }
        seen.extend(events.iter().map(|event| event["params"]["args"][0]["value"].as_u64().unwrap()));
        since = batch["next"].clone();
    }
    assert_eq!(seen, [0, 1, 2, 3, 4]);
    let (_, other) = execution.open("about:blank").await;
    read(json!({"sessionId": other, "names": names})).await.unwrap();
    execution.evaluate(&other, "console.log(5)").await.unwrap();
    let all = read(json!({"names": names, "since": since})).await.unwrap();
    assert_eq!(all["events"][0]["sessionId"], other.as_str(), "without a session, those of all sessions are read");
    execution.end().await;
}

#[tokio::test]
async fn events_of_the_browser_need_no_session() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    execution.evaluate(&session, "1").await.unwrap();
    let (target, _) = execution.open("data:text/html,<title>popup</title>").await;
    let created = json!({"where": {"targetInfo": {"targetId": target, "type": "page"}}});
    let event = execution.wait("Target.targetCreated", created).await.unwrap();
    assert_eq!(event.get("sessionId"), None);
    execution.end().await;
}

#[tokio::test]
async fn a_wait_in_vain_says_what_came_instead() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    execution.visit(&session, "data:text/html,x").await;
    let wait = |name: &'static str| execution.wait(name, json!({"sessionId": session, "timeoutMs": 300}));
    let error = wait("Page.downloadProgress").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CallTimeout);
    assert_eq!(error.message, "Page.downloadProgress did not come within 300 ms");
    assert!(error.hint.contains("Page.loadEventFired ×1"), "{}", error.hint);
    let error = wait("Page.loadEventFired").await.unwrap_err();
    assert!(error.hint.contains("were returned already"), "{}", error.hint);
    let error = wait("Fetch.requestPaused").await.unwrap_err();
    assert!(error.hint.contains("Fetch events come only after cdp.send(\"Fetch.enable\""), "{}", error.hint);
    assert_eq!(execution.evaluate(&session, "1").await.unwrap(), 1, "and the page is not stopped by the wait");
    execution.end().await;
}

#[tokio::test]
async fn life_cycle_events_come_to_a_script_that_waits_for_them() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    let url = site.url("/");
    let idle = json!({"sessionId": session, "where": {"name": "networkIdle"}});
    let (idle, ()) = tokio::join!(execution.wait("Page.lifecycleEvent", idle), execution.visit(&session, &url));
    assert_eq!(idle.unwrap()["params"]["name"], "networkIdle");
    execution.end().await;
}
