//! Whose turn the browser of a client is: the agent's, whose actions are carried out, or a person's, who uses its window.

use crate::surface::http::face::{Client, Failure};
use axum::http::StatusCode;
use codemode_spec::limits::ABP_PERSONS_MAX;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// The browsers whose turn is a person's, by caller and key. It stays so when the execution behind them ends.
#[derive(Default)]
pub(super) struct Modes(Mutex<HashMap<(String, String), watch::Sender<bool>>>);

impl Modes {
    fn all(&self) -> MutexGuard<'_, HashMap<(String, String), watch::Sender<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_persons(&self, client: &Client) -> bool {
        self.all().get(&of(client)).is_some_and(|mode| *mode.borrow())
    }

    /// Gives the turn. Actions that run are given up when it becomes a person's.
    pub(super) fn set(&self, client: &Client, is_persons: bool) -> Result<(), Failure> {
        let mut all = self.all();
        // Those that nobody waits for and that say what is so anyhow.
        all.retain(|_, mode| *mode.borrow() || mode.receiver_count() > 0);
        if is_persons && all.len() >= ABP_PERSONS_MAX && !all.contains_key(&of(client)) {
            let message = format!("people use {ABP_PERSONS_MAX} browsers of this host");
            return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, &message));
        }
        all.entry(of(client)).or_default().send_replace(is_persons);
        Ok(())
    }

    /// Carries out an action of the agent; gives it up when it is a person's turn, or becomes that.
    pub(super) async fn of_agent<T>(
        &self,
        client: &Client,
        action: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let mut mode = self.all().entry(of(client)).or_default().subscribe();
        tokio::select! {
            biased;
            _ = mode.wait_for(|is_persons| *is_persons) => {
                let message = "it is a person's turn: the input mode is human";
                Err(Failure::new(StatusCode::CONFLICT, message)
                    .with_hint(r#"Wait, or take the turn back: POST /browser/input-mode {"input_mode": "agent"}."#))
            }
            done = action => done,
        }
    }
}

fn of(client: &Client) -> (String, String) {
    (client.caller.name.clone(), client.key.clone())
}
