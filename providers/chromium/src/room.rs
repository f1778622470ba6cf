//! Room in the memory of the host for answers that their callers have not taken yet.

use codemode_spec::limits::{REPLY_BYTES_FREE, REPLY_BYTES_MAX, ROOM_WAIT_MS_MAX};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The room of one connection, and of all connections of a host. A permit is a byte.
pub(crate) struct Room {
    own: Arc<Semaphore>,
    host: OnceLock<Arc<Semaphore>>,
    /// Nothing was taken for as long as an answer may wait: until something is, no other one waits.
    stuck: AtomicBool,
}

/// An answer's place. Given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Place {
    _own: Option<OwnedSemaphorePermit>,
    _host: Option<OwnedSemaphorePermit>,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self { own: Arc::new(Semaphore::new(REPLY_BYTES_MAX)), host: OnceLock::new(), stuck: AtomicBool::new(false) }
    }

    /// Shares the room of a host from now on.
    pub(crate) fn share(&self, host: Arc<Semaphore>) {
        drop(self.host.set(host));
    }

    /// A place for an answer; waits until others were taken, but not for long: the browser's other messages wait
    /// behind this one. `None` if there is none.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn place(&self, bytes: usize) -> Option<Place> {
        if bytes <= REPLY_BYTES_FREE {
            return Some(Place::default());
        }
        let permits = u32::try_from(bytes).ok()?;
        let patience = if self.stuck.load(Ordering::Relaxed) { 0 } else { ROOM_WAIT_MS_MAX };
        let both = async {
            let own = Arc::clone(&self.own).acquire_many_owned(permits).await.ok()?;
            let host = match self.host.get() {
                Some(host) => Some(Arc::clone(host).acquire_many_owned(permits).await.ok()?),
                None => None,
            };
            Some(Place { _own: Some(own), _host: host })
        };
        let place = tokio::time::timeout(Duration::from_millis(patience), both).await.ok().flatten();
        self.stuck.store(place.is_none(), Ordering::Relaxed);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_waited_for_once_and_then_refused_until_one_was_taken() {
        let (room, host) = (Room::new(), Arc::new(Semaphore::new(REPLY_BYTES_MAX)));
        room.share(Arc::clone(&host));
        let began = tokio::time::Instant::now();
        let place = room.place(REPLY_BYTES_MAX).await.expect("all of it is free");
        assert!(room.place(REPLY_BYTES_FREE).await.is_some(), "what is small always fits");
        assert!(room.place(REPLY_BYTES_FREE + 1).await.is_none());
        let waited = Duration::from_millis(ROOM_WAIT_MS_MAX);
        assert!(began.elapsed() >= waited);
        assert!(room.place(REPLY_BYTES_FREE + 1).await.is_none());
        assert!(began.elapsed() < waited * 2, "the second one did not wait");
        drop(place);
        assert!(room.place(REPLY_BYTES_MAX).await.is_some());
        let _others = host.acquire_many(1).await;
        assert!(room.place(REPLY_BYTES_MAX).await.is_none(), "the host has a bound of its own");
        assert!(room.place(REPLY_BYTES_MAX + 1).await.is_none());
    }
}
