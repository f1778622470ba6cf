//! What the host gives to a runtime.

use crate::{id::ExecutionId, services::Services};
use codemode_spec::session::SessionRequest;
use serde_json::Value as Json;
use std::{sync::Arc, time::SystemTime};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tokio_util::sync::CancellationToken;

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// The wall clock.
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// What a runtime knows of its execution, and the services that it may use.
#[derive(Clone)]
pub struct ExecutionContext {
    /// Which execution.
    pub execution: ExecutionId,
    /// Cancelled when the execution ends, for whatever reason.
    pub cancel: CancellationToken,
    /// When the execution's wall time is over.
    pub deadline: Instant,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Options of this execution, by the namespace or the service that reads them.
    pub options: Arc<serde_json::Map<String, Json>>,
    /// The browser session that was asked for.
    pub session: SessionRequest,
    /// Everything else that the host offers to the namespaces, by type.
    pub services: Services,
}

/// A call's place in the memory of the host for its arguments, given back when the last clone is dropped. Further calls
/// of the script may wait for that: a runtime drops it, with the context, as soon as the arguments are gone.
#[derive(Clone, Debug, Default)]
pub struct ArgumentsPlace {
    _permits: Option<Arc<[OwnedSemaphorePermit; 2]>>,
}

impl ArgumentsPlace {
    /// The place for which these were acquired: of the execution, and of the host.
    #[must_use]
    pub fn of(permits: [OwnedSemaphorePermit; 2]) -> Self {
        Self { _permits: Some(Arc::new(permits)) }
    }
}

/// What a runtime knows of one call.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Counted from 0 in each execution.
    pub call: u32,
    /// When the execution's wall time is over.
    pub deadline: Instant,
    /// What the arguments have of the host's memory.
    pub place: ArgumentsPlace,
}

/// How an execution ended, for `dispose`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The script returned.
    Succeeded,
    /// The script threw, or its result could not be used.
    Failed,
    /// A bound was reached: wall time, processor time, memory, stack.
    Exceeded,
    /// The client cancelled or disconnected.
    Cancelled,
    /// The script never ran.
    NotStarted,
}
