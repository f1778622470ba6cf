//! The page as a whole: closing it, bringing it to the front, scripts that run before its own.

use crate::tab::Tab;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

impl Tab<'_> {
    /// Closes the page. With `run_before_unload` its `beforeunload` handler runs, and may keep it open.
    ///
    /// # Errors
    /// None if the page is closed already.
    pub async fn close(&self, run_before_unload: bool) -> Result<(), ErrorReport> {
        if run_before_unload {
            self.unhalt().await?;
        }
        let closed = match run_before_unload {
            true => self.send("Page.close", json!({})).await.map(drop),
            false => self.send_to_browser("Target.closeTarget", json!({"targetId": self.id})).await.map(drop),
        };
        self.or_closed(closed)?;
        if run_before_unload {
            return Ok(());
        }
        // Wait until the browser reports that the page is destroyed: only then it is no longer listed.
        let mut changes = self.browser.targets.changes();
        while !self.is_closed() && !self.left().is_zero() {
            let _ = tokio::time::timeout(self.left(), changes.changed()).await;
        }
        Ok(())
    }

    /// Brings the page to the front of its window.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn bring_to_front(&self) -> Result<(), ErrorReport> {
        self.send("Page.bringToFront", json!({})).await.map(drop)
    }

    /// Adds a script that runs in each new document of the page, before the page's own scripts.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn add_init_script(&self, source: &str) -> Result<(), ErrorReport> {
        let params = json!({"source": source, "runImmediately": false});
        self.send("Page.addScriptToEvaluateOnNewDocument", params).await.map(drop)
    }

    /// The page's frames, outermost first: `frame`, `parent`, `name`, `url` of each.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn frames(&self) -> Result<Json, ErrorReport> {
        let mut frames = Vec::new();
        self.collect_frames(&self.id, &mut frames).await?;
        Ok(Json::Array(frames))
    }

    async fn collect_frames(&self, target: &str, frames: &mut Vec<Json>) -> Result<(), ErrorReport> {
        let tree = match self.send_to(target, "Page.getFrameTree", json!({})).await {
            // The frame was detached meanwhile.
            Err(error) if target != self.id && error.code == ErrorCode::CdpTargetClosed => return Ok(()),
            tree => tree?,
        };
        flatten(&tree["frameTree"], frames);
        self.browser.catch_up();
        let inner = self.browser.targets.visible();
        let inner = inner.iter().filter(|frame| frame.kind == "iframe" && frame.within.as_deref() == Some(target));
        for frame in inner {
            let from = frames.len();
            Box::pin(self.collect_frames(&frame.id, frames)).await?;
            // A process does not know the frame that contains its root frame.
            if let Some(root) = frames.get_mut(from).filter(|root| root["parent"].is_null()) {
                root["parent"] = self.parent_of(&frame.id, target).await;
            }
        }
        Ok(())
    }

    /// The frame that contains an out-of-process frame: the root frame of the target around it if it is not known, as
    /// when the frame was detached meanwhile. Only the main frame has no parent.
    async fn parent_of(&self, frame: &str, around: &str) -> Json {
        let owner = self.send_to(around, "DOM.getFrameOwner", json!({ "frameId": frame })).await;
        let Some(node) = owner.ok().and_then(|owner| owner["backendNodeId"].as_i64()) else { return around.into() };
        let described = self.send_to(around, "DOM.describeNode", json!({ "backendNodeId": node })).await;
        // Only a document node reports its frame; an owner element is in the target's root frame, unless frames are
        // nested in the target.
        match described.ok().and_then(|node| node["node"]["ownerFrameId"].as_str().map(str::to_owned)) {
            Some(id) => id.into(),
            None => around.into(),
        }
    }
}

fn flatten(tree: &Json, frames: &mut Vec<Json>) {
    let frame = &tree["frame"];
    frames.push(json!({
        "frame": frame["id"], "parent": frame.get("parentId"), "url": frame["url"],
        "name": frame["name"].as_str().unwrap_or_default(),
    }));
    for child in tree["childFrames"].as_array().into_iter().flatten() {
        flatten(child, frames);
    }
}
