//! Opening pages, navigating them, and waiting until they are loaded.

use crate::{
    pattern::UrlPattern,
    settle::{is_of, text},
    tab::Tab,
    verbs::Verbs,
};
use codemode_page::{ConnectedBrowser, Event};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;

/// Chromium's error when a server requires credentials and none were provided.
const NO_CREDENTIALS: &str = "net::ERR_INVALID_AUTH_CREDENTIALS";
/// How long to wait for the browser to report a same-document navigation.
const MOVED_MAX: Duration = Duration::from_secs(1);

/// How far a page must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoadState {
    /// The new document has begun.
    Commit,
    /// The document is read.
    DomContentLoaded,
    /// What it refers to is loaded.
    #[default]
    Load,
    /// Nothing was loaded for half a second.
    NetworkIdle,
}

impl LoadState {
    /// Its name in `Page.lifecycleEvent`.
    const fn event(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::DomContentLoaded => "DOMContentLoaded",
            Self::Load => "load",
            Self::NetworkIdle => "networkIdle",
        }
    }
}

/// The server's response to a navigation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The URL of the response, after redirects.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// The status text.
    pub status_text: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The id of the request.
    pub request_id: String,
}

/// A page and its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageInfo {
    /// The page's id.
    pub page: String,
    /// Its URL.
    pub url: String,
    /// Its title, as last reported by the browser.
    pub title: String,
    /// The page that opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opener: Option<String>,
}

impl Verbs {
    /// Opens a page, and returns its id.
    ///
    /// # Errors
    /// The errors of opening the browser, and `POLICY_REFUSED`.
    ///
    /// # Cancellation
    /// May be dropped at any time; a page that was opened stays open until the browser closes.
    pub async fn open(&self, deadline: Instant) -> Result<String, ErrorReport> {
        let browser = self.connected(deadline).await?;
        let timeout = deadline.saturating_duration_since(Instant::now());
        if let Some(id) = self.unused_page(&browser) {
            Tab::new(self, browser, id.clone(), timeout, deadline).watch_dialogs().await?;
            return Ok(id);
        }
        let opener = Tab::new(self, Arc::clone(&browser), String::new(), timeout, deadline);
        let made = opener.send_to_browser("Target.createTarget", json!({"url": "about:blank"})).await?;
        let id = made["targetId"].as_str().unwrap_or_default().to_owned();
        Tab::new(self, browser, id.clone(), timeout, deadline).watch_dialogs().await?;
        Ok(id)
    }

    /// The blank page with which a new browser starts, if nothing has used it; returned once. It is taken only in a
    /// fresh browser: an `about:blank` page left by an earlier execution may have content or show a dialog.
    fn unused_page(&self, browser: &ConnectedBrowser) -> Option<String> {
        if self.browser.session_facts().is_none_or(|facts| !facts.fresh)
            || self.has_opened.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        browser.catch_up();
        let mut pages = browser.targets.visible().into_iter().filter(|target| target.kind == "page");
        let (first, second) = (pages.next()?, pages.next());
        let is_unused = first.url == "about:blank" && first.opener.is_none() && !browser.is_attached(&first.id);
        (second.is_none() && is_unused).then_some(first.id)
    }

    /// The existing pages, in the order in which they were opened.
    ///
    /// # Errors
    /// The errors of opening the browser.
    pub async fn pages(&self, deadline: Instant) -> Result<Vec<PageInfo>, ErrorReport> {
        let browser = self.connected(deadline).await?;
        browser.catch_up();
        browser.refresh().await;
        let pages = browser.targets.visible().into_iter().filter(|target| target.kind == "page");
        let pages = pages.filter(|page| !self.scratch_tabs.has(&page.id));
        Ok(pages
            .map(|page| PageInfo { page: page.id, url: page.url, title: page.title, opener: page.opener })
            .collect())
    }
}

