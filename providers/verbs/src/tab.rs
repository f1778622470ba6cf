//! A page that a verb addresses, and the commands that are sent to it.

use crate::{
    beside::command,
    reports,
    verbs::{Address, Held, Verbs},
};
use codemode_page::{ConnectedBrowser, HANDLE, closed};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{PAGE_STATES_MAX, VERB_ANSWER_WEIGHT_MAX, VERB_TIMEOUT_MS},
    message::Encoded,
    value,
};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

/// How long a command may take beyond the verb's own time: the page ends a wait by itself, and says what for.
pub(crate) const GRACE: Duration = Duration::from_millis(1_000);

/// Answers beyond this are weighed, and read one at a time.
pub(crate) const LARGE_ANSWER_BYTES: usize = 128 << 10;

/// A page, for the time of one verb. The verbs are its methods; each may be dropped at any time: what it has begun in the
/// page goes on there.
pub struct Tab<'v> {
    pub(crate) verbs: &'v Verbs,
    pub(crate) browser: Arc<ConnectedBrowser>,
    /// The page's target.
    pub(crate) id: String,
    /// How long the verb may take, for messages.
    pub(crate) timeout: Duration,
    /// When its time is over.
    pub(crate) deadline: Instant,
    warnings: Mutex<Vec<String>>,
    /// The place for a large answer, when the verb has one.
    large: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Verbs {
    /// The page that a verb is about, for the time of the verb.
    ///
    /// # Errors
    /// `CDP_TARGET_CLOSED` or `INVALID_ARGUMENT` if there is no such page, and what keeps the browser from being opened.
    pub async fn tab(&self, address: &Address, deadline: Instant) -> Result<Tab<'_>, ErrorReport> {
        let browser = self.connected(deadline).await?;
        let (timeout, deadline) = time_for(address.timeout_ms, deadline)?;
        browser.catch_up();
        let tab = Tab::new(self, browser, address.page.clone(), timeout, deadline);
        if address.page.is_empty() {
            return Err(reports::invalid("page must name a page")
                .with_hint("Open one first: const page = await browser.open(url)."));
        }
        tab.look_after_dialogs().await?;
        Ok(tab)
    }
}

impl<'v> Tab<'v> {
    pub(crate) fn new(
        verbs: &'v Verbs,
        browser: Arc<ConnectedBrowser>,
        id: String,
        timeout: Duration,
        deadline: Instant,
    ) -> Self {
        Self { verbs, browser, id, timeout, deadline, warnings: Mutex::default(), large: Mutex::default() }
    }

    /// What the caller should know of how the verb was carried out.
    pub(crate) fn warn(&self, warning: String) {
        self.verbs.note(&warning);
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// What the caller should know of how the verb was carried out: told once.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The time that the verb has left.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Sends a command to the page.
    pub(crate) async fn send(&self, method: &str, params: Json) -> Result<Json, ErrorReport> {
        self.send_to(&self.id, method, params).await
    }

    /// Sends a command to the page, or to a frame of it that has a process of its own.
    ///
    /// # Errors
    /// Those of the shared browser; `CALL_TIMEOUT` names what the verb waited for.
    pub(crate) async fn send_to(&self, target: &str, method: &str, params: Json) -> Result<Json, ErrorReport> {
        let answer = self.command(Some(&format!("{HANDLE}{target}")), method, params).await?;
        self.read_json(method, answer).await
    }

    /// The same, with the answer as a type, which takes no more memory than what it asks for.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        target: &str,
        method: &str,
        params: Json,
    ) -> Result<T, ErrorReport> {
        let answer = self.command(Some(&format!("{HANDLE}{target}")), method, params).await?;
        self.read_answer(method, answer).await
    }

    /// Sends a command to the browser as a whole.
    pub(crate) async fn send_to_browser(&self, method: &str, params: Json) -> Result<Json, ErrorReport> {
        let answer = self.command(None, method, params).await?;
        self.read_json(method, answer).await
    }

    async fn command(&self, session: Option<&str>, method: &str, params: Json) -> Result<Encoded, ErrorReport> {
        self.refuse_halted(method, &params)?;
        let command = command(session, method, params, self.left() + GRACE);
        self.verbs.browser.send(&self.browser, command).await.map_err(|error| match error.code {
            ErrorCode::CallTimeout => self.unanswered(method),
            // That its session ends may be told before the page's own end: for a verb both are that.
            ErrorCode::CdpTargetClosed if session.is_some_and(|session| session.ends_with(&self.id)) => {
                closed(&self.id)
            }
            _ => error,
        })
    }

