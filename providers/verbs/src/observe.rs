//! What happens in a page, as scripts hear of it: dialogs, console, errors, requests, popups, navigations.

use crate::{
    console::{self, told_again},
    navigate::response,
    reports,
    routes::route_of,
    state::{
        frames::page_of_target,
        routes::{PAUSED, is_icon},
        selects::{self, CALLED},
    },
    tab::Tab,
    traffic::url_of,
    verbs::Verbs,
};
use codemode_page::{ConnectedBrowser, Event};
use codemode_spec::{
    ErrorReport,
    limits::{EVENTS_BYTES_MAX, EVENTS_READ_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio::time::Instant;

/// A kind of news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is named as the event of a page in Playwright")]
pub enum NewsKind {
    Dialog,
    Console,
    PageError,
    Popup,
    Page,
    Close,
    Crash,
    Request,
    Response,
    RequestFinished,
    RequestFailed,
    FrameNavigated,
    DomContentLoaded,
    Load,
    Download,
    FileChooser,
    Route,
    Select,
}

impl NewsKind {
    /// The events that tell of it.
    const fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Dialog => &["Page.javascriptDialogOpening"],
            Self::Console => &[console::LINE],
            Self::PageError => &[console::THROWN],
            Self::Popup | Self::Page => &["Target.targetCreated"],
            Self::Close => &["Target.targetDestroyed"],
            Self::Crash => &["Inspector.targetCrashed", "Target.targetCrashed"],
            Self::Request => &["Network.requestWillBeSent"],
            Self::Response => &["Network.responseReceived"],
            Self::RequestFinished => &["Network.loadingFinished"],
            Self::RequestFailed => &["Network.loadingFailed"],
            Self::FrameNavigated => &["Page.frameNavigated", "Page.navigatedWithinDocument"],
            Self::DomContentLoaded => &["Page.domContentEventFired"],
            Self::Load => &["Page.loadEventFired"],
            Self::Download => &["Browser.downloadWillBegin"],
            Self::FileChooser => &["Page.fileChooserOpened"],
            Self::Route => &[PAUSED],
            Self::Select => &[CALLED],
        }
    }
}

/// News of pages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct News {
    /// One object each, with `seq`, `type`, `page` and what belongs to the type.
    pub events: Vec<Json>,
    /// From where to read on.
    pub next: u64,
}

/// Which news.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewsQuery {
    /// The page; all pages if there is none.
    #[serde(default)]
    pub page: Option<String>,
    /// From where on: `next` of the last answer, or from now.
    #[serde(default)]
    pub since: Option<u64>,
    /// Of which kinds.
    pub types: Vec<NewsKind>,
    /// How long to wait for the first, in milliseconds; as long as the execution if it is not given.
    #[serde(default)]
    pub timeout_ms: Option<f64>,
}

impl Verbs {
    /// Waits for news, and answers all that has come.
    ///
    /// # Errors
    /// When the browser is gone.
    ///
    /// # Cancellation
    /// May be dropped at any time; what has come can be read again.
    pub async fn news(&self, query: &NewsQuery, deadline: Instant) -> Result<News, ErrorReport> {
        let browser = self.connected(deadline).await?;
        let methods: Vec<&str> = query.types.iter().flat_map(|kind| kind.methods()).copied().collect();
        let since = query.since.unwrap_or_else(|| browser.events().cursor());
        let until = match query.timeout_ms {
            Some(ms) => deadline.min(Instant::now() + Duration::from_secs_f64((ms / 1_000.0).clamp(0.0, 86_400.0))),
            None => deadline,
        };
        let mut next = since;
        loop {
            let settled = self.errands.creating.read().await;
            let matches = |event: &Event| methods.contains(&event.method.as_str());
            let batch = browser.events().since_within(next, EVENTS_READ_MAX, EVENTS_BYTES_MAX, &matches);
            browser.catch_up();
            next = batch.next;
            let is_line = |event: &Event| [console::LINE, console::THROWN].contains(&event.method.as_str());
            let tells_lines = batch.events.iter().any(|event| is_line(event));
            let again = if tells_lines { told_again(browser.events()) } else { HashSet::new() };
            let readable =
                batch.events.iter().filter(|event| browser.targets.may_be_read(event) && !again.contains(&event.seq));
            let events: Vec<Json> = readable.filter_map(|event| self.told(&browser, event, query)).collect();
            let left = until.saturating_duration_since(Instant::now());
            if !events.is_empty() || left.is_zero() {
                return Ok(News { events, next });
            }
            drop(settled);
            match tokio::time::timeout(left, browser.events().wait(next, &matches)).await {
                Ok(Some(_)) => {}
                Ok(None) => return Err(codemode_page::gone("its connection is closed")),
                Err(_) => return Ok(News { events, next: browser.events().cursor().max(next) }),
            }
        }
    }
}

