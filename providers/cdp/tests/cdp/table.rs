//! Access to targets: decided by a target's type and by every URL that it shows, before a script can put anything into
//! it.

use crate::support::{Execution, HAS_PAGES_OF_ITS_OWN, PATIENCE, Site, UsersBrowser, browsers, started_after};
use codemode_chromium::{Command, Connection};
use codemode_page::{BrowserConfig, DevicePermission};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};
use std::{fs, sync::Arc};

fn refused(result: Result<Json, ErrorReport>) -> String {
    let error = result.expect_err("it is refused");
    assert_eq!(error.code, ErrorCode::PolicyRefused, "{error}");
    error.message
}

/// The session and the target of a cross-process frame that a tab creates when it loads this page. The frame is paused.
///
/// A new tab would not do: a tab created by `Target.createTarget` loads its page whether it is resumed or not.
async fn caught_frame(execution: &Execution, tab: &str, url: &str) -> (String, String) {
    let all = json!({"autoAttach": true, "waitForDebuggerOnStart": true});
    execution.page(tab, "Target.setAutoAttach", all).await.unwrap();
    execution.page(tab, "Page.navigate", json!({ "url": url })).await.unwrap();
    let frame = json!({"sessionId": tab, "where": {"targetInfo": {"type": "iframe"}}});
    let attached = execution.wait("Target.attachedToTarget", frame).await.unwrap();
    let params = &attached["params"];
    assert_eq!((&params["targetInfo"]["url"], &params["waitingForDebugger"]), (&json!(""), &json!(true)));
    (params["sessionId"].as_str().unwrap().to_owned(), params["targetInfo"]["targetId"].as_str().unwrap().to_owned())
}

