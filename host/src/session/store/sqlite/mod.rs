//! The store in SQLite: the only place with SQL.
//!
//! Any number of processes use one file. Every change is one `BEGIN IMMEDIATE` transaction, so that what it has read
//! still holds when it writes, and is durable when it returns (write-ahead log, fully synchronous).

mod connection;
mod failure;
mod tables;

pub use connection::SqliteConnection;

use super::{Access, Database, Finish, Glance, Seen, StoreError, Work};
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

/// The store in a file. Its transactions run on a thread of their own, one after the other: they block, and their
/// callers must not. The thread ends with the store.
pub struct SqliteStore {
    jobs: mpsc::Sender<Job>,
    /// Answers the checks before each effect. A transaction that writes meanwhile does not delay them: a write waits
    /// for the disk, and before each effect is too often for that.
    reader: SqliteConnection,
    /// The leases as the reader saw them: another connection writes.
    seen: Seen,
}

/// A transaction for the thread.
struct Job {
    access: Access,
    work: Work,
    finish: Finish,
    /// How long the job may wait for others; `None` does not wait.
    delay: Option<Duration>,
}

impl SqliteStore {
    /// Opens the store in this file, and makes the file if it is missing.
    ///
    /// # Errors
    /// Each way in which a file can be no store has its own [`StoreError`]; nothing is changed then.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, liveness: Arc<dyn Liveness>) -> Result<Self, StoreError> {
        let connection = SqliteConnection::open(path, clock, liveness)?;
        let reader = connection.reader()?;
        let (jobs, received) = mpsc::channel::<Job>();
        let run = move || serve(&connection, &received);
        match thread::Builder::new().name("session-store".to_owned()).spawn(run) {
            Ok(_) => Ok(Self { jobs, reader, seen: Seen::default() }),
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
        // Either fails only when the thread panicked.
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

    fn glance(&self) -> Option<Glance<'_>> {
        let version = self.reader.version()?;
        Some(Glance { version, steady_ms: self.reader.steady_ms(), seen: &self.seen })
    }
}

/// Carries the transactions out in their order: those that may wait are run before any later transaction.
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
