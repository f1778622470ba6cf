//! The store in SQLite: the only place with SQL.
//!
//! Any number of processes use one file. Every change is one `BEGIN IMMEDIATE` transaction, so that what it has read
//! still holds when it writes, and is durable when it returns (write-ahead log, fully synchronous).

mod tables;

use super::{
    BrowserFacts, Claim, Claimed, EndReason, Forgotten, Holder, LeaseName, LeaseRef, LeaseRow, NewSession, Retention,
    SessionRow, SessionStore, Stale, StoreError, Watch,
    audit::{AuditFilter, AuditRow, Event, KnownRow, Verdict},
    operations::{audit, leases, sessions},
    tables::Tables,
};
use crate::session::{
    clock::Clock,
    hosts::Liveness,
    rules::{Moment, SessionRecord},
};
use codemode_chromium::PrivateDir;
use rusqlite::{Connection, ErrorCode as SqlCode, OpenFlags, TransactionBehavior};
use rusqlite_migration::{M, MigrationDefinitionError, Migrations, SchemaVersion};
use std::{
    fs::TryLockError,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use tables::SqliteTables;

/// Never changed once it has shipped: what comes later is a step of its own.
const STEPS: &[M<'static>] =
    &[M::up(include_str!("schema/0001_sessions.sql")), M::up(include_str!("schema/0002_network.sql"))];
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
}

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
        Ok(Self { path: self.path.clone(), connection: Mutex::new(connection), clock, hosts })
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
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection), clock, hosts })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A transaction that panicked was rolled back when it was dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One change: all of it is durable when this returns, or nothing was done.
    fn change<T>(
        &self,
        operation: impl FnOnce(&mut SqliteTables<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Immediate, operation)
    }

    /// One look, at one moment.
    fn look<T>(&self, operation: impl FnOnce(&mut SqliteTables<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Deferred, operation)
    }

    fn transact<T>(
        &self,
        behaviour: TransactionBehavior,
        operation: impl FnOnce(&mut SqliteTables<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failed = |error: rusqlite::Error| told(&self.path, &error);
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(behaviour).map_err(failed)?;
        // After the transaction has begun: it may have waited for another process.
        let now = Moment {
            wall_ms: self.clock.wall_ms(),
            steady_ms: self.clock.steady_ms(),
            boot: self.clock.boot().to_owned(),
        };
        let mut tables = SqliteTables { transaction, path: &self.path, now, liveness: &*self.hosts };
        let result = operation(&mut tables)?;
        tables.transaction.commit().map_err(failed)?;
        Ok(result)
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
        match self.look(|tables| leases::still_waits(tables, claim))? {
            Some(holder) => Ok(Claimed::Busy(holder)),
            None => self.change(|tables| leases::acquire(tables, claim)),
        }
    }

    fn lease_take(&self, claim: &Claim) -> Result<Result<LeaseRef, Holder>, StoreError> {
        self.change(|tables| leases::take(tables, claim))
    }

    fn lease_seize(&self, claim: &Claim) -> Result<(LeaseRef, Option<Holder>), StoreError> {
        self.change(|tables| leases::seize(tables, claim))
    }

    fn lease_give_up(&self, name: &LeaseName, execution: &str) -> Result<(), StoreError> {
        self.change(|tables| leases::give_up(tables, name, execution))
    }

    fn lease_renew(&self, lease: &LeaseRef, ttl_ms: u64) -> Result<(), StoreError> {
        let loss = self.change(|tables| leases::renew(tables, lease, ttl_ms))?;
        loss.map_or(Ok(()), |loss| Err(StoreError::NotHeld(loss)))
    }

    fn lease_check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError> {
        self.look(|tables| leases::check(tables, lease, session))
    }

    fn lease_release(&self, lease: &LeaseRef) -> Result<(), StoreError> {
        self.change(|tables| leases::release(tables, lease))
    }

    fn lease_revoke(&self, name: &LeaseName) -> Result<Option<Holder>, StoreError> {
        self.change(|tables| leases::revoke(tables, name))
    }

    fn leases(&self) -> Result<Vec<LeaseRow>, StoreError> {
        self.look(|tables| leases::list(tables))
    }

    fn session_begin(&self, session: &NewSession) -> Result<LeaseRef, StoreError> {
        self.change(|tables| sessions::begin(tables, session))
    }

    fn session_started(&self, id: &str, browser: &BrowserFacts) -> Result<bool, StoreError> {
        self.change(|tables| sessions::started(tables, id, browser))
    }

    fn session_attached(
        &self,
        id: &str,
        lease: &LeaseRef,
        execution: &str,
        ttl_ms: u64,
        network: Option<&str>,
    ) -> Result<(), StoreError> {
        self.change(|tables| sessions::attached(tables, id, lease, execution, ttl_ms, network))
    }

    fn session_network_held(&self, id: &str, network: Option<&str>) -> Result<(), StoreError> {
        self.change(|tables| sessions::network_held(tables, id, network))
    }

    fn session_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        Ok(self.look(|tables| tables.session_of_key(key))?.map(|session| session.row))
    }

    fn session_ended_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        self.look(|tables| sessions::ended_of_key(tables, key))
    }

    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        Ok(self.look(|tables| tables.session(id))?.map(|session| session.row))
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        Ok(self.look(|tables| tables.sessions())?.into_iter().map(|session: SessionRecord| session.row).collect())
    }

    fn session_promote(&self, id: &str, lease: &LeaseRef, of_key: &LeaseRef) -> Result<(), StoreError> {
        self.change(|tables| sessions::promote(tables, id, lease, of_key))
    }

    fn session_closing(&self, id: &str, reason: EndReason, under: Option<&LeaseRef>) -> Result<bool, StoreError> {
        self.change(|tables| sessions::closing(tables, id, reason, under))
    }

    fn session_ended(&self, id: &str, reason: EndReason) -> Result<(), StoreError> {
        self.change(|tables| sessions::ended(tables, id, reason))
    }

    fn session_disowned(&self, id: &str) -> Result<(), StoreError> {
        self.change(|tables| sessions::disowned(tables, id))
    }

    fn session_watch(&self, id: &str) -> Result<Watch, StoreError> {
        match self.look(|tables| sessions::fate(tables, id))? {
            (watch, false) => Ok(watch),
            (_, true) => self.change(|tables| sessions::watch(tables, id)),
        }
    }

    fn stale(&self, retention: &Retention) -> Result<Vec<Stale>, StoreError> {
        self.look(|tables| sessions::stale(tables, retention))
    }

    fn forget(&self, ids: &[String], retention: &Retention) -> Result<Forgotten, StoreError> {
        self.change(|tables| sessions::forget(tables, ids, retention))
    }

    fn audit_append(&self, events: &[Event]) -> Result<(), StoreError> {
        self.change(|tables| events.iter().try_for_each(|event| audit::append(tables, event)))
    }

    fn audit_read(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        self.look(|tables| tables.audit_rows(filter))
    }

    fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, StoreError> {
        self.look(|tables| audit::verify(tables, known))
    }
}
