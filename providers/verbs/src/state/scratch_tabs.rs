//! The scratch tabs that verbs open for requests and storage, and close again. They are hidden from scripts.

use codemode_spec::limits::ERRANDS_KNOWN_MAX;
use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::RwLock;

/// The open scratch tabs.
#[derive(Default)]
pub(crate) struct ScratchTabs {
    open: Mutex<HashSet<String>>,
    /// Write-locked while a tab is created: the browser may report the tab before its id is known here. Readers of page
    /// events take the read lock.
    pub(crate) creating: RwLock<()>,
    /// All scratch tabs that ever existed, since their events can still be read.
    known: Mutex<HashSet<String>>,
}

impl ScratchTabs {
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

    /// Whether a tab is, or was, a scratch tab.
    pub(crate) fn has(&self, tab: &str) -> bool {
        lock(&self.known).contains(tab)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
