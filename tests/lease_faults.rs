//! Faults around a browser that outlives its call: processes that die or are stopped, files that are locked, full,
//! read-only, damaged or missing. The caller gets an error with a remedy, or a new browser with a warning, and no data
//! is lost.

use crate::support::{
    leases::{Leases, call, envelope_of, kill},
    program::{PATIENCE, Running, wait_until},
};
use codemode_host::{
    logins::LoginStore,
    service::{Service, Settings},
    session::{
        clock::MachineClock,
        liveness::ProcessLocks,
        store::{BrowserFacts, NewSession, Retention, SessionState, SessionStore as _, SqliteStore},
    },
    state_dir::StateDir,
};
use codemode_provider::LoginState;
use codemode_spec::session::SessionMode;
use futures::future::JoinAll;
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    fs::{self, File},
    io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

const KEY: &str = "shop";
const LOG_IN: &str = "await visit('/login'); await evaluate('document.cookie = \"user=ada\"')";
const WHO: &str = "await visit('/account'); await evaluate('document.cookie')";

impl Leases {
    /// Starts a session of a key in which a user is logged in.
    fn logged_in(&self) -> Json {
        let answer = self.run(KEY, LOG_IN);
        assert_eq!((&answer["ok"], warnings(&answer)), (&json!(true), &json!([])), "{answer}");
        self.session(KEY)
    }

    /// Asserts that the next call has the same browser.
    fn assert_unharmed(&self, before: &Json) {
        let answer = self.run(KEY, WHO);
        assert_eq!((&answer["data"]["result"], warnings(&answer)), (&json!("user=ada"), &json!([])), "{answer}");
        assert_eq!(answer["context"]["session_id"], before["id"], "{answer}");
        self.assert_audit(None);
    }

    /// Asserts that the next call has a new browser with a warning and the key's persistent state, and that the call
    /// after it uses the same browser.
    fn assert_healed(&self, before: &Json) {
        assert_replaced(&self.run(KEY, WHO), before);
        let after = self.session(KEY);
        assert_eq!((&after["state"], &after["lease"]), (&json!("live"), &Json::Null), "{after}");
        self.assert_unharmed(&after);
    }

    fn close(&self) {
        let closed = self.ask(&["sessions", "close", KEY, "--json"]);
        assert_eq!(closed["ok"], true, "{closed}");
        let is_browser = |line: &str| line.contains("--user-data-dir=");
        let browsers: Vec<_> = self.processes().into_iter().filter(|(_, line)| is_browser(line)).collect();
        assert!(browsers.is_empty(), "it is answered when they are gone: {browsers:?}");
        // A host that used the browser may still be exiting.
        self.wait_until_all_ended(PATIENCE);
    }

    /// Asserts that the audit is intact, or broken at this row.
    fn assert_audit(&self, broken_at: Option<u64>) {
        let verdict = self.ask(&["audit", "verify", "--json"]);
        let Some(row) = broken_at else {
            assert_eq!(verdict["data"]["intact"], true, "{verdict}");
            return;
        };
        let message = format!("the audit is broken at row {row}: ");
        assert_refused(&verdict, "AUDIT_BROKEN", &message, "compare it with a backup");
        assert_eq!(verdict["error"]["details"]["verdict"]["broken_at"], row);
    }

    fn database(&self) -> Connection {
        Connection::open(self.store()).unwrap()
    }
}

fn warnings(answer: &Json) -> &Json {
    static NONE: Json = Json::Array(Vec::new());
    answer["meta"].get("warnings").unwrap_or(&NONE)
}

/// Asserts that a new browser has replaced one that died.
fn assert_replaced(answer: &Json, before: &Json) {
    assert_eq!(answer["data"]["result"], "user=ada", "{answer}");
    assert_ne!(answer["context"]["session_id"], before["id"], "{answer}");
    let warning = "The browser of \"shop\" was replaced by a fresh one: its browser died or could not be reached. Cookies \
                   and stored data of the key are back as far as they were saved; tabs and what pages held in memory are \
                   gone.";
    assert_eq!(warnings(answer), &json!([warning]), "{answer}");
}

