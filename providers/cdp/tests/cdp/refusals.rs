//! The policy on a real browser. Its rows have unit tests beside the table.

use crate::support::{Execution, HAS_PAGES_OF_ITS_OWN, PATIENCE, Site, UsersBrowser, started_after};
use codemode_chromium::{Command, Connection};
use codemode_spec::ErrorCode;
use serde_json::json;

#[tokio::test]
async fn files_of_this_machine_are_out_of_reach() {
    let (execution, site) = (Execution::begin().await, Site::serve().await);
    let session = execution.attach().await;
    execution.visit(&session, &site.url("/")).await;
    for url in ["file:///etc/passwd", " FILE:/etc/passwd", "view-source:file:///etc/passwd", "chrome://version"] {
        for refused in [
            execution.page(&session, "Page.navigate", json!({ "url": url })).await,
            execution.send("Target.createTarget", json!({ "url": url })).await,
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.code, ErrorCode::PolicyRefused, "{url}: {error}");
            assert_eq!(error.hint, "Open an http or https page; put content of your own into a data: URL.");
        }
    }
    let input = "document.body.append(Object.assign(document.createElement('input'), {type: 'file'}))";
    execution.evaluate(&session, input).await.unwrap();
    let node = json!({"expression": "document.querySelector('input')"});
    let node = execution.page(&session, "Runtime.evaluate", node).await.unwrap();
    let object = node["result"]["objectId"].as_str().unwrap();
    let files = |path: &str| json!({"files": [path], "objectId": object});
    let error = execution.page(&session, "DOM.setFileInputFiles", files("/etc/passwd")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyRefused);

    let folder = execution.state.path().join("downloads").join(execution.life.context.execution.as_str());
    for (path, refused) in [(folder.join("x"), false), (execution.state.path().to_owned(), true)] {
        let params = json!({"behavior": "allow", "downloadPath": path});
        let error = execution.send("Browser.setDownloadBehavior", params).await.err();
        assert_eq!(error.is_some_and(|error| error.code == ErrorCode::PolicyRefused), refused, "{path:?}");
    }
    // Files in the session's own folder may be given to a page.
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("own.txt"), "own").unwrap();
    let own = files(folder.join("own.txt").to_str().unwrap());
    execution.page(&session, "DOM.setFileInputFiles", own).await.unwrap();
    let read = "document.querySelector('input').files[0].text()";
    assert_eq!(execution.evaluate(&session, read).await.unwrap(), "own");
    let titles = execution.call("sessionInfo", json!([])).await.unwrap();
    assert!(!titles.to_string().contains("file:") && !titles.to_string().contains("chrome:"), "{titles}");
    std::fs::remove_dir_all(&folder).unwrap();
    execution.end().await;
}

#[tokio::test]
async fn a_browser_has_no_pages_of_its_own() {
    let execution = Execution::begin().await;
    execution.attach().await;
    let targets = execution.send("Target.getTargets", json!({})).await.unwrap();
    let types: Vec<_> = targets["targetInfos"].as_array().unwrap().iter().map(|target| &target["type"]).collect();
    assert_eq!(types, ["page"], "{targets}");
    execution.end().await;
}

#[tokio::test]
async fn the_browsers_own_pages_are_not_for_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let execution = Execution::of(started_after(HAS_PAGES_OF_ITS_OWN, folder.path()).await, json!({})).await;
    let targets = execution.send("Target.getTargets", json!({})).await.unwrap();
    let own = targets["targetInfos"].as_array().unwrap().iter().filter(|target| target["type"] == "browser_ui");
    let own: Vec<_> = own.map(|target| target["targetId"].as_str().unwrap().to_owned()).collect();
    assert!(!own.is_empty(), "Chromium has some: {targets}");
    for target in own {
        for refused in [
            execution.call("attachToTarget", json!([target])).await,
            execution.send("Target.attachToTarget", json!({ "targetId": target })).await,
            execution.wait("Page.loadEventFired", json!({"sessionId": format!("target:{target}")})).await,
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.code, ErrorCode::PolicyRefused, "{error}");
            assert_eq!(error.message, "Target.attachToTarget is refused: the browser's own pages are not for scripts");
        }
        for (method, params) in [("Runtime.enable", json!({})), ("Page.navigate", json!({"url": "about:blank"}))] {
            let error = execution.page(&format!("target:{target}"), method, params).await.unwrap_err();
            assert_eq!(error.message, format!("{method} is refused: the browser's own pages are not for scripts"));
        }
    }
    execution.end().await;
}

#[tokio::test]
async fn a_tab_that_shows_a_page_of_the_browser_can_be_left_or_closed() {
    let (external, site) = (UsersBrowser::begin().await, Site::serve().await);
    let theirs = Connection::connect(external.browser.endpoint().unwrap(), PATIENCE).await.unwrap();
    let params = json!({"url": "chrome://version"});
    let create = Command { method: "Target.createTarget", params, session: None, timeout: PATIENCE };
    let made = theirs.call(create).await.unwrap();
    let execution = external.execution().await;
    let tab = format!("target:{}", made["targetId"].as_str().unwrap());
    let error = execution.evaluate(&tab, "1").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyRefused);
    assert!(error.hint.contains("Page.navigate"), "{}", error.hint);
    execution.page(&tab, "Page.navigate", json!({"url": site.url("/")})).await.unwrap();
    assert_eq!(execution.evaluate(&tab, "location.pathname").await.unwrap(), "/");
    execution.end().await;
    external.browser.close().await.unwrap();
}

#[tokio::test]
async fn what_the_host_relies_on_stays_on() {
    let execution = Execution::begin().await;
    let session = execution.attach().await;
    for (session, method, params) in [
        (Some(&session), "Page.disable", json!({})),
        (None, "Target.setDiscoverTargets", json!({"discover": false})),
        (None, "Target.attachToTarget", json!({"targetId": &session["target:".len()..], "flatten": false})),
        (None, "Target.attachToBrowserTarget", json!({})),
        (None, "Target.setRemoteLocations", json!({"locations": []})),
    ] {
        let refused = match session {
            Some(session) => execution.page(session, method, params).await,
            None => execution.send(method, params).await,
        };
        assert_eq!(refused.unwrap_err().code, ErrorCode::PolicyRefused, "{method}");
    }
    execution.end().await;
}
