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
        let persons = all.values().filter(|mode| *mode.borrow()).count();
        let is_new = !all.get(&of(client)).is_some_and(|mode| *mode.borrow());
        if is_persons && is_new && persons >= ABP_PERSONS_MAX {
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
        let mut mode = {
            let mut all = self.all();
            // Those that no action has and that say what is so anyhow.
            all.retain(|_, mode| *mode.borrow() || mode.receiver_count() > 0);
            all.entry(of(client)).or_default().subscribe()
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn client(key: &str) -> Client {
        Client { caller: std::sync::Arc::default(), key: key.to_owned() }
    }

    #[test]
    fn what_is_known_of_turns_is_bounded() {
        let modes = Modes::default();
        for number in 0..1_000 {
            let done = modes.of_agent(&client(&number.to_string()), async { Ok(number) }).now_or_never();
            assert_eq!(done.map(Result::unwrap), Some(number));
        }
        assert_eq!(modes.all().len(), 1);
        for number in 0..ABP_PERSONS_MAX {
            modes.set(&client(&number.to_string()), true).unwrap();
        }
        assert_eq!(modes.set(&client("one more"), true).unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
        modes.set(&client("0"), true).unwrap();
        let refused = modes.of_agent(&client("0"), async { Ok(()) }).now_or_never();
        assert_eq!(refused.map(|refused| refused.unwrap_err().status), Some(StatusCode::CONFLICT));
        modes.set(&client("0"), false).unwrap();
        assert!(!modes.is_persons(&client("0")) && modes.is_persons(&client("1")));
        modes.of_agent(&client("0"), async { Ok(()) }).now_or_never().unwrap().unwrap();
        modes.set(&client("one more"), true).unwrap();
    }
}
