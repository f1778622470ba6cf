//! What an execution leaves for the next one that uses the browser of a key, as the refs that it gave: bytes that only
//! their writer understands.

use crate::kept_file;
use codemode_provider::BrowserSession;
use codemode_spec::limits::NOTES_BYTES_MAX;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// The notes of an execution: what it found, and what it leaves.
#[derive(Default)]
pub(crate) struct Notes {
    found: Mutex<Option<Vec<u8>>>,
    left: Mutex<Option<Vec<u8>>>,
    /// The script has ended the browser: what is known of it is of no use, and is not to be kept either.
    are_void: AtomicBool,
}

impl Notes {
    /// What the execution before left.
    pub(crate) fn found(&self) -> Option<Vec<u8>> {
        lock(&self.found).clone()
    }

    /// Leaves bytes in the place of what was found.
    pub(crate) fn leave(&self, bytes: Vec<u8>) {
        *lock(&self.left) = Some(bytes);
    }

    /// Reads what the execution before has left.
    pub(crate) async fn find(&self, session: &dyn BrowserSession) {
        let Some(file) = session.facts().notes else { return };
        *lock(&self.found) = kept_file::read(file, NOTES_BYTES_MAX).await;
    }

    /// Writes down what this execution leaves, while it has the lease.
    pub(crate) async fn keep(&self, session: &dyn BrowserSession) {
        let Some((file, bytes)) = session.facts().notes.zip(lock(&self.left).take()) else { return };
        let is_void = self.are_void.load(Ordering::Relaxed) || bytes.len() > NOTES_BYTES_MAX;
        if !is_void && session.check().await.is_ok() {
            kept_file::write(file, bytes).await;
        }
    }

    /// The browser has ended by the script: this execution leaves nothing.
    pub(crate) fn void(&self) {
        self.are_void.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
