//! Browsers that outlive a call, as users run them: processes of the program on one state folder, and a site that
//! records its visitors.

use super::{
    browsing,
    program::{PATIENCE, Place, Running, need_browser, wait_until},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A prelude that attaches to a page and defines helper functions for the script.
const PAGE: &str = "
const sessionId = await cdp.attachToTarget();
const send = (method, params) => cdp.send(method, params, { sessionId, timeoutMs: 50_000 });
const visit = async (path) => (await send('Page.navigate', { url: '{{site}}' + path })).errorText;
const evaluate = async (expression) => (await send('Runtime.evaluate', { expression, returnByValue: true })).result.value;
";
/// Requests for paths with this prefix are held until the test releases them.
const GATE: &str = "/gate/";

/// A state folder, the program on it, and a site. Processes that still run at the end are killed.
pub struct Leases {
    place: Place,
    state: PathBuf,
    lease_ttl_ms: Option<u64>,
    pub site: Witness,
}

impl Leases {
    pub fn new() -> Self {
        need_browser();
        let place = Place::new();
        let state = place.folder().join("state");
        Self { place, state, lease_ttl_ms: None, site: Witness::start() }
    }

    /// With leases that expire after this time without renewal.
    pub fn of_ttl(lease_ttl: Duration) -> Self {
        let mut leases = Self::new();
        leases.lease_ttl_ms = Some(lease_ttl.as_millis().try_into().unwrap());
        leases
    }

    /// The state folder.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The file of the store.
    pub fn store(&self) -> PathBuf {
        self.state.join("sessions.db")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_on(&self.state, arguments)
    }

    /// A command on another state folder. Its command line still names this folder, so that its process is found.
    pub fn command_on(&self, state: &Path, arguments: &[&str]) -> Command {
        let mut command = self.place.command(&["--state-dir", state.to_str().unwrap()]);
        command.args(arguments).stdin(Stdio::null());
        if let Some(ms) = self.lease_ttl_ms {
            command.env("CODEMODE_LEASE_TTL_MS", ms.to_string());
        }
        command
    }

    pub fn ask(&self, arguments: &[&str]) -> Json {
        envelope_of(self.command(arguments))
    }

    /// The script, after the prelude.
    pub fn script(&self, code: &str) -> String {
        format!("{PAGE}{code}").replace("{{site}}", self.site.url())
    }

    /// Runs a script in the browser of a key.
    pub fn run(&self, key: &str, code: &str) -> Json {
        self.ask(&["run", "--json", "--session-key", key, "-e", &self.script(code)])
    }

    /// Starts a script in the browser of a key.
    pub fn start(&self, key: &str, code: &str) -> Running {
        Running::start(self.command(&["run", "--json", "--session-key", key, "-e", &self.script(code)]))
    }

    /// A session, as `sessions show` prints it.
    pub fn session(&self, name: &str) -> Json {
        let mut shown = self.ask(&["sessions", "show", name, "--json"]);
        assert_eq!(shown["ok"], true, "{shown}");
        shown["data"]["session"].take()
    }

    /// All processes that name the state folder: hosts, keepers, browsers.
    pub fn processes(&self) -> Vec<(i32, String)> {
        browsing::processes(self.place.folder())
    }

    /// Waits until all of these processes have exited.
    pub fn wait_until_all_ended(&self, patience: Duration) {
        let began = Instant::now();
        while !self.processes().is_empty() {
            assert!(began.elapsed() < patience, "not ended within {patience:?}: {:#?}", self.processes());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        // None, normally. It is safe to kill them: only this test uses the folder that they name.
        for (pid, _) in self.processes() {
            kill(pid, Signal::KILL);
        }
        let _ = fs::remove_dir_all(&self.state);
    }
}

/// Runs a command to its end and returns its envelope; asserts that the exit code matches it.
pub fn envelope_of(mut command: Command) -> Json {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let envelope: Json = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error} in {text:?}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(output.status.code(), Some(i32::from(envelope["ok"] != true)), "{envelope}");
    envelope
}

/// Sends a signal to a process of this test.
pub fn kill(pid: impl TryInto<i32>, signal: Signal) {
    let pid = pid.try_into().ok().and_then(Pid::from_raw).expect("the number of a process");
    // The process may have exited already.
    let _ = kill_process(pid, signal);
}

/// An MCP call of the tool with a script in a session.
pub fn call(id: u64, code: &str, session: &Json) -> Json {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "browser_execute", "arguments": {"code": code, "session": session}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// A site of empty pages that records its visitors and times.
pub struct Witness {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    log: Mutex<Log>,
    changed: Condvar,
    ended: AtomicBool,
}

#[derive(Default)]
struct Log {
    visits: Vec<(Instant, String)>,
    open: Vec<String>,
}

impl Witness {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.ended.load(Ordering::Relaxed) {
                    return;
                }
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.answer(&stream));
            }
        });
        Self { url, shared }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The visits, in order of time.
    pub fn visits(&self) -> Vec<(Instant, String)> {
        self.shared.log().visits.clone()
    }

    pub fn was_visited(&self, path: &str) -> bool {
        self.shared.log().visits.iter().any(|(_, visited)| visited == path)
    }

    pub fn wait_for(&self, path: &str) {
        wait_until(path, PATIENCE, || self.was_visited(path));
    }

    /// Answers the requests that wait at a gate.
    pub fn open(&self, gate: &str) {
        self.shared.log().open.push(gate.to_owned());
        self.shared.changed.notify_all();
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wake the accepting thread, so that it checks the flag.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request of a connection. A browser may open more connections than it uses.
    fn answer(&self, mut stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let Some(path) = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())) else { return };
        // Read the rest of the request; closing the connection with unread data would reset it.
        lines.take_while(|line| !line.is_empty()).for_each(drop);
        if path != "/favicon.ico" {
            let mut log = self.log();
            log.visits.push((Instant::now(), path.clone()));
            let is_shut = |log: &mut Log| path.starts_with(GATE) && !log.open.contains(&path);
            drop(self.changed.wait_timeout_while(log, PATIENCE, is_shut));
        }
        let page = "<!doctype html><title>A page</title>";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length:";
        // The browser may have died meanwhile.
        let _ = write!(stream, "{head} {}\r\n\r\n{page}", page.len());
    }
}
