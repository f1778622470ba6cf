//! Requests made by scripts and sent by the browser: with its cookies, over its network, and under its policy.
//!
//! A request is the navigation of an empty tab that never commits. It is intercepted before it is sent, and gets the
//! script's method, headers and body; it is intercepted again when the server's response begins, which is read there;
//! then it is abandoned. So no page sees the request or the response, no code of the site runs, the policy and the
//! network rules judge it like any navigation, and cross-origin restrictions of pages do not apply.

use crate::{
    reports,
    routes::list,
    state::{credentials::Attempts, routes::PAUSED},
    tab::{LARGE_ANSWER_BYTES, Tab},
    verbs::Verbs,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_page::Event;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{FETCH_BODY_BYTES_MAX, FETCH_HEADERS_BYTES_MAX, FETCH_REDIRECTS_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;
use url::Url;

/// The chunk size for reading a body. As base64 a chunk is below the size of a large answer, so only the page acquires
/// the permit for one.
const READ_BYTES: usize = 64 << 10;
/// The minimum time for opening a tab, whatever time the request has: a tab whose creation is cancelled would be
/// leaked.
const OPEN_MAX: Duration = Duration::from_secs(10);
/// Headers that only the network stack may set.
const NETWORK_STACK_HEADERS: &[&str] =
    &["connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
/// Headers of navigations that a script's request does not have.
const NAVIGATION_HEADERS: &[&str] = &["accept", "upgrade-insecure-requests"];
/// Headers with credentials: not forwarded to another origin.
const CREDENTIAL_HEADERS: &[&str] = &["authorization", "cookie", "proxy-authorization"];

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FetchRequest {
    /// Where it goes: `http:` or `https:`.
    url: String,
    /// Its method.
    #[serde(default = "get")]
    method: String,
    /// The headers by their names, in any case.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// How often a server may send it elsewhere, 20 times if it is not given; 0: what the server says then is the answer.
    #[serde(default)]
    max_redirects: Option<u32>,
}

fn get() -> String {
    "GET".to_owned()
}

/// The server's response, without its body.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FetchAnswer {
    url: String,
    status: u64,
    status_text: String,
    /// The name and value of each header, in their order.
    headers: Vec<(String, String)>,
}

impl FetchRequest {
    /// Validates the request and lower-cases its header names.
    fn checked(mut self) -> Result<(Self, Url), ErrorReport> {
        let url = Url::parse(&self.url).map_err(|_| reports::invalid(format!("{:?} is no url", short(&self.url))))?;
        if !matches!(url.scheme(), "http" | "https") {
            let message = format!("{}: is refused: only http: and https: can be requested", url.scheme());
            return Err(ErrorReport::new(ErrorCode::PolicyRefused, message)
                .with_hint("Open a page for other addresses: browser.open(url)."));
        }
        let is_token = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
        };
        self.method = self.method.to_ascii_uppercase();
        if !is_token(&self.method) || matches!(&*self.method, "CONNECT" | "TRACE" | "TRACK") {
            return Err(reports::invalid(format!("{:?} is no method of a request", short(&self.method))));
        }
        let bytes: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > FETCH_HEADERS_BYTES_MAX {
            return Err(reports::invalid(format!("the headers may have {FETCH_HEADERS_BYTES_MAX} bytes")));
        }
        self.headers =
            std::mem::take(&mut self.headers).into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
        for (name, value) in &self.headers {
            if !is_token(name) || value.contains(['\r', '\n', '\0']) {
                return Err(reports::invalid(format!("{:?} is no header", short(name))));
            }
            if NETWORK_STACK_HEADERS.contains(&&**name) {
                return Err(reports::invalid(format!("the header {name} is the browser's own to set")));
            }
        }
        Ok((self, url))
    }

    /// The headers that the request gets at a URL, derived from those that the browser would send.
    fn headers_at(&self, first: &Url, params: &Json) -> BTreeMap<String, String> {
        let sent = &params["request"];
        let theirs = sent["headers"].as_object().into_iter().flatten();
        let mut headers: BTreeMap<String, String> = theirs
            .map(|(name, value)| (name.to_lowercase(), value.as_str().unwrap_or_default().to_owned()))
            .filter(|(name, _)| !NAVIGATION_HEADERS.contains(&&**name) && !self.headers.contains_key(name))
            .collect();
        headers.insert("accept".to_owned(), "*/*".to_owned());
        let is_same_origin =
            sent["url"].as_str().and_then(|url| Url::parse(url).ok()).is_some_and(|at| at.origin() == first.origin());
        // A server that redirects the request to a GET does not get its body headers either.
        let has_body = sent["method"] == self.method.as_str();
        let ours = self.headers.iter().filter(|(name, _)| {
            (is_same_origin || !CREDENTIAL_HEADERS.contains(&&***name)) && (has_body || !name.starts_with("content-"))
        });
        headers.extend(ours.map(|(name, value)| (name.clone(), value.clone())));
        headers
    }
}

impl Tab<'_> {
    /// Sends a request in the page's browser context, as a first-party request of the requested site: the context's
    /// cookies are sent, and cookies of the response are stored.
    ///
    /// # Errors
    /// `POLICY_REFUSED`, `INVALID_ARGUMENT`, `CALL_FAILED` if there is no response, `RESULT_TOO_LARGE`, `CALL_TIMEOUT`.
    ///
    /// # Cancellation
    /// May be dropped at any time; [`Verbs::close_scratch_tabs`] closes tabs that remain.
    pub async fn fetch(
        &self,
        request: FetchRequest,
        body: Option<&[u8]>,
    ) -> Result<(FetchAnswer, Vec<u8>), ErrorReport> {
        let (request, url) = request.checked()?;
        let scratch = self.open_scratch_tab().await?;
        let answer = Exchange { page: self, tab: &scratch, request: &request, first: &url, body }.answer().await;
        self.verbs.close_scratch_tab(&scratch).await;
        // Keep the page, not the scratch tab, as the page that the script last used.
        self.browser.targets.used(&self.id);
        answer
    }

    /// Opens an empty tab in the page's browser context that is hidden from scripts.
    pub(crate) async fn open_scratch_tab(&self) -> Result<Tab<'_>, ErrorReport> {
        let _creating = self.verbs.scratch_tabs.creating.write().await;
        let mut params = json!({"url": "about:blank", "background": true});
        if let Some(context) = self.own_context().await? {
            params["browserContextId"] = context.into();
        }
        let deadline = self.deadline.max(Instant::now() + OPEN_MAX);
        let opener = Tab::new(self.verbs, self.browser.clone(), String::new(), self.timeout, deadline);
        let made = opener.send_to_browser("Target.createTarget", params).await?;
        let id = made["targetId"].as_str().unwrap_or_default().to_owned();
        self.verbs.scratch_tabs.note(&id);
        Ok(Tab::new(self.verbs, self.browser.clone(), id, self.timeout, self.deadline))
    }

    /// The page's browser context, or `None` if it is the browser's default context.
    pub(crate) async fn own_context(&self) -> Result<Option<String>, ErrorReport> {
        let Some(context) = self.browser.targets.target(&self.id).and_then(|page| page.context) else {
            return Ok(None);
        };
        let made = self.send_to_browser("Target.getBrowserContexts", json!({})).await?;
        let is_made = made["browserContextIds"].as_array().into_iter().flatten().any(|id| *id == context.as_str());
        Ok(Some(context).filter(|_| is_made))
    }
}

