//! Notes that an execution stores for the next one on the browser of the same key, such as the refs of its snapshots:
//! bytes that only their writer interprets.

use crate::session_file;
use codemode_provider::BrowserSession;
use codemode_spec::limits::NOTES_BYTES_MAX;
use std::sync::{Mutex, PoisonError};

/// The notes that an execution found, and those that it stores. They are about one browser.
#[derive(Default)]
pub(crate) struct Notes {
    found: Mutex<Option<Vec<u8>>>,
    left: Mutex<Option<Vec<u8>>>,
}

impl Notes {
    /// The notes of the previous execution.
    pub(crate) fn found(&self) -> Option<Vec<u8>> {
        lock(&self.found).clone()
    }

    /// Replaces the notes that will be stored at the end.
    pub(crate) fn leave(&self, bytes: Vec<u8>) {
        *lock(&self.left) = Some(bytes);
    }

    /// Reads the notes of the previous execution from the session's file.
    pub(crate) async fn find(&self, session: &dyn BrowserSession) {
        let Some(file) = session.facts().notes else { return };
        *lock(&self.found) = session_file::read(file, NOTES_BYTES_MAX).await;
    }

    /// Writes the notes of this execution to the session's file, while it holds the lease.
    pub(crate) async fn keep(&self, session: &dyn BrowserSession) {
        let Some((file, bytes)) = session.facts().notes.zip(lock(&self.left).take()) else { return };
        if bytes.len() <= NOTES_BYTES_MAX && session.check().await.is_ok() {
            session_file::write(file, bytes).await;
        }
    }

    /// Discards the notes, because the script closed the browser.
    pub(crate) fn discard(&self) {
        *lock(&self.found) = None;
        *lock(&self.left) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
