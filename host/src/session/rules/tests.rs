//! Table-driven tests, one table per rule.

use super::*;
use codemode_spec::{
    limits::{LEASE_TTL_MS, LEASE_WAITER_TTL_MS, LEASE_WAITERS_MAX, SESSIONS_MAX},
    session::SessionMode,
};

const NOW_MS: i64 = 1_000_000;
const KEY: &str = "shop";

fn now() -> Moment {
    Moment { wall_ms: 5_000_000, steady_ms: NOW_MS, boot: "boot".to_owned() }
}

/// A lease that `x` holds with token 7, for another ten seconds.
fn held() -> LeaseRecord {
    LeaseRecord {
        token: 7,
        execution: Some("x".to_owned()),
        host: "h".to_owned(),
        host_lives: true,
        boot: "boot".to_owned(),
        since_steady_ms: NOW_MS - 4_000,
        until_steady_ms: NOW_MS + 10_000,
        renewals: 2,
        revoked: 3,
    }
}

fn free() -> LeaseRecord {
    LeaseRecord { execution: None, ..held() }
}

fn expired() -> LeaseRecord {
    LeaseRecord { until_steady_ms: NOW_MS, ..held() }
}

fn of_dead_host() -> LeaseRecord {
    LeaseRecord { host_lives: false, ..held() }
}

fn of_other_boot() -> LeaseRecord {
    LeaseRecord { boot: "before".to_owned(), ..held() }
}

fn lease(token: u64) -> LeaseRef {
    LeaseRef { name: LeaseName::of_key(KEY), token }
}

fn claim(execution: &str) -> Claim {
    let (name, host) = (LeaseName::of_key(KEY), "h".to_owned());
    Claim { name, execution: execution.to_owned(), host, ttl_ms: 30_000 }
}

/// An execution that has just claimed the lease.
fn waiter(execution: &str) -> Waiter {
    Waiter::of(&claim(execution), &now())
}

fn late(execution: &str) -> Waiter {
    Waiter { until_steady_ms: NOW_MS, ..waiter(execution) }
}

fn dead(execution: &str) -> Waiter {
    Waiter { host_lives: false, ..waiter(execution) }
}

fn session(state: SessionState, key: Option<&str>, reason: Option<EndReason>) -> SessionRecord {
    let row = SessionRow {
        id: "s".to_owned(),
        mode: SessionMode::Reuse,
        key: key.map(str::to_owned),
        state,
        profile: "p".to_owned(),
        profile_kept: key.is_some(),
        execution: "x".to_owned(),
        browser: None,
        ttl_ms: 5_000,
        created_ms: 1,
        used_ms: 2,
        ended_ms: (state == SessionState::Ended).then_some(3),
        reason,
        boot: "boot".to_owned(),
        network: Some("rules".to_owned()),
        network_held: None,
    };
    SessionRecord { row, idle_steady_ms: NOW_MS - 1_000, ended_after: (state == SessionState::Ended).then_some(10) }
}

#[test]
fn a_lease_is_held_by_who_renewed_it_in_time_in_a_host_that_lives() {
    let rows = [
        (held(), Standing::Held, None),
        (free(), Standing::Free, None),
        (expired(), Standing::Expired, Some("expired")),
        (LeaseRecord { until_steady_ms: NOW_MS + 1, ..held() }, Standing::Held, None),
        (of_other_boot(), Standing::Expired, Some("expired")),
        (of_dead_host(), Standing::HostDied, Some("host-died")),
        // Expiry takes precedence over the death of the host.
        (LeaseRecord { host_lives: false, ..expired() }, Standing::Expired, Some("expired")),
        (LeaseRecord { execution: None, ..of_dead_host() }, Standing::Free, None),
    ];
    for (row, expected, how) in rows {
        let found = standing(&row, &now());
        assert_eq!((found, found.lost_how()), (expected, how), "{row:?}");
    }
}