/// Commands whose effect would persist until the frame shows its document.
const PREPARATIONS: &[(&str, &str)] = &[
    ("Page.addScriptToEvaluateOnNewDocument", r#"{"source": "report(location.href)"}"#),
    ("Runtime.addBinding", r#"{"name": "report"}"#),
    ("Runtime.enable", "{}"),
    ("Runtime.evaluate", r#"{"expression": "1"}"#),
    ("Fetch.enable", "{}"),
    ("Target.setAutoAttach", r#"{"autoAttach": true, "waitForDebuggerOnStart": true}"#),
];

/// Makes a browser show PDFs, which codemode's own browsers download.
const SHOWS_PDFS: &str = r#"for argument in "$@"; do case "$argument" in --user-data-dir=*)
    sed -i 's/"always_open_pdf_externally":true/"always_open_pdf_externally":false/' \
        "${argument#--user-data-dir=}/Default/Preferences";; esac; done"#;

#[tokio::test]
async fn nothing_is_put_into_the_viewer_of_a_document_before_it_has_loaded_or_after() {
    let (folder, site) = (tempfile::tempdir().unwrap(), Site::serve().await);
    let browsers = started_after(SHOWS_PDFS, folder.path()).await;
    let (execution, audit) = Execution::audited(browsers).await;
    let tab = execution.attach().await;
    let (frame, target) = caught_frame(&execution, &tab, &site.url("/document.pdf")).await;
    for (method, params) in PREPARATIONS {
        let params = serde_json::from_str(params).unwrap();
        let message = refused(execution.page(&frame, method, params).await);
        assert_eq!(message, format!("{method} is refused: it is not known yet what its target will show"));
    }
    assert_eq!(audit.told(), vec![]);
    let waiting = execution.wait("Page.loadEventFired", json!({ "sessionId": frame }));
    let going_on = async {
        execution.page(&frame, "Runtime.runIfWaitingForDebugger", json!({})).await.unwrap();
        // Sent as soon as it is resumed, and answered when it is known where it navigated.
        refused(execution.page(&frame, "Runtime.evaluate", json!({"expression": "1"})).await)
    };
    let (waited, evaluated) = tokio::join!(waiting, going_on);
    let gone = "its page went to chrome-extension:, which is not for scripts, and was detached";
    assert_eq!(refused(waited), format!("Page.loadEventFired is refused: {gone}"));
    assert_eq!(evaluated, format!("Runtime.evaluate is refused: {gone}"));
    execution
        .wait("Target.detachedFromTarget", json!({"sessionId": tab, "where": {"sessionId": frame}}))
        .await
        .unwrap();
    assert_eq!(audit.told(), vec![("iframe".to_owned(), "chrome-extension".to_owned())]);
    for (method, params) in PREPARATIONS {
        let params: Json = serde_json::from_str(params).unwrap();
        refused(execution.page(&frame, method, params.clone()).await);
        refused(execution.page(&format!("target:{target}"), method, params).await);
    }
    refused(execution.call("attachToTarget", json!([target])).await);
    refused(execution.call("events", json!([{"sessionId": frame, "names": ["Network.requestWillBeSent"]}])).await);
    // The frame in it, which shows the document itself, belongs to the viewer.
    let inside = json!({"where": {"targetInfo": {"type": "iframe", "parentId": target}}});
    let inside = execution.wait("Target.targetCreated", inside).await.unwrap();
    refused(execution.call("attachToTarget", json!([inside["params"]["targetInfo"]["targetId"]])).await);
    // The tab is the script's own.
    let kind = json!({"expression": "document.contentType", "returnByValue": true});
    let kind = execution.page(&tab, "Runtime.evaluate", kind).await.unwrap();
    assert_eq!(kind["result"]["value"], "application/pdf");
    execution.end().await;
}

#[tokio::test]
async fn a_document_of_ours_is_a_download() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.send("Browser.setDownloadBehavior", json!({"behavior": "default", "eventsEnabled": true})).await.unwrap();
    let went = execution.page(&session, "Page.navigate", json!({"url": site.url("/document.pdf")})).await.unwrap();
    assert_eq!(went["errorText"], "net::ERR_ABORTED", "{went}");
    execution.wait("Browser.downloadWillBegin", json!({"where": {"suggestedFilename": "document.pdf"}})).await.unwrap();
    let done = json!({"where": {"state": "completed"}});
    execution.wait("Browser.downloadProgress", done).await.unwrap();
    let folder = execution.state.path().join("downloads").join(execution.life.context.execution.as_str());
    assert!(folder.join("document.pdf").is_file());
    fs::remove_dir_all(&folder).unwrap();
    execution.end().await;
}

#[tokio::test]
async fn a_frame_of_another_site_is_used_once_it_is_known() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let tab = execution.attach().await;
    let (frame, target) = caught_frame(&execution, &tab, &site.url("/framing")).await;
    refused(execution.page(&frame, "Runtime.enable", json!({})).await);
    execution.page(&frame, "Runtime.runIfWaitingForDebugger", json!({})).await.unwrap();
    // Immediately: the command waits until the frame's URL is known.
    execution.page(&frame, "Runtime.enable", json!({})).await.unwrap();
    execution.wait("Runtime.executionContextCreated", json!({ "sessionId": frame })).await.unwrap();
    assert_eq!(execution.evaluate(&frame, "location.pathname").await.unwrap(), "/other");
    assert_eq!(execution.evaluate(&format!("target:{target}"), "document.title").await.unwrap(), "Other");
    execution.end().await;
}

#[tokio::test]
async fn a_popup_is_used_from_its_first_moment_on() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;
    for round in 0..5 {
        let open = json!({"expression": "void window.open('/other')", "userGesture": true});
        execution.page(&session, "Runtime.evaluate", open).await.unwrap();
        let opened = json!({"where": {"targetInfo": {"openerId": session.strip_prefix("target:").unwrap()}}});
        let opened = execution.wait("Target.targetCreated", opened).await.unwrap();
        let target = &opened["params"]["targetInfo"]["targetId"];
        let popup = execution.call("attachToTarget", json!([target])).await.unwrap();
        let shown = execution.evaluate(popup["sessionId"].as_str().unwrap(), "location.pathname").await.unwrap();
        assert_eq!(shown, "/other", "{round}");
    }
    execution.end().await;
}

#[tokio::test]
async fn a_tab_that_goes_where_no_script_may_be_is_taken_from_it() {
    let (external, site) = (UsersBrowser::begin().await, Site::serve().await);
    let theirs = Connection::connect(external.browser.endpoint().unwrap(), PATIENCE).await.unwrap();
    let ask = async |method: &str, params: Json, session: Option<&str>| {
        theirs.call(Command { method, params, session, timeout: PATIENCE }).await.unwrap()
    };
    for (url, scheme) in [("file:///etc/passwd", "file"), ("chrome://version", "chrome")] {
        let (execution, audit) = Execution::audited(Arc::clone(&external.browsers)).await;
        let (target, session) = execution.open(&site.url("/")).await;
        execution.visit(&session, &site.url("/")).await;
        let prepared = json!({"source": "let declared = 1; var wasHere = declared"});
        execution.page(&session, "Page.addScriptToEvaluateOnNewDocument", prepared).await.unwrap();
        execution.page(&session, "Runtime.addBinding", json!({"name": "report"})).await.unwrap();
        execution.page(&session, "Runtime.enable", json!({})).await.unwrap();
        execution.visit(&session, &site.url("/other")).await;
        assert_eq!(execution.evaluate(&session, "[wasHere, declared]").await.unwrap(), json!([1, 1]));
        let raw = execution.send("Target.attachToTarget", json!({ "targetId": target })).await.unwrap();
        let raw = raw["sessionId"].as_str().unwrap();
        // Every load waits for the script, with its response.
        let patterns = json!({"patterns": [{"urlPattern": "*", "requestStage": "Response"}]});
        execution.page(raw, "Fetch.enable", patterns).await.unwrap();
        let since = execution.call("events", json!([{}])).await.unwrap()["next"].as_u64().unwrap();

        let moving = async {
            let attached = ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}), None).await;
            let session = attached["sessionId"].as_str();
            ask("Page.navigate", json!({ "url": url }), session).await;
            let left = json!({"expression": "typeof wasHere", "returnByValue": true});
            let left = ask("Runtime.evaluate", left, session).await;
            assert_eq!(left["result"]["value"], "undefined", "no script of it ran there");
        };
        let never = json!({"expression": "new Promise(() => {})", "awaitPromise": true});
        let (in_flight, waiting, paused, ()) = tokio::join!(
            execution.page(&session, "Runtime.evaluate", never),
            execution.wait("Network.responseReceived", json!({ "sessionId": raw })),
            execution.wait("Fetch.requestPaused", json!({ "sessionId": raw })),
            moving
        );
        let gone = format!("is refused: its page went to {scheme}:, which is not for scripts, and was detached");
        assert_eq!(refused(in_flight), format!("Runtime.evaluate {gone}"));
        assert_eq!(refused(waiting), format!("Network.responseReceived {gone}"));
        assert_eq!(refused(paused), format!("Fetch.requestPaused {gone}"));
        assert_eq!(audit.told(), vec![("page".to_owned(), scheme.to_owned())], "one row, without a path");
        refused(execution.page(raw, "Runtime.evaluate", json!({"expression": "1"})).await);
        refused(execution.page(&session, "Runtime.evaluate", json!({"expression": "1"})).await);
        refused(execution.call("events", json!([{ "sessionId": raw }])).await);
        refused(execution.call("attachToTarget", json!([target])).await);
        let events = execution.call("events", json!([{"since": since, "limit": 1000}])).await.unwrap();
        assert!(!events.to_string().contains("root:"), "{events}");

        // The tab can leave that page, and is the script's again, but without anything that was put into it before.
        execution.page(&session, "Page.navigate", json!({"url": site.url("/other")})).await.unwrap();
        assert_eq!(execution.evaluate(&session, "typeof report").await.unwrap(), "undefined");
        assert_eq!(execution.evaluate(&session, "document.title").await.unwrap(), "Other");
        refused(execution.page(raw, "Runtime.evaluate", json!({"expression": "1"})).await);
        let events = execution.call("events", json!([{"since": since, "limit": 1000}])).await.unwrap();
        assert!(!events.to_string().contains("root:"), "{events}");
        execution.end().await;
    }
    external.browser.close().await.unwrap();
}

