//! Fencing: hosts are killed or stopped at the worst moments. The next holder of the key must not be affected by
//! protocol state that they leave behind, or by messages that they still send.
//!
//! `CODEMODE_FENCING_ROUNDS=200 cargo test lease_fencing` kills more hosts; `CODEMODE_FENCING_SEED` sets the seed of
//! the times.

use crate::support::{
    holder::{self, KEY, sessions},
    leases::{Leases, call, kill},
    program::{PATIENCE, Running, wait_until},
};
use codemode_provider::BrowserSession;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    env, fs,
    sync::Arc,
    time::{Duration, Instant},
};

const ROUNDS: u64 = 30;
/// The maximum delay of the kill after the stage that was waited for.
const KILLED_AFTER_MAX: Duration = Duration::from_millis(150);
const LEASE_TTL: Duration = Duration::from_secs(5);
/// Makes the program stop itself between the lease check and the sending of a command whose URL has this suffix.
const STOP_BEFORE: &str = "CODEMODE_TEST_STOP_BEFORE";

/// Repeatedly creates and removes everything that could disturb the next holder, until it is killed. Interception on
/// the first page is visible on the second.
const LEAVE: &str = "
await visit('/enter/ROUND');
const { targetId } = (await send('Target.getTargetInfo')).targetInfo;
const second = await cdp.attachToTarget((await cdp.send('Target.createTarget', { url: 'about:blank' })).targetId);
for (let turn = 0; ; turn += 1) {
  await send('Runtime.addBinding', { name: 'left' });
  const { identifier } = await send('Page.addScriptToEvaluateOnNewDocument', { source: 'globalThis.leftScript = 1' });
  const own = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  await cdp.send('Runtime.addBinding', { name: 'left' }, own);
  await cdp.send('Fetch.enable', {}, own);
  await send('Fetch.enable');
  if (turn === 0) await cdp.send('Page.navigate', { url: '{{site}}/armed/ROUND' }, { sessionId: second });
  await send('Fetch.disable');
  await send('Page.removeScriptToEvaluateOnNewDocument', { identifier });
  await cdp.send('Target.detachFromTarget', own);
}";

