//! Operations on leases: acquire, renew, release, revoke, and record losses.

use super::{Done, audit::append};
use crate::session::{
    rules::{self, Claim, Claimed, Holder, LeaseName, LeaseRecord, LeaseRef, LeaseRow, Loss, Standing, Turn, Waiter},
    store::{
        StoreError,
        audit::{Event, EventKind},
        tables::Tables,
    },
};
use serde_json::json;

/// The holder of a lease for which a claim keeps waiting; `None` if the claim requires a write.
pub(in crate::session::store) fn still_waits(tables: &mut dyn Tables, claim: &Claim) -> Done<Option<Holder>> {
    let (lease, waiters) = (tables.lease(&claim.name)?, tables.waiters(&claim.name)?);
    let waits = rules::still_waits(claim, lease.as_ref(), &waiters, tables.now());
    Ok(waits.then(|| rules::holder(lease.as_ref(), &waiters, tables.now())))
}

pub(in crate::session::store) fn acquire(tables: &mut dyn Tables, claim: &Claim) -> Done<Claimed> {
    let Claim { name, execution, .. } = claim;
    let (lease, mut waiters) = (tables.lease(name)?, tables.waiters(name)?);
    for left in rules::left_the_queue(&waiters, execution, tables.now()) {
        tables.waiter_remove(name, left)?;
    }
    let event = |kind| Event::new(kind).key(name.key()).execution(execution);
    match rules::turn(claim, lease.as_ref(), &waiters, tables.now()) {
        Turn::Granted => {
            if !waiters.iter().any(|waiter| waiter.execution == *execution) {
                append(tables, &event(EventKind::LeaseRequested))?;
            }
            return Ok(Claimed::Granted(grant(tables, claim, lease)?));
        }
        Turn::QueueFull => {
            append(tables, &event(EventKind::LeaseRefused).detail(json!({"why": "queue-full"})))?;
            return Ok(Claimed::QueueFull(rules::holder(lease.as_ref(), &waiters, tables.now())));
        }
        Turn::NoPlace => {}
        turn @ (Turn::KeepsPlace | Turn::TakesPlace) => {
            let waiter = Waiter::of(claim, tables.now());
            tables.waiter_put(name, &waiter)?;
            if turn == Turn::TakesPlace {
                let holder = lease.as_ref().and_then(|lease| lease.execution.as_ref());
                append(tables, &event(EventKind::LeaseRequested).detail(json!({"holder": holder})))?;
            }
            waiters = tables.waiters(name)?;
        }
    }
    Ok(Claimed::Busy(rules::holder(lease.as_ref(), &waiters, tables.now())))
}

pub(in crate::session::store) fn take(tables: &mut dyn Tables, claim: &Claim) -> Done<Result<LeaseRef, Holder>> {
    let (lease, waiters) = (tables.lease(&claim.name)?, tables.waiters(&claim.name)?);
    if rules::may_take(lease.as_ref(), &waiters, tables.now()) {
        return Ok(Ok(grant(tables, claim, lease)?));
    }
    let event = Event::new(EventKind::LeaseRefused).key(claim.name.key()).execution(&claim.execution);
    append(tables, &event.detail(json!({"why": "not-free"})))?;
    Ok(Err(rules::holder(lease.as_ref(), &waiters, tables.now())))
}

pub(in crate::session::store) fn seize(tables: &mut dyn Tables, claim: &Claim) -> Done<(LeaseRef, Option<Holder>)> {
    let holder = revoke(tables, &claim.name)?;
    let freed = tables.lease(&claim.name)?;
    Ok((grant(tables, claim, freed)?, holder))
}

pub(in crate::session::store) fn give_up(tables: &mut dyn Tables, name: &LeaseName, execution: &str) -> Done<()> {
    if tables.waiter_remove(name, execution)? {
        let event = Event::new(EventKind::LeaseRefused).key(name.key()).execution(execution);
        append(tables, &event.detail(json!({"why": "gave-up"})))?;
    }
    Ok(())
}

/// Renews a lease, or records that it has expired. Returns the loss as a value, so that the transaction commits the
/// record.
pub(in crate::session::store) fn renew(tables: &mut dyn Tables, lease: &LeaseRef, ttl_ms: u64) -> Done<Option<Loss>> {
    let row = tables.lease(&lease.name)?;
    let lost = rules::loss(row.as_ref(), lease, tables.now());
    let Some(row) = row else { return Ok(lost) };
    if let Some(loss) = lost {
        if loss == Loss::Expired {
            note_loss(tables, &lease.name, row)?;
        }
        return Ok(Some(loss));
    }
    let row = rules::renewed(row, ttl_ms, tables.now());
    tables.lease_put(&lease.name, &row)?;
    if rules::is_renewal_noted(row.renewals) {
        let event = Event::new(EventKind::LeaseRenewed).key(lease.name.key()).token(lease.token);
        let event = event.detail(json!({"renewals": row.renewals}));
        append(tables, &Event { execution: row.execution, ..event })?;
    }
    Ok(None)
}

