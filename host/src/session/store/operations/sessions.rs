//! Operations on sessions: create, attach, promote, close, end and remove.

use super::{
    Done, audit,
    leases::{free, grant, note_loss, require_held},
};
use crate::session::{
    rules::{
        self, BrowserFacts, Claim, EndReason, Forgotten, LeaseName, LeaseRef, Loss, NewSession, Retention, SessionRow,
        SessionState, Stale, Watch,
    },
    store::{
        StoreError,
        audit::{Event, EventKind},
        tables::Tables,
    },
};
use serde_json::json;
use std::collections::HashSet;

pub(in crate::session::store) fn begin(tables: &mut dyn Tables, new: &NewSession) -> Done<LeaseRef> {
    let open = tables.sessions_open()?;
    if !rules::has_room(open) {
        return Err(StoreError::TooManySessions { sessions: open });
    }
    let lease = match &new.lease {
        Some(lease) => {
            require_held(tables, lease)?;
            lease.clone()
        }
        None => {
            let (name, execution, host) = (LeaseName::of_session(&new.id), new.execution.clone(), new.host.clone());
            grant(tables, &Claim { name, execution, host, ttl_ms: new.lease_ttl_ms }, None)?
        }
    };
    let session = rules::begun(new, tables.now());
    tables.session_put(&session)?;
    let event = Event::new(EventKind::SessionCreated).key(new.key.as_deref()).session(&new.id);
    let event = event.execution(&new.execution).token(lease.token);
    audit::append(tables, &event.detail(json!({"mode": new.mode})))?;
    Ok(lease)
}

/// Records that the browser of a session has started. `false` if the session is closing or has ended.
pub(in crate::session::store) fn started(tables: &mut dyn Tables, id: &str, browser: &BrowserFacts) -> Done<bool> {
    let Some(session) = tables.session(id)?.and_then(|session| rules::started(session, browser)) else {
        return Ok(false);
    };
    tables.session_put(&session)?;
    let event = Event::new(EventKind::SessionStarted).key(session.row.key.as_deref()).session(id);
    audit::append(tables, &event.detail(json!({"browser_pid": browser.browser_pid})))?;
    Ok(true)
}

pub(in crate::session::store) fn attached(
    tables: &mut dyn Tables,
    id: &str,
    lease: &LeaseRef,
    execution: &str,
    ttl_ms: u64,
    network: Option<&str>,
) -> Done<()> {
    require_held(tables, lease)?;
    if let Some(session) = tables.session(id)? {
        let session = rules::attached(session, ttl_ms, network, tables.now());
        tables.session_put(&session)?;
    }
    let event = Event::new(EventKind::SessionAttached).key(lease.name.key()).session(id);
    audit::append(tables, &event.execution(execution).token(lease.token))
}

/// Records the network rules that the keeper of a session now enforces.
pub(in crate::session::store) fn network_held(tables: &mut dyn Tables, id: &str, network: Option<&str>) -> Done<()> {
    let Some(mut session) = tables.session(id)? else { return Ok(()) };
    session.row.network_held = network.map(str::to_owned);
    tables.session_put(&session)
}

pub(in crate::session::store) fn ended_of_key(tables: &mut dyn Tables, key: &str) -> Done<Option<SessionRow>> {
    Ok(rules::last_ended(tables.sessions_of_key(key)?))
}

pub(in crate::session::store) fn promote(
    tables: &mut dyn Tables,
    id: &str,
    lease: &LeaseRef,
    of_key: &LeaseRef,
) -> Done<()> {
    let own = require_held(tables, lease)?;
    let execution = require_held(tables, of_key)?.execution;
    let key = of_key.name.key().unwrap_or_default();
    let session = tables.session(id)?;
    let reason = session.as_ref().and_then(|session| session.row.reason);
    let Some(session) = session.and_then(|session| rules::promoted(session, key, tables.now())) else {
        return Err(StoreError::NotHeld(Loss::Ended { session: id.to_owned(), reason }));
    };
    tables.session_put(&session)?;
    free(tables, &lease.name, own)?;
    let event = Event::new(EventKind::SessionPromoted).key(Some(key)).session(id).token(of_key.token);
    audit::append(tables, &Event { execution, ..event })
}

/// Marks a session as closing, `under` a lease if there is one. `false` if the session has ended already.
pub(in crate::session::store) fn closing(
    tables: &mut dyn Tables,
    id: &str,
    reason: EndReason,
    under: Option<&LeaseRef>,
) -> Done<bool> {
    if let Some(lease) = under {
        require_held(tables, lease)?;
    }
    let Some(session) = tables.session(id)?.and_then(|session| rules::closing(session, reason)) else {
        return Ok(false);
    };
    tables.session_put(&session)?;
    Ok(true)
}