#[test]
fn a_holder_is_told_how_it_lost_its_lease() {
    let revoked = LeaseRecord { revoked: 7, token: 8, ..free() };
    let rows = [
        (Some(held()), 7, None),
        (Some(held()), 6, Some(Loss::Taken { token: 7 })),
        (Some(free()), 7, Some(Loss::Expired)),
        (Some(expired()), 7, Some(Loss::Expired)),
        (Some(of_dead_host()), 7, Some(Loss::Expired)),
        (Some(of_other_boot()), 7, Some(Loss::Expired)),
        (Some(revoked.clone()), 7, Some(Loss::Revoked)),
        (Some(revoked), 6, Some(Loss::Taken { token: 8 })),
        (Some(held()), 3, Some(Loss::Revoked)),
        (None, 7, Some(Loss::Expired)),
    ];
    for (row, token, expected) in rows {
        assert_eq!(loss(row.as_ref(), &lease(token), &now()), expected, "{token} of {row:?}");
    }
}

#[test]
fn the_end_of_the_session_says_more_than_the_loss_of_the_lease_but_for_three_cases() {
    use EndReason::{Closed, Idle, NotStarted, Operator};
    use SessionState::{Closing, Ended, Live};
    let over = |reason| Some(Loss::Ended { session: "s".to_owned(), reason });
    let (expired, taken, revoked) = (Some(Loss::Expired), Some(Loss::Taken { token: 9 }), Some(Loss::Revoked));
    let rows = [
        (None, Some((Live, None)), None),
        (expired.clone(), Some((Live, None)), expired.clone()),
        (None, Some((Closing, Some(Idle))), over(Some(Idle))),
        (expired.clone(), Some((Ended, Some(Closed))), over(Some(Closed))),
        (None, None, over(None)),
        (revoked.clone(), Some((Ended, Some(Idle))), revoked.clone()),
        (taken.clone(), Some((Ended, Some(Idle))), taken),
        (revoked, Some((Ended, Some(Operator))), over(Some(Operator))),
        (expired.clone(), Some((Ended, Some(NotStarted))), expired),
        (None, Some((Ended, Some(NotStarted))), None),
    ];
    for (lost, row, expected) in rows {
        let row = row.map(|(state, reason)| session(state, Some(KEY), reason).row);
        assert_eq!(loss_in_use(lost.clone(), row.as_ref(), "s"), expected, "{lost:?} {row:?}");
    }
}

#[test]
fn tokens_only_grow_and_a_grant_begins_anew() {
    let rows = [(None, 41, 42, 0), (Some(free()), 41, 8, 3), (Some(expired()), 0, 8, 3)];
    for (before, floor, token, revoked) in rows {
        let expected = LeaseRecord {
            token,
            execution: Some("y".to_owned()),
            since_steady_ms: NOW_MS,
            until_steady_ms: NOW_MS + 30_000,
            renewals: 0,
            revoked,
            ..held()
        };
        assert_eq!(granted(&claim("y"), before.as_ref(), floor, &now()), expected, "{before:?}");
    }
    assert_eq!(revoked(held()), LeaseRecord { revoked: 7, token: 8, execution: None, ..held() });
    let expected = LeaseRecord { until_steady_ms: NOW_MS + 500, renewals: 3, ..held() };
    assert_eq!(renewed(held(), 500, &now()), expected);
    let noted: Vec<_> = (0..=9).filter(|renewals| is_renewal_noted(*renewals)).collect();
    assert_eq!(noted, [1, 2, 4, 8]);
}

#[test]
fn the_row_of_a_key_stays_for_its_token_and_that_of_a_session_goes() {
    assert_eq!(freed(&LeaseName::of_key(KEY), held()), Some(free()));
    assert_eq!(freed(&LeaseName::of_session("s"), held()), None);
}

