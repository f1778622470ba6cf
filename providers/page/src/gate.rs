//! The gate before every command: a script reaches a session or a target only when it is known what the target shows.

use crate::{
    attach::HANDLE,
    connected::ConnectedBrowser,
    policy::{self, TargetAccess},
    reports::{closed, detached},
};
use codemode_spec::ErrorReport;
use std::time::Duration;

impl ConnectedBrowser {
    /// Waits until it is known what the target of a command shows. A frame or a popup that has just opened has no URL
    /// until it has loaded.
    ///
    /// # Errors
    /// As [`crate::targets::Targets::obstacle`] for a session that was detached or revoked; `INVALID_ARGUMENT` if there
    /// is no such session or target; `POLICY_REFUSED` if the target's URL stays unknown, immediately if the target
    /// waits for the script itself to resume it.
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
            // Events were dropped from the full buffer: what is known of targets is stale until a new list of them is
            // read.
            self.refresh().await;
            if self.targets.has_gap() {
                return Err(policy::not_known_yet(method));
            }
        }
        let mut refreshed = false;
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
                    match self.targets.access(target) {
                        TargetAccess::Absent if self.targets.was_closed(target) => return Err(closed(target)),
                        TargetAccess::Absent if refreshed => return Err(self.no_target(target)),
                        TargetAccess::Absent => {
                            // Not every browser reports each target by an event: request the list once.
                            refreshed = true;
                            self.targets.missed(self.connection.events().cursor());
                            self.refresh().await;
                            again = true;
                        }
                        TargetAccess::NotKnownYet => is_known = false,
                        TargetAccess::Usable | TargetAccess::Refused(_) => {}
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

    /// A raw session id must belong to a session that is known and was not revoked.
    fn must_be_usable(&self, raw: &str, method: &str) -> Result<(), ErrorReport> {
        if let Some(refusal) = self.targets.refusal(raw, method) {
            return Err(refusal);
        }
        if self.targets.was_detached(raw) {
            return Err(detached(raw));
        }
        if self.targets.is_known(raw) { Ok(()) } else { Err(self.not_a_session(raw)) }
    }

    /// Refuses the answer to a command whose session was revoked while it was pending.
    pub(crate) fn still_usable(&self, raw: &str, method: &str) -> Result<(), ErrorReport> {
        self.catch_up();
        self.targets.refusal(raw, method).map_or(Ok(()), Err)
    }
}
