//! Requests that wait for an answer of the script's own.
//!
//! While a page has patterns, all its requests stop at the browser. Those that no pattern means go on at once, beside
//! whatever verb is under way; the others are news, until they are answered.

use crate::{
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

/// The patterns of the pages that have any.
#[derive(Default)]
pub(crate) struct Routes {
    pages: Arc<Mutex<HashMap<String, Arc<Vec<Compiled>>>>>,
    going_on: Mutex<Option<(Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

impl Routes {
    /// Whether a request of a page waits for the script.
    pub(crate) fn holds(&self, page: &str, url: &str) -> bool {
        holds(&self.pages, page, url)
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

fn holds(pages: &Mutex<HashMap<String, Arc<Vec<Compiled>>>>, page: &str, url: &str) -> bool {
    let patterns = pages.lock().unwrap_or_else(PoisonError::into_inner).get(page).cloned();
    patterns.is_some_and(|patterns| patterns.iter().any(|pattern| pattern.matches(url)))
}

/// Lets requests go on that no pattern means, until the connection is gone.
async fn go_on(
    browser: Arc<ExecutionBrowser>,
    connected: Arc<ConnectedBrowser>,
    pages: Arc<Mutex<HashMap<String, Arc<Vec<Compiled>>>>>,
    mut from: u64,
) {
    let is_paused = |event: &Event| event.method == PAUSED;
    while let Some(event) = connected.events().wait(from, &is_paused).await {
        from = event.seq + 1;
        connected.catch_up();
        let Some(page) = event.session.as_deref().and_then(|session| connected.targets.target_of(session)) else {
            continue;
        };
        let is_ours = pages.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&page);
        if !is_ours || holds(&pages, &page, event.params["request"]["url"].as_str().unwrap_or_default()) {
            continue;
        }
        let params = json!({"requestId": event.params["requestId"]});
        // A request whose page has gone is gone as well.
        let _ = send_beside(&browser, &connected, &page, "Fetch.continueRequest", params).await;
    }
}

/// The event of a request that waits.
pub(crate) const PAUSED: &str = "Fetch.requestPaused";

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
        self.verbs.routes.go_on_beside(self);
        let had_any = {
            let mut pages = self.verbs.routes.pages.lock().unwrap_or_else(PoisonError::into_inner);
            if pages.len() >= PAGE_STATES_MAX {
                pages.retain(|page, _| self.browser.targets.target(page).is_some());
            }
            pages.insert(self.id.clone(), Arc::clone(&compiled)).is_some_and(|before| !before.is_empty())
        };
        match (had_any, compiled.is_empty()) {
            (false, false) => self.send("Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]})).await.map(drop),
            (true, true) => self.send("Fetch.disable", json!({})).await.map(drop),
            _ => Ok(()),
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
        let list = |headers: &BTreeMap<String, String>| -> Json {
            headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
        };
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
        params["requestId"] = json!(route);
        if let Some(body) = body {
            let field = if matches!(answer, RouteAnswer::Fulfill { .. }) { "body" } else { "postData" };
            params[field] = json!(STANDARD.encode(body));
        }
        self.send(method, params).await.map(drop)
    }
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
