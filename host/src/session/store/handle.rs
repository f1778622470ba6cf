//! The store on a thread of its own: its methods block, and those who ask must not.

use super::{LeaseRef, SessionStore, StoreError};
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

type Work = Box<dyn FnOnce(&dyn SessionStore) + Send>;

/// What the thread is sent.
enum Job {
    Now(Work),
    Within(Duration, Work),
}

/// What happens around each operation: in a simulation, others run, time passes, the process dies.
type Around = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A store that async code can use. Cheap to clone; the thread ends with the last clone.
#[derive(Clone)]
pub struct StoreHandle {
    way: Way,
}

#[derive(Clone)]
enum Way {
    /// With a second one for looks, if there is.
    Thread(mpsc::Sender<Job>, Option<Arc<dyn SessionStore>>),
    Inline(Arc<dyn SessionStore>, Around),
}

impl fmt::Debug for StoreHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("StoreHandle")
    }
}

impl StoreHandle {
    /// Runs the store's methods on a thread, one after the other. `reader` is the same store once more, which never waits:
    /// it answers what is asked before each effect.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the system gives no thread.
    pub fn on_thread(
        store: impl SessionStore + 'static,
        reader: Option<Arc<dyn SessionStore>>,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel();
        let spawned = thread::Builder::new().name("session-store".to_owned()).spawn(move || serve(&store, &receiver));
        match spawned {
            Ok(_) => Ok(Self { way: Way::Thread(sender, reader) }),
            Err(error) => Err(StoreError::Failed { path: "session-store".into(), cause: error.to_string() }),
        }
    }

    /// Runs the store's methods where they are asked for, with `around` awaited before and after each: for simulations,
    /// in which every such place is one where something may happen.
    pub fn inline(store: Arc<dyn SessionStore>, around: Around) -> Self {
        Self { way: Way::Inline(store, around) }
    }

    /// Runs one operation.
    ///
    /// # Errors
    /// The operation's own, and [`StoreError::Failed`] when the thread is gone.
    ///
    /// # Cancellation
    /// If the future is dropped the operation is carried out all the same, unless the simulation says otherwise.
    pub async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&dyn SessionStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.way {
            Way::Inline(store, around) => {
                around().await;
                let result = operation(store.as_ref());
                around().await;
                result
            }
            Way::Thread(sender, _) => {
                let (done, result) = oneshot::channel();
                let gone = || StoreError::Failed { path: "session-store".into(), cause: "its thread is gone".into() };
                let work: Work = Box::new(move |store| drop(done.send(operation(store))));
                sender.send(Job::Now(work)).map_err(|_| gone())?;
                result.await.unwrap_or_else(|_| Err(gone()))
            }
        }
    }

    /// Looks whether a lease is held, and its session lives. What is being written meanwhile does not delay it: a write
    /// waits for the disk, and before each effect is too often for that.
    ///
    /// # Errors
    /// As [`SessionStore::lease_check`].
    pub async fn check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError> {
        if let Way::Thread(_, Some(reader)) = &self.way {
            match reader.lease_check(lease, session) {
                Err(error) if !matches!(error, StoreError::NotHeld(_)) => {
                    tracing::debug!(%error, "a lease is looked for where it may be waited");
                }
                checked => return checked,
            }
        }
        let (lease, session) = (lease.clone(), session.to_owned());
        self.run(move |store| store.lease_check(&lease, &session)).await
    }

    /// Runs one operation without waiting for it: after this time, or before the next operation if that comes sooner. A
    /// failure is logged.
    pub fn spawn_within(
        &self,
        delay: Duration,
        operation: impl FnOnce(&dyn SessionStore) -> Result<(), StoreError> + Send + 'static,
    ) {
        let work: Work = Box::new(move |store| {
            if let Err(error) = operation(store) {
                tracing::warn!(%error, "the session store could not note what happened");
            }
        });
        match &self.way {
            Way::Inline(store, _) => work(store.as_ref()),
            // Fails only when the thread panicked, which has been told.
            Way::Thread(sender, _) => drop(sender.send(Job::Within(delay, work))),
        }
    }
}

/// Carries out what is sent, in its order: what may wait goes before whatever comes after it.
fn serve(store: &dyn SessionStore, jobs: &mpsc::Receiver<Job>) {
    let mut waiting: Vec<Work> = Vec::new();
    let mut due = Instant::now();
    loop {
        let job = if waiting.is_empty() {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(due.saturating_duration_since(Instant::now()))
        };
        let (next, is_last) = match job {
            Ok(Job::Within(delay, work)) => {
                let latest = Instant::now() + delay;
                due = if waiting.is_empty() { latest } else { due.min(latest) };
                waiting.push(work);
                continue;
            }
            Ok(Job::Now(work)) => (Some(work), false),
            Err(RecvTimeoutError::Timeout) => (None, false),
            Err(RecvTimeoutError::Disconnected) => (None, true),
        };
        waiting.drain(..).chain(next).for_each(|work| work(store));
        if is_last {
            return;
        }
    }
}
