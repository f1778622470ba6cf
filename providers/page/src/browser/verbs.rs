//! What a script may do with the session of its browser.

use super::{ExecutionBrowser, State, lock, only_one_shot};
use codemode_provider::Promotion;
use codemode_spec::{ErrorCode, ErrorReport, session::SessionMode};
use tokio::time::Instant;

impl ExecutionBrowser {
    /// Makes the browser the shared one of its key.
    pub async fn promote(&self, promotion: Promotion, deadline: Instant) -> Result<(), ErrorReport> {
        self.connected(deadline).await?;
        match self.session() {
            Some(session) => session.promote(promotion).await,
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
        let connected = lock(&self.connected).take();
        if let Some(connected) = connected {
            connected.connection.close().await;
        }
    }
}