/// Asserts that an error has this code, and that its message and hint contain these texts.
#[track_caller]
fn assert_refused(answer: &Json, code: &str, message: &str, hint: &str) {
    let error = &answer["error"];
    let holds = |field: &str, words: &str| error[field].as_str().is_some_and(|text| text.contains(words));
    assert!(error["code"] == code && holds("message", message) && holds("hint", hint), "{code}: {answer}");
}

fn pid(session: &Json, whose: &str) -> i32 {
    session[whose].as_i64().and_then(|pid| pid.try_into().ok()).unwrap_or_else(|| panic!("{whose} in {session}"))
}

#[test]
fn a_keeper_that_is_killed_takes_its_browser_along_and_the_next_call_has_another() {
    let leases = Leases::new();
    let before = leases.logged_in();
    kill(pid(&before, "keeper_pid"), Signal::KILL);
    leases.wait_until_all_ended(PATIENCE);
    leases.assert_healed(&before);
    leases.close();
}

#[test]
fn a_browser_that_is_killed_while_idle_is_replaced() {
    let leases = Leases::new();
    let before = leases.logged_in();
    kill(pid(&before, "browser_pid"), Signal::KILL);
    // The keeper notices that the browser has ended, and exits.
    leases.wait_until_all_ended(PATIENCE);
    let ended = leases.session(KEY);
    assert_eq!((&ended["state"], &ended["reason"]), (&json!("ended"), &json!("crashed")), "{ended}");
    leases.assert_healed(&before);
    leases.close();
}

/// In a running host, the next call arrives before the keeper can have noticed.
#[test]
fn a_browser_that_is_killed_just_before_a_call_is_replaced() {
    let leases = Leases::new();
    let mut host = Running::start(leases.command(&["mcp"]));
    let mut ask = |code: &str| {
        host.send(&call(1, &leases.script(code), &json!({"mode": "reuse", "key": KEY})));
        host.receive()["result"]["structuredContent"].take()
    };
    assert_eq!(ask(LOG_IN)["ok"], true);
    for _ in 0..3 {
        let before = leases.session(KEY);
        kill(pid(&before, "browser_pid"), Signal::KILL);
        assert_replaced(&ask(WHO), &before);
    }
    host.hang_up();
    assert!(host.ended(PATIENCE).success());
    leases.close();
}

#[test]
fn a_browser_that_is_killed_in_mid_call_is_an_error_and_the_next_call_has_another() {
    let leases = Leases::new();
    let before = leases.logged_in();
    let mut call = leases.start(KEY, "await visit('/gate/1'); await visit('/after')");
    leases.site.wait_for("/gate/1");
    kill(pid(&before, "browser_pid"), Signal::KILL);
    let answer = call.receive();
    assert_refused(&answer, "BROWSER_GONE", "the browser is gone: ", "run the script again");
    assert_eq!(answer["error"]["retryable"], true);
    leases.assert_healed(&before);
    leases.close();
}

/// The store is locked for a long time, as by an operator's backup.
#[test]
fn a_store_that_another_process_has_locked_is_an_error_and_the_session_is_kept() {
    let leases = Leases::new();
    let before = leases.logged_in();
    let other = leases.database();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let answer = leases.run(KEY, WHO);
    assert_refused(&answer, "IO_ERROR", "sessions.db is locked by another process", "End whatever holds the database");
    assert!(
        warnings(&answer)[0].as_str().is_some_and(|text| text.starts_with("The audit is incomplete: ")),
        "{answer}"
    );
    let listed = leases.ask(&["sessions", "list", "--json"]);
    assert_eq!(listed["data"]["sessions"][0]["id"], before["id"], "who only looks is not kept out: {listed}");
    other.execute_batch("ROLLBACK").unwrap();
    leases.assert_unharmed(&before);
    leases.close();
}

/// A file system mounted for a test, if the system permits that.
struct Mount(PathBuf);

