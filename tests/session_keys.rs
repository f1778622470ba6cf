//! The persistent state of a session key: which browser owns it, which callers may remove it, and what the next holder
//! is told.

use crate::support::{
    browsing, lab,
    leases::{Leases, call, envelope_of},
    program::{PATIENCE, Running, wait_until},
};
use async_trait::async_trait;
use codemode_cdp::CdpProvider;
use codemode_host::{
    session::{SessionManager, SessionSettings, store::EndReason},
    state_dir::StateDir,
};
use codemode_provider::{
    BrowserChannel, BrowserOrder, BrowserSession, Ending, ExecutionId, KeptBrowser, LeaseMark, Promotion,
    ServiceProvider, SessionFacts, Sessions,
    testkit::{self, TestExecution},
};
use codemode_spec::{
    ErrorReport,
    limits::LEASE_WAIT_MS_MAX,
    session::{LeaseFacts, SessionMode, SessionRequest},
};
use serde_json::{Value as Json, json};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

const KEY: &str = "shop";
/// Reads all user state that a page of the site has.
const KEPT: &str = "await visit('/account'); await evaluate('document.cookie + \"|\" + (localStorage.user ?? \"\")')";

fn log_in(user: &str) -> String {
    format!(
        "await visit('/login'); await evaluate('document.cookie = \"user={user}\"; localStorage.user = \"{user}\"');"
    )
}

impl Leases {
    fn run_with(&self, options: &[&str], code: &str) -> Json {
        self.ask(&[&["run", "--json", "--session-key", KEY, "-e", &self.script(code)], options].concat())
    }

    /// Runs a script with a short idle time, and waits until its browser has ended.
    fn run_and_let_end(&self, options: &[&str], code: &str) {
        let answer = self.run_with(&[options, &["--session-ttl", "1s"]].concat(), code);
        assert_eq!(answer["ok"], true, "{answer}");
        let is_over = || self.session(KEY)["state"] == "ended";
        wait_until("the end of an idle session", PATIENCE, is_over);
    }

    /// A session manager on the same state folder.
    fn manager(&self) -> SessionManager {
        let program = env!("CARGO_BIN_EXE_codemode").into();
        SessionManager::open(StateDir::open(self.state()).unwrap(), program, SessionSettings::default()).unwrap()
    }

    fn close_all(&self) {
        assert_eq!(self.ask(&["sessions", "close", KEY, "--json"])["ok"], true);
        self.wait_until_all_ended(PATIENCE);
    }
}

fn request() -> SessionRequest {
    SessionRequest {
        mode: SessionMode::Reuse,
        key: Some(KEY.to_owned()),
        wait_ms: Some(LEASE_WAIT_MS_MAX),
        ..SessionRequest::default()
    }
}

fn order(execution: &str, session: SessionRequest) -> BrowserOrder {
    BrowserOrder {
        execution: ExecutionId::new(execution),
        session,
        executable: None,
        headless: true,
        deadline: Instant::now() + Duration::from_millis(LEASE_WAIT_MS_MAX),
        cancel: CancellationToken::new(),
    }
}

fn warnings(answer: &Json) -> String {
    answer["meta"]["warnings"].to_string()
}

#[test]
fn a_promoted_browser_brings_all_that_it_has_and_leaves_nothing_of_another() {
    let leases = Leases::new();
    leases.run_and_let_end(&[], &log_in("ada"));
    let promote = format!("{} await cdp.startSession()", log_in("bob"));
    leases.run_and_let_end(&["--session-mode", "dynamic"], &promote);
    let next = leases.run(KEY, KEPT);
    assert_eq!(next["data"]["result"], "user=bob|bob", "{next}");
    assert!(warnings(&next).contains("nobody used it for its idle time"), "{next}");
    leases.close_all();
    let next = leases.run(KEY, KEPT);
    assert_eq!(next["data"]["result"], "|", "{next}");
    leases.close_all();
}

