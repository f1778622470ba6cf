//! Hosts that share browsers are killed at random: no browser is ever used by two executions at once, and in the end
//! nothing is left of any host. The pages report which execution used a browser when, not the hosts under test.
//!
//! `CODEMODE_TORTURE_SECONDS=600 cargo test lease_torture` runs longer; `CODEMODE_TORTURE_SEED` determines what
//! happens, but not when.

use crate::support::{
    lab,
    leases::{Leases, call, kill},
    program::{PATIENCE, Running, wait_until},
};
use codemode_host::{
    session::{
        clock::MachineClock,
        liveness::ProcessLocks,
        store::{LeaseStore as _, SqliteStore},
    },
    state_dir::StateDir,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const SECONDS: u64 = 20;
const HOSTS: usize = 4;
const KEYS: [&str; 3] = ["a", "b", "c"];
/// The number of concurrent executions per host.
const UNDER_WAY: usize = 2;
const LEASE_TTL: Duration = Duration::from_secs(5);
/// The idle time of a shared browser.
const IDLE: Duration = Duration::from_secs(2);
/// The timeout, on a busy machine, until enough has happened for the test to be meaningful.
const ENOUGH: Duration = Duration::from_secs(600);
/// The errors that an execution may end with. The first: other executions held the lease too long. The others: the
/// machine was so slow that a lease expired, or another timeout passed.
const REFUSALS: [&str; 4] = ["SESSION_BUSY", "SESSION_LOST", "SESSION_EXPIRED", TOO_SLOW];
const TOO_SLOW: &str = "too slow";
/// The path visited by executions with a dedicated browser.
const ALONE: &str = "alone";

/// The visited pages show which browser an execution uses: `here` is the key, or `alone`.
const STAY: &str = "
for (const at of ['enter', 'stay', 'stay', 'leave']) {
    await visit(`/${at}/${here}/NAME`);
    await new Promise((done) => setTimeout(done, 20));
}
";

#[derive(Default)]
struct Torture {
    is_over: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The live hosts: pid and name. A pid cannot be reused before the entry is removed.
    hosts: [Option<(i32, String)>; HOSTS],
    killed: HashMap<String, Instant>,
    /// The error code of each answered execution; `OK` for a result.
    answers: HashMap<String, String>,
}

impl Inner {
    fn is_enough(&self, uses: &BTreeMap<String, Vec<Use>>) -> bool {
        let succeeded = self.answers.values().filter(|code| *code == "OK").count();
        let is_used = |key: &&str| uses.get(*key).is_some_and(|uses| uses.len() >= 3);
        !self.killed.is_empty() && succeeded > 10 && KEYS.iter().all(is_used)
    }
}

impl Torture {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Runs one host after the other in a slot, until the test is over.
    fn drive(&self, leases: &Leases, place: usize, random: &mut StdRng) {
        for generation in 0.. {
            let name = format!("h{place}.{generation}");
            let mut host = Running::start(leases.command(&["mcp"]));
            self.inner().hosts[place] = Some((host.pid(), name.clone()));
            self.feed(leases, &mut host, &name, random);
            self.inner().hosts[place] = None;
            if self.inner().killed.contains_key(&name) {
                host.ended(PATIENCE);
                if self.is_over() {
                    return;
                }
                continue;
            }
            host.hang_up();
            assert!(host.ended(PATIENCE).success());
            return;
        }
    }

    /// Sends executions to a host, until the test is over or the host is dead.
    fn feed(&self, leases: &Leases, host: &mut Running, name: &str, random: &mut StdRng) {
        let mut next = 0;
        let mut under_way = 0;
        loop {
            while under_way < UNDER_WAY && !self.is_over() {
                let (code, session) = execution(&format!("{name}-{next}"), random);
                if !host.try_send(&call(next, &leases.script(&code), &session)) {
                    return;
                }
                (next, under_way) = (next + 1, under_way + 1);
            }
            if under_way == 0 {
                return;
            }
            let Some(message) = host.receive_or_end() else { return };
            let answer = &message["result"]["structuredContent"];
            let code = code_of(answer);
            if answer["ok"] != true && !REFUSALS.contains(&code) {
                eprintln!("{name}-{}: {message}", message["id"]);
            }
            self.inner().answers.insert(format!("{name}-{}", message["id"]), code.to_owned());
            under_way -= 1;
        }
    }

    /// Waits until enough has happened, or until the timeout.
    fn wait_for_enough(&self, leases: &Leases) {
        let deadline = Instant::now() + ENOUGH;
        while !self.inner().is_enough(&uses(leases)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Kills a live host, if there is one.
    fn kill_one(&self, random: &mut StdRng) {
        let mut inner = self.inner();
        if let Some((pid, name)) = inner.hosts[random.random_range(0..HOSTS)].clone() {
            inner.killed.insert(name, Instant::now());
            kill(pid, Signal::KILL);
        }
    }
}

/// The error code of an answer, or [`TOO_SLOW`]. Slow starts and answers of a browser must be told apart from a profile
/// in use and a browser that has died, which have the same codes.
fn code_of(answer: &Json) -> &str {
    let error = &answer["error"];
    let ran_out = error["message"].as_str().is_some_and(|message| message.contains(" within "));
    match error["code"].as_str().unwrap_or("OK") {
        "CALL_TIMEOUT" | "TIME_EXCEEDED" => TOO_SLOW,
        "BROWSER_LAUNCH_FAILED" | "CDP_CONNECTION_FAILED" | "IO_ERROR" if ran_out => TOO_SLOW,
        code => code,
    }
}

/// A random script, and the session that it requests.
fn execution(name: &str, random: &mut StdRng) -> (String, Json) {
    let key = KEYS[random.random_range(0..KEYS.len())];
    let (mode, begin, end) = match random.random_range(0..10) {
        0..5 => ("reuse", format!("const here = '{key}';"), ""),
        5 => ("reuse", format!("const here = '{key}';"), "await cdp.closeSession();"),
        6..9 => {
            let replace = random.random_bool(0.5);
            let begin = format!(
                "let here = '{key}'; try {{ await cdp.startSession({{ replace: {replace} }}) }}
                 catch (error) {{ if (error.code !== 'SESSION_BUSY') throw error; here = '{ALONE}' }}"
            );
            ("dynamic", begin, "")
        }
        _ => ("one-shot", format!("const here = '{ALONE}';"), ""),
    };
    let code = format!("{begin}{STAY}{end}").replace("NAME", name);
    let ttl_ms = u64::try_from(IDLE.as_millis()).unwrap();
    let session = match mode {
        "one-shot" => json!({"mode": mode}),
        _ => json!({"mode": mode, "key": key, "ttl_ms": ttl_ms, "wait_ms": 20_000}),
    };
    (code, session)
}

/// The time span in which an execution used a browser, as recorded by the pages.
#[derive(Debug)]
struct Use {
    name: String,
    from: Instant,
    to: Instant,
    has_left: bool,
}

/// The uses of each key, in order of time.
fn uses(leases: &Leases) -> BTreeMap<String, Vec<Use>> {
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for (at, path) in leases.site.visits() {
        let mut words = path.split('/').skip(1).map(str::to_owned);
        let (Some(what), Some(key), Some(name)) = (words.next(), words.next(), words.next()) else { panic!("{path}") };
        let of_key = uses.entry(key).or_default();
        let has_left = what == "leave";
        match of_key.iter_mut().find(|one| one.name == name) {
            Some(one) => (one.to, one.has_left) = (at, has_left),
            None => of_key.push(Use { name, from: at, to: at, has_left }),
        }
    }
    uses
}

#[test]
fn no_browser_is_used_by_two_and_nothing_is_left_however_hosts_die() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let seconds = number("CODEMODE_TORTURE_SECONDS").unwrap_or(SECONDS);
    let seed = number("CODEMODE_TORTURE_SEED").unwrap_or_else(|| rand::random::<u32>().into());
    eprintln!("CODEMODE_TORTURE_SEED={seed}");
    let leases = Leases::of_ttl(LEASE_TTL);
    let torture = Torture::default();
    thread::scope(|scope| {
        for place in 0..HOSTS {
            let (torture, leases) = (&torture, &leases);
            let mut random = StdRng::seed_from_u64(seed.wrapping_mul(31).wrapping_add(place as u64));
            scope.spawn(move || torture.drive(leases, place, &mut random));
        }
        let mut random = StdRng::seed_from_u64(seed);
        let began = Instant::now();
        for second in 1..=seconds {
            let next = Duration::from_secs(second);
            wait_until("the next second", next + PATIENCE, || began.elapsed() >= next);
            torture.kill_one(&mut random);
        }
        torture.wait_for_enough(&leases);
        torture.is_over.store(true, Ordering::Relaxed);
    });

    // All browsers end after their idle time.
    leases.wait_until_all_ended(PATIENCE);
    let inner = std::mem::take(&mut *torture.inner());
    let uses = uses(&leases);
    let is_enough = inner.is_enough(&uses);
    let Inner { killed, answers, .. } = inner;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    answers.values().for_each(|code| *counts.entry(code).or_default() += 1);
    let uses_of = |key: &str| uses.get(key).map_or(0, Vec::len);
    eprintln!(
        "{} hosts killed; answers {counts:?}; {} uses alone, {:?} of keys",
        killed.len(),
        uses_of(ALONE),
        KEYS.map(uses_of)
    );

    for (key, uses) in uses.iter().filter(|(key, _)| *key != ALONE) {
        for pair in uses.windows(2) {
            let [one, next] = pair else { continue };
            assert!(one.to < next.from, "seed {seed}: the browser of {key} was used by two at once: {pair:#?}");
            let host = one.name.split('-').next().unwrap_or_default();
            let was_killed = killed.get(host).is_some_and(|at| *at < next.from);
            let has_failed = answers.get(&one.name).is_some_and(|code| code != "OK");
            assert!(
                one.has_left || was_killed || has_failed,
                "seed {seed}: {key} was given away in mid-use: {pair:#?}"
            );
        }
    }
    let unexpected: Vec<_> = counts.keys().filter(|code| **code != "OK" && !REFUSALS.contains(code)).collect();
    assert!(unexpected.is_empty(), "seed {seed}: {unexpected:?}");
    assert!(is_enough, "{counts:?}");

    // A session that a host was starting when it died has no keeper that could record its end.
    assert_eq!(leases.ask(&["sessions", "sweep", "--json"])["ok"], true, "seed {seed}");
    let listed = leases.ask(&["sessions", "list", "--json"]);
    assert_eq!(listed["data"]["sessions"], json!([]), "seed {seed}");
    assert_eq!(leases.ask(&["audit", "verify", "--json"])["ok"], true, "seed {seed}");
    let places = StateDir::open(leases.state()).unwrap();
    let hosts = ProcessLocks::open(places.hosts()).unwrap();
    let store = SqliteStore::open(&places.store(), Arc::new(MachineClock), Arc::new(hosts)).unwrap();
    assert_eq!(lab::block_on(store.leases()).unwrap(), [], "seed {seed}");
    let profiles = fs::read_dir(places.profiles()).unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<_> = profiles.filter(|name| !name.to_string_lossy().starts_with("key-")).collect();
    assert!(left.is_empty(), "seed {seed}: {left:?}");
}
