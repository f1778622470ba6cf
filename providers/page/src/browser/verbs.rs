//! What a script may do with the session of its browser, and what it leaves there.

use super::{ExecutionBrowser, State, lock, only_one_shot};
use codemode_provider::Promotion;
use codemode_spec::{ErrorCode, ErrorReport, session::SessionMode};
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

    /// Ends the browser now. What comes next has another one.
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

    /// Ends the browser and has another one in its place.
    pub async fn reset_session(&self, deadline: Instant) -> Result<(), ErrorReport> {
        self.reach_session(deadline).await?;
        let mut state = self.state.lock().await;
        match self.session() {
            Some(session) => {
                // Whatever comes of it, the browser that was connected is no more.
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

    /// What the execution before left, once the browser is open; `None` if it left nothing or the browser has no key.
    #[must_use]
    pub fn found_note(&self) -> Option<Vec<u8>> {
        self.notes.found()
    }

    /// Leaves bytes for the next execution that uses the browser of this one's key, in the place of what was there: at
    /// most [`NOTES_BYTES_MAX`](codemode_spec::limits::NOTES_BYTES_MAX). Those of a browser without a key are dropped.
    pub fn leave_note(&self, bytes: Vec<u8>) {
        self.notes.leave(bytes);
    }

    /// Of a browser that is to be ended by the script: its session must be had, and must not be another's.
    async fn reach_session(&self, deadline: Instant) -> Result<(), ErrorReport> {
        if self.is_external() {
            let message = "an external browser is never closed";
            return Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message)
                .with_hint("Close the pages that the script opened: ⟦send \"Target.closeTarget\", {targetId}⟧."));
        }
        if self.context.session.mode != SessionMode::OneShot {
            // The shared one of the key, if it is not in use yet.
            self.connected(deadline).await?;
        }
        Ok(())
    }

    async fn disconnect(&self) {
        self.notes.void();
        let connected = lock(&self.connected).take();
        if let Some(connected) = connected {
            connected.connection.close().await;
        }
    }
}

/// The host knows that another browser has the key, and not by which step a script closes that browser.
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