pub(in crate::session::store) fn ended(tables: &mut dyn Tables, id: &str, reason: EndReason) -> Done<()> {
    let Some(session) = tables.session(id)? else { return Ok(()) };
    let audit_last = tables.audit_head()?.map(|head| head.last);
    let Some(session) = rules::ended(session, reason, audit_last, tables.now()) else { return Ok(()) };
    tables.session_put(&session)?;
    let reason = session.row.reason.unwrap_or(reason);
    let event = Event::new(event_of(reason)).key(session.row.key.as_deref()).session(id);
    audit::append(tables, &event.detail(json!({"reason": reason})))
}

/// Records that an operator removes the profile and the cookies of an ended session's key.
pub(in crate::session::store) fn data_removed(tables: &mut dyn Tables, id: &str) -> Done<()> {
    let session = tables.session(id)?.map(rules::data_removed);
    if let Some(session) = &session {
        tables.session_put(session)?;
    }
    let reason = EndReason::Operator;
    let key = session.and_then(|session| session.row.key);
    let event = Event::new(event_of(reason)).key(key.as_deref()).session(id);
    audit::append(tables, &event.detail(json!({"reason": reason, "had_ended": true})))
}

/// The instruction to the keeper of a session, and whether it requires a write.
pub(in crate::session::store) fn fate(tables: &mut dyn Tables, id: &str) -> Done<(Watch, bool)> {
    let Some(session) = tables.session(id)? else { return Ok((Watch::End(EndReason::Operator), false)) };
    let lease = tables.lease(&session.row.lease_name())?;
    let fate = rules::fate(&session, lease.as_ref(), tables.now());
    let is_written = fate.lease_lost || fate.watch != Watch::Keep;
    Ok((fate.watch, is_written))
}

/// As [`fate`], decided again and written: the session may have been leased since that transaction.
pub(in crate::session::store) fn watch(tables: &mut dyn Tables, id: &str) -> Done<Watch> {
    let Some(session) = tables.session(id)? else { return Ok(Watch::End(EndReason::Operator)) };
    let name = session.row.lease_name();
    let lease = tables.lease(&name)?;
    let fate = rules::fate(&session, lease.as_ref(), tables.now());
    if let Some(lost) = lease.filter(|_| fate.lease_lost) {
        note_loss(tables, &name, lost)?;
    }
    if let Watch::End(reason) = fate.watch {
        closing(tables, id, reason, None)?;
    }
    Ok(fate.watch)
}

pub(in crate::session::store) fn stale(tables: &mut dyn Tables, retention: &Retention) -> Done<Vec<Stale>> {
    let sessions = tables.sessions()?;
    Ok(rules::stale(&sessions, retention, tables.now()))
}

/// Records the losses of leases, and removes these ended sessions and all waiters, leases and audit rows that retention
/// no longer covers.
pub(in crate::session::store) fn forget(
    tables: &mut dyn Tables,
    sessions: &[String],
    retention: &Retention,
) -> Done<Forgotten> {
    // A keeper records the loss of its session's lease, and a grant records the loss of the previous lease. But no
    // other transaction checks a lease whose session has ended.
    for (name, lease) in tables.leases_held()? {
        note_loss(tables, &name, lease)?;
    }
    let mut forgotten = Forgotten::default();
    for id in sessions {
        if tables.session(id)?.is_some_and(|session| session.row.state == SessionState::Ended) {
            tables.session_remove(id)?;
            forgotten.sessions += 1;
        }
    }
    let mut waited_for = HashSet::new();
    for (name, waiter) in tables.waiters_of_all()? {
        if rules::is_forgotten_waiter(&waiter, tables.now()) {
            tables.waiter_remove(&name, &waiter.execution)?;
        } else {
            waited_for.insert(name);
        }
    }
    let keys: HashSet<_> = tables.session_keys()?.into_iter().collect();
    let floor_before = tables.token_floor()?;
    let mut floor = floor_before;
    for (name, lease) in tables.leases()? {
        if rules::is_unused_lease(&name, &lease, |key| keys.contains(key), |name| waited_for.contains(name)) {
            floor = floor.max(lease.token);
            tables.lease_remove(&name)?;
        }
    }
    if floor > floor_before {
        tables.token_floor_put(floor)?;
    }
    forgotten.audit_rows = audit::cut(tables, retention.audit_rows)?;
    Ok(forgotten)
}

const fn event_of(reason: EndReason) -> EventKind {
    match reason {
        EndReason::Done | EndReason::Closed | EndReason::Replaced | EndReason::Stopped | EndReason::Operator => {
            EventKind::SessionClosed
        }
        EndReason::Reset => EventKind::SessionReset,
        EndReason::Idle | EndReason::Abandoned => EventKind::SessionSwept,
        EndReason::Crashed | EndReason::NotStarted => EventKind::SessionCrashed,
    }
}