#[test]
fn the_first_who_came_is_granted_a_free_lease_and_the_others_wait() {
    let full: Vec<_> = (0..LEASE_WAITERS_MAX).map(|number| waiter(&number.to_string())).collect();
    let rows: [(&str, Option<LeaseRecord>, Vec<Waiter>, Turn); 16] = [
        ("never held", None, vec![], Turn::Granted),
        ("never held, and another waits", None, vec![waiter("a")], Turn::NoPlace),
        ("free", Some(free()), vec![], Turn::Granted),
        ("expired", Some(expired()), vec![], Turn::Granted),
        ("of a dead host", Some(of_dead_host()), vec![], Turn::Granted),
        ("of another boot", Some(of_other_boot()), vec![], Turn::Granted),
        ("held", Some(held()), vec![], Turn::TakesPlace),
        ("held, and it has asked", Some(held()), vec![waiter("y")], Turn::KeepsPlace),
        ("free, and it is first", Some(free()), vec![waiter("y"), waiter("a")], Turn::Granted),
        ("free, and it is second", Some(free()), vec![waiter("a"), waiter("y")], Turn::KeepsPlace),
        ("free, and another waits", Some(free()), vec![waiter("a")], Turn::TakesPlace),
        ("free, and the first has left", Some(free()), vec![late("a"), waiter("y")], Turn::Granted),
        ("free, and the first is dead", Some(free()), vec![dead("a"), waiter("y")], Turn::Granted),
        ("free, and it is late itself", Some(free()), vec![late("y"), waiter("a")], Turn::Granted),
        ("held, and the queue is full", Some(held()), full.clone(), Turn::QueueFull),
        ("held, and one of a full queue is dead", Some(held()), [&full[1..], &[dead("0")]].concat(), Turn::TakesPlace),
    ];
    for (what, lease, waiters, expected) in rows {
        assert_eq!(turn(&claim("y"), lease.as_ref(), &waiters, &now()), expected, "{what}");
    }
}

#[test]
fn a_claim_that_does_not_wait_overtakes_no_waiter() {
    let rows = [
        (None, vec![], true),
        (Some(free()), vec![], true),
        (Some(expired()), vec![late("a"), dead("b")], true),
        (Some(free()), vec![waiter("a")], false),
        (None, vec![waiter("a")], false),
        (Some(held()), vec![], false),
    ];
    for (lease, waiters, expected) in rows {
        assert_eq!(may_take(lease.as_ref(), &waiters, &now()), expected, "{lease:?} {waiters:?}");
    }
}

#[test]
fn a_waiter_that_asked_a_moment_ago_writes_nothing() {
    let y_later = |ms: i64| Waiter { until_steady_ms: NOW_MS + ms, ..waiter("y") };
    let rows = [
        (Some(held()), vec![waiter("y")], true),
        (Some(held()), vec![y_later(2_001)], true),
        (Some(held()), vec![y_later(2_000)], false),
        (Some(held()), vec![], false),
        (Some(held()), vec![late("y")], false),
        (Some(free()), vec![waiter("y")], false),
        (Some(expired()), vec![waiter("y")], false),
        (Some(free()), vec![waiter("a"), waiter("y")], true),
        (Some(free()), vec![late("a"), waiter("y")], false),
        (None, vec![waiter("a"), waiter("y")], false),
    ];
    assert_eq!(LEASE_WAITER_TTL_MS, 3_000, "the rows above are about this time");
    for (lease, waiters, expected) in rows {
        assert_eq!(still_waits(&claim("y"), lease.as_ref(), &waiters, &now()), expected, "{lease:?} {waiters:?}");
    }
}

#[test]
fn an_execution_leaves_the_queue_when_it_does_not_ask_again() {
    let other_boot = Waiter { boot: "before".to_owned(), ..waiter("d") };
    let waiters = [waiter("a"), late("b"), dead("c"), other_boot, late("y")];
    assert_eq!(left_the_queue(&waiters, "y", &now()), ["b", "c", "d"]);
    let waiting: Vec<_> = waiters.iter().map(|waiter| is_waiting(waiter, &now())).collect();
    assert_eq!(waiting, [true, false, false, false, false]);
    let forgotten: Vec<_> = waiters.iter().map(|waiter| is_forgotten_waiter(waiter, &now())).collect();
    assert_eq!(forgotten, [false, false, false, true, false], "a sweep does not ask whether hosts live");
    assert!(is_forgotten_waiter(&Waiter { until_steady_ms: NOW_MS - 1, ..waiter("e") }, &now()));
}

