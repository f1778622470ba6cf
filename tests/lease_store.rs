//! The store of leases and sessions by itself, with a clock that is told: queues, losses, retention, the audit's chain.

use codemode_host::session::{
    clock::Clock,
    hosts::Liveness,
    store::{
        BrowserFacts, Claim, Claimed, EndReason, LeaseName, LeaseRef, NewSession, Retention, SessionState,
        SessionStore, SqliteStore, Stale, StoreError, Watch,
        audit::{AuditFilter, Event, EventKind, KnownRow},
    },
};
use codemode_spec::{ErrorCode, ErrorReport, limits::LEASE_WAITERS_MAX, session::SessionMode};
use rusqlite::Connection;
use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A machine whose hosts all live, and whose time is told.
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

fn store(time: &Arc<Still>) -> SqliteStore {
    SqliteStore::in_memory(time.clone(), time.clone()).unwrap()
}

const TTL_MS: u64 = 1_000_000;

fn claim(execution: &str, key: &str, ttl_ms: u64) -> Claim {
    Claim { name: LeaseName::of_key(key), execution: execution.to_owned(), host: "h".to_owned(), ttl_ms }
}

fn granted(store: &SqliteStore, execution: &str, key: &str) -> LeaseRef {
    match store.lease_acquire(&claim(execution, key, TTL_MS)).unwrap() {
        Claimed::Granted(lease) => lease,
        other => panic!("{execution}: {other:?}"),
    }
}

/// A session that has begun.
fn begun(store: &SqliteStore, id: &str, lease: Option<&LeaseRef>) -> LeaseRef {
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
    let lease = store.session_begin(&session).unwrap();
    let browser = BrowserFacts {
        program: PathBuf::new(),
        shortfalls: Vec::new(),
        browser_pid: 1,
        keeper_pid: 1,
        keeper_started: 1,
    };
    assert!(store.session_started(id, &browser).unwrap());
    lease
}

/// A session of a key that has come and gone.
fn ended(store: &SqliteStore, id: &str, key: &str, reason: EndReason) {
    let lease = granted(store, "x", key);
    begun(store, id, Some(&lease));
    store.session_ended(id, reason).unwrap();
    store.lease_release(&lease).unwrap();
}

fn code(result: Result<(), StoreError>) -> ErrorCode {
    match result {
        Err(error) => ErrorReport::from(error).code,
        Ok(()) => panic!("it is not held"),
    }
}

fn kinds(store: &SqliteStore) -> Vec<String> {
    let filter = AuditFilter { limit: usize::MAX, ..AuditFilter::default() };
    store.audit_read(&filter).unwrap().into_iter().map(|row| row.kind).collect()
}

#[test]
fn who_waits_longest_is_next_and_no_more_wait_than_may() {
    let time = Still::new();
    let store = store(&time);
    let ask = |name: &str| store.lease_acquire(&claim(name, "k", TTL_MS)).unwrap();
    let Claimed::Granted(first) = ask("x-first") else { panic!("it is free") };
    let names: Vec<_> = (0..LEASE_WAITERS_MAX).map(|number| format!("x-{number}")).collect();
    for name in &names {
        assert!(matches!(ask(name), Claimed::Busy(holder) if holder.execution == "x-first"));
    }
    assert!(matches!(ask("x-late"), Claimed::QueueFull(_)));
    store.lease_release(&first).unwrap();
    let mut token = first.token;
    let mut served = HashSet::new();
    for name in &names {
        // Whoever comes later asks first, in vain.
        for other in names.iter().filter(|other| *other != name && !served.contains(*other)).take(3) {
            assert!(matches!(ask(other), Claimed::Busy(_)), "{other} is not next, {name} is");
        }
        let Claimed::Granted(lease) = ask(name) else { panic!("{name} is next") };
        assert!(lease.token > token);
        token = lease.token;
        served.insert(name.clone());
        store.lease_release(&lease).unwrap();
    }
    // One that does not ask any more is not waited for.
    let Claimed::Granted(lease) = ask("x-a") else { panic!("it is free") };
    assert!(matches!(ask("x-gone"), Claimed::Busy(_)) && matches!(ask("x-b"), Claimed::Busy(_)));
    store.lease_release(&lease).unwrap();
    time.pass(4_000);
    assert!(matches!(ask("x-b"), Claimed::Granted(_)));
}

