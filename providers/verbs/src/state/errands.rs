//! Tabs that verbs open for a request and close again: scripts are not told of them.

use codemode_spec::limits::ERRANDS_KNOWN_MAX;
use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::RwLock;

/// The tabs that are open for requests.
#[derive(Default)]
pub(crate) struct Errands {
    open: Mutex<HashSet<String>>,
    /// Written while a tab is made of which the browser may tell before its id is known: who tells scripts of pages reads.
    pub(crate) creating: RwLock<()>,
    /// Of all that there ever were: what has happened to them can still be read in the events.
    known: Mutex<HashSet<String>>,
}

impl Errands {
    pub(crate) fn note(&self, tab: &str) {
        let mut known = lock(&self.known);
        if known.len() >= ERRANDS_KNOWN_MAX {
            known.clone_from(&lock(&self.open));
        }
        known.insert(tab.to_owned());
        lock(&self.open).insert(tab.to_owned());
    }

    pub(crate) fn forget(&self, tab: &str) {
        lock(&self.open).remove(tab);
    }

    pub(crate) fn take(&self) -> HashSet<String> {
        std::mem::take(&mut *lock(&self.open))
    }

    /// Whether a tab is, or was, one of these.
    pub(crate) fn has(&self, tab: &str) -> bool {
        lock(&self.known).contains(tab)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
