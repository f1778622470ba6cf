//! The interface of a database, and the implementation of the store on every such database.

use super::{
    AuditStore, LeaseStore, SessionStore, StoreError,
    audit::{AuditFilter, AuditHead, AuditRow, Batch, Event, KnownRow, Verdict},
    lease_cache::CachedLeases,
    operations::{audit, leases, sessions},
    tables::Tables,
};
use crate::session::rules::{
    BrowserFacts, Claim, Claimed, EndReason, Forgotten, Holder, LeaseName, LeaseRef, LeaseRow, NewSession, Retention,
    SessionRow, Stale, Watch,
};
use async_trait::async_trait;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The kind of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read-write transaction: what it reads stays valid until it commits, and it is durable once committed.
    Write,
    /// A read-only transaction on a snapshot.
    Read,
    /// A read-only transaction of a few rows, run before each effect of a script: it must not wait for writers. If it
    /// fails instead, it is run again as [`Access::Read`].
    ReadNow,
}

/// The body of a transaction. May be called again if the database has to repeat the transaction. It blocks: a database
/// with an asynchronous driver runs it on a thread for blocking work.
pub type Work = Box<dyn FnMut(&mut dyn Tables) -> Result<(), StoreError> + Send>;
/// Called with the result of a transaction that was enqueued.
pub type Finish = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Runs transactions.
#[async_trait]
pub trait Database: Send + Sync {
    /// Runs one transaction: commits what `work` has written, or nothing if it fails.
    ///
    /// # Errors
    /// The error of `work`, or that the transaction cannot be committed.
    async fn transact(&self, access: Access, work: Work) -> Result<(), StoreError>;

    /// Enqueues a read-write transaction: it runs after this delay at the latest, and before all transactions that are
    /// requested later, except for [`Access::ReadNow`].
    fn enqueue(&self, delay: Duration, work: Work, finish: Finish);

    /// The cache of lease checks at the current version of the database. `None` if reading the version costs as much as
    /// a transaction.
    fn cached_leases(&self) -> Option<CachedLeases<'_>> {
        None
    }
}

/// Runs an operation in one transaction, and returns its result.
async fn run<D, T, F>(database: &D, access: Access, mut operation: F) -> Result<T, StoreError>
where
    D: Database,
    T: Send + 'static,
    F: FnMut(&mut dyn Tables) -> Result<T, StoreError> + Send + 'static,
{
    let found = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&found);
    let work = move |tables: &mut dyn Tables| {
        *lock(&slot) = Some(operation(tables)?);
        Ok(())
    };
    database.transact(access, Box::new(work)).await?;
    let cause = || "a transaction was committed that was never run".to_owned();
    lock(&found).take().ok_or_else(|| StoreError::Failed { path: "the database".into(), cause: cause() })
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds this lock.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl<D: Database> LeaseStore for D {
    async fn lease_acquire(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        // Most waiters repeat a recent claim, and nothing has changed since: then a read suffices.
        let claimed = claim.clone();
        let holder = run(self, Access::Read, move |tables| leases::still_waits(tables, &claimed)).await?;
        if let Some(holder) = holder {
            return Ok(Claimed::Busy(holder));
        }
        let claim = claim.clone();
        run(self, Access::Write, move |tables| leases::acquire(tables, &claim)).await
    }

    async fn lease_take(&self, claim: &Claim) -> Result<Result<LeaseRef, Holder>, StoreError> {
        let claim = claim.clone();
        run(self, Access::Write, move |tables| leases::take(tables, &claim)).await
    }

    async fn lease_seize(&self, claim: &Claim) -> Result<(LeaseRef, Option<Holder>), StoreError> {
        let claim = claim.clone();
        run(self, Access::Write, move |tables| leases::seize(tables, &claim)).await
    }

    async fn lease_give_up(&self, name: &LeaseName, execution: &str) -> Result<(), StoreError> {
        let (name, execution) = (name.clone(), execution.to_owned());
        run(self, Access::Write, move |tables| leases::give_up(tables, &name, &execution)).await
    }

    async fn lease_renew(&self, lease: &LeaseRef, ttl_ms: u64) -> Result<(), StoreError> {
        let lease = lease.clone();
        let loss = run(self, Access::Write, move |tables| leases::renew(tables, &lease, ttl_ms)).await?;
        loss.map_or(Ok(()), |loss| Err(StoreError::NotHeld(loss)))
    }

    async fn lease_check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError> {
        let check = || {
            let (lease, session) = (lease.clone(), session.to_owned());
            move |tables: &mut dyn Tables| leases::check(tables, &lease, &session)
        };
        let cached = self.cached_leases();
        if cached.is_some_and(|cached| cached.holds(lease, session)) {
            return Ok(());
        }
        let until_ms = match run(self, Access::ReadNow, check()).await {
            Err(error) if !matches!(error, StoreError::NotHeld(_)) => {
                tracing::debug!(%error, "a lease is checked again, after those who write");
                run(self, Access::Read, check()).await?
            }
            checked => checked?,
        };
        cached.inspect(|cached| cached.insert(lease, session, until_ms));
        Ok(())
    }

    async fn lease_release(&self, lease: &LeaseRef) -> Result<(), StoreError> {
        let lease = lease.clone();
        run(self, Access::Write, move |tables| leases::release(tables, &lease)).await
    }

    async fn lease_revoke(&self, name: &LeaseName) -> Result<Option<Holder>, StoreError> {
        let name = name.clone();
        run(self, Access::Write, move |tables| leases::revoke(tables, &name)).await
    }

    async fn leases(&self) -> Result<Vec<LeaseRow>, StoreError> {
        run(self, Access::Read, leases::list).await
    }
}

