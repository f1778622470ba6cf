//! How many executions run, how many wait, and who is refused.

use super::outcome::cancelled;
use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Lets in a bounded number, queues a bounded number in the order of their coming, refuses the rest.
pub(super) struct Admission {
    places: Arc<Semaphore>,
    queued: AtomicUsize,
    concurrent_max: usize,
    queued_max: usize,
}

/// A place among the executions that run, given back when it is dropped.
pub(super) type Place = OwnedSemaphorePermit;

struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Admission {
    pub(super) fn new(concurrent_max: usize, queued_max: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(concurrent_max)),
            queued: AtomicUsize::new(0),
            concurrent_max,
            queued_max,
        }
    }

    /// Waits for a place, at most as long as the execution itself may take.
    pub(super) async fn enter(&self, wait: Duration, cancel: &CancellationToken) -> Result<Place, ErrorReport> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let queued = self.queued.fetch_add(1, Ordering::AcqRel);
        let _queued = Queued(&self.queued);
        if queued >= self.queued_max {
            return Err(self.refused("and the queue is full"));
        }
        tokio::select! {
            () = cancel.cancelled() => Err(cancelled()),
            place = timeout(wait, self.places.clone().acquire_owned()) => match place {
                Ok(Ok(place)) => Ok(place),
                _ => Err(self.refused("and none came free in time")),
            },
        }
    }

    fn refused(&self, why: &str) -> ErrorReport {
        let message = format!("{} executions are running, {why}", self.concurrent_max);
        ErrorReport::new(ErrorCode::CapacityExceeded, message)
            .with_detail("running", self.concurrent_max)
            .with_detail("queued", self.queued.load(Ordering::Acquire))
    }
}
