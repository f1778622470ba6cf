//! Sends the commands of scripts: the policy checks each before it is sent, and again before its answer is returned.

use crate::{
    attach::{Attached, HANDLE},
    browser::ExecutionBrowser,
    call::RESUME,
    connected::ConnectedBrowser,
    dialog::Dialogs,
    navigation::Navigation,
    policy::{self, PolicyFacts as _, Request, TargetAccess, is_of_a_page},
    reports::needs_a_page,
    targets::loads_a_page,
};
use codemode_chromium::CdpError;
use codemode_provider::ArgumentsPlace;
use codemode_spec::{ErrorCode, ErrorReport, message::Encoded};
use serde_json::{Map, Value as Json, json};
use std::{sync::Arc, time::Duration};

/// A command of a script. It has no `Debug`: its parameters are never logged.
pub struct Command<'a> {
    /// Its full name, as `Page.navigate`.
    pub method: &'a str,
    /// Its parameters.
    pub params: Map<String, Json>,
    /// The session that it is sent to: a raw id, or a handle. `None` is the browser as a whole.
    pub session: Option<&'a str>,
    /// How long it may take, from now.
    pub timeout: Duration,
    /// How the command behaves while a dialog blocks its page.
    pub dialogs: Dialogs,
    /// The reservation of host memory for its parameters, released when they are sent.
    pub place: ArgumentsPlace,
}

/// A command that the policy has admitted.
struct Prepared<'a> {
    method: &'a str,
    params: Json,
    /// The target that its parameters name.
    target: Option<&'a str>,
    timeout: Duration,
    dialogs: Dialogs,
    place: ArgumentsPlace,
}

impl ExecutionBrowser {
    /// Sends a command and returns the browser's answer. The commands of every namespace go through here, so that the
    /// policy, dialogs and navigations are handled in one place.
    ///
    /// # Errors
    /// `POLICY_REFUSED`, the obstacle that keeps the page from answering (`DIALOG_OPEN`, `CDP_TARGET_CLOSED`, …), or
    /// the browser's own error. Hints contain placeholders, see [`crate::worded`].
    ///
    /// # Cancellation
    /// May be dropped at any time; what an execution creates in an external browser is recorded all the same.
    pub async fn send(
        self: &Arc<Self>,
        connected: &Arc<ConnectedBrowser>,
        command: Command<'_>,
    ) -> Result<Encoded, ErrorReport> {
        let Command { method, mut params, session, timeout, dialogs, place } = command;
        connected.catch_up();
        if matches!(method, "Target.attachToTarget" | "Target.setAutoAttach") {
            // The protocol defaults to nested sessions, which this connection does not support.
            params.entry("flatten").or_insert(Json::Bool(true));
        }
        if policy::is_enforced() {
            policy::guard(method, &mut params);
        }
        let params = Json::Object(params);
        let target = params.get("targetId").and_then(Json::as_str).map(str::to_owned);
        if session.is_none() && is_of_a_page(method) {
            return Err(needs_a_page(method));
        }
        connected.admit(method, session, target.as_deref(), timeout).await?;
        let session_target = session.and_then(|session| connected.target_named(session));
        let request =
            Request { method, params: &params, target: session_target.as_deref(), has_session: session.is_some() };
        // Checked before a session is attached: some pages may only be left or closed.
        let facts = self.facts(connected);
        policy::check(request, &facts)?;
        let is_refused = |target: &String| matches!(facts.access(target), TargetAccess::Refused(_));
        if let Some(target) = session_target.as_ref().filter(|target| is_refused(target)) {
            return leave(connected, target, method, params, timeout).await;
        }
        let session = match session {
            Some(session) => Some(connected.resolve(session, timeout).await?),
            None => None,
        };
        if let Some(Attached { raw, target }) = &session {
            if let Some(obstacle) =
                connected.targets.obstacle(raw, method).filter(|obstacle| !dialogs.tolerates(obstacle))
            {
                return Err(obstacle);
            }
            if let Some(target) = target {
                connected.targets.used(target);
            }
            if loads_a_page(method) {
                connected.targets.raise_floor(raw, connected.connection.events().cursor());
            }
        }
        if let (Some(Attached { raw, .. }), RESUME) = (&session, method) {
            connected.targets.resumed(raw);
        }
        let attached_target = session.as_ref().and_then(|session| session.target.as_deref());
        let navigation = Navigation::of(connected, method, &params, attached_target);
        #[cfg(feature = "test-walls")]
        stop_before(&params);
        let prepared = Prepared { method, params, target: target.as_deref(), timeout, dialogs, place };
        let answer = self.dispatch(connected, session.as_ref(), prepared).await;
        let shown = navigation.as_ref().map(|_| answer.as_ref().map(json_of).map_err(Clone::clone));
        if let (Some(navigation), Some(shown)) = (&navigation, &shown) {
            navigation.record_answer(connected, shown);
        }
        let mut answer = answer?;
        connected.note_success(method, session.as_ref());
        if let (Some(navigation), Some(Ok(shown))) = (&navigation, &shown) {
            let raw = session.as_ref().map(|session| session.raw.as_str());
            if let Some(explained) = navigation.answer_from_proxy(connected, raw, shown).await? {
                answer = explained.into();
            }
        }
        if let Some(Attached { raw, .. }) = session.filter(|_| method != RESUME) {
            // The browser reports where a page navigated before it answers a command sent to it.
            connected.still_usable(&raw, method)?;
        }
        Ok(answer)
    }

