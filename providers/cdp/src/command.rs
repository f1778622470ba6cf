//! Sending a command: checked before it is sent, never left hanging, its failure explained.

use crate::{
    browser::gone,
    live::Live,
    navigation::Navigation,
    policy::{self, Holdings as _, Request, Standing, is_of_a_page},
    runtime::CdpRuntime,
    session::Attached,
    targets::{BROWSER, closed, loads_a_page, short},
};
use codemode_chromium::{CdpError, Command, Event, Protocol};
use codemode_provider::ArgumentsPlace;
use codemode_spec::{ErrorCode, ErrorReport, message::Encoded};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;

/// A picture that is not taken after this time was asked of a tab that is not in front any more.
const PICTURE_AGAIN_AFTER: Duration = Duration::from_millis(1_500);

/// Has a target go on that stood still for its debugger.
const GO_ON: &str = "Runtime.runIfWaitingForDebugger";
/// How Chromium answers what was under way in a page that has gone elsewhere.
const LEFT_BEHIND: &str = "Inspected target navigated";

/// How long it may take until the browser tells where the page went.
const WHERE_IT_WENT_MAX: Duration = Duration::from_millis(500);

/// A command as a script gives it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandCall {
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) params: Map<String, Json>,
    #[serde(flatten)]
    pub(crate) options: CommandOptions,
}

/// Where a command goes and how long it may take.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CommandOptions {
    pub(crate) session_id: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
}

impl CdpRuntime {
    /// Sends a command and returns what the browser answers.
    pub(crate) async fn send(
        &self,
        call: CommandCall,
        place: ArgumentsPlace,
        deadline: Instant,
    ) -> Result<Encoded, ErrorReport> {
        let mut entry = self.debug_log.begin(&call.method, call.options.session_id.as_deref());
        let result = self.send_checked(&call.method, call.params, &call.options, place, deadline).await;
        entry.outcome = result.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
        result
    }

