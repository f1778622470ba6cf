//! Targets and contexts that executions created in an external browser. Each execution closes its own at its end, and
//! no others.

use codemode_chromium::{
    CdpError, Connection,
    cdp::browser_protocol::target::{CloseTargetParams, DisposeBrowserContextParams},
};
use codemode_provider::ExecutionId;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The execution that created each target, over all executions of a host.
#[derive(Default)]
pub(crate) struct TargetOwners(Mutex<HashMap<String, ExecutionId>>);

impl TargetOwners {
    pub(crate) fn owner(&self, target: &str) -> Option<ExecutionId> {
        self.lock().get(target).cloned()
    }

    pub(crate) fn add(&self, target: &str, owner: &ExecutionId) {
        self.lock().insert(target.to_owned(), owner.clone());
    }

    /// Removes the entries of an execution that has ended.
    pub(crate) fn forget(&self, owner: &ExecutionId) {
        self.lock().retain(|_, other| other != owner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ExecutionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The targets and browser contexts that one execution created.
#[derive(Default)]
pub(crate) struct OwnedTargets(Mutex<Owned>);

/// Targets and browser contexts, by their ids.
#[derive(Clone, Default)]
pub(crate) struct Owned {
    pub(crate) targets: HashSet<String>,
    pub(crate) contexts: HashSet<String>,
}

impl Owned {
    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.contexts.is_empty()
    }

    /// Closes all of them; `false` if the browser did not answer every request in time.
    pub(crate) async fn close(&self, connection: &Connection, timeout: Duration) -> bool {
        // An error answer means that it is closed already; a malformed answer is still an answer.
        fn is_closed<T>(answer: &Result<T, CdpError>) -> bool {
            matches!(answer, Ok(_) | Err(CdpError::Protocol { .. } | CdpError::Malformed { .. }))
        }
        let closing = async {
            let mut closed = true;
            for target in &self.targets {
                let close = CloseTargetParams::new(target.clone());
                closed &= is_closed(&connection.execute(&close, None, timeout).await);
            }
            for context in &self.contexts {
                let dispose = DisposeBrowserContextParams::new(context.clone());
                closed &= is_closed(&connection.execute(&dispose, None, timeout).await);
            }
            closed
        };
        tokio::time::timeout(timeout, closing).await.unwrap_or(false)
    }
}

impl OwnedTargets {
    pub(crate) fn add_target(&self, id: &str) {
        self.lock().targets.insert(id.to_owned());
    }

    pub(crate) fn add_context(&self, id: &str) {
        self.lock().contexts.insert(id.to_owned());
    }

    pub(crate) fn has_target(&self, id: &str) -> bool {
        self.lock().targets.contains(id)
    }

    pub(crate) fn has_context(&self, id: &str) -> bool {
        self.lock().contexts.contains(id)
    }

    pub(crate) fn all(&self) -> Owned {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Owned> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
