//! Page events as scripts receive them: dialogs, console, errors, requests, popups, navigations.

use crate::{
    console::{self, replayed_events},
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

/// A kind of page event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is named as the event of a page in Playwright")]
pub enum PageEventKind {
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

impl PageEventKind {
    /// The protocol events from which it is derived.
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

/// A batch of page events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageEvents {
    /// One object per event, with `seq`, `type`, `page` and the fields of the type.
    pub events: Vec<Json>,
    /// The cursor from which to read on.
    pub next: u64,
}

/// Which news.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PageEventQuery {
    /// The page; all pages if there is none.
    #[serde(default)]
    pub page: Option<String>,
    /// From where on: `next` of the last answer, or from now.
    #[serde(default)]
    pub since: Option<u64>,
    /// Of which kinds.
    pub types: Vec<PageEventKind>,
    /// How long to wait for the first, in milliseconds; as long as the execution if it is not given.
    #[serde(default)]
    pub timeout_ms: Option<f64>,
}

impl Verbs {
    /// Waits for page events, and returns all that have arrived.
    ///
    /// # Errors
    /// When the browser is closed.
    ///
    /// # Cancellation
    /// May be dropped at any time; the events can be read again.
    pub async fn page_events(&self, query: &PageEventQuery, deadline: Instant) -> Result<PageEvents, ErrorReport> {
        let browser = self.connected(deadline).await?;
        let methods: Vec<&str> = query.types.iter().flat_map(|kind| kind.methods()).copied().collect();
        let since = query.since.unwrap_or_else(|| browser.events().cursor());
        let until = match query.timeout_ms {
            Some(ms) => deadline.min(Instant::now() + Duration::from_secs_f64((ms / 1_000.0).clamp(0.0, 86_400.0))),
            None => deadline,
        };
        let mut next = since;
        loop {
            let settled = self.scratch_tabs.creating.read().await;
            let matches = |event: &Event| methods.contains(&event.method.as_str());
            let batch = browser.events().since_within(next, EVENTS_READ_MAX, EVENTS_BYTES_MAX, &matches);
            browser.catch_up();
            next = batch.next;
            let is_line = |event: &Event| [console::LINE, console::THROWN].contains(&event.method.as_str());
            let tells_lines = batch.events.iter().any(|event| is_line(event));
            let again = if tells_lines { replayed_events(browser.events()) } else { HashSet::new() };
            let readable =
                batch.events.iter().filter(|event| browser.targets.may_be_read(event) && !again.contains(&event.seq));
            let events: Vec<Json> = readable.filter_map(|event| self.page_event(&browser, event, query)).collect();
            let left = until.saturating_duration_since(Instant::now());
            if !events.is_empty() || left.is_zero() {
                return Ok(PageEvents { events, next });
            }
            drop(settled);
            match tokio::time::timeout(left, browser.events().wait(next, &matches)).await {
                Ok(Some(_)) => {}
                Ok(None) => return Err(codemode_page::gone("its connection is closed")),
                Err(_) => return Ok(PageEvents { events, next: browser.events().cursor().max(next) }),
            }
        }
    }
}

impl Verbs {
    /// A protocol event as scripts receive it; `None` if the query does not ask for it.
    fn page_event(&self, browser: &Arc<ConnectedBrowser>, event: &Event, query: &PageEventQuery) -> Option<Json> {
        let kind = query
            .types
            .iter()
            .copied()
            .find(|kind| kind.methods().contains(&event.method.as_str()) && is_kind(event, *kind))?;
        if is_of_icon(browser, event, kind) {
            return None;
        }
        let page = page_of(browser, event, kind)?;
        if query.page.as_ref().is_some_and(|wanted| *wanted != page) || self.scratch_tabs.has(&page) {
            return None;
        }
        if kind == PageEventKind::Route && !self.routes.holds(&page, event) {
            return None;
        }
        let mut told = Map::new();
        told.insert("seq".into(), event.seq.into());
        told.insert("type".into(), json!(kind));
        told.insert("page".into(), page.into());
        if let Json::Object(fields) = fields(event, kind) {
            told.extend(fields);
        }
        if kind == PageEventKind::RequestFailed {
            told.insert("errorText".into(), failure(browser, event).into());
        }
        if kind == PageEventKind::Select {
            let target = browser.targets.target_of(event.session.as_deref()?)?;
            let popup = selects::popup_of(event)?;
            let context = &event.params["executionContextId"];
            told.insert("id".into(), format!("{target}:{context}:{}", popup["id"].as_str()?).into());
            for field in ["multiple", "count", "options"] {
                told.insert(field.into(), popup[field].clone());
            }
        }
        if kind == PageEventKind::Route {
            let target = browser.targets.target_of(event.session.as_deref()?)?;
            told.insert("route".into(), route_of(&target, &event.params["requestId"]).into());
            if let Some(kind) = kind_of_request(browser, &event.params["networkId"]) {
                told.insert("resourceType".into(), kind.into());
            }
        }
        Some(Json::Object(told))
    }

    /// The cursor from which future page events can be read.
    ///
    /// # Errors
    /// When the browser is closed.
    pub async fn page_event_cursor(&self, deadline: Instant) -> Result<u64, ErrorReport> {
        Ok(self.connected(deadline).await?.events().cursor())
    }
}

impl Tab<'_> {
    /// Subscribes to these kinds of page events, and returns the cursor from which they can be read.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn watch(&self, kinds: &[PageEventKind]) -> Result<u64, ErrorReport> {
        let since = self.cursor();
        for kind in kinds {
            if *kind == PageEventKind::FileChooser {
                self.send("Page.setInterceptFileChooserDialog", json!({"enabled": true})).await?;
            }
            if *kind == PageEventKind::Download {
                self.watch_downloads().await?;
            }
            if *kind == PageEventKind::Select {
                self.watch_selects().await?;
            }
            // Requests are intercepted by `set_routes` only, and popups of lists by `watch_selects`.
            let asks = !matches!(kind, PageEventKind::Download | PageEventKind::Route | PageEventKind::Select);
            for method in kind.methods().iter().filter(|_| asks) {
                match method.split('.').next() {
                    // The browser reports its targets without a subscription.
                    Some("Target") => {}
                    Some("Network") => self.subscribe_with_frames(method, "Network.enable").await?,
                    Some("Runtime") => self.subscribe_with_frames(method, "Runtime.enable").await?,
                    _ => self.subscribe(method).await?,
                }
            }
        }
        Ok(since)
    }

    /// The raw body of a response. Waits until the response is complete.
    pub async fn response_body(&self, request: &str) -> Result<Vec<u8>, ErrorReport> {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let ask = || self.send("Network.getResponseBody", json!({ "requestId": request }));
        let body = match ask().await {
            // The response may still be on its way. Chromium has no error code for that.
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

/// The resource type of a request as the page's network events report it: the interception events do not distinguish
/// `fetch` from `XMLHttpRequest`.
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

/// Whether an event is about a request of the browser itself for a site's icon.
fn is_of_icon(browser: &ConnectedBrowser, event: &Event, kind: PageEventKind) -> bool {
    let asked = |sent: &Event| is_icon(url_of(sent), &sent.params["type"]);
    match kind {
        PageEventKind::Request => asked(event),
        PageEventKind::Response | PageEventKind::RequestFinished | PageEventKind::RequestFailed => {
            sent(browser, &event.params["requestId"]).is_some_and(|sent| asked(&sent))
        }
        _ => false,
    }
}

/// The event with which a request was sent.
fn sent(browser: &ConnectedBrowser, request: &Json) -> Option<Arc<Event>> {
    let is_sent = |event: &Event| event.method == "Network.requestWillBeSent" && event.params["requestId"] == *request;
    browser.events().last(&is_sent)
}

/// Whether an event is of this kind, and not of another kind that is derived from the same protocol event.
fn is_kind(event: &Event, kind: PageEventKind) -> bool {
    let info = &event.params["targetInfo"];
    match kind {
        PageEventKind::Popup => info["type"] == "page" && info["openerId"].is_string(),
        PageEventKind::Page => info["type"] == "page",
        PageEventKind::Select => selects::is_popup_event(event),
        _ => true,
    }
}

/// The page that an event is about.
fn page_of(browser: &ConnectedBrowser, event: &Event, kind: PageEventKind) -> Option<String> {
    match kind {
        PageEventKind::Popup => event.params["targetInfo"]["openerId"].as_str().map(str::to_owned),
        PageEventKind::Page => event.params["targetInfo"]["targetId"].as_str().map(str::to_owned),
        PageEventKind::Download => page_of_download(browser, event.params["frameId"].as_str()?),
        PageEventKind::Close => event.params["targetId"].as_str().map(str::to_owned),
        PageEventKind::Crash if event.session.is_none() => event.params["targetId"].as_str().map(str::to_owned),
        _ => {
            let target = browser.targets.target_of(event.session.as_deref()?)?;
            Some(page_of_target(browser, &target).unwrap_or(target))
        }
    }
}

/// The page of a download, which the browser reports by its frame. A window that opened only for the download and
/// closes again does not count: the download then belongs to the page that opened the window.
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
    // An in-process frame is known from events of its page's session.
    let attached = |event: &Event| {
        matches!(event.method.as_str(), "Page.frameAttached" | "Page.frameStartedLoading" | "Page.downloadWillBegin")
            && event.params["frameId"] == frame
    };
    let of_session = browser.events().last(&attached).and_then(|event| event.session.clone());
    let target = of_session.and_then(|session| browser.targets.target_of(&session));
    target.and_then(|target| page_of_target(browser, &target)).or_else(|| browser.targets.current().map(|page| page.id))
}

fn fields(event: &Event, kind: PageEventKind) -> Json {
    let params = &event.params;
    match kind {
        PageEventKind::Dialog => json!({
            "kind": params["type"], "message": params["message"], "defaultValue": params["defaultPrompt"],
        }),
        PageEventKind::Console => console::line(params),
        PageEventKind::PageError => console::error(params),
        PageEventKind::Popup => json!({"popup": params["targetInfo"]["targetId"], "url": params["targetInfo"]["url"]}),
        PageEventKind::Page => json!({"url": params["targetInfo"]["url"]}),
        PageEventKind::Request => json!({
            "requestId": params["requestId"], "url": params["request"]["url"], "method": params["request"]["method"],
            "resourceType": params["type"].as_str().unwrap_or_default().to_lowercase(),
            "headers": params["request"]["headers"], "postData": params["request"].get("postData"),
            "frame": params["frameId"], "isNavigation": params["requestId"] == params["loaderId"],
        }),
        PageEventKind::Response => {
            let mut told = json!(response(event));
            told["resourceType"] = params["type"].as_str().unwrap_or_default().to_lowercase().into();
            told
        }
        PageEventKind::RequestFinished | PageEventKind::RequestFailed => json!({"requestId": params["requestId"]}),
        PageEventKind::FrameNavigated if event.method == "Page.navigatedWithinDocument" => {
            json!({"frame": params["frameId"], "url": params["url"]})
        }
        PageEventKind::FrameNavigated => {
            let frame = &params["frame"];
            let url =
                [&frame["url"], &frame["urlFragment"]].iter().filter_map(|part| part.as_str()).collect::<String>();
            json!({"frame": frame["id"], "url": url, "name": frame["name"], "parent": frame["parentId"]})
        }
        PageEventKind::Download => {
            json!({"download": params["guid"], "url": params["url"], "suggestedFilename": params["suggestedFilename"]})
        }
        PageEventKind::FileChooser => {
            let chooser = format!("{}:{}", params["frameId"].as_str().unwrap_or_default(), params["backendNodeId"]);
            json!({"chooser": chooser, "multiple": params["mode"] == "selectMultiple"})
        }
        PageEventKind::Route => json!({
            "requestId": params["networkId"], "url": params["request"]["url"],
            "method": params["request"]["method"], "headers": params["request"]["headers"],
            "postData": params["request"].get("postData"),
            "resourceType": params["resourceType"].as_str().unwrap_or_default().to_lowercase(),
        }),
        PageEventKind::Crash
        | PageEventKind::Close
        | PageEventKind::DomContentLoaded
        | PageEventKind::Load
        | PageEventKind::Select => json!({}),
    }
}