#[test]
fn a_refusal_names_the_holder_or_the_first_who_waits() {
    let of = |execution: &str, token, held_ms, expires_in_ms, waiting| Holder {
        execution: execution.to_owned(),
        token,
        held_ms,
        expires_in_ms,
        waiting,
    };
    let rows = [
        (Some(held()), vec![], of("x", 7, 4_000, 10_000, 0)),
        (Some(held()), vec![waiter("a"), late("b")], of("x", 7, 4_000, 10_000, 1)),
        (Some(free()), vec![late("b"), waiter("a")], of("a", 7, 0, 0, 1)),
        (Some(expired()), vec![waiter("a")], of("a", 7, 0, 0, 1)),
        (Some(free()), vec![], of("", 7, 0, 0, 0)),
        (None, vec![waiter("a")], of("a", 0, 0, 0, 0)),
    ];
    for (lease, waiters, expected) in rows {
        assert_eq!(holder(lease.as_ref(), &waiters, &now()), expected, "{lease:?} {waiters:?}");
    }
}

#[test]
fn a_keeper_ends_the_browser_of_a_session_that_no_execution_may_use() {
    use SessionState::{Closing, Ended, Live, Starting};
    let end = Watch::End;
    let of = |state, key| session(state, key, None);
    let long_idle = SessionRecord { idle_steady_ms: NOW_MS - 5_000, ..of(Live, Some(KEY)) };
    let mut of_before = of(Live, Some(KEY));
    of_before.row.boot = "before".to_owned();
    let rows = [
        ("held", of(Live, Some(KEY)), Some(held()), Watch::Keep, false),
        ("held, without a key", of(Live, None), Some(held()), Watch::Keep, false),
        ("starting", of(Starting, Some(KEY)), Some(held()), Watch::Keep, false),
        ("idle for a second", of(Live, Some(KEY)), Some(free()), Watch::Keep, false),
        ("idle for its time", long_idle.clone(), Some(free()), end(EndReason::Idle), false),
        ("idle for its time, and held", long_idle.clone(), Some(held()), Watch::Keep, false),
        ("its lease expired", long_idle, Some(expired()), Watch::Keep, true),
        ("its host died", of(Live, Some(KEY)), Some(of_dead_host()), Watch::Keep, true),
        ("of another boot", of_before.clone(), Some(free()), end(EndReason::Crashed), false),
        ("of another boot, and not noted yet", of_before, Some(of_other_boot()), Watch::Keep, true),
        ("without a key or a lease", of(Live, None), None, end(EndReason::Abandoned), false),
        ("without a key, expired", of(Live, None), Some(expired()), end(EndReason::Abandoned), true),
        ("start lost", of(Starting, Some(KEY)), Some(expired()), end(EndReason::NotStarted), true),
        ("start without a lease", of(Starting, Some(KEY)), Some(free()), end(EndReason::NotStarted), false),
        ("to close", session(Closing, Some(KEY), Some(EndReason::Reset)), Some(held()), end(EndReason::Reset), false),
        ("ended", session(Ended, Some(KEY), None), Some(expired()), end(EndReason::Operator), false),
    ];
    for (what, session, lease, watch, lease_lost) in rows {
        assert_eq!(fate(&session, lease.as_ref(), &now()), Fate { watch, lease_lost }, "{what}");
    }
}

