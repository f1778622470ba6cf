//! A page that a verb addresses, and the commands that are sent to it.

use crate::{
    background::command,
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

/// The time that a command may take beyond the verb's own timeout: the page ends a wait by itself, with a better error.
pub(crate) const GRACE: Duration = Duration::from_millis(1_000);

/// The size from which answers are weighed before they are decoded, and decoded one at a time.
pub(crate) const LARGE_ANSWER_BYTES: usize = 128 << 10;

/// A page, for the duration of one verb. The verbs are its methods. Each may be dropped at any time: effects that it
/// has begun in the page continue there.
pub struct Tab<'v> {
    pub(crate) verbs: &'v Verbs,
    pub(crate) browser: Arc<ConnectedBrowser>,
    /// The page's target.
    pub(crate) id: String,
    /// The verb's timeout, for messages.
    pub(crate) timeout: Duration,
    /// The verb's deadline.
    pub(crate) deadline: Instant,
    warnings: Mutex<Vec<String>>,
    /// The permit to hold a large answer, once it is acquired.
    large: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Verbs {
    /// The page that a verb addresses, for the duration of the verb.
    ///
    /// # Errors
    /// `CDP_TARGET_CLOSED` or `INVALID_ARGUMENT` if there is no such page, and the errors of opening the browser.
    pub async fn tab(&self, address: &Address, deadline: Instant) -> Result<Tab<'_>, ErrorReport> {
        let browser = self.connected(deadline).await?;
        let (timeout, deadline) = time_for(address.timeout_ms, deadline)?;
        browser.catch_up();
        let tab = Tab::new(self, browser, address.page.clone(), timeout, deadline);
        if address.page.is_empty() {
            return Err(reports::invalid("page must name a page")
                .with_hint("Open one first: const page = await browser.open(url)."));
        }
        tab.watch_dialogs().await?;
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

    /// Adds a warning about how the verb was executed.
    pub(crate) fn warn(&self, warning: String) {
        self.verbs.note(&warning);
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Takes the warnings about how the verb was executed.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The time until the verb's deadline.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Sends a command to the page.
    pub(crate) async fn send(&self, method: &str, params: Json) -> Result<Json, ErrorReport> {
        self.send_to(&self.id, method, params).await
    }

    /// Sends a command to the page or to one of its out-of-process frames.
    ///
    /// # Errors
    /// Those of the shared browser; `CALL_TIMEOUT` names the command that was not answered.
    pub(crate) async fn send_to(&self, target: &str, method: &str, params: Json) -> Result<Json, ErrorReport> {
        let answer = self.command(Some(&format!("{HANDLE}{target}")), method, params).await?;
        self.read_json(method, answer).await
    }

    /// As [`Self::send_to`], but decodes the answer into a type, so that memory is used only for the requested fields.
    pub(crate) async fn send_typed<T: DeserializeOwned>(
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
            // The end of the session may be reported before the page's own: for a verb both mean a closed page.
            ErrorCode::CdpTargetClosed if session.is_some_and(|session| session.ends_with(&self.id)) => {
                closed(&self.id)
            }
            _ => error,
        })
    }

    /// Decodes an answer as JSON, if it is not too large in memory.
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

    /// Decodes an answer. An execution holds one large answer in memory at a time.
    async fn read_answer<T: DeserializeOwned>(&self, method: &str, answer: Encoded) -> Result<T, ErrorReport> {
        if answer.0.len() > LARGE_ANSWER_BYTES {
            self.acquire_large_permit().await?;
        }
        value::read(&answer.0)
            .map_err(|error| ErrorReport::new(ErrorCode::CdpProtocolError, format!("{method}: {error}")))
    }

    /// Waits until no other verb holds a large answer. The permit is released when the verb ends.
    pub(crate) async fn acquire_large_permit(&self) -> Result<(), ErrorReport> {
        if self.large.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let place = Arc::clone(&self.verbs.large).acquire_owned();
        let place = tokio::time::timeout(self.left() + GRACE, place).await;
        let Ok(Ok(place)) = place else { return Err(self.too_late("the large answer of another call")) };
        *self.large.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        Ok(())
    }

    /// The error of a page that did not answer within the verb's timeout.
    pub(crate) fn unanswered(&self, method: &str) -> ErrorReport {
        self.browser.catch_up();
        let dialog = self.browser.targets.target(&self.id).and_then(|target| target.dialog);
        reports::unanswered(method, dialog.as_ref(), self.timeout)
    }

    /// The error of a wait, for something other than an element, that timed out.
    pub(crate) fn too_late(&self, waiting_for: &str) -> ErrorReport {
        reports::too_late(waiting_for, self.timeout)
    }

    /// Translates an answer of the in-page engine to an error, if it is a refusal. `waiting_for` describes the target.
    pub(crate) fn refusal(&self, answer: &Json, waiting_for: &str) -> Option<ErrorReport> {
        reports::refusal(answer, self.timeout, waiting_for)
    }

    /// The number of the next event: the consequences of a verb come after it.
    pub(crate) fn cursor(&self) -> u64 {
        self.browser.events().cursor()
    }

    /// Subscribes to the events of a domain, once.
    pub(crate) async fn subscribe(&self, event: &str) -> Result<(), ErrorReport> {
        let attached = self.verbs.browser.attach(&self.browser, Some(&self.id), self.left() + GRACE).await?;
        self.browser.subscribe(event, Some(&attached), self.left() + GRACE).await
    }

    /// The page's raw protocol session id, which its events carry.
    pub(crate) async fn session(&self) -> Result<String, ErrorReport> {
        Ok(self.verbs.browser.attach(&self.browser, Some(&self.id), self.left() + GRACE).await?.raw)
    }

    /// The page's URL, as last reported by the browser.
    #[must_use]
    pub fn url(&self) -> String {
        self.browser.catch_up();
        self.browser.targets.target(&self.id).map(|target| target.url).unwrap_or_default()
    }

    /// Changes or reads the keys and buttons that are held down in the page.
    pub(crate) fn with_held<T>(&self, change: impl FnOnce(&mut Held) -> T) -> T {
        let mut held = self.verbs.held();
        if held.len() >= PAGE_STATES_MAX && !held.contains_key(&self.id) {
            // A page without an entry has nothing held down, so such entries can be dropped.
            held.retain(|_, held| held.buttons != 0 || held.modifiers != 0 || !held.keys.is_empty());
        }
        change(held.entry(self.id.clone()).or_default())
    }
}

/// A verb's timeout, for messages, and its deadline, which is never later than the execution's.
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