impl Mount {
    fn new(at: &Path, arguments: &[&str]) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(arguments).arg(at).stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("not tested here: only root can mount");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Runs `work` while a file system is full: space that is freed meanwhile is filled at once.
fn while_full<T>(filler: &Path, work: impl FnOnce() -> T) -> T {
    let mut file = File::create(filler).unwrap();
    let mut fill = move || io::copy(&mut io::repeat(1), &mut file).unwrap_err().kind();
    assert_eq!(fill(), io::ErrorKind::StorageFull);
    let is_over = Arc::new(AtomicBool::new(false));
    let goes_on = Arc::clone(&is_over);
    let filling = thread::spawn(move || {
        while !goes_on.load(Ordering::Relaxed) {
            fill();
            thread::yield_now();
        }
    });
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    is_over.store(true, Ordering::Relaxed);
    filling.join().unwrap();
    fs::remove_file(filler).unwrap();
    done.unwrap_or_else(|panic| panic::resume_unwind(panic))
}

#[test]
fn a_full_disk_is_an_error_and_the_session_is_kept() {
    let leases = Leases::new();
    let Some(_disk) = Mount::new(leases.state(), &["-t", "tmpfs", "-o", "size=96m,mode=700", "none"]) else { return };
    let before = leases.logged_in();
    let answer = while_full(&leases.state().join("filler"), || leases.run(KEY, WHO));
    assert_refused(&answer, "IO_ERROR", "sessions.db is full", "Free some space");
    leases.assert_unharmed(&before);
    leases.close();
}

/// Needs no separate file system: a resource limit prevents files from growing beyond a bound.
#[test]
fn a_store_that_may_not_grow_is_an_error_and_the_session_is_kept() {
    let leases = Leases::new();
    let before = leases.logged_in();
    let script = leases.script(WHO);
    let program = leases.command(&["run", "--json", "--session-key", KEY, "-e", &script]);
    let mut bounded = Command::new("sh");
    bounded.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""]).arg(program.get_program());
    bounded.args(program.get_args()).stdin(Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    assert_refused(&envelope_of(bounded), "IO_ERROR", "sessions.db", "free space");
    leases.assert_unharmed(&before);
    leases.close();
}

#[test]
fn a_state_folder_that_cannot_be_written_is_an_error_and_the_session_is_kept() {
    let leases = Leases::new();
    let before = leases.logged_in();
    let view = leases.state().with_file_name("view");
    let state = leases.state().to_str().unwrap();
    let Some(_view) = Mount::new(&view, &["--bind", "-o", "ro", state]) else { return };
    let script = leases.script(WHO);
    let commands: [&[&str]; 3] = [
        &["run", "--json", "--session-key", KEY, "-e", &script],
        &["sessions", "list", "--json"],
        &["audit", "verify", "--json"],
    ];
    for arguments in commands {
        let answer = envelope_of(leases.command_on(&view, arguments));
        assert_refused(&answer, "IO_ERROR", "Read-only file system", "its permissions");
    }
    leases.assert_unharmed(&before);
    leases.close();
}

/// The content of the store when no host has it open: all of it is in one file.
fn settled(leases: &Leases) -> Vec<u8> {
    assert_eq!(leases.ask(&["run", "--json", "-e", "1"])["ok"], true);
    // Closing the last connection checkpoints the write-ahead log into the file.
    drop(leases.database().pragma_query(None, "user_version", |_| Ok(())));
    fs::read(leases.store()).unwrap()
}

/// Asserts that every command is refused with this error, and that the file stays unchanged byte for byte.
fn assert_left_alone(leases: &Leases, content: &[u8], code: &str, message: &str, hint: &str) {
    fs::write(leases.store(), content).unwrap();
    for arguments in
        [["run", "--json", "-e", "1"].as_slice(), &["sessions", "list", "--json"], &["sessions", "sweep", "--json"]]
    {
        assert_refused(&leases.ask(arguments), code, message, hint);
        assert!(fs::read(leases.store()).unwrap() == content, "{arguments:?} changed the file");
    }
}

