//! A deterministic simulation of the session manager and its store: hosts that die or are stopped between any two
//! operations of the store, browsers and keepers that die, a wall clock that jumps. A seed determines all of it; a
//! failure prints it.
//!
//! `CODEMODE_SIM_SEED=7 cargo test lease_sim` runs one schedule; `CODEMODE_SIM_SCHEDULES` sets the number of schedules.

use crate::support::memory::{Memory, MemoryStore};
use async_trait::async_trait;
use codemode_host::{
    session::{
        Browsers, LaunchOrder, LeasedSession, SessionManager, SessionSettings,
        clock::Clock,
        liveness::Liveness,
        profile_of_key,
        store::{
            Access, BrowserFacts, Database, EndReason, Finish, LeaseRef, Retention, SessionRow, SessionState,
            SqliteConnection, Store, StoreError, Watch, Work, audit::AuditFilter,
        },
    },
    state_dir::StateDir,
};
use codemode_provider::{BrowserChannel, BrowserOrder, ExecutionId, Promotion};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::LEASE_TTL_MS,
    session::{SessionMode, SessionRequest},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    env,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// Fewer than in memory: every transaction of the database is synchronous.
const SCHEDULES_IN_SQLITE: u64 = 600;
const SCHEDULES: u64 = 2_000;
const HOSTS: usize = 3;
const EXECUTIONS: usize = 4;
const KEYS: [&str; 2] = ["a", "b"];
/// The idle time of a shared browser.
const IDLE: Duration = Duration::from_secs(5);
const LEASE: Duration = Duration::from_millis(LEASE_TTL_MS);

/// Short, so that records expire while they are in use.
const RETENTION: Retention = Retention { sessions_ms: 4_000, logins_ms: 8_000, audit_rows: 100 };

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The simulated world around the store: time, randomness, hosts, browsers.
struct World {
    began: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    random: StdRng,
    /// The error of the wall clock.
    wall_ms: i64,
    hosts: HashMap<String, HostState>,
    browsers: BTreeMap<String, Browser>,
    /// Profiles that are being removed.
    removed: HashSet<String>,
    /// The logins in each stored profile, identified by the session that started with an empty profile.
    kept: HashMap<String, String>,
    /// By key, the greatest token of any effect, and its execution.
    tokens: HashMap<String, (u64, String)>,
    next_id: u64,
    /// A violation detected by a keeper.
    found: Option<String>,
}

#[derive(Default)]
struct HostState {
    dead: bool,
    stopped_until: Option<Instant>,
    tasks: Vec<tokio::task::AbortHandle>,
}

struct Browser {
    profile: String,
    /// The logins in its profile.
    logins: String,
    alive: bool,
    keeper_alive: bool,
}

