//! The store of leases and sessions alone, with a manual clock: queues, lost leases, retention, the audit's hash chain.
//!
//! Most tests apply to every store, and run on SQLite and on a store in memory.

use crate::support::memory::{Memory, MemoryStore};
use codemode_host::session::{
    clock::Clock,
    liveness::Liveness,
    rules::{LeaseRecord, Waiter},
    store::{
        Access, AuditStore as _, BrowserFacts, Claim, Claimed, Database, EndReason, LeaseName, LeaseRef,
        LeaseStore as _, NewSession, Retention, SessionState, SessionStore as _, SqliteStore, Stale, Store, StoreError,
        Tables, Watch,
        audit::{AuditFilter, AuditRow, Batch, Event, EventKind, KnownRow},
    },
};
use codemode_spec::{ErrorCode, ErrorReport, limits::LEASE_WAITERS_MAX, session::SessionMode};
use rusqlite::Connection;
use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tempfile::TempDir;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A machine with a manual clock, whose hosts are all alive.
struct Still {
    now: Mutex<i64>,
    boot: &'static str,
}

impl Still {
    fn of_boot(boot: &'static str) -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(1_000_000), boot })
    }

    fn new() -> Arc<Self> {
        Self::of_boot("boot")
    }

    fn pass(&self, ms: i64) {
        *lock(&self.now) += ms;
    }
}

impl Clock for Still {
    fn wall_ms(&self) -> i64 {
        *lock(&self.now)
    }

    fn steady_ms(&self) -> i64 {
        *lock(&self.now)
    }

    fn boot(&self) -> &str {
        self.boot
    }
}

impl Liveness for Still {
    fn is_alive(&self, _: &str) -> bool {
        true
    }
}

/// A kind of store.
trait Kind {
    /// Creates an empty store.
    fn new() -> Self;

    type Opened: Store + Database + 'static;

    /// Opens it. Its content persists when it is opened again.
    fn open(&self, time: &Arc<Still>) -> Arc<Self::Opened>;
}

/// The store that hosts use: a file, and a thread.
struct InSqlite(TempDir);

impl InSqlite {
    fn path(&self) -> PathBuf {
        self.0.path().join("sessions.db")
    }
}

impl Kind for InSqlite {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    type Opened = SqliteStore;

    fn open(&self, time: &Arc<Still>) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(&self.path(), time.clone(), time.clone()).unwrap())
    }
}

struct InMemory(Memory);

impl Kind for InMemory {
    fn new() -> Self {
        Self(Memory::default())
    }

    type Opened = MemoryStore;

    fn open(&self, time: &Arc<Still>) -> Arc<MemoryStore> {
        Arc::new(MemoryStore::open(self.0.clone(), time.clone(), time.clone()))
    }
}