impl Verbs {
    /// Closes the tabs of cancelled requests. To be called once, when no calls are running any more.
    pub async fn close_scratch_tabs(&self, deadline: Instant) {
        let left = self.scratch_tabs.take();
        let Some(browser) = self.browser.current().filter(|_| !left.is_empty()) else { return };
        for id in left {
            let timeout = deadline.saturating_duration_since(Instant::now());
            let tab = Tab::new(self, browser.clone(), id, timeout, deadline);
            let _ = tab.send_to_browser("Target.closeTarget", json!({"targetId": tab.id})).await;
        }
    }

    pub(crate) async fn close_scratch_tab(&self, scratch: &Tab<'_>) {
        // Closing has its own timeout, since the verb's time may be over.
        let _ = scratch.close(false).await;
        self.scratch_tabs.forget(&scratch.id);
    }
}

/// A request under way.
struct Exchange<'e> {
    page: &'e Tab<'e>,
    tab: &'e Tab<'e>,
    request: &'e FetchRequest,
    first: &'e Url,
    body: Option<&'e [u8]>,
}

impl Exchange<'_> {
    async fn answer(&self) -> Result<(FetchAnswer, Vec<u8>), ErrorReport> {
        let stages = json!([
            {"urlPattern": "*", "requestStage": "Request"}, {"urlPattern": "*", "requestStage": "Response"},
        ]);
        // The response must not come from a service worker of the site or from the cache.
        self.tab.send("Network.setBypassServiceWorker", json!({"bypass": true})).await?;
        self.tab.send("Network.setCacheDisabled", json!({"cacheDisabled": true})).await?;
        self.tab.send("Fetch.enable", json!({"patterns": stages, "handleAuthRequests": true})).await?;
        let session = self.tab.session().await?;
        let mut from = self.tab.cursor();
        let mut attempts = Attempts::default();
        let mut redirects = 0;
        let mut asked = self.request.url.clone();
        let mut is_sent = false;
        let mut navigation = std::pin::pin!(self.tab.send("Page.navigate", json!({"url": self.request.url})));
        let is_ours = |event: &Event| event.session.as_deref() == Some(&session) && event.method.starts_with("Fetch.");
        let left = tokio::time::sleep(self.tab.left());
        let mut left = std::pin::pin!(left);
        loop {
            let event = tokio::select! {
                biased;
                event = self.tab.browser.events().wait(from, &is_ours) => {
                    event.ok_or_else(|| codemode_page::gone("its connection is closed"))?
                }
                arrived = &mut navigation => return Err(self.not_answered(arrived, &asked)),
                () = &mut left => return Err(self.tab.too_late("the answer of the server")),
            };
            from = event.seq + 1;
            let params = &event.params;
            if event.method != PAUSED {
                let credentials = self.page.credentials();
                let answer = attempts.answer(credentials.as_ref(), &self.tab.id, params);
                self.resume(params, "Fetch.continueWithAuth", json!({ "authChallengeResponse": answer })).await?;
                continue;
            }
            let is_answer = params["responseStatusCode"].is_u64();
            at(params).clone_into(&mut asked);
            // The proxy reports a refusal before it answers in the server's place.
            if let Some(refused) = self.tab.browser.refused_by_network_rules(&asked).filter(|_| is_answer) {
                return Err(refused);
            }
            if !is_answer && !params["responseErrorReason"].is_string() {
                self.continue_to_server(params, is_sent).await?;
                is_sent = true;
                continue;
            }
            let redirects_max = self.request.max_redirects.unwrap_or(FETCH_REDIRECTS_MAX);
            if is_answer && !(leads_on(params) && redirects_max > 0) {
                return self.read(params).await;
            }
            if is_answer && redirects >= redirects_max {
                let message =
                    format!("Max redirect count exceeded: {redirects} redirects, the last from {}", at(params));
                return Err(ErrorReport::new(ErrorCode::CallFailed, message)
                    .with_hint("Pass maxRedirects: 0 to see what the server answers."));
            }
            redirects += u32::from(is_answer);
            // A failed request fails the navigation, whose error says why.
            self.resume(params, "Fetch.continueRequest", json!({})).await?;
        }
    }

    /// Lets the request continue to the server: the first time with the script's method and body.
    async fn continue_to_server(&self, params: &Json, is_sent: bool) -> Result<(), ErrorReport> {
        let mut changed = json!({"headers": list(&self.request.headers_at(self.first, params))});
        if !is_sent {
            changed["method"] = self.request.method.as_str().into();
            if let Some(body) = self.body {
                changed["postData"] = STANDARD.encode(body).into();
            }
            // The intercepted request is still the navigation, whose method differs.
            let mut first = params.clone();
            first["request"]["method"] = self.request.method.as_str().into();
            changed["headers"] = list(&self.request.headers_at(self.first, &first));
        }
        self.resume(params, "Fetch.continueRequest", changed).await
    }

    async fn resume(&self, stopped: &Json, method: &str, mut params: Json) -> Result<(), ErrorReport> {
        params["requestId"] = stopped["requestId"].clone();
        self.tab.send(method, params).await.map(drop)
    }

    /// Reads the response at which the navigation was intercepted.
    async fn read(&self, params: &Json) -> Result<(FetchAnswer, Vec<u8>), ErrorReport> {
        let headers = params["responseHeaders"].as_array().into_iter().flatten();
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let status = params["responseStatusCode"].as_u64().unwrap_or_default();
        let answer = FetchAnswer {
            url: at(params).to_owned(),
            status,
            status_text: text(&params["responseStatusText"]),
            headers: headers.map(|header| (text(&header["name"]), text(&header["value"]))).collect(),
        };
        // The browser reads no body of a redirect.
        let has_body = self.request.method != "HEAD" && !matches!(status, 204 | 205 | 304) && !leads_on(params);
        let body = if has_body { self.read_body(&params["requestId"]).await? } else { Vec::new() };
        Ok((answer, body))
    }

    async fn read_body(&self, request: &Json) -> Result<Vec<u8>, ErrorReport> {
        let stream = self.tab.send("Fetch.takeResponseBodyAsStream", json!({ "requestId": request })).await?;
        let mut body = Vec::new();
        loop {
            let read = json!({"handle": stream["stream"], "size": READ_BYTES});
            let part = self.tab.send("IO.read", read).await?;
            let data = part["data"].as_str().unwrap_or_default();
            let broken = |error| reports::invalid(format!("the body cannot be read: {error}"));
            match part["base64Encoded"] == true {
                true => body.extend(STANDARD.decode(data).map_err(broken)?),
                false => body.extend_from_slice(data.as_bytes()),
            }
            if body.len() > FETCH_BODY_BYTES_MAX {
                let message = format!("the answer's body has more than {FETCH_BODY_BYTES_MAX} bytes");
                return Err(ErrorReport::new(ErrorCode::ResultTooLarge, message)
                    .with_hint("Open the address in a page and have it downloaded: page.waitForEvent(\"download\")."));
            }
            if part["eof"] == true {
                return Ok(body);
            }
            if body.len() > LARGE_ANSWER_BYTES {
                self.page.acquire_large_permit().await?;
            }
        }
    }

    /// The error of a navigation that ended before there was a response.
    fn not_answered(&self, arrived: Result<Json, ErrorReport>, asked: &str) -> ErrorReport {
        if let Some(refused) = self.tab.browser.refused_by_network_rules(asked) {
            return refused;
        }
        let why = match arrived {
            Err(error) if error.code != ErrorCode::CdpProtocolError => return error,
            Err(error) => error.message,
            Ok(arrived) => match arrived["errorText"].as_str() {
                Some(error) => self.tab.browser.net_error(asked, error),
                None => "the server gave no answer".to_owned(),
            },
        };
        ErrorReport::new(ErrorCode::CallFailed, format!("{why} at {}", short(&self.request.url)))
            .with_hint("Look at the address, and whether its server is there.")
    }
}