    async fn send_checked(
        &self,
        method: &str,
        mut params: Map<String, Json>,
        options: &CommandOptions,
        place: ArgumentsPlace,
        deadline: Instant,
    ) -> Result<Encoded, ErrorReport> {
        check_length(method)?;
        let live = self.slot.live(deadline).await?;
        let timeout = time_for(options.timeout_ms, deadline);
        live.catch_up();
        if let Some(protocol) = live.protocol() {
            check(protocol, method, &params, options.session_id.is_some())?;
        }
        if matches!(method, "Target.attachToTarget" | "Target.setAutoAttach") {
            // The protocol's default is the old way, which this connection does not speak.
            params.entry("flatten").or_insert(Json::Bool(true));
        }
        if policy::stands() {
            policy::guard(method, &mut params);
        }
        let params = Json::Object(params);
        let target = params.get("targetId").and_then(Json::as_str).map(str::to_owned);
        if options.session_id.is_none() && is_of_a_page(method) {
            return Err(needs_a_page(method));
        }
        live.enter(method, options.session_id.as_deref(), target.as_deref(), timeout).await?;
        let meant = options.session_id.as_deref().and_then(|session| live.target_named(session));
        let request =
            Request { method, params: &params, target: meant.as_deref(), has_session: options.session_id.is_some() };
        // Before a session is attached: some pages are only there to be left.
        let holdings = self.slot.holdings(&live);
        policy::check(request, &holdings)?;
        let is_refused = |target: &String| matches!(holdings.standing(target), Standing::Refused(_));
        if let Some(target) = meant.as_ref().filter(|target| is_refused(target)) {
            let navigation = Navigation::of(&live, method, &params, Some(target));
            let answer = live.leave(target, method, params, timeout).await;
            if let Some(navigation) = navigation {
                navigation.answered(&live, &answer);
                navigation.check(&live, None, answer.as_ref().unwrap_or(&Json::Null)).await?;
            }
            return answer.map(Encoded::from);
        }
        let session = match &options.session_id {
            Some(session) => Some(live.resolve(session, timeout).await?),
            None => None,
        };
        if let Some(Attached { raw, target }) = &session {
            if let Some(obstacle) = live.targets.obstacle(raw, method) {
                return Err(obstacle);
            }
            if let Some(target) = target {
                live.targets.used(target);
            }
            if loads_a_page(method) {
                live.targets.raise_floor(raw, live.connection.events().cursor());
            }
        }
        if let (Some(Attached { raw, .. }), GO_ON) = (&session, method) {
            live.targets.goes_on(raw);
        }
        let of_session = session.as_ref().and_then(|session| session.target.as_deref());
        let navigation = Navigation::of(&live, method, &params, of_session);
        #[cfg(feature = "test-walls")]
        stop_before(&params);
        let answer = match &session {
            _ if self.slot.is_external() && matches!(method, "Target.createTarget" | "Target.createBrowserContext") => {
                let raw = session.as_ref().map(|session| session.raw.as_str());
                let answer = self.slot.making(&live, method, params, raw, timeout).await;
                let answer = answer.unwrap_or_else(|error| Err(CdpError::Malformed { reason: error.to_string() }));
                answer.map(Encoded::from).map_err(|error| live.explain(error, method, raw, None))
            }
            Some(session) if method == "Page.captureScreenshot" => live.picture(session, params, timeout).await,
            Some(session) if method == "Page.handleJavaScriptDialog" => {
                live.answer_dialog(session, params, timeout).await
            }
            Some(session) if method == GO_ON => match live.deliver(session, method, params, timeout, place).await {
                // It went on, to where the script cannot follow.
                Err(error) if error.code == ErrorCode::PolicyRefused => Ok(json!({}).into()),
                answer => answer,
            },
            Some(session) => live.deliver(session, method, params, timeout, place).await,
            None => live.ask_browser(method, params, target.as_deref(), timeout, place).await,
        };
        let shown = navigation.as_ref().map(|_| answer.as_ref().map(json_of).map_err(Clone::clone));
        if let (Some(navigation), Some(shown)) = (&navigation, &shown) {
            navigation.answered(&live, shown);
        }
        let answer = answer?;
        live.take_note(method, session.as_ref());
        if let (Some(navigation), Some(Ok(shown))) = (&navigation, &shown) {
            navigation.check(&live, session.as_ref().map(|session| session.raw.as_str()), shown).await?;
        }
        if let Some(Attached { raw, .. }) = session.filter(|_| method != GO_ON) {
            // The browser tells where a page went before it answers what was sent there.
            live.still_usable(&raw, method)?;
        }
        Ok(answer)
    }

    /// The session that a script means, if the policy lets it have that.
    pub(crate) async fn session(
        &self,
        live: &Arc<Live>,
        session: &str,
        timeout: Duration,
    ) -> Result<Attached, ErrorReport> {
        // Attached to is also what has yet to load: what it takes then is judged by itself.
        live.enter("Target.attachToTarget", Some(session), None, timeout).await?;
        if let Some(target) = live.target_named(session) {
            let params = serde_json::json!({ "targetId": target });
            let request =
                Request { method: "Target.attachToTarget", params: &params, target: None, has_session: false };
            policy::check(request, &self.slot.holdings(live))?;
        }
        live.resolve(session, timeout).await
    }
}

/// Stops this process, as a scheduler may do it: between its look at the lease and its write. Others let it go on.
#[cfg(feature = "test-walls")]
fn stop_before(params: &Json) {
    let is_meant = |words: String| params["url"].as_str().is_some_and(|url| url.ends_with(&words));
    if std::env::var("CODEMODE_TEST_STOP_BEFORE").is_ok_and(is_meant) {
        // The signal meets one thread, and this one only after that: it is waited for here.
        const STOP: &str =
            "kill -STOP $PPID; for turn in $(seq 200); do grep -q ') T' /proc/$PPID/stat && exit; done; true";
        let stopped = std::process::Command::new("sh").args(["-c", STOP]).status();
        assert!(stopped.is_ok_and(|status| status.success()), "a test must be able to stop its process");
    }
}

/// The time that a call may take: what the script says or the default, and never longer than the execution.
pub(crate) fn time_for(timeout_ms: Option<u64>, deadline: Instant) -> Duration {
    let asked = Duration::from_millis(timeout_ms.unwrap_or(codemode_spec::limits::CALL_TIMEOUT_MS_DEFAULT));
    asked.min(deadline.saturating_duration_since(Instant::now()))
}

