//! The engine of one execution: what it keeps between verbs.

use crate::state::{
    clocks::Clocks, dialogs::DialogPolicies, errands::Errands, frames::Asked, refs::Refs, routes::Routes,
    selects::Selects, turns::Turns, worlds::Worlds,
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
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, atomic::AtomicBool},
};
use tokio::{sync::Semaphore, time::Instant};

/// What a person does with pages, on the browser of one execution. Every verb names its page: there is no current one.
pub struct Verbs {
    pub(crate) browser: Arc<ExecutionBrowser>,
    pub(crate) worlds: Worlds,
    pub(crate) dialogs: DialogPolicies,
    pub(crate) routes: Routes,
    pub(crate) asked: Arc<Asked>,
    pub(crate) errands: Errands,
    pub(crate) turns: Turns,
    pub(crate) selects: Selects,
    pub(crate) clocks: Clocks,
    /// Whether a page was opened.
    pub(crate) has_opened: AtomicBool,
    /// One place for large answers.
    pub(crate) large: Arc<Semaphore>,
    /// What may be put into pages and is never in a script.
    secrets: Arc<dyn Secrets>,
    /// What logins left in browsers of the execution's key.
    logins: Arc<dyn LoginStates>,
    refs: Mutex<Refs>,
    held: Mutex<HashMap<String, Held>>,
    snapshots: Mutex<HashMap<String, String>>,
    /// Warnings of verbs, in words.
    noted: Mutex<Vec<String>>,
    /// Done once the refs of the execution before are there, or there are none.
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

/// What is held down in a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// Modifier keys, in the protocol's bits.
    pub(crate) modifiers: u32,
    /// Codes of the keys that are down.
    pub(crate) keys: Vec<&'static str>,
    /// Where the mouse is.
    pub(crate) mouse: (f64, f64),
    /// Mouse buttons, in the protocol's bits.
    pub(crate) buttons: u32,
}

impl Verbs {
    /// The engine on the browser of an execution. Opens nothing.
    #[must_use]
    pub fn new(browser: Arc<ExecutionBrowser>) -> Self {
        Self {
            browser,
            worlds: Worlds::default(),
            dialogs: DialogPolicies::default(),
            routes: Routes::default(),
            asked: Arc::default(),
            errands: Errands::default(),
            turns: Turns::default(),
            selects: Selects::default(),
            clocks: Clocks::default(),
            has_opened: AtomicBool::new(false),
            large: Arc::new(Semaphore::new(1)),
            secrets: Arc::new(NoSecrets),
            logins: Arc::new(NoLoginStates),
            refs: Mutex::default(),
            held: Mutex::default(),
            snapshots: Mutex::default(),
            noted: Mutex::default(),
            recalled: Once::new(),
        }
    }

    /// With secrets that verbs may put into pages; without, there are none.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Arc<dyn Secrets>) -> Self {
        self.secrets = secrets;
        self
    }

    pub(crate) fn secrets(&self) -> &dyn Secrets {
        &*self.secrets
    }

    /// With login states that verbs may save and load; without, there are none.
    #[must_use]
    pub fn with_logins(mut self, logins: Arc<dyn LoginStates>) -> Self {
        self.logins = logins;
        self
    }

    pub(crate) fn logins(&self) -> &dyn LoginStates {
        &*self.logins
    }

    /// The browser of the execution, opened if need be.
    pub(crate) async fn connected(&self, deadline: Instant) -> Result<Arc<ConnectedBrowser>, ErrorReport> {
        let connected = self.browser.connected(deadline).await?;
        self.recalled.call_once(|| {
            // Bytes that cannot be read are those of another version: its refs are unknown then.
            let _ = self.browser.found_note().is_some_and(|note| self.restore(&note));
        });
        Ok(connected)
    }

    /// What is held down in the pages.
    pub(crate) fn held(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        lock(&self.held)
    }

    pub(crate) fn refs(&self) -> MutexGuard<'_, Refs> {
        lock(&self.refs)
    }

    /// The snapshot that was made of a page before, with `text` in its place.
    pub(crate) fn replace_snapshot(&self, page: &str, text: &str) -> Option<String> {
        let mut snapshots = lock(&self.snapshots);
        if snapshots.len() >= PAGE_STATES_MAX {
            snapshots.clear();
        }
        snapshots.insert(page.to_owned(), text.to_owned())
    }

    /// What the reader of an answer should know besides the results: dialogs without a listener, and verbs that
    /// took something else than what they were told.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        [self.dialogs.dismissed(), lock(&self.noted).clone()].concat()
    }

    /// Adds to the warnings.
    pub(crate) fn note(&self, warning: &str) {
        let mut noted = lock(&self.noted);
        if noted.len() < WARNINGS_MAX && !noted.iter().any(|noted| noted == warning) {
            noted.push(warning.to_owned());
        }
    }

    /// What of the engine outlives the execution: the refs, as bytes that [`Self::restore`] takes. At most
    /// [`NOTES_BYTES_MAX`]: the oldest refs are left out.
    #[must_use]
    pub fn kept(&self) -> Vec<u8> {
        self.refs().kept(NOTES_BYTES_MAX)
    }

    /// Leaves the refs for the next execution that uses the browser, if any were given.
    pub fn leave(&self) {
        if !self.refs().is_empty() {
            self.browser.leave_note(self.kept());
        }
    }

    /// Takes over what an engine kept. `false` if the bytes are none of an engine's: nothing has changed then.
    #[must_use]
    pub fn restore(&self, bytes: &[u8]) -> bool {
        Refs::restored(bytes).map(|refs| *self.refs() = refs).is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
