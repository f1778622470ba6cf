//! Runs the rows of `tests/engine` in a real Chromium: pages, operations on them, and their expected results.

use super::{ENGINE, SOURCE};
use codemode_chromium::{Browser, Command, Connection, Event, LaunchOptions};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::{path::Path, time::Duration};

/// A timeout longer than any step takes that works.
const PATIENCE: Duration = Duration::from_secs(100);
/// The number of rows that run concurrently, each in its own page: most of them wait.
const PAGES: usize = 6;

#[test]
fn the_engine_is_small() {
    // Any other character doubles the size of the whole text in the browser.
    assert!(ENGINE.is_ascii());
    // Its code has neither comment lines nor indentation that mean something, as within a string of several lines.
    let is_comment = |line: &str| line.trim_start().starts_with(['/', '*']);
    for line in SOURCE.lines().filter(|line| !is_comment(line) && !line.contains(['"', '\''])) {
        assert!(line.matches('`').count().is_multiple_of(2), "{line}");
    }
}

#[derive(Deserialize)]
struct Row {
    name: String,
    html: String,
    script: Option<String>,
    #[serde(default)]
    adopt: bool,
    #[serde(flatten)]
    first: Step,
    #[serde(default)]
    then: Vec<Step>,
}

/// An operation of the engine, or an expression in the page's own world.
#[derive(Deserialize)]
struct Step {
    op: Option<String>,
    #[serde(default)]
    args: Json,
    given: Option<String>,
    evaluate: Option<String>,
    expect: Json,
}

/// A page with an engine.
struct Page<'c> {
    connection: &'c Connection,
    session: String,
    context: Json,
    engine: Json,
}

impl Page<'_> {
    async fn open<'c>(connection: &'c Connection, row: &Row) -> Page<'c> {
        let mut page = Page { connection, session: String::new(), context: Json::Null, engine: Json::Null };
        let made = page.ask(None, "Target.createTarget", json!({"url": "about:blank"})).await;
        let attach = json!({"targetId": made["targetId"], "flatten": true});
        let attached = page.ask(None, "Target.attachToTarget", attach).await;
        page.session = attached["sessionId"].as_str().expect("a session").to_owned();
        page.send("Page.enable", json!({})).await;
        let size = json!({"width": 800, "height": 600, "deviceScaleFactor": 1, "mobile": false});
        page.send("Emulation.setDeviceMetricsOverride", size).await;
        page.send("Emulation.setFocusEmulationEnabled", json!({"enabled": true})).await;
        let from = connection.events().cursor();
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let url = format!("data:text/html;charset=utf-8;base64,{}", STANDARD.encode(&row.html));
        let gone = page.send("Page.navigate", json!({ "url": url })).await;
        let session = page.session.clone();
        let loaded =
            |event: &Event| event.method == "Page.loadEventFired" && event.session.as_deref() == Some(&session);
        connection.events().wait(from, &loaded).await.expect("it loads");
        let world = page.send("Page.createIsolatedWorld", json!({"frameId": gone["frameId"]})).await;
        page.context = world["executionContextId"].clone();
        let made = page.send("Runtime.evaluate", json!({"expression": *ENGINE, "contextId": page.context})).await;
        page.engine = made["result"]["objectId"].clone();
        assert!(page.engine.is_string(), "the engine does not start: {made}");
        page
    }

    async fn ask(&self, session: Option<&str>, method: &str, params: Json) -> Json {
        let call = self.connection.call(Command { method, params, session, timeout: PATIENCE });
        call.await.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    async fn send(&self, method: &str, params: Json) -> Json {
        self.ask(Some(&self.session), method, params).await
    }

    async fn evaluate(&self, expression: &str) -> Json {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.send("Runtime.evaluate", params).await;
        assert_eq!(answer.get("exceptionDetails"), None, "{expression}");
        answer["result"]["value"].clone()
    }

    async fn call(&self, function: &str, arguments: Json) -> Json {
        let params = json!({
            "objectId": self.engine, "functionDeclaration": function, "arguments": arguments, "awaitPromise": true,
            "returnByValue": true,
        });
        let answer = self.send("Runtime.callFunctionOn", params).await;
        assert_eq!(answer.get("exceptionDetails"), None, "{arguments}");
        answer["result"]["value"].clone()
    }

    async fn step(&self, step: &Step) -> Json {
        let Some(op) = &step.op else { return self.evaluate(step.evaluate.as_deref().expect("op or evaluate")).await };
        let given = match &step.given {
            Some(selector) => {
                let expression = format!("Document.prototype.querySelector.call(document, {})", json!(selector));
                let params = json!({"expression": expression, "contextId": self.context});
                let found = self.send("Runtime.evaluate", params).await;
                json!({"objectId": found["result"]["objectId"]})
            }
            None => json!({"value": null}),
        };
        const RUN: &str = "function(op, args, given) { return this.run(op, args ?? {}, given); }";
        self.call(RUN, json!([{"value": op}, {"value": step.args}, given])).await
    }

    /// Passes all closed shadow roots of the page to the engine.
    async fn adopt(&self) {
        let tree = self.send("DOM.getDocument", json!({"depth": -1, "pierce": true})).await;
        let mut found = crate::world::ClosedRoots::new();
        let tree: crate::world::DomAnswer = serde_json::from_value(tree).unwrap();
        crate::world::closed_roots(&tree.root, "", &mut found);
        for (host, root) in found.into_values().flatten() {
            let mut objects = Vec::new();
            for node in [host, root] {
                let params = json!({"backendNodeId": node, "executionContextId": self.context});
                let resolved = self.send("DOM.resolveNode", params).await;
                objects.push(json!({"objectId": resolved["object"]["objectId"]}));
            }
            self.call("function(host, root) { this.adopt(host, root); }", objects.into()).await;
        }
    }
}

