//! What the namespace keeps for one execution.

use crate::debug_log::{DebugLog, KeptLog};
use codemode_page::{ConnectedBrowser, ExecutionBrowser, gone};
use codemode_provider::{ExecutionContext, ExecutionId, not_a_state};
use codemode_spec::{ErrorReport, message};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The global of scripts.
pub(crate) const NAMESPACE: &str = "cdp";

/// One execution's `cdp`: the browser that it shares with other namespaces, and what is its own.
pub(crate) struct Cdp {
    execution: ExecutionId,
    pub(crate) browser: Arc<ExecutionBrowser>,
    pub(crate) debug_log: DebugLog,
    pub(crate) positions: WaitPositions,
}

impl Cdp {
    /// `NOT_READY` if the host has no browsers.
    pub(crate) fn new(context: &ExecutionContext) -> Result<Self, ErrorReport> {
        Ok(Self {
            execution: context.execution.clone(),
            browser: context.services.require()?,
            debug_log: DebugLog::new(),
            positions: WaitPositions::default(),
        })
    }
}

/// What is kept while the execution is suspended. Not the positions of waits: they are of a connection, and connections
/// are closed then.
#[derive(Serialize, Deserialize)]
struct Kept {
    namespace: String,
    execution: ExecutionId,
    /// The execution had a browser: what its script holds, as handles of pages, is of that one.
    with_browser: bool,
    log: KeptLog,
}

impl Cdp {
    /// What [`Self::restored`] makes the same of.
    pub(crate) async fn kept(&self) -> Vec<u8> {
        let with_browser = self.browser.is_open().await;
        let (namespace, execution) = (NAMESPACE.to_owned(), self.execution.clone());
        message::encode(&Kept { namespace, execution, with_browser, log: self.debug_log.kept() })
    }

    /// The namespace as it was kept of the same execution, on its browser. `BROWSER_GONE` if there was one and it is not
    /// here.
    pub(crate) async fn restored(context: &ExecutionContext, state: &[u8]) -> Result<Self, ErrorReport> {
        let browser: Arc<ExecutionBrowser> = context.services.require()?;
        let foreign = || not_a_state(NAMESPACE);
        let kept: Kept = message::decode(state).map_err(|_| foreign())?;
        // What was read may be less than there is: what is written of it says whether it is all.
        let is_of_this = kept.namespace == NAMESPACE && kept.execution == context.execution;
        if !is_of_this || message::encode(&kept) != state {
            return Err(foreign());
        }
        let debug_log = DebugLog::restored(kept.log).ok_or_else(foreign)?;
        if kept.with_browser && !browser.is_open().await {
            return Err(gone("the execution goes on where it cannot be reached"));
        }
        let execution = context.execution.clone();
        Ok(Self { execution, browser, debug_log, positions: WaitPositions::default() })
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