#[tokio::test]
async fn the_browser_itself_is_no_target() {
    let external = UsersBrowser::begin().await;
    let theirs = Connection::connect(external.browser.endpoint().unwrap(), PATIENCE).await.unwrap();
    let params = Json::Null;
    let ask = Command { method: "Target.getTargetInfo", params, session: None, timeout: PATIENCE };
    let own = theirs.call(ask).await.unwrap()["targetInfo"]["targetId"].clone();
    for execution in [external.execution().await, Execution::begin().await] {
        refused(execution.send("Target.getTargetInfo", json!({})).await);
        refused(execution.send("Target.attachToBrowserTarget", json!({})).await);
        refused(execution.send("Target.setDiscoverTargets", json!({"discover": true, "filter": [{}]})).await);
        let all = execution.send("Target.getTargets", json!({"filter": [{}]})).await.unwrap();
        let kinds = all["targetInfos"].as_array().unwrap().iter().map(|info| info["type"].as_str().unwrap());
        let kinds: Vec<_> = kinds.collect();
        assert!(kinds.contains(&"tab") && !kinds.contains(&"browser"), "{kinds:?}");
        let mut others: Vec<_> = all["targetInfos"].as_array().unwrap().iter().collect();
        others.retain(|info| info["type"] == "tab");
        for target in [&own, &others[0]["targetId"]] {
            for attached in [
                execution.send("Target.attachToTarget", json!({ "targetId": target })).await,
                execution.call("attachToTarget", json!([target])).await,
                execution
                    .send("Target.autoAttachRelated", json!({"targetId": target, "waitForDebuggerOnStart": false}))
                    .await,
            ] {
                let error = attached.unwrap_err();
                assert!(matches!(error.code, ErrorCode::PolicyRefused | ErrorCode::InvalidArgument), "{error}");
            }
        }
        for (method, params) in [
            ("Fetch.enable", json!({})),
            ("Security.setIgnoreCertificateErrors", json!({"ignore": true})),
            ("SystemInfo.getInfo", json!({})),
            ("SystemInfo.getProcessInfo", json!({})),
            ("Tracing.start", json!({})),
            ("Browser.getBrowserCommandLine", json!({})),
            ("Target.createBrowserContext", json!({"proxyServer": "127.0.0.1:1", "proxyBypassList": "<-loopback>"})),
        ] {
            refused(execution.send(method, params).await);
        }
        let session = execution.open("about:blank").await.1;
        for method in ["SystemInfo.getInfo", "Tracing.start", "Browser.getBrowserCommandLine"] {
            refused(execution.page(&session, method, json!({})).await);
        }
        execution.end().await;
    }
    external.browser.close().await.unwrap();
}