impl Verbs {
    /// An event as scripts hear of it; `None` if it is not one of those that were asked for.
    fn told(&self, browser: &Arc<ConnectedBrowser>, event: &Event, query: &NewsQuery) -> Option<Json> {
        let kind = query
            .types
            .iter()
            .copied()
            .find(|kind| kind.methods().contains(&event.method.as_str()) && is_kind(event, *kind))?;
        if is_of_icon(browser, event, kind) {
            return None;
        }
        let page = page_of(browser, event, kind)?;
        if query.page.as_ref().is_some_and(|wanted| *wanted != page) || self.errands.has(&page) {
            return None;
        }
        if kind == NewsKind::Route && !self.routes.holds(&page, event) {
            return None;
        }
        let mut told = Map::new();
        told.insert("seq".into(), event.seq.into());
        told.insert("type".into(), json!(kind));
        told.insert("page".into(), page.into());
        if let Json::Object(fields) = fields(event, kind) {
            told.extend(fields);
        }
        if kind == NewsKind::RequestFailed {
            told.insert("errorText".into(), failure(browser, event).into());
        }
        if kind == NewsKind::Select {
            let target = browser.targets.target_of(event.session.as_deref()?)?;
            let popup = selects::told(event)?;
            let context = &event.params["executionContextId"];
            told.insert("id".into(), format!("{target}:{context}:{}", popup["id"].as_str()?).into());
            for field in ["multiple", "count", "options"] {
                told.insert(field.into(), popup[field].clone());
            }
        }
        if kind == NewsKind::Route {
            let target = browser.targets.target_of(event.session.as_deref()?)?;
            told.insert("route".into(), route_of(&target, &event.params["requestId"]).into());
            if let Some(kind) = kind_of_request(browser, &event.params["networkId"]) {
                told.insert("resourceType".into(), kind.into());
            }
        }
        Some(Json::Object(told))
    }

    /// From where on news can be read that come from now on.
    ///
    /// # Errors
    /// When the browser is gone.
    pub async fn news_cursor(&self, deadline: Instant) -> Result<u64, ErrorReport> {
        Ok(self.connected(deadline).await?.events().cursor())
    }
}