/// Runs a row and describes its first failed expectation, if any.
async fn fault(connection: &Connection, row: &Row) -> Option<String> {
    let page = Page::open(connection, row).await;
    if let Some(script) = &row.script {
        page.evaluate(script).await;
    }
    if row.adopt {
        page.adopt().await;
    }
    let mut fault = None;
    for step in std::iter::once(&row.first).chain(&row.then) {
        let seen = page.step(step).await;
        // JSON has one kind of number, and a page may write 2 as 2.0.
        if fault.is_none() && !is_same(&seen, &step.expect) {
            fault = Some(format!("{}\n  seen     {seen}\n  expected {}", row.name, step.expect));
        }
    }
    page.send("Page.close", json!({})).await;
    fault
}

fn is_same(seen: &Json, expected: &Json) -> bool {
    match (seen, expected) {
        (Json::Number(seen), Json::Number(expected)) => seen.as_f64() == expected.as_f64(),
        (Json::Array(seen), Json::Array(expected)) => {
            seen.len() == expected.len() && seen.iter().zip(expected).all(|(seen, expected)| is_same(seen, expected))
        }
        (Json::Object(seen), Json::Object(expected)) => {
            seen.len() == expected.len()
                && seen.iter().all(|(key, seen)| expected.get(key).is_some_and(|expected| is_same(seen, expected)))
        }
        (seen, expected) => seen == expected,
    }
}

async fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine").join(file);
    let rows: Vec<Row> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let profiles = tempfile::tempdir().unwrap();
    let executable = codemode_chromium::install(&|line| eprintln!("{line}")).await.unwrap();
    let options = LaunchOptions::new(executable.path, profiles.path().to_owned(), "engine");
    let options = LaunchOptions { listens: true, start_timeout: PATIENCE, ..options };
    let browser = Browser::launch(options).await.unwrap();
    let connection = Connection::connect(browser.endpoint().expect("it listens"), PATIENCE).await.unwrap();
    let faults: Vec<String> = stream::iter(&rows)
        .map(|row| fault(&connection, row))
        .buffer_unordered(PAGES)
        .filter_map(async |fault| fault)
        .collect()
        .await;
    connection.close().await;
    browser.close().await.unwrap();
    assert!(faults.is_empty(), "{} of {} rows of {file} fail:\n{}", faults.len(), rows.len(), faults.join("\n"));
}

#[tokio::test]
async fn steps_find_elements() {
    check("steps.json").await;
}

#[tokio::test]
async fn states_are_told_and_waited_for() {
    check("states.json").await;
}

#[tokio::test]
async fn elements_are_made_ready() {
    check("act.json").await;
}

#[tokio::test]
async fn fields_are_filled() {
    check("forms.json").await;
}

#[tokio::test]
async fn content_is_taken_out() {
    check("content.json").await;
}