/// The stage at which a host is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begun,
    Entered,
    Armed,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Begun, Self::Entered, Self::Armed];

    fn path(self, round: u64) -> Option<String> {
        match self {
            Self::Begun => None,
            Self::Entered => Some(format!("/enter/{round}")),
            Self::Armed => Some(format!("/armed/{round}")),
        }
    }

    fn reached(leases: &Leases, round: u64) -> Self {
        let was_reached = |stage: &Self| stage.path(round).is_none_or(|path| leases.site.was_visited(&path));
        Self::ALL.into_iter().rev().find(was_reached).unwrap_or(Self::Begun)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_holder_finds_nothing_of_a_host_that_was_killed() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let rounds = number("CODEMODE_FENCING_ROUNDS").unwrap_or(ROUNDS);
    let seed = number("CODEMODE_FENCING_SEED").unwrap_or_else(|| rand::random::<u32>().into());
    eprintln!("CODEMODE_FENCING_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let leases = Leases::new();
    let manager = Arc::new(sessions(&leases));
    let mut stages = Vec::new();
    for round in 0..rounds {
        let mut host = Running::start(leases.command(&["mcp"]));
        let code = leases.script(&LEAVE.replace("ROUND", &round.to_string()));
        host.send(&call(1, &code, &json!({"mode": "reuse", "key": KEY})));
        // All stages occur, the last one most often: it leaves the most behind.
        let stage = Stage::ALL[random.random_range(0..4_usize).min(2)];
        if let Some(path) = stage.path(round) {
            leases.site.wait_for(&path);
        }
        let next = tokio::spawn({
            let manager = Arc::clone(&manager);
            async move { holder::lease(&manager, &format!("x-next-{round}")).await }
        });
        let (began, delay) = (Instant::now(), random.random_range(Duration::ZERO..KILLED_AFTER_MAX));
        wait_until("the moment of the kill", PATIENCE, || began.elapsed() >= delay);
        host.signal(Signal::KILL);
        host.ended(PATIENCE);
        stages.push(Stage::reached(&leases, round));
        let next = next.await.unwrap();
        assert_clean(&leases, &*next, round).await.unwrap_or_else(|what| {
            panic!("seed {seed}, round {round}, killed {delay:?} after {stage:?}: {what}");
        });
        next.release().await.unwrap();
    }
    let counts = Stage::ALL.map(|stage| (stage, stages.iter().filter(|reached| **reached == stage).count()));
    eprintln!("{rounds} hosts killed: {counts:?}");
    assert!(counts.iter().all(|(stage, count)| *count > 0 || *stage == Stage::Begun), "{counts:?}");
    assert_eq!(leases.ask(&["sessions", "close", KEY, "--json"])["ok"], true);
    drop(manager);
    leases.wait_until_all_ended(PATIENCE);
}

/// Checks that nothing of another client is left in the browser of a session; leaves one page open.
async fn assert_clean(leases: &Leases, session: &dyn BrowserSession, round: u64) -> Result<(), String> {
    let connection = holder::connect(session).await;
    let call = async |session: Option<&str>, method: &str, params: Json| {
        holder::call(&connection, session, method, params).await.map_err(|error| format!("{method}: {error}"))
    };
    // No target may have an attached client: this client has not attached yet.
    let targets = call(None, "Target.getTargets", json!({})).await?;
    let targets = targets["targetInfos"].as_array().unwrap();
    let attached: Vec<_> = targets.iter().filter(|target| target["attached"] != false).collect();
    if !attached.is_empty() {
        return Err(format!("a client is attached to {attached:?}"));
    }
    let pages: Vec<_> = targets.iter().filter(|target| target["type"] == "page").collect();
    for (index, page) in pages.iter().enumerate() {
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = call(None, "Target.attachToTarget", attach).await?;
        let page = attached["sessionId"].as_str();
        // A leftover interceptor would hold the request for ever.
        let path = format!("/next/{round}/{index}");
        let url = format!("{}{path}", leases.site.url());
        let moving = tokio::time::timeout(PATIENCE, call(page, "Page.navigate", json!({ "url": url })));
        moving.await.map_err(|_| format!("{path} is held"))??;
        leases.site.wait_for(&path);
        let expression = "[typeof left, typeof leftScript, location.pathname]";
        let evaluate = json!({"expression": expression, "returnByValue": true});
        let seen = call(page, "Runtime.evaluate", evaluate).await?;
        let seen = &seen["result"]["value"];
        if *seen != json!(["undefined", "undefined", path]) {
            return Err(format!("the page sees {seen}"));
        }
    }
    for page in pages.iter().skip(1) {
        call(None, "Target.closeTarget", json!({"targetId": page["targetId"]})).await?;
    }
    Ok(())
}

/// A host, stopped after it has checked its valid lease and before it sends `Page.navigate` to `/after`.
fn stopped(leases: &Leases) -> Running {
    loop {
        let code = leases.script("await visit('/before'); await visit('/after'); 1");
        let mut command = leases.command(&["run", "--json", "--session-key", KEY, "-e", &code]);
        command.env(STOP_BEFORE, "/after");
        let mut host = Running::start(command);
        wait_until("a stop before the write", PATIENCE, || state(host.pid()) == 'T');
        let visited = |path| leases.site.was_visited(path);
        assert!(visited("/before") && !visited("/after"), "{:?}", leases.site.visits());
        // A host stopped while it renews its lease keeps the store locked; another test covers that.
        if leases.store_is_free() {
            return host;
        }
        host.signal(Signal::KILL);
        host.ended(PATIENCE);
    }
}

impl Leases {
    fn store_is_free(&self) -> bool {
        let store = rusqlite::Connection::open(self.store()).unwrap();
        store.execute_batch("PRAGMA busy_timeout = 1000; BEGIN IMMEDIATE; ROLLBACK").is_ok()
    }

    /// Asserts that the late message had no effect, and that the next holder can use the browser.
    fn assert_fenced(&self) {
        let last = self.run(KEY, "await visit('/last'); 3");
        assert_eq!(last["data"]["result"], 3, "{last}");
        assert!(!self.site.was_visited("/after"), "{:?}", self.site.visits());
        assert_eq!(self.ask(&["sessions", "close", KEY, "--json"])["ok"], true);
        self.wait_until_all_ended(PATIENCE);
    }
}

fn state(pid: i32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or_default()
}

fn assert_lost(host: &mut Running) {
    let answer = host.receive();
    assert_eq!(answer["error"]["code"], "SESSION_LOST", "{answer}");
}

/// The control case: a host that still holds the lease is not fenced.
#[test]
fn a_host_that_was_stopped_before_a_write_and_has_its_lease_goes_on() {
    let leases = Leases::new();
    let mut host = stopped(&leases);
    host.signal(Signal::CONT);
    let answer = host.receive();
    assert_eq!(answer["data"]["result"], 1, "{answer}");
    assert!(leases.site.was_visited("/after"));
    assert_eq!(leases.ask(&["sessions", "close", KEY, "--json"])["ok"], true);
    leases.wait_until_all_ended(PATIENCE);
}

#[test]
fn nothing_arrives_of_a_host_whose_lease_was_revoked_between_its_look_and_its_write() {
    nothing_arrives(&Leases::new(), |leases| {
        assert_eq!(leases.ask(&["sessions", "revoke", KEY, "--json"])["ok"], true);
    });
}

#[test]
fn nothing_arrives_of_a_host_whose_lease_expired_between_its_look_and_its_write() {
    // The next host waits until the lease has expired.
    nothing_arrives(&Leases::of_ttl(LEASE_TTL), |_| {});
}

/// A host stops between check and write, loses its lease to another host, and resumes: its write must have no effect.
fn nothing_arrives(leases: &Leases, lose: impl FnOnce(&Leases)) {
    let mut host = stopped(leases);
    lose(leases);
    let mut other = leases.start(KEY, "await visit('/gate/other'); 2");
    leases.site.wait_for("/gate/other");
    host.signal(Signal::CONT);
    assert_lost(&mut host);
    leases.site.open("/gate/other");
    assert_eq!(other.receive()["data"]["result"], 2);
    leases.assert_fenced();
}

/// A message that is sent while the lease is valid and read when it no longer is: the keeper checks the lease per
/// message, not per connection.
#[test]
fn nothing_arrives_that_lay_at_the_keeper_when_the_lease_was_revoked() {
    let leases = Leases::new();
    let mut host = stopped(&leases);
    let keeper = leases.session(KEY)["keeper_pid"].as_i64().unwrap();
    kill(keeper, Signal::STOP);
    wait_until("the keeper's stop", PATIENCE, || state(keeper.try_into().unwrap()) == 'T');
    let before = written(host.pid());
    host.signal(Signal::CONT);
    wait_until("the write", PATIENCE, || written(host.pid()) >= before + 60);
    assert_eq!(leases.ask(&["sessions", "revoke", KEY, "--json"])["ok"], true);
    kill(keeper, Signal::CONT);
    assert_lost(&mut host);
    leases.assert_fenced();
}

/// The number of bytes that a process has written in total.
fn written(pid: i32) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    counts.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}