#[test]
fn the_first_reason_of_an_end_stands_unless_a_later_one_removes_the_profile() {
    use EndReason::{Closed, Crashed, Idle, Operator};
    use SessionState::{Closing, Ended, Live, Starting};
    let rows = [
        (Live, None, Idle, Some(Idle)),
        (Starting, None, Crashed, Some(Crashed)),
        (Closing, Some(Idle), Crashed, Some(Idle)),
        (Closing, Some(Idle), Closed, Some(Closed)),
        (Closing, Some(Closed), Crashed, Some(Closed)),
        (Closing, Some(Closed), Operator, Some(Closed)),
        (Ended, Some(Idle), Closed, None),
    ];
    for (state, noted, reason, expected) in rows {
        let found =
            closing(session(state, Some(KEY), noted), reason).map(|session| (session.row.state, session.row.reason));
        assert_eq!(found, expected.map(|reason| (Closing, Some(reason))), "{state:?} {noted:?} {reason:?}");
    }
}

#[test]
fn a_session_goes_from_start_to_end_and_never_back() {
    use SessionState::{Closing, Ended, Live, Starting};
    let browser = BrowserFacts {
        program: "chromium".into(),
        shortfalls: vec![],
        browser_pid: 1,
        keeper_pid: 2,
        keeper_started: 3,
    };
    for state in [Starting, Live, Closing, Ended] {
        let before = session(state, None, None);
        let live = started(before.clone(), &browser).map(|session| session.row);
        let network_held = before.row.network.clone();
        let expected = SessionRow { state: Live, browser: Some(browser.clone()), network_held, ..before.row.clone() };
        assert_eq!(live, (state == Starting).then_some(expected));
        let shared = promoted(before.clone(), KEY, &now()).map(|session| session.row);
        let key = Some(KEY.to_owned());
        let expected = SessionRow { key, profile_kept: true, used_ms: 5_000_000, ..before.row.clone() };
        assert_eq!(shared, (state == Live).then_some(expected));
        let over = ended(before, EndReason::Crashed, Some(12), &now());
        let told = over
            .map(|over| (over.row.state, over.row.ended_ms, over.row.reason, over.idle_steady_ms, over.ended_after));
        let expected = (Ended, Some(5_000_000), Some(EndReason::Crashed), NOW_MS, Some(12));
        assert_eq!(told, (state != Ended).then_some(expected));
    }
    let noted = session(Closing, None, Some(EndReason::Idle));
    assert_eq!(ended(noted, EndReason::Crashed, None, &now()).unwrap().row.reason, Some(EndReason::Idle));
    for (state, reason) in [(Live, None), (Ended, Some(EndReason::Operator))] {
        assert_eq!(data_removed(session(state, Some(KEY), None)).row.reason, reason);
    }
    let used = attached(session(Live, Some(KEY), None), 9, None, &now()).row;
    assert_eq!((used.used_ms, used.ttl_ms, used.network), (5_000_000, 9, None));
    let of_before = SessionRow { boot: "before".to_owned(), ..session(Live, Some(KEY), None).row };
    let unused = idle(SessionRecord { row: of_before, idle_steady_ms: 1, ended_after: None }, &now());
    assert_eq!((unused.row.used_ms, unused.row.boot.as_str(), unused.idle_steady_ms), (5_000_000, "boot", NOW_MS));
    assert!(has_room(SESSIONS_MAX - 1) && !has_room(SESSIONS_MAX));
}

#[test]
fn ages_are_told_for_as_long_as_they_mean_something_and_are_never_negative() {
    use SessionState::{Ended, Live};
    let rows = [
        (Live, false, 1_002, (1_001, Some(1_000), Some(4_000))),
        (Live, false, 9_002, (9_001, Some(9_000), Some(0))),
        (Live, true, 1_002, (1_001, None, None)),
        (Ended, false, 1_002, (2, None, None)),
        // The clock was set back.
        (Live, false, -9, (0, Some(0), Some(5_000))),
    ];
    for (state, is_held, wall_ms, (age_ms, idle_ms, ends_in_ms)) in rows {
        let told = ages(&session(state, Some(KEY), None).row, is_held, wall_ms);
        assert_eq!(told, Ages { age_ms, idle_ms, ends_in_ms }, "{state:?} {is_held} {wall_ms}");
    }
}

