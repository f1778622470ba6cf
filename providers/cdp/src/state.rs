//! The state of the namespace for one execution.

use crate::debug_log::{DebugLog, SavedLog};
use codemode_page::{ConnectedBrowser, ExecutionBrowser, gone};
use codemode_provider::{ExecutionContext, ExecutionId, not_a_state};
use codemode_spec::{ErrorReport, message};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The name of the namespace's global in scripts.
pub(crate) const NAMESPACE: &str = "cdp";

/// The namespace of one execution: the shared browser, and the state of its own.
pub(crate) struct Cdp {
    execution: ExecutionId,
    pub(crate) browser: Arc<ExecutionBrowser>,
    pub(crate) debug_log: DebugLog,
    pub(crate) positions: WaitPositions,
}

impl Cdp {
    /// Fails with `NOT_READY` if the host has no browsers.
    pub(crate) fn new(context: &ExecutionContext) -> Result<Self, ErrorReport> {
        Ok(Self {
            execution: context.execution.clone(),
            browser: context.services.require()?,
            debug_log: DebugLog::new(),
            positions: WaitPositions::default(),
        })
    }
}

/// The serialised state of a suspended execution. It excludes the positions of waits: they belong to a connection, and
/// suspension closes connections.
#[derive(Serialize, Deserialize)]
struct SuspendedState {
    namespace: String,
    execution: ExecutionId,
    /// Whether the execution had a browser. What its script holds, such as handles of pages, is valid on that browser
    /// only.
    with_browser: bool,
    log: SavedLog,
}

impl Cdp {
    /// Serialises the state for [`Self::restored`].
    pub(crate) async fn save(&self) -> Vec<u8> {
        let with_browser = self.browser.is_open().await;
        let (namespace, execution) = (NAMESPACE.to_owned(), self.execution.clone());
        message::encode(&SuspendedState { namespace, execution, with_browser, log: self.debug_log.save() })
    }

    /// Restores the namespace of the same execution, on its browser. Fails with `BROWSER_GONE` if it had a browser that
    /// is not available here.
    pub(crate) async fn restored(context: &ExecutionContext, state: &[u8]) -> Result<Self, ErrorReport> {
        let browser: Arc<ExecutionBrowser> = context.services.require()?;
        let foreign = || not_a_state(NAMESPACE);
        let saved: SuspendedState = message::decode(state).map_err(|_| foreign())?;
        // Decoding may have ignored trailing bytes: encoding the result again shows whether it is complete.
        let is_of_this = saved.namespace == NAMESPACE && saved.execution == context.execution;
        if !is_of_this || message::encode(&saved) != state {
            return Err(foreign());
        }
        let debug_log = DebugLog::restored(saved.log).ok_or_else(foreign)?;
        if saved.with_browser && !browser.is_open().await {
            return Err(gone("the execution goes on where it cannot be reached"));
        }
        let execution = context.execution.clone();
        Ok(Self { execution, browser, debug_log, positions: WaitPositions::default() })
    }
}

/// The event after which the next wait of each kind starts. Events are numbered anew on each connection.
#[derive(Default)]
pub(crate) struct WaitPositions(Mutex<Positions>);

#[derive(Default)]
struct Positions {
    connection: Weak<ConnectedBrowser>,
    by_kind: HashMap<u64, u64>,
}

impl WaitPositions {
    /// The sequence number at which the next wait of a kind starts.
    pub(crate) fn of(&self, connection: &Arc<ConnectedBrowser>, kind: u64) -> u64 {
        self.on(connection).by_kind.get(&kind).copied().unwrap_or_default()
    }

    pub(crate) fn set(&self, connection: &Arc<ConnectedBrowser>, kind: u64, next: u64) {
        self.on(connection).by_kind.insert(kind, next);
    }

    /// The positions on a connection. Those of another connection are discarded: they mean nothing on this one.
    fn on(&self, connection: &Arc<ConnectedBrowser>) -> MutexGuard<'_, Positions> {
        let mut positions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::ptr::eq(positions.connection.as_ptr(), Arc::as_ptr(connection)) {
            *positions = Positions { connection: Arc::downgrade(connection), by_kind: HashMap::new() };
        }
        positions
    }
}