#[test]
fn a_damaged_store_is_an_error_and_is_left_as_it_is() {
    let leases = Leases::new();
    let whole = settled(&leases);
    let garbage: Vec<u8> = (0..20_000_u32).map(|byte| (byte * 31 % 251) as u8).collect();
    for damaged in [garbage.as_slice(), b"not a database", &whole[..whole.len() / 2], &whole[..5000], &whole[..300]] {
        assert_left_alone(&leases, damaged, "IO_ERROR", "sessions.db is damaged: ", "Restore the file from a backup");
    }
    fs::write(leases.store(), whole).unwrap();
    leases.assert_audit(None);
}

#[test]
fn a_store_of_a_newer_version_is_an_error_and_is_left_as_it_is() {
    let leases = Leases::new();
    settled(&leases);
    let refused = |content: &[u8]| {
        let (message, hint) = ("sessions.db was written by a newer codemode", "Use the newer codemode");
        assert_left_alone(&leases, content, "NOT_READY", message, hint);
    };
    leases.database().pragma_update(None, "user_version", 99).unwrap();
    refused(&fs::read(leases.store()).unwrap());
    // A newer version may use another journal mode.
    leases.database().pragma_update(None, "journal_mode", "DELETE").unwrap();
    refused(&fs::read(leases.store()).unwrap());
}

/// The store refuses changes of one session.
#[tokio::test]
async fn a_sweep_that_fails_in_one_place_does_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { logins_ms: 0, ..Retention::default() };
    let settings = Settings { state_dir: Some(folder.path().to_owned()), retention, ..Settings::default() };
    let service = Service::builder(settings).without_browser().build().unwrap();
    let places = StateDir::open(folder.path()).unwrap();
    let hosts = ProcessLocks::open(places.hosts()).unwrap();
    let store = SqliteStore::open(&places.store(), Arc::new(MachineClock), Arc::new(hosts)).unwrap();
    for id in ["s-1", "s-2"] {
        let session = NewSession {
            id: id.to_owned(),
            mode: SessionMode::OneShot,
            key: None,
            profile: id.to_owned(),
            profile_kept: false,
            execution: "x".to_owned(),
            host: "h-dead".to_owned(),
            ttl_ms: 0,
            lease: None,
            lease_ttl_ms: 1_000,
            network: None,
        };
        store.session_begin(&session).await.unwrap();
        // No process has this number and this start time.
        let (program, shortfalls, keeper_started) = (PathBuf::new(), Vec::new(), 1);
        let browser = BrowserFacts { program, shortfalls, browser_pid: 1, keeper_pid: 1, keeper_started };
        assert!(store.session_started(id, &browser).await.unwrap());
    }
    let logins = LoginStore::new(&places.logins());
    logins.save(KEY, "bank", &LoginState::new("{}".to_owned())).unwrap();
    let database = Connection::open(places.store()).unwrap();
    let stuck =
        "CREATE TRIGGER stuck BEFORE UPDATE ON session WHEN new.id = 's-1' BEGIN SELECT RAISE(ABORT, 'stuck'); END";
    database.execute_batch(stuck).unwrap();

    let error = service.sessions_sweep().await.unwrap_err();
    assert!(error.message.contains("stuck"), "{error:?}");
    let states = async || ["s-1", "s-2"].map(|id| store.session(id)).into_iter().collect::<JoinAll<_>>().await;
    let states = async || states().await.into_iter().map(|row| row.unwrap().unwrap().state).collect::<Vec<_>>();
    assert_eq!(states().await, [SessionState::Live, SessionState::Ended]);
    assert_eq!(logins.list().unwrap().logins, []);
    database.execute_batch("DROP TRIGGER stuck").unwrap();
    assert_eq!(service.sessions_sweep().await.unwrap().sessions, ["s-1"]);
    assert_eq!(states().await, [SessionState::Ended, SessionState::Ended]);
}