#[test]
fn a_lease_that_expired_or_was_revoked_is_of_no_use_any_more() {
    let time = Still::new();
    let store = store(&time);
    let grant = |execution: &str| match store.lease_acquire(&claim(execution, "k", 100)).unwrap() {
        Claimed::Granted(lease) => lease,
        other => panic!("{other:?}"),
    };
    let one = grant("x-1");
    time.pass(99);
    store.lease_renew(&one, 100).unwrap();
    time.pass(100);
    for _ in 0..2 {
        assert_eq!(code(store.lease_renew(&one, 100)), ErrorCode::SessionLost, "nobody took it, and it is over");
    }
    let two = grant("x-2");
    assert!(two.token > one.token);
    assert_eq!(code(store.lease_release(&one)), ErrorCode::SessionLost, "it is another's now");
    store.lease_renew(&two, 100).unwrap();
    assert_eq!(store.lease_revoke(&LeaseName::of_key("k")).unwrap().unwrap().execution, "x-2");
    assert_eq!(code(store.lease_renew(&two, 100)), ErrorCode::SessionLost);
    let three = grant("x-3");
    assert!(three.token > two.token + 1, "revoking counts");
    assert_eq!(code(store.lease_renew(&two, 100)), ErrorCode::SessionLost);
    assert!(store.audit_verify(None).unwrap().intact);
}

#[test]
fn what_an_operator_seizes_is_had_before_all_who_wait() {
    let time = Still::new();
    let store = store(&time);
    let held = granted(&store, "x-holder", "k");
    begun(&store, "s", Some(&held));
    assert!(matches!(store.lease_acquire(&claim("x-waiter", "k", TTL_MS)).unwrap(), Claimed::Busy(_)));
    let (seized, holder) = store.lease_seize(&claim("operator", "k", TTL_MS)).unwrap();
    assert_eq!(holder.unwrap().execution, "x-holder");
    assert_eq!(code(store.lease_check(&held, "s")), ErrorCode::SessionLost);
    store.session_closing("s", EndReason::Operator, None).unwrap();
    assert_eq!(code(store.lease_check(&held, "s")), ErrorCode::SessionExpired, "why it is gone says more");
    assert_eq!(store.session_watch("s").unwrap(), Watch::End(EndReason::Operator));
    assert!(matches!(store.lease_acquire(&claim("x-waiter", "k", TTL_MS)).unwrap(), Claimed::Busy(_)));
    store.lease_release(&seized).unwrap();
    assert!(granted(&store, "x-waiter", "k").token > seized.token);
}

#[test]
fn a_promotion_does_not_overtake_those_who_wait() {
    let time = Still::new();
    let store = store(&time);
    begun(&store, "s", None);
    let first = granted(&store, "x-first", "k");
    assert!(matches!(store.lease_acquire(&claim("x-second", "k", TTL_MS)).unwrap(), Claimed::Busy(_)));
    store.lease_release(&first).unwrap();
    let refused = store.lease_take(&claim("x", "k", TTL_MS)).unwrap().unwrap_err();
    assert_eq!((refused.execution.as_str(), refused.waiting), ("x-second", 1));
    assert!(kinds(&store).contains(&"lease.refused".to_owned()), "{:?}", kinds(&store));
}

#[test]
fn a_session_is_promoted_under_both_leases_and_while_it_lives() {
    let time = Still::new();
    let store = store(&time);
    let own = begun(&store, "s", None);
    let of_key = store.lease_take(&claim("x", "k", TTL_MS)).unwrap().unwrap();
    let lost = LeaseRef { token: of_key.token - 1, ..of_key.clone() };
    assert_eq!(code(store.session_promote("s", &own, &lost)), ErrorCode::SessionLost);
    store.session_promote("s", &own, &of_key).unwrap();
    assert_eq!(code(store.lease_check(&own, "s")), ErrorCode::SessionLost, "it is freed");
    store.lease_check(&of_key, "s").unwrap();
    let row = store.session_of_key("k").unwrap().unwrap();
    assert_eq!((row.id.as_str(), row.profile_kept), ("s", true));
    assert_eq!(code(store.session_closing("s", EndReason::Closed, Some(&own)).map(drop)), ErrorCode::SessionLost);
    assert_eq!(store.session_watch("s").unwrap(), Watch::Keep, "who has lost it ends nothing");

    let late = begun(&store, "late", None);
    let of_other = store.lease_take(&claim("x", "other", TTL_MS)).unwrap().unwrap();
    store.session_closing("late", EndReason::Operator, None).unwrap();
    assert_eq!(code(store.session_promote("late", &late, &of_other)), ErrorCode::SessionExpired);
}

/// Nobody is left who could note that it did not start.
#[test]
fn a_start_whose_lease_is_lost_is_over() {
    let time = Still::new();
    let store = store(&time);
    let lease = granted(&store, "x", "k");
    let session = NewSession {
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
    };
    store.session_begin(&session).unwrap();
    assert_eq!(store.session_watch("s").unwrap(), Watch::Keep);
    time.pass(TTL_MS.cast_signed());
    assert_eq!(store.session_watch("s").unwrap(), Watch::End(EndReason::NotStarted));
}

