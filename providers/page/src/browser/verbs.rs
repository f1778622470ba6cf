//! Operations of a script on the session of its browser: promote, close and reset, and the notes that it stores there.

use super::{ExecutionBrowser, State, lock, only_one_shot};
use codemode_provider::Promotion;
use codemode_spec::{ErrorCode, ErrorReport, session::SessionMode};
use std::sync::atomic::Ordering;
use tokio::time::Instant;

impl ExecutionBrowser {
    /// Makes the browser the shared one of its key.
    pub async fn promote(&self, promotion: Promotion, deadline: Instant) -> Result<(), ErrorReport> {
        self.connected(deadline).await?;
        match self.session() {
            Some(session) => session.promote(promotion).await.map_err(with_the_way_to_replace),
            None => Err(only_one_shot("this browser", SessionMode::Dynamic)),
        }
    }

    /// Closes the browser now. The next call starts another one.
    pub async fn close_session(&self, deadline: Instant) -> Result<(), ErrorReport> {
        self.reach_session(deadline).await?;
        let mut state = self.state.lock().await;
        if let Some(session) = self.session() {
            session.close().await?;
        }
        self.disconnect().await;
        let closed = std::mem::replace(&mut *state, State::NotStarted);
        self.release(closed).await
    }

    /// Closes the browser and starts another in its place.
    pub async fn reset_session(&self, deadline: Instant) -> Result<(), ErrorReport> {
        self.reach_session(deadline).await?;
        let mut state = self.state.lock().await;
        match self.session() {
            Some(session) => {
                // Whether the reset succeeds or not, the connected browser is gone.
                self.disconnect().await;
                session.reset().await?;
            }
            None => {
                self.disconnect().await;
                let closed = std::mem::replace(&mut *state, State::NotStarted);
                self.release(closed).await?;
            }
        }
        drop(state);
        self.connected(deadline).await.map(drop)
    }

    /// The note that the previous execution stored, once the browser is open; `None` if there is none or the browser
    /// has no key.
    #[must_use]
    pub fn found_note(&self) -> Option<Vec<u8>> {
        self.notes.found()
    }

    /// Stores a note for the next execution that uses the browser of this key, replacing the one before: at most
    /// [`NOTES_BYTES_MAX`](codemode_spec::limits::NOTES_BYTES_MAX) bytes. A note for a browser without a key is
    /// dropped.
    pub fn leave_note(&self, bytes: Vec<u8>) {
        self.notes.leave(bytes);
    }

    /// How many browsers the script has closed: pages and notes of an earlier browser mean nothing in the current one.
    #[must_use]
    pub fn browsers_closed(&self) -> u64 {
        self.browsers_closed.load(Ordering::Relaxed)
    }

    /// Opens the session of a browser that the script is about to close, so that its lease is held; refuses external
    /// browsers.
    async fn reach_session(&self, deadline: Instant) -> Result<(), ErrorReport> {
        if self.is_external() {
            let message = "an external browser is never closed";
            return Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message)
                .with_hint("Close the pages that the script opened: ⟦send \"Target.closeTarget\", {targetId}⟧."));
        }
        if self.context.session.mode != SessionMode::OneShot {
            // Takes the lease of the key's shared browser, unless another execution holds it.
            self.connected(deadline).await?;
        }
        Ok(())
    }

    async fn disconnect(&self) {
        self.notes.discard();
        self.browsers_closed.fetch_add(1, Ordering::Relaxed);
        let connected = lock(&self.connected).take();
        if let Some(connected) = connected {
            connected.connection.close().await;
        }
    }
}

/// Adds the step that closes the key's other browser: the host knows of that browser, but not of the methods of a
/// namespace.
fn with_the_way_to_replace(refusal: ErrorReport) -> ErrorReport {
    if refusal.code != ErrorCode::SessionBusy || refusal.details.get("session").is_none() {
        return refusal;
    }
    refusal.with_hint(
        "To close it and have this browser in its place: ⟦start {replace: true}⟧. To use it instead, return now and call \
         the tool again with the same key.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_browser_of_the_key_can_be_replaced() {
        let busy = |detail: &str| ErrorReport::new(ErrorCode::SessionBusy, "busy").with_detail(detail, "s-1");
        assert!(with_the_way_to_replace(busy("session")).hint.contains("⟦start {replace: true}⟧"));
        for other in [busy("holder"), ErrorReport::new(ErrorCode::SessionLost, "lost").with_detail("session", "s-1")] {
            assert_eq!(with_the_way_to_replace(other.clone()), other);
        }
    }
}
