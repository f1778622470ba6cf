//! Sends commands to a page or to the browser, and stops waiting as soon as no answer can come: after a crash, a close,
//! or under an open dialog.

use crate::{
    attach::{Attached, HANDLE},
    connected::ConnectedBrowser,
    dialog::Dialogs,
    policy,
    targets::{BROWSER, loads_a_page},
};
use codemode_chromium::{CdpError, Command, Event};
use codemode_provider::ArgumentsPlace;
use codemode_spec::{ErrorReport, message::Encoded};
use futures::future::join_all;
use serde_json::{Value as Json, json};
use std::{pin::pin, sync::atomic::Ordering, time::Duration};

/// A screenshot takes longer than this only if its tab is no longer in front: the tab is brought to front again.
const SCREENSHOT_AGAIN_AFTER: Duration = Duration::from_millis(1_500);
/// Resumes a target that waits for its debugger.
pub(crate) const RESUME: &str = "Runtime.runIfWaitingForDebugger";
/// The error with which Chromium answers commands that were pending when their page navigated.
const LEFT_BEHIND: &str = "Inspected target navigated";
/// How long the browser may take to report where the page navigated to.
const NAVIGATION_EVENT_MAX: Duration = Duration::from_millis(500);
/// How long an open dialog may take to be dismissed when an execution ends.
const DISMISS_MAX: Duration = Duration::from_secs(1);