#[test]
fn a_host_that_was_stopped_past_its_lease_does_nothing_more() {
    let leases = Leases::of_ttl(Duration::from_secs(15));
    let before = leases.logged_in();
    let mut stopped = leases.start(KEY, "await visit('/gate/1'); await visit('/after')");
    leases.site.wait_for("/gate/1");
    // A host stopped within a transaction would keep the store locked; another test covers that.
    wait_until("a stop between transactions", PATIENCE, || {
        stopped.signal(Signal::STOP);
        let is_free = leases.database().execute_batch("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK").is_ok();
        if !is_free {
            stopped.signal(Signal::CONT);
        }
        is_free
    });
    // The other host gets the lease when it has expired, and still has it when the first one resumes.
    let mut other = leases.start(KEY, "await visit('/other'); await visit('/gate/2'); 2");
    leases.site.wait_for("/gate/2");
    leases.site.open("/gate/1");
    stopped.signal(Signal::CONT);
    let answer = stopped.receive();
    // Depending on what it notices first: that its own lease has expired, or that another host holds it.
    assert_refused(&answer, "SESSION_LOST", "the browser", "again");
    leases.site.open("/gate/2");
    let answer = other.receive();
    assert_eq!((&answer["data"]["result"], warnings(&answer)), (&json!(2), &json!([])), "{answer}");
    assert!(!leases.site.was_visited("/after"));
    leases.assert_unharmed(&before);
    leases.close();
}

#[test]
fn a_session_that_is_revoked_is_lost_to_its_holder() {
    let leases = Leases::new();
    let before = leases.logged_in();
    let mut holder = leases.start(KEY, "await visit('/gate/1'); await visit('/after')");
    leases.site.wait_for("/gate/1");
    let revoked = leases.ask(&["sessions", "revoke", KEY, "--json"]);
    assert!(revoked["data"]["revoked"]["execution"].is_string(), "{revoked}");
    leases.site.open("/gate/1");
    assert_refused(&holder.receive(), "SESSION_LOST", "an operator revoked the lease", "ask the operator");
    assert!(!leases.site.was_visited("/after"));
    leases.assert_unharmed(&before);
    leases.close();
}

/// Waits for events of a page and of the browser, and an evaluation that never ends.
#[test]
fn a_script_is_told_in_mid_call_that_its_lease_was_revoked() {
    let leases = Leases::new();
    let before = leases.logged_in();
    let waits = [
        "cdp.waitForEvent('Page.javascriptDialogOpening', { sessionId, timeoutMs: 50_000 })",
        "send('Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true })",
        "cdp.waitForEvent('Target.targetCreated', { where: { targetInfo: { url: 'never' } }, timeoutMs: 50_000 })",
    ];
    for (round, wait) in waits.iter().enumerate() {
        let code = format!(
            "await visit('/here/{round}'); const waits = {wait}; visit('/gate/{round}').catch(() => {{}}); await waits;"
        );
        let mut holder = leases.start(KEY, &code);
        leases.site.wait_for(&format!("/gate/{round}"));
        assert_eq!(leases.ask(&["sessions", "revoke", KEY, "--json"])["ok"], true);
        assert_refused(&holder.receive(), "SESSION_LOST", "an operator revoked the lease", "ask the operator");
        leases.site.open(&format!("/gate/{round}"));
    }
    leases.assert_unharmed(&before);
    leases.close();
}

#[test]
fn a_session_that_is_closed_is_gone_for_its_holder_and_for_ever() {
    let leases = Leases::new();
    leases.logged_in();
    let expired = |answer: &Json| {
        assert_refused(answer, "SESSION_EXPIRED", "an operator closed it", "start a new one");
    };
    // Lost in the middle of a call, and between two calls.
    let mut holder = leases.start(KEY, "await visit('/gate/1'); await visit('/after')");
    leases.site.wait_for("/gate/1");
    leases.close();
    expired(&holder.receive());
    let pause =
        "await visit('/here'); for (;;) { await new Promise((done) => setTimeout(done, 1)); await cdp.events() }";
    let mut holder = leases.start(KEY, pause);
    leases.site.wait_for("/here");
    leases.close();
    expired(&holder.receive());
    assert!(!leases.site.was_visited("/after"));
    // It was closed deliberately, together with the key's persistent state: the next holder is told once.
    let answer = leases.run(KEY, WHO);
    let warning = "The browser of \"shop\" was replaced by a fresh one: an operator closed it. Nothing of it is left: log \
                   in again.";
    assert_eq!((&answer["data"]["result"], warnings(&answer)), (&json!(""), &json!([warning])), "{answer}");
    assert_eq!(warnings(&leases.run(KEY, WHO)), &json!([]));
    leases.close();
}

