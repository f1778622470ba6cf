//! Interception of requests that the script answers.
//!
//! While a page has patterns or credentials, the browser pauses all its requests. Requests that match no pattern are
//! continued at once by a background task; the others are page events, until they are answered.

use crate::{
    pattern::UrlPattern,
    reports,
    state::{
        credentials::Credentials,
        frames::page_of_target,
        routes::{ENABLE, Interception, PAUSED, is_response},
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

/// The status with which a server requests credentials.
const UNAUTHORIZED: u16 = 401;

/// The name of a paused request for scripts: the browser's ids are unique only within one target.
pub(crate) fn route_of(target: &str, request: &Json) -> String {
    format!("{target}:{}", request.as_str().unwrap_or_default())
}

impl Tab<'_> {
    /// Pauses the page's requests that match one of the patterns, until they are answered. Replaces earlier patterns.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a pattern is invalid, or there are too many.
    pub async fn set_routes(&self, patterns: &[UrlPattern]) -> Result<(), ErrorReport> {
        if patterns.len() > ROUTES_MAX {
            return Err(reports::invalid(format!("a page may have {ROUTES_MAX} routes")));
        }
        let base = self.url();
        let compiled: Result<Vec<_>, _> = patterns.iter().map(|pattern| pattern.compiled(&base)).collect();
        let compiled = Arc::new(compiled?);
        self.change_interception(|interception| interception.patterns = compiled).await
    }

    /// Sets the credentials for servers that request them, or removes them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if their origin is invalid.
    pub async fn set_credentials(&self, credentials: Option<Credentials>) -> Result<(), ErrorReport> {
        let credentials = credentials.map(Credentials::checked).transpose()?;
        self.change_interception(|interception| interception.credentials = credentials).await
    }

    /// The credentials for servers that request them from the page.
    pub(crate) fn credentials(&self) -> Option<Credentials> {
        self.verbs.routes.of(&self.id).and_then(|interception| interception.credentials)
    }

    /// Whether authentication requests are left to the browser: Chromium then shows an error page of its own.
    pub(crate) fn leaves_auth_to_browser(&self) -> bool {
        self.verbs.routes.of(&self.id).is_none_or(|interception| !interception.handles_auth())
    }

    /// Navigates without providing credentials: the page shows the body of the server's 401 response.
    ///
    /// # Cancellation
    /// May be dropped at any time: what the browser still pauses is then continued like other requests.
    pub(crate) async fn navigate_declining(
        &self,
        navigation: impl Future<Output = Result<Json, ErrorReport>>,
    ) -> Result<Json, ErrorReport> {
        let _declining = Declining(self);
        self.change_interception(|interception| interception.declines = true).await?;
        let arrived = self.strip_auth_challenges(navigation).await;
        let reset = self.change_interception(|interception| interception.declines = false).await;
        arrived.and_then(|arrived| reset.map(|()| arrived))
    }

    /// Takes the 401 responses of documents, which the browser would not show, and returns them to it without the
    /// authentication headers.
    async fn strip_auth_challenges(
        &self,
        navigation: impl Future<Output = Result<Json, ErrorReport>>,
    ) -> Result<Json, ErrorReport> {
        let session = self.session().await?;
        let mut from = self.cursor();
        let is_ours =
            |event: &Event| event.session.as_deref() == Some(&session) && event.method == PAUSED && is_response(event);
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

    async fn change_interception(&self, change: impl FnOnce(&mut Interception)) -> Result<(), ErrorReport> {
        self.verbs.routes.start_continuing(&self.verbs.browser, &self.browser, self.cursor());
        self.verbs.routes.share_with_popups(&self.verbs.browser, &self.browser, &self.verbs.page_commands);
        let [before, after] = self.verbs.routes.change(&self.browser, &self.id, change);
        match after {
            after if after == before => Ok(()),
            Some(params) => self.enable_with_frames(ENABLE, params).await,
            None => self.disable_with_frames(ENABLE, "Fetch.disable").await,
        }
    }

    /// Answers a paused request. `body` is the body of the response, or of the continued request.
    ///
    /// # Errors
    /// When the request is not paused any more.
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

/// A navigation that takes the responses of its page. Once it is dropped, they are continued in the background.
struct Declining<'t>(&'t Tab<'t>);

impl Drop for Declining<'_> {
    fn drop(&mut self) {
        let Self(tab) = self;
        tab.verbs.routes.change(&tab.browser, &tab.id, |interception| interception.declines = false);
    }
}

/// Headers in the protocol's list form.
pub(crate) fn list(headers: &BTreeMap<String, String>) -> Json {
    headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

/// The protocol's error reason for Playwright's error code.
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
