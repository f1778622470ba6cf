//! The store in SQLite: the only SQL of sessions.
//!
//! Any number of processes use one file. Every change is one `BEGIN IMMEDIATE` transaction, so that what it has read is
//! still valid when it writes, and is durable when it returns (write-ahead log, fully synchronous).

mod connection;
mod failure;
mod tables;

pub use connection::SqliteConnection;

use super::{Access, CachedLeases, Database, Finish, LeaseCache, StoreError, Work};
use crate::session::{clock::Clock, liveness::Liveness};
use async_trait::async_trait;
use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// The store in a file. Its transactions run on a dedicated thread, one after the other, because they block. The thread
/// ends when the store is dropped.
pub struct SqliteStore {
    jobs: mpsc::Sender<Job>,
    /// Runs the lease checks before each effect. A concurrent write does not delay them: writes wait for the disk,
    /// which would be too slow before each effect.
    reader: SqliteConnection,
    /// The results of the lease checks. Valid per version of `reader`, because all writes use another connection.
    cache: LeaseCache,
}

/// A transaction for the thread.
struct Job {
    access: Access,
    work: Work,
    finish: Finish,
    /// How long the job may be deferred; `None` runs it at once.
    delay: Option<Duration>,
}

impl SqliteStore {
    /// Opens the store in this file, and creates the file if it is missing.
    ///
    /// # Errors
    /// A [`StoreError`] for each reason why the file cannot be used as a store; then nothing is changed.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, liveness: Arc<dyn Liveness>) -> Result<Self, StoreError> {
        let connection = SqliteConnection::open(path, clock, liveness)?;
        let reader = connection.reader()?;
        let (jobs, received) = mpsc::channel::<Job>();
        let run = move || serve(&connection, &received);
        match thread::Builder::new().name("session-store".to_owned()).spawn(run) {
            Ok(_) => Ok(Self { jobs, reader, cache: LeaseCache::default() }),
            Err(error) => Err(StoreError::Failed { path: path.to_owned(), cause: error.to_string() }),
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SqliteStore")
    }
}

#[async_trait]
impl Database for SqliteStore {
    async fn transact(&self, access: Access, mut work: Work) -> Result<(), StoreError> {
        if access == Access::ReadNow {
            return self.reader.run(access, &mut work);
        }
        let (done, result) = oneshot::channel();
        let finish = Box::new(move |result| drop(done.send(result)));
        // Sending or receiving fails only if the thread panicked.
        let gone = || StoreError::Failed { path: "session-store".into(), cause: "its thread is gone".into() };
        self.jobs.send(Job { access, work, finish, delay: None }).map_err(|_| gone())?;
        result.await.unwrap_or_else(|_| Err(gone()))
    }

    fn enqueue(&self, delay: Duration, work: Work, finish: Finish) {
        let job = Job { access: Access::Write, work, finish, delay: Some(delay) };
        if let Err(mpsc::SendError(Job { finish, .. })) = self.jobs.send(job) {
            finish(Err(StoreError::Failed { path: "session-store".into(), cause: "its thread is gone".into() }));
        }
    }

    fn cached_leases(&self) -> Option<CachedLeases<'_>> {
        let version = self.reader.version()?;
        Some(CachedLeases { version, steady_ms: self.reader.steady_ms(), cache: &self.cache })
    }
}

/// Runs the transactions in order. Deferred jobs run before the next job that is not deferred.
fn serve(connection: &SqliteConnection, jobs: &Receiver<Job>) {
    let mut waiting: Vec<Job> = Vec::new();
    let mut due = Instant::now();
    loop {
        let job = if waiting.is_empty() {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(due.saturating_duration_since(Instant::now()))
        };
        let (next, is_last) = match job {
            Ok(job) => (Some(job), false),
            Err(RecvTimeoutError::Timeout) => (None, false),
            Err(RecvTimeoutError::Disconnected) => (None, true),
        };
        if let Some(Job { delay: Some(delay), .. }) = &next {
            let latest = Instant::now() + *delay;
            due = if waiting.is_empty() { latest } else { due.min(latest) };
            waiting.extend(next);
            continue;
        }
        for Job { access, mut work, finish, .. } in waiting.drain(..).chain(next) {
            finish(connection.run(access, &mut work));
        }
        if is_last {
            return;
        }
    }
}
