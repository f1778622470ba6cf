//! What the namespace keeps for one execution.

use crate::debug_log::DebugLog;
use codemode_page::{ConnectedBrowser, ExecutionBrowser};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// One execution's `cdp`: the browser that it shares with other namespaces, and what is its own.
pub(crate) struct Cdp {
    pub(crate) browser: Arc<ExecutionBrowser>,
    pub(crate) debug_log: DebugLog,
    pub(crate) positions: WaitPositions,
}

impl Cdp {
    pub(crate) fn new(browser: Arc<ExecutionBrowser>) -> Self {
        Self { browser, debug_log: DebugLog::new(), positions: WaitPositions::default() }
    }
}

/// After which event the next wait of a kind begins. Events are numbered anew on each connection.
#[derive(Default)]
pub(crate) struct WaitPositions(Mutex<Positions>);

#[derive(Default)]
struct Positions {
    connection: Weak<ConnectedBrowser>,
    by_kind: HashMap<u64, u64>,
}

impl WaitPositions {
    /// Where the next wait of a kind begins.
    pub(crate) fn of(&self, connection: &Arc<ConnectedBrowser>, kind: u64) -> u64 {
        self.on(connection).by_kind.get(&kind).copied().unwrap_or_default()
    }

    pub(crate) fn set(&self, connection: &Arc<ConnectedBrowser>, kind: u64, next: u64) {
        self.on(connection).by_kind.insert(kind, next);
    }

    /// The positions on a connection: those on another one mean nothing on it.
    fn on(&self, connection: &Arc<ConnectedBrowser>) -> MutexGuard<'_, Positions> {
        let mut positions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::ptr::eq(positions.connection.as_ptr(), Arc::as_ptr(connection)) {
            *positions = Positions { connection: Arc::downgrade(connection), by_kind: HashMap::new() };
        }
        positions
    }
}
