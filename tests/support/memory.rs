//! An in-memory store behind the same traits as the one in SQLite. Behaviour that both share comes from the operations
//! and rules of the host, not from SQL.

use async_trait::async_trait;
use codemode_host::session::{
    clock::Clock,
    liveness::Liveness,
    rules::{LeaseName, LeaseRecord, Moment, SessionRecord, SessionState, Waiter},
    store::{
        Access, Database, Finish, StoreError, Tables, Work,
        audit::{AuditFilter, AuditHead, AuditRow, EventKind},
    },
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The tables. A clone is cheap: it shares the rows.
#[derive(Clone, Default)]
pub struct Rows {
    leases: BTreeMap<LeaseName, Arc<LeaseRecord>>,
    token_floor: u64,
    waiters: Vec<(LeaseName, Arc<Waiter>)>,
    sessions: BTreeMap<String, Arc<SessionRecord>>,
    head: AuditHead,
    audit: VecDeque<Arc<AuditRow>>,
}

/// The rows of a store, shared by all handles that open it.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Rows>>);

/// A store on shared rows.
pub struct MemoryStore {
    rows: Memory,
    clock: Arc<dyn Clock>,
    liveness: Arc<dyn Liveness>,
}

impl MemoryStore {
    pub fn open(rows: Memory, clock: Arc<dyn Clock>, liveness: Arc<dyn Liveness>) -> Self {
        Self { rows, clock, liveness }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, access: Access, work: &mut Work) -> Result<(), StoreError> {
        let mut rows = self.rows();
        let now = Moment {
            wall_ms: self.clock.wall_ms(),
            steady_ms: self.clock.steady_ms(),
            boot: self.clock.boot().to_owned(),
        };
        let mut tables = MemoryTables { rows: rows.clone(), has_written: false, now, liveness: &*self.liveness };
        work(&mut tables)?;
        assert!(access == Access::Write || !tables.has_written, "a transaction that only reads has written");
        *rows = tables.rows;
        Ok(())
    }
}

#[async_trait]
impl Database for MemoryStore {
    async fn transact(&self, access: Access, mut work: Work) -> Result<(), StoreError> {
        self.run(access, &mut work)
    }

    fn enqueue(&self, _: Duration, mut work: Work, finish: Finish) {
        finish(self.run(Access::Write, &mut work));
    }
}

/// A transaction: on commit, its rows replace those of the store.
struct MemoryTables<'a> {
    rows: Rows,
    has_written: bool,
    now: Moment,
    liveness: &'a dyn Liveness,
}

type Done<T> = Result<T, StoreError>;

impl MemoryTables<'_> {
    fn write(&mut self) -> &mut Rows {
        self.has_written = true;
        &mut self.rows
    }

    fn seen(&self, lease: &LeaseRecord) -> LeaseRecord {
        LeaseRecord { host_lives: lease.execution.is_some() && self.liveness.is_alive(&lease.host), ..lease.clone() }
    }

    fn waiting(&self, waiter: &Waiter) -> Waiter {
        Waiter { host_lives: self.liveness.is_alive(&waiter.host), ..waiter.clone() }
    }

    fn found(&self, is_meant: impl Fn(&SessionRecord) -> bool) -> Vec<SessionRecord> {
        self.rows.sessions.values().filter(|session| is_meant(session)).map(|session| (**session).clone()).collect()
    }
}

