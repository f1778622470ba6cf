//! Dialogs of the pages that verbs are used on: no verb may hang on an open dialog.
//!
//! While a script has no listener, a background task dismisses `alert`, `confirm` and `prompt`, and accepts
//! `beforeunload`. With a listener the dialogs are held for it.

use crate::background::send_in_background;
use codemode_page::{ConnectedBrowser, ExecutionBrowser, Target};
use codemode_spec::{
    ErrorReport,
    limits::{PAGE_STATES_MAX, WARNINGS_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::timeout};
use tokio_util::task::AbortOnDropHandle;

/// The delay before a dialog that could not be answered is tried again, unless an event comes first.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// The limit of opener pages that are followed.
const OPENERS_MAX: usize = 8;

/// What becomes of a dialog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DialogPolicy {
    /// It is dismissed; leaving a page is accepted.
    #[default]
    Dismiss,
    /// It is held until it is answered.
    Hold,
}

/// The policies of the pages that verbs were used on.
#[derive(Default)]
pub(crate) struct DialogPolicies {
    pages: Arc<Mutex<Pages>>,
    answering: Mutex<Option<(std::sync::Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

#[derive(Default)]
struct Pages {
    policies: HashMap<String, DialogPolicy>,
    /// Notified of a new policy: it may concern a dialog that is already open, on the page or on its popups.
    changed: Arc<Notify>,
    /// Messages about dismissed dialogs.
    dismissed: Vec<String>,
}

impl DialogPolicies {
    /// Whether a page has a policy. Evicts closed pages if there are too many.
    pub(crate) fn know(&self, connected: &ConnectedBrowser, page: &str) -> bool {
        let mut pages = lock(&self.pages);
        if pages.policies.len() >= PAGE_STATES_MAX {
            pages.policies.retain(|page, _| connected.targets.target(page).is_some());
        }
        pages.policies.contains_key(page)
    }

    /// Adds a page with the default policy, unless it has one.
    pub(crate) fn add(&self, page: &str) {
        let mut pages = lock(&self.pages);
        pages.policies.entry(page.to_owned()).or_default();
        pages.changed.notify_one();
    }

    pub(crate) fn set(&self, page: &str, policy: DialogPolicy) {
        let mut pages = lock(&self.pages);
        pages.policies.insert(page.to_owned(), policy);
        pages.changed.notify_one();
    }

    /// Messages about the dialogs dismissed so far.
    pub(crate) fn dismissed(&self) -> Vec<String> {
        lock(&self.pages).dismissed.clone()
    }

    /// Starts the task that answers dialogs on a connection, once per connection.
    pub(crate) fn answer_on(&self, browser: &Arc<ExecutionBrowser>, connected: &Arc<ConnectedBrowser>) {
        let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::downgrade(connected);
        if answering.as_ref().is_some_and(|(of, _)| of.ptr_eq(&current)) {
            return;
        }
        let answer = answer(Arc::clone(browser), current.clone(), Arc::clone(&self.pages));
        *answering = Some((current, AbortOnDropHandle::new(tokio::spawn(answer))));
    }
}

/// Answers dialogs according to their pages' policies, until the connection is closed.
async fn answer(
    browser: Arc<ExecutionBrowser>,
    connected: std::sync::Weak<ConnectedBrowser>,
    pages: Arc<Mutex<Pages>>,
) {
    let Some(mut changes) = connected.upgrade().map(|connected| connected.targets.changes()) else { return };
    let policy_changed = Arc::clone(&lock(&pages).changed);
    loop {
        let mut is_left = false;
        {
            let Some(connected) = connected.upgrade() else { return };
            connected.catch_up();
            for page in connected.targets.visible() {
                let Some(dialog) = &page.dialog else { continue };
                if policy_of(&connected, &page, &pages) != Some(DialogPolicy::Dismiss) {
                    continue;
                }
                let leaves = dialog.kind == "beforeunload";
                if handle(&browser, &connected, &page.id, leaves, None).await.is_err() {
                    is_left = true;
                } else if !leaves {
                    let mut pages = lock(&pages);
                    if pages.dismissed.len() < WARNINGS_MAX {
                        pages.dismissed.push(format!("the {} dialog {:?} was dismissed", dialog.kind, dialog.message));
                    }
                }
            }
        }
        // A new page may not be attached yet, and there may be no further event about its dialog.
        let news = async {
            tokio::select! {
                told = changes.changed() => told,
                () = policy_changed.notified() => Ok(()),
            }
        };
        let told = if is_left { timeout(AGAIN_AFTER, news).await.unwrap_or(Ok(())) } else { news.await };
        if told.is_err() {
            return;
        }
    }
}

/// The policy of a page: its own, or that of the page that opened it.
fn policy_of(connected: &ConnectedBrowser, page: &Target, pages: &Mutex<Pages>) -> Option<DialogPolicy> {
    let mut page = page.clone();
    for _ in 0..OPENERS_MAX {
        if let Some(policy) = lock(pages).policies.get(&page.id) {
            return Some(*policy);
        }
        page = connected.targets.target(page.opener.as_ref()?)?;
    }
    None
}

/// Answers the dialog of a page.
///
/// # Errors
/// Those of the shared browser.
pub(crate) async fn handle(
    browser: &Arc<ExecutionBrowser>,
    connected: &Arc<ConnectedBrowser>,
    page: &str,
    accept: bool,
    text: Option<&str>,
) -> Result<(), ErrorReport> {
    let mut params = json!({ "accept": accept });
    if let Some(text) = text {
        params["promptText"] = text.into();
    }
    send_in_background(browser, connected, page, "Page.handleJavaScriptDialog", params).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