/// Generates a test per kind of store.
macro_rules! on_each_kind {
    ($($case:ident,)*) => {
        mod sqlite {
            $(#[tokio::test] async fn $case() { super::$case::<super::InSqlite>().await; })*
        }
        mod memory {
            $(#[tokio::test] async fn $case() { super::$case::<super::InMemory>().await; })*
        }
    };
}

on_each_kind! {
    a_transaction_that_fails_leaves_nothing,
    what_is_enqueued_is_written_before_what_is_asked_later,
    a_check_sees_each_change_of_another_process_at_once,
    who_waits_longest_is_next_and_no_more_wait_than_may,
    a_lease_that_expired_or_was_revoked_is_of_no_use_any_more,
    what_an_operator_seizes_is_had_before_all_who_wait,
    a_promotion_does_not_overtake_those_who_wait,
    a_session_is_promoted_under_both_leases_and_while_it_lives,
    a_start_whose_lease_is_lost_is_over,
    renewals_are_told_fewer_and_fewer,
    a_lease_that_was_lost_after_its_session_ended_is_noted_by_the_next_sweep,
    sessions_are_forgotten_in_time_and_keys_later,
    sessions_that_ended_are_in_the_order_of_their_end,
    after_another_boot_no_lease_holds_and_the_wall_clock_decides_what_is_old,
    the_audit_is_cut_now_and_then_and_stays_whole,
    rows_of_the_audit_are_chosen_by_what_they_are_about,
}

const TTL_MS: u64 = 1_000_000;

fn claim(execution: &str, key: &str, ttl_ms: u64) -> Claim {
    Claim { name: LeaseName::of_key(key), execution: execution.to_owned(), host: "h".to_owned(), ttl_ms }
}

async fn granted(store: &dyn Store, execution: &str, key: &str) -> LeaseRef {
    match store.lease_acquire(&claim(execution, key, TTL_MS)).await.unwrap() {
        Claimed::Granted(lease) => lease,
        other => panic!("{execution}: {other:?}"),
    }
}

/// Starts a session.
async fn begun(store: &dyn Store, id: &str, lease: Option<&LeaseRef>) -> LeaseRef {
    let key = lease.and_then(|lease| lease.name.key());
    let session = NewSession {
        id: id.to_owned(),
        mode: SessionMode::Reuse,
        key: key.map(str::to_owned),
        profile: id.to_owned(),
        profile_kept: key.is_some(),
        execution: "x".to_owned(),
        host: "h".to_owned(),
        ttl_ms: 5_000,
        lease: lease.cloned(),
        lease_ttl_ms: TTL_MS,
        network: None,
    };
    let lease = store.session_begin(&session).await.unwrap();
    let browser = BrowserFacts {
        program: PathBuf::new(),
        shortfalls: Vec::new(),
        browser_pid: 1,
        keeper_pid: 1,
        keeper_started: 1,
    };
    assert!(store.session_started(id, &browser).await.unwrap());
    lease
}

/// Starts and ends a session of a key.
async fn ended(store: &dyn Store, id: &str, key: &str, reason: EndReason) {
    let lease = granted(store, "x", key).await;
    begun(store, id, Some(&lease)).await;
    store.session_ended(id, reason).await.unwrap();
    store.lease_release(&lease).await.unwrap();
}

fn code(result: Result<(), StoreError>) -> ErrorCode {
    match result {
        Err(error) => ErrorReport::from(error).code,
        Ok(()) => panic!("it is not held"),
    }
}

async fn kinds(store: &dyn Store) -> Vec<String> {
    let filter = AuditFilter { limit: usize::MAX, ..AuditFilter::default() };
    store.audit_read(&filter).await.unwrap().into_iter().map(|row| row.kind).collect()
}

async fn who_waits_longest_is_next_and_no_more_wait_than_may<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let ask = async |name: &str| store.lease_acquire(&claim(name, "k", TTL_MS)).await.unwrap();
    let Claimed::Granted(first) = ask("x-first").await else { panic!("it is free") };
    let names: Vec<_> = (0..LEASE_WAITERS_MAX).map(|number| format!("x-{number}")).collect();
    for name in &names {
        assert!(matches!(ask(name).await, Claimed::Busy(holder) if holder.execution == "x-first"));
    }
    assert!(matches!(ask("x-late").await, Claimed::QueueFull(_)));
    store.lease_release(&first).await.unwrap();
    let mut token = first.token;
    let mut served = HashSet::new();
    for name in &names {
        // Executions that came later ask first, and must not overtake.
        for other in names.iter().filter(|other| *other != name && !served.contains(*other)).take(3) {
            assert!(matches!(ask(other).await, Claimed::Busy(_)), "{other} is not next, {name} is");
        }
        let Claimed::Granted(lease) = ask(name).await else { panic!("{name} is next") };
        assert!(lease.token > token);
        token = lease.token;
        served.insert(name.clone());
        store.lease_release(&lease).await.unwrap();
    }
    // A waiter that stopped asking does not block the queue.
    let Claimed::Granted(lease) = ask("x-a").await else { panic!("it is free") };
    assert!(matches!(ask("x-gone").await, Claimed::Busy(_)) && matches!(ask("x-b").await, Claimed::Busy(_)));
    store.lease_release(&lease).await.unwrap();
    time.pass(4_000);
    assert!(matches!(ask("x-b").await, Claimed::Granted(_)));
}

async fn a_lease_that_expired_or_was_revoked_is_of_no_use_any_more<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let grant = async |execution: &str| match store.lease_acquire(&claim(execution, "k", 100)).await.unwrap() {
        Claimed::Granted(lease) => lease,
        other => panic!("{other:?}"),
    };
    let one = grant("x-1").await;
    time.pass(99);
    store.lease_renew(&one, 100).await.unwrap();
    time.pass(100);
    for _ in 0..2 {
        assert_eq!(code(store.lease_renew(&one, 100).await), ErrorCode::SessionLost, "not taken, and over");
    }
    let two = grant("x-2").await;
    assert!(two.token > one.token);
    assert_eq!(code(store.lease_release(&one).await), ErrorCode::SessionLost, "it is another's now");
    store.lease_renew(&two, 100).await.unwrap();
    assert_eq!(store.lease_revoke(&LeaseName::of_key("k")).await.unwrap().unwrap().execution, "x-2");
    assert_eq!(code(store.lease_renew(&two, 100).await), ErrorCode::SessionLost);
    let three = grant("x-3").await;
    assert!(three.token > two.token + 1, "revoking counts");
    assert_eq!(code(store.lease_renew(&two, 100).await), ErrorCode::SessionLost);
    assert!(store.audit_verify(None).await.unwrap().intact);
}

