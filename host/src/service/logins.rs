//! Administration of saved login states, and the removal of unused ones.

use super::{host::Service, secrets::note, startup::blocking, subsystems::Administration};
use crate::{
    logins::{LoginRemoved, LoginsListed},
    session::store::audit::{Event, EventKind},
};
use codemode_spec::{ErrorReport, limits::SESSION_SWEEP_MS};
use serde_json::json;
use std::time::{Duration, SystemTime};
use tokio_util::task::AbortOnDropHandle;

impl Service {
    /// The names and keys of the saved login states; no method returns their contents.
    ///
    /// # Errors
    /// When their files cannot be read or are accessible to other users.
    pub async fn logins_list(&self) -> Result<LoginsListed, ErrorReport> {
        let logins = self.administration().await?.logins.clone();
        blocking(move || logins.list()).await
    }

    /// Removes a login state of a session key, even if it cannot be decrypted. Browsers that have loaded it are not
    /// changed.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no login state of that name; when it cannot be removed.
    pub async fn logins_remove(&self, name: &str, key: &str) -> Result<LoginRemoved, ErrorReport> {
        let administration = self.administration().await?;
        let (logins, name, key) = (administration.logins.clone(), name.to_owned(), key.to_owned());
        let removed = blocking(move || logins.remove(&key, &name)).await?;
        note(administration, event(&removed, "operator")).await?;
        Ok(removed)
    }
}

impl Administration {
    /// Removes the login states that were unused for longer than their retention; returns their number.
    pub(super) async fn forget_logins(&self) -> Result<usize, ErrorReport> {
        let (logins, kept) = (self.logins.clone(), self.logins_kept);
        let (removed, all) = blocking(move || Ok(logins.remove_unused(kept, SystemTime::now()))).await?;
        let mut noted = all.map(|()| removed.len());
        for login in &removed {
            // They are removed already: a note that fails does not stop the next ones.
            if let Err(error) = note(self, event(login, "unused")).await {
                noted = Err(error);
            }
        }
        noted
    }

    /// Removes unused login states periodically until the handle is dropped.
    pub(super) fn keep_forgetting_logins(self) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut next = tokio::time::interval(Duration::from_millis(SESSION_SWEEP_MS));
            next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                next.tick().await;
                if let Err(error) = self.forget_logins().await {
                    tracing::warn!(%error, "unused login states could not all be removed");
                }
            }
        }))
    }
}

fn event(removed: &LoginRemoved, by: &str) -> Event {
    Event::new(EventKind::LoginRemoved).key(Some(&removed.key)).detail(json!({"name": removed.removed, "by": by}))
}