impl Tables for MemoryTables<'_> {
    fn now(&self) -> &Moment {
        &self.now
    }

    fn lease(&mut self, name: &LeaseName) -> Done<Option<LeaseRecord>> {
        Ok(self.rows.leases.get(name).map(|lease| self.seen(lease)))
    }

    fn leases_held(&mut self) -> Done<Vec<(LeaseName, LeaseRecord)>> {
        Ok(self.leases()?.into_iter().filter(|(_, lease)| lease.execution.is_some()).collect())
    }

    fn leases(&mut self) -> Done<Vec<(LeaseName, LeaseRecord)>> {
        Ok(self.rows.leases.iter().map(|(name, lease)| (name.clone(), self.seen(lease))).collect())
    }

    fn lease_put(&mut self, name: &LeaseName, lease: &LeaseRecord) -> Done<()> {
        self.write().leases.insert(name.clone(), Arc::new(lease.clone()));
        Ok(())
    }

    fn lease_remove(&mut self, name: &LeaseName) -> Done<()> {
        self.write().leases.remove(name);
        Ok(())
    }

    fn token_floor(&mut self) -> Done<u64> {
        Ok(self.rows.token_floor)
    }

    fn token_floor_put(&mut self, token: u64) -> Done<()> {
        self.write().token_floor = token;
        Ok(())
    }

    fn waiters(&mut self, name: &LeaseName) -> Done<Vec<Waiter>> {
        let waiters = self.rows.waiters.iter().filter(|(of, _)| of == name);
        Ok(waiters.map(|(_, waiter)| self.waiting(waiter)).collect())
    }

    fn waiters_of_all(&mut self) -> Done<Vec<(LeaseName, Waiter)>> {
        Ok(self.rows.waiters.iter().map(|(of, waiter)| (of.clone(), self.waiting(waiter))).collect())
    }

    fn waiter_put(&mut self, name: &LeaseName, waiter: &Waiter) -> Done<()> {
        let waiters = &mut self.write().waiters;
        let place = waiters.iter_mut().find(|(of, other)| of == name && other.execution == waiter.execution);
        match place {
            Some((_, place)) => *place = Arc::new(waiter.clone()),
            None => waiters.push((name.clone(), Arc::new(waiter.clone()))),
        }
        Ok(())
    }

    fn waiter_remove(&mut self, name: &LeaseName, execution: &str) -> Done<bool> {
        let waiters = &mut self.write().waiters;
        let before = waiters.len();
        waiters.retain(|(of, waiter)| of != name || waiter.execution != execution);
        Ok(waiters.len() < before)
    }

    fn session(&mut self, id: &str) -> Done<Option<SessionRecord>> {
        Ok(self.rows.sessions.get(id).map(|session| (**session).clone()))
    }

    fn session_of_key(&mut self, key: &str) -> Done<Option<SessionRecord>> {
        let is_open = |session: &SessionRecord| session.row.state != SessionState::Ended;
        Ok(self.found(|session| session.row.key.as_deref() == Some(key) && is_open(session)).pop())
    }

    fn sessions_of_key(&mut self, key: &str) -> Done<Vec<SessionRecord>> {
        Ok(self.found(|session| session.row.key.as_deref() == Some(key)))
    }

    fn sessions(&mut self) -> Done<Vec<SessionRecord>> {
        let mut sessions = self.found(|_| true);
        let order = |session: &SessionRecord| {
            (session.row.state == SessionState::Ended, session.ended_after, session.row.created_ms)
        };
        sessions.sort_by_key(order);
        Ok(sessions)
    }

    fn sessions_open(&mut self) -> Done<usize> {
        Ok(self.rows.sessions.values().filter(|session| session.row.state != SessionState::Ended).count())
    }

    fn session_keys(&mut self) -> Done<Vec<String>> {
        let keys: BTreeSet<_> = self.rows.sessions.values().filter_map(|session| session.row.key.clone()).collect();
        Ok(keys.into_iter().collect())
    }

    fn session_put(&mut self, session: &SessionRecord) -> Done<()> {
        let row = &session.row;
        let is_other = |other: &SessionRecord| {
            other.row.id != row.id && other.row.key == row.key && other.row.state != SessionState::Ended
        };
        let is_shared = row.key.is_some() && row.state != SessionState::Ended;
        assert!(!is_shared || self.found(is_other).is_empty(), "two sessions have the key {:?}", row.key);
        self.write().sessions.insert(row.id.clone(), Arc::new(session.clone()));
        Ok(())
    }

    fn session_remove(&mut self, id: &str) -> Done<()> {
        self.write().sessions.remove(id);
        Ok(())
    }

    fn audit_head(&mut self) -> Done<Option<AuditHead>> {
        Ok(Some(self.rows.head.clone()))
    }

    fn audit_head_put(&mut self, head: &AuditHead) -> Done<()> {
        self.write().head = head.clone();
        Ok(())
    }

    fn audit_hash(&mut self, id: u64) -> Done<Option<String>> {
        Ok(self.rows.audit.iter().find(|row| row.id == id).map(|row| row.hash.clone()))
    }

    fn audit_put(&mut self, row: &AuditRow) -> Done<()> {
        self.write().audit.push_back(Arc::new(row.clone()));
        Ok(())
    }

    fn audit_remove_up_to(&mut self, id: u64) -> Done<usize> {
        let audit = &mut self.write().audit;
        let before = audit.len();
        audit.retain(|row| row.id > id);
        Ok(before - audit.len())
    }

    fn audit_rows(&mut self, filter: &AuditFilter) -> Done<Vec<AuditRow>> {
        let AuditFilter { key, session, executions, kind, since_ms, before, limit } = filter;
        let kind = kind.map(EventKind::name);
        let passes = |row: &&Arc<AuditRow>| {
            let is = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
            let is_of = |execution: &String| executions.contains(execution);
            let is_meant = is(key, &row.key) && is(session, &row.session);
            is_meant
                && (executions.is_empty() || row.execution.as_ref().is_some_and(is_of))
                && kind.as_ref().is_none_or(|kind| row.kind == *kind)
                && since_ms.is_none_or(|since| row.at_ms >= since)
                && before.is_none_or(|before| row.id < before)
        };
        let mut rows: Vec<_> = self.rows.audit.iter().rev().filter(passes).take(*limit).cloned().collect();
        rows.reverse();
        Ok(rows.into_iter().map(|row| (*row).clone()).collect())
    }

    fn audit_visit(&mut self, visit: &mut dyn FnMut(AuditRow) -> bool) -> Done<()> {
        // `all` stops when the visitor refuses a row: the remaining rows need no visit.
        let _ = self.rows.audit.iter().all(|row| visit((**row).clone()));
        Ok(())
    }
}
