//! The in-page engine in the frames of a page: each frame has an isolated world for it, which the page's scripts cannot
//! see.
//!
//! A world is created at its first use in a document and dropped when the document is gone: the browser reports that in
//! its answer, and the operation is retried in the new document.

use crate::{
    engine::ENGINE,
    reports,
    state::worlds::{Frame, World},
    tab::Tab,
};
use codemode_page::Event;
use codemode_spec::{ErrorCode, ErrorReport, limits::CLOSED_ROOTS_MAX};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// The world's name, as developer tools show it.
pub(crate) const WORLD: &str = "codemode";
/// How long to wait, after a document is reported gone, for the event of its successor.
const REPLACED_MAX: Duration = Duration::from_millis(20);
/// Returns the element that the engine retains under a handle.
pub(crate) const HELD: &str = "function(handle) { return this.held(handle); }";
/// Operations that change nothing but marks, and that answer synchronously if their timeout is 0. Only these run in a
/// paused page.
const AT_ONCE: &[&str] = &[
    "all", "aria", "checked", "content", "frame", "html", "keep", "mark", "markdown", "outline", "point", "read",
    "table", "text", "unmark",
];
/// The reason of an element that owns no frame, or no longer owns one.
pub(crate) const NO_FRAME: &str = "frame";

impl Tab<'_> {
    /// The page's main frame.
    pub(crate) fn main_frame(&self) -> Frame {
        Frame { target: self.id.clone(), id: self.id.clone() }
    }

    async fn world(&self, frame: &Frame) -> Result<World, ErrorReport> {
        if let Some(world) = self.verbs.worlds.known().get(frame) {
            return Ok(world.clone());
        }
        if frame.target != self.id {
            let sent = self.verbs.page_commands.send_to_frame(&self.verbs.browser, &self.browser, &frame.target);
            // Without the time for that, the next command fails.
            let _ = tokio::time::timeout(self.left(), sent).await;
        }
        let made = self
            .send_to(&frame.target, "Page.createIsolatedWorld", json!({"frameId": frame.id, "worldName": WORLD}))
            .await?;
        let context = made["executionContextId"].as_i64().unwrap_or_default();
        let since = self.cursor();
        let engine = self
            .send_to(&frame.target, "Runtime.evaluate", json!({"expression": *ENGINE, "contextId": context}))
            .await?;
        let Some(engine) = engine["result"]["objectId"].as_str() else {
            return Err(ErrorReport::new(ErrorCode::HostFault, format!("the page's engine does not start: {engine}")));
        };
        let world = World { engine: engine.to_owned(), context, since, adopted: HashSet::new() };
        self.verbs.worlds.keep(frame, &world);
        Ok(world)
    }

    /// Executes an operation of the engine in a frame, and retries it if the frame's document is replaced meanwhile.
    /// `given` is the backend id of the node that the operation is about, if any.
    ///
    /// An operation that changes the page may itself have replaced the document: with `changes` it is not retried once
    /// it had begun, and the answer is `{}`.
    pub(crate) async fn run(
        &self,
        frame: &Frame,
        op: &str,
        args: Json,
        given: Option<i64>,
        changes: bool,
    ) -> Result<Json, ErrorReport> {
        loop {
            let mut args = args.clone();
            // A timeout of null means the time until the verb's deadline.
            if let Some(timeout) = args.get_mut("timeout").filter(|timeout| timeout.is_null()) {
                *timeout = json!(self.left().as_millis() as u64);
            }
            match self.run_once(frame, op, args, given).await {
                Err(Failure::Lost { began: true, .. }) if changes => return Ok(json!({})),
                Err(Failure::Lost { report, .. }) => {
                    let since = self.forget_world(frame).unwrap_or_else(|| self.cursor());
                    let is_unknown = frame.id != self.id && self.has_lost_frame(&report);
                    if self.left().is_zero() || self.has_left(frame) || is_unknown {
                        return Err(report);
                    }
                    let is_of_frame = |event: &Event| event.params["frame"]["id"] == frame.id;
                    self.document_since(since, &is_of_frame).await;
                }
                Err(Failure::Other(report)) => return Err(report),
                Ok(answer) => return Ok(answer),
            }
        }
    }

    /// Waits a moment for a new document to commit.
    pub(crate) async fn next_document(&self) {
        self.document_since(self.cursor(), &|_| true).await;
    }

    /// Waits a moment for a document that commits, or has committed, since a cursor.
    async fn document_since(&self, since: u64, is_meant: &(dyn Fn(&Event) -> bool + Sync)) {
        let is_news = |event: &Event| event.method == "Page.frameNavigated" && is_meant(event);
        let news = self.browser.events().wait(since, &is_news);
        let _ = tokio::time::timeout(REPLACED_MAX.min(self.left()), news).await;
    }

    /// Whether an error means that a frame within the page is gone, so that the path to it must be resolved again.
    pub(crate) fn has_lost_frame(&self, error: &ErrorReport) -> bool {
        let is_unknown = error.code == ErrorCode::CdpProtocolError
            && UNKNOWN_FRAME.iter().any(|words| error.message.contains(words));
        is_unknown
            || error.details["reason"] == NO_FRAME
            || error.code == ErrorCode::CdpTargetClosed && !self.is_closed()
    }

    /// Drops the world of a document that is gone. Returns the event cursor after which its successor is reported.
    pub(crate) fn forget_world(&self, frame: &Frame) -> Option<u64> {
        self.verbs.worlds.known().remove(frame).map(|world| world.since)
    }

    /// Whether the target of a frame is destroyed, so that no new document can commit there.
    fn has_left(&self, frame: &Frame) -> bool {
        self.browser.catch_up();
        self.browser.targets.target(&frame.target).is_none()
    }

    async fn run_once(&self, frame: &Frame, op: &str, args: Json, given: Option<i64>) -> Result<Json, Failure> {
        const RUN: &str = "function(op, args, given) { return this.run(op, args, given ?? null); }";
        let mut world = self.world(frame).await.map_err(Failure::before)?;
        let given = match given {
            Some(node) => {
                let mut object = self.object_in(&world, frame, node).await;
                if object.as_ref().is_err_and(|report| report.message.contains(OTHER_DOCUMENT)) {
                    // The world may belong to the previous document, if the browser has reused the context id.
                    self.forget_world(frame);
                    world = self.world(frame).await.map_err(Failure::before)?;
                    object = self.object_in(&world, frame, node).await;
                }
                json!({"objectId": object.map_err(Failure::before)?})
            }
            None => json!({"value": null}),
        };
        // Promises do not settle in a paused page: only operations that answer synchronously are possible.
        let is_halted = self.is_halted();
        if is_halted && !AT_ONCE.contains(&op) {
            return Err(Failure::Other(reports::halted()));
        }
        let mut args = args;
        if is_halted && args.get("timeout").is_some() {
            args["timeout"] = json!(0);
        }
        let params = json!({
            "objectId": world.engine, "functionDeclaration": RUN, "returnByValue": true, "awaitPromise": !is_halted,
            "userGesture": true, "arguments": [{"value": op}, {"value": args}, given],
        });
        let answer = self.send_to(&frame.target, "Runtime.callFunctionOn", params).await.map_err(Failure::during)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            let text = thrown.pointer("/exception/description").and_then(Json::as_str).unwrap_or("no description");
            let report = ErrorReport::new(ErrorCode::HostFault, format!("the page's engine failed in {op}: {text}"));
            return Err(Failure::Other(report));
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Resolves a node of a frame to an object of the engine's world.
    async fn object_in(&self, world: &World, frame: &Frame, node: i64) -> Result<String, ErrorReport> {
        let params = json!({"backendNodeId": node, "executionContextId": world.context});
        let answer = self.send_to(&frame.target, "DOM.resolveNode", params).await?;
        Ok(answer["object"]["objectId"].as_str().unwrap_or_default().to_owned())
    }

    /// The remote object of an element that the engine of a frame retains under a handle.
    pub(crate) async fn held(&self, frame: &Frame, handle: &Json) -> Result<String, ErrorReport> {
        let answer = self.call_engine(frame, HELD, json!([{"value": handle}]), false).await?;
        answer["objectId"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| ErrorReport::new(ErrorCode::ElementNotFound, "the element is not in the page any more"))
    }

    /// Calls a function on the engine of a frame.
    pub(crate) async fn call_engine(
        &self,
        frame: &Frame,
        function: &str,
        arguments: Json,
        by_value: bool,
    ) -> Result<Json, ErrorReport> {
        let params = self.engine_call(frame, function, arguments, json!({"returnByValue": by_value})).await?;
        let answer = self.send_to(&frame.target, "Runtime.callFunctionOn", params).await?;
        Ok(answer["result"].clone())
    }

    /// Calls a function on the engine of a frame that returns a list of nodes, and identifies these nodes.
    pub(crate) async fn nodes(
        &self,
        frame: &Frame,
        function: &str,
        arguments: Json,
    ) -> Result<Vec<NodeId>, ErrorReport> {
        let as_nodes = json!({"serializationOptions": {
            "serialization": "deep", "maxDepth": 1,
            "additionalParameters": {"maxNodeDepth": 0, "includeShadowTree": "none"},
        }});
        let params = self.engine_call(frame, function, arguments, as_nodes).await?;
        let answer: NodesAnswer = self.send_typed(&frame.target, "Runtime.callFunctionOn", params).await?;
        Ok(answer.result.deep.value.into_iter().map(|node| node.value).collect())
    }

    async fn engine_call(
        &self,
        frame: &Frame,
        function: &str,
        arguments: Json,
        mut params: Json,
    ) -> Result<Json, ErrorReport> {
        params["objectId"] = self.world(frame).await?.engine.into();
        params["functionDeclaration"] = function.into();
        params["arguments"] = arguments;
        Ok(params)
    }

    /// The arguments of a call: values, followed by a node of the frame if one is given.
    pub(crate) async fn arguments(&self, frame: &Frame, values: Json, given: Option<i64>) -> Result<Json, ErrorReport> {
        let mut arguments: Vec<Json> =
            values.as_array().into_iter().flatten().map(|value| json!({ "value": value })).collect();
        if let Some(node) = given {
            let world = self.world(frame).await?;
            arguments.push(json!({"objectId": self.object_in(&world, frame, node).await?}));
        }
        Ok(arguments.into())
    }

    /// The closed shadow roots of a target: of its document and of the documents of in-process frames.
    pub(crate) async fn closed_roots(&self, target: &str) -> Result<ClosedRoots, ErrorReport> {
        let params = json!({"depth": -1, "pierce": true});
        let mut found = ClosedRoots::new();
        match self.send_typed::<DomAnswer>(target, "DOM.getDocument", params).await {
            // Open shadow roots are found without this.
            Err(error) if error.code == ErrorCode::ResultTooLarge => {
                self.warn("The page is so large that what is in closed shadow roots was not looked for".to_owned());
            }
            tree => closed_roots(&tree?.root, target, &mut found),
        }
        Ok(found)
    }

    /// Passes the closed shadow roots of a frame to its engine, except those that it has already.
    pub(crate) async fn adopt_closed_roots(&self, frame: &Frame, roots: &ClosedRoots) -> Result<(), ErrorReport> {
        const ADOPT: &str = "function(host, root) { this.adopt(host, root); }";
        let found = roots.get(&frame.id).map(Vec::as_slice).unwrap_or_default();
        for &(host, root) in found {
            let world = self.world(frame).await?;
            let is_new = match self.verbs.worlds.known().get_mut(frame) {
                Some(known) if known.adopted.len() < CLOSED_ROOTS_MAX => known.adopted.insert(root),
                _ => false,
            };
            if !is_new {
                continue;
            }
            let objects = async {
                let host = self.object_in(&world, frame, host).await?;
                let root = self.object_in(&world, frame, root).await?;
                self.call_engine(frame, ADOPT, json!([{ "objectId": host }, { "objectId": root }]), true).await
            };
            match objects.await {
                // A node that has left the page meanwhile is skipped.
                Err(error) if error.code != ErrorCode::CdpProtocolError => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Describes the node of an element that the engine of a frame retains under a handle.
    pub(crate) async fn node_of(&self, frame: &Frame, handle: &Json) -> Result<Json, ErrorReport> {
        let object = self.held(frame, handle).await?;
        let node = self.send_to(&frame.target, "DOM.describeNode", json!({ "objectId": object })).await?;
        Ok(node["node"].clone())
    }

    /// Resolves a node to an object of the page's own world, where the functions of scripts run.
    pub(crate) async fn in_main_world(&self, frame: &Frame, node: i64) -> Result<String, ErrorReport> {
        let answer = self.send_to(&frame.target, "DOM.resolveNode", json!({ "backendNodeId": node })).await?;
        answer["object"]["objectId"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| reports::invalid("the element is not in the page any more"))
    }
}

/// Identifies a node to the browser, also after the engine of its document is gone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeId {
    /// Unique in the process of its frame.
    #[serde(rename = "backendNodeId")]
    pub(crate) backend: i64,
    /// The loader id of its document.
    #[serde(rename = "loaderId")]
    pub(crate) document: String,
}

/// A list of nodes, with only the fields that are used.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NodesAnswer {
    result: NodesResult,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodesResult {
    #[serde(rename = "deepSerializedValue")]
    deep: NodesList,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodesList {
    value: Vec<NodeValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeValue {
    value: NodeId,
}

/// A document, with only the fields that are used.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct DomAnswer {
    pub(crate) root: DomNode,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DomNode {
    backend_node_id: i64,
    frame_id: String,
    shadow_root_type: String,
    content_document: Option<Box<DomNode>>,
    shadow_roots: Vec<DomNode>,
    children: Vec<DomNode>,
}

/// The closed shadow roots of each frame, as backend ids of (host, root).
pub(crate) type ClosedRoots = HashMap<String, Vec<(i64, i64)>>;

/// Collects the closed shadow roots of a frame's document, and of the documents of frames in it.
pub(crate) fn closed_roots(node: &DomNode, frame: &str, found: &mut ClosedRoots) {
    if let Some(document) = &node.content_document {
        closed_roots(document, &node.frame_id, found);
    }
    for root in &node.shadow_roots {
        if root.shadow_root_type == "closed" {
            found.entry(frame.to_owned()).or_default().push((node.backend_node_id, root.backend_node_id));
        }
        closed_roots(root, frame, found);
    }
    for child in &node.children {
        closed_roots(child, frame, found);
    }
}

/// Why an operation was not completed.
enum Failure {
    /// The document was replaced, before the operation had begun or while it ran.
    Lost {
        report: ErrorReport,
        began: bool,
    },
    Other(ErrorReport),
}

impl Failure {
    fn before(report: ErrorReport) -> Self {
        if is_lost(&report) { Self::Lost { report, began: false } } else { Self::Other(report) }
    }

    fn during(report: ErrorReport) -> Self {
        let began = reports::had_begun(&report);
        if is_lost(&report) { Self::Lost { report, began } } else { Self::Other(report) }
    }
}

/// Whether a command failed because its document is gone. Chromium has no error code for that.
pub(crate) fn is_lost(report: &ErrorReport) -> bool {
    const WORDS: &[&str] = &[
        "Cannot find context",
        "Could not find object",
        "context was destroyed",
        "navigated or closed",
        "Argument should belong to the same JavaScript world",
    ];
    let is_said = |words: &&str| report.message.contains(*words);
    report.code == ErrorCode::CdpProtocolError && WORDS.iter().chain(UNKNOWN_FRAME).any(is_said)
}

/// Chromium's message for a node of another document than the world's.
const OTHER_DOCUMENT: &str = "does not belong to the document";
/// Chromium's messages for a frame that the process does not have.
const UNKNOWN_FRAME: &[&str] = &["No frame for given id", "Frame with the given"];
