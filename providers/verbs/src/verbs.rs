//! The verb engine of one execution: the state that lasts between verbs.

use crate::state::{
    clocks::Clocks, dialogs::DialogPolicies, frames::PageCommands, mouse_locks::MouseLocks, refs::Refs, routes::Routes,
    scratch_tabs::ScratchTabs, selects::Selects, worlds::Worlds,
};
use codemode_page::{ConnectedBrowser, ExecutionBrowser};
use codemode_provider::{LoginStates, NoLoginStates, NoSecrets, Secrets};
use codemode_spec::{
    ErrorReport,
    limits::{NOTES_BYTES_MAX, PAGE_STATES_MAX, VERB_TIMEOUT_MS, WARNINGS_MAX},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::{sync::Semaphore, time::Instant};

/// User actions on the pages of one execution's browser. Every verb names its page: there is no current page.
pub struct Verbs {
    pub(crate) browser: Arc<ExecutionBrowser>,
    pub(crate) worlds: Worlds,
    pub(crate) dialogs: DialogPolicies,
    pub(crate) routes: Routes,
    pub(crate) page_commands: Arc<PageCommands>,
    pub(crate) scratch_tabs: ScratchTabs,
    pub(crate) mouse_locks: MouseLocks,
    pub(crate) selects: Selects,
    pub(crate) clocks: Clocks,
    /// Whether a page was opened.
    pub(crate) has_opened: AtomicBool,
    /// The permit to hold a large answer in memory.
    pub(crate) large: Arc<Semaphore>,
    /// Values that may be filled into pages but never reach a script.
    secrets: Arc<dyn Secrets>,
    /// The saved login states of the execution's session key.
    logins: Arc<dyn LoginStates>,
    refs: Mutex<Refs>,
    /// How many browsers the script had closed before the one that the refs belong to.
    refs_after: AtomicU64,
    held: Mutex<HashMap<String, Held>>,
    snapshots: Mutex<HashMap<String, String>>,
    /// Warnings of verbs.
    noted: Mutex<Vec<String>>,
    /// Completed once the refs of the previous execution are restored, or found to be missing.
    recalled: Once,
}

/// Which page a verb is about, and how long it may take.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The page's id.
    pub page: String,
    /// How long the verb may take, in milliseconds; 30,000 if it is not given, and 0 is as long as the execution.
    #[serde(default)]
    pub timeout_ms: Option<f64>,
}

const _: () = assert!(VERB_TIMEOUT_MS == 30_000, "the doc of `Address::timeout_ms` says so");

/// The keys and buttons that are held down in a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// Modifier keys, as the protocol's bit mask.
    pub(crate) modifiers: u32,
    /// The codes of the keys that are down.
    pub(crate) keys: Vec<&'static str>,
    /// The mouse position.
    pub(crate) mouse: (f64, f64),
    /// Mouse buttons, as the protocol's bit mask.
    pub(crate) buttons: u32,
}

impl Verbs {
    /// Creates the engine for the browser of an execution. Opens nothing.
    #[must_use]
    pub fn new(browser: Arc<ExecutionBrowser>) -> Self {
        Self {
            browser,
            worlds: Worlds::default(),
            dialogs: DialogPolicies::default(),
            routes: Routes::default(),
            page_commands: Arc::default(),
            scratch_tabs: ScratchTabs::default(),
            mouse_locks: MouseLocks::default(),
            selects: Selects::default(),
            clocks: Clocks::default(),
            has_opened: AtomicBool::new(false),
            large: Arc::new(Semaphore::new(1)),
            secrets: Arc::new(NoSecrets),
            logins: Arc::new(NoLoginStates),
            refs: Mutex::default(),
            refs_after: AtomicU64::new(0),
            held: Mutex::default(),
            snapshots: Mutex::default(),
            noted: Mutex::default(),
            recalled: Once::new(),
        }
    }

    /// Sets the secrets that verbs may fill into pages; by default there are none.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Arc<dyn Secrets>) -> Self {
        self.secrets = secrets;
        self
    }

    pub(crate) fn secrets(&self) -> &dyn Secrets {
        &*self.secrets
    }

    /// Sets the login states that verbs may save and load; by default there are none.
    #[must_use]
    pub fn with_logins(mut self, logins: Arc<dyn LoginStates>) -> Self {
        self.logins = logins;
        self
    }

    pub(crate) fn logins(&self) -> &dyn LoginStates {
        &*self.logins
    }

    /// The browser of the execution, opened if necessary.
    pub(crate) async fn connected(&self, deadline: Instant) -> Result<Arc<ConnectedBrowser>, ErrorReport> {
        let connected = self.browser.connected(deadline).await?;
        self.forget_closed_browsers();
        self.recalled.call_once(|| {
            // Unreadable bytes were written by another version: its refs are unknown then.
            let _ = self.browser.found_note().is_some_and(|note| self.restore(&note));
        });
        Ok(connected)
    }

    /// Removes the refs of a browser that the script has closed since the last call.
    fn forget_closed_browsers(&self) {
        let closed = self.browser.browsers_closed();
        if self.refs_after.swap(closed, Ordering::Relaxed) != closed {
            self.refs().clear();
        }
    }

    /// The keys and buttons that are held down, by page.
    pub(crate) fn held(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        lock(&self.held)
    }

    pub(crate) fn refs(&self) -> MutexGuard<'_, Refs> {
        lock(&self.refs)
    }

    /// Replaces the last snapshot of a page by `text`, and returns the previous one.
    pub(crate) fn replace_snapshot(&self, page: &str, text: &str) -> Option<String> {
        let mut snapshots = lock(&self.snapshots);
        if snapshots.len() >= PAGE_STATES_MAX {
            snapshots.clear();
        }
        snapshots.insert(page.to_owned(), text.to_owned())
    }

    /// The warnings for the reader of an answer: dialogs that were dismissed without a listener, and verbs that acted
    /// on something other than what they were given.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        [self.dialogs.dismissed(), lock(&self.noted).clone()].concat()
    }

    /// Adds a warning.
    pub(crate) fn note(&self, warning: &str) {
        let mut noted = lock(&self.noted);
        if noted.len() < WARNINGS_MAX && !noted.iter().any(|noted| noted == warning) {
            noted.push(warning.to_owned());
        }
    }

    /// The state that outlives the execution: the refs, as bytes for [`Self::restore`]. At most [`NOTES_BYTES_MAX`]:
    /// the oldest refs are left out.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.refs().encode(NOTES_BYTES_MAX)
    }

    /// Stores the refs for the next execution that uses the browser, if any were assigned.
    pub fn store_refs(&self) {
        self.forget_closed_browsers();
        if !self.refs().is_empty() {
            self.browser.leave_note(self.encode());
        }
    }

    /// Restores the state of an earlier engine. Returns `false`, and changes nothing, if the bytes are invalid.
    #[must_use]
    pub fn restore(&self, bytes: &[u8]) -> bool {
        Refs::decode(bytes).map(|refs| *self.refs() = refs).is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