#[tokio::test]
async fn events_and_waits_of_the_browsers_own_pages_are_not_for_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let execution = Execution::of(started_after(HAS_PAGES_OF_ITS_OWN, folder.path()).await, json!({})).await;
    let all = json!({"autoAttach": true, "waitForDebuggerOnStart": false});
    execution.send("Target.setAutoAttach", all).await.unwrap();
    let own = json!({"where": {"targetInfo": {"type": "browser_ui"}}});
    let own = execution.wait("Target.attachedToTarget", own).await.unwrap();
    let raw = own["params"]["sessionId"].as_str().unwrap();
    let message = "the browser's own pages are not for scripts";
    for (asked, refusal) in [
        (execution.wait("Network.responseReceived", json!({ "sessionId": raw })).await, "Target.attachToTarget"),
        (execution.wait("Page.loadEventFired", json!({ "sessionId": raw })).await, "Target.attachToTarget"),
        (
            execution.call("events", json!([{"sessionId": raw, "names": ["DOM.documentUpdated"]}])).await,
            "Target.attachToTarget",
        ),
        (execution.page(raw, "Runtime.enable", json!({})).await, "Runtime.enable"),
    ] {
        assert_eq!(refused(asked), format!("{refusal} is refused: {message}"));
    }
    execution.wait("Target.detachedFromTarget", json!({"where": {"sessionId": raw}})).await.unwrap();
    let events = execution.call("events", json!([{"limit": 1000}])).await.unwrap();
    let of_it = |event: &&Json| event["sessionId"] == raw;
    assert_eq!(events["events"].as_array().unwrap().iter().filter(of_it).count(), 0, "{events}");
    execution.end().await;
}

#[tokio::test]
async fn devices_are_for_pages_only_where_an_operator_says_so() {
    let site = Site::serve().await;
    let allowed = BrowserConfig { device_permissions: vec![DevicePermission::Camera], ..BrowserConfig::default() };
    for (config, camera) in [(BrowserConfig::default(), "denied"), (allowed, "granted")] {
        let execution = Execution::of(browsers(config), json!({})).await;
        let session = execution.attach().await;
        execution.visit(&session, &site.url("/")).await;
        execution.send("Browser.grantPermissions", json!({"permissions": ["geolocation"]})).await.unwrap();
        let set = |name: &str| json!({"permission": {"name": name}, "setting": "granted"});
        for name in ["microphone", "midi", "local-network-access", "display-capture", "usb", "new-in-this-version"] {
            refused(execution.send("Browser.setPermission", set(name)).await);
        }
        refused(
            execution.send("Browser.grantPermissions", json!({"permissions": ["geolocation", "audioCapture"]})).await,
        );
        let granted = execution.send("Browser.setPermission", set("camera")).await;
        assert_eq!(granted.is_ok(), camera == "granted", "{granted:?}");
        let state = |name: &str| format!("navigator.permissions.query({{name: '{name}'}}).then(({{state}}) => state)");
        assert_eq!(execution.evaluate(&session, &state("camera")).await.unwrap(), camera);
        assert_eq!(execution.evaluate(&session, &state("geolocation")).await.unwrap(), "granted");
        execution.end().await;
    }
}
