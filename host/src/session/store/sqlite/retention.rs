//! What is forgotten, and when.

use super::{
    Done,
    step::{Step, text},
};
use crate::session::store::{EndReason, Forgotten, LeaseName, Retention, Stale};
use rusqlite::params;

impl Step<'_> {
    pub(super) fn stale(&self, retention: &Retention) -> Done<Vec<Stale>> {
        // By the wall clock only what ended before the last boot: it may be set at any time. What is being started has no
        // logins yet, and may never have any.
        let ended = self.all(
            "SELECT id, key, CASE boot WHEN ?1 THEN ?2 - idle_steady ELSE ?3 - ended_ms END,
                 EXISTS (SELECT 1 FROM session later WHERE later.key = session.key AND later.id <> session.id
                     AND (later.state = 'live' OR later.reason <> ?4)
                     AND (later.state <> 'ended' OR later.ended_after > session.ended_after))
             FROM session WHERE state = 'ended'",
            params![self.boot, self.steady, self.wall, text(&EndReason::NotStarted)],
            |row| {
                let is_old = |age: i64, kept_ms: u64| age > i64::try_from(kept_ms).unwrap_or(i64::MAX);
                let (id, key, age, is_followed): (String, Option<String>, i64, bool) =
                    (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                let last_of = key.filter(|_| !is_followed);
                let kept_ms = if last_of.is_some() { retention.logins_ms } else { retention.sessions_ms };
                Ok(is_old(age, kept_ms).then_some(Stale { id, last_of }))
            },
        )?;
        Ok(ended.into_iter().flatten().collect())
    }

    /// Notes each lease that was lost. Keepers do it for what they keep, and whoever takes the lease for what it was; nobody
    /// else looks at one whose session has ended.
    pub(super) fn note_losses(&self) -> Done<()> {
        let sql = "SELECT name FROM lease WHERE execution IS NOT NULL ORDER BY name";
        for name in self.all(sql, [], |row| row.get(0).map(LeaseName))? {
            if let Some(lease) = self.lease(&name)? {
                self.note_loss(&name, &lease)?;
            }
        }
        Ok(())
    }

    pub(super) fn forget(&self, sessions: &[String], retention: &Retention) -> Done<Forgotten> {
        let mut forgotten = Forgotten::default();
        for id in sessions {
            forgotten.sessions += self.execute("DELETE FROM session WHERE id = ?1 AND state = 'ended'", [id])?;
        }
        self.execute("DELETE FROM waiter WHERE boot <> ?1 OR until_steady < ?2", params![self.boot, self.steady])?;
        // Nobody uses them and nothing is known of their keys: what is left of them is the largest of their tokens.
        let of_nothing = "execution IS NULL AND name NOT IN (SELECT 'key:' || key FROM session WHERE key IS NOT NULL)
             AND name NOT IN (SELECT name FROM waiter)";
        self.execute(
            &format!(
                "UPDATE token_floor SET token = max(token, (SELECT coalesce(max(token), 0) FROM lease WHERE {of_nothing}))"
            ),
            [],
        )?;
        self.execute(&format!("DELETE FROM lease WHERE {of_nothing}"), [])?;
        forgotten.audit_rows = self.trim_audit(retention.audit_rows)?;
        Ok(forgotten)
    }
}