/// A session of a key with this id, which ended at this row of the audit, if it has ended.
fn of_key(id: &str, state: SessionState, reason: Option<EndReason>, ended_after: Option<u64>) -> SessionRecord {
    let mut session = session(state, Some(KEY), reason);
    session.row.id = id.to_owned();
    SessionRecord { ended_after, ..session }
}

#[test]
fn the_last_session_of_a_key_is_the_one_whose_end_stands_last_in_the_audit() {
    use EndReason::{Idle, NotStarted};
    use SessionState::{Ended, Live};
    let rows = [
        (vec![], None),
        (vec![of_key("a", Live, None, None)], None),
        (vec![of_key("a", Ended, Some(Idle), Some(4)), of_key("b", Ended, Some(Idle), Some(3))], Some("a")),
        (vec![of_key("a", Ended, Some(Idle), Some(4)), of_key("b", Ended, Some(NotStarted), Some(5))], Some("a")),
        (vec![of_key("a", Ended, Some(NotStarted), Some(4))], None),
    ];
    for (sessions, expected) in rows {
        assert_eq!(last_ended(sessions.clone()).map(|row| row.id).as_deref(), expected, "{sessions:?}");
    }
}

#[test]
fn ended_sessions_are_forgotten_in_their_time_and_the_last_of_a_key_in_that_of_its_logins() {
    use EndReason::{Idle, NotStarted};
    use SessionState::{Closing, Ended, Live, Starting};
    let retention = Retention { sessions_ms: 1_000, logins_ms: 10_000, audit_rows: 0 };
    let ended_for = |ms: i64, session: SessionRecord| SessionRecord { idle_steady_ms: NOW_MS - ms, ..session };
    let first = |ms| ended_for(ms, of_key("a", Ended, Some(Idle), Some(3)));
    let after = |state, reason, ended_after| ended_for(0, of_key("b", state, reason, ended_after));
    let alone = |ms| ended_for(ms, session(Ended, None, Some(Idle)));
    let mut of_before = first(0);
    of_before.row.boot = "before".to_owned();
    let at_wall = |ms: i64| {
        let mut session = of_before.clone();
        session.row.ended_ms = Some(5_000_000 - ms);
        session
    };
    let (gone, last) = (Some(None), Some(Some(KEY)));
    let rows = [
        ("without a key, young", vec![alone(1_000)], None),
        ("without a key, old", vec![alone(1_001)], gone),
        ("last of its key, young", vec![first(10_000)], None),
        ("last of its key, old", vec![first(10_001)], last),
        ("followed by one that ended", vec![first(1_001), after(Ended, Some(Idle), Some(4))], gone),
        ("followed, and young", vec![first(1_000), after(Ended, Some(Idle), Some(4))], None),
        ("preceded", vec![first(10_001), after(Ended, Some(Idle), Some(2))], last),
        ("followed by one that lives", vec![first(10_001), after(Live, None, None)], gone),
        ("followed by one that closes", vec![first(10_001), after(Closing, Some(Idle), None)], gone),
        ("followed by a start", vec![first(10_001), after(Starting, None, None)], last),
        ("followed by a start that failed", vec![first(10_001), after(Ended, Some(NotStarted), Some(4))], last),
        ("of another boot, young by the wall clock", vec![at_wall(10_000)], None),
        ("of another boot, old by the wall clock", vec![at_wall(10_001)], last),
        ("alive", vec![session(Live, None, None)], None),
    ];
    for (what, sessions, expected) in rows {
        let found = stale(&sessions, &retention, &now());
        let found = found.iter().find(|stale| stale.id != "b").map(|stale| stale.last_of.as_deref());
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn the_row_of_a_lease_goes_with_the_last_trace_of_its_key() {
    let (key, own) = (LeaseName::of_key(KEY), LeaseName::of_session("s"));
    let rows = [
        (&key, free(), false, false, true),
        (&key, free(), true, false, false),
        (&key, free(), false, true, false),
        (&key, held(), false, false, false),
        (&own, free(), true, false, true),
        (&own, held(), false, false, false),
    ];
    for (name, lease, is_known, is_waited_for, expected) in rows {
        assert_eq!(is_unused_lease(name, &lease, |_| is_known, |_| is_waited_for), expected, "{name:?} {lease:?}");
    }
}

#[test]
fn the_audit_is_cut_with_some_to_spare() {
    let rows = [(0, 0, None), (100, 0, None), (101, 0, Some(11)), (150, 50, None), (151, 50, Some(61))];
    for (last, removed, expected) in rows {
        assert_eq!(audit_cut(last, removed, 100), expected, "{last} {removed}");
    }
}

#[test]
fn an_execution_that_promoted_its_session_has_the_lease_of_the_key() {
    let of_session = LeaseRef { name: LeaseName::of_session("s"), token: 1 };
    let held_by = |name: LeaseName, execution: &str| {
        let row = LeaseRecord { execution: Some(execution.to_owned()), ..held() };
        let (name, host) = (name.as_str().to_owned(), "h".to_owned());
        LeaseRow { name, holder: holder(Some(&row), &[], &now()), host, host_alive: true }
    };
    let (of_key, of_other) = (LeaseName::of_key(KEY), LeaseName::of_key("other"));
    let shared = Some(KEY);
    let rows = [
        ("promoted", &of_session, shared, vec![held_by(of_key.clone(), "x")], Some(lease(7))),
        ("the key is another's by now", &of_session, shared, vec![held_by(of_key.clone(), "y")], None),
        ("no execution holds the key", &of_session, shared, vec![held_by(of_other, "x")], None),
        ("not promoted", &of_session, None, vec![held_by(LeaseName::of_session("s"), "x")], None),
        ("it came with the lease of the key", &lease(6), shared, vec![held_by(of_key, "x")], None),
    ];
    for (what, came_with, key, leases, expected) in rows {
        let row = session(SessionState::Live, key, None).row;
        assert_eq!(lease_after_promotion(came_with, &row, &leases, "x"), expected, "{what}");
    }
}

#[test]
fn a_keeper_that_is_cut_off_from_the_store_ends_its_browser_in_time() {
    let view = |browser_has_ended, has_its_store, store_unreadable_ms| KeeperView {
        browser_has_ended,
        has_its_store,
        store_unreadable_ms,
    };
    let rows = [
        (view(false, true, 0), None),
        (view(true, true, 0), Some(EndReason::Crashed)),
        (view(true, false, u64::MAX), Some(EndReason::Crashed)),
        (view(false, false, 0), Some(EndReason::Abandoned)),
        (view(false, true, 5_000 + LEASE_TTL_MS), None),
        (view(false, true, 5_001 + LEASE_TTL_MS), Some(EndReason::Abandoned)),
    ];
    for (view, expected) in rows {
        assert_eq!(ends_without_store(view, 5_000), expected, "{view:?}");
    }
    assert_eq!(ends_without_store(view(false, true, u64::MAX), u64::MAX), None, "kept for ever");
}

#[test]
fn a_sweep_ends_what_its_keeper_would_and_what_has_no_keeper() {
    use SessionState::{Closing, Ended, Live, Starting};
    let end = Watch::End(EndReason::Idle);
    let rows = [
        (Live, Watch::Keep, true, None, true),
        (Live, Watch::Keep, false, Some(EndReason::Crashed), false),
        (Live, end.clone(), true, Some(EndReason::Idle), true),
        (Starting, Watch::Keep, false, None, false),
        (Starting, end.clone(), false, Some(EndReason::Idle), false),
        (Closing, end.clone(), true, Some(EndReason::Idle), false),
        (Ended, end, false, None, false),
        (Ended, Watch::Keep, true, None, false),
    ];
    for (state, watch, has_keeper, reason, usable) in rows {
        assert_eq!(ends_in_sweep(state, &watch, has_keeper), reason, "{state:?} {watch:?} {has_keeper}");
        assert_eq!(is_usable(state, has_keeper), usable, "{state:?} {has_keeper}");
    }
}
