//! What happens in a page, as scripts hear of it: dialogs, console, errors, requests, popups, navigations.

use crate::{evaluate::exception, navigate::response, reports, routes::PAUSED, tab::Tab, verbs::Verbs};
use codemode_page::{ConnectedBrowser, Event};
use codemode_spec::{
    ErrorReport,
    limits::{EVENTS_BYTES_MAX, EVENTS_READ_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// A kind of news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
}

impl NewsKind {
    /// The events that tell of it.
    const fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Dialog => &["Page.javascriptDialogOpening"],
            Self::Console => &["Runtime.consoleAPICalled"],
            Self::PageError => &["Runtime.exceptionThrown"],
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
#[serde(rename_all = "camelCase")]
pub struct NewsQuery {
    /// The page; all pages if there is none.
    #[serde(default)]
    pub page: Option<String>,
    /// From where on: `next` of the last answer, or from now.
    #[serde(default)]
    pub since: Option<u64>,
    /// Kinds.
    pub types: Vec<NewsKind>,
    /// How long to wait for the first, in milliseconds.
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
            let matches = |event: &Event| methods.contains(&event.method.as_str());
            let batch = browser.events().since_within(next, EVENTS_READ_MAX, EVENTS_BYTES_MAX, &matches);
            browser.catch_up();
            next = batch.next;
            let readable = batch.events.iter().filter(|event| browser.targets.may_be_read(event));
            let events: Vec<Json> = readable.filter_map(|event| self.told(&browser, event, query)).collect();
            let left = until.saturating_duration_since(Instant::now());
            if !events.is_empty() || left.is_zero() {
                return Ok(News { events, next });
            }
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
        let page = page_of(browser, event, kind)?;
        if query.page.as_ref().is_some_and(|wanted| *wanted != page) {
            return None;
        }
        if kind == NewsKind::Route
            && !self.routes.holds(&page, event.params["request"]["url"].as_str().unwrap_or_default())
        {
            return None;
        }
        let mut told = Map::new();
        told.insert("seq".into(), event.seq.into());
        told.insert("type".into(), json!(kind));
        told.insert("page".into(), page.into());
        if let Json::Object(fields) = fields(event, kind) {
            told.extend(fields);
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
            // Requests stop only where there are routes.
            for method in kind.methods().iter().filter(|_| !matches!(kind, NewsKind::Download | NewsKind::Route)) {
                // The browser tells of its targets by itself.
                if !method.starts_with("Target.") {
                    self.subscribe(method).await?;
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

/// Whether an event is of this kind and of no other one that the same event may tell of.
fn is_kind(event: &Event, kind: NewsKind) -> bool {
    let info = &event.params["targetInfo"];
    match kind {
        NewsKind::Popup => info["type"] == "page" && info["openerId"].is_string(),
        NewsKind::Page => info["type"] == "page",
        _ => true,
    }
}

/// The page that an event is about.
fn page_of(browser: &ConnectedBrowser, event: &Event, kind: NewsKind) -> Option<String> {
    match kind {
        NewsKind::Popup => event.params["targetInfo"]["openerId"].as_str().map(str::to_owned),
        NewsKind::Page => event.params["targetInfo"]["targetId"].as_str().map(str::to_owned),
        // The browser tells of downloads by their frames: that of the page, or one in it.
        NewsKind::Download => {
            let frame = event.params["frameId"].as_str()?;
            let of_page = browser.targets.target(frame).filter(|target| target.kind == "page").map(|target| target.id);
            of_page.or_else(|| browser.targets.current().map(|page| page.id))
        }
        NewsKind::Close => event.params["targetId"].as_str().map(str::to_owned),
        NewsKind::Crash if event.session.is_none() => event.params["targetId"].as_str().map(str::to_owned),
        _ => {
            let target = browser.targets.target_of(event.session.as_deref()?)?;
            let is_frame = browser.targets.target(&target).and_then(|target| target.parent);
            Some(is_frame.unwrap_or(target))
        }
    }
}

fn fields(event: &Event, kind: NewsKind) -> Json {
    let params = &event.params;
    match kind {
        NewsKind::Dialog => json!({
            "kind": params["type"], "message": params["message"], "defaultValue": params["defaultPrompt"],
        }),
        NewsKind::Console => console_line(params),
        NewsKind::PageError => page_error(params),
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
        NewsKind::RequestFinished => json!({"requestId": params["requestId"]}),
        NewsKind::RequestFailed => json!({"requestId": params["requestId"], "errorText": params["errorText"]}),
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
            "route": params["requestId"], "requestId": params["networkId"], "url": params["request"]["url"],
            "method": params["request"]["method"], "headers": params["request"]["headers"],
            "postData": params["request"].get("postData"),
            "resourceType": params["resourceType"].as_str().unwrap_or_default().to_lowercase(),
        }),
        NewsKind::Crash | NewsKind::Close | NewsKind::DomContentLoaded | NewsKind::Load => json!({}),
    }
}

/// A line of the page's console.
pub(crate) fn console_line(params: &Json) -> Json {
    let arguments: Vec<String> = params["args"].as_array().into_iter().flatten().map(spoken).collect();
    let at = params.pointer("/stackTrace/callFrames/0");
    json!({
        "level": params["type"], "text": arguments.join(" "),
        "location": at.map(|at| json!({"url": at["url"], "line": at["lineNumber"], "column": at["columnNumber"]})),
    })
}

/// An error of the page's scripts that nothing has caught.
pub(crate) fn page_error(params: &Json) -> Json {
    let thrown = &params["exceptionDetails"];
    let stack = exception(thrown).message;
    let first = stack.lines().next().unwrap_or_default();
    let (name, message) = match (thrown["exception"]["className"].as_str(), first.split_once(": ")) {
        (Some(name), Some((_, message))) => (name, message),
        (name, _) => (name.unwrap_or("Error"), first),
    };
    json!({"name": name, "message": message, "stack": stack})
}

/// An argument of the page's console, as the console shows it.
fn spoken(argument: &Json) -> String {
    match (&argument["value"], argument["unserializableValue"].as_str(), argument["description"].as_str()) {
        (Json::String(text), ..) => text.clone(),
        (_, Some(text), _) | (Json::Null, None, Some(text)) => text.to_owned(),
        (Json::Null, None, None) => {
            argument["type"].as_str().filter(|kind| *kind == "undefined").unwrap_or("null").to_owned()
        }
        (value, ..) => value.to_string(),
    }
}