/// Each second once is enough: a commit for each look would keep the disk from those who renew.
#[test]
fn who_waits_and_asks_again_changes_nothing_most_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let time = Still::new();
    let store = SqliteStore::open(&path, time.clone(), time.clone()).unwrap();
    granted(&store, "x-first", "k");
    let other = Connection::open(&path).unwrap();
    let version = || -> i64 { other.query_row("PRAGMA data_version", [], |row| row.get(0)).unwrap() };
    let mut changes = 0;
    let mut before = version();
    for _ in 0..100 {
        assert!(matches!(store.lease_acquire(&claim("x-second", "k", TTL_MS)).unwrap(), Claimed::Busy(_)));
        changes += i32::from(version() != before);
        before = version();
        time.pass(50);
    }
    assert!((4..=6).contains(&changes), "{changes} changes in five seconds");
}

#[test]
fn renewals_are_told_fewer_and_fewer() {
    let time = Still::new();
    let store = store(&time);
    let lease = granted(&store, "x", "k");
    for _ in 0..100 {
        store.lease_renew(&lease, TTL_MS).unwrap();
    }
    assert_eq!(kinds(&store).iter().filter(|kind| *kind == "lease.renewed").count(), 7);
}

/// Nobody keeps a browser any more that could note it.
#[test]
fn a_lease_that_was_lost_after_its_session_ended_is_noted_by_whoever_sweeps() {
    let time = Still::new();
    let store = store(&time);
    let of_key = granted(&store, "x", "k");
    for (id, lease) in [("s-1", Some(&of_key)), ("s-2", None)] {
        begun(&store, id, lease);
        store.session_ended(id, EndReason::Done).unwrap();
    }
    let lost = || {
        let filter = AuditFilter { limit: usize::MAX, ..AuditFilter::default() };
        let rows = store.audit_read(&filter).unwrap().into_iter();
        rows.filter(|row| row.kind == "lease.lost").map(|row| row.key).collect::<Vec<_>>()
    };
    let retention = Retention { sessions_ms: TTL_MS * 2, logins_ms: TTL_MS * 2, audit_rows: u64::MAX };
    store.forget(&[], &retention).unwrap();
    assert_eq!((store.leases().unwrap().len(), lost().len()), (2, 0), "they are held");
    time.pass(TTL_MS.cast_signed());
    for _ in 0..2 {
        store.forget(&[], &retention).unwrap();
        assert_eq!(lost(), [Some("k".to_owned()), None]);
    }
    assert_eq!(granted(&store, "y", "k").token, of_key.token + 1);
}

#[test]
fn sessions_are_forgotten_in_time_and_keys_later() {
    let time = Still::new();
    let store = store(&time);
    let retention = Retention { sessions_ms: 1_000, logins_ms: 10_000, ..Retention::default() };
    let stale = || store.stale(&retention).unwrap();
    ended(&store, "s-1", "k", EndReason::Idle);
    ended(&store, "s-2", "k", EndReason::Idle);
    ended(&store, "s-3", "k", EndReason::NotStarted);
    let alone = begun(&store, "s-4", None);
    store.session_ended("s-4", EndReason::Done).unwrap();
    store.lease_release(&alone).unwrap();
    assert_eq!(store.session_ended_of_key("k").unwrap().unwrap().id, "s-2", "the one that never ran is not meant");
    assert_eq!(stale(), []);
    time.pass(1_001);
    let of_nothing = |id: &str| Stale { id: id.to_owned(), last_of: None };
    let mut found = stale();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    // The last one of the key, and one that did not start after it, stand for what is kept of it.
    assert_eq!(found, [of_nothing("s-1"), of_nothing("s-4")]);
    let forgotten = store.forget(&["s-1".to_owned(), "s-4".to_owned()], &retention).unwrap();
    assert_eq!(forgotten.sessions, 2);
    // A key that is used again is not forgotten.
    let token = granted(&store, "x", "k");
    begun(&store, "s-5", Some(&token));
    time.pass(10_000);
    assert!(stale().iter().all(|stale| stale.last_of.is_none()), "{:?}", stale());
    store.session_ended("s-5", EndReason::Idle).unwrap();
    store.lease_release(&token).unwrap();
    time.pass(10_001);
    assert!(stale().contains(&Stale { id: "s-5".to_owned(), last_of: Some("k".to_owned()) }), "{:?}", stale());
    let all: Vec<_> = stale().into_iter().map(|stale| stale.id).collect();
    store.forget(&all, &retention).unwrap();
    assert_eq!(store.sessions().unwrap(), []);
    // Of the key nothing is known, and its token goes on all the same.
    assert!(granted(&store, "x", "k").token > token.token);
    assert!(granted(&store, "x", "other").token > token.token);
}

