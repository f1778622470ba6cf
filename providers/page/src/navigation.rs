//! Navigations started by commands: updates the URL under which a page is shown, and explains failures behind the
//! proxy.
//!
//! A browser behind a proxy does not know why a connection failed: it sees an error page sent by the proxy, an empty
//! answer, or a failed tunnel. The proxy itself reports the reason (`Connection::no_connection_to`), and that replaces
//! the browser's: a destination that network rules refuse is an error for the script, and an unreachable destination
//! fails as in a browser without a proxy. The reason is never taken from the page or its headers, since a server could
//! send those of a refusal as well.

use crate::{connected::ConnectedBrowser, policy};
use codemode_chromium::{Command, NoConnection};
use codemode_spec::{ErrorCode, ErrorReport, limits::URL_BYTES_MAX};
use serde_json::Value as Json;
use std::time::Duration;
use url::Url;

/// Chromium's error when the proxy did not open a tunnel.
const NO_TUNNEL: &str = "net::ERR_TUNNEL_CONNECTION_FAILED";
/// Chromium's error when the proxy closed the connection without an answer.
const NO_ANSWER: &str = "net::ERR_EMPTY_RESPONSE";
/// How long the document named in the answer to a navigation may take to be committed.
const COMMITTED_MAX: Duration = Duration::from_millis(500);
/// How often to check whether the document is committed.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A navigation in progress.
pub(crate) struct Navigation {
    url: Option<Url>,
    kind: Kind,
    /// How many destinations the proxy had reported before this navigation.
    from: u64,
}

enum Kind {
    /// A page navigates: this target, if it is known.
    Page(Option<String>),
    /// A frame within a page navigates.
    Frame,
    /// A new page opens; the command is answered before the load has succeeded or failed.
    New,
}

impl Navigation {
    /// The navigation that a command starts, if it starts one. Must be called before the command is sent.
    pub(crate) fn of(connected: &ConnectedBrowser, method: &str, params: &Json, target: Option<&str>) -> Option<Self> {
        let kind = match method {
            "Page.navigate" if params.get("frameId").is_some() => Kind::Frame,
            "Page.navigate" => Kind::Page(target.map(str::to_owned)),
            "Target.createTarget" => Kind::New,
            _ => return None,
        };
        // Chromium rejects longer URLs.
        let url = params["url"].as_str().filter(|url| url.len() <= URL_BYTES_MAX);
        let url = url.and_then(|url| Url::parse(url).ok());
        if let (Kind::Page(Some(target)), Some(url)) = (&kind, &url) {
            connected.targets.navigating_to(target, url);
        }
        Some(Self { url, kind, from: connected.connection.destinations_told() })
    }

    /// Updates the page's displayed URL according to the command's answer.
    pub(crate) fn record_answer(&self, connected: &ConnectedBrowser, answer: &Result<Json, ErrorReport>) {
        connected.catch_up();
        let target = match (&self.kind, answer) {
            (Kind::Page(target), _) => target.as_deref(),
            (Kind::New, Ok(answer)) => answer["targetId"].as_str(),
            _ => None,
        };
        let (Some(target), Some(url)) = (target.and_then(|target| connected.targets.target(target)), &self.url) else {
            return;
        };
        match answer {
            Ok(answer) if answer.get("errorText").is_some() => connected.targets.navigation_failed(&target.id),
            // Any other URL is that of the committed page, possibly after a redirect.
            Ok(_) if matches!(&*target.url, "" | "about:blank") => connected.targets.navigating_to(&target.id, url),
            // The navigation is still in progress.
            Err(error) if error.code == ErrorCode::CallTimeout => {}
            Err(_) => connected.targets.navigation_failed(&target.id),
            Ok(_) => {}
        }
    }

    /// What the proxy reported about the navigation's destination, or about the one that it was redirected to. Returns
    /// a replacement for the command's answer, with the proxy's reason in `errorText`, if the browser's own answer
    /// lacks that.
    ///
    /// # Errors
    /// `POLICY_REFUSED` with host and rule if network rules refuse it.
    pub(crate) async fn answer_from_proxy(
        &self,
        connected: &ConnectedBrowser,
        session: Option<&str>,
        answer: &Json,
    ) -> Result<Option<Json>, ErrorReport> {
        // The connection may have failed for an earlier request. A lease's rules do not change, so a past refusal
        // applies to this navigation as well.
        let from = if answer["errorText"] == NO_TUNNEL { 0 } else { self.from };
        if matches!(self.kind, Kind::New) || connected.connection.destinations_told() == from {
            return Ok(None);
        }
        let report = |url: &Url| connected.proxy_report(url, from);
        let mut why = self.url.as_ref().and_then(report);
        if let (None, Kind::Page(_), Some(session), Some(loader)) =
            (&why, &self.kind, session, answer["loaderId"].as_str())
        {
            let committed = tokio::time::timeout(COMMITTED_MAX, committed(connected, session, loader)).await;
            why = committed.ok().flatten().as_ref().and_then(report);
        }
        match why {
            Some(ProxyReport::Refused(report)) => Err(report),
            Some(ProxyReport::Unreachable(error)) if answer["errorText"].as_str().is_some_and(is_of_proxy) => {
                let mut answer = answer.clone();
                answer["errorText"] = error.into();
                Ok(Some(answer))
            }
            _ => Ok(None),
        }
    }
}

/// Why the proxy did not connect to a destination.
enum ProxyReport {
    Refused(ErrorReport),
    Unreachable(String),
}

/// Whether an error of the browser only says that its proxy did not connect.
fn is_of_proxy(error: &str) -> bool {
    matches!(error, NO_TUNNEL | NO_ANSWER)
}

impl ConnectedBrowser {
    fn proxy_report(&self, url: &Url, from: u64) -> Option<ProxyReport> {
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        Some(match self.connection.no_connection_to(host, port, from)? {
            NoConnection::Refused(rule) => ProxyReport::Refused(policy::refused_by_the_network(host, port, &rule)),
            NoConnection::Unreachable(error) => ProxyReport::Unreachable(error),
        })
    }

    /// The report of network rules that have refused requests to a URL's host. A lease's rules do not change, so a past
    /// refusal also explains why the next request fails.
    #[must_use]
    pub fn refused_by_network_rules(&self, url: &str) -> Option<ErrorReport> {
        match self.proxy_report(&Url::parse(url).ok()?, 0)? {
            ProxyReport::Refused(report) => Some(report),
            ProxyReport::Unreachable(_) => None,
        }
    }

    /// Why a request to a URL failed, as Chromium reports it without a proxy. `error` is Chromium's own error, which
    /// may only say that its proxy did not connect.
    #[must_use]
    pub fn net_error(&self, url: &str, error: &str) -> String {
        let known = is_of_proxy(error).then(|| self.proxy_report(&Url::parse(url).ok()?, 0)).flatten();
        match known {
            Some(ProxyReport::Unreachable(error)) => error,
            _ => error.to_owned(),
        }
    }
}

/// Waits until Chromium has committed the document of this loader, which it does only after it has answered the
/// navigation, and returns the document's URL.
async fn committed(connected: &ConnectedBrowser, session: &str, loader: &str) -> Option<Url> {
    loop {
        let command =
            Command { method: "Page.getFrameTree", params: Json::Null, session: Some(session), timeout: COMMITTED_MAX };
        let mut answer = connected.connection.call(command).await.ok()?;
        let frame = answer["frameTree"]["frame"].take();
        if frame["loaderId"] == loader {
            let url = frame.get("unreachableUrl").or_else(|| frame.get("url"));
            return Url::parse(url?.as_str()?).ok();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
