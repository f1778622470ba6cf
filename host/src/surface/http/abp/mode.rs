//! Input modes: who controls the browser of a client, the agent, whose actions are executed, or a person at its window.

use crate::surface::http::contract::{Client, Failure};
use axum::http::StatusCode;
use codemode_spec::limits::ABP_PERSONS_MAX;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// The input mode of each browser, by caller and key; `true` if a person controls it. It outlives the execution behind
/// the browser.
#[derive(Default)]
pub(super) struct Modes(Mutex<Entries>);

type Entries = HashMap<(String, String), watch::Sender<bool>>;

impl Modes {
    fn all(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mode of a client's browser. Drops entries that no action uses and that hold only the default mode.
    fn entry<'a>(all: &'a mut Entries, client: &Client) -> &'a mut watch::Sender<bool> {
        all.retain(|_, mode| *mode.borrow() || mode.receiver_count() > 0);
        all.entry(of(client)).or_default()
    }

    pub(super) fn is_human(&self, client: &Client) -> bool {
        self.all().get(&of(client)).is_some_and(|mode| *mode.borrow())
    }

    /// Sets the input mode. Running actions are cancelled when a person takes control.
    pub(super) fn set(&self, client: &Client, is_human: bool) -> Result<(), Failure> {
        let mut all = self.all();
        let persons = all.values().filter(|mode| *mode.borrow()).count();
        let is_new = !all.get(&of(client)).is_some_and(|mode| *mode.borrow());
        if is_human && is_new && persons >= ABP_PERSONS_MAX {
            let message = format!("people use {ABP_PERSONS_MAX} browsers of this host");
            return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, &message));
        }
        Self::entry(&mut all, client).send_replace(is_human);
        Ok(())
    }

    /// Executes an action of the agent, unless a person has control; cancels it when a person takes control.
    pub(super) async fn run_agent_action<T>(
        &self,
        client: &Client,
        action: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let mut mode = Self::entry(&mut self.all(), client).subscribe();
        tokio::select! {
            biased;
            _ = mode.wait_for(|is_human| *is_human) => {
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
            let done = modes.run_agent_action(&client(&number.to_string()), async { Ok(number) }).now_or_never();
            assert_eq!(done.map(Result::unwrap), Some(number));
        }
        assert_eq!(modes.all().len(), 1);
        for number in 0..1_000 {
            modes.set(&client(&number.to_string()), false).unwrap();
        }
        assert_eq!(modes.all().len(), 1);
        for number in 0..ABP_PERSONS_MAX {
            modes.set(&client(&number.to_string()), true).unwrap();
        }
        assert_eq!(modes.set(&client("one more"), true).unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
        modes.set(&client("0"), true).unwrap();
        let refused = modes.run_agent_action(&client("0"), async { Ok(()) }).now_or_never();
        assert_eq!(refused.map(|refused| refused.unwrap_err().status), Some(StatusCode::CONFLICT));
        modes.set(&client("0"), false).unwrap();
        assert!(!modes.is_human(&client("0")) && modes.is_human(&client("1")));
        modes.run_agent_action(&client("0"), async { Ok(()) }).now_or_never().unwrap().unwrap();
        modes.set(&client("one more"), true).unwrap();
    }
}