    /// Reads an answer as JSON, if there is room for that.
    async fn read_json(&self, method: &str, answer: Encoded) -> Result<Json, ErrorReport> {
        if answer.0.len() > LARGE_ANSWER_BYTES {
            let weight = value::weigh(&answer.0)
                .map_err(|error| ErrorReport::new(ErrorCode::CdpProtocolError, format!("{method}: {error}")))?;
            if weight > VERB_ANSWER_WEIGHT_MAX {
                let message = format!(
                    "what the page answers takes {weight} bytes of memory, and may take {VERB_ANSWER_WEIGHT_MAX}"
                );
                return Err(ErrorReport::new(ErrorCode::ResultTooLarge, message)
                    .with_hint("Ask the page for less: filter and count in a function that is evaluated there."));
            }
        }
        self.read_answer(method, answer).await
    }

    /// Reads an answer as a type. A large one is read alone: an execution has one at a time in its memory.
    async fn read_answer<T: DeserializeOwned>(&self, method: &str, answer: Encoded) -> Result<T, ErrorReport> {
        if answer.0.len() > LARGE_ANSWER_BYTES {
            self.take_large_place().await?;
        }
        value::read(&answer.0)
            .map_err(|error| ErrorReport::new(ErrorCode::CdpProtocolError, format!("{method}: {error}")))
    }

    /// Waits until no other verb has a large answer; the place is given back when the verb has ended.
    pub(crate) async fn take_large_place(&self) -> Result<(), ErrorReport> {
        if self.large.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let place = Arc::clone(&self.verbs.large).acquire_owned();
        let place = tokio::time::timeout(self.left() + GRACE, place).await;
        let Ok(Ok(place)) = place else { return Err(self.too_late("the large answer of another call")) };
        *self.large.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        Ok(())
    }

    /// The report of a page that did not answer before the verb's time was over.
    pub(crate) fn unanswered(&self, method: &str) -> ErrorReport {
        self.browser.catch_up();
        let dialog = self.browser.targets.target(&self.id).and_then(|target| target.dialog);
        reports::unanswered(method, dialog.as_ref(), self.timeout)
    }

    /// The report of a wait for something else than an element that took all of the verb's time.
    pub(crate) fn too_late(&self, waiting_for: &str) -> ErrorReport {
        reports::too_late(waiting_for, self.timeout)
    }

    /// The report of what the page's engine answered, if that is a failure. `waiting_for` describes the target.
    pub(crate) fn refusal(&self, answer: &Json, waiting_for: &str) -> Option<ErrorReport> {
        reports::refusal(answer, self.timeout, waiting_for)
    }

    /// The number of the next event: what a verb brings about comes after it.
    pub(crate) fn cursor(&self) -> u64 {
        self.browser.events().cursor()
    }

    /// Asks the page for the events of a domain, once.
    pub(crate) async fn subscribe(&self, event: &str) -> Result<(), ErrorReport> {
        let attached = self.verbs.browser.attach(&self.browser, Some(&self.id), self.left() + GRACE).await?;
        self.browser.subscribe(event, Some(&attached), self.left() + GRACE).await
    }

    /// The page's raw session, by which its events are known.
    pub(crate) async fn session(&self) -> Result<String, ErrorReport> {
        Ok(self.verbs.browser.attach(&self.browser, Some(&self.id), self.left() + GRACE).await?.raw)
    }

    /// The address that the page shows, as far as the browser has told.
    #[must_use]
    pub fn url(&self) -> String {
        self.browser.catch_up();
        self.browser.targets.target(&self.id).map(|target| target.url).unwrap_or_default()
    }

    /// What is held down in the page.
    pub(crate) fn with_held<T>(&self, change: impl FnOnce(&mut Held) -> T) -> T {
        let mut held = self.verbs.held();
        if held.len() >= PAGE_STATES_MAX && !held.contains_key(&self.id) {
            // A page of which nothing is known has nothing held down.
            held.retain(|_, held| held.buttons != 0 || held.modifiers != 0 || !held.keys.is_empty());
        }
        change(held.entry(self.id.clone()).or_default())
    }
}

/// A verb's own time, for messages, and when it is over: never later than the execution.
pub(crate) fn time_for(timeout_ms: Option<f64>, deadline: Instant) -> Result<(Duration, Instant), ErrorReport> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = match timeout_ms {
        None => Duration::from_millis(VERB_TIMEOUT_MS).min(left),
        Some(0.0) => left,
        Some(ms) if ms > 0.0 => Duration::from_secs_f64((ms / 1_000.0).min(left.as_secs_f64())),
        Some(ms) => return Err(ErrorReport::new(ErrorCode::InvalidArgument, format!("timeout is {ms}, not a time"))),
    };
    Ok((timeout, Instant::now() + timeout))
}
