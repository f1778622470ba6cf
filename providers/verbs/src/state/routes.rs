//! The request interception of pages, and the task that continues the requests that match no route.

use super::{
    credentials::{Attempts, Credentials},
    frames::{PageCommands, page_of_target},
};
use crate::{
    background::{BACKGROUND_TIMEOUT, send_in_background},
    pattern::Compiled,
};
use codemode_page::{ConnectedBrowser, Event, ExecutionBrowser};
use codemode_spec::limits::{PAGE_STATES_MAX, REQUESTS_CONTINUED_MAX};
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// The reasons to intercept the requests of a page.
#[derive(Clone, Default)]
pub(crate) struct Interception {
    pub(crate) patterns: Arc<Vec<Compiled>>,
    pub(crate) credentials: Option<Credentials>,
    /// Whether responses that request credentials are taken as they are, as if the user pressed `Cancel`.
    pub(crate) declines: bool,
}

impl Interception {
    pub(crate) fn handles_auth(&self) -> bool {
        self.declines || self.credentials.is_some()
    }

    /// The parameters of `Fetch.enable`; `None` if nothing is to be intercepted.
    pub(crate) fn params(&self) -> Option<Json> {
        let is_needed = !self.patterns.is_empty() || self.handles_auth();
        let mut patterns = vec![json!({"urlPattern": "*"})];
        if self.declines {
            patterns.push(json!({"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}));
        }
        is_needed.then(|| json!({"patterns": patterns, "handleAuthRequests": self.handles_auth()}))
    }

    fn matches_route(&self, url: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(url))
    }
}

type Pages = Mutex<HashMap<String, Interception>>;

/// The request interception in force, by page.
#[derive(Default)]
pub(crate) struct Routes {
    pages: Arc<Pages>,
    continuing: Mutex<Option<(Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

impl Routes {
    /// The interception of a page.
    pub(crate) fn of(&self, page: &str) -> Option<Interception> {
        interception_of(&self.pages, page)
    }

    /// Changes the interception of a page. Returns the parameters of `Fetch.enable` before and after.
    pub(crate) fn change(
        &self,
        connected: &ConnectedBrowser,
        page: &str,
        change: impl FnOnce(&mut Interception),
    ) -> [Option<Json>; 2] {
        change_interception(&self.pages, connected, page, change)
    }

    /// Lets popups inherit the credentials of the pages that open them, before their first request.
    pub(crate) fn share_with_popups(
        &self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        page_commands: &Arc<PageCommands>,
    ) {
        let (pages, page_commands) = (Arc::clone(&self.pages), Arc::clone(page_commands));
        let (browser, of) = (Arc::downgrade(browser), Arc::downgrade(connected));
        connected.set_up_popups(Arc::new(move |popup| {
            let (pages, page_commands) = (Arc::clone(&pages), Arc::clone(&page_commands));
            let there = browser.upgrade().zip(of.upgrade());
            Box::pin(async move {
                if let Some((browser, connected)) = there {
                    share_with_popup(&popup, &browser, &connected, &pages, &page_commands).await;
                }
            })
        }));
    }

    /// Whether a paused request is held for the script.
    pub(crate) fn holds(&self, page: &str, event: &Event) -> bool {
        interception_of(&self.pages, page).is_some_and(|interception| is_held(&interception, event))
    }

    /// Starts the task that continues other requests on a connection, once per connection, beginning with event `from`.
    pub(crate) fn start_continuing(
        &self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        from: u64,
    ) {
        let mut continuing = self.continuing.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::downgrade(connected);
        if continuing.as_ref().is_some_and(|(of, _)| of.ptr_eq(&current)) {
            return;
        }
        let task = continue_requests(Arc::clone(browser), Arc::clone(connected), Arc::clone(&self.pages), from);
        *continuing = Some((current, AbortOnDropHandle::new(tokio::spawn(task))));
    }
}

fn change_interception(
    pages: &Pages,
    connected: &ConnectedBrowser,
    page: &str,
    change: impl FnOnce(&mut Interception),
) -> [Option<Json>; 2] {
    let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
    if pages.len() >= PAGE_STATES_MAX {
        pages.retain(|page, _| connected.targets.target(page).is_some());
    }
    let interception = pages.entry(page.to_owned()).or_default();
    let before = interception.params();
    change(interception);
    [before, interception.params()]
}

/// Copies the opener's credentials to a popup.
async fn share_with_popup(
    popup: &str,
    browser: &Arc<ExecutionBrowser>,
    connected: &Arc<ConnectedBrowser>,
    pages: &Pages,
    page_commands: &PageCommands,
) {
    let opener = connected.targets.target(popup).and_then(|popup| popup.opener);
    let Some(given) = opener.and_then(|opener| interception_of(pages, &opener)?.credentials) else { return };
    let [_, params] =
        change_interception(pages, connected, popup, |interception| interception.credentials = Some(given));
    let params = params.unwrap_or_default();
    // The popup may be closed already; then it needs no credentials.
    if connected.prepare_popup(popup, ENABLE, params.clone(), BACKGROUND_TIMEOUT).await.is_ok() {
        page_commands.note(browser, connected, popup, ENABLE, Some(params));
    }
}

fn interception_of(pages: &Pages, page: &str) -> Option<Interception> {
    pages.lock().unwrap_or_else(PoisonError::into_inner).get(page).cloned()
}

/// Whether an event pauses a response instead of a request: routes apply to requests only.
pub(crate) fn is_response(event: &Event) -> bool {
    event.params["responseStatusCode"].is_u64()
}

/// Whether a request is the browser's own for a site's icon. As in Playwright, pages do not see it.
pub(crate) fn is_icon(url: &str, kind: &Json) -> bool {
    kind == "Other" && url.ends_with("/favicon.ico")
}

/// Whether a request matches a route. As in Playwright, a route is not consulted again for the redirects of a request.
fn is_held(interception: &Interception, event: &Event) -> bool {
    let url = event.params["request"]["url"].as_str().unwrap_or_default();
    event.params.get("redirectedRequestId").is_none_or(Json::is_null)
        && !is_response(event)
        && !is_icon(url, &event.params["resourceType"])
        && interception.matches_route(url)
}

/// Continues requests that match no route, and responses that no navigation takes, and answers authentication requests,
/// until the connection is closed.
async fn continue_requests(
    browser: Arc<ExecutionBrowser>,
    connected: Arc<ConnectedBrowser>,
    pages: Arc<Pages>,
    mut from: u64,
) {
    let is_stopped = |event: &Event| matches!(event.method.as_str(), PAUSED | ASKED_FOR_CREDENTIALS);
    let mut attempts = Attempts::default();
    let mut sending = JoinSet::new();
    while let Some(event) = connected.events().wait(from, &is_stopped).await {
        from = event.seq + 1;
        connected.catch_up();
        while sending.try_join_next().is_some() {}
        // A page can make any number of requests.
        if sending.len() >= REQUESTS_CONTINUED_MAX {
            sending.join_next().await;
        }
        let Some(target) = event.session.as_deref().and_then(|session| connected.targets.target_of(session)) else {
            continue;
        };
        let page = page_of_target(&connected, &target);
        let Some(interception) = page.and_then(|page| interception_of(&pages, &page)) else { continue };
        let request = &event.params["requestId"];
        let (method, params) = match event.method.as_str() {
            ASKED_FOR_CREDENTIALS => {
                let answer = attempts.answer(interception.credentials.as_ref(), &target, &event.params);
                ("Fetch.continueWithAuth", json!({"requestId": request, "authChallengeResponse": answer}))
            }
            // The navigation that declines takes the responses.
            _ if is_response(&event) && interception.declines || is_held(&interception, &event) => continue,
            _ => ("Fetch.continueRequest", json!({ "requestId": request })),
        };
        let (browser, connected) = (Arc::clone(&browser), Arc::clone(&connected));
        sending.spawn(async move {
            // The request may be gone together with its page.
            let _ = match connected.targets.target(&target) {
                // A popup that waits for its first document: commands that the policy checks would wait for that document.
                Some(popup) if popup.kind == "page" && popup.url.is_empty() => {
                    connected.send_bypassing_policy(&target, method, params, BACKGROUND_TIMEOUT).await
                }
                _ => send_in_background(&browser, &connected, &target, method, params).await,
            };
        });
    }
}

/// The command that starts interception.
pub(crate) const ENABLE: &str = "Fetch.enable";
/// The event of a paused request.
pub(crate) const PAUSED: &str = "Fetch.requestPaused";
const ASKED_FOR_CREDENTIALS: &str = "Fetch.authRequired";