impl World {
    fn new(seed: u64) -> Arc<Self> {
        let inner = Inner {
            random: StdRng::seed_from_u64(seed),
            wall_ms: 0,
            hosts: HashMap::new(),
            browsers: BTreeMap::new(),
            removed: HashSet::new(),
            kept: HashMap::new(),
            tokens: HashMap::new(),
            next_id: 0,
            found: None,
        };
        Arc::new(Self { began: Instant::now(), inner: Mutex::new(inner) })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// `true` with a probability of one in `times`.
    fn once_in(&self, times: u32) -> bool {
        self.inner().random.random_range(0..times) == 0
    }

    fn up_to(&self, most: u64) -> u64 {
        self.inner().random.random_range(0..=most)
    }

    fn new_id(&self) -> String {
        let mut inner = self.inner();
        inner.next_id += 1;
        format!("s-{}", inner.next_id)
    }

    /// The faults that may happen to a host between any two operations.
    async fn around(self: Arc<Self>, host: String) {
        for _ in 0..self.up_to(3) {
            tokio::task::yield_now().await;
        }
        let stopped = self.inner().hosts.get(&host).and_then(|state| state.stopped_until);
        if let Some(until) = stopped {
            sleep_until(until).await;
        }
        if self.once_in(400) && host != SURVIVOR {
            self.kill(&host);
            // The caller's task is dropped at this await.
            std::future::pending::<()>().await;
        }
        if self.once_in(300) && host != SURVIVOR {
            let until = Instant::now() + LEASE + Duration::from_secs(self.up_to(10));
            self.inner().hosts.entry(host.clone()).or_default().stopped_until = Some(until);
            sleep_until(until).await;
        }
    }

    fn kill(&self, host: &str) {
        let tasks = {
            let mut inner = self.inner();
            let state = inner.hosts.entry(host.to_owned()).or_default();
            state.dead = true;
            std::mem::take(&mut state.tasks)
        };
        tasks.iter().for_each(tokio::task::AbortHandle::abort);
    }

    fn track<T>(&self, host: &str, task: &JoinHandle<T>) {
        let mut inner = self.inner();
        let state = inner.hosts.entry(host.to_owned()).or_default();
        if state.dead {
            task.abort();
        }
        state.tasks.push(task.abort_handle());
    }

    /// Records an effect on a key's browser, and checks that its token is not stale.
    fn effect(&self, key: &str, token: u64, execution: &str) {
        let mut inner = self.inner();
        let (last, by) = inner.tokens.entry(key.to_owned()).or_insert((0, String::new()));
        assert!(token >= *last, "{execution} does something under token {token} of {key}, after {by} did under {last}");
        if token == *last {
            assert_eq!(by, execution, "two executions have token {token} of {key}");
        }
        (*last, *by) = (token, execution.to_owned());
    }
}

impl Clock for World {
    fn wall_ms(&self) -> i64 {
        1_800_000_000_000 + self.steady_ms() + self.inner().wall_ms
    }

    fn steady_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap()
    }

    fn boot(&self) -> &str {
        "boot"
    }
}

impl Liveness for World {
    fn is_alive(&self, host: &str) -> bool {
        self.inner().hosts.get(host).is_some_and(|state| !state.dead)
    }
}

/// A host that neither dies nor is stopped, and inspects what the others leave.
const SURVIVOR: &str = "survivor";

/// The browsers and keepers, as one host accesses them.
struct SimBrowsers {
    world: Arc<World>,
    store: Arc<dyn Store>,
    /// A store without crash points: a keeper is not affected by faults of its host.
    keepers: Arc<dyn Store>,
}

#[async_trait]
impl Browsers for SimBrowsers {
    async fn launch(&self, order: &LaunchOrder) -> Result<BrowserFacts, ErrorReport> {
        let failed = |what: &str| Err(ErrorReport::new(ErrorCode::BrowserLaunchFailed, what));
        if self.world.once_in(20) {
            return failed("it does not start, as browsers do now and then");
        }
        let (done, started) = tokio::sync::oneshot::channel();
        let (world, order, session) = (Arc::clone(&self.world), order.clone(), order.session.clone());
        let keeper = tokio::spawn(keeper(Arc::clone(&self.world), self.keepers.clone(), order, done));
        tokio::spawn(async move {
            if let Err(error) = keeper.await {
                let mut inner = world.inner();
                inner.found = Some(error.to_string());
                inner.browsers.get_mut(&session).unwrap().keeper_alive = false;
            }
        });
        started.await.unwrap_or_else(|_| failed("its keeper died"))
    }

    async fn connect(&self, _: &str, _: &LeaseRef, _: &str) -> Result<BrowserChannel, ErrorReport> {
        Err(ErrorReport::new(ErrorCode::UnsupportedOperation, "no browser of a simulation can be connected to"))
    }