async fn what_an_operator_seizes_is_had_before_all_who_wait<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let held = granted(&*store, "x-holder", "k").await;
    begun(&*store, "s", Some(&held)).await;
    assert!(matches!(store.lease_acquire(&claim("x-waiter", "k", TTL_MS)).await.unwrap(), Claimed::Busy(_)));
    let (seized, holder) = store.lease_seize(&claim("operator", "k", TTL_MS)).await.unwrap();
    assert_eq!(holder.unwrap().execution, "x-holder");
    assert_eq!(code(store.lease_check(&held, "s").await), ErrorCode::SessionLost);
    store.session_closing("s", EndReason::Operator, None).await.unwrap();
    assert_eq!(code(store.lease_check(&held, "s").await), ErrorCode::SessionExpired, "why it is gone says more");
    assert_eq!(store.session_watch("s").await.unwrap(), Watch::End(EndReason::Operator));
    assert!(matches!(store.lease_acquire(&claim("x-waiter", "k", TTL_MS)).await.unwrap(), Claimed::Busy(_)));
    store.lease_release(&seized).await.unwrap();
    assert!(granted(&*store, "x-waiter", "k").await.token > seized.token);
}

async fn a_promotion_does_not_overtake_those_who_wait<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    begun(&*store, "s", None).await;
    let first = granted(&*store, "x-first", "k").await;
    assert!(matches!(store.lease_acquire(&claim("x-second", "k", TTL_MS)).await.unwrap(), Claimed::Busy(_)));
    store.lease_release(&first).await.unwrap();
    let refused = store.lease_take(&claim("x", "k", TTL_MS)).await.unwrap().unwrap_err();
    assert_eq!((refused.execution.as_str(), refused.waiting), ("x-second", 1));
    assert!(kinds(&*store).await.contains(&"lease.refused".to_owned()), "{:?}", kinds(&*store).await);
}

async fn a_session_is_promoted_under_both_leases_and_while_it_lives<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let own = begun(&*store, "s", None).await;
    let of_key = store.lease_take(&claim("x", "k", TTL_MS)).await.unwrap().unwrap();
    let lost = LeaseRef { token: of_key.token - 1, ..of_key.clone() };
    assert_eq!(code(store.session_promote("s", &own, &lost).await), ErrorCode::SessionLost);
    store.session_promote("s", &own, &of_key).await.unwrap();
    assert_eq!(code(store.lease_check(&own, "s").await), ErrorCode::SessionLost, "it is freed");
    store.lease_check(&of_key, "s").await.unwrap();
    let row = store.session_of_key("k").await.unwrap().unwrap();
    assert_eq!((row.id.as_str(), row.profile_kept), ("s", true));
    assert_eq!(code(store.session_closing("s", EndReason::Closed, Some(&own)).await.map(drop)), ErrorCode::SessionLost);
    assert_eq!(store.session_watch("s").await.unwrap(), Watch::Keep, "who has lost it ends nothing");

    let late = begun(&*store, "late", None).await;
    let of_other = store.lease_take(&claim("x", "other", TTL_MS)).await.unwrap().unwrap();
    store.session_closing("late", EndReason::Operator, None).await.unwrap();
    assert_eq!(code(store.session_promote("late", &late, &of_other).await), ErrorCode::SessionExpired);
}

