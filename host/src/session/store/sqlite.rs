//! The store in SQLite: the only place with SQL.
//!
//! Any number of processes use one file. Every change is one `BEGIN IMMEDIATE` transaction, so that what it has read
//! still holds when it writes, and is durable when it returns (write-ahead log, fully synchronous).

mod chain;
mod queue;
mod retention;
mod seen;
mod step;

use super::{
    BrowserFacts, Claim, Claimed, EndReason, Forgotten, Holder, LeaseName, LeaseRef, LeaseRow, Loss, NewSession,
    Retention, SessionRow, SessionState, SessionStore, Stale, StoreError, Watch,
    audit::{AuditFilter, AuditRow, Event, EventKind, KnownRow, Verdict},
};
use crate::session::{clock::Clock, hosts::Liveness};
use codemode_chromium::PrivateDir;
use codemode_spec::limits::SESSIONS_MAX;
use rusqlite::{Connection, ErrorCode as SqlCode, OpenFlags, TransactionBehavior, named_params, params};
use rusqlite_migration::{M, MigrationDefinitionError, Migrations, SchemaVersion};
use seen::Seen;
use serde_json::json;
use std::{
    fs::TryLockError,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use step::{Lease, SESSION, Standing, Step, session_row, text};

/// Never changed once it has shipped: what comes later is a step of its own.
const STEPS: &[M<'static>] =
    &[M::up(include_str!("../schema/0001_sessions.sql")), M::up(include_str!("../schema/0002_network.sql"))];
const MIGRATIONS: Migrations<'static> = Migrations::from_slice(STEPS);
const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
/// How long a transaction of another process is waited for.
const BUSY_MAX: Duration = Duration::from_secs(5);
/// How long another process may take to open it, and to bring it up to date.
const TURN_MAX: Duration = Duration::from_secs(30);
/// How often it is looked whether it has.
const TURN_INTERVAL: Duration = Duration::from_millis(5);

/// The store in a file.
pub struct SqliteStore {
    path: PathBuf,
    connection: Mutex<Connection>,
    clock: Arc<dyn Clock>,
    hosts: Arc<dyn Liveness>,
    /// Of one that only reads: that another connection has written is then all that can have changed.
    seen: Option<Mutex<Seen>>,
}

/// Why an operation did not come to its end: SQLite's reason, which is told with the path, or one of ours.
enum Fault {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

type Done<T> = Result<T, Fault>;

impl SqliteStore {
    /// Opens the store in this file, and makes it if it is not there.
    ///
    /// # Errors
    /// Each way in which a file can be no store has its own [`StoreError`]; nothing is changed then.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, hosts: Arc<dyn Liveness>) -> Result<Self, StoreError> {
        let failed = |error: rusqlite::Error| told(path, &error);
        let not_writable =
            |error: io::Error| StoreError::NotWritable { path: path.to_owned(), cause: error.to_string() };
        // SQLite would make it readable for others. One that is there is not opened: to close it again would take the
        // locks from whoever has it open in this process.
        let (folder, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
        let folder = PrivateDir::make(folder).map_err(not_writable)?;
        match folder.create(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(not_writable(error)),
            _ => {}
        }
        folder.require_file(name).map_err(not_writable)?;
        // One after the other: those who find an old store at the same time would all migrate it.
        let turn = Path::new(name).with_extension("lock");
        let turn = folder.open_or_create(turn).map_err(not_writable)?;
        let deadline = Instant::now() + TURN_MAX;
        loop {
            match turn.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(TURN_INTERVAL),
                Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: path.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(not_writable(error)),
            }
        }
        // What SQLite keeps beside it, it opens through no link by itself.
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        Self::prepared(Connection::open_with_flags(path, flags).map_err(failed)?, path, clock, hosts)
    }

    /// The same store once more, for looks: it waits for nobody, and a look that would have to wait fails.
    ///
    /// # Errors
    /// When it cannot be opened again.
    pub fn reader(&self) -> Result<Self, StoreError> {
        let open = || {
            let connection = Connection::open_with_flags(&self.path, READ_ONLY)?;
            connection.busy_timeout(Duration::ZERO)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| told(&self.path, &error))?;
        let (clock, hosts) = (Arc::clone(&self.clock), Arc::clone(&self.hosts));
        Ok(Self {
            path: self.path.clone(),
            connection: Mutex::new(connection),
            clock,
            hosts,
            seen: Some(Mutex::default()),
        })
    }

    /// A store that is gone with the process: for simulations.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory(clock: Arc<dyn Clock>, hosts: Arc<dyn Liveness>) -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        Self::prepared(Connection::open_in_memory().map_err(|error| told(path, &error))?, path, clock, hosts)
    }

    fn prepared(
        mut connection: Connection,
        path: &Path,
        clock: Arc<dyn Clock>,
        hosts: Arc<dyn Liveness>,
    ) -> Result<Self, StoreError> {
        let failed = |error: rusqlite::Error| told(path, &error);
        let newer = || StoreError::Newer { path: path.to_owned() };
        let not_prepared = |error| match error {
            rusqlite_migration::Error::MigrationDefinition(MigrationDefinitionError::DatabaseTooFarAhead) => newer(),
            rusqlite_migration::Error::RusqliteError { err, .. } => failed(err),
            other => StoreError::Failed { path: path.to_owned(), cause: other.to_string() },
        };
        connection.busy_timeout(BUSY_MAX).map_err(failed)?;
        // Before anything is set: how a newer one keeps its file is its own business.
        if let SchemaVersion::Outside(_) = MIGRATIONS.current_version(&connection).map_err(not_prepared)? {
            return Err(newer());
        }
        connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
        MIGRATIONS.to_latest(&mut connection).map_err(not_prepared)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection), clock, hosts, seen: None })
    }

    /// Changes with each change by another connection, of this process or another one.
    fn version(&self) -> Result<i64, StoreError> {
        let connection = self.lock();
        let version =
            connection.prepare_cached("PRAGMA data_version").and_then(|mut look| look.query_row([], |row| row.get(0)));
        version.map_err(|error| told(&self.path, &error))
    }

    /// Until when a lease holds whose session lives, in milliseconds since the boot.
    fn held_until(&self, lease: &LeaseRef, session: &str) -> Result<i64, StoreError> {
        self.look(|step| {
            let row = step.session(session)?;
            let is_over = |row: &SessionRow| matches!(row.state, SessionState::Closing | SessionState::Ended);
            let ended = row.as_ref().is_none_or(is_over);
            let reason = row.and_then(|row| row.reason);
            let loss = match step.loss(lease)? {
                // Why it is free says more than that it is, unless the browser was taken away with it.
                Some(loss @ (Loss::Revoked | Loss::Taken { .. })) if reason != Some(EndReason::Operator) => Some(loss),
                // One that did not start may be so because its lease was lost.
                _ if ended && reason != Some(EndReason::NotStarted) => {
                    Some(Loss::Ended { session: session.to_owned(), reason })
                }
                loss => loss,
            };
            match loss {
                Some(loss) => Err(StoreError::NotHeld(loss).into()),
                None => Ok(step.lease(&lease.name)?.map_or(0, |row| row.until)),
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A transaction that panicked was rolled back when it was dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One change: all of it is durable when this returns, or nothing was done.
    fn change<T>(&self, operation: impl FnOnce(&Step<'_>) -> Done<T>) -> Result<T, StoreError> {
        self.step(TransactionBehavior::Immediate, operation)
    }

    /// One look, at one moment.
    fn look<T>(&self, operation: impl FnOnce(&Step<'_>) -> Done<T>) -> Result<T, StoreError> {
        self.step(TransactionBehavior::Deferred, operation)
    }

    fn step<T>(
        &self,
        behaviour: TransactionBehavior,
        operation: impl FnOnce(&Step<'_>) -> Done<T>,
    ) -> Result<T, StoreError> {
        let mut connection = self.lock();
        let stepped = connection.transaction_with_behavior(behaviour).map_err(Fault::from).and_then(|transaction| {
            let (wall, steady, boot) = (self.clock.wall_ms(), self.clock.steady_ms(), self.clock.boot().to_owned());
            let step = Step { transaction, wall, steady, boot, hosts: &*self.hosts };
            let result = operation(&step)?;
            step.transaction.commit()?;
            Ok(result)
        });
        stepped.map_err(|fault| match fault {
            Fault::Sql(error) => told(&self.path, &error),
            Fault::Store(error) => error,
        })
    }
}

/// SQLite's reason, as ours.
fn told(path: &Path, error: &rusqlite::Error) -> StoreError {
    let (path, cause) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(SqlCode::DatabaseBusy | SqlCode::DatabaseLocked) => StoreError::Locked { path },
        Some(SqlCode::ReadOnly | SqlCode::CannotOpen | SqlCode::PermissionDenied) => {
            StoreError::NotWritable { path, cause }
        }
        Some(SqlCode::DiskFull) => StoreError::Full { path },
        Some(SqlCode::DatabaseCorrupt | SqlCode::NotADatabase) => StoreError::Damaged { path, cause },
        _ => StoreError::Failed { path, cause },
    }
}

impl SessionStore for SqliteStore {
    fn lease_acquire(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        // Most who ask have asked a moment ago, and nothing has changed since: that needs no change of ours.
        match self.look(|step| step.still_waits(claim))? {
            Some(holder) => Ok(Claimed::Busy(holder)),
            None => self.change(|step| step.acquire(claim)),
        }
    }

    fn lease_take(&self, claim: &Claim) -> Result<Result<LeaseRef, Holder>, StoreError> {
        self.change(|step| step.take(claim))
    }

    fn lease_seize(&self, claim: &Claim) -> Result<(LeaseRef, Option<Holder>), StoreError> {
        self.change(|step| {
            let holder = step.revoke(&claim.name)?;
            let freed = step.lease(&claim.name)?;
            Ok((step.grant(claim, freed.as_ref())?, holder))
        })
    }

    fn lease_give_up(&self, name: &LeaseName, execution: &str) -> Result<(), StoreError> {
        self.change(|step| {
            let waited =
                step.execute("DELETE FROM waiter WHERE name = ?1 AND execution = ?2", [name.as_str(), execution])?;
            if waited > 0 {
                let event = Event::new(EventKind::LeaseRefused).key(name.key()).execution(execution);
                step.audit(&event.detail(json!({"why": "gave-up"})))?;
            }
            Ok(())
        })
    }

    fn lease_renew(&self, lease: &LeaseRef, ttl_ms: u64) -> Result<(), StoreError> {
        let loss = self.change(|step| {
            if let Some(loss) = step.loss(lease)? {
                if loss == Loss::Expired
                    && let Some(row) = step.lease(&lease.name)?
                {
                    step.note_loss(&lease.name, &row)?;
                }
                return Ok(Some(loss));
            }
            step.execute(
                "UPDATE lease SET until_steady = ?2, renewals = renewals + 1 WHERE name = ?1",
                params![lease.name.as_str(), step.steady.saturating_add_unsigned(ttl_ms)],
            )?;
            if let Some(Lease { renewals, execution: Some(execution), .. }) = step.lease(&lease.name)?
                && renewals.is_power_of_two()
            {
                let event = Event::new(EventKind::LeaseRenewed).key(lease.name.key()).execution(&execution);
                step.audit(&event.token(lease.token).detail(json!({"renewals": renewals})))?;
            }
            Ok(None)
        })?;
        loss.map_or(Ok(()), |loss| Err(StoreError::NotHeld(loss)))
    }

    fn lease_check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError> {
        let Some(seen) = &self.seen else { return self.held_until(lease, session).map(drop) };
        let seen = || seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Read first: what is written between this and the look makes the look one of an older version, and no more.
        let version = self.version()?;
        if seen().holds(version, lease, session, self.clock.steady_ms()) {
            return Ok(());
        }
        let until = self.held_until(lease, session)?;
        seen().note(version, lease, session, until);
        Ok(())
    }

    fn lease_release(&self, lease: &LeaseRef) -> Result<(), StoreError> {
        self.change(|step| {
            step.require_held(lease)?;
            let execution = step.lease(&lease.name)?.and_then(|row| row.execution);
            step.free(&lease.name)?;
            let event = Event::new(EventKind::LeaseReleased).key(lease.name.key()).token(lease.token);
            step.audit(&Event { execution, ..event })
        })
    }

    fn lease_revoke(&self, name: &LeaseName) -> Result<Option<Holder>, StoreError> {
        self.change(|step| step.revoke(name))
    }

    fn leases(&self) -> Result<Vec<LeaseRow>, StoreError> {
        self.look(|step| {
            let names: Vec<String> =
                step.all("SELECT name FROM lease WHERE execution IS NOT NULL ORDER BY name", [], |row| row.get(0))?;
            let mut rows = Vec::new();
            for name in names.into_iter().map(LeaseName) {
                let Some(lease) = step.lease(&name)? else { continue };
                if matches!(step.standing(&lease), Standing::Held | Standing::HostDied) {
                    let host_alive = step.hosts.is_alive(&lease.host);
                    let mut holder = step.holder(&name, &lease)?;
                    holder.execution = lease.execution.unwrap_or_default();
                    rows.push(LeaseRow { name: name.0, holder, host: lease.host, host_alive });
                }
            }
            Ok(rows)
        })
    }

    fn session_begin(&self, session: &NewSession) -> Result<LeaseRef, StoreError> {
        self.change(|step| {
            let sessions: usize = step
                .one("SELECT count(*) FROM session WHERE state <> 'ended'", [], |row| row.get(0))?
                .unwrap_or_default();
            if sessions >= SESSIONS_MAX {
                return Err(StoreError::TooManySessions { sessions }.into());
            }
            let lease = match &session.lease {
                Some(lease) => {
                    step.require_held(lease)?;
                    lease.clone()
                }
                None => {
                    let claim = Claim {
                        name: LeaseName::of_session(&session.id),
                        execution: session.execution.clone(),
                        host: session.host.clone(),
                        ttl_ms: session.lease_ttl_ms,
                    };
                    step.grant(&claim, None)?
                }
            };
            step.execute(
                "INSERT INTO session (id, mode, key, state, profile, profile_kept, execution, ttl_ms, created_ms, used_ms,
                     boot, idle_steady, network)
                 VALUES (:id, :mode, :key, 'starting', :profile, :kept, :execution, :ttl, :wall, :wall, :boot, :steady,
                     :network)",
                named_params! {
                    ":id": session.id,
                    ":mode": session.mode.as_str(),
                    ":key": session.key,
                    ":profile": session.profile,
                    ":kept": session.profile_kept,
                    ":execution": session.execution,
                    ":ttl": session.ttl_ms,
                    ":wall": step.wall,
                    ":boot": step.boot,
                    ":steady": step.steady,
                    ":network": session.network,
                },
            )?;
            let event = Event::new(EventKind::SessionCreated).key(session.key.as_deref()).session(&session.id);
            let event = event.execution(&session.execution).token(lease.token);
            step.audit(&event.detail(json!({"mode": session.mode})))?;
            Ok(lease)
        })
    }

    fn session_started(&self, id: &str, browser: &BrowserFacts) -> Result<bool, StoreError> {
        self.change(|step| {
            let changed = step.execute(
                "UPDATE session SET state = 'live', browser = ?2, network_held = network WHERE id = ?1 AND state = 'starting'",
                params![id, text(browser)],
            )?;
            if changed > 0 {
                let key = step.session(id)?.and_then(|row| row.key);
                let event = Event::new(EventKind::SessionStarted).key(key.as_deref()).session(id);
                step.audit(&event.detail(json!({"browser_pid": browser.browser_pid})))?;
            }
            Ok(changed > 0)
        })
    }

    fn session_attached(
        &self,
        id: &str,
        lease: &LeaseRef,
        execution: &str,
        ttl_ms: u64,
        network: Option<&str>,
    ) -> Result<(), StoreError> {
        self.change(|step| {
            step.require_held(lease)?;
            step.execute(
                "UPDATE session SET used_ms = ?2, ttl_ms = ?3, network = ?4 WHERE id = ?1",
                params![id, step.wall, ttl_ms, network],
            )?;
            let event = Event::new(EventKind::SessionAttached).key(lease.name.key()).session(id);
            step.audit(&event.execution(execution).token(lease.token))
        })
    }

    fn session_network_held(&self, id: &str, network: Option<&str>) -> Result<(), StoreError> {
        self.change(|step| {
            step.execute("UPDATE session SET network_held = ?2 WHERE id = ?1", params![id, network])?;
            Ok(())
        })
    }

    fn session_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        self.look(|step| step.session_of_key(key))
    }

    fn session_ended_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        self.look(|step| {
            let sql = format!(
                "{SESSION} WHERE key = ?1 AND state = 'ended' AND reason <> ?2 ORDER BY ended_after DESC LIMIT 1"
            );
            step.one(&sql, [key, &text(&EndReason::NotStarted)], session_row)
        })
    }

    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        self.look(|step| step.session(id))
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.look(|step| step.all(&format!("{SESSION} ORDER BY state = 'ended', created_ms, id"), [], session_row))
    }

    fn session_promote(&self, id: &str, lease: &LeaseRef, of_key: &LeaseRef) -> Result<(), StoreError> {
        self.change(|step| {
            step.require_held(lease)?;
            step.require_held(of_key)?;
            let key = of_key.name.key().unwrap_or_default();
            let promoted = step.execute(
                "UPDATE session SET key = ?2, profile_kept = 1, used_ms = ?3 WHERE id = ?1 AND state = 'live'",
                params![id, key, step.wall],
            )?;
            if promoted == 0 {
                let reason = step.session(id)?.and_then(|row| row.reason);
                return Err(StoreError::NotHeld(Loss::Ended { session: id.to_owned(), reason }).into());
            }
            let execution = step.lease(&of_key.name)?.and_then(|row| row.execution);
            step.free(&lease.name)?;
            let event = Event::new(EventKind::SessionPromoted).key(Some(key)).session(id).token(of_key.token);
            step.audit(&Event { execution, ..event })
        })
    }

    fn session_closing(&self, id: &str, reason: EndReason, under: Option<&LeaseRef>) -> Result<bool, StoreError> {
        self.change(|step| {
            under.map_or(Ok(()), |lease| step.require_held(lease))?;
            step.closing(id, reason)
        })
    }

    fn session_ended(&self, id: &str, reason: EndReason) -> Result<(), StoreError> {
        self.change(|step| {
            let changed = step.execute(
                "UPDATE session SET state = 'ended', ended_ms = ?2, used_ms = ?2, reason = coalesce(reason, ?3),
                     boot = ?4, idle_steady = ?5, ended_after = (SELECT last FROM audit_head)
                 WHERE id = ?1 AND state <> 'ended'",
                params![id, step.wall, text(&reason), step.boot, step.steady],
            )?;
            if changed > 0 {
                let row = step.session(id)?;
                let key = row.as_ref().and_then(|row| row.key.clone());
                let reason = row.and_then(|row| row.reason).unwrap_or(reason);
                let event = Event::new(reason.event()).key(key.as_deref()).session(id);
                step.audit(&event.detail(json!({"reason": reason})))?;
            }
            Ok(())
        })
    }

    fn session_disowned(&self, id: &str) -> Result<(), StoreError> {
        self.change(|step| {
            let reason = EndReason::Operator;
            step.execute(
                "UPDATE session SET reason = ?2 WHERE id = ?1 AND state = 'ended'",
                params![id, text(&reason)],
            )?;
            let key = step.session(id)?.and_then(|row| row.key);
            let event = Event::new(reason.event()).key(key.as_deref()).session(id);
            step.audit(&event.detail(json!({"reason": reason, "had_ended": true})))
        })
    }

    fn session_watch(&self, id: &str) -> Result<Watch, StoreError> {
        let looked = self.look(|step| match step.watched(id)? {
            None => Ok((Watch::End(EndReason::Operator), None)),
            Some((session, idle)) => step.fate(&session, idle),
        })?;
        if let (Watch::Keep, None) = looked {
            return Ok(Watch::Keep);
        }
        // Decided anew: between the look and the change it may have been leased.
        self.change(|step| {
            let Some((session, idle)) = step.watched(id)? else { return Ok(Watch::End(EndReason::Operator)) };
            let (watch, lost) = step.fate(&session, idle)?;
            if let Some(lost) = lost {
                step.note_loss(&session.lease_name(), &lost)?;
            }
            if let Watch::End(reason) = watch {
                step.closing(id, reason)?;
            }
            Ok(watch)
        })
    }

    fn stale(&self, retention: &Retention) -> Result<Vec<Stale>, StoreError> {
        self.look(|step| step.stale(retention))
    }

    fn forget(&self, sessions: &[String], retention: &Retention) -> Result<Forgotten, StoreError> {
        self.change(|step| {
            step.note_losses()?;
            step.forget(sessions, retention)
        })
    }

    fn audit_append(&self, events: &[Event]) -> Result<(), StoreError> {
        self.change(|step| events.iter().try_for_each(|event| step.audit(event)))
    }

    fn audit_read(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        self.look(|step| step.audit_rows(filter))
    }

    fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, StoreError> {
        self.look(|step| step.verify_audit(known))
    }
}