    async fn end(&self, session: &SessionRow, reason: EndReason) -> Result<(), ErrorReport> {
        loop {
            let now = self.store.session(&session.id).await?;
            if now.is_none_or(|now| now.state == SessionState::Ended) {
                return Ok(());
            }
            if !self.has_keeper(session) {
                // Like the reaper.
                if let Some(browser) = self.world.inner().browsers.get_mut(&session.id) {
                    browser.alive = false;
                }
                self.store.session_ended(&session.id, reason).await?;
                return Ok(());
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn has_keeper(&self, session: &SessionRow) -> bool {
        self.world.inner().browsers.get(&session.id).is_some_and(|browser| browser.keeper_alive)
    }

    async fn forget_profile(&self, key: &str) -> Result<(), ErrorReport> {
        let profile = profile_of_key(key);
        {
            // Like the profile's ledger, which its owner has locked.
            let mut inner = self.world.inner();
            let is_used = inner.browsers.values().any(|browser| browser.keeper_alive && browser.profile == profile);
            if is_used || !inner.removed.insert(profile.clone()) {
                return Err(ErrorReport::new(ErrorCode::BrowserLaunchFailed, "the profile is in use"));
            }
        }
        let removed = Removal { world: Arc::clone(&self.world), profile };
        sleep(Duration::from_millis(self.world.up_to(100))).await;
        self.world.inner().kept.remove(&removed.profile);
        Ok(())
    }

    async fn forget_kept(&self, _: &str) -> Result<(), ErrorReport> {
        Ok(())
    }
}

/// A profile that is being removed; the removal ends when its host dies, at the latest.
struct Removal {
    world: Arc<World>,
    profile: String,
}

impl Drop for Removal {
    fn drop(&mut self) {
        self.world.inner().removed.remove(&self.profile);
    }
}

/// A simulated keeper that behaves like the real one.
async fn keeper(
    world: Arc<World>,
    store: Arc<dyn Store>,
    order: LaunchOrder,
    done: tokio::sync::oneshot::Sender<Result<BrowserFacts, ErrorReport>>,
) {
    let id = order.session.clone();
    let key = store.session(&id).await.unwrap().and_then(|row| row.key);
    let before = match key {
        Some(key) => store.session_ended_of_key(&key).await.unwrap(),
        None => None,
    };
    let logins = {
        let mut inner = world.inner();
        if inner.removed.contains(&order.profile) {
            return;
        }
        let logins = inner.kept.get(&order.profile).unwrap_or(&id).clone();
        let browser =
            Browser { profile: order.profile.clone(), logins: logins.clone(), alive: false, keeper_alive: true };
        inner.browsers.insert(id.clone(), browser);
        logins
    };
    sleep(Duration::from_millis(world.up_to(400))).await;
    let die = |alive: bool| {
        let mut inner = world.inner();
        let browser = inner.browsers.get_mut(&id).unwrap();
        (browser.alive, browser.keeper_alive) = (alive, false);
    };
    if world.once_in(30) || store.session_watch(&id).await.unwrap() != Watch::Keep {
        die(false);
        return;
    }
    {
        let mut inner = world.inner();
        let others = inner.browsers.values().filter(|other| other.alive && other.profile == order.profile).count();
        assert_eq!(others, 0, "two browsers have the profile {}", order.profile);
        inner.browsers.get_mut(&id).unwrap().alive = true;
    }
    let facts = BrowserFacts {
        program: PathBuf::new(),
        shortfalls: Vec::new(),
        browser_pid: 1,
        keeper_pid: 1,
        keeper_started: 1,
    };
    if !store.session_started(&id, &facts).await.unwrap() {
        store.session_ended(&id, EndReason::Abandoned).await.unwrap();
        die(false);
        return;
    }
    if order.profile_kept {
        let mut inner = world.inner();
        // A session that never had a browser does not replace the state stored before it.
        let may_have_them = before.as_ref().is_some_and(|row| {
            let those = inner.browsers.get(&row.id).map(|browser| &browser.logins);
            !row.reason.unwrap().forgets() && those.is_none_or(|those| *those == logins)
        });
        assert!(logins == id || may_have_them, "{id} has the logins of {logins} after {before:?}");
        inner.kept.insert(order.profile.clone(), logins.clone());
    }
    let _ = done.send(Ok(facts));
    loop {
        sleep(Duration::from_millis(250)).await;
        if world.once_in(600) {
            // The keeper is killed, and the kernel kills the browser with it.
            return die(false);
        }
        let crashed = world.once_in(400);
        let reason = match store.session_watch(&id).await.unwrap() {
            Watch::End(reason) => reason,
            Watch::Keep if crashed => EndReason::Crashed,
            Watch::Keep => continue,
        };
        store.session_closing(&id, reason, None).await.unwrap();
        world.inner().browsers.get_mut(&id).unwrap().alive = false;
        sleep(Duration::from_millis(world.up_to(50))).await;
        if world.once_in(20) {
            // The keeper is killed before it can record that the browser has ended.
            return die(false);
        }
        if let Some(key) = store.session(&id).await.unwrap().and_then(|row| row.key).filter(|_| !reason.forgets()) {
            world.inner().kept.insert(profile_of_key(&key), logins);
        }
        store.session_ended(&id, reason).await.unwrap();
        return die(false);
    }
}

/// A host's view of the store: between any two of its transactions, a fault may happen to the host.
struct Interrupted {
    world: Arc<World>,
    host: String,
    database: Arc<dyn Database>,
}

#[async_trait]
impl Database for Interrupted {
    async fn transact(&self, access: Access, work: Work) -> Result<(), StoreError> {
        Arc::clone(&self.world).around(self.host.clone()).await;
        let result = self.database.transact(access, work).await;
        Arc::clone(&self.world).around(self.host.clone()).await;
        result
    }

    fn enqueue(&self, delay: Duration, work: Work, finish: Finish) {
        self.database.enqueue(delay, work, finish);
    }
}

/// The store that all hosts and keepers of a world share.
struct Kept {
    database: Arc<dyn Database>,
    store: Arc<dyn Store>,
}

impl Kept {
    fn of(database: Arc<impl Database + 'static>) -> Self {
        Self { database: database.clone(), store: database }
    }

    fn in_sqlite(world: &Arc<World>) -> Self {
        Self::of(Arc::new(SqliteConnection::in_memory(world.clone(), world.clone()).unwrap()))
    }

    fn in_memory(world: &Arc<World>) -> Self {
        Self::of(Arc::new(MemoryStore::open(Memory::default(), world.clone(), world.clone())))
    }
}

fn manager(world: &Arc<World>, kept: &Kept, host: &str) -> SessionManager {
    world.inner().hosts.insert(host.to_owned(), HostState::default());
    let (of_world, host_id, database) = (Arc::clone(world), host.to_owned(), Arc::clone(&kept.database));
    let store: Arc<dyn Store> = Arc::new(Interrupted { world: of_world, host: host_id, database });
    let keepers = Arc::clone(&kept.store);
    let browsers = SimBrowsers { world: Arc::clone(world), store: Arc::clone(&store), keepers };
    let ids = Arc::clone(world);
    SessionManager::of_parts(
        StateDir::unchecked(Path::new("/nowhere")),
        SessionSettings {
            lease_ttl: LEASE,
            renew_every: Some(LEASE / 6),
            retention: RETENTION,
            ..SessionSettings::default()
        },
        store,
        Arc::new(browsers),
        world.clone(),
        host.to_owned(),
        Box::new(move || ids.new_id()),
    )
}

fn order(execution: &str, mode: SessionMode, key: Option<&str>, wait: Duration) -> BrowserOrder {
    let ms = |time: Duration| Some(u64::try_from(time.as_millis()).unwrap());
    let session = SessionRequest {
        mode,
        key: key.map(str::to_owned),
        ttl_ms: ms(IDLE),
        wait_ms: ms(wait),
        ..SessionRequest::default()
    };
    BrowserOrder {
        execution: ExecutionId::new(execution),
        session,
        executable: None,
        headless: true,
        deadline: Instant::now() + Duration::from_secs(3_600),
        cancel: CancellationToken::new(),
    }
}

/// Errors that an execution may legitimately get.
fn is_expected(error: &ErrorReport) -> bool {
    matches!(
        error.code,
        ErrorCode::SessionBusy
            | ErrorCode::SessionLost
            | ErrorCode::SessionExpired
            | ErrorCode::BrowserGone
            | ErrorCode::BrowserLaunchFailed
            | ErrorCode::CallCancelled
    )
}

/// One execution: leases a browser, uses it, and releases it or not.
async fn execution(world: Arc<World>, manager: SessionManager, name: String) {
    let (mode, key) = match world.up_to(4) {
        0 => (SessionMode::OneShot, None),
        1 | 2 => (SessionMode::Reuse, Some(KEYS[usize::try_from(world.up_to(1)).unwrap()])),
        _ => (SessionMode::Dynamic, Some(KEYS[usize::try_from(world.up_to(1)).unwrap()])),
    };
    sleep(Duration::from_millis(world.up_to(2_000))).await;
    let wait = Duration::from_millis(world.up_to(60_000));
    let asked = Instant::now();
    let held = match manager.acquire(order(&name, mode, key, wait)).await {
        Ok(held) => held,
        Err(error) => {
            assert!(is_expected(&error), "{name}: {error:?}");
            return;
        }
    };
    // A waiter is granted the lease or refused in time; then its predecessor's browser has to end and a new one to
    // start. Stops of the host add to that.
    assert!(asked.elapsed() < wait + 8 * LEASE, "{name} waited for {:?}", asked.elapsed());
    for _ in 0..world.up_to(5) {
        if let Err(error) = step(&world, &held, &name).await {
            assert!(is_expected(&error), "{name}: {error:?}");
            break;
        }
    }
    if world.once_in(10) {
        return;
    }
    if let Err(error) = held.release().await {
        assert!(is_expected(&error), "{name}: {error:?}");
    }
}

/// The background work of each host, and the actions of its operators.
async fn sweeper(world: Arc<World>, manager: SessionManager) {
    for _ in 0..world.up_to(3) {
        sleep(Duration::from_millis(world.up_to(15_000))).await;
        let swept = manager.sweep().await.map(drop);
        let rows = manager.store().sessions().await.unwrap();
        let row = rows.get(usize::try_from(world.up_to(rows.len().max(1) as u64 - 1)).unwrap());
        let operated = match (row, world.up_to(3)) {
            (Some(row), 0) => manager.close(row).await,
            (Some(row), 1) => manager.revoke(row).await.map(drop),
            _ => Ok(()),
        };
        for error in [swept, operated].into_iter().filter_map(Result::err) {
            assert!(is_expected(&error), "{error:?}");
        }
    }
}

async fn step(world: &World, held: &LeasedSession, name: &str) -> Result<(), ErrorReport> {
    sleep(Duration::from_millis(world.up_to(4_000))).await;
    held.check().await?;
    let facts = held.facts();
    if facts.shared {
        world.effect(facts.key.as_deref().unwrap(), facts.token, name);
    }
    match world.up_to(30) {
        0 => held.close().await,
        1 => held.replace("as if it did not answer").await,
        6 => held.reset().await,
        2..=5 if facts.mode == SessionMode::Dynamic => {
            let promotion = if world.once_in(2) { Promotion::Replace } else { Promotion::IfFree };
            // Other calls that the script makes concurrently.
            let (promoted, checked) = tokio::join!(held.promote(promotion), held.check());
            promoted.and(checked)
        }
        _ => Ok(()),
    }
}

/// Advances time until everything must have ended, and checks what is left.
async fn aftermath(world: &Arc<World>, kept: &Kept) {
    let (survivor, store) = (manager(world, kept, SURVIVOR), &*kept.store);
    survivor.sweep().await.map(drop).unwrap_or_else(|error| assert!(is_expected(&error), "{error:?}"));
    let of_the_dead: Vec<_> = store.leases().await.unwrap().into_iter().filter(|row| !row.host_alive).collect();
    assert_eq!(of_the_dead, Vec::new(), "leases that the dead hold");
    // No key stays blocked.
    for key in KEYS {
        let wait = 4 * LEASE;
        let lent = loop {
            match survivor.acquire(order(&format!("last-{key}"), SessionMode::Reuse, Some(key), wait)).await {
                Err(error) if error.code == ErrorCode::BrowserLaunchFailed => assert_eq!(world.inner().found, None),
                lent => break lent,
            }
        };
        let held = lent.unwrap_or_else(|error| panic!("the browser of {key} cannot be had any more: {error:?}"));
        world.effect(key, held.facts().token, &format!("last-{key}"));
        held.release().await.unwrap_or_else(|error| assert!(is_expected(&error), "{error:?}"));
    }
    sleep(2 * (IDLE + LEASE)).await;
    survivor.sweep().await.unwrap();
    let open: Vec<_> =
        store.sessions().await.unwrap().into_iter().filter(|row| row.state != SessionState::Ended).collect();
    assert_eq!(open, Vec::new(), "sessions that nothing refers to any more");
    let alive: Vec<_> = world.inner().browsers.iter().filter(|(_, one)| one.alive).map(|(id, _)| id.clone()).collect();
    assert_eq!(alive, Vec::<String>::new(), "browsers that no session stands for");
    assert_eq!(store.leases().await.unwrap(), Vec::new(), "leases that no execution holds");
    assert_eq!(world.inner().found, None);
    let verdict = store.audit_verify(None).await.unwrap();
    assert!(verdict.intact && verdict.rows > 0, "{verdict:?}");
    tokens_grow(store).await;
}

/// Checks by the audit that each key's tokens only grew.
async fn tokens_grow(store: &dyn Store) {
    for key in KEYS {
        let filter = AuditFilter { key: Some(key.to_owned()), limit: usize::MAX, ..AuditFilter::default() };
        let rows = store.audit_read(&filter).await.unwrap();
        let tokens: Vec<_> =
            rows.iter().filter(|row| row.kind == "lease.acquired").map(|row| row.token.unwrap()).collect();
        assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "the tokens of {key}: {tokens:?}");
    }
}

fn schedule(seed: u64, kept: fn(&Arc<World>) -> Kept) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = World::new(seed);
        let kept = kept(&world);
        let mut tasks = Vec::new();
        for host in 0..HOSTS {
            let host = format!("h-{host}");
            let manager = manager(&world, &kept, &host);
            for number in 0..EXECUTIONS {
                let name = format!("{host}-x-{number}");
                let task = tokio::spawn(execution(Arc::clone(&world), manager.clone(), name));
                world.track(&host, &task);
                tasks.push(task);
            }
            let task = tokio::spawn(sweeper(Arc::clone(&world), manager.clone()));
            world.track(&host, &task);
            tasks.push(task);
        }
        // A user sets the clock, by years in both directions.
        let setter = {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                loop {
                    sleep(Duration::from_secs(world.up_to(20))).await;
                    let jump = i64::try_from(world.up_to(1 << 36)).unwrap() - (1 << 35);
                    world.inner().wall_ms = jump;
                }
            })
        };
        for task in tasks {
            if let Err(error) = task.await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        setter.abort();
        aftermath(&world, &kept).await;
    });
}