#[test]
fn after_another_boot_no_lease_holds_and_the_wall_clock_decides_what_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let before = Still::of_boot("before");
    let lease = {
        let store = SqliteStore::open(&path, before.clone(), before.clone()).unwrap();
        ended(&store, "s-old", "old", EndReason::Idle);
        let lease = granted(&store, "x", "k");
        begun(&store, "s", Some(&lease));
        lease
    };
    let after = Still::of_boot("after");
    let store = SqliteStore::open(&path, after.clone(), after.clone()).unwrap();
    assert_eq!(code(store.lease_check(&lease, "s")), ErrorCode::SessionLost);
    assert_eq!(store.leases().unwrap(), []);
    // The loss is noted first; what was leased is idle in this boot from then on.
    assert_eq!(store.session_watch("s").unwrap(), Watch::Keep);
    after.pass(5_000);
    assert_eq!(store.session_watch("s").unwrap(), Watch::End(EndReason::Idle));
    assert_eq!(store.session("s").unwrap().unwrap().state, SessionState::Closing);
    assert!(granted(&store, "x", "k").token > lease.token);
    let retention = Retention { sessions_ms: 1, logins_ms: 6_000, ..Retention::default() };
    assert_eq!(store.stale(&retention).unwrap(), []);
    after.pass(1_001);
    assert_eq!(store.stale(&retention).unwrap().len(), 1);
}

#[test]
fn the_audit_is_cut_now_and_then_and_stays_whole() {
    let time = Still::new();
    let store = store(&time);
    let retention = Retention { audit_rows: 100, ..Retention::default() };
    let append = |rows: usize| store.audit_append(&vec![Event::new(EventKind::Call); rows]).unwrap();
    append(100);
    assert_eq!(store.forget(&[], &retention).unwrap().audit_rows, 0);
    append(1);
    assert_eq!(store.forget(&[], &retention).unwrap().audit_rows, 11, "with some to spare");
    for _ in 0..3 {
        assert_eq!(store.forget(&[], &retention).unwrap().audit_rows, 0, "nothing has happened since");
    }
    let verdict = store.audit_verify(None).unwrap();
    assert_eq!((verdict.intact, verdict.removed, verdict.rows, verdict.last), (true, 11, 91, 102), "{verdict:?}");
    append(50);
    assert!(store.forget(&[], &retention).unwrap().audit_rows > 40);
    assert!(store.audit_verify(None).unwrap().intact);
}

#[test]
fn a_chain_that_was_cut_or_made_anew_is_known_by_a_row_that_was_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let time = Still::new();
    let store = SqliteStore::open(&path, time.clone(), time.clone()).unwrap();
    let append = |rows: usize| store.audit_append(&vec![Event::new(EventKind::Call); rows]).unwrap();
    append(20);
    let verdict = store.audit_verify(None).unwrap();
    let noted: KnownRow = format!("{}:{}", verdict.last, verdict.hash).parse().unwrap();
    append(5);
    assert!(store.audit_verify(Some(noted.clone())).unwrap().intact);
    let fault = |noted: &KnownRow| store.audit_verify(Some(noted.clone())).unwrap().fault.unwrap();

    // Whoever cuts the end off and moves the head is not seen by the chain alone.
    let tampering = Connection::open(&path).unwrap();
    let cut = "DELETE FROM audit WHERE id > 10;
               UPDATE audit_head SET last = 10, hash = (SELECT hash FROM audit WHERE id = 10)";
    tampering.execute_batch(cut).unwrap();
    assert!(store.audit_verify(None).unwrap().intact);
    assert!(fault(&noted).contains("is missing"), "{}", fault(&noted));
    time.pass(1);
    append(20);
    assert!(fault(&noted).contains("was written anew"), "{}", fault(&noted));

    // What retention removed cannot be told from what never was, but for the last of it.
    let retention = Retention { audit_rows: 10, ..Retention::default() };
    let verdict = store.audit_verify(None).unwrap();
    let last: KnownRow = format!("{}:{}", verdict.last, verdict.hash).parse().unwrap();
    store.forget(&[], &retention).unwrap();
    assert!(store.audit_verify(Some(last)).unwrap().intact);
    assert!(fault(&noted).contains("removed by retention"), "{}", fault(&noted));

    tampering.execute_batch("DELETE FROM audit; DELETE FROM audit_head").unwrap();
    let verdict = store.audit_verify(None).unwrap();
    assert!(!verdict.intact, "{verdict:?}");
    for wrong in ["", "7", "x:00", "7:zz"] {
        wrong.parse::<KnownRow>().unwrap_err();
    }
}
