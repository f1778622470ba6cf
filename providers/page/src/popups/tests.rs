use crate::{connected::ConnectedBrowser, route::Route};
use codemode_chromium::{Browser, Command, Event, LaunchOptions, install};
use codemode_spec::limits::POPUP_RING_BYTES_MAX;
use serde_json::{Value as Json, json};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Longer than any successful step takes.
const PATIENCE: Duration = Duration::from_secs(30);

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("not so: {what}"));
}

#[tokio::test]
async fn a_popup_whose_attachment_was_lost_is_prepared_after_the_next_event() {
    let folder = tempfile::tempdir().unwrap();
    let program = install(&|line| eprintln!("{line}")).await.expect("a browser can be installed").path;
    let options = LaunchOptions::new(program.clone(), folder.path().join("profiles"), "popups");
    let browser = Browser::launch(options).await.unwrap();
    let route = Route::Own(browser.relay().clone(), program);
    let connected = ConnectedBrowser::connect(&route, folder.path(), true, PATIENCE).await.unwrap();
    let call = async |method: &str, params: Json, session: Option<&str>| {
        connected.connection.call(Command { method, params, session, timeout: PATIENCE }).await.unwrap()
    };
    let open_tab = async || {
        let tab = call("Target.createTarget", json!({"url": "about:blank"}), None).await;
        tab["targetId"].as_str().unwrap().to_owned()
    };
    let page = open_tab().await;
    let session = connected.attach(&page, PATIENCE).await.unwrap();
    let evaluate = async |expression: &str| {
        let params = json!({"expression": expression, "returnByValue": true, "userGesture": true});
        call("Runtime.evaluate", params, Some(&session)).await["result"]["value"].take()
    };
    let popup = || connected.targets.visible().into_iter().find(|target| target.opener.as_ref() == Some(&page));

    let watched = &connected.popups().unwrap().watched;
    let log = watched.connection.events();
    until("all tabs are prepared", async || {
        connected.catch_up();
        let is_detached =
            |event: &Event| event.method == "Target.detachedFromTarget" && event.params["targetId"] == page;
        log.last(&is_detached).is_some() && watched.state().sessions.is_empty()
    })
    .await;
    // Room for no event.
    log.keep(0);
    let from = log.cursor();
    // A paused popup blocks its opener.
    let opening = evaluate("globalThis.w = open('about:blank'); 'opened'");
    let losing = async {
        until("the attachment has come", async || log.cursor() > from && popup().is_some()).await;
        log.keep(POPUP_RING_BYTES_MAX);
        open_tab().await;
    };
    let (opened, ()) = tokio::join!(opening, losing);
    assert_eq!(opened, "opened");

    let session_of_popup = || {
        let popup = popup()?.id;
        let state = watched.state();
        state.sessions.iter().find(|(_, target)| **target == popup).map(|(session, _)| session.clone())
    };
    until("its dialogs are watched", async || {
        evaluate("w.location.hash = Math.random(); 0").await;
        session_of_popup().is_some_and(|session| log.last(&|event| event.session.as_ref() == Some(&session)).is_some())
    })
    .await;
    evaluate("w.setTimeout('alert(1)'); 0").await;
    until("the dialog is known", async || {
        connected.catch_up();
        popup().is_some_and(|popup| popup.dialog.is_some())
    })
    .await;
    connected.connection.close().await;
    browser.close().await.unwrap();
}
