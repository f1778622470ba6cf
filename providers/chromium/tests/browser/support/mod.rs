//! Shared test support: launching a browser, and checking that nothing of it remains.

use codemode_chromium::{Browser, Command, Connection, Executable, LaunchOptions, install};
use serde_json::{Value as Json, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The timeout for operations that should take milliseconds, for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for profiles that is removed with the test.
pub struct Profiles {
    /// The temporary folder around it, if it is to be removed.
    _around: Option<TempDir>,
    path: PathBuf,
    count: AtomicUsize,
}

impl Profiles {
    pub fn new() -> Self {
        let around = tempfile::tempdir().unwrap();
        let path = around.path().join("profiles");
        Self { _around: Some(around), ..Self::at(path) }
    }

    pub fn at(path: PathBuf) -> Self {
        Self { _around: None, path, count: AtomicUsize::new(0) }
    }

    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    pub async fn options(&self) -> LaunchOptions {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let options = LaunchOptions::new(executable().await.path, self.path(), &format!("test-{count}"));
        LaunchOptions { start_timeout: PATIENCE, ..options }
    }

    pub async fn launch(&self) -> Browser {
        Browser::launch(self.options().await).await.unwrap_or_else(|report| panic!("{report} {}", report.details))
    }

    /// Launches a browser with a port, which stands for a user's own browser.
    pub async fn launch_listening(&self) -> Browser {
        let options = LaunchOptions { listens: true, ..self.options().await };
        Browser::launch(options).await.unwrap_or_else(|report| panic!("{report} {}", report.details))
    }

    /// Asserts that no process, profile or ledger remains.
    pub fn assert_nothing_left(&self) {
        assert_eq!(processes_naming(&self.path), Vec::<String>::new());
        let left: Vec<_> =
            fs::read_dir(self.path()).map(|left| left.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

/// Finds a browser; installs one if there is none.
pub async fn executable() -> Executable {
    install(&|line| eprintln!("{line}")).await.unwrap()
}

/// The command lines of all living processes that contain a path.
pub fn processes_naming(path: &Path) -> Vec<String> {
    let path = path.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(path) {
            found.push(line);
        }
    }
    found
}

/// Waits for a condition, with a deadline.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub async fn connect(browser: &Browser) -> Connection {
    match browser.endpoint() {
        Some(endpoint) => Connection::connect(endpoint, PATIENCE).await.unwrap(),
        None => browser.connect().await.unwrap(),
    }
}

pub fn command<'a>(method: &'a str, params: Json, session: Option<&'a str>) -> Command<'a> {
    Command { method, params, session, timeout: PATIENCE }
}

/// Opens a page and attaches to it; returns its target and its session.
pub async fn page(connection: &Connection, url: &str) -> (String, String) {
    let created = connection.call(command("Target.createTarget", json!({ "url": url }), None)).await.unwrap();
    let target = created["targetId"].as_str().unwrap().to_owned();
    let attach = json!({ "targetId": target, "flatten": true });
    let attached = connection.call(command("Target.attachToTarget", attach, None)).await.unwrap();
    (target, attached["sessionId"].as_str().unwrap().to_owned())
}

pub async fn evaluate(connection: &Connection, session: &str, expression: &str) -> Json {
    let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
    let answer = connection.call(command("Runtime.evaluate", params, Some(session))).await.unwrap();
    assert!(answer.get("exceptionDetails").is_none(), "{answer}");
    answer["result"]["value"].clone()
}