#[test]
fn an_audit_that_was_tampered_with_is_told_by_its_row() {
    let leases = Leases::new();
    for _ in 0..3 {
        settled(&leases);
    }
    leases.assert_audit(None);
    let whole = settled(&leases);
    let last: u64 = leases.database().query_row("SELECT max(id) FROM audit", [], |row| row.get(0)).unwrap();
    assert!(last >= 8, "{last} rows");
    let swap = "UPDATE audit SET id = -3 WHERE id = 3; UPDATE audit SET id = 3 WHERE id = 4; UPDATE audit SET id = 4 WHERE id = -3";
    let rows = [
        ("UPDATE audit SET execution = 'x-another' WHERE id = 3", 3),
        ("UPDATE audit SET at_ms = at_ms + 1 WHERE id = 1", 1),
        ("UPDATE audit SET detail = '' WHERE id = 5", 5),
        ("DELETE FROM audit WHERE id = 1", 1),
        ("DELETE FROM audit WHERE id = 4", 4),
        ("DELETE FROM audit WHERE id = (SELECT max(id) FROM audit)", last),
        ("DELETE FROM audit WHERE id > 6", 7),
        ("DELETE FROM audit", 1),
        (swap, 3),
    ];
    for (tampering, row) in rows {
        leases.database().execute_batch(tampering).unwrap();
        leases.assert_audit(Some(row));
        fs::write(leases.store(), &whole).unwrap();
    }
    leases.assert_audit(None);
}

#[test]
fn a_state_folder_that_is_removed_takes_its_browsers_along() {
    let leases = Leases::new();
    leases.logged_in();
    wait_until("nothing of the folder", PATIENCE, || fs::remove_dir_all(leases.state()).is_ok());
    leases.wait_until_all_ended(PATIENCE);
    assert!(!leases.state().exists(), "nothing of it comes back");
}

/// Each host finds no tables, and one of them creates them first.
#[test]
fn hosts_that_begin_together_have_one_store() {
    for round in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let places = StateDir::open(folder.path()).unwrap();
        let (hosts, start) = (ProcessLocks::open(places.hosts()).unwrap(), Barrier::new(6));
        let open = || {
            start.wait();
            SqliteStore::open(&places.store(), Arc::new(MachineClock), Arc::new(hosts.clone())).map(drop)
        };
        let opened = thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(opened.iter().all(Result::is_ok), "round {round}: {opened:?}");
    }
}

#[test]
fn a_browser_that_does_not_answer_is_kept_and_is_its_own_error() {
    let leases = Leases::new();
    assert_eq!(leases.run(KEY, "await visit('/first'); 1")["ok"], true);
    let before = leases.session(KEY);
    kill(pid(&before, "browser_pid"), Signal::STOP);
    let answer = leases.run(KEY, "await visit('/second'); 1");
    assert_refused(&answer, "CDP_CONNECTION_FAILED", "there was no answer within", "codemode sessions close shop");
    kill(pid(&before, "browser_pid"), Signal::CONT);
    let answer = leases.run(KEY, "await visit('/third'); 1");
    assert_eq!((&answer["ok"], warnings(&answer)), (&json!(true), &json!([])), "{answer}");
    assert_eq!(leases.session(KEY)["id"], before["id"], "it is the same browser");
    leases.close();
}

#[test]
fn a_keeper_that_was_stopped_does_not_keep_its_session_from_being_closed() {
    let leases = Leases::new();
    assert_eq!(leases.run(KEY, "await visit('/first'); 1")["ok"], true);
    kill(pid(&leases.session(KEY), "keeper_pid"), Signal::STOP);
    let closed = leases.ask(&["sessions", "close", KEY, "--json"]);
    assert_eq!(closed["ok"], true, "{closed}");
    leases.wait_until_all_ended(PATIENCE);
}
