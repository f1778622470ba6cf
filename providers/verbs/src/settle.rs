//! After an input: waits for its consequences, as far as the page's events show them.

use crate::tab::Tab;
use codemode_page::Event;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// How long the document of a navigation that an input began may take to be parsed.
const NAVIGATION_MAX: Duration = Duration::from_secs(10);
/// How long the DOM must be unchanged to count as quiet.
const QUIET_MS: u64 = 100;
/// How long a page may take to become quiet.
const QUIET_MAX: Duration = Duration::from_secs(2);

/// What is waited for after an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Settle {
    /// A navigation that the input has begun: until its document is read.
    #[default]
    Navigation,
    /// That, and until the page's elements do not change any more.
    Quiet,
    /// Nothing.
    None,
}

impl Tab<'_> {
    /// Waits for the consequences of an input; `since` is the cursor before the input.
    ///
    /// # Errors
    /// When the page is closed. A wait that times out is not an error: the page continues on its own.
    pub(crate) async fn settle(&self, settle: Settle, since: u64) -> Result<(), ErrorReport> {
        if settle == Settle::None {
            return Ok(());
        }
        // The page answers this after it has handled the input, so that the events before the answer show what the
        // input began.
        let barrier = json!({"expression": "0", "returnByValue": true});
        let barrier = self.send("Runtime.evaluate", barrier).await;
        if self.is_closed() {
            return Ok(());
        }
        // A navigation may have discarded the answer, so an error does not matter.
        drop(barrier);
        let session = match self.session().await {
            // The input may have closed the page.
            Err(error) if error.code == ErrorCode::CdpTargetClosed => return Ok(()),
            session => session?,
        };
        let begins = |event: &Event| is_of(event, &session, &self.id) && begins_navigation(event);
        if !self.browser.events().since(since, 1, &begins).events.is_empty() {
            let ends = |event: &Event| is_of(event, &session, &self.id) && ends_navigation(event);
            let ended = self.browser.events().wait(since, &ends);
            let _ = tokio::time::timeout(NAVIGATION_MAX.min(self.left()), ended).await;
        }
        if settle == Settle::Quiet {
            let timeout = QUIET_MAX.min(self.left()).as_millis() as u64;
            self.run(&self.main_frame(), "quiet", json!({"ms": QUIET_MS, "timeout": timeout}), None, false).await?;
        }
        Ok(())
    }

    /// Whether the page is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.browser.catch_up();
        self.browser.targets.target(&self.id).is_none()
    }
}

/// Whether an event is about the page's main frame.
pub(crate) fn is_of(event: &Event, session: &str, frame: &str) -> bool {
    event.session.as_deref() == Some(session)
        && [event.params.get("frameId"), event.params.pointer("/frame/id")]
            .into_iter()
            .flatten()
            .next()
            .is_none_or(|id| id == frame)
}

fn begins_navigation(event: &Event) -> bool {
    match event.method.as_str() {
        "Page.frameRequestedNavigation" => event.params["disposition"].as_str().is_none_or(|how| how == "currentTab"),
        // Navigations within a document load nothing.
        "Page.frameStartedNavigating" => {
            !event.params["navigationType"].as_str().is_some_and(|kind| kind.contains("ameDocument"))
        }
        "Page.frameNavigated" => true,
        _ => false,
    }
}

fn ends_navigation(event: &Event) -> bool {
    // Downloads, 204 responses and navigations refused by network rules end without a new document.
    matches!(event.method.as_str(), "Page.domContentEventFired" | "Page.frameStoppedLoading" | "Page.downloadWillBegin")
}

/// A string field of an event.
pub(crate) fn text<'e>(event: &'e Event, field: &str) -> &'e str {
    event.params.get(field).and_then(Json::as_str).unwrap_or_default()
}
