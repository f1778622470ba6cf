//! Requests that wait for an answer of the script's own.
//!
//! While a page has patterns or credentials, all its requests stop at the browser. Those that no pattern means go on at
//! once, beside whatever verb is under way; the others are news, until they are answered.

use crate::{
    pattern::UrlPattern,
    reports,
    state::{
        credentials::Credentials,
        frames::page_of_target,
        routes::{ENABLE, PAUSED, Stops, is_answer},
    },
    tab::Tab,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_page::Event;
use codemode_spec::{ErrorReport, limits::ROUTES_MAX};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, sync::Arc};

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
        self.verbs.routes.of(&self.id).and_then(|stops| stops.credentials)
    }

    /// Whether nothing here answers servers that ask for credentials: Chromium then has an error page of its own.
    pub(crate) fn leaves_auth_to_browser(&self) -> bool {
        self.verbs.routes.of(&self.id).is_none_or(|stops| !stops.handles_auth())
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
        self.verbs.routes.go_on_beside(&self.verbs.browser, &self.browser, self.cursor());
        self.verbs.routes.hand_down(&self.verbs.browser, &self.browser, &self.verbs.asked);
        let [before, after] = self.verbs.routes.change(&self.browser, &self.id, change);
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