impl ConnectedBrowser {
    /// Navigates a tab away from a page that is not for scripts, or closes the tab. The script never gets a session
    /// there: the host attaches one of its own for this one command.
    pub(crate) async fn leave(
        &self,
        target: &str,
        method: &str,
        params: Json,
        timeout: Duration,
    ) -> Result<Json, ErrorReport> {
        let call = |method, params, session: Option<&'static str>| {
            self.connection.call(Command { method, params, session, timeout })
        };
        let of_target = json!({ "targetId": target });
        let answer = match method {
            "Page.close" => call("Target.closeTarget", of_target, None).await,
            "Page.bringToFront" => call("Target.activateTarget", of_target, None).await,
            "Target.getTargetInfo" => call(method, of_target, None).await,
            _ if method.starts_with("Target.") => call(method, params, None).await,
            _ => {
                let _turn = self.attaching.lock().await;
                let host_attached = self.targets.host_attaches(target);
                let attached = call("Target.attachToTarget", json!({"targetId": target, "flatten": true}), None).await;
                let answer = match attached {
                    Ok(attached) => {
                        let own = attached["sessionId"].as_str();
                        let command = Command { method, params, session: own, timeout };
                        let answer = self.connection.call(command).await;
                        let _ = call("Target.detachFromTarget", json!({ "sessionId": own }), None).await;
                        answer
                    }
                    Err(error) => Err(error),
                };
                self.catch_up();
                drop(host_attached);
                answer
            }
        };
        let answer = answer.map_err(|error| self.map_error(error, method, None, Some(target)))?;
        if method == "Page.navigate" && answer.get("errorText").is_none() {
            self.targets.navigated_by_host(target);
        }
        // The policy checks the next command against the tab's current URL, which Chromium reports only later.
        self.refresh().await;
        Ok(if matches!(method, "Page.close" | "Page.bringToFront") { json!({}) } else { answer })
    }

    /// Sends a command to a session and waits for its answer, or for an obstacle that prevents the answer.
    pub(crate) async fn call_session(
        &self,
        session: &Attached,
        method: &str,
        params: Json,
        timeout: Duration,
        dialogs: Dialogs,
        place: ArgumentsPlace,
    ) -> Result<Encoded, ErrorReport> {
        let raw = session.raw.as_str();
        // The first command of a session that the script attached itself is preceded by `Page.enable`, which makes it
        // report dialogs. Its answer is not awaited first: commands of one session are executed in order.
        let mut watching = Watching { browser: self, raw, pending: self.targets.watch(raw) };
        let command = Command { method: "Page.enable", params: Json::Null, session: Some(raw), timeout };
        let mut ahead = pin!(self.connection.call(command));
        let command = Command { method, params, session: Some(raw), timeout };
        let mut answer = pin!(self.connection.ask_with(command, place));
        let mut obstructed = pin!(self.obstructed(raw, method, dialogs));
        loop {
            tokio::select! {
                biased;
                enabled = &mut ahead, if watching.pending => {
                    watching.pending = false;
                    if enabled.is_ok() {
                        self.targets.set_reports_dialogs(raw);
                    }
                }
                answer = &mut answer => {
                    // `Page.close` may detach its own session before it is answered.
                    if matches!(answer, Err(CdpError::Detached { .. })) && method == "Page.close" {
                        return Ok(json!({}).into());
                    }
                    let target = session.target.as_deref();
                    if let Err(CdpError::Protocol { message, .. }) = &answer
                        && message.starts_with(LEFT_BEHIND)
                    {
                        self.wait_for_navigation_event(session).await;
                    }
                    return answer.map_err(|error| self.map_error(error, method, Some(raw), target));
                }
                obstacle = &mut obstructed => return Err(obstacle),
            }
        }
    }

    /// Waits for the event that reports where a page navigated to. The browser reports first that the page has left its
    /// document, and only then the new URL, which decides the error of the pending calls.
    pub(crate) async fn wait_for_navigation_event(&self, session: &Attached) {
        let from = self.connection.events().cursor();
        self.catch_up();
        let target = session.target.as_deref();
        let is_navigation = |event: &Event| {
            let reported = event.params.get("targetId").or_else(|| event.params.pointer("/targetInfo/targetId"));
            matches!(event.method.as_str(), "Target.targetInfoChanged" | "Target.targetDestroyed")
                && reported.and_then(Json::as_str) == target
        };
        if self.targets.refusal(&session.raw, RESUME).is_none() {
            let _ =
                tokio::time::timeout(NAVIGATION_EVENT_MAX, self.connection.events().wait(from, &is_navigation)).await;
        }
    }

    /// Answers a dialog. A popup may have opened it before the script attached: then Chromium accepts the answer only
    /// from the session that saw the dialog open.
    pub(crate) async fn answer_dialog(
        &self,
        session: &Attached,
        params: Json,
        timeout: Duration,
    ) -> Result<Encoded, ErrorReport> {
        const METHOD: &str = "Page.handleJavaScriptDialog";
        let place = ArgumentsPlace::default();
        let answer = self.call_session(session, METHOD, params.clone(), timeout, Dialogs::Report, place).await;
        if let (Err(error), Some(target), Some(popups)) = (&answer, &session.target, self.popups())
            && error.message.ends_with("No dialog is showing")
            && let Some(Ok(answer)) = popups.answer(target, params, timeout).await
        {
            return Ok(answer.into());
        }
        answer
    }

    /// Dismisses the open dialogs before the connection is closed. Chromium accepts an answer only from a session that
    /// saw the dialog open: a later execution could not answer it, and its commands to that page would hang.
    pub(crate) async fn dismiss_dialogs(&self) {
        self.catch_up();
        let pages = self.targets.visible().into_iter().filter(|page| page.dialog.is_some());
        // All at once: however many dialogs a page has opened, they leave time to store what is kept of the key.
        let dismissals = pages.map(|page| async move {
            if let Ok(session) = self.resolve(&format!("{HANDLE}{}", page.id), DISMISS_MAX).await {
                // If it fails, the page keeps its dialog.
                let _ = self.answer_dialog(&session, json!({"accept": false}), DISMISS_MAX).await;
            }
        });
        join_all(dismissals).await;
    }

    /// Takes a screenshot of a tab. Chromium captures only the tab in front, so the tab is brought to front first.
    pub(crate) async fn screenshot(
        &self,
        session: &Attached,
        params: Json,
        timeout: Duration,
        dialogs: Dialogs,
    ) -> Result<Encoded, ErrorReport> {
        const METHOD: &str = "Page.captureScreenshot";
        let raw = session.raw.as_str();
        let bring_to_front = async || {
            // Not every target can be brought to front; the answer to the screenshot reports any problem.
            let command = Command { method: "Page.bringToFront", params: Json::Null, session: Some(raw), timeout };
            let _ = self.connection.call(command).await;
        };
        let taken = async {
            let _turn = self.shooting.lock().await;
            bring_to_front().await;
            let place = ArgumentsPlace::default();
            let mut screenshot = pin!(self.call_session(session, METHOD, params, timeout, dialogs, place));
            loop {
                tokio::select! {
                    biased;
                    screenshot = &mut screenshot => return screenshot,
                    // A tab that opened meanwhile came to front: the pending screenshot completes when its own tab is
                    // back in front.
                    () = tokio::time::sleep(SCREENSHOT_AGAIN_AFTER) => bring_to_front().await,
                }
            }
        };
        match tokio::time::timeout(timeout, taken).await {
            Ok(screenshot) => screenshot,
            Err(_) => {
                let error = CdpError::Timeout { method: METHOD.to_owned(), timeout };
                Err(self.map_error(error, METHOD, Some(raw), session.target.as_deref()))
            }
        }
    }

    /// Sends a command to the browser as a whole and waits for its answer.
    pub(crate) async fn call_browser(
        &self,
        method: &str,
        params: Json,
        target: Option<&str>,
        timeout: Duration,
        place: ArgumentsPlace,
    ) -> Result<Encoded, ErrorReport> {
        let command = Command { method, params, session: None, timeout };
        let answer = match method {
            "Target.attachToTarget" => self.connection.call(command).await.map(|answer| {
                self.catch_up();
                if let (Some(target), Some(raw)) = (target, answer["sessionId"].as_str()) {
                    self.targets.attached(raw, target);
                }
                answer.into()
            }),
            "Target.getTargets" => self.connection.call(command).await.map(without_the_browser).map(Encoded::from),
            _ => self.connection.ask_with(command, place).await,
        };
        match answer {
            Ok(_) | Err(CdpError::Closed { .. }) if method == "Browser.close" => {
                self.closed_by_script.store(true, Ordering::Relaxed);
                Ok(json!({}).into())
            }
            answer => answer.map_err(|error| self.map_error(error, method, None, target)),
        }
    }

    /// Records the effects of a successful command: enabled domains, and crashed pages that load again.
    pub(crate) fn note_success(&self, method: &str, session: Option<&Attached>) {
        self.catch_up();
        let Some(Attached { raw, target }) = session else { return };
        match method.split_once('.') {
            Some((domain, "enable")) => self.targets.set_enabled(raw, domain, true),
            Some((domain, "disable")) => self.targets.set_enabled(raw, domain, false),
            _ => {}
        }
        if let (true, Some(target)) = (loads_a_page(method), target) {
            self.targets.revived(target);
        }
    }
}

/// A pending `Page.enable`: if it is dropped before its answer, the next command sends it again.
struct Watching<'a> {
    browser: &'a ConnectedBrowser,
    raw: &'a str,
    pending: bool,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if self.pending {
            self.browser.targets.unwatch(self.raw);
        }
    }
}

/// The list of targets without the browser's own target, which is hidden from scripts.
fn without_the_browser(mut answer: Json) -> Json {
    if policy::is_enforced()
        && let Some(infos) = answer["targetInfos"].as_array_mut()
    {
        infos.retain(|info| info["type"] != BROWSER);
    }
    answer
}