/// Refuses what cannot be a name: names go into messages.
pub(crate) fn check_length(name: &str) -> Result<(), ErrorReport> {
    const NAME_BYTES_MAX: usize = 200;
    if name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(ErrorReport::new(ErrorCode::UnknownMethod, format!("the protocol has nothing named {:?}", short(name)))
        .with_hint("cdp.spec() lists all commands and events."))
}

fn check(protocol: &Protocol, method: &str, params: &Map<String, Json>, has_session: bool) -> Result<(), ErrorReport> {
    let Some(command) = protocol.command(method) else { return Err(unknown(protocol, method)) };
    if !has_session && is_of_a_page(method) {
        return Err(needs_a_page(method));
    }
    let faults = protocol.check(method, params);
    if faults.is_empty() {
        return Ok(());
    }
    let misplaced = ["sessionId", "timeoutMs"]
        .into_iter()
        .find(|name| params.contains_key(*name) && !command.parameters.iter().any(|parameter| parameter.name == *name));
    let hint = match misplaced {
        Some(name) => format!("{name} is not a parameter of the command: cdp.send(\"{method}\", params, {{{name}}})."),
        None => format!("cdp.spec(\"{method}\") says what it takes."),
    };
    Err(ErrorReport::new(ErrorCode::InvalidArgument, format!("{method}: {}", faults.join("; ")))
        .with_hint(hint)
        .with_detail("faults", faults))
}

fn unknown(protocol: &Protocol, method: &str) -> ErrorReport {
    let shown = short(method);
    if protocol.event(method).is_some() {
        return ErrorReport::new(ErrorCode::UnknownMethod, format!("{shown} is an event, not a command"))
            .with_hint(format!("Wait for it: await cdp.waitForEvent(\"{shown}\", {{sessionId}})."));
    }
    let search = shown.rsplit('.').next().unwrap_or(&shown);
    let hint = match protocol.nearest_command(method) {
        Some(near) => format!("Did you mean {near}? cdp.spec({{search: \"{search}\"}}) finds others."),
        None => "cdp.spec() lists all commands; cdp.spec({search: \"word\"}) finds them by words.".to_owned(),
    };
    ErrorReport::new(ErrorCode::UnknownMethod, format!("the browser has no command {shown}")).with_hint(hint)
}

fn needs_a_page(method: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, format!("{method} is a command of a page and needs a sessionId"))
        .with_hint(format!(
            "const sessionId = await cdp.attachToTarget(); await cdp.send(\"{method}\", params, {{sessionId}})."
        ))
}

