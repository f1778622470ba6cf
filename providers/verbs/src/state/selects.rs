//! The popups of `<select>` lists that pages report. A background task acknowledges each at once, since a page whose
//! popups are not acknowledged opens them natively again.

use crate::background::send_in_background;
use codemode_page::{ConnectedBrowser, Event, ExecutionBrowser};
use codemode_spec::limits::PAGE_STATES_MAX;
use serde_json::{Value as Json, json};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// The binding with which a document reports a popup: only the engine's worlds have it.
pub(crate) const BINDING: &str = "codemodeSelect";
/// The event of a call of a binding.
pub(crate) const CALLED: &str = "Runtime.bindingCalled";

/// The pages whose popups are watched, and the task that acknowledges them.
#[derive(Default)]
pub(crate) struct Selects {
    watched: Mutex<HashSet<String>>,
    taking: Mutex<Option<(Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

/// Whether an event reports a popup.
pub(crate) fn is_popup_event(event: &Event) -> bool {
    event.method == CALLED && event.params["name"] == BINDING
}

/// The popup that an event describes.
pub(crate) fn popup_of(event: &Event) -> Option<Json> {
    serde_json::from_str(event.params["payload"].as_str()?).ok()
}

impl Selects {
    /// Records that the popups of a page are watched, and starts the task that acknowledges them.
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

    /// Stops watching, and returns the pages that were watched.
    pub(crate) fn end(&self) -> HashSet<String> {
        std::mem::take(&mut *lock(&self.watched))
    }
}

/// Acknowledges each reported popup, until the connection is closed.
async fn take(browser: Arc<ExecutionBrowser>, connected: Arc<ConnectedBrowser>) {
    let mut next = connected.events().cursor();
    let mut sending = JoinSet::new();
    while let Some(event) = connected.events().wait(next, &is_popup_event).await {
        next = event.seq + 1;
        connected.catch_up();
        while sending.try_join_next().is_some() {}
        let target = event.session.as_deref().and_then(|session| connected.targets.target_of(session));
        let Some((target, popup)) = target.zip(popup_of(&event)) else { continue };
        let id = popup["id"].as_str().unwrap_or_default();
        let expression = format!("globalThis[Symbol.for('codemode.selects')]?.take({})", json!(id));
        let params = json!({"expression": expression, "contextId": event.params["executionContextId"]});
        let (browser, connected) = (Arc::clone(&browser), Arc::clone(&connected));
        sending.spawn(async move {
            // The popup may be gone together with its document.
            let _ = send_in_background(&browser, &connected, &target, "Runtime.evaluate", params).await;
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