/// Runs the schedules, or the one requested by the environment.
fn schedules(most: u64, kept: fn(&Arc<World>) -> Kept) {
    if let Some(seed) = env::var("CODEMODE_SIM_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return schedule(seed, kept);
    }
    let schedules = env::var("CODEMODE_SIM_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(most);
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            scope.spawn(move || {
                for seed in (worker..schedules).step_by(usize::try_from(workers).unwrap()) {
                    if let Err(panic) = std::panic::catch_unwind(|| schedule(seed, kept)) {
                        eprintln!("the schedule fails with CODEMODE_SIM_SEED={seed}");
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}

#[test]
fn hosts_that_die_between_any_two_transactions_leave_nothing_and_share_nothing() {
    schedules(SCHEDULES_IN_SQLITE, Kept::in_sqlite);
}

/// The same on a store without SQL, where the guarantees come from the rules alone.
#[test]
fn hosts_that_die_leave_nothing_and_share_nothing_in_a_store_in_memory() {
    schedules(SCHEDULES, Kept::in_memory);
}

/// Between the store's change and its recording in the host, the store has the lease under another name.
#[test]
fn looks_and_renewals_beside_a_promotion_lose_nothing() {
    let mut promoted = 0;
    for seed in 0..300 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        promoted += runtime.block_on(async {
            let world = World::new(seed);
            let manager = manager(&world, &Kept::in_sqlite(&world), SURVIVOR);
            let asked = order("x", SessionMode::Dynamic, Some("a"), Duration::ZERO);
            // A browser may fail to start.
            let Ok(held) = manager.acquire(asked).await else { return 0 };
            let looks = async {
                for _ in 0..5 {
                    held.check().await?;
                }
                Ok::<_, ErrorReport>(())
            };
            let (done, looked, renewed) = tokio::join!(held.promote(Promotion::IfFree), looks, held.renew());
            for result in [done, looked, renewed, held.check().await, held.renew().await] {
                result.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
            }
            1
        });
    }
    assert!(promoted > 200, "{promoted}");
}
