//! Who has a lease, and who has it next.

use super::{
    Done,
    step::{Lease, Standing, Step},
};
use crate::session::store::{
    Claim, Claimed, Holder, LeaseName, LeaseRef,
    audit::{Event, EventKind},
};
use codemode_spec::limits::{LEASE_WAITER_RENEW_MS, LEASE_WAITER_TTL_MS, LEASE_WAITERS_MAX};
use rusqlite::params;
use serde_json::json;

/// One that waits for a lease.
struct Waiter {
    id: i64,
    execution: String,
    host: String,
    boot: String,
    until: i64,
}

impl Step<'_> {
    fn waiters(&self, name: &LeaseName) -> Done<Vec<Waiter>> {
        let sql = "SELECT id, execution, host, boot, until_steady FROM waiter WHERE name = ?1 ORDER BY id";
        self.all(sql, [name.as_str()], |row| {
            Ok(Waiter {
                id: row.get(0)?,
                execution: row.get(1)?,
                host: row.get(2)?,
                boot: row.get(3)?,
                until: row.get(4)?,
            })
        })
    }

    fn is_there(&self, waiter: &Waiter) -> bool {
        waiter.boot == self.boot && waiter.until > self.steady && self.hosts.is_alive(&waiter.host)
    }

    /// Those who wait and still live, first come first.
    pub(super) fn queue(&self, name: &LeaseName) -> Done<Vec<String>> {
        let waiters = self.waiters(name)?.into_iter();
        Ok(waiters.filter(|waiter| self.is_there(waiter)).map(|waiter| waiter.execution).collect())
    }

    /// Whoever keeps a claim waiting, if nothing is to be changed for it: it is not its turn, and it has said a moment
    /// ago that it waits.
    pub(super) fn still_waits(&self, claim: &Claim) -> Done<Option<Holder>> {
        let queue: Vec<_> = self.waiters(&claim.name)?.into_iter().filter(|waiter| self.is_there(waiter)).collect();
        let said_until = self.steady.saturating_add_unsigned(LEASE_WAITER_TTL_MS - LEASE_WAITER_RENEW_MS);
        let Some(place) = queue.iter().position(|waiter| waiter.execution == claim.execution) else { return Ok(None) };
        let Some(lease) = self.lease(&claim.name)?.filter(|_| queue[place].until > said_until) else { return Ok(None) };
        if place == 0 && self.standing(&lease) != Standing::Held {
            return Ok(None);
        }
        Ok(Some(self.holder(&claim.name, &lease)?))
    }

    /// Takes a lease, or a place in the queue.
    pub(super) fn acquire(&self, claim: &Claim) -> Done<Claimed> {
        let (name, execution) = (claim.name.as_str(), &claim.execution);
        let mut queue = Vec::new();
        for waiter in self.waiters(&claim.name)? {
            if waiter.execution == *execution || self.is_there(&waiter) {
                queue.push(waiter.execution);
            } else {
                self.execute("DELETE FROM waiter WHERE id = ?1", [waiter.id])?;
            }
        }
        let event = |kind| Event::new(kind).key(claim.name.key()).execution(execution);
        let lease = self.lease(&claim.name)?;
        let held = lease.as_ref().is_some_and(|lease| self.standing(lease) == Standing::Held);
        let waits = queue.contains(execution);
        if !held && queue.first().is_none_or(|first| first == execution) {
            if !waits {
                self.audit(&event(EventKind::LeaseRequested))?;
            }
            return Ok(Claimed::Granted(self.grant(claim, lease.as_ref())?));
        }
        let Some(lease) = lease else {
            return Ok(Claimed::Busy(first_of(&queue)));
        };
        let until = self.steady.saturating_add_unsigned(LEASE_WAITER_TTL_MS);
        if waits {
            self.execute(
                "UPDATE waiter SET until_steady = ?3, host = ?4, boot = ?5 WHERE name = ?1 AND execution = ?2",
                params![name, execution, until, claim.host, self.boot],
            )?;
        } else if queue.len() >= LEASE_WAITERS_MAX as usize {
            self.audit(&event(EventKind::LeaseRefused).detail(json!({"why": "queue-full"})))?;
            return Ok(Claimed::QueueFull(self.holder(&claim.name, &lease)?));
        } else {
            self.execute(
                "INSERT INTO waiter (name, execution, host, boot, until_steady) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![name, execution, claim.host, self.boot, until],
            )?;
            self.audit(&event(EventKind::LeaseRequested).detail(json!({"holder": lease.execution})))?;
        }
        Ok(Claimed::Busy(self.holder(&claim.name, &lease)?))
    }

    /// Takes a lease now or not at all.
    pub(super) fn take(&self, claim: &Claim) -> Done<Result<LeaseRef, Holder>> {
        let (lease, queue) = (self.lease(&claim.name)?, self.queue(&claim.name)?);
        let held = lease.as_ref().is_some_and(|lease| self.standing(lease) == Standing::Held);
        if !held && queue.is_empty() {
            return Ok(Ok(self.grant(claim, lease.as_ref())?));
        }
        let event = Event::new(EventKind::LeaseRefused).key(claim.name.key()).execution(&claim.execution);
        self.audit(&event.detail(json!({"why": "not-free"})))?;
        Ok(Err(match &lease {
            Some(lease) => self.holder(&claim.name, lease)?,
            None => first_of(&queue),
        }))
    }

    /// Takes a lease away from its holder.
    pub(super) fn revoke(&self, name: &LeaseName) -> Done<Option<Holder>> {
        let Some(lease) = self.lease(name)? else { return Ok(None) };
        if self.standing(&lease) != Standing::Held {
            self.note_loss(name, &lease)?;
            return Ok(None);
        }
        let holder = self.holder(name, &lease)?;
        self.execute(
            "UPDATE lease SET revoked = token, token = token + 1, execution = NULL WHERE name = ?1",
            [name.as_str()],
        )?;
        if let Some(key) = name.key() {
            self.idle_from_now(key)?;
        }
        let event = Event::new(EventKind::LeaseRevoked).key(name.key()).execution(&holder.execution);
        self.audit(&event.token(lease.token))?;
        Ok(Some(holder))
    }

    pub(super) fn holder(&self, name: &LeaseName, lease: &Lease) -> Done<Holder> {
        let queue = self.queue(name)?;
        let held = self.standing(lease) == Standing::Held;
        Ok(Holder {
            waiting: u32::try_from(queue.len()).unwrap_or(u32::MAX),
            execution: match &lease.execution {
                Some(execution) if held => execution.clone(),
                // Free, but promised to whoever has waited longest.
                _ => queue.into_iter().next().unwrap_or_default(),
            },
            token: lease.token,
            held_ms: if held { self.steady - lease.since } else { 0 },
            expires_in_ms: if held { lease.until - self.steady } else { 0 },
        })
    }
}

/// Who has the first claim to a lease that nobody has ever held, and that somebody waits for.
fn first_of(queue: &[String]) -> Holder {
    let execution = queue.first().cloned().unwrap_or_default();
    Holder { execution, token: 0, held_ms: 0, expires_in_ms: 0, waiting: 0 }
}