/// Checks that a lease is held and its session has not ended. Returns the expiry, in milliseconds since the boot.
pub(in crate::session::store) fn check(tables: &mut dyn Tables, lease: &LeaseRef, session: &str) -> Done<i64> {
    let (row, used) = (tables.lease(&lease.name)?, tables.session(session)?);
    let lost = rules::loss(row.as_ref(), lease, tables.now());
    let lost = rules::loss_in_use(lost, used.as_ref().map(|used| &used.row), session);
    match lost {
        Some(loss) => Err(StoreError::NotHeld(loss)),
        None => Ok(row.map_or(0, |row| row.until_steady_ms)),
    }
}

pub(in crate::session::store) fn release(tables: &mut dyn Tables, lease: &LeaseRef) -> Done<()> {
    let row = require_held(tables, lease)?;
    let execution = row.execution.clone();
    free(tables, &lease.name, row)?;
    let event = Event::new(EventKind::LeaseReleased).key(lease.name.key()).token(lease.token);
    append(tables, &Event { execution, ..event })
}

pub(in crate::session::store) fn revoke(tables: &mut dyn Tables, name: &LeaseName) -> Done<Option<Holder>> {
    let Some(lease) = tables.lease(name)? else { return Ok(None) };
    if rules::standing(&lease, tables.now()) != Standing::Held {
        note_loss(tables, name, lease)?;
        return Ok(None);
    }
    let waiters = tables.waiters(name)?;
    let holder = rules::holder(Some(&lease), &waiters, tables.now());
    let event = Event::new(EventKind::LeaseRevoked).key(name.key()).execution(&holder.execution).token(lease.token);
    tables.lease_put(name, &rules::revoked(lease))?;
    idle_from_now(tables, name)?;
    append(tables, &event)?;
    Ok(Some(holder))
}

/// The leases that are held, including those of dead hosts.
pub(in crate::session::store) fn list(tables: &mut dyn Tables) -> Done<Vec<LeaseRow>> {
    let mut rows = Vec::new();
    for (name, lease) in tables.leases_held()? {
        if matches!(rules::standing(&lease, tables.now()), Standing::Held | Standing::HostDied) {
            let waiters = tables.waiters(&name)?;
            let holder = rules::holder(Some(&lease), &waiters, tables.now());
            let holder = Holder { execution: lease.execution.unwrap_or_default(), ..holder };
            let (host, host_alive) = (lease.host, lease.host_lives);
            rows.push(LeaseRow { name: name.as_str().to_owned(), holder, host, host_alive });
        }
    }
    Ok(rows)
}

/// Grants a lease that no execution holds any more. If the last holder lost the lease, the loss is recorded first.
pub(super) fn grant(tables: &mut dyn Tables, claim: &Claim, before: Option<LeaseRecord>) -> Done<LeaseRef> {
    if let Some(lost) = before.clone() {
        note_loss(tables, &claim.name, lost)?;
    }
    let floor = if before.is_none() { tables.token_floor()? } else { 0 };
    let lease = rules::granted(claim, before.as_ref(), floor, tables.now());
    tables.lease_put(&claim.name, &lease)?;
    tables.waiter_remove(&claim.name, &claim.execution)?;
    let event = Event::new(EventKind::LeaseAcquired).key(claim.name.key()).execution(&claim.execution);
    append(tables, &event.token(lease.token))?;
    Ok(LeaseRef { name: claim.name.clone(), token: lease.token })
}

/// Records the loss of a lease and frees it, if its holder has lost it. Its session becomes idle.
pub(super) fn note_loss(tables: &mut dyn Tables, name: &LeaseName, lease: LeaseRecord) -> Done<()> {
    let Some(how) = rules::standing(&lease, tables.now()).lost_how() else { return Ok(()) };
    let event = Event::new(EventKind::LeaseLost).key(name.key()).token(lease.token).detail(json!({"how": how}));
    append(tables, &Event { execution: lease.execution.clone(), ..event })?;
    free(tables, name, lease)
}

pub(super) fn free(tables: &mut dyn Tables, name: &LeaseName, lease: LeaseRecord) -> Done<()> {
    match rules::freed(name, lease) {
        Some(lease) => tables.lease_put(name, &lease)?,
        None => tables.lease_remove(name)?,
    }
    idle_from_now(tables, name)
}

/// Marks the session of a key as idle.
fn idle_from_now(tables: &mut dyn Tables, name: &LeaseName) -> Done<()> {
    let Some(key) = name.key() else { return Ok(()) };
    let Some(session) = tables.session_of_key(key)? else { return Ok(()) };
    let session = rules::idle(session, tables.now());
    tables.session_put(&session)
}

/// The row of a lease; fails if the lease is not held.
pub(super) fn require_held(tables: &mut dyn Tables, lease: &LeaseRef) -> Done<LeaseRecord> {
    let row = tables.lease(&lease.name)?;
    match (rules::loss(row.as_ref(), lease, tables.now()), row) {
        (None, Some(row)) => Ok(row),
        (loss, _) => Err(StoreError::NotHeld(loss.unwrap_or(Loss::Expired))),
    }
}