/// A small answer, to be looked into.
fn json_of(answer: &Encoded) -> Json {
    answer.value().ok().and_then(|value| value.to_plain_json()).unwrap_or_default()
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

impl Live {
    /// Leaves a page of the browser's own, or ends it. The script has no session there, not for a moment: the host
    /// attaches one of its own for the one command.
    async fn leave(&self, target: &str, method: &str, params: Json, timeout: Duration) -> Result<Json, ErrorReport> {
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
                let entered = self.targets.host_enters(target);
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
                drop(entered);
                answer
            }
        };
        let answer = answer.map_err(|error| self.explain(error, method, None, Some(target)))?;
        if method == "Page.navigate" && answer.get("errorText").is_none() {
            self.targets.was_sent_elsewhere(target);
        }
        // The next command is judged by where the tab is now, of which Chromium tells only later.
        self.refresh().await;
        Ok(if matches!(method, "Page.close" | "Page.bringToFront") { json!({}) } else { answer })
    }

    /// Sends a command to a session and waits for its answer, or for what keeps it from coming.
    async fn deliver(
        &self,
        session: &Attached,
        method: &str,
        params: Json,
        timeout: Duration,
        place: ArgumentsPlace,
    ) -> Result<Encoded, ErrorReport> {
        let raw = session.raw.as_str();
        // The first command of a session that the script attached itself is preceded by a request for its dialogs. It
        // is not waited for: commands of one session are carried out in order.
        let mut watching = Watching { live: self, raw, pending: self.targets.watch(raw) };
        let command = Command { method: "Page.enable", params: Json::Null, session: Some(raw), timeout };
        let mut ahead = pin!(self.connection.call(command));
        let command = Command { method, params, session: Some(raw), timeout };
        let mut answer = pin!(self.connection.ask_with(command, place));
        let mut obstructed = pin!(self.obstructed(raw, method));
        loop {
            tokio::select! {
                biased;
                _ = &mut ahead, if watching.pending => watching.pending = false,
                answer = &mut answer => {
                    // `Page.close` may end its own session before it is answered.
                    if matches!(answer, Err(CdpError::Detached { .. })) && method == "Page.close" {
                        return Ok(json!({}).into());
                    }
                    let target = session.target.as_deref();
                    if let Err(CdpError::Protocol { message, .. }) = &answer
                        && message.starts_with(LEFT_BEHIND)
                    {
                        self.hear_where_it_went(session).await;
                    }
                    return answer.map_err(|error| self.explain(error, method, Some(raw), target));
                }
                obstacle = &mut obstructed => return Err(obstacle),
            }
        }
    }

    /// Waits for what the browser tells of a page that has gone elsewhere: it says that the page has left before it says
    /// where to, which decides what its calls end with.
    async fn hear_where_it_went(&self, session: &Attached) {
        let from = self.connection.events().cursor();
        self.catch_up();
        let target = session.target.as_deref();
        let tells = |event: &Event| {
            let told = event.params.get("targetId").or_else(|| event.params.pointer("/targetInfo/targetId"));
            matches!(event.method.as_str(), "Target.targetInfoChanged" | "Target.targetDestroyed")
                && told.and_then(Json::as_str) == target
        };
        if self.targets.refusal(&session.raw, GO_ON).is_none() {
            let _ = tokio::time::timeout(WHERE_IT_WENT_MAX, self.connection.events().wait(from, &tells)).await;
        }
    }

    /// Answers a dialog. That of a popup may have been there before the script attached to it: then Chromium takes the
    /// answer only from whoever saw it open.
    async fn answer_dialog(&self, session: &Attached, params: Json, timeout: Duration) -> Result<Encoded, ErrorReport> {
        const METHOD: &str = "Page.handleJavaScriptDialog";
        let answer = self.deliver(session, METHOD, params.clone(), timeout, ArgumentsPlace::default()).await;
        if let (Err(error), Some(target), Some(popups)) = (&answer, &session.target, self.popups())
            && error.message.ends_with("No dialog is showing")
            && let Some(Ok(answer)) = popups.answer(target, params, timeout).await
        {
            return Ok(answer.into());
        }
        answer
    }

    /// Takes a picture of a tab, which Chromium does only of the tab in front.
    async fn picture(&self, session: &Attached, params: Json, timeout: Duration) -> Result<Encoded, ErrorReport> {
        const METHOD: &str = "Page.captureScreenshot";
        let raw = session.raw.as_str();
        let bring_to_front = async || {
            // Not every target can be brought to front; the picture's own answer tells.
            let command = Command { method: "Page.bringToFront", params: Json::Null, session: Some(raw), timeout };
            let _ = self.connection.call(command).await;
        };
        let taken = async {
            let _turn = self.shooting.lock().await;
            bring_to_front().await;
            let mut picture = pin!(self.deliver(session, METHOD, params, timeout, ArgumentsPlace::default()));
            loop {
                tokio::select! {
                    biased;
                    picture = &mut picture => return picture,
                    // A tab that opened meanwhile took the front: a picture under way goes on when it is back.
                    () = tokio::time::sleep(PICTURE_AGAIN_AFTER) => bring_to_front().await,
                }
            }
        };
        match tokio::time::timeout(timeout, taken).await {
            Ok(picture) => picture,
            Err(_) => {
                let error = CdpError::Timeout { method: METHOD.to_owned(), timeout };
                Err(self.explain(error, METHOD, Some(raw), session.target.as_deref()))
            }
        }
    }

    /// Sends a command to the browser as a whole and waits for its answer.
    async fn ask_browser(
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
    fn take_note(&self, method: &str, session: Option<&Attached>) {
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

    /// What a failure of the protocol means to the script.
    pub(crate) fn explain(
        &self,
        error: CdpError,
        method: &str,
        raw: Option<&str>,
        target: Option<&str>,
    ) -> ErrorReport {
        self.catch_up();
        if let Some(refusal) = raw.and_then(|raw| self.targets.refusal(raw, method)) {
            return refusal;
        }
        match error {
            CdpError::Protocol { code, message, data } => self.refused(method, raw, target, code, &message, data),
            CdpError::Timeout { timeout, .. } => self.too_late(method, timeout),
            CdpError::Detached { session, .. } => {
                let obstacle = self.targets.obstacle(&session, method);
                let gone = target.filter(|target| self.targets.was_closed(target)).map(closed);
                gone.or(obstacle).unwrap_or_else(|| crate::targets::detached(&session))
            }
            CdpError::Crashed { method, session } => {
                let report = self.targets.crash(&session);
                report.unwrap_or_else(|| CdpError::Crashed { method, session }.into())
            }
            CdpError::Closed { .. } if self.closed_by_script.load(Ordering::Relaxed) => gone("the script closed it"),
            CdpError::Closed { reason } => gone(&format!("{method} was not answered: {reason}")),
            error => {
                let mut report = ErrorReport::from(error);
                report.message = format!("{method}: {}", report.message);
                report
            }
        }
    }

    fn refused(
        &self,
        method: &str,
        raw: Option<&str>,
        target: Option<&str>,
        code: i64,
        message: &str,
        data: Option<Json>,
    ) -> ErrorReport {
        const METHOD_NOT_FOUND: i64 = -32_601;
        const SESSION_NOT_FOUND: i64 = -32_001;
        match (code, raw) {
            (METHOD_NOT_FOUND, None) => return needs_a_page(method),
            (METHOD_NOT_FOUND, Some(raw)) => {
                let kind = self.targets.target_of(raw).and_then(|target| self.targets.target(&target)).map(|t| t.kind);
                let kind = kind.unwrap_or_else(|| "unknown".to_owned());
                return ErrorReport::new(
                    ErrorCode::InvalidArgument,
                    format!("{method} does not exist for a target of the kind {kind}"),
                )
                .with_hint("Commands of the whole browser, as those of Browser and Target, take no sessionId.");
            }
            (SESSION_NOT_FOUND, Some(raw)) => {
                return target
                    .filter(|target| self.targets.was_closed(target))
                    .map_or_else(|| self.no_session(raw), closed);
            }
            (_, None) if message.contains("No target with given id") => {
                let target = target.unwrap_or_default();
                return if self.targets.was_closed(target) { closed(target) } else { self.no_target(target) };
            }
            _ => {}
        }
        let words = match data.as_ref().and_then(Json::as_str) {
            Some(data) => format!("{method}: {message} ({data})"),
            None => format!("{method}: {message}"),
        };
        let hint = if message.contains("browser target") {
            "Send it without sessionId.".to_owned()
        } else {
            format!("cdp.spec(\"{method}\") says what it takes and returns.")
        };
        ErrorReport::new(ErrorCode::CdpProtocolError, words).with_hint(hint).with_detail("cdpCode", code)
    }

    /// The report of a call that was not answered in time. A dialog of another page can be the reason: pages of one
    /// site may share a process, which stands still as a whole.
    pub(crate) fn too_late(&self, method: &str, timeout: Duration) -> ErrorReport {
        if let Some(page) = self.targets.with_dialog()
            && let Some(dialog) = &page.dialog
        {
            return dialog.report(&page.id, method);
        }
        let message = format!("{method} was not answered within {} ms", timeout.as_millis());
        ErrorReport::new(ErrorCode::CallTimeout, message).with_detail("timeoutMs", timeout.as_millis() as u64)
    }
}

/// A request for dialogs under way: if it is dropped before its answer, the next command asks again.
struct Watching<'a> {
    live: &'a Live,
    raw: &'a str,
    pending: bool,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if self.pending {
            self.live.targets.unwatch(self.raw);
        }
    }
}
