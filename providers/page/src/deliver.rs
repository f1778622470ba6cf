//! Sending to a page or to the browser without ever being left hanging.

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
use serde_json::{Value as Json, json};
use std::{pin::pin, sync::atomic::Ordering, time::Duration};

/// A screenshot that is not taken after this time was asked of a tab that is not in front any more.
const SCREENSHOT_AGAIN_AFTER: Duration = Duration::from_millis(1_500);
/// Has a target go on that stood still for its debugger.
pub(crate) const GO_ON: &str = "Runtime.runIfWaitingForDebugger";
/// How Chromium answers what was under way in a page that has navigated.
const LEFT_BEHIND: &str = "Inspected target navigated";
/// How long it may take until the browser tells where the page went.
const NAVIGATION_TOLD_MAX: Duration = Duration::from_millis(500);
/// How long an open dialog may take to be dismissed when an execution ends.
const DISMISS_MAX: Duration = Duration::from_secs(1);

impl ConnectedBrowser {
    /// Leaves a page of the browser's own, or ends it. The script has no session there, not for a moment: the host
    /// attaches one of its own for the one command.
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
        let answer = answer.map_err(|error| self.explain(error, method, None, Some(target)))?;
        if method == "Page.navigate" && answer.get("errorText").is_none() {
            self.targets.navigated_by_host(target);
        }
        // The next command is judged by where the tab is now, of which Chromium tells only later.
        self.refresh().await;
        Ok(if matches!(method, "Page.close" | "Page.bringToFront") { json!({}) } else { answer })
    }

    /// Sends a command to a session and waits for its answer, or for what keeps it from coming.
    pub(crate) async fn deliver(
        &self,
        session: &Attached,
        method: &str,
        params: Json,
        timeout: Duration,
        dialogs: Dialogs,
        place: ArgumentsPlace,
    ) -> Result<Encoded, ErrorReport> {
        let raw = session.raw.as_str();
        // The first command of a session that the script attached itself is preceded by a request for its dialogs. It
        // is not waited for: commands of one session are carried out in order.
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
                        self.targets.tells(raw);
                    }
                }
                answer = &mut answer => {
                    // `Page.close` may end its own session before it is answered.
                    if matches!(answer, Err(CdpError::Detached { .. })) && method == "Page.close" {
                        return Ok(json!({}).into());
                    }
                    let target = session.target.as_deref();
                    if let Err(CdpError::Protocol { message, .. }) = &answer
                        && message.starts_with(LEFT_BEHIND)
                    {
                        self.wait_for_navigation_event(session).await;
                    }
                    return answer.map_err(|error| self.explain(error, method, Some(raw), target));
                }
                obstacle = &mut obstructed => return Err(obstacle),
            }
        }
    }

    /// Waits for what the browser tells of a page that has gone elsewhere: it says that the page has left before it says
    /// where to, which decides what its calls end with.
    pub(crate) async fn wait_for_navigation_event(&self, session: &Attached) {
        let from = self.connection.events().cursor();
        self.catch_up();
        let target = session.target.as_deref();
        let tells = |event: &Event| {
            let told = event.params.get("targetId").or_else(|| event.params.pointer("/targetInfo/targetId"));
            matches!(event.method.as_str(), "Target.targetInfoChanged" | "Target.targetDestroyed")
                && told.and_then(Json::as_str) == target
        };
        if self.targets.refusal(&session.raw, GO_ON).is_none() {
            let _ = tokio::time::timeout(NAVIGATION_TOLD_MAX, self.connection.events().wait(from, &tells)).await;
        }
    }

    /// Answers a dialog. A popup may have opened it before the script attached: then Chromium takes the answer only from
    /// the session that saw the dialog open.
    pub(crate) async fn answer_dialog(
        &self,
        session: &Attached,
        params: Json,
        timeout: Duration,
    ) -> Result<Encoded, ErrorReport> {
        const METHOD: &str = "Page.handleJavaScriptDialog";
        let place = ArgumentsPlace::default();
        let answer = self.deliver(session, METHOD, params.clone(), timeout, Dialogs::Report, place).await;
        if let (Err(error), Some(target), Some(popups)) = (&answer, &session.target, self.popups())
            && error.message.ends_with("No dialog is showing")
            && let Some(Ok(answer)) = popups.answer(target, params, timeout).await
        {
            return Ok(answer.into());
        }
        answer
    }

    /// Dismisses the dialogs that are open, before the connection is left: Chromium takes an answer only from those who
    /// saw a dialog open, so a later execution could not, and its commands to that page would not be answered.
    pub(crate) async fn dismiss_dialogs(&self) {
        self.catch_up();
        for page in self.targets.visible().into_iter().filter(|page| page.dialog.is_some()) {
            if let Ok(session) = self.resolve(&format!("{HANDLE}{}", page.id), DISMISS_MAX).await {
                // A page that cannot be helped stays as it is.
                let _ = self.answer_dialog(&session, json!({"accept": false}), DISMISS_MAX).await;
            }
        }
    }

    /// Takes a screenshot of a tab, which Chromium does only of the tab in front.
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
            // Not every target can be brought to front; the screenshot's own answer tells.
            let command = Command { method: "Page.bringToFront", params: Json::Null, session: Some(raw), timeout };
            let _ = self.connection.call(command).await;
        };
        let taken = async {
            let _turn = self.shooting.lock().await;
            bring_to_front().await;
            let place = ArgumentsPlace::default();
            let mut screenshot = pin!(self.deliver(session, METHOD, params, timeout, dialogs, place));
            loop {
                tokio::select! {
                    biased;
                    screenshot = &mut screenshot => return screenshot,
                    // A tab that opened meanwhile took the front: a screenshot under way goes on when it is back.
                    () = tokio::time::sleep(SCREENSHOT_AGAIN_AFTER) => bring_to_front().await,
                }
            }
        };
        match tokio::time::timeout(timeout, taken).await {
            Ok(screenshot) => screenshot,
            Err(_) => {
                let error = CdpError::Timeout { method: METHOD.to_owned(), timeout };
                Err(self.explain(error, METHOD, Some(raw), session.target.as_deref()))
            }
        }
    }

    /// Sends a command to the browser as a whole and waits for its answer.
    pub(crate) async fn ask_browser(
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
            answer => answer.map_err(|error| self.explain(error, method, None, target)),
        }
    }

    /// Learns from a command that succeeded.
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

/// A request for dialogs under way: if it is dropped before its answer, the next command asks again.
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

/// The list of targets without the browser's own, which is not there for scripts.
fn without_the_browser(mut answer: Json) -> Json {
    if policy::stands()
        && let Some(infos) = answer["targetInfos"].as_array_mut()
    {
        infos.retain(|info| info["type"] != BROWSER);
    }
    answer
}