async fn a_transaction_that_fails_leaves_nothing<K: Kind>() {
    let (time, kind) = (Still::new(), K::new());
    let (store, other) = (kind.open(&time), kind.open(&time));
    let lease = granted(&*store, "x", "k").await;
    let before = kinds(&*store).await;
    let name = LeaseName::of_key("k");
    let failing = move |tables: &mut dyn Tables| {
        let row = tables.lease(&name)?.unwrap();
        tables.lease_put(&name, &LeaseRecord { token: 99, ..row })?;
        let waiter = Waiter::of(&claim("y", "k", TTL_MS), tables.now());
        tables.waiter_put(&name, &waiter)?;
        let row = tables.audit_rows(&AuditFilter { limit: 1, ..AuditFilter::default() })?.remove(0);
        tables.audit_put(&AuditRow { id: row.id + 1, ..row })?;
        assert_eq!(tables.lease(&name)?.unwrap().token, 99, "it sees what it has written");
        Err(StoreError::TooManySessions { sessions: 7 })
    };
    let failed = other.transact(Access::Write, Box::new(failing)).await;
    assert!(matches!(failed, Err(StoreError::TooManySessions { sessions: 7 })), "{failed:?}");
    let held = store.leases().await.unwrap();
    assert_eq!((held[0].holder.token, held[0].holder.waiting), (lease.token, 0));
    assert_eq!(kinds(&*store).await, before);
}

/// Events that were noted, and what became of those that could not be written.
struct Noted(Vec<Event>);

impl Batch for Noted {
    fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.0)
    }

    fn failed(&mut self, events: Vec<Event>, error: StoreError) {
        panic!("{error}: {events:?}");
    }
}

async fn what_is_enqueued_is_written_before_what_is_asked_later<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let calls = || Box::new(Noted(vec![Event::new(EventKind::Call).execution("x"); 2]));
    let hour = Duration::from_secs(3_600);
    store.audit_enqueue(calls(), hour);
    granted(&*store, "x", "k").await;
    assert_eq!(kinds(&*store).await, ["call", "call", "lease.requested", "lease.acquired"]);
    store.audit_enqueue(calls(), hour);
    store.audit_flush().await.unwrap();
    assert_eq!(kinds(&*store).await.len(), 6);
    assert!(store.audit_verify(None).await.unwrap().intact);
}

/// The session `s`, intended as the shared browser of the key `k`.
fn shared(lease: LeaseRef) -> NewSession {
    NewSession {
        id: "s".to_owned(),
        mode: SessionMode::Reuse,
        key: Some("k".to_owned()),
        profile: "p".to_owned(),
        profile_kept: true,
        execution: "x".to_owned(),
        host: "h".to_owned(),
        ttl_ms: TTL_MS,
        lease: Some(lease),
        lease_ttl_ms: TTL_MS,
        network: None,
    }
}

async fn a_check_sees_each_change_of_another_process_at_once<K: Kind>() {
    let (time, kind) = (Still::new(), K::new());
    let (store, other) = (kind.open(&time), kind.open(&time));
    let check = async |lease: &LeaseRef| {
        // A check must not reuse the result of the previous one.
        let checks = [store.lease_check(lease, "s").await, store.lease_check(lease, "s").await];
        assert_eq!(checks[0].is_ok(), checks[1].is_ok(), "{checks:?}");
        checks[1].is_ok()
    };
    let first = granted(&*store, "x", "k").await;
    assert!(!check(&first).await, "there is no such session yet");
    other.session_begin(&shared(first.clone())).await.unwrap();
    assert!(check(&first).await);
    other.lease_renew(&first, 2 * TTL_MS).await.unwrap();
    time.pass(TTL_MS.cast_signed());
    assert!(check(&first).await, "it holds for longer now");
    other.lease_revoke(&first.name).await.unwrap();
    assert!(!check(&first).await, "an operator took it");
    let second = granted(&*other, "y", "k").await;
    assert!(check(&second).await && !check(&first).await);
    time.pass(TTL_MS.cast_signed());
    assert!(!check(&second).await, "its time is over, though nothing was written");
    let third = granted(&*other, "z", "k").await;
    assert!(check(&third).await && !check(&second).await);
    other.session_closing("s", EndReason::Operator, None).await.unwrap();
    assert!(!check(&third).await, "its browser is to end");
}

/// The host that would record the failed start has died.
async fn a_start_whose_lease_is_lost_is_over<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let lease = granted(&*store, "x", "k").await;
    let session = shared(lease);
    store.session_begin(&session).await.unwrap();
    assert_eq!(store.session_watch("s").await.unwrap(), Watch::Keep);
    time.pass(TTL_MS.cast_signed());
    assert_eq!(store.session_watch("s").await.unwrap(), Watch::End(EndReason::NotStarted));
}

