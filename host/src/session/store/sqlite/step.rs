//! What the operations are made of: reading and changing the tables at one moment, within one transaction.

use super::Done;
use crate::session::{
    hosts::Liveness,
    store::{
        Claim, EndReason, LeaseName, LeaseRef, Loss, SessionRow, SessionState, StoreError, Watch,
        audit::{Event, EventKind},
    },
};
use rusqlite::{OptionalExtension as _, Row, Transaction, named_params, params};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

/// A transaction, and the moment at which it happens.
pub(super) struct Step<'a> {
    pub(super) transaction: Transaction<'a>,
    pub(super) wall: i64,
    pub(super) steady: i64,
    pub(super) boot: String,
    pub(super) hosts: &'a dyn Liveness,
}

/// A row of the table `lease`.
pub(super) struct Lease {
    pub(super) token: u64,
    pub(super) execution: Option<String>,
    pub(super) host: String,
    pub(super) boot: String,
    pub(super) since: i64,
    pub(super) until: i64,
    pub(super) renewals: u64,
    pub(super) revoked: u64,
}

/// Whether somebody has a lease.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Free,
    Held,
    Expired,
    HostDied,
}

impl Step<'_> {
    pub(super) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Done<usize> {
        Ok(self.transaction.prepare_cached(sql)?.execute(params)?)
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Done<Option<T>> {
        Ok(self.transaction.prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Done<Vec<T>> {
        Ok(self.transaction.prepare_cached(sql)?.query_map(params, read)?.collect::<Result<_, _>>()?)
    }

    pub(super) fn lease(&self, name: &LeaseName) -> Done<Option<Lease>> {
        self.one(
            "SELECT token, execution, host, boot, since_steady, until_steady, renewals, revoked FROM lease WHERE name = ?1",
            [name.as_str()],
            |row| {
                Ok(Lease {
                    token: row.get(0)?,
                    execution: row.get(1)?,
                    host: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                    boot: row.get(3)?,
                    since: row.get(4)?,
                    until: row.get(5)?,
                    renewals: row.get(6)?,
                    revoked: row.get(7)?,
                })
            },
        )
    }

    pub(super) fn standing(&self, lease: &Lease) -> Standing {
        if lease.execution.is_none() {
            Standing::Free
        } else if lease.boot != self.boot || lease.until <= self.steady {
            Standing::Expired
        } else if !self.hosts.is_alive(&lease.host) {
            Standing::HostDied
        } else {
            Standing::Held
        }
    }

    /// Gives a lease that nobody holds any more.
    pub(super) fn grant(&self, claim: &Claim, before: Option<&Lease>) -> Done<LeaseRef> {
        if let Some(lease) = before {
            self.note_loss(&claim.name, lease)?;
        }
        let before = match before {
            Some(lease) => lease.token,
            None => self.one("SELECT token FROM token_floor", [], |row| row.get(0))?.unwrap_or_default(),
        };
        let token = before + 1;
        self.execute(
            "INSERT INTO lease (name, token, execution, host, boot, since_steady, until_steady)
             VALUES (:name, :token, :execution, :host, :boot, :since, :until)
             ON CONFLICT (name) DO UPDATE SET token = :token, execution = :execution, host = :host, boot = :boot,
                 since_steady = :since, until_steady = :until, renewals = 0",
            named_params! {
                ":name": claim.name.as_str(),
                ":token": token,
                ":execution": claim.execution,
                ":host": claim.host,
                ":boot": self.boot,
                ":since": self.steady,
                ":until": self.steady.saturating_add_unsigned(claim.ttl_ms),
            },
        )?;
        self.execute("DELETE FROM waiter WHERE name = ?1 AND execution = ?2", [claim.name.as_str(), &claim.execution])?;
        let event = Event::new(EventKind::LeaseAcquired).key(claim.name.key()).execution(&claim.execution).token(token);
        self.audit(&event)?;
        Ok(LeaseRef { name: claim.name.clone(), token })
    }

    /// Notes that the holder of a lease has lost it, and frees it. Its session is idle from now on.
    pub(super) fn note_loss(&self, name: &LeaseName, lease: &Lease) -> Done<()> {
        let how = match self.standing(lease) {
            Standing::Free | Standing::Held => return Ok(()),
            Standing::Expired => "expired",
            Standing::HostDied => "host-died",
        };
        let event = Event::new(EventKind::LeaseLost).key(name.key()).token(lease.token).detail(json!({"how": how}));
        self.audit(&Event { execution: lease.execution.clone(), ..event })?;
        self.free(name)
    }

    pub(super) fn free(&self, name: &LeaseName) -> Done<()> {
        match name.key() {
            Some(key) => {
                self.execute("UPDATE lease SET execution = NULL WHERE name = ?1", [name.as_str()])?;
                self.idle_from_now(key)?;
            }
            // Its session is never leased again: the token is not needed.
            None => drop(self.execute("DELETE FROM lease WHERE name = ?1", [name.as_str()])?),
        }
        Ok(())
    }

    /// The session of a key is used by nobody from this moment on.
    pub(super) fn idle_from_now(&self, key: &str) -> Done<()> {
        self.execute(
            "UPDATE session SET used_ms = ?2, idle_steady = ?3, boot = ?4 WHERE key = ?1 AND state <> 'ended'",
            params![key, self.wall, self.steady, self.boot],
        )?;
        Ok(())
    }

    /// How a lease was lost, if it was.
    pub(super) fn loss(&self, lease: &LeaseRef) -> Done<Option<Loss>> {
        let Some(row) = self.lease(&lease.name)? else { return Ok(Some(Loss::Expired)) };
        Ok(if row.revoked == lease.token {
            Some(Loss::Revoked)
        } else if row.token != lease.token {
            Some(Loss::Taken { token: row.token })
        } else if self.standing(&row) == Standing::Held {
            None
        } else {
            Some(Loss::Expired)
        })
    }

    pub(super) fn require_held(&self, lease: &LeaseRef) -> Done<()> {
        match self.loss(lease)? {
            None => Ok(()),
            Some(loss) => Err(StoreError::NotHeld(loss).into()),
        }
    }

    pub(super) fn session(&self, id: &str) -> Done<Option<SessionRow>> {
        self.one(&format!("{SESSION} WHERE id = ?1"), [id], session_row)
    }

    pub(super) fn session_of_key(&self, key: &str) -> Done<Option<SessionRow>> {
        self.one(&format!("{SESSION} WHERE key = ?1 AND state <> 'ended'"), [key], session_row)
    }

    /// Whether a keeper has to end its browser, and nothing that would have to be written.
    pub(super) fn fate(&self, session: &SessionRow, idle_steady: i64) -> Done<(Watch, Option<Lease>)> {
        if matches!(session.state, SessionState::Closing | SessionState::Ended) {
            return Ok((Watch::End(session.reason.unwrap_or(EndReason::Operator)), None));
        }
        let lease = self.lease(&session.lease_name())?;
        let standing = lease.as_ref().map_or(Standing::Free, |lease| self.standing(lease));
        let lost = lease.filter(|_| matches!(standing, Standing::Expired | Standing::HostDied));
        let watch = match (standing, &session.key) {
            (Standing::Held, _) => Watch::Keep,
            (_, None) => Watch::End(EndReason::Abandoned),
            // Whoever was starting it has lost it.
            _ if session.state == SessionState::Starting => Watch::End(EndReason::NotStarted),
            // Idle from the moment at which the loss is noted.
            (Standing::Expired | Standing::HostDied, Some(_)) => Watch::Keep,
            (Standing::Free, Some(_)) if session.boot != self.boot => Watch::End(EndReason::Crashed),
            (Standing::Free, Some(_)) => {
                let ends = idle_steady.saturating_add_unsigned(session.ttl_ms);
                if self.steady >= ends { Watch::End(EndReason::Idle) } else { Watch::Keep }
            }
        };
        Ok((watch, lost))
    }

    pub(super) fn watched(&self, id: &str) -> Done<Option<(SessionRow, i64)>> {
        let idle = self.one("SELECT idle_steady FROM session WHERE id = ?1", [id], |row| row.get(0))?;
        Ok(self.session(id)?.zip(idle))
    }

    pub(super) fn closing(&self, id: &str, reason: EndReason) -> Done<bool> {
        let noted = self.session(id)?.and_then(|row| row.reason);
        // The first one, unless what is kept is to go as well: that must not be missed.
        let reason = noted.filter(|noted| noted.forgets() || !reason.forgets()).unwrap_or(reason);
        let changed = self.execute(
            "UPDATE session SET state = 'closing', reason = ?2 WHERE id = ?1 AND state <> 'ended'",
            params![id, text(&reason)],
        )?;
        Ok(changed > 0)
    }
}

pub(super) const SESSION: &str = "SELECT id, mode, key, state, profile, profile_kept, execution, browser, ttl_ms, created_ms, used_ms, \
                       ended_ms, reason, boot, network, network_held FROM session";

pub(super) fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get(0)?,
        mode: word(row, 1)?,
        key: row.get(2)?,
        state: word(row, 3)?,
        profile: row.get(4)?,
        profile_kept: row.get(5)?,
        execution: row.get(6)?,
        browser: match row.get::<_, Option<String>>(7)? {
            Some(facts) => Some(serde_json::from_str(&facts).map_err(|error| unreadable(7, error))?),
            None => None,
        },
        ttl_ms: row.get(8)?,
        created_ms: row.get(9)?,
        used_ms: row.get(10)?,
        ended_ms: row.get(11)?,
        reason: match row.get::<_, Option<String>>(12)? {
            Some(_) => Some(word(row, 12)?),
            None => None,
        },
        boot: row.get(13)?,
        network: row.get(14)?,
        network_held: row.get(15)?,
    })
}

/// A value that is written as a word.
fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_value(Json::String(row.get(column)?)).map_err(|error| unreadable(column, error))
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// The word of a value.
pub(super) fn text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Json::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
