//! Popups of `<select>` lists, which appear in no screenshot and in no browser event. While they are watched, documents
//! keep them from opening and report them to the host instead (`js/selects.js`), and a verb chooses the options.
//!
//! Popups that are opened by a press of the left mouse button or a key are handled; `showPicker()` of a page opens the
//! browser's own. In a closed shadow root that was created after watching began, the browser's own popup opens as well.

use crate::{
    reports,
    state::{
        selects::{BINDING, CALLED},
        worlds::Frame,
    },
    tab::Tab,
    verbs::Verbs,
    world::{WORLD, is_lost},
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{SELECT_LABEL_CHARS_MAX, SELECT_OPTIONS_MAX, SELECT_TAKEN_MS_MAX},
};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

/// The script that is injected into each document.
const SCRIPT: &str = include_str!("../js/selects.js");
/// The command that injects it.
const INSTALL: &str = "Page.addScriptToEvaluateOnNewDocument";
/// Answers a popup, in its document.
const ANSWER: &str = "function(id, indices) {
    return globalThis[Symbol.for('codemode.selects')]?.answer(id, indices) ?? { error: 'popup' };
}";
/// Stops watching in a document, so that its popups open natively again.
const END: &str = "globalThis[Symbol.for('codemode.selects')]?.end()";

impl Tab<'_> {
    /// Reports the popups of the page's lists from now on, in existing and future documents.
    pub(crate) async fn watch_selects(&self) -> Result<(), ErrorReport> {
        self.verbs.selects.note(&self.verbs.browser, &self.browser, &self.id);
        if self.verbs.page_commands.has(&self.id, INSTALL) {
            return Ok(());
        }
        let settings = json!({
            "binding": BINDING, "engine": "codemode.engine", "optionsMax": SELECT_OPTIONS_MAX,
            "labelMax": SELECT_LABEL_CHARS_MAX, "takenMs": SELECT_TAKEN_MS_MAX,
        });
        let binding = json!({"name": BINDING, "executionContextName": WORLD});
        let source = format!("({})({settings})", SCRIPT.trim_end());
        // The binding is added to future contexts only where this domain is enabled.
        self.subscribe_with_frames(CALLED, "Runtime.enable").await?;
        self.enable_with_frames("Runtime.addBinding", binding).await?;
        self.enable_with_frames(INSTALL, json!({"source": source, "worldName": WORLD, "runImmediately": true})).await?;
        let roots = self.closed_roots(&self.id).await?;
        for id in roots.keys() {
            let frame = Frame { target: self.id.clone(), id: id.clone() };
            match self.adopt_closed_roots(&frame, &roots).await {
                Err(error) if frame.id != self.id && is_lost(&error) => {}
                adopted => adopted?,
            }
        }
        Ok(())
    }

    /// Chooses the options of an open popup by their indices, or with `None` closes the popup. Returns the values that
    /// are selected afterwards. The page gets `input` and `change` events if the selection has changed.
    ///
    /// # Errors
    /// `ELEMENT_NOT_FOUND` if the popup does not exist or was closed; `NOT_INTERACTABLE` if an option cannot be chosen:
    /// the popup then stays open.
    pub async fn select_popup(&self, popup: &str, indices: Option<&[u32]>) -> Result<Json, ErrorReport> {
        let mut parts = popup.splitn(3, ':');
        let (target, context, id) = (parts.next(), parts.next().and_then(|id| id.parse::<i64>().ok()), parts.next());
        let (Some(target), Some(context), Some(id)) = (target, context, id) else { return Err(no_popup(popup)) };
        if crate::state::frames::page_of_target(&self.browser, target).as_deref() != Some(&self.id)
            || !self.is_world(target, context).await?
        {
            return Err(no_popup(popup));
        }
        let params = json!({
            "executionContextId": context, "functionDeclaration": ANSWER, "returnByValue": true, "userGesture": true,
            "arguments": [{"value": id}, {"value": indices}],
        });
        let since = self.cursor();
        let answer = match self.send_to(target, "Runtime.callFunctionOn", params).await {
            // The page may navigate in response to the events.
            Err(error) if is_lost(&error) && reports::had_begun(&error) => return Ok(json!([])),
            Err(error) if is_lost(&error) => return Err(no_popup(popup)),
            answer => answer?,
        };
        let answer = &answer["result"]["value"];
        if answer["error"] == "popup" {
            return Err(no_popup(popup));
        }
        if let Some(refusal) = self.refusal(answer, "the popup") {
            return Err(refusal);
        }
        self.settle(crate::settle::Settle::Navigation, since).await?;
        Ok(answer["value"].clone())
    }

    /// Whether a context is the engine's world in a current document of a target: a page cannot answer in its place.
    async fn is_world(&self, target: &str, context: i64) -> Result<bool, ErrorReport> {
        let tree = match self.send_to(target, "Page.getFrameTree", json!({})).await {
            Err(error) if target != self.id && error.code == ErrorCode::CdpTargetClosed => return Ok(false),
            tree => tree?,
        };
        let mut frames = vec![&tree["frameTree"]];
        while let Some(frame) = frames.pop() {
            frames.extend(frame["childFrames"].as_array().into_iter().flatten());
            let params = json!({"frameId": frame["frame"]["id"], "worldName": WORLD});
            match self.send_to(target, "Page.createIsolatedWorld", params).await {
                Ok(world) if world["executionContextId"] == context => return Ok(true),
                Err(error) if error.code != ErrorCode::CdpProtocolError => return Err(error),
                _ => {}
            }
        }
        Ok(false)
    }
}

impl Verbs {
    /// Stops watching in all pages, so that popups open natively again. To be called once, when no calls are running
    /// any more. Pages that this does not reach open their popups themselves when the host does not acknowledge them in
    /// time.
    pub async fn end_selects(&self, deadline: Instant) {
        let watched = self.selects.end();
        let Some(browser) = self.browser.current().filter(|_| !watched.is_empty()) else { return };
        let params = json!({"source": END, "worldName": WORLD, "runImmediately": true});
        let ended = watched.iter().map(|page| {
            let tab = Tab::new(self, browser.clone(), page.clone(), deadline - Instant::now(), deadline);
            let params = params.clone();
            async move {
                for target in crate::state::frames::frames_of(&tab.browser, &tab.id) {
                    let _ = tab.send_to(&target, INSTALL, params.clone()).await;
                }
                let _ = tab.send(INSTALL, params).await;
            }
        });
        let _ = tokio::time::timeout_at(deadline, futures::future::join_all(ended)).await;
    }
}

fn no_popup(popup: &str) -> ErrorReport {
    let popup = codemode_page::short(popup);
    ErrorReport::new(ErrorCode::ElementNotFound, format!("Select popup {popup} not found or already closed"))
        .with_hint(
            "A popup can be answered once, until another one opens or the page is clicked elsewhere: open it again.",
        )
        .with_detail("reason", "popup")
}
