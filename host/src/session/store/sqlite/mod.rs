//! The store in SQLite: the only place with SQL.
//!
//! Any number of processes use one file. Every change is one `BEGIN IMMEDIATE` transaction, so that what it has read
//! still holds when it writes, and is durable when it returns (write-ahead log, fully synchronous).

mod connection;
mod failure;
mod tables;

pub use connection::SqliteConnection;

use super::{Access, Database, Finish, StoreError, Work};
use crate::session::{clock::Clock, liveness::Liveness};
use async_trait::async_trait;
use std::{
    fmt,
    path::Path,
    sync::{Arc, mpsc},
    thread,
};
use tokio::sync::oneshot;

/// The store in a file. Its transactions run on a thread of their own, one after the other: they block, and those who ask
/// must not. The thread ends with the store.
pub struct SqliteStore {
    jobs: mpsc::Sender<Job>,
    /// Answers what is asked before each effect. What is being written meanwhile does not delay it: a write waits for the
    /// disk, and before each effect is too often for that.
    reader: SqliteConnection,
}

/// A transaction for the thread.
struct Job {
    access: Access,
    work: Work,
    finish: Finish,
}

impl SqliteStore {
    /// Opens the store in this file, and makes it if it is not there.
    ///
    /// # Errors
    /// Each way in which a file can be no store has its own [`StoreError`]; nothing is changed then.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, liveness: Arc<dyn Liveness>) -> Result<Self, StoreError> {
        let connection = SqliteConnection::open(path, clock, liveness)?;
        let reader = connection.reader()?;
        let (jobs, received) = mpsc::channel::<Job>();
        let run = move || {
            for Job { access, mut work, finish } in received {
                finish(connection.run(access, &mut work));
            }
        };
        match thread::Builder::new().name("session-store".to_owned()).spawn(run) {
            Ok(_) => Ok(Self { jobs, reader }),
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
        self.jobs.send(Job { access, work, finish }).map_err(|_| gone())?;
        result.await.unwrap_or_else(|_| Err(gone()))
    }

    fn enqueue(&self, work: Work, finish: Finish) {
        if let Err(mpsc::SendError(Job { finish, .. })) = self.jobs.send(Job { access: Access::Write, work, finish }) {
            finish(Err(StoreError::Failed { path: "session-store".into(), cause: "its thread is gone".into() }));
        }
    }
}