    /// Sends an admitted command, by the function that its method needs.
    async fn dispatch(
        self: &Arc<Self>,
        connected: &Arc<ConnectedBrowser>,
        session: Option<&Attached>,
        command: Prepared<'_>,
    ) -> Result<Encoded, ErrorReport> {
        let Prepared { method, params, target, timeout, dialogs, place } = command;
        match session {
            _ if self.is_external() && matches!(method, "Target.createTarget" | "Target.createBrowserContext") => {
                let raw = session.map(|session| session.raw.as_str());
                let answer = self.create_owned(connected, method, params, raw, timeout).await;
                let answer = answer.unwrap_or_else(|error| Err(CdpError::Malformed { reason: error.to_string() }));
                answer.map(Encoded::from).map_err(|error| connected.map_error(error, method, raw, None))
            }
            Some(session) if method == "Page.captureScreenshot" => {
                connected.screenshot(session, params, timeout, dialogs).await
            }
            Some(session) if method == "Page.handleJavaScriptDialog" => {
                connected.answer_dialog(session, params, timeout).await
            }
            Some(session) if method == RESUME => {
                match connected.call_session(session, method, params, timeout, dialogs, place).await {
                    // The target resumed, and navigated to a page that is not for scripts.
                    Err(error) if error.code == ErrorCode::PolicyRefused => Ok(json!({}).into()),
                    answer => answer,
                }
            }
            Some(session) => connected.call_session(session, method, params, timeout, dialogs, place).await,
            None => connected.call_browser(method, params, target, timeout, place).await,
        }
    }

    /// The session that a script specifies, attached now if necessary, if the policy permits that.
    ///
    /// # Errors
    /// `POLICY_REFUSED`, `CDP_TARGET_CLOSED`, or `INVALID_ARGUMENT` if there is no such session.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn page_session(
        &self,
        connected: &Arc<ConnectedBrowser>,
        session: &str,
        timeout: Duration,
    ) -> Result<Attached, ErrorReport> {
        // A target that has not loaded yet can be attached to: the commands sent to it are checked one by one.
        connected.admit("Target.attachToTarget", Some(session), None, timeout).await?;
        if let Some(target) = connected.target_named(session) {
            let params = json!({ "targetId": target });
            let request =
                Request { method: "Target.attachToTarget", params: &params, target: None, has_session: false };
            policy::check(request, &self.facts(connected))?;
        }
        connected.resolve(session, timeout).await
    }

    /// Attaches to a page for a script: to the given target, or to the first page that the script may use.
    ///
    /// # Errors
    /// As [`Self::page_session`], and `CDP_TARGET_CLOSED` when there is no page.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn attach(
        &self,
        connected: &Arc<ConnectedBrowser>,
        target: Option<&str>,
        timeout: Duration,
    ) -> Result<Attached, ErrorReport> {
        connected.catch_up();
        let target = match target {
            Some(target) => target.strip_prefix(HANDLE).unwrap_or(target).to_owned(),
            None => self.first_page(connected)?,
        };
        let attached = self.page_session(connected, &format!("{HANDLE}{target}"), timeout).await?;
        connected.targets.used(&target);
        Ok(attached)
    }

    /// The default page: the first one that the script may use.
    fn first_page(&self, connected: &Arc<ConnectedBrowser>) -> Result<String, ErrorReport> {
        let facts = self.facts(connected);
        let mut pages = connected.targets.visible().into_iter().filter(|target| target.kind == "page");
        pages
            .find(|page| !facts.is_foreign(&page.id) && !matches!(facts.access(&page.id), TargetAccess::Refused(_)))
            .map(|page| page.id)
            .ok_or_else(|| {
                ErrorReport::new(ErrorCode::CdpTargetClosed, "there is no page to attach to")
                    .with_hint("Open one: const {targetId} = await ⟦send \"Target.createTarget\", {url}⟧.")
            })
    }
}

/// Navigates a tab away from a page that is not for scripts, or closes it. Nothing else is permitted there.
async fn leave(
    connected: &ConnectedBrowser,
    target: &str,
    method: &str,
    params: Json,
    timeout: Duration,
) -> Result<Encoded, ErrorReport> {
    let navigation = Navigation::of(connected, method, &params, Some(target));
    let answer = connected.leave(target, method, params, timeout).await;
    if let Some(navigation) = navigation {
        navigation.record_answer(connected, &answer);
        if let Some(explained) =
            navigation.answer_from_proxy(connected, None, answer.as_ref().unwrap_or(&Json::Null)).await?
        {
            return Ok(explained.into());
        }
    }
    answer.map(Encoded::from)
}

/// Stops this process between the check of the lease and the write, as a scheduler may do. The test resumes it.
#[cfg(feature = "test-walls")]
fn stop_before(params: &Json) {
    use std::sync::LazyLock;
    static STOPS: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("CODEMODE_TEST_STOP_BEFORE").ok());
    let is_meant = |words: &String| params["url"].as_str().is_some_and(|url| url.ends_with(words));
    if STOPS.as_ref().is_some_and(is_meant) {
        // The signal reaches one thread first, and this one only later: wait for it here.
        const STOP: &str =
            "kill -STOP $PPID; for turn in $(seq 200); do grep -q ') T' /proc/$PPID/stat && exit; done; true";
        let stopped = std::process::Command::new("sh").args(["-c", STOP]).status();
        assert!(stopped.is_ok_and(|status| status.success()), "a test must be able to stop its process");
    }
}

/// A small answer as JSON, to read its fields.
fn json_of(answer: &Encoded) -> Json {
    answer.value().ok().and_then(|value| value.to_plain_json()).unwrap_or_default()
}
