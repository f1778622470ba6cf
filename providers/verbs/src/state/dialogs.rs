//! Dialogs of the pages that verbs are used on: no verb may hang on an open dialog.
//!
//! While a script has no listener, a background task dismisses `alert`, `confirm` and `prompt`, and accepts
//! `beforeunload`. With a listener the dialogs are held for it. The browser is told how to answer the dialog of a page,
//! not which dialog: each is answered by one party only, because a second answer could meet the page's next dialog.

use crate::background::send_in_background;
use codemode_page::{ConnectedBrowser, Dialog, ExecutionBrowser, Target};
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
    /// The number of the last dialog of each page that was answered, or is being answered.
    answered: HashMap<String, u64>,
    /// Messages about dismissed dialogs.
    dismissed: Vec<String>,
}

/// The right to answer one dialog. Dropping it gives the right back, unless the dialog was answered.
struct Claim<'a> {
    pages: &'a Mutex<Pages>,
    page: &'a str,
    number: u64,
    is_answered: bool,
    /// Whether giving it back wakes the task that answers dialogs. The task itself tries again after a while.
    wakes_task: bool,
}

impl<'a> Claim<'a> {
    /// Claims a dialog that a page shows; `None` if another party has answered it or is answering it.
    fn new(pages: &'a Mutex<Pages>, page: &'a str, number: u64, connected: &ConnectedBrowser) -> Option<Self> {
        let mut of_all = lock(pages);
        if of_all.answered.get(page) == Some(&number) {
            return None;
        }
        if of_all.answered.len() >= PAGE_STATES_MAX {
            of_all.answered.retain(|page, _| connected.targets.target(page).is_some());
        }
        of_all.answered.insert(page.to_owned(), number);
        Some(Self { pages, page, number, is_answered: false, wakes_task: false })
    }

    async fn answer(
        mut self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        accept: bool,
        text: Option<&str>,
    ) -> Result<(), ErrorReport> {
        let mut params = json!({ "accept": accept });
        if let Some(text) = text {
            params["promptText"] = text.into();
        }
        send_in_background(browser, connected, self.page, "Page.handleJavaScriptDialog", params).await?;
        self.is_answered = true;
        Ok(())
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let mut of_all = lock(self.pages);
        if of_all.answered.get(self.page) == Some(&self.number) {
            of_all.answered.remove(self.page);
        }
        if self.wakes_task {
            of_all.changed.notify_one();
        }
    }
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

    /// Answers the dialog that a page shows; `None` if it shows none, or one that is answered already.
    ///
    /// # Errors
    /// Those of the shared browser.
    ///
    /// # Cancellation
    /// When dropped, the dialog may have been answered or not.
    pub(crate) async fn answer(
        &self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        page: &str,
        accept: bool,
        text: Option<&str>,
    ) -> Result<Option<Dialog>, ErrorReport> {
        connected.catch_up();
        let Some(dialog) = connected.targets.target(page).and_then(|page| page.dialog) else { return Ok(None) };
        let Some(mut claim) = Claim::new(&self.pages, page, dialog.number, connected) else { return Ok(None) };
        claim.wakes_task = true;
        claim.answer(browser, connected, accept, text).await?;
        Ok(Some(dialog))
    }

    /// Starts the task that answers dialogs on a connection, once per connection.
    pub(crate) fn answer_on(&self, browser: &Arc<ExecutionBrowser>, connected: &Arc<ConnectedBrowser>) {
        let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::downgrade(connected);
        if answering.as_ref().is_some_and(|(of, _)| of.ptr_eq(&current)) {
            return;
        }
        // Each connection numbers its dialogs from the start.
        lock(&self.pages).answered.clear();
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
                let Some(claim) = Claim::new(&pages, &page.id, dialog.number, &connected) else { continue };
                let leaves = dialog.kind == "beforeunload";
                if claim.answer(&browser, &connected, leaves, None).await.is_err() {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