/// At most one write per second: a commit per check would keep the disk from hosts that renew leases.
#[tokio::test]
async fn who_waits_and_asks_again_changes_nothing_most_of_the_time() {
    let (time, kind) = (Still::new(), InSqlite::new());
    let (path, store) = (kind.path(), kind.open(&time));
    granted(&*store, "x-first", "k").await;
    let other = Connection::open(&path).unwrap();
    let version = || -> i64 { other.query_row("PRAGMA data_version", [], |row| row.get(0)).unwrap() };
    let mut changes = 0;
    let mut before = version();
    for _ in 0..100 {
        assert!(matches!(store.lease_acquire(&claim("x-second", "k", TTL_MS)).await.unwrap(), Claimed::Busy(_)));
        changes += i32::from(version() != before);
        before = version();
        time.pass(50);
    }
    assert!((4..=6).contains(&changes), "{changes} changes in five seconds");
}

async fn renewals_are_told_fewer_and_fewer<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let lease = granted(&*store, "x", "k").await;
    for _ in 0..100 {
        store.lease_renew(&lease, TTL_MS).await.unwrap();
    }
    assert_eq!(kinds(&*store).await.iter().filter(|kind| *kind == "lease.renewed").count(), 7);
}

/// No keeper is left to record the loss.
async fn a_lease_that_was_lost_after_its_session_ended_is_noted_by_the_next_sweep<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let of_key = granted(&*store, "x", "k").await;
    for (id, lease) in [("s-1", Some(&of_key)), ("s-2", None)] {
        begun(&*store, id, lease).await;
        store.session_ended(id, EndReason::Done).await.unwrap();
    }
    let lost = async || {
        let filter = AuditFilter { limit: usize::MAX, ..AuditFilter::default() };
        let rows = store.audit_read(&filter).await.unwrap().into_iter();
        rows.filter(|row| row.kind == "lease.lost").map(|row| row.key).collect::<Vec<_>>()
    };
    let retention = Retention { sessions_ms: TTL_MS * 2, logins_ms: TTL_MS * 2, audit_rows: u64::MAX };
    store.forget(&[], &retention).await.unwrap();
    assert_eq!((store.leases().await.unwrap().len(), lost().await.len()), (2, 0), "they are held");
    time.pass(TTL_MS.cast_signed());
    for _ in 0..2 {
        store.forget(&[], &retention).await.unwrap();
        assert_eq!(lost().await, [Some("k".to_owned()), None]);
    }
    assert_eq!(granted(&*store, "y", "k").await.token, of_key.token + 1);
}

async fn sessions_are_forgotten_in_time_and_keys_later<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let retention = Retention { sessions_ms: 1_000, logins_ms: 10_000, ..Retention::default() };
    let stale = async || store.stale(&retention).await.unwrap();
    ended(&*store, "s-1", "k", EndReason::Idle).await;
    ended(&*store, "s-2", "k", EndReason::Idle).await;
    ended(&*store, "s-3", "k", EndReason::NotStarted).await;
    let alone = begun(&*store, "s-4", None).await;
    store.session_ended("s-4", EndReason::Done).await.unwrap();
    store.lease_release(&alone).await.unwrap();
    assert_eq!(
        store.session_ended_of_key("k").await.unwrap().unwrap().id,
        "s-2",
        "the one that never ran is not meant"
    );
    assert_eq!(stale().await, []);
    time.pass(1_001);
    let of_nothing = |id: &str| Stale { id: id.to_owned(), last_of: None };
    let mut found = stale().await;
    found.sort_by(|a, b| a.id.cmp(&b.id));
    // The last session of the key, and a later one that did not start, record the key's persistent state.
    assert_eq!(found, [of_nothing("s-1"), of_nothing("s-4")]);
    let forgotten = store.forget(&["s-1".to_owned(), "s-4".to_owned()], &retention).await.unwrap();
    assert_eq!(forgotten.sessions, 2);
    // A key that is used again is not removed.
    let token = granted(&*store, "x", "k").await;
    begun(&*store, "s-5", Some(&token)).await;
    time.pass(10_000);
    assert!(stale().await.iter().all(|stale| stale.last_of.is_none()), "{:?}", stale().await);
    store.session_ended("s-5", EndReason::Idle).await.unwrap();
    store.lease_release(&token).await.unwrap();
    time.pass(10_001);
    assert!(
        stale().await.contains(&Stale { id: "s-5".to_owned(), last_of: Some("k".to_owned()) }),
        "{:?}",
        stale().await
    );
    let all: Vec<_> = stale().await.into_iter().map(|stale| stale.id).collect();
    store.forget(&all, &retention).await.unwrap();
    assert_eq!(store.sessions().await.unwrap(), []);
    // No record of the key is left, but its token still increases.
    assert!(granted(&*store, "x", "k").await.token > token.token);
    assert!(granted(&*store, "x", "other").await.token > token.token);
}

