//! Navigations: where a page is on its way to, and what keeps it from there.
//!
//! A browser behind a proxy does not know why it gets no connection: it has a page of the proxy's in the place of the one
//! that it wanted, an empty answer, or a tunnel that failed. What the proxy itself tells (`Connection::no_connection_to`) is
//! put in the place of that: network rules that refuse a destination are an error for the script, and a destination that
//! cannot be reached fails as it does in a browser that connects by itself. A server can send the page and the headers of a
//! refusal as well, and is not believed.

use crate::{connected::ConnectedBrowser, policy};
use codemode_chromium::{Command, NoConnection};
use codemode_spec::{ErrorCode, ErrorReport, limits::URL_BYTES_MAX};
use serde_json::Value as Json;
use std::time::Duration;
use url::Url;

/// How Chromium says that a proxy did not connect it.
const NO_TUNNEL: &str = "net::ERR_TUNNEL_CONNECTION_FAILED";
/// How it says that a proxy gave no answer to a request.
const NO_ANSWER: &str = "net::ERR_EMPTY_RESPONSE";
/// How long the document that an answer speaks of may take to be the one of its page.
const COMMITTED_MAX: Duration = Duration::from_millis(500);
/// How often it is looked whether it is.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// A navigation that is under way.
pub(crate) struct Navigation {
    url: Option<Url>,
    way: Way,
    /// Destinations that had been told before.
    from: u64,
}

enum Way {
    /// That of a page; of this target, if it is known.
    Page(Option<String>),
    /// That of a frame in a page.
    Frame,
    /// That of a new page, which is answered before it is known whether there is anything.
    New,
}

impl Navigation {
    /// The navigation that a command asks for, if it asks for one. To be called before the command is sent.
    pub(crate) fn of(connected: &ConnectedBrowser, method: &str, params: &Json, target: Option<&str>) -> Option<Self> {
        let way = match method {
            "Page.navigate" if params.get("frameId").is_some() => Way::Frame,
            "Page.navigate" => Way::Page(target.map(str::to_owned)),
            "Target.createTarget" => Way::New,
            _ => return None,
        };
        // A longer one leads nowhere.
        let url = params["url"].as_str().filter(|url| url.len() <= URL_BYTES_MAX);
        let url = url.and_then(|url| Url::parse(url).ok());
        if let (Way::Page(Some(target)), Some(url)) = (&way, &url) {
            connected.targets.navigating_to(target, url);
        }
        Some(Self { url, way, from: connected.connection.destinations_told() })
    }

    /// Takes note of the command's answer.
    pub(crate) fn answered(&self, connected: &ConnectedBrowser, answer: &Result<Json, ErrorReport>) {
        connected.catch_up();
        let target = match (&self.way, answer) {
            (Way::Page(target), _) => target.as_deref(),
            (Way::New, Ok(answer)) => answer["targetId"].as_str(),
            _ => None,
        };
        let (Some(target), Some(url)) = (target.and_then(|target| connected.targets.target(target)), &self.url) else {
            return;
        };
        match answer {
            Ok(answer) if answer.get("errorText").is_some() => connected.targets.navigation_failed(&target.id),
            // Otherwise it is there already, or was redirected.
            Ok(_) if matches!(&*target.url, "" | "about:blank") => connected.targets.navigating_to(&target.id, url),
            // It goes on.
            Err(error) if error.code == ErrorCode::CallTimeout => {}
            Err(_) => connected.targets.navigation_failed(&target.id),
            Ok(_) => {}
        }
    }

    /// What the proxy says of the place where the navigation was to lead, or was redirected to, after the command's
    /// answer: another answer that says why there is no connection, if the browser's own does not.
    ///
    /// # Errors
    /// `POLICY_REFUSED` with host and rule if network rules refuse it.
    pub(crate) async fn explained(
        &self,
        connected: &ConnectedBrowser,
        session: Option<&str>,
        answer: &Json,
    ) -> Result<Option<Json>, ErrorReport> {
        // The connection may have failed for a request that was under way before. A lease's rules do not change: what was
        // refused once is why.
        let from = if answer["errorText"] == NO_TUNNEL { 0 } else { self.from };
        if matches!(self.way, Way::New) || connected.connection.destinations_told() == from {
            return Ok(None);
        }
        let told = |url: &Url| connected.told_of(url, from);
        let mut why = self.url.as_ref().and_then(told);
        if let (None, Way::Page(_), Some(session), Some(loader)) =
            (&why, &self.way, session, answer["loaderId"].as_str())
        {
            let committed = tokio::time::timeout(COMMITTED_MAX, committed(connected, session, loader)).await;
            why = committed.ok().flatten().as_ref().and_then(told);
        }
        match why {
            Some(Told::Refused(report)) => Err(report),
            Some(Told::Unreachable(error)) if answer["errorText"].as_str().is_some_and(is_of_proxy) => {
                let mut answer = answer.clone();
                answer["errorText"] = error.into();
                Ok(Some(answer))
            }
            _ => Ok(None),
        }
    }
}

/// What the proxy says of a destination.
enum Told {
    Refused(ErrorReport),
    Unreachable(String),
}

/// Whether the browser's words for a failure are those for a proxy that did not connect it.
fn is_of_proxy(error: &str) -> bool {
    matches!(error, NO_TUNNEL | NO_ANSWER)
}

impl ConnectedBrowser {
    fn told_of(&self, url: &Url, from: u64) -> Option<Told> {
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        Some(match self.connection.no_connection_to(host, port, from)? {
            NoConnection::Refused(rule) => Told::Refused(policy::refused_by_the_network(host, port, &rule)),
            NoConnection::Unreachable(error) => Told::Unreachable(error),
        })
    }

    /// The report of network rules that have refused requests to the host of an address. A lease's rules do not change:
    /// what was refused once is why the next request gets no other answer.
    #[must_use]
    pub fn refused_by_network_rules(&self, url: &str) -> Option<ErrorReport> {
        match self.told_of(&Url::parse(url).ok()?, 0)? {
            Told::Refused(report) => Some(report),
            Told::Unreachable(_) => None,
        }
    }

    /// Why a request to an address failed, as Chromium says it when it connects by itself: `error` is what it said, which
    /// may be no more than that its proxy did not connect it.
    #[must_use]
    pub fn net_error(&self, url: &str, error: &str) -> String {
        let known = is_of_proxy(error).then(|| self.told_of(&Url::parse(url).ok()?, 0)).flatten();
        match known {
            Some(Told::Unreachable(error)) => error,
            _ => error.to_owned(),
        }
    }
}

/// The URL of a document, which Chromium commits only after it has answered.
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
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}