impl Tab<'_> {
    /// Navigates the page to a URL and waits for the load state. `None` if no server was requested.
    pub async fn goto(
        &self,
        url: &str,
        referer: Option<&str>,
        until: LoadState,
    ) -> Result<Option<Response>, ErrorReport> {
        self.unhalt().await?;
        self.observe_loading().await?;
        let since = self.cursor();
        let mut params = json!({ "url": url });
        if let Some(referer) = referer {
            params["referrer"] = json!(referer);
        }
        let mut answer = self.navigate(url, params.clone()).await?;
        if answer["errorText"] == NO_CREDENTIALS && self.leaves_auth_to_browser() {
            // Navigate once more, declining to authenticate: the page then shows the server's response.
            answer = self.navigate_declining(self.navigate(url, params)).await?;
        }
        if let Some(why) = answer["errorText"].as_str() {
            return Err(navigation_error(url, why, &answer));
        }
        match answer["loaderId"].as_str() {
            // Events of an earlier navigation precede this answer.
            Some(loader) => {
                let answered = self.cursor();
                self.loaded(loader, until, since, answered).await.map_err(|error| in_navigation(error, url))
            }
            None => {
                self.wait_for_same_document_url(since).await;
                Ok(None)
            }
        }
    }

    async fn navigate(&self, url: &str, params: Json) -> Result<Json, ErrorReport> {
        self.send("Page.navigate", params).await.map_err(|error| match error.code {
            ErrorCode::CdpProtocolError => failed(url, &error.message),
            _ => error,
        })
    }

    /// Waits until the browser reports the new URL after a same-document navigation: the browser answers the command
    /// before that, and the next query would get the old URL.
    async fn wait_for_same_document_url(&self, since: u64) {
        let Ok(session) = self.session().await else { return };
        let moves = |event: &Event| is_of(event, &session, &self.id) && event.method == "Page.navigatedWithinDocument";
        let told = |event: &Event| {
            event.method == "Target.targetInfoChanged" && event.params["targetInfo"]["targetId"] == self.id.as_str()
        };
        let wait = async {
            let Some(event) = self.browser.events().wait(since, &moves).await else { return };
            let mut since = since;
            while self.url() != text(&event, "url") {
                match self.browser.events().wait(since, &told).await {
                    Some(event) => since = event.seq + 1,
                    None => return,
                }
            }
        };
        let _ = tokio::time::timeout(MOVED_MAX.min(self.left()), wait).await;
    }

    /// Navigates in the page's history, or reloads it (`delta` 0). `None` if there is no such entry.
    pub async fn history(&self, delta: i32, until: LoadState) -> Result<Option<Response>, ErrorReport> {
        self.unhalt().await?;
        self.observe_loading().await?;
        let since = self.cursor();
        if delta == 0 {
            self.send("Page.reload", json!({})).await?;
        } else {
            let history = self.send("Page.getNavigationHistory", json!({})).await?;
            let current = history["currentIndex"].as_i64().unwrap_or_default();
            let entry = usize::try_from(current + i64::from(delta)).ok().and_then(|at| history["entries"].get(at));
            let Some(entry) = entry else { return Ok(None) };
            self.send("Page.navigateToHistoryEntry", json!({"entryId": entry["id"]})).await?;
        }
        let session = self.session().await?;
        let arrived = |event: &Event| {
            is_of(event, &session, &self.id)
                && matches!(event.method.as_str(), "Page.frameNavigated" | "Page.navigatedWithinDocument")
        };
        let event = self.wait_for(since, &arrived, "the navigation").await?;
        match event.params["frame"]["loaderId"].as_str() {
            // A document restored from the back/forward cache was loaded before.
            Some(loader) if event.params["type"] == "BackForwardCacheRestore" => Ok(self.response_to(&session, loader)),
            Some(loader) => self.loaded(loader, until, since, event.seq + 1).await,
            None => {
                self.wait_for_same_document_url(since).await;
                Ok(None)
            }
        }
    }

    /// Waits for the load state; returns at once if the page has reached it.
    pub async fn wait_for_load(&self, until: LoadState) -> Result<(), ErrorReport> {
        self.observe_loading().await?;
        let tree = self.send("Page.getFrameTree", json!({})).await?;
        let loader = tree["frameTree"]["frame"]["loaderId"].as_str().unwrap_or_default();
        self.loaded(loader, until, 0, self.cursor()).await.map(drop)
    }

    /// Waits until the page's URL matches the pattern, and then for the load state.
    pub async fn wait_for_url(&self, pattern: &UrlPattern, until: LoadState) -> Result<(), ErrorReport> {
        self.observe_loading().await?;
        let session = self.session().await?;
        let moves = |event: &Event| {
            let is_told = event.method == "Target.targetInfoChanged"
                && event.params["targetInfo"]["targetId"] == self.id.as_str();
            is_told
                || event.session.as_deref() == Some(session.as_str()) && event.method == "Page.navigatedWithinDocument"
        };
        let base = self.url();
        let compiled = pattern.compiled(&base)?;
        loop {
            let since = self.cursor();
            let url = self.url();
            if compiled.matches(&url) {
                return self.wait_for_load(until).await;
            }
            let waiting_for = format!("the address {pattern}; the page is at {}", codemode_page::short(&url));
            self.wait_for(since, &moves, &waiting_for).await?;
        }
    }

    /// Subscribes to the events by which loading is followed.
    async fn observe_loading(&self) -> Result<(), ErrorReport> {
        let (loading, responses) =
            tokio::join!(self.subscribe("Page.lifecycleEvent"), self.subscribe("Network.responseReceived"));
        loading.and(responses)
    }

    /// Waits until a document reaches the load state, and returns the server's response. Its events come after `since`;
    /// another document that commits after `committed` replaces it.
    async fn loaded(
        &self,
        loader: &str,
        until: LoadState,
        since: u64,
        committed: u64,
    ) -> Result<Option<Response>, ErrorReport> {
        let session = self.session().await?;
        // Commit was reported before the caller could request the state.
        if until != LoadState::Commit {
            self.reached(&session, loader, until, since, committed).await?;
        }
        Ok(self.response_to(&session, loader))
    }

    /// The server's response to the request for a document, if still in the event log; `None` if no server was
    /// requested.
    fn response_to(&self, session: &str, loader: &str) -> Option<Response> {
        let answers = |event: &Event| {
            event.session.as_deref() == Some(session)
                && event.method == "Network.responseReceived"
                && text(event, "requestId") == loader
        };
        let answer = self.browser.events().last(&answers).map(|event| response(&event));
        answer.filter(|response| !response.url.starts_with("data:"))
    }

    async fn reached(
        &self,
        session: &str,
        loader: &str,
        until: LoadState,
        since: u64,
        committed: u64,
    ) -> Result<(), ErrorReport> {
        let has_come = |event: &Event| {
            is_of(event, session, &self.id)
                && match event.method.as_str() {
                    "Page.lifecycleEvent" => text(event, "loaderId") == loader && text(event, "name") == until.event(),
                    // Another document has replaced it.
                    "Page.frameNavigated" => event.seq >= committed && event.params["frame"]["loaderId"] != loader,
                    _ => false,
                }
        };
        let waiting_for = format!("the page to reach {:?}", until.event());
        let event = self.wait_for(since, &has_come, &waiting_for).await?;
        if event.method == "Page.frameNavigated" {
            let message = "Navigation is interrupted by another one";
            return Err(ErrorReport::new(ErrorCode::NavigationFailed, message));
        }
        Ok(())
    }

    /// Waits for an event, starting at a cursor.
    ///
    /// # Errors
    /// `CALL_TIMEOUT`, or the reason why no more events can come.
    pub(crate) async fn wait_for(
        &self,
        since: u64,
        matches: &(dyn Fn(&Event) -> bool + Sync),
        waiting_for: &str,
    ) -> Result<Arc<Event>, ErrorReport> {
        let attached = self.verbs.browser.attach(&self.browser, Some(&self.id), self.left()).await?;
        let wait = async {
            tokio::select! {
                biased;
                event = self.browser.events().wait(since, matches) => {
                    event.ok_or_else(|| codemode_page::gone("its connection is closed"))
                }
                silence = self.browser.silent(Some(&attached), "Page.lifecycleEvent") => Err(silence),
            }
        };
        match tokio::time::timeout(self.left(), wait).await {
            Ok(event) => event,
            Err(_) if self.has_dialog() => Err(self.unanswered("it")),
            Err(_) => Err(self.too_late(waiting_for)),
        }
    }

    fn has_dialog(&self) -> bool {
        self.browser.catch_up();
        self.browser.targets.target(&self.id).is_some_and(|target| target.dialog.is_some())
    }
}

/// The error of a navigation that did not commit, from its answer.
fn navigation_error(url: &str, why: &str, answer: &Json) -> ErrorReport {
    if answer["isDownload"] != true {
        return failed(url, why);
    }
    ErrorReport::new(ErrorCode::NavigationFailed, "Download is starting").with_hint(
        "The address is a file, which is being downloaded: wait for it with page.waitForEvent(\"download\").",
    )
}

/// The error of a failed navigation.
fn failed(url: &str, why: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::NavigationFailed, format!("{why} at {}", codemode_page::short(url)))
}

fn in_navigation(mut error: ErrorReport, url: &str) -> ErrorReport {
    error.message = format!("{}\nnavigating to {}", error.message, codemode_page::short(url));
    error
}

/// The server's response that an event reports.
pub(crate) fn response(event: &Event) -> Response {
    let said = &event.params["response"];
    let text = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
    let headers = said["headers"].as_object().into_iter().flatten();
    Response {
        url: text("url"),
        status: said["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or_default(),
        status_text: text("statusText"),
        headers: headers
            .map(|(name, value)| (name.to_lowercase(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect(),
        request_id: event.params["requestId"].as_str().unwrap_or_default().to_owned(),
    }
}
