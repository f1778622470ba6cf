//! Requests that wait for an answer of the script's own.
//!
//! While a page has patterns or credentials, all its requests stop at the browser. Those that no pattern means go on at
//! once, beside whatever verb is under way; the others are news, until they are answered.

use crate::{
    credentials::{Attempts, Credentials},
    frames::page_of_target,
    pattern::{Compiled, UrlPattern},
    reports,
    tab::{Tab, send_beside},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_page::{ConnectedBrowser, Event, ExecutionBrowser};
use codemode_spec::{
    ErrorReport,
    limits::{PAGE_STATES_MAX, ROUTES_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio_util::task::AbortOnDropHandle;

/// What becomes of a request that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum RouteAnswer {
    /// It is answered, and no server is asked.
    #[serde(rename_all = "camelCase")]
    Fulfill {
        /// The HTTP status.
        #[serde(default = "ok")]
        status: u16,
        /// The headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// It fails.
    #[serde(rename_all = "camelCase")]
    Abort {
        /// As Playwright names it: `failed`, `aborted`, `timedout`, `connectionrefused` …
        #[serde(default)]
        error_code: Option<String>,
    },
    /// It goes on, maybe changed.
    #[serde(rename_all = "camelCase")]
    Continue {
        /// Another address.
        #[serde(default)]
        url: Option<String>,
        /// Another method.
        #[serde(default)]
        method: Option<String>,
        /// Other headers.
        #[serde(default)]
        headers: Option<BTreeMap<String, String>>,
    },
}

const fn ok() -> u16 {
    200
}

/// What stops the requests of a page.
#[derive(Clone, Default)]
struct Stops {
    patterns: Arc<Vec<Compiled>>,
    credentials: Option<Credentials>,
    /// An answer that asks for credentials is taken as it is: a person would press `Cancel`.
    declines: bool,
}

impl Stops {
    fn handles_auth(&self) -> bool {
        self.declines || self.credentials.is_some()
    }

    /// The parameters of `Fetch.enable`, if anything is to stop.
    fn params(&self) -> Option<Json> {
        let stops = !self.patterns.is_empty() || self.handles_auth();
        let mut patterns = vec![json!({"urlPattern": "*"})];
        if self.declines {
            patterns.push(json!({"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}));
        }
        stops.then(|| json!({"patterns": patterns, "handleAuthRequests": self.handles_auth()}))
    }

    fn hold(&self, url: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(url))
    }
}

type Pages = Mutex<HashMap<String, Stops>>;

/// What stops the requests of the pages, as far as anything does.
#[derive(Default)]
pub(crate) struct Routes {
    pages: Arc<Pages>,
    going_on: Mutex<Option<(Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

impl Routes {
    /// Whether a request that has stopped waits for the script.
    pub(crate) fn holds(&self, page: &str, event: &Event) -> bool {
        stops_of(&self.pages, page).is_some_and(|stops| waits(&stops, event))
    }

    fn go_on_beside(&self, tab: &Tab<'_>) {
        let mut going_on = self.going_on.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::downgrade(&tab.browser);
        if going_on.as_ref().is_some_and(|(of, _)| of.ptr_eq(&current)) {
            return;
        }
        let from = tab.cursor();
        let task = go_on(Arc::clone(&tab.verbs.browser), Arc::clone(&tab.browser), Arc::clone(&self.pages), from);
        *going_on = Some((current, AbortOnDropHandle::new(tokio::spawn(task))));
    }
}

fn stops_of(pages: &Pages, page: &str) -> Option<Stops> {
    pages.lock().unwrap_or_else(PoisonError::into_inner).get(page).cloned()
}

/// Whether it is not the request that has stopped, but what the server answers: nothing here means that.
fn is_answer(event: &Event) -> bool {
    event.params["responseStatusCode"].is_u64()
}

/// As in Playwright, a route is asked once for a request: where the server sends it on, it goes. What the browser asks for by
/// itself, an icon of the site, is not the page's.
fn waits(stops: &Stops, event: &Event) -> bool {
    let url = event.params["request"]["url"].as_str().unwrap_or_default();
    let is_icon = event.params["resourceType"] == "Other" && url.ends_with("/favicon.ico");
    event.params.get("redirectedRequestId").is_none_or(Json::is_null)
        && !is_answer(event)
        && !is_icon
        && stops.hold(url)
}

/// Lets requests go on that no pattern means, and answers servers that ask for credentials, until the connection is gone.
async fn go_on(browser: Arc<ExecutionBrowser>, connected: Arc<ConnectedBrowser>, pages: Arc<Pages>, mut from: u64) {
    let is_stopped = |event: &Event| matches!(event.method.as_str(), PAUSED | ASKED_FOR_CREDENTIALS);
    let mut attempts = Attempts::default();
    while let Some(event) = connected.events().wait(from, &is_stopped).await {
        from = event.seq + 1;
        connected.catch_up();
        let Some(target) = event.session.as_deref().and_then(|session| connected.targets.target_of(session)) else {
            continue;
        };
        let page = page_of_target(&connected, &target);
        let Some(stops) = page.and_then(|page| stops_of(&pages, &page)) else { continue };
        let request = &event.params["requestId"];
        let (method, params) = match event.method.as_str() {
            ASKED_FOR_CREDENTIALS => {
                let answer = attempts.answer(stops.credentials.as_ref(), &target, &event.params);
                ("Fetch.continueWithAuth", json!({"requestId": request, "authChallengeResponse": answer}))
            }
            _ if is_answer(&event) || waits(&stops, &event) => continue,
            _ => ("Fetch.continueRequest", json!({ "requestId": request })),
        };
        // A request whose page has gone is gone as well.
        let _ = send_beside(&browser, &connected, &target, method, params).await;
    }
}

/// The event of a request that waits.
pub(crate) const PAUSED: &str = "Fetch.requestPaused";
const ASKED_FOR_CREDENTIALS: &str = "Fetch.authRequired";
const ENABLE: &str = "Fetch.enable";
/// The status with which a server asks for credentials.
const UNAUTHORIZED: u16 = 401;

/// How a script names a request that waits: the numbers of the browser are those of one target.
pub(crate) fn route_of(target: &str, request: &Json) -> String {
    format!("{target}:{}", request.as_str().unwrap_or_default())
}

impl Tab<'_> {
    /// Has the page's requests that one of the patterns means wait for an answer, instead of those of before.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if one is no pattern, or there are too many.
    pub async fn set_routes(&self, patterns: &[UrlPattern]) -> Result<(), ErrorReport> {
        if patterns.len() > ROUTES_MAX {
            return Err(reports::invalid(format!("a page may have {ROUTES_MAX} routes")));
        }
        let base = self.url();
        let compiled: Result<Vec<_>, _> = patterns.iter().map(|pattern| pattern.compiled(&base)).collect();
        let compiled = Arc::new(compiled?);
        self.change_stops(|stops| stops.patterns = compiled).await
    }

    /// Has servers that ask for credentials get these, or none any more.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if their origin is none.
    pub async fn set_credentials(&self, credentials: Option<Credentials>) -> Result<(), ErrorReport> {
        let credentials = credentials.map(Credentials::checked).transpose()?;
        self.change_stops(|stops| stops.credentials = credentials).await
    }

    /// What servers that ask the page for credentials get.
    pub(crate) fn credentials(&self) -> Option<Credentials> {
        stops_of(&self.verbs.routes.pages, &self.id).and_then(|stops| stops.credentials)
    }

    /// Whether nothing here answers servers that ask for credentials: Chromium then has an error page of its own.
    pub(crate) fn leaves_auth_to_browser(&self) -> bool {
        stops_of(&self.verbs.routes.pages, &self.id).is_none_or(|stops| !stops.handles_auth())
    }

    /// Navigates, and declines to give credentials: the page shows what the server answers with its question.
    pub(crate) async fn navigate_declining(
        &self,
        navigation: impl Future<Output = Result<Json, ErrorReport>>,
    ) -> Result<Json, ErrorReport> {
        self.change_stops(|stops| stops.declines = true).await?;
        let arrived = self.taking_answers(navigation).await;
        self.change_stops(|stops| stops.declines = false).await?;
        arrived
    }

    /// Takes answers of documents from the browser that it would not show, and gives them back without the question.
    async fn taking_answers(
        &self,
        navigation: impl Future<Output = Result<Json, ErrorReport>>,
    ) -> Result<Json, ErrorReport> {
        let session = self.session().await?;
        let mut from = self.cursor();
        let is_ours =
            |event: &Event| event.session.as_deref() == Some(&session) && event.method == PAUSED && is_answer(event);
        let mut navigation = std::pin::pin!(navigation);
        loop {
            let event = tokio::select! {
                biased;
                event = self.browser.events().wait(from, &is_ours) => event,
                arrived = &mut navigation => return arrived,
            };
            let Some(event) = event else { return Err(codemode_page::gone("its connection is closed")) };
            from = event.seq + 1;
            let mut params = json!({"requestId": event.params["requestId"]});
            if event.params["responseStatusCode"] != UNAUTHORIZED {
                self.send("Fetch.continueRequest", params).await?;
                continue;
            }
            let body = self.send("Fetch.getResponseBody", params.clone()).await?;
            let text = body["body"].as_str().unwrap_or_default();
            params["body"] = if body["base64Encoded"] == true { text.into() } else { STANDARD.encode(text).into() };
            let headers = event.params["responseHeaders"].as_array().into_iter().flatten();
            let is_kept = |header: &&Json| {
                let name = header["name"].as_str().unwrap_or_default().to_lowercase();
                !["www-authenticate", "content-encoding", "content-length", "transfer-encoding"].contains(&&*name)
            };
            params["responseHeaders"] = headers.filter(is_kept).cloned().collect();
            params["responseCode"] = UNAUTHORIZED.into();
            self.send("Fetch.fulfillRequest", params).await?;
        }
    }

    async fn change_stops(&self, change: impl FnOnce(&mut Stops)) -> Result<(), ErrorReport> {
        self.verbs.routes.go_on_beside(self);
        let (before, after) = {
            let mut pages = self.verbs.routes.pages.lock().unwrap_or_else(PoisonError::into_inner);
            if pages.len() >= PAGE_STATES_MAX {
                pages.retain(|page, _| self.browser.targets.target(page).is_some());
            }
            let stops = pages.entry(self.id.clone()).or_default();
            let before = stops.params();
            change(stops);
            (before, stops.params())
        };
        match after {
            after if after == before => Ok(()),
            Some(params) => self.ask_with_frames(ENABLE, params).await,
            None => self.unask_with_frames(ENABLE, "Fetch.disable").await,
        }
    }

    /// Answers a request that waits. `body` is what it is answered with, or what it carries on.
    ///
    /// # Errors
    /// When it does not wait any more.
    pub async fn answer_route(
        &self,
        route: &str,
        answer: &RouteAnswer,
        body: Option<&[u8]>,
    ) -> Result<(), ErrorReport> {
        let none = || reports::invalid("there is no such request of this page that waits");
        let (target, request) = route.split_once(':').ok_or_else(none)?;
        if page_of_target(&self.browser, target).is_none_or(|page| page != self.id) {
            return Err(none());
        }
        let (method, mut params) = match answer {
            RouteAnswer::Fulfill { status, headers } => {
                ("Fetch.fulfillRequest", json!({"responseCode": status, "responseHeaders": list(headers)}))
            }
            RouteAnswer::Abort { error_code } => {
                ("Fetch.failRequest", json!({"errorReason": reason(error_code.as_deref().unwrap_or("failed"))?}))
            }
            RouteAnswer::Continue { url, method, headers } => {
                let mut params = json!({});
                for (name, value) in [("url", url), ("method", method)] {
                    if let Some(value) = value {
                        params[name] = json!(value);
                    }
                }
                if let Some(headers) = headers {
                    params["headers"] = list(headers);
                }
                ("Fetch.continueRequest", params)
            }
        };
        params["requestId"] = json!(request);
        if let Some(body) = body {
            let field = if matches!(answer, RouteAnswer::Fulfill { .. }) { "body" } else { "postData" };
            params[field] = json!(STANDARD.encode(body));
        }
        self.send_to(target, method, params).await.map(drop)
    }
}

/// Headers as the protocol lists them.
pub(crate) fn list(headers: &BTreeMap<String, String>) -> Json {
    headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

/// Chromium's word for a failure.
fn reason(code: &str) -> Result<&'static str, ErrorReport> {
    Ok(match code.to_lowercase().as_str() {
        "aborted" => "Aborted",
        "accessdenied" => "AccessDenied",
        "addressunreachable" => "AddressUnreachable",
        "blockedbyclient" => "BlockedByClient",
        "blockedbyresponse" => "BlockedByResponse",
        "connectionaborted" => "ConnectionAborted",
        "connectionclosed" => "ConnectionClosed",
        "connectionfailed" => "ConnectionFailed",
        "connectionrefused" => "ConnectionRefused",
        "connectionreset" => "ConnectionReset",
        "internetdisconnected" => "InternetDisconnected",
        "namenotresolved" => "NameNotResolved",
        "timedout" => "TimedOut",
        "failed" => "Failed",
        other => {
            return Err(reports::invalid(format!("{other:?} is no error of a request")).with_hint(
                "One of aborted, accessdenied, blockedbyclient, connectionrefused, failed, namenotresolved, timedout.",
            ));
        }
    })
}
