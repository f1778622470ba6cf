//! Leases: the cost of the store, and the time to reuse a running browser.

use crate::measure::{Bench, Named, Table, median, middle};
use codemode_cdp::CdpProvider;
use codemode_host::{
    exec::{Executor, Observer, Request, Settings},
    result::Identity,
    session::{
        SessionManager, SessionSettings,
        clock::{Clock, MachineClock},
        liveness::Liveness,
        store::{
            AuditStore as _, Claim, Claimed, LeaseName, LeaseStore as _, SqliteConnection, Store,
            audit::{Event, EventKind},
        },
    },
    state_dir::StateDir,
};
use codemode_page::{BrowserConfig, Browsers};
use codemode_provider::Registry;
use codemode_spec::{
    message::ConsoleLine,
    session::{SessionMode, SessionRequest},
};
use futures::executor::block_on;
use std::{
    fs::OpenOptions,
    io::Write as _,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

pub const BENCHES: &[Named] = &[("lease store", store), ("lease keys", keys), ("reuse reconnect", reconnect)];

struct Alive;

impl Liveness for Alive {
    fn is_alive(&self, _: &str) -> bool {
        true
    }
}

fn claim(key: &str) -> Claim {
    Claim { name: LeaseName::of_key(key), execution: "x-bench".into(), host: "h-bench".into(), ttl_ms: 30_000 }
}

fn acquire_and_release(store: &dyn Store, key: &str) {
    match block_on(store.lease_acquire(&claim(key))).expect("the store works") {
        Claimed::Granted(lease) => block_on(store.lease_release(&lease)).expect("it is held"),
        other => panic!("{other:?}"),
    }
}

fn open(bench: &Bench, name: &str) -> SqliteConnection {
    let clock: Arc<dyn Clock> = Arc::new(MachineClock);
    SqliteConnection::open(&bench.state.path().join(name), clock, Arc::new(Alive)).expect("a store")
}

/// Two small durable writes in sequence: the minimum that any store must do for a lease.
fn two_syncs(bench: &Bench) -> Duration {
    let mut file = OpenOptions::new().create(true).append(true).open(bench.state.path().join("raw")).expect("a file");
    median(200, || {
        for _ in 0..2 {
            file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).expect("the disk takes it");
        }
    })
}

fn store(bench: &Bench, _: &Runtime, table: &mut Table) {
    let durable = open(bench, "bench.db");
    let memory = SqliteConnection::in_memory(Arc::new(MachineClock), Arc::new(Alive)).expect("a store");
    let bound = two_syncs(bench);
    let ours = median(300, || acquire_and_release(&durable, "k"));
    table.time("lease: acquire and release", ours, Some(("two synced writes", bound)), "≤ 1 ms");
    let alone = median(300, || acquire_and_release(&memory, "k"));
    table.time("… of it ours (the same in memory)", alone, None, "≤ 100 µs");
    let LeaseAndSession { lease, session } = LeaseAndSession::of(&memory);
    let check = median(2_000, || block_on(memory.lease_check(&lease, &session)).expect("it is held"));
    table.time("lease: check before an effect", check, None, "–");
    let event = Event::new(EventKind::Call).execution("x-bench");
    let one = median(300, || block_on(durable.audit_append(std::slice::from_ref(&event))).expect("the store works"));
    table.time("audit: append one row, durable", one, Some(("one synced write", bound / 2)), "–");
    let hundred = vec![event; 100];
    let many = median(50, || block_on(durable.audit_append(&hundred)).expect("the store works"));
    table.time("audit: a row of a hundred in one transaction", many / 100, None, "–");
}

struct LeaseAndSession {
    lease: codemode_host::session::store::LeaseRef,
    session: String,
}