/// The session layer knows that another browser has the key; the script's namespace knows which call changes that.
#[test]
fn a_script_whose_key_has_another_browser_is_told_how_to_replace_it_in_the_words_of_its_namespace() {
    let leases = Leases::new();
    let dynamic = leases.script("await visit('/gate/late'); await cdp.startSession()");
    let dynamic = ["run", "--json", "--session-key", KEY, "--session-mode", "dynamic", "-e", &dynamic];
    let late = Running::start(leases.command(&dynamic));
    leases.site.wait_for("/gate/late");
    assert_eq!(leases.run(KEY, "await visit('/other'); 1")["ok"], true);
    leases.site.open("/gate/late");
    let refused = answer(late);
    assert_eq!(refused["error"]["code"], "SESSION_BUSY", "{refused}");
    let hint = refused["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("cdp.startSession({replace: true})") && !hint.contains('⟦'), "{hint}");
    leases.close_all();
}

/// Calls that query the lease while it changes get consistent answers.
#[test]
fn other_calls_go_on_while_a_browser_is_promoted() {
    let leases = Leases::new();
    let code = "
        const errors = [];
        let goes = true;
        const loops = Array.from({ length: 8 }, async () => {
            // Bounded, so that all loops together stay below the limit of calls per script.
            for (let n = 0; goes && n < 1000; n++)
                await cdp.events().catch((error) => errors.push(`${error.code}: ${error.message}`));
        });
        await cdp.startSession();
        for (let i = 0; i < 50; i++) await cdp.events();
        goes = false;
        await Promise.all(loops);
        errors";
    let answer = leases.run_with(&["--session-mode", "dynamic"], code);
    assert_eq!((&answer["data"]["result"], warnings(&answer).as_str()), (&json!([]), "[]"), "{answer}");
    leases.close_all();
}

#[test]
fn closing_what_has_ended_forgets_its_logins() {
    let leases = Leases::new();
    leases.run_and_let_end(&[], &log_in("ada"));
    let closed = leases.ask(&["sessions", "close", KEY, "--json"]);
    assert_eq!((&closed["ok"], &closed["data"]["already"]), (&json!(true), &json!(true)), "{closed}");
    let next = leases.run(KEY, KEPT);
    assert_eq!(next["data"]["result"], "|", "{next}");
    assert!(warnings(&next).contains("an operator closed it. Nothing of it is left"), "{next}");
    leases.close_all();
}

/// The profile of the key belongs to the browser that it has by now: nothing is removed, which is not a success.
#[test]
fn closing_what_has_ended_leaves_the_logins_of_a_later_browser_and_says_so() {
    let leases = Leases::new();
    leases.run_and_let_end(&[], &log_in("ada"));
    let ended = leases.session(KEY);
    assert_eq!(leases.run(KEY, KEPT)["data"]["result"], "user=ada|ada");
    let later = leases.session(KEY);
    let refused = leases.ask(&["sessions", "close", ended["id"].as_str().unwrap(), "--json"]);
    assert_eq!(refused["error"]["code"], "SESSION_BUSY", "{refused}");
    assert_eq!(refused["error"]["details"]["session"], later["id"], "{refused}");
    assert_eq!(leases.run(KEY, KEPT)["data"]["result"], "user=ada|ada");
    leases.close_all();
}

#[test]
fn who_waits_while_an_operator_closes_has_a_browser_of_which_nothing_is_left() {
    let leases = Leases::new();
    assert_eq!(leases.run(KEY, &log_in("ada"))["ok"], true);
    let mut holder = leases.start(KEY, "await visit('/gate/holder'); 1");
    leases.site.wait_for("/gate/holder");
    let waiter = leases.start(KEY, KEPT);
    let has_waiter = || leases.session(KEY)["lease"]["holder"]["waiting"] == 1;
    wait_until("the waiter", PATIENCE, has_waiter);
    let closed = leases.ask(&["sessions", "close", KEY, "--json"]);
    assert_eq!(closed["ok"], true, "{closed}");
    holder.ended(PATIENCE);
    let next = answer(waiter);
    assert_eq!(next["data"]["result"], "|", "{next}");
    assert!(warnings(&next).contains("an operator closed it"), "{next}");
    leases.close_all();
}

/// A host that dies while it removes or moves the profile of a key leaves its entry in the ledger. This must not depend
/// on another host that starts later and removes the entry.
#[test]
fn a_profile_that_a_dead_host_had_in_its_hands_is_free() {
    let leases = Leases::new();
    assert_eq!(leases.run(KEY, &log_in("ada"))["ok"], true);
    let profiles = StateDir::open(leases.state()).unwrap().profiles();
    let entries = fs::read_dir(&profiles).unwrap().map(|entry| entry.unwrap().path());
    let ledger = entries.filter(|path| path.extension().is_some()).collect::<Vec<_>>();
    let [ledger] = &ledger[..] else { panic!("{ledger:?}") };
    let noted = fs::read(ledger).unwrap();
    leases.run_and_let_end(&[], "1");
    assert!(!ledger.exists());

    let mut host = Running::start(leases.command(&["mcp"]));
    let mut execute = |id, code: &str, session: &Json| {
        host.send(&call(id, code, session));
        host.receive()["result"]["structuredContent"].take()
    };
    assert_eq!(execute(0, "'it has started'", &json!({"mode": "one-shot"}))["ok"], true);
    fs::write(ledger, noted).unwrap();
    let next = execute(1, &leases.script(KEPT), &json!({"mode": "reuse", "key": KEY}));
    assert_eq!(next["data"]["result"], "user=ada|ada", "{next}");
    host.hang_up();
    assert!(host.ended(PATIENCE).success());
    leases.close_all();
}

/// A host closes a browser and dies before it has removed the profile of its key.
#[test]
fn what_was_closed_by_one_who_died_is_forgotten_all_the_same() {
    let leases = Leases::new();
    for reason in [EndReason::Closed, EndReason::Reset, EndReason::Operator] {
        assert_eq!(leases.run(KEY, &log_in("ada"))["ok"], true);
        let before = leases.session(KEY);
        lab::block_on(async {
            let id = before["id"].as_str().unwrap().to_owned();
            let closing = leases.manager().store().session_closing(&id, reason, None).await;
            assert!(closing.unwrap());
        });
        wait_until("its end", PATIENCE, || leases.session(before["id"].as_str().unwrap())["state"] == "ended");
        assert_eq!(leases.run(KEY, KEPT)["data"]["result"], "|", "{reason}");
        leases.close_all();
    }
}

/// A call is dropped while it changes a session, with or without its caller.
#[test]
fn a_caller_that_goes_away_in_the_middle_of_a_change_holds_nothing() {
    let leases = Leases::new();
    lab::block_on(async {
        let manager = leases.manager();
        let names = async || {
            let rows = manager.store().leases().await.unwrap();
            rows.into_iter().map(|row| row.name).collect::<Vec<_>>()
        };
        let open = async |execution: &str| {
            let session = SessionRequest { mode: SessionMode::Dynamic, ..request() };
            manager.open(order(execution, session)).await.unwrap()
        };
        let one = open("x-one").await;
        let _ = futures::poll!(one.promote(Promotion::IfFree));
        while !names().await.contains(&"key:shop".to_owned()) {
            tokio::task::yield_now().await;
        }
        one.release().await.unwrap();
        assert_eq!(names().await, [] as [&str; 0], "the promotion came before it, whole");
        assert!(one.facts().shared);

        let two = open("x-two").await;
        assert_eq!(two.facts().id, one.facts().id);
        assert_eq!(names().await, ["key:shop"]);
        drop(two);
        while !names().await.is_empty() {
            tokio::task::yield_now().await;
        }
    });
    leases.close_all();
}

/// A host sweeps when it starts, while the script for which it was started uses the same key.
#[test]
fn a_key_that_is_used_is_not_forgotten_meanwhile() {
    let leases = Leases::new();
    let config = leases.state().with_file_name("config.toml");
    for round in 0..4 {
        leases.run_and_let_end(&[], &log_in("ada"));
        // From here on, everything that has ended is past its retention.
        fs::write(&config, "[keep]\nsessions_ms = 0\nlogins_ms = 0\n").unwrap();
        let mut command = leases.command(&["run", "--json", "--session-key", KEY, "-e", &leases.script(KEPT)]);
        command.env("CODEMODE_CONFIG", &config);
        let next = envelope_of(command);
        let kept = next["data"]["result"].as_str().unwrap_or_else(|| panic!("round {round}: {next}"));
        let is_told = warnings(&next).contains("was replaced by a fresh one");
        // The script ran either before or after the sweep, never in between.
        assert!(matches!((kept, is_told), ("user=ada|ada", true) | ("|", false)), "round {round}: {kept} {next}");
        leases.close_all();
    }
}

#[test]
fn a_browser_that_is_reset_stays_with_its_execution_and_no_other_comes_in_between() {
    let leases = Leases::new();
    lab::block_on(async {
        let manager = leases.manager();
        let acquire = |execution: &str| {
            let (manager, order) = (manager.clone(), order(execution, request()));
            tokio::spawn(async move { manager.acquire(order).await })
        };
        let one = acquire("x-one").await.unwrap().unwrap();
        let before = one.facts();
        let two = acquire("x-two");
        let waiting = async || manager.store().leases().await.unwrap()[0].holder.waiting;
        while waiting().await == 0 {
            tokio::task::yield_now().await;
        }
        one.reset().await.unwrap();
        one.check().await.unwrap();
        let after = one.facts();
        assert_eq!(after.token, before.token);
        assert!(after.id != before.id && after.fresh && after.shared, "{after:?}");
        assert!(!two.is_finished(), "it is still the first one's");
        one.release().await.unwrap();
        let two = two.await.unwrap().unwrap();
        assert_eq!(two.facts().id, after.id);
        two.close().await.unwrap();
    });
    leases.wait_until_all_ended(PATIENCE);
}

#[test]
fn a_script_that_resets_a_browser_it_promoted_has_it_kept() {
    let leases = Leases::new();
    let code =
        format!("{} await cdp.startSession(); const {{ shared }} = await cdp.resetSession(); shared", log_in("ada"));
    let answer = leases.run_with(&["--session-mode", "dynamic"], &code);
    assert_eq!(answer["data"]["result"], true, "{answer}");
    assert_eq!(leases.run(KEY, KEPT)["data"]["result"], "|");
    leases.close_all();
}

#[test]
fn a_script_with_little_time_is_told_who_has_the_browser() {
    let leases = Leases::new();
    let mut holder = leases.start(KEY, "await visit('/gate/holder'); 1");
    leases.site.wait_for("/gate/holder");
    let answer = leases.run_with(&["--timeout", "12s"], "await visit('/late'); 1");
    assert_eq!(answer["error"]["code"], "SESSION_BUSY", "{answer}");
    assert!(answer["error"]["details"]["holder"].is_string(), "{answer}");
    leases.site.open("/gate/holder");
    holder.ended(PATIENCE);
    leases.close_all();
}

/// Sessions of which the first channel to a browser never opens.
struct Stalling {
    sessions: SessionManager,
    stalled: Arc<Notify>,
}

struct StallingSession {
    session: Arc<dyn BrowserSession>,
    stalled: Arc<Notify>,
    has_stalled: AtomicBool,
}

#[async_trait]
impl Sessions for Stalling {
    async fn open(&self, order: BrowserOrder) -> Result<Arc<dyn BrowserSession>, ErrorReport> {
        let session = self.sessions.open(order).await?;
        let (stalled, has_stalled) = (Arc::clone(&self.stalled), AtomicBool::new(false));
        Ok(Arc::new(StallingSession { session, stalled, has_stalled }))
    }

    async fn look(&self, key: &str) -> Result<Option<KeptBrowser>, ErrorReport> {
        self.sessions.look(key).await
    }
}

#[async_trait]
impl BrowserSession for StallingSession {
    fn facts(&self) -> SessionFacts {
        self.session.facts()
    }

    fn lease(&self) -> LeaseFacts {
        self.session.lease()
    }

    fn mark(&self) -> LeaseMark {
        self.session.mark()
    }

    fn lost(&self) -> Option<ErrorReport> {
        self.session.lost()
    }

    async fn check(&self) -> Result<(), ErrorReport> {
        self.session.check().await
    }

    async fn connect(&self) -> Result<BrowserChannel, ErrorReport> {
        if !self.has_stalled.swap(true, Ordering::Relaxed) {
            self.stalled.notify_one();
            std::future::pending::<()>().await;
        }
        self.session.connect().await
    }

    async fn replace(&self, reason: &str) -> Result<(), ErrorReport> {
        self.session.replace(reason).await
    }

    async fn promote(&self, promotion: Promotion) -> Result<(), ErrorReport> {
        self.session.promote(promotion).await
    }

    async fn close(&self) -> Result<(), ErrorReport> {
        self.session.close().await
    }

    async fn reset(&self) -> Result<(), ErrorReport> {
        self.session.reset().await
    }

    async fn release(&self) -> Result<(), ErrorReport> {
        self.session.release().await
    }

    fn warnings(&self) -> Vec<String> {
        self.session.warnings()
    }
}

/// As when a client over HTTP disconnects while the browser of its key starts, and calls again.
#[test]
fn a_call_that_is_dropped_before_the_browser_is_connected_loses_no_login() {
    let leases = Leases::new();
    leases.run_and_let_end(&[], &log_in("ada"));
    lab::block_on(async {
        let mut context = testkit::context(leases.state(), json!({}));
        context.session = request();
        let stalled = Arc::new(Notify::new());
        let sessions = Stalling { sessions: leases.manager(), stalled: Arc::clone(&stalled) };
        let browsers: Arc<dyn ServiceProvider> = Arc::new(browsing::browsers(Some(Arc::new(sessions))));
        let execution = TestExecution::begin(Arc::new(CdpProvider::new()), &[browsers], context).await.unwrap();
        tokio::select! {
            () = stalled.notified() => {}
            answer = execution.call("attachToTarget", Vec::new()) => panic!("it stalls: {answer:?}"),
        }
        execution.call("attachToTarget", Vec::new()).await.unwrap();
        execution.dispose(Ending::Succeeded).await.unwrap();
    });
    assert_eq!(leases.run(KEY, KEPT)["data"]["result"], "user=ada|ada");
    leases.close_all();
}

fn answer(mut running: Running) -> Json {
    let answer = running.receive();
    running.ended(PATIENCE);
    answer
}
