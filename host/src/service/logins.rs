//! Saved login states as an operator administers them, and their end when they are not used.

use super::{host::Service, parts::Administration, secrets::note, startup::blocking};
use crate::{
    logins::{LoginRemoved, LoginsListed},
    session::store::audit::{Event, EventKind},
};
use codemode_spec::{ErrorReport, limits::SESSION_SWEEP_MS};
use serde_json::json;
use std::time::{Duration, SystemTime};
use tokio_util::task::AbortOnDropHandle;

impl Service {
    /// Names and keys of the saved login states; no method tells a value.
    ///
    /// # Errors
    /// When their files cannot be read or are not this user's alone.
    pub async fn logins_list(&self) -> Result<LoginsListed, ErrorReport> {
        let logins = self.administration().await?.logins.clone();
        blocking(move || logins.list()).await
    }

    /// Removes the login state of a session key, also one that does not open. Browsers that have loaded it keep what it was.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none of the name; when that cannot be written.
    pub async fn logins_remove(&self, name: &str, key: &str) -> Result<LoginRemoved, ErrorReport> {
        let administration = self.administration().await?;
        let (logins, name, key) = (administration.logins.clone(), name.to_owned(), key.to_owned());
        let removed = blocking(move || logins.remove(&key, &name)).await?;
        note(administration, event(&removed, "operator")).await?;
        Ok(removed)
    }
}

impl Administration {
    /// Removes the login states that were not used for as long as logins are kept; how many that were.
    pub(super) async fn forget_logins(&self) -> Result<usize, ErrorReport> {
        let (logins, kept) = (self.logins.clone(), self.logins_kept);
        let removed = blocking(move || logins.remove_unused(kept, SystemTime::now())).await?;
        for login in &removed {
            note(self, event(login, "unused")).await?;
        }
        Ok(removed.len())
    }

    /// Does so now and again for as long as the handle is kept.
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
