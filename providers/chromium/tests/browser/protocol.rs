//! Tests of the protocol description that a browser reports.

use crate::support::{PATIENCE, Profiles};
use codemode_chromium::{
    Connection, Endpoint, Protocol,
    cdp::browser_protocol::browser::{GetVersionParams, GetVersionReturns},
};
use codemode_spec::ErrorCode;
use serde_json::{Value as Json, json};
use std::{sync::Arc, time::Instant};

#[tokio::test]
async fn the_live_protocol_is_read_once_and_knows_names_and_parameters() {
    let profiles = Profiles::new();
    let browser = profiles.launch_listening().await;
    let endpoint = browser.endpoint().unwrap();
    let connection = Connection::connect(endpoint, PATIENCE).await.unwrap();
    let version = connection.execute(&GetVersionParams::default(), None, PATIENCE).await.unwrap();
    let begun = Instant::now();
    let protocol = Protocol::read(endpoint, &version, PATIENCE).await.unwrap();
    println!("{protocol:?} within {:?}", begun.elapsed());
    assert!(Arc::ptr_eq(&protocol, &Protocol::read(endpoint, &version, PATIENCE).await.unwrap()));
    browser.close().await.unwrap();
    profiles.assert_nothing_left();

    assert!(protocol.domains().count() > 40);
    let navigate = protocol.command("Page.navigate").unwrap();
    assert_eq!((navigate.parameters[0].name.as_str(), navigate.parameters[0].optional), ("url", false));
    assert!(protocol.event("Page.loadEventFired").is_some() && protocol.command("Page.loadEventFired").is_none());
    assert!(protocol.type_("Page.FrameId").is_some() && protocol.type_("Page.Nothing").is_none());
    assert_eq!(serde_json::to_value(navigate).unwrap()["parameters"][0]["type"], "string", "as the browser writes it");
    assert!(protocol.domain("Page").unwrap().description.is_some());

    nearest_names(&protocol);
    faults(&protocol);
    own_examples_have_no_fault(&protocol);
}

fn nearest_names(protocol: &Protocol) {
    for (wrong, right) in [
        ("page.navigate", "Page.navigate"),
        ("Page.Navigate", "Page.navigate"),
        ("Page.navigat", "Page.navigate"),
        ("navigate", "Page.navigate"),
        ("Page.goto", "Page.navigate"),
        ("goto", "Page.navigate"),
        ("Pag.navigate", "Page.navigate"),
        ("Page.evaluate", "Runtime.evaluate"),
        ("evaluate", "Runtime.evaluate"),
        ("Runtime.eval", "Runtime.evaluate"),
        ("Page.screenshot", "Page.captureScreenshot"),
        ("screenshot", "Page.captureScreenshot"),
        ("Page.captureScreenShot", "Page.captureScreenshot"),
        ("DOM.querySelectr", "DOM.querySelector"),
        ("Page.querySelector", "DOM.querySelector"),
        ("Network.setCookie", "Network.setCookie"),
        ("Network.setCooky", "Network.setCookie"),
        ("Input.click", "Input.dispatchMouseEvent"),
        ("Input.typeText", "Input.insertText"),
        ("Input.dispatchKey", "Input.dispatchKeyEvent"),
        ("Target.newPage", "Target.createTarget"),
        ("Accessibility.getTree", "Accessibility.getFullAXTree"),
        ("Page.printToPdf", "Page.printToPDF"),
        ("Emulation.setDeviceMetrics", "Emulation.setDeviceMetricsOverride"),
    ] {
        assert_eq!(protocol.nearest_command(wrong).as_deref(), Some(right), "{wrong}");
    }
    for nothing in ["", "x", "Qqqq.wwwwww", "🦀"] {
        assert_eq!(protocol.nearest_command(nothing), None, "{nothing}");
    }
    assert_eq!(protocol.nearest_event("Page.onLoadEventFired").as_deref(), Some("Page.loadEventFired"));
    assert_eq!(protocol.nearest_event("loadEventFired").as_deref(), Some("Page.loadEventFired"));
}

