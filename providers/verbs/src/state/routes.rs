//! What stops the requests of pages, and the task that lets those go on that nobody means.

use super::{
    credentials::{Attempts, Credentials},
    frames::{Asked, page_of_target},
};
use crate::{
    beside::{BESIDE_MAX, send_beside},
    pattern::Compiled,
};
use codemode_page::{ConnectedBrowser, Event, ExecutionBrowser};
use codemode_spec::limits::PAGE_STATES_MAX;
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio_util::task::AbortOnDropHandle;

/// What stops the requests of a page.
#[derive(Clone, Default)]
pub(crate) struct Stops {
    pub(crate) patterns: Arc<Vec<Compiled>>,
    pub(crate) credentials: Option<Credentials>,
    /// An answer that asks for credentials is taken as it is: a person would press `Cancel`.
    pub(crate) declines: bool,
}

impl Stops {
    pub(crate) fn handles_auth(&self) -> bool {
        self.declines || self.credentials.is_some()
    }

    /// The parameters of `Fetch.enable`, if anything is to stop.
    pub(crate) fn params(&self) -> Option<Json> {
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
    /// What stops the requests of a page.
    pub(crate) fn of(&self, page: &str) -> Option<Stops> {
        stops_of(&self.pages, page)
    }

    /// Changes what stops the requests of a page: the parameters of `Fetch.enable` before and after.
    pub(crate) fn change(
        &self,
        connected: &ConnectedBrowser,
        page: &str,
        change: impl FnOnce(&mut Stops),
    ) -> [Option<Json>; 2] {
        change_stops(&self.pages, connected, page, change)
    }

    /// Has popups get the credentials of the pages that open them, before they ask for anything.
    pub(crate) fn hand_down(
        &self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        asked: &Arc<Asked>,
    ) {
        let (pages, asked) = (Arc::clone(&self.pages), Arc::clone(asked));
        let (browser, of) = (Arc::downgrade(browser), Arc::downgrade(connected));
        connected.greet_popups(Arc::new(move |popup| {
            let (pages, asked) = (Arc::clone(&pages), Arc::clone(&asked));
            let there = browser.upgrade().zip(of.upgrade());
            Box::pin(async move {
                if let Some((browser, connected)) = there {
                    hand_down_to(&popup, &browser, &connected, &pages, &asked).await;
                }
            })
        }));
    }

    /// Whether a request that has stopped waits for the script.
    pub(crate) fn holds(&self, page: &str, event: &Event) -> bool {
        stops_of(&self.pages, page).is_some_and(|stops| waits(&stops, event))
    }

    /// Starts letting requests go on that nobody means, on a connection, once: from the event `from` on.
    pub(crate) fn go_on_beside(&self, browser: &Arc<ExecutionBrowser>, connected: &Arc<ConnectedBrowser>, from: u64) {
        let mut going_on = self.going_on.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::downgrade(connected);
        if going_on.as_ref().is_some_and(|(of, _)| of.ptr_eq(&current)) {
            return;
        }
        let task = go_on(Arc::clone(browser), Arc::clone(connected), Arc::clone(&self.pages), from);
        *going_on = Some((current, AbortOnDropHandle::new(tokio::spawn(task))));
    }
}

fn change_stops(
    pages: &Pages,
    connected: &ConnectedBrowser,
    page: &str,
    change: impl FnOnce(&mut Stops),
) -> [Option<Json>; 2] {
    let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
    if pages.len() >= PAGE_STATES_MAX {
        pages.retain(|page, _| connected.targets.target(page).is_some());
    }
    let stops = pages.entry(page.to_owned()).or_default();
    let before = stops.params();
    change(stops);
    [before, stops.params()]
}

/// Gives a popup the credentials of the page that opened it.
async fn hand_down_to(
    popup: &str,
    browser: &Arc<ExecutionBrowser>,
    connected: &Arc<ConnectedBrowser>,
    pages: &Pages,
    asked: &Asked,
) {
    let opener = connected.targets.target(popup).and_then(|popup| popup.opener);
    let Some(given) = opener.and_then(|opener| stops_of(pages, &opener)?.credentials) else { return };
    let [_, params] = change_stops(pages, connected, popup, |stops| stops.credentials = Some(given));
    let params = params.unwrap_or_default();
    // A popup that is gone needs none.
    if connected.prepare_popup(popup, ENABLE, params.clone(), BESIDE_MAX).await.is_ok() {
        asked.note(browser, connected, popup, ENABLE, Some(params));
    }
}

fn stops_of(pages: &Pages, page: &str) -> Option<Stops> {
    pages.lock().unwrap_or_else(PoisonError::into_inner).get(page).cloned()
}

/// Whether it is not the request that has stopped, but what the server answers: nothing here means that.
pub(crate) fn is_answer(event: &Event) -> bool {
    event.params["responseStatusCode"].is_u64()
}

/// Whether a request is the browser's own for the icon of a site. As in Playwright, it is none of the page's.
pub(crate) fn is_icon(url: &str, kind: &Json) -> bool {
    kind == "Other" && url.ends_with("/favicon.ico")
}

/// As in Playwright, a route is asked once for a request: where the server sends it on, it goes.
fn waits(stops: &Stops, event: &Event) -> bool {
    let url = event.params["request"]["url"].as_str().unwrap_or_default();
    event.params.get("redirectedRequestId").is_none_or(Json::is_null)
        && !is_answer(event)
        && !is_icon(url, &event.params["resourceType"])
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
        let _ = match connected.targets.target(&target) {
            // A popup on its way to its first document: what is sent by the policy would wait for that.
            Some(popup) if popup.kind == "page" && popup.url.is_empty() => {
                connected.send_unjudged(&target, method, params, BESIDE_MAX).await
            }
            _ => send_beside(&browser, &connected, &target, method, params).await,
        };
    }
}

/// What has requests stop.
pub(crate) const ENABLE: &str = "Fetch.enable";
/// The event of a request that waits.
pub(crate) const PAUSED: &str = "Fetch.requestPaused";
const ASKED_FOR_CREDENTIALS: &str = "Fetch.authRequired";