impl LeaseAndSession {
    fn of(store: &dyn Store) -> Self {
        let Claimed::Granted(lease) = block_on(store.lease_acquire(&claim("checked"))).expect("the store works") else {
            panic!("it is free")
        };
        let session = codemode_host::session::store::NewSession {
            id: "s-bench".into(),
            mode: SessionMode::Reuse,
            key: Some("checked".into()),
            profile: "p".into(),
            profile_kept: true,
            execution: "x-bench".into(),
            host: "h-bench".into(),
            ttl_ms: 60_000,
            lease: Some(lease.clone()),
            lease_ttl_ms: 30_000,
            network: None,
        };
        block_on(store.session_begin(&session)).expect("there is room");
        Self { lease, session: session.id }
    }
}

fn keys(bench: &Bench, _: &Runtime, table: &mut Table) {
    const KEYS: usize = 100;
    const THREADS: usize = 4;
    let stores: Vec<_> = (0..THREADS).map(|_| open(bench, "bench.db")).collect();
    let ours = median(5, || {
        std::thread::scope(|scope| {
            for (thread, store) in stores.iter().enumerate() {
                scope.spawn(move || {
                    (thread..KEYS).step_by(THREADS).for_each(|key| acquire_and_release(store, &format!("key-{key}")));
                });
            }
        });
    });
    let bound = two_syncs(bench) * u32::try_from(KEYS).expect("a small number");
    table.time("lease: 100 keys from 4 connections", ours, Some(("as many synced writes", bound)), "–");
}

/// Records the time of the script's console line.
struct FirstLineTime(Mutex<Option<Instant>>);

impl Observer for FirstLineTime {
    fn console(&self, _: &ConsoleLine) {
        *self.0.lock().expect("nothing panics while it is held") = Some(Instant::now());
    }
}

/// An executor whose executions lease the browser of one key, as in a host.
pub struct Leased {
    pub executor: Executor,
    pub session: SessionRequest,
    manager: SessionManager,
}

impl Leased {
    /// Must be called within a runtime.
    pub fn open(bench: &Bench, name: &str) -> Self {
        let state = bench.state.path().join(name);
        std::fs::create_dir_all(&state).expect("a folder");
        let program = env!("CARGO_BIN_EXE_codemode").into();
        let state_dir = StateDir::open(&state).expect("a state folder");
        let manager = SessionManager::open(state_dir, program, SessionSettings::default()).expect("a store");
        let settings = Settings {
            transform: Arc::new(Identity),
            services: vec![Arc::new(Browsers::new(BrowserConfig::default(), Some(Arc::new(manager.clone()))))],
            ..Settings::new(state)
        };
        let registry = Registry::new(vec![Arc::new(CdpProvider::new())]).expect("the name is right");
        let executor = Executor::new(bench.engine.clone(), registry, settings);
        let session =
            SessionRequest { mode: SessionMode::Reuse, key: Some("bench".into()), ..SessionRequest::default() };
        Self { executor, session, manager }
    }

    /// A request for the leased browser.
    pub fn request(&self, code: &str) -> Request {
        Request { session: self.session.clone(), ..Request::new(code) }
    }

    /// Ends the browser.
    pub fn close(&self, runtime: &Runtime) {
        for row in runtime.block_on(self.manager.store().sessions()).expect("the store works") {
            runtime.block_on(self.manager.close(&row)).expect("it can be closed");
        }
    }
}

fn reconnect(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let _runtime = runtime.enter();
    let leased = Leased::open(bench, "sessions");
    let first_answer = || {
        let code = "async () => { await cdp.send('Browser.getVersion'); console.log('answered') }";
        let (said, began) = (Arc::new(FirstLineTime(Mutex::new(None))), Instant::now());
        let execution = runtime.block_on(leased.executor.execute(leased.request(code), said.clone()));
        assert!(execution.outcome.is_ok(), "{:?}", execution.outcome);
        let at = said.0.lock().expect("nothing panics while it is held").expect("it was answered");
        (at - began, began.elapsed())
    };
    first_answer();
    let (answers, wholes): (Vec<_>, Vec<_>) = (0..30).map(|_| first_answer()).unzip();
    table.time("reuse: from the call to the first answer", middle(answers), None, "≤ 30 ms");
    table.time("… the whole execution, released again", middle(wholes), None, "–");
    leased.close(runtime);
}
