//! The gate before every command: a script reaches a session or a target only when it is known what that shows.

use crate::{
    attach::HANDLE,
    connected::ConnectedBrowser,
    policy::{self, Standing},
    reports::{closed, detached},
};
use codemode_spec::ErrorReport;
use std::time::Duration;

impl ConnectedBrowser {
    /// Waits until it is known what a command would reach. A frame or a popup that has just opened has no URL before it
    /// has loaded: what it will show is known only then.
    ///
    /// # Errors
    /// As [`crate::targets::Targets::obstacle`] of a session that is gone or was taken; `INVALID_ARGUMENT` if there is no
    /// such session or target; `POLICY_REFUSED` if it stays unknown, at once if it waits for the script itself.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn admit(
        &self,
        method: &str,
        session: Option<&str>,
        named: Option<&str>,
        timeout: Duration,
    ) -> Result<(), ErrorReport> {
        let mut changes = self.targets.changes();
        if self.targets.has_gap() {
            // More events came than are kept. Until the list has come, what is known is old.
            self.refresh().await;
            if self.targets.has_gap() {
                return Err(policy::not_known_yet(method));
            }
        }
        let mut asked = false;
        let known = async {
            loop {
                self.catch_up();
                let raw = session.filter(|session| !session.starts_with(HANDLE));
                if let Some(raw) = raw {
                    self.must_be_usable(raw, method)?;
                }
                let own = session.and_then(|session| self.target_named(session));
                let (mut is_known, mut again) = (true, false);
                for target in own.as_deref().into_iter().chain(named) {
                    match self.targets.standing(target) {
                        Standing::Absent if self.targets.was_closed(target) => return Err(closed(target)),
                        Standing::Absent if asked => return Err(self.no_target(target)),
                        Standing::Absent => {
                            // Not every browser tells of each.
                            asked = true;
                            self.targets.missed(self.connection.events().cursor());
                            self.refresh().await;
                            again = true;
                        }
                        Standing::NotKnownYet => is_known = false,
                        Standing::Usable | Standing::Refused(_) => {}
                    }
                }
                if again {
                    continue;
                }
                if is_known || policy::is_for_unknown(method) {
                    return Ok(());
                }
                if raw.is_some_and(|raw| self.targets.is_waiting(raw)) || changes.changed().await.is_err() {
                    return Err(policy::not_known_yet(method));
                }
            }
        };
        tokio::time::timeout(timeout, known).await.unwrap_or_else(|_| Err(policy::not_known_yet(method)))
    }

    /// A session that is named as the browser names it must be one that is known, and not be taken.
    fn must_be_usable(&self, raw: &str, method: &str) -> Result<(), ErrorReport> {
        if let Some(refusal) = self.targets.refusal(raw, method) {
            return Err(refusal);
        }
        if self.targets.was_detached(raw) {
            return Err(detached(raw));
        }
        if self.targets.is_known(raw) { Ok(()) } else { Err(self.not_a_session(raw)) }
    }

    /// Refuses what came of a command whose session was taken from the script meanwhile.
    pub(crate) fn still_usable(&self, raw: &str, method: &str) -> Result<(), ErrorReport> {
        self.catch_up();
        self.targets.refusal(raw, method).map_or(Ok(()), Err)
    }
}
