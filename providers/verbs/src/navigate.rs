//! Opening pages, sending them somewhere, and waiting until they are there.

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

/// Chromium's word for a server that asks for a name and a password, of which it was given none.
const NO_CREDENTIALS: &str = "net::ERR_INVALID_AUTH_CREDENTIALS";
/// How long the news of another place of the same document may take.
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
    /// As `Page.lifecycleEvent` names it.
    const fn event(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::DomContentLoaded => "DOMContentLoaded",
            Self::Load => "load",
            Self::NetworkIdle => "networkIdle",
        }
    }
}

/// What the server answered to a navigation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// Where the answer came from, after redirects.
    pub url: String,
    /// Its HTTP status.
    pub status: u16,
    /// The words beside the status.
    pub status_text: String,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// Names the request.
    pub request_id: String,
}

/// A page and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageInfo {
    /// The page's id.
    pub page: String,
    /// Its address.
    pub url: String,
    /// Its title, as far as the browser has told.
    pub title: String,
    /// The page that opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opener: Option<String>,
}

impl Verbs {
    /// Opens a page, and answers its id.
    ///
    /// # Errors
    /// What keeps the browser from being opened, and `POLICY_REFUSED`.
    ///
    /// # Cancellation
    /// May be dropped at any time; a page that was opened stays until the browser's end.
    pub async fn open(&self, deadline: Instant) -> Result<String, ErrorReport> {
        let browser = self.connected(deadline).await?;
        let timeout = deadline.saturating_duration_since(Instant::now());
        if let Some(id) = self.unused_page(&browser) {
            Tab::new(self, browser, id.clone(), timeout, deadline).look_after_dialogs().await?;
            return Ok(id);
        }
        let opener = Tab::new(self, Arc::clone(&browser), String::new(), timeout, deadline);
        let made = opener.send_to_browser("Target.createTarget", json!({"url": "about:blank"})).await?;
        let id = made["targetId"].as_str().unwrap_or_default().to_owned();
        Tab::new(self, browser, id.clone(), timeout, deadline).look_after_dialogs().await?;
        Ok(id)
    }

    /// The blank page that a browser begins with, once, if nothing has used it: it is opened already. What an earlier
    /// execution left at `about:blank` may have content, or show a dialog.
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

    /// The pages that there are, in the order in which they were opened.
    ///
    /// # Errors
    /// What keeps the browser from being opened.
    pub async fn pages(&self, deadline: Instant) -> Result<Vec<PageInfo>, ErrorReport> {
        let browser = self.connected(deadline).await?;
        browser.catch_up();
        browser.refresh().await;
        let pages = browser.targets.visible().into_iter().filter(|target| target.kind == "page");
        let pages = pages.filter(|page| !self.errands.has(&page.id));
        Ok(pages
            .map(|page| PageInfo { page: page.id, url: page.url, title: page.title, opener: page.opener })
            .collect())
    }
}

impl Tab<'_> {
    /// Sends the page to an address and waits until it is so far. `None` if no server was asked.
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
            // Once more: then the page shows what the server says.
            answer = self.navigate_declining(self.navigate(url, params)).await?;
        }
        if let Some(why) = answer["errorText"].as_str() {
            return Err(why_not(url, why, &answer));
        }
        match answer["loaderId"].as_str() {
            // What comes of an earlier navigation came before the answer.
            Some(loader) => {
                let answered = self.cursor();
                self.loaded(loader, until, since, answered).await.map_err(|error| in_navigation(error, url))
            }
            None => {
                self.moved_within(since).await;
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

    /// Waits until another place of the same document is where the page is said to be: the browser answers before that,
    /// and what asks it next would get the old place.
    async fn moved_within(&self, since: u64) {
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

    /// Goes back or forward in the page's history, or loads the page again. `None` if there is nowhere to go.
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
            // A document that comes out of the cache of the history has been loaded before.
            Some(loader) if event.params["type"] == "BackForwardCacheRestore" => Ok(self.response_to(&session, loader)),
            Some(loader) => self.loaded(loader, until, since, event.seq + 1).await,
            None => {
                self.moved_within(since).await;
                Ok(None)
            }
        }
    }

    /// Waits until the page is so far: at once if it is already.
    pub async fn wait_for_load(&self, until: LoadState) -> Result<(), ErrorReport> {
        self.observe_loading().await?;
        let tree = self.send("Page.getFrameTree", json!({})).await?;
        let loader = tree["frameTree"]["frame"]["loaderId"].as_str().unwrap_or_default();
        self.loaded(loader, until, 0, self.cursor()).await.map(drop)
    }

    /// Waits until the page's address is as it should be, and the page so far.
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

    /// Asks for the events by which loading is followed.
    async fn observe_loading(&self) -> Result<(), ErrorReport> {
        self.subscribe("Page.lifecycleEvent").await?;
        self.subscribe("Network.responseReceived").await
    }

    /// Waits until a document is so far, and answers what its server said. What is told of it comes after `since`, and
    /// another document after `committed` takes its place.
    async fn loaded(
        &self,
        loader: &str,
        until: LoadState,
        since: u64,
        committed: u64,
    ) -> Result<Option<Response>, ErrorReport> {
        let session = self.session().await?;
        // That a document has begun was told before anybody could ask for its state.
        if until != LoadState::Commit {
            self.reached(&session, loader, until, since, committed).await?;
        }
        Ok(self.response_to(&session, loader))
    }

    /// What the server said to the request for a document, as far as the events reach; `None` if no server was asked.
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
                    // Another document has taken its place.
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

    /// Waits for an event from a cursor on.
    ///
    /// # Errors
    /// `CALL_TIMEOUT`, or why no event can come any more.
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

/// The report of a navigation that did not arrive, by its answer.
fn why_not(url: &str, why: &str, answer: &Json) -> ErrorReport {
    if answer["isDownload"] != true {
        return failed(url, why);
    }
    ErrorReport::new(ErrorCode::NavigationFailed, "Download is starting").with_hint(
        "The address is a file, which is being downloaded: wait for it with page.waitForEvent(\"download\").",
    )
}

/// The report of a navigation that came to nothing.
fn failed(url: &str, why: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::NavigationFailed, format!("{why} at {}", codemode_page::short(url)))
}

fn in_navigation(mut error: ErrorReport, url: &str) -> ErrorReport {
    error.message = format!("{}\nnavigating to {}", error.message, codemode_page::short(url));
    error
}

/// What an event says that a server answered.
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
