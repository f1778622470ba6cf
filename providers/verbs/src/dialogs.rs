//! Dialogs of the pages that verbs are used on: nothing hangs on an open dialog.
//!
//! While no listener is there, `alert`, `confirm` and `prompt` are dismissed and `beforeunload` is accepted, at once and
//! beside whatever verb is under way. With a listener they are held for it.

use crate::{
    reports,
    tab::{Tab, send_beside},
};
use codemode_page::{ConnectedBrowser, ExecutionBrowser, Target};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{PAGE_STATES_MAX, WARNINGS_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

/// After which time a dialog that could not be answered is answered again, if nothing is told of it before.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Pages that opened each other, followed at most this far.
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
    /// What was dismissed, in words.
    dismissed: Vec<String>,
}

impl DialogPolicies {
    /// Attaches to the page, so that its dialogs are seen, and has them answered from now on.
    pub(crate) async fn look_after(&self, tab: &Tab<'_>) -> Result<(), ErrorReport> {
        let is_new = {
            let mut pages = lock(&self.pages);
            if pages.policies.len() >= PAGE_STATES_MAX {
                pages.policies.retain(|page, _| tab.browser.targets.target(page).is_some());
            }
            !pages.policies.contains_key(&tab.id)
        };
        self.answer_on(tab);
        if is_new {
            tab.session().await?;
            // A tab behind others takes input as the one in front does, and its page draws.
            tab.send("Emulation.setFocusEmulationEnabled", json!({"enabled": true})).await?;
            lock(&self.pages).policies.entry(tab.id.clone()).or_default();
        }
        Ok(())
    }

    pub(crate) fn set(&self, page: &str, policy: DialogPolicy) {
        lock(&self.pages).policies.insert(page.to_owned(), policy);
    }

    /// What was dismissed so far, in words.
    pub(crate) fn dismissed(&self) -> Vec<String> {
        lock(&self.pages).dismissed.clone()
    }

    /// Starts answering on the tab's connection, once.
    fn answer_on(&self, tab: &Tab<'_>) {
        let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::downgrade(&tab.browser);
        if answering.as_ref().is_some_and(|(of, _)| of.ptr_eq(&current)) {
            return;
        }
        let answer = answer(Arc::clone(&tab.verbs.browser), current.clone(), Arc::clone(&self.pages));
        *answering = Some((current, AbortOnDropHandle::new(tokio::spawn(answer))));
    }
}

/// Answers dialogs as their pages' policies say, until the connection is gone.
async fn answer(
    browser: Arc<ExecutionBrowser>,
    connected: std::sync::Weak<ConnectedBrowser>,
    pages: Arc<Mutex<Pages>>,
) {
    let Some(mut changes) = connected.upgrade().map(|connected| connected.targets.changes()) else { return };
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
        // A page that has only just opened may not be attached to yet, and nothing more may be told of its dialog.
        let news = changes.changed();
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

async fn handle(
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
    send_beside(browser, connected, page, "Page.handleJavaScriptDialog", params).await
}

impl Tab<'_> {
    /// What becomes of the page's dialogs from now on.
    pub fn set_dialog_policy(&self, policy: DialogPolicy) {
        self.verbs.dialogs.set(&self.id, policy);
    }

    /// Answers the dialog that the page shows.
    pub async fn answer_dialog(&self, accept: bool, text: Option<&str>) -> Result<Json, ErrorReport> {
        self.browser.catch_up();
        let dialog = self.browser.targets.target(&self.id).and_then(|page| page.dialog);
        let Some(dialog) = dialog else {
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, "the page shows no dialog")
                .with_hint("A dialog can be answered once, while it is open."));
        };
        match handle(&self.verbs.browser, &self.browser, &self.id, accept, text).await {
            Ok(()) => Ok(json!({"kind": dialog.kind, "message": dialog.message})),
            Err(error) if error.code == ErrorCode::CallTimeout => Err(reports::unanswered(self, "the dialog")),
            Err(error) => Err(error),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