async fn sessions_that_ended_are_in_the_order_of_their_end<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    for id in ["s-1", "s-2", "s-3", "s-4"] {
        begun(&*store, id, None).await;
        time.pass(1);
    }
    for id in ["s-3", "s-1", "s-2"] {
        store.session_ended(id, EndReason::Done).await.unwrap();
    }
    let ids: Vec<_> = store.sessions().await.unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(ids, ["s-4", "s-3", "s-1", "s-2"]);
}

async fn after_another_boot_no_lease_holds_and_the_wall_clock_decides_what_is_old<K: Kind>() {
    let kind = K::new();
    let before = Still::of_boot("before");
    let lease = {
        let store = kind.open(&before);
        ended(&*store, "s-old", "old", EndReason::Idle).await;
        let lease = granted(&*store, "x", "k").await;
        begun(&*store, "s", Some(&lease)).await;
        lease
    };
    let after = Still::of_boot("after");
    let store = kind.open(&after);
    assert_eq!(code(store.lease_check(&lease, "s").await), ErrorCode::SessionLost);
    assert_eq!(store.leases().await.unwrap(), []);
    // The loss is recorded first; from then on the session counts as idle in this boot.
    assert_eq!(store.session_watch("s").await.unwrap(), Watch::Keep);
    after.pass(5_000);
    assert_eq!(store.session_watch("s").await.unwrap(), Watch::End(EndReason::Idle));
    assert_eq!(store.session("s").await.unwrap().unwrap().state, SessionState::Closing);
    assert!(granted(&*store, "x", "k").await.token > lease.token);
    let retention = Retention { sessions_ms: 1, logins_ms: 6_000, ..Retention::default() };
    assert_eq!(store.stale(&retention).await.unwrap(), []);
    after.pass(1_001);
    assert_eq!(store.stale(&retention).await.unwrap().len(), 1);
}

async fn the_audit_is_cut_now_and_then_and_stays_whole<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let retention = Retention { audit_rows: 100, ..Retention::default() };
    let append = async |rows: usize| store.audit_append(&vec![Event::new(EventKind::Call); rows]).await.unwrap();
    append(100).await;
    assert_eq!(store.forget(&[], &retention).await.unwrap().audit_rows, 0);
    append(1).await;
    assert_eq!(store.forget(&[], &retention).await.unwrap().audit_rows, 11, "with some to spare");
    for _ in 0..3 {
        assert_eq!(store.forget(&[], &retention).await.unwrap().audit_rows, 0, "nothing has happened since");
    }
    let verdict = store.audit_verify(None).await.unwrap();
    assert_eq!((verdict.intact, verdict.removed, verdict.rows, verdict.last), (true, 11, 91, 102), "{verdict:?}");
    append(50).await;
    assert!(store.forget(&[], &retention).await.unwrap().audit_rows > 40);
    assert!(store.audit_verify(None).await.unwrap().intact);
}

