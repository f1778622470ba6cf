//! The popups of `<select>` that pages tell of: the host takes each as it comes, since a page whose popups nobody takes opens
//! them by itself again.

use crate::beside::send_beside;
use codemode_page::{ConnectedBrowser, Event, ExecutionBrowser};
use codemode_spec::limits::PAGE_STATES_MAX;
use serde_json::{Value as Json, json};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// The function by which a document tells of a popup: only the engine's worlds have it.
pub(crate) const BINDING: &str = "codemodeSelect";
/// The event of a call of such a function.
pub(crate) const CALLED: &str = "Runtime.bindingCalled";

/// The pages whose popups are watched, and the task that takes these.
#[derive(Default)]
pub(crate) struct Selects {
    watched: Mutex<HashSet<String>>,
    taking: Mutex<Option<(Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

/// Whether an event tells of a popup.
pub(crate) fn tells(event: &Event) -> bool {
    event.method == CALLED && event.params["name"] == BINDING
}

/// What a document says of a popup.
pub(crate) fn told(event: &Event) -> Option<Json> {
    serde_json::from_str(event.params["payload"].as_str()?).ok()
}

impl Selects {
    /// Notes that the popups of a page are watched, and takes them from now on.
    pub(crate) fn note(&self, browser: &Arc<ExecutionBrowser>, connected: &Arc<ConnectedBrowser>, page: &str) {
        let mut watched = lock(&self.watched);
        if watched.len() >= PAGE_STATES_MAX {
            watched.retain(|page| connected.targets.target(page).is_some());
        }
        watched.insert(page.to_owned());
        let mut taking = lock(&self.taking);
        if taking.as_ref().is_none_or(|(of, _)| of.as_ptr() != Arc::as_ptr(connected)) {
            let task = tokio::spawn(take(Arc::clone(browser), Arc::clone(connected)));
            *taking = Some((Arc::downgrade(connected), AbortOnDropHandle::new(task)));
        }
    }

    /// The pages whose popups were watched: not any more.
    pub(crate) fn end(&self) -> HashSet<String> {
        std::mem::take(&mut *lock(&self.watched))
    }
}

/// Takes each popup that a document tells of, until the connection is gone.
async fn take(browser: Arc<ExecutionBrowser>, connected: Arc<ConnectedBrowser>) {
    let mut next = connected.events().cursor();
    let mut sending = JoinSet::new();
    while let Some(event) = connected.events().wait(next, &tells).await {
        next = event.seq + 1;
        connected.catch_up();
        while sending.try_join_next().is_some() {}
        let target = event.session.as_deref().and_then(|session| connected.targets.target_of(session));
        let Some((target, popup)) = target.zip(told(&event)) else { continue };
        let id = popup["id"].as_str().unwrap_or_default();
        let expression = format!("globalThis[Symbol.for('codemode.selects')]?.take({})", json!(id));
        let params = json!({"expression": expression, "contextId": event.params["executionContextId"]});
        let (browser, connected) = (Arc::clone(&browser), Arc::clone(&connected));
        sending.spawn(async move {
            // A document that is gone has no popup any more.
            let _ = send_beside(&browser, &connected, &target, "Runtime.evaluate", params).await;
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