impl Tab<'_> {
    /// Asks the page to tell of these from now on, and answers from where on they can be read.
    ///
    /// # Errors
    /// When the page is gone.
    pub async fn watch(&self, kinds: &[NewsKind]) -> Result<u64, ErrorReport> {
        let since = self.cursor();
        for kind in kinds {
            if *kind == NewsKind::FileChooser {
                self.send("Page.setInterceptFileChooserDialog", json!({"enabled": true})).await?;
            }
            if *kind == NewsKind::Download {
                self.watch_downloads().await?;
            }
            if *kind == NewsKind::Select {
                self.watch_selects().await?;
            }
            // Requests stop only where there are routes.
            let asks = !matches!(kind, NewsKind::Download | NewsKind::Route | NewsKind::Select);
            for method in kind.methods().iter().filter(|_| asks) {
                match method.split('.').next() {
                    // The browser tells of its targets by itself.
                    Some("Target") => {}
                    Some("Network") => self.subscribe_with_frames(method, "Network.enable").await?,
                    Some("Runtime") => self.subscribe_with_frames(method, "Runtime.enable").await?,
                    _ => self.subscribe(method).await?,
                }
            }
        }
        Ok(since)
    }

    /// The body of an answer, once it is there, as it came.
    pub async fn response_body(&self, request: &str) -> Result<Vec<u8>, ErrorReport> {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let ask = || self.send("Network.getResponseBody", json!({ "requestId": request }));
        let body = match ask().await {
            // It may be on its way. Chromium has no code for that.
            Err(error) if error.message.contains("No data found") => {
                let ends = |event: &Event| {
                    matches!(event.method.as_str(), "Network.loadingFinished" | "Network.loadingFailed")
                        && event.params["requestId"] == request
                };
                self.wait_for(0, &ends, "the end of the answer").await?;
                ask().await?
            }
            body => body?,
        };
        let text = body["body"].as_str().unwrap_or_default();
        match body["base64Encoded"] == true {
            true => {
                STANDARD.decode(text).map_err(|error| reports::invalid(format!("the body cannot be read: {error}")))
            }
            false => Ok(text.as_bytes().to_vec()),
        }
    }
}

/// The type of a request, as the page tells it: to what stops requests `fetch` and `XMLHttpRequest` are the same.
fn kind_of_request(browser: &ConnectedBrowser, request: &Json) -> Option<String> {
    sent(browser, request)?.params["type"].as_str().map(str::to_lowercase)
}

/// Why a request failed.
fn failure(browser: &ConnectedBrowser, failed: &Event) -> String {
    let error = failed.params["errorText"].as_str().unwrap_or_default();
    match sent(browser, &failed.params["requestId"]) {
        Some(sent) => browser.net_error(url_of(&sent), error),
        None => error.to_owned(),
    }
}

/// Whether an event tells of a request that is the browser's own.
fn is_of_icon(browser: &ConnectedBrowser, event: &Event, kind: NewsKind) -> bool {
    let asked = |sent: &Event| is_icon(url_of(sent), &sent.params["type"]);
    match kind {
        NewsKind::Request => asked(event),
        NewsKind::Response | NewsKind::RequestFinished | NewsKind::RequestFailed => {
            sent(browser, &event.params["requestId"]).is_some_and(|sent| asked(&sent))
        }
        _ => false,
    }
}

/// The event that tells of a request.
fn sent(browser: &ConnectedBrowser, request: &Json) -> Option<Arc<Event>> {
    let is_sent = |event: &Event| event.method == "Network.requestWillBeSent" && event.params["requestId"] == *request;
    browser.events().last(&is_sent)
}

/// Whether an event is of this kind and of no other one that the same event may tell of.
fn is_kind(event: &Event, kind: NewsKind) -> bool {
    let info = &event.params["targetInfo"];
    match kind {
        NewsKind::Popup => info["type"] == "page" && info["openerId"].is_string(),
        NewsKind::Page => info["type"] == "page",
        NewsKind::Select => selects::tells(event),
        _ => true,
    }
}

/// The page that an event is about.
fn page_of(browser: &ConnectedBrowser, event: &Event, kind: NewsKind) -> Option<String> {
    match kind {
        NewsKind::Popup => event.params["targetInfo"]["openerId"].as_str().map(str::to_owned),
        NewsKind::Page => event.params["targetInfo"]["targetId"].as_str().map(str::to_owned),
        NewsKind::Download => page_of_download(browser, event.params["frameId"].as_str()?),
        NewsKind::Close => event.params["targetId"].as_str().map(str::to_owned),
        NewsKind::Crash if event.session.is_none() => event.params["targetId"].as_str().map(str::to_owned),
        _ => {
            let target = browser.targets.target_of(event.session.as_deref()?)?;
            Some(page_of_target(browser, &target).unwrap_or(target))
        }
    }
}