async fn rows_of_the_audit_are_chosen_by_what_they_are_about<K: Kind>() {
    let time = Still::new();
    let store = K::new().open(&time);
    let event = |kind, execution: &str, key: Option<&str>| Event::new(kind).execution(execution).key(key);
    let events = [
        event(EventKind::ExecutionStarted, "x-1", Some("shop")),
        event(EventKind::ExecutionStarted, "x-2", None),
        event(EventKind::Call, "x-1", Some("shop")).session("s-1"),
        event(EventKind::ExecutionEnded, "x-2", None),
        event(EventKind::ExecutionEnded, "x-1", Some("shop")).session("s-1"),
        Event::new(EventKind::SessionSwept).session("s-1"),
    ];
    store.audit_append(&events).await.unwrap();
    let ids = async |filter: AuditFilter| {
        let filter = AuditFilter { limit: filter.limit.max(1), ..filter };
        store.audit_read(&filter).await.unwrap().into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    let all = AuditFilter { limit: 100, ..AuditFilter::default() };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (filter, expected) in [
        (all.clone(), &[1, 2, 3, 4, 5, 6][..]),
        (AuditFilter { limit: 2, ..all.clone() }, &[5, 6]),
        (AuditFilter { before: Some(5), limit: 2, ..all.clone() }, &[3, 4]),
        (AuditFilter { before: Some(1), ..all.clone() }, &[]),
        (AuditFilter { executions: named(&["x-1"]), ..all.clone() }, &[1, 3, 5]),
        (AuditFilter { executions: named(&["x-2", "x-1", "x-3"]), ..all.clone() }, &[1, 2, 3, 4, 5]),
        (AuditFilter { executions: named(&["x'\"]"]), ..all.clone() }, &[]),
        (AuditFilter { kind: Some(EventKind::ExecutionStarted), ..all.clone() }, &[1, 2]),
        (AuditFilter { kind: Some(EventKind::ExecutionEnded), executions: named(&["x-1"]), ..all.clone() }, &[5]),
        (AuditFilter { key: Some("shop".to_owned()), session: Some("s-1".to_owned()), ..all.clone() }, &[3, 5]),
        (AuditFilter { since_ms: Some(i64::MAX), ..all.clone() }, &[]),
    ] {
        assert_eq!(ids(filter.clone()).await, expected, "{filter:?}");
    }
    let head = store.audit_head().await.unwrap();
    assert_eq!((head.last, head.removed), (6, 0));
}

#[tokio::test]
async fn what_may_wait_is_written_by_itself_when_its_time_has_come() {
    let (time, kind) = (Still::new(), InSqlite::new());
    let (store, other) = (kind.open(&time), kind.open(&time));
    store.audit_enqueue(Box::new(Noted(vec![Event::new(EventKind::Call).execution("x")])), Duration::from_millis(10));
    let written = async {
        while kinds(&*other).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    crate::support::lab::soon(written).await;
}

#[tokio::test]
async fn a_chain_that_was_cut_or_made_anew_is_known_by_a_row_that_was_noted() {
    let (time, kind) = (Still::new(), InSqlite::new());
    let (path, store) = (kind.path(), kind.open(&time));
    let append = async |rows: usize| store.audit_append(&vec![Event::new(EventKind::Call); rows]).await.unwrap();
    append(20).await;
    let verdict = store.audit_verify(None).await.unwrap();
    let noted: KnownRow = format!("{}:{}", verdict.last, verdict.hash).parse().unwrap();
    append(5).await;
    assert!(store.audit_verify(Some(noted.clone())).await.unwrap().intact);
    let fault = async |noted: &KnownRow| store.audit_verify(Some(noted.clone())).await.unwrap().fault.unwrap();

    // The chain alone does not reveal that its end was cut off and the head moved.
    let tampering = Connection::open(&path).unwrap();
    let cut = "DELETE FROM audit WHERE id > 10;
               UPDATE audit_head SET last = 10, hash = (SELECT hash FROM audit WHERE id = 10)";
    tampering.execute_batch(cut).unwrap();
    assert!(store.audit_verify(None).await.unwrap().intact);
    assert!(fault(&noted).await.contains("is missing"), "{}", fault(&noted).await);
    time.pass(1);
    append(20).await;
    assert!(fault(&noted).await.contains("was written anew"), "{}", fault(&noted).await);

    // Rows removed by retention cannot be distinguished from rows that never existed, except the last of them.
    let retention = Retention { audit_rows: 10, ..Retention::default() };
    let verdict = store.audit_verify(None).await.unwrap();
    let last: KnownRow = format!("{}:{}", verdict.last, verdict.hash).parse().unwrap();
    store.forget(&[], &retention).await.unwrap();
    assert!(store.audit_verify(Some(last)).await.unwrap().intact);
    assert!(fault(&noted).await.contains("removed by retention"), "{}", fault(&noted).await);

    tampering.execute_batch("DELETE FROM audit; DELETE FROM audit_head").unwrap();
    let verdict = store.audit_verify(None).await.unwrap();
    assert!(!verdict.intact, "{verdict:?}");
    for wrong in ["", "7", "x:00", "7:zz"] {
        wrong.parse::<KnownRow>().unwrap_err();
    }
}