#[async_trait]
impl<D: Database> SessionStore for D {
    async fn session_begin(&self, session: &NewSession) -> Result<LeaseRef, StoreError> {
        let session = session.clone();
        run(self, Access::Write, move |tables| sessions::begin(tables, &session)).await
    }

    async fn session_started(&self, id: &str, browser: &BrowserFacts) -> Result<bool, StoreError> {
        let (id, browser) = (id.to_owned(), browser.clone());
        run(self, Access::Write, move |tables| sessions::started(tables, &id, &browser)).await
    }

    async fn session_attached(
        &self,
        id: &str,
        lease: &LeaseRef,
        execution: &str,
        ttl_ms: u64,
        network: Option<&str>,
    ) -> Result<(), StoreError> {
        let (id, lease, execution) = (id.to_owned(), lease.clone(), execution.to_owned());
        let network = network.map(str::to_owned);
        let attached = move |tables: &mut dyn Tables| {
            sessions::attached(tables, &id, &lease, &execution, ttl_ms, network.as_deref())
        };
        run(self, Access::Write, attached).await
    }

    async fn session_network_held(&self, id: &str, network: Option<&str>) -> Result<(), StoreError> {
        let (id, network) = (id.to_owned(), network.map(str::to_owned));
        run(self, Access::Write, move |tables| sessions::network_held(tables, &id, network.as_deref())).await
    }

    async fn session_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        let key = key.to_owned();
        let session = run(self, Access::Read, move |tables| tables.session_of_key(&key)).await?;
        Ok(session.map(|session| session.row))
    }

    async fn session_ended_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError> {
        let key = key.to_owned();
        run(self, Access::Read, move |tables| sessions::ended_of_key(tables, &key)).await
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        let id = id.to_owned();
        let session = run(self, Access::Read, move |tables| tables.session(&id)).await?;
        Ok(session.map(|session| session.row))
    }

    async fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        let sessions = run(self, Access::Read, |tables| tables.sessions()).await?;
        Ok(sessions.into_iter().map(|session| session.row).collect())
    }

    async fn session_promote(&self, id: &str, lease: &LeaseRef, of_key: &LeaseRef) -> Result<(), StoreError> {
        let (id, lease, of_key) = (id.to_owned(), lease.clone(), of_key.clone());
        run(self, Access::Write, move |tables| sessions::promote(tables, &id, &lease, &of_key)).await
    }

    async fn session_closing(&self, id: &str, reason: EndReason, under: Option<&LeaseRef>) -> Result<bool, StoreError> {
        let (id, under) = (id.to_owned(), under.cloned());
        run(self, Access::Write, move |tables| sessions::closing(tables, &id, reason, under.as_ref())).await
    }

    async fn session_ended(&self, id: &str, reason: EndReason) -> Result<(), StoreError> {
        let id = id.to_owned();
        run(self, Access::Write, move |tables| sessions::ended(tables, &id, reason)).await
    }

    async fn session_data_removed(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        run(self, Access::Write, move |tables| sessions::data_removed(tables, &id)).await
    }

    async fn session_watch(&self, id: &str) -> Result<Watch, StoreError> {
        let watched = id.to_owned();
        match run(self, Access::Read, move |tables| sessions::fate(tables, &watched)).await? {
            (watch, false) => Ok(watch),
            (_, true) => {
                let id = id.to_owned();
                run(self, Access::Write, move |tables| sessions::watch(tables, &id)).await
            }
        }
    }

    async fn stale(&self, retention: &Retention) -> Result<Vec<Stale>, StoreError> {
        let retention = *retention;
        run(self, Access::Read, move |tables| sessions::stale(tables, &retention)).await
    }

    async fn forget(&self, sessions: &[String], retention: &Retention) -> Result<Forgotten, StoreError> {
        let (ids, retention) = (sessions.to_owned(), *retention);
        run(self, Access::Write, move |tables| sessions::forget(tables, &ids, &retention)).await
    }
}

#[async_trait]
impl<D: Database> AuditStore for D {
    async fn audit_append(&self, events: &[Event]) -> Result<(), StoreError> {
        let events = events.to_owned();
        run(self, Access::Write, move |tables| audit::append_all(tables, &events)).await
    }

    async fn audit_read(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        let filter = filter.clone();
        run(self, Access::Read, move |tables| tables.audit_rows(&filter)).await
    }

    async fn audit_head(&self) -> Result<AuditHead, StoreError> {
        run(self, Access::Read, |tables| Ok(tables.audit_head()?.unwrap_or_default())).await
    }

    async fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, StoreError> {
        run(self, Access::Read, move |tables| audit::verify(tables, known.clone())).await
    }

    fn audit_enqueue(&self, batch: Box<dyn Batch>, delay: Duration) {
        /// The batch, and its events once they were taken.
        type Taken = (Box<dyn Batch>, Option<Vec<Event>>);
        let taken: Arc<Mutex<Taken>> = Arc::new(Mutex::new((batch, None)));
        let writing = Arc::clone(&taken);
        let work = move |tables: &mut dyn Tables| {
            let (batch, events) = &mut *lock(&writing);
            audit::append_all(tables, events.get_or_insert_with(|| batch.take()))
        };
        let finish = move |result: Result<(), StoreError>| {
            if let Err(error) = result {
                let (batch, events) = &mut *lock(&taken);
                // If the transaction could not begin, the events were not taken yet.
                let events = events.take().unwrap_or_else(|| batch.take());
                batch.failed(events, error);
            }
        };
        self.enqueue(delay, Box::new(work), Box::new(finish));
    }

    async fn audit_flush(&self) -> Result<(), StoreError> {
        // Transactions run one after the other.
        run(self, Access::Read, |_| Ok(())).await
    }
}