fn at(params: &Json) -> &str {
    params["request"]["url"].as_str().unwrap_or_default()
}

/// Whether a response is a redirect.
fn leads_on(params: &Json) -> bool {
    matches!(params["responseStatusCode"].as_u64(), Some(301 | 302 | 303 | 307 | 308))
        && header(params, "location").is_some()
}

fn header<'p>(params: &'p Json, wanted: &str) -> Option<&'p str> {
    let mut headers = params["responseHeaders"].as_array()?.iter();
    let is_wanted = |header: &&Json| header["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
    headers.find(is_wanted).and_then(|header| header["value"].as_str())
}

fn short(text: &str) -> String {
    codemode_page::short(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, url: &str, headers: &[(&str, &str)]) -> FetchRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        FetchRequest { url: url.to_owned(), method: method.to_owned(), headers, max_redirects: None }
    }

    #[test]
    fn what_is_no_request_of_a_page_is_refused() {
        let refused = |request: FetchRequest| request.checked().map(drop).unwrap_err().code;
        for url in [
            "file:///etc/passwd",
            "chrome://version",
            "data:,x",
            "about:blank",
            "view-source:http://a.test/",
            "ftp://a.test/",
        ] {
            assert_eq!(refused(request("GET", url, &[])), ErrorCode::PolicyRefused, "{url}");
        }
        assert_eq!(refused(request("GET", "/path", &[])), ErrorCode::InvalidArgument);
        for method in ["", "CONNECT", "trace", "GET /x HTTP/1.1\r\n"] {
            assert_eq!(refused(request(method, "http://a.test/", &[])), ErrorCode::InvalidArgument, "{method}");
        }
        for (name, value) in [("Host", "b.test"), ("a b", ""), ("x", "a\r\nb: c"), ("Content-Length", "1"), ("", "")] {
            assert_eq!(
                refused(request("GET", "http://a.test/", &[(name, value)])),
                ErrorCode::InvalidArgument,
                "{name}"
            );
        }
        let large = "x".repeat(FETCH_HEADERS_BYTES_MAX);
        assert_eq!(refused(request("GET", "http://a.test/", &[("x", &large)])), ErrorCode::InvalidArgument);
    }

    #[test]
    fn credentials_do_not_follow_to_another_origin() {
        let given = [("Authorization", "Bearer x"), ("X-Mine", "yes"), ("Content-Type", "text/plain")];
        let (request, first) = request("post", "http://a.test/", &given).checked().unwrap();
        let headers = |url: &str, method: &str| {
            let theirs =
                json!({"Accept": "text/html", "User-Agent": "u", "Cookie": "c=1", "Upgrade-Insecure-Requests": "1"});
            let params = json!({"request": {"url": url, "method": method, "headers": theirs}});
            request
                .headers_at(&first, &params)
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
        };
        let all = [
            "accept=*/*",
            "authorization=Bearer x",
            "content-type=text/plain",
            "cookie=c=1",
            "user-agent=u",
            "x-mine=yes",
        ];
        assert_eq!(headers("http://a.test/x", "POST"), all);
        assert_eq!(
            headers("http://b.test/", "POST"),
            ["accept=*/*", "content-type=text/plain", "cookie=c=1", "user-agent=u", "x-mine=yes"]
        );
        assert_eq!(
            headers("http://a.test/x", "GET"),
            ["accept=*/*", "authorization=Bearer x", "cookie=c=1", "user-agent=u", "x-mine=yes"]
        );
    }
}
