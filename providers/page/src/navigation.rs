//! Navigations: where a page is on its way to, and whether network rules refuse it.
//!
//! A refusal is an error for the script, which otherwise has a page of the proxy's in the place of the one that it wanted,
//! or for `https` an `errorText` that does not say why. What counts is only what the proxy itself tells
//! (`Connection::refusal_of`). A server can send the page and the headers of a refusal as well, and is not believed.

use crate::{connected::ConnectedBrowser, policy};
use codemode_chromium::Command;
use codemode_spec::{ErrorCode, ErrorReport, limits::URL_BYTES_MAX};
use serde_json::Value as Json;
use std::time::Duration;
use url::Url;

/// How Chromium says that a proxy did not connect it.
const NO_TUNNEL: &str = "net::ERR_TUNNEL_CONNECTION_FAILED";
/// How long the document that an answer speaks of may take to be the one of its page.
const COMMITTED_MAX: Duration = Duration::from_millis(500);
/// How often it is looked whether it is.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// A navigation that is under way.
pub(crate) struct Navigation {
    url: Option<Url>,
    way: Way,
    /// Refusals that had been told before.
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
        Some(Self { url, way, from: connected.connection.refusals_told() })
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

    /// Whether network rules refused it, or where it was redirected to, by the command's answer.
    ///
    /// # Errors
    /// `POLICY_REFUSED` with host and rule.
    pub(crate) async fn check(
        &self,
        connected: &ConnectedBrowser,
        session: Option<&str>,
        answer: &Json,
    ) -> Result<(), ErrorReport> {
        // The connection may have failed for a request that was under way before. A lease's rules do not change: what was
        // refused once is why.
        let from = if answer["errorText"] == NO_TUNNEL { 0 } else { self.from };
        if matches!(self.way, Way::New) || connected.connection.refusals_told() == from {
            return Ok(());
        }
        let refusal = |url: &Url| connected.connection.refusal_of(url.host_str()?, url.port_or_known_default()?, from);
        let mut refused = self.url.as_ref().and_then(refusal);
        if let (None, Way::Page(_), Some(session), Some(loader)) =
            (&refused, &self.way, session, answer["loaderId"].as_str())
        {
            let committed = tokio::time::timeout(COMMITTED_MAX, committed(connected, session, loader)).await;
            refused = committed.ok().flatten().as_ref().and_then(refusal);
        }
        refused.map_or(Ok(()), |refused| Err(policy::refused_by_the_network(&refused)))
    }
}

impl ConnectedBrowser {
    /// The report of network rules that have refused requests to the host of an address. A lease's rules do not change:
    /// what was refused once is why the next request gets no other answer.
    #[must_use]
    pub fn refused_by_network_rules(&self, url: &str) -> Option<ErrorReport> {
        let url = Url::parse(url).ok()?;
        let refused = self.connection.refusal_of(url.host_str()?, url.port_or_known_default()?, 0)?;
        Some(policy::refused_by_the_network(&refused))
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
