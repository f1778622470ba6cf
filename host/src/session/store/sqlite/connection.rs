//! One connection to a database file: opens and migrates it, and runs one transaction after the other.

use super::{failure::store_error, tables::SqliteTables};
use crate::session::{
    clock::Clock,
    liveness::Liveness,
    rules::Moment,
    store::{Access, Database, Finish, StoreError, Work},
};
use async_trait::async_trait;
use codemode_chromium::PrivateDir;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use rusqlite_migration::{M, MigrationDefinitionError, Migrations, SchemaVersion};
use std::{
    fs::TryLockError,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The migrations. A step is never changed once it has shipped: a later change is a new step.
const STEPS: &[M<'static>] =
    &[M::up(include_str!("schema/0001_sessions.sql")), M::up(include_str!("schema/0002_network.sql"))];
const MIGRATIONS: Migrations<'static> = Migrations::from_slice(STEPS);
const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
/// How long to wait for a transaction of another process.
const BUSY_MAX: Duration = Duration::from_secs(5);
/// How long another process may take to open the store and to migrate it.
const OPEN_LOCK_MAX: Duration = Duration::from_secs(30);
/// How often the lock for opening is retried.
const OPEN_LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// A connection to a store. As a [`Database`] it runs each transaction on the calling thread, and blocks it:
/// simulations need that. Hosts use [`super::SqliteStore`].
pub struct SqliteConnection {
    path: PathBuf,
    connection: Mutex<Connection>,
    clock: Arc<dyn Clock>,
    liveness: Arc<dyn Liveness>,
}

impl SqliteConnection {
    /// Opens the store in this file, and creates the file if it is missing.
    ///
    /// # Errors
    /// A [`StoreError`] for each reason why the file cannot be used as a store; then nothing is changed.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, liveness: Arc<dyn Liveness>) -> Result<Self, StoreError> {
        let failed = |error: rusqlite::Error| store_error(path, &error);
        let not_writable =
            |error: io::Error| StoreError::NotWritable { path: path.to_owned(), cause: error.to_string() };
        // SQLite would create the file readable for other users. An existing file is not opened here: closing it again
        // would release the POSIX locks of every connection to it in this process.
        let (folder, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
        let folder = PrivateDir::make(folder).map_err(not_writable)?;
        match folder.create(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(not_writable(error)),
            _ => {}
        }
        folder.require_file(name).map_err(not_writable)?;
        // One process at a time: processes that find an old store at the same time would all migrate it.
        let open_lock = Path::new(name).with_extension("lock");
        let open_lock = folder.open_or_create(open_lock).map_err(not_writable)?;
        let deadline = Instant::now() + OPEN_LOCK_MAX;
        loop {
            match open_lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(OPEN_LOCK_INTERVAL),
                Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: path.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(not_writable(error)),
            }
        }
        // SQLite follows no symbolic link when it opens the files beside the store.
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        Self::prepared(Connection::open_with_flags(path, flags).map_err(failed)?, path, clock, liveness)
    }

    /// A second, read-only connection to the same store: it fails instead of waiting for another connection.
    ///
    /// # Errors
    /// When the store cannot be opened again.
    pub fn reader(&self) -> Result<Self, StoreError> {
        let open = || {
            let connection = Connection::open_with_flags(&self.path, READ_ONLY)?;
            connection.busy_timeout(Duration::ZERO)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| store_error(&self.path, &error))?;
        let (clock, liveness) = (Arc::clone(&self.clock), Arc::clone(&self.liveness));
        Ok(Self { path: self.path.clone(), connection: Mutex::new(connection), clock, liveness })
    }

    /// A store in memory, for simulations.
    ///
    /// # Errors
    /// When SQLite cannot allocate memory.
    pub fn in_memory(clock: Arc<dyn Clock>, liveness: Arc<dyn Liveness>) -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        Self::prepared(Connection::open_in_memory().map_err(|error| store_error(path, &error))?, path, clock, liveness)
    }

    fn prepared(
        mut connection: Connection,
        path: &Path,
        clock: Arc<dyn Clock>,
        liveness: Arc<dyn Liveness>,
    ) -> Result<Self, StoreError> {
        let failed = |error: rusqlite::Error| store_error(path, &error);
        let newer = || StoreError::Newer { path: path.to_owned() };
        let not_prepared = |error| match error {
            rusqlite_migration::Error::MigrationDefinition(MigrationDefinitionError::DatabaseTooFarAhead) => newer(),
            rusqlite_migration::Error::RusqliteError { err, .. } => failed(err),
            other => StoreError::Failed { path: path.to_owned(), cause: other.to_string() },
        };
        connection.busy_timeout(BUSY_MAX).map_err(failed)?;
        // Checked before any pragma: a newer codemode may need other pragmas for its file.
        if let SchemaVersion::Outside(_) = MIGRATIONS.current_version(&connection).map_err(not_prepared)? {
            return Err(newer());
        }
        connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
        MIGRATIONS.to_latest(&mut connection).map_err(not_prepared)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection), clock, liveness })
    }

    /// A number that changes with each write by another connection, of this or another process; `None` if it cannot be
    /// read.
    pub(super) fn version(&self) -> Option<i64> {
        let connection = self.lock();
        let version = connection.prepare_cached("PRAGMA data_version");
        version.and_then(|mut statement| statement.query_row([], |row| row.get(0))).ok()
    }

    /// The time since the boot, in milliseconds.
    pub(super) fn steady_ms(&self) -> i64 {
        self.clock.steady_ms()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A transaction that panicked was rolled back when it was dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one transaction.
    ///
    /// # Errors
    /// The errors of `work` and of SQLite; then nothing is changed.
    pub(super) fn run(&self, access: Access, work: &mut Work) -> Result<(), StoreError> {
        let behaviour = match access {
            Access::Write => TransactionBehavior::Immediate,
            Access::Read | Access::ReadNow => TransactionBehavior::Deferred,
        };
        let failed = |error: rusqlite::Error| store_error(&self.path, &error);
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(behaviour).map_err(failed)?;
        // Read only now: beginning the transaction may have waited for another process.
        let now = Moment {
            wall_ms: self.clock.wall_ms(),
            steady_ms: self.clock.steady_ms(),
            boot: self.clock.boot().to_owned(),
        };
        let mut tables = SqliteTables { transaction, path: &self.path, now, liveness: &*self.liveness };
        work(&mut tables)?;
        tables.transaction.commit().map_err(failed)
    }
}

#[async_trait]
impl Database for SqliteConnection {
    async fn transact(&self, access: Access, mut work: Work) -> Result<(), StoreError> {
        self.run(access, &mut work)
    }

    fn enqueue(&self, _: Duration, mut work: Work, finish: Finish) {
        finish(self.run(Access::Write, &mut work));
    }
}