/// The page of a download, of which the browser tells by its frame. A window that opened only for it, and closes again, is
/// none: then it is a download of the page that opened the window.
fn page_of_download(browser: &ConnectedBrowser, frame: &str) -> Option<String> {
    if let Some(target) = browser.targets.target(frame) {
        let is_empty = matches!(&*target.url, "" | "about:blank");
        let opener = target.opener.filter(|opener| is_empty && browser.targets.target(opener).is_some());
        return opener.or_else(|| page_of_target(browser, frame));
    }
    let opened =
        |event: &Event| event.method == "Target.targetCreated" && event.params["targetInfo"]["targetId"] == frame;
    if let Some(event) = browser.events().last(&opened) {
        return event.params["targetInfo"]["openerId"].as_str().map(str::to_owned);
    }
    // A frame within a page is told of by the page's session.
    let attached = |event: &Event| {
        matches!(event.method.as_str(), "Page.frameAttached" | "Page.frameStartedLoading" | "Page.downloadWillBegin")
            && event.params["frameId"] == frame
    };
    let of_session = browser.events().last(&attached).and_then(|event| event.session.clone());
    let target = of_session.and_then(|session| browser.targets.target_of(&session));
    target.and_then(|target| page_of_target(browser, &target)).or_else(|| browser.targets.current().map(|page| page.id))
}

fn fields(event: &Event, kind: NewsKind) -> Json {
    let params = &event.params;
    match kind {
        NewsKind::Dialog => json!({
            "kind": params["type"], "message": params["message"], "defaultValue": params["defaultPrompt"],
        }),
        NewsKind::Console => console::line(params),
        NewsKind::PageError => console::error(params),
        NewsKind::Popup => json!({"popup": params["targetInfo"]["targetId"], "url": params["targetInfo"]["url"]}),
        NewsKind::Page => json!({"url": params["targetInfo"]["url"]}),
        NewsKind::Request => json!({
            "requestId": params["requestId"], "url": params["request"]["url"], "method": params["request"]["method"],
            "resourceType": params["type"].as_str().unwrap_or_default().to_lowercase(),
            "headers": params["request"]["headers"], "postData": params["request"].get("postData"),
            "frame": params["frameId"], "isNavigation": params["requestId"] == params["loaderId"],
        }),
        NewsKind::Response => {
            let mut told = json!(response(event));
            told["resourceType"] = params["type"].as_str().unwrap_or_default().to_lowercase().into();
            told
        }
        NewsKind::RequestFinished | NewsKind::RequestFailed => json!({"requestId": params["requestId"]}),
        NewsKind::FrameNavigated if event.method == "Page.navigatedWithinDocument" => {
            json!({"frame": params["frameId"], "url": params["url"]})
        }
        NewsKind::FrameNavigated => {
            let frame = &params["frame"];
            let url =
                [&frame["url"], &frame["urlFragment"]].iter().filter_map(|part| part.as_str()).collect::<String>();
            json!({"frame": frame["id"], "url": url, "name": frame["name"], "parent": frame["parentId"]})
        }
        NewsKind::Download => {
            json!({"download": params["guid"], "url": params["url"], "suggestedFilename": params["suggestedFilename"]})
        }
        NewsKind::FileChooser => {
            let chooser = format!("{}:{}", params["frameId"].as_str().unwrap_or_default(), params["backendNodeId"]);
            json!({"chooser": chooser, "multiple": params["mode"] == "selectMultiple"})
        }
        NewsKind::Route => json!({
            "requestId": params["networkId"], "url": params["request"]["url"],
            "method": params["request"]["method"], "headers": params["request"]["headers"],
            "postData": params["request"].get("postData"),
            "resourceType": params["resourceType"].as_str().unwrap_or_default().to_lowercase(),
        }),
        NewsKind::Crash | NewsKind::Close | NewsKind::DomContentLoaded | NewsKind::Load | NewsKind::Select => json!({}),
    }
}