fn faults(protocol: &Protocol) {
    let check = |method: &str, params: Json| protocol.check(method, params.as_object().unwrap());
    let none = Vec::<String>::new();
    assert_eq!(check("Page.navigate", json!({ "url": "about:blank", "frameId": "F" })), none);
    assert_eq!(check("Page.enable", json!({})), none);
    assert_eq!(check("Nothing.here", json!({ "a": 1 })), none);
    assert_eq!(check("Page.navigate", json!({})), ["url: is missing; it is required, a string"]);
    assert_eq!(
        check("Page.navigate", json!({ "Url": "x", "frameId": 1, "referrer": null })),
        [
            "Url: is unknown; did you mean url?",
            "frameId: is a number, must be a string",
            "referrer: is null; leave it out or give a string",
            "url: is missing; it is required, a string",
        ]
    );
    assert_eq!(
        check(
            "Page.captureScreenshot",
            json!({ "format": "gif", "quality": 1.5, "clip": { "x": 0, "y": "0", "w": 1 } })
        ),
        [
            "format: is \"gif\", must be one of \"jpeg\", \"png\", \"webp\"",
            "quality: is a number, must be an integer",
            "clip.y: is a string, must be a number",
            "clip.w: is unknown; did you mean width?",
            "clip.width: is missing; it is required, a number",
            "clip.height: is missing; it is required, a number",
            "clip.scale: is missing; it is required, a number",
        ]
    );
    assert_eq!(check("Page.captureScreenshot", json!({ "format": "jpeg", "quality": 80.0 })), none);
    assert_eq!(
        check(
            "Network.setCookies",
            json!({ "cookies": [{ "name": "a", "value": "b" }, { "name": 1, "value": "b", "sameSite": "lax" }] })
        ),
        [
            "cookies[1].name: is a number, must be a string",
            "cookies[1].sameSite: is \"lax\", must be one of \"Strict\", \"Lax\", \"None\"",
        ]
    );
    assert_eq!(
        check("Network.setCookies", json!({ "cookies": {} })),
        ["cookies: is an object, must be an array of CookieParam"]
    );
    // A recursive type, nested deeper than the check follows.
    let mut remote = json!({ "objectId": "x" });
    for _ in 0..200 {
        remote = json!({ "value": remote });
    }
    let call = json!({ "functionDeclaration": "f", "arguments": [remote] });
    assert_eq!(check("Runtime.callFunctionOn", call), none);
    let many: serde_json::Map<_, _> = (0..100).map(|n| (format!("p{n}"), json!(1))).collect();
    assert_eq!(protocol.check("Page.enable", &many).len(), 20, "bounded");
}

/// Commands that scripts commonly send must pass.
fn own_examples_have_no_fault(protocol: &Protocol) {
    for (method, params) in [
        ("Target.createTarget", json!({ "url": "about:blank", "width": 800, "height": 600, "newWindow": false })),
        ("Target.attachToTarget", json!({ "targetId": "T", "flatten": true })),
        (
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true, "filter": [{ "type": "page" }] }),
        ),
        ("Runtime.evaluate", json!({ "expression": "1", "returnByValue": true, "awaitPromise": true, "timeout": 10 })),
        (
            "Runtime.callFunctionOn",
            json!({ "functionDeclaration": "f", "objectId": "o", "arguments": [{ "value": 1 }, { "value": null }, {}] }),
        ),
        (
            "Input.dispatchMouseEvent",
            json!({ "type": "mousePressed", "x": 1.5, "y": 2, "button": "left", "clickCount": 1 }),
        ),
        (
            "Input.dispatchKeyEvent",
            json!({ "type": "keyDown", "key": "Enter", "windowsVirtualKeyCode": 13, "text": "\r" }),
        ),
        ("Network.setExtraHTTPHeaders", json!({ "headers": { "X-A": "b" } })),
        ("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*", "requestStage": "Response" }] })),
        (
            "Fetch.fulfillRequest",
            json!({ "requestId": "1", "responseCode": 200, "responseHeaders": [{ "name": "a", "value": "b" }], "body": "aGk=" }),
        ),
        (
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": false }),
        ),
        ("Page.printToPDF", json!({ "landscape": true, "paperWidth": 8.5, "transferMode": "ReturnAsBase64" })),
        ("Browser.setDownloadBehavior", json!({ "behavior": "allow", "downloadPath": "x", "eventsEnabled": true })),
        ("DOM.getDocument", json!({ "depth": -1, "pierce": true })),
    ] {
        assert_eq!(protocol.check(method, params.as_object().unwrap()), Vec::<String>::new(), "{method}");
    }
}

#[tokio::test]
async fn an_endpoint_that_serves_no_protocol_is_a_typed_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ws_url = format!("ws://{}/", listener.local_addr().unwrap());
    drop(listener);
    let version = GetVersionReturns {
        protocol_version: "1.3".to_owned(),
        product: "Chrome/1.0".to_owned(),
        revision: "@1".to_owned(),
        user_agent: String::new(),
        js_version: String::new(),
    };
    let report = Protocol::read(&Endpoint { ws_url, headers: Vec::new() }, &version, PATIENCE).await.unwrap_err();
    assert_eq!(report.code, ErrorCode::CdpConnectionFailed);
    assert_eq!(Protocol::parse(b"{}").unwrap_err().code, ErrorCode::CdpConnectionFailed);
}
