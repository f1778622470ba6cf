//! The contexts that a runtime receives from the host: one for the execution, one for each call.

use crate::{id::ExecutionId, services::Services};
use codemode_spec::session::SessionRequest;
use serde_json::Value as Json;
use std::{sync::Arc, time::SystemTime};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tokio_util::sync::CancellationToken;

/// The source of the wall-clock time.
pub trait Clock: Send + Sync {
    /// The current wall-clock time.
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

/// The execution as a runtime sees it, and the services that the runtime may use.
#[derive(Clone)]
pub struct ExecutionContext {
    /// The execution's id.
    pub execution: ExecutionId,
    /// Cancelled when the execution ends, for whatever reason.
    pub cancel: CancellationToken,
    /// The end of the execution's wall time.
    pub deadline: Instant,
    /// The source of the wall-clock time.
    pub clock: Arc<dyn Clock>,
    /// Options of this execution, keyed by the namespace or the service that reads them.
    pub options: Arc<serde_json::Map<String, Json>>,
    /// The requested browser session.
    pub session: SessionRequest,
    /// The host's services, by type.
    pub services: Services,
}

/// The memory permits of a call's arguments, released when the last clone is dropped. Further calls of the script may
/// wait for them, so a runtime drops this, with the context, as soon as the arguments are dropped.
#[derive(Clone, Debug, Default)]
pub struct ArgumentsPlace {
    _permits: Option<Arc<[OwnedSemaphorePermit; 2]>>,
}

impl ArgumentsPlace {
    /// Wraps the permits that were acquired from the execution's and from the host's budget.
    #[must_use]
    pub fn of(permits: [OwnedSemaphorePermit; 2]) -> Self {
        Self { _permits: Some(Arc::new(permits)) }
    }
}

/// The context of one call.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The call's number, counted from 0 in each execution.
    pub call: u32,
    /// The end of the execution's wall time.
    pub deadline: Instant,
    /// The memory permits of the arguments.
    pub place: ArgumentsPlace,
}

/// How an execution ended, for `dispose`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The script returned.
    Succeeded,
    /// The script threw, or its result was unusable.
    Failed,
    /// A bound was reached: wall time, processor time, memory, stack.
    Exceeded,
    /// The client cancelled or disconnected.
    Cancelled,
    /// The script never ran.
    NotStarted,
}
