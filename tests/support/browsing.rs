//! A host with a real Chromium, a site to visit, and a look at what is left of both.

use super::{
    lab::{self, Lab},
    pages::Pages,
    program::need_browser,
};
use codemode_browser::BrowserProvider;
use codemode_cdp::CdpProvider;
use codemode_host::{
    engine::Engine,
    exec::Settings,
    result::{Identity, Transform},
    site::{self, Site},
};
use codemode_page::{BrowserConfig, Browsers};
use codemode_provider::{Provider, Sessions, testkit::FakeProvider};
use rustix::process::{Pid, getpgid};
use std::{
    ffi::OsStr,
    fs,
    path::Path,
    sync::{Arc, LazyLock},
    time::Duration,
};
use tempfile::TempDir;

/// How soon nothing of an execution may be left once its client is gone.
pub const GONE: Duration = Duration::from_secs(60);

/// The engine whose image has the layer of `browser`.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let layers: Vec<_> = BrowserProvider::new().manifest().to_layer().into_iter().collect();
    Engine::open(&super::image_dir(), &layers, &|line| eprintln!("{line}")).expect("the layer is right")
});

/// Runs a future that needs a browser. What it takes to install one is not the future's time.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    need_browser();
    LazyLock::force(&ENGINE);
    lab::block_on(future)
}

/// The shared browsers of a host; what is known of their protocol is kept for all tests.
pub fn browsers(sessions: Option<Arc<dyn Sessions>>) -> Browsers {
    Browsers::new(BrowserConfig { protocols_dir: Some(super::image_dir()), ..BrowserConfig::default() }, sessions)
}

/// A host whose executions have a browser: the namespaces `browser`, `cdp` and `fake`.
pub struct Browsing {
    pub lab: Lab,
    pub site: Site,
    pages: Option<Pages>,
    state: TempDir,
}

impl Browsing {
    /// Results come out whole.
    pub async fn new() -> Self {
        Self::with(Arc::new(Identity)).await
    }

    pub async fn with(transform: Arc<dyn Transform>) -> Self {
        let state = tempfile::Builder::new().prefix("codemode-test-").tempdir().expect("a folder");
        let settings = Settings { transform, services: vec![Arc::new(browsers(None))], ..Settings::new(state.path()) };
        let providers: Vec<Arc<dyn Provider>> =
            vec![Arc::new(FakeProvider::new("fake")), Arc::new(CdpProvider::new()), Arc::new(BrowserProvider::new())];
        let lab = Lab::on(ENGINE.clone(), providers, settings);
        Self { lab, site: site::serve().await.expect("a port"), pages: None, state }
    }

    /// Scripts visit the site of the verbs.
    pub async fn on_pages() -> Self {
        Self { pages: Some(Pages::serve().await), ..Self::new().await }
    }

    /// The script, with `{{site}}` standing for where the site is.
    pub fn script(&self, code: &str) -> String {
        match &self.pages {
            Some(pages) => pages.place(code),
            None => code.replace("{{site}}", self.site.url()),
        }
    }

    /// What executions hold outside of the test's memory at the moment. What their answers name stays for some days.
    pub fn held(&self) -> Vec<String> {
        let kept = ["downloads", "artifacts"].map(|name| self.state.path().join(name));
        let mut held = held(self.state.path());
        held.retain(|held| !kept.iter().any(|kept| Path::new(held).starts_with(kept)));
        held
    }

    /// The main process of the one browser that runs. What it forks has its command line for a moment, and leads no
    /// group.
    pub fn browser_pid(&self) -> i32 {
        let leads_group = |pid: i32| getpgid(Pid::from_raw(pid)).is_ok_and(|group| Some(group) == Pid::from_raw(pid));
        let mains: Vec<_> = processes(self.state.path())
            .into_iter()
            .filter(|(_, line)| line.contains("--user-data-dir=") && !line.contains("--type="))
            .filter(|(pid, _)| leads_group(*pid))
            .collect();
        assert_eq!(mains.len(), 1, "one browser: {mains:?}");
        mains[0].0
    }

    /// Nothing is left, or will be in a moment.
    pub async fn assert_gone(&self, patience: Duration) {
        let gone = lab::until("the end of the browser", || self.held().is_empty());
        if tokio::time::timeout(patience, gone).await.is_err() {
            panic!("not gone within {patience:?}: {:?}", self.held());
        }
    }
}

/// Processes that name a state folder, and whatever lies in it besides empty folders.
pub fn held(state: &Path) -> Vec<String> {
    let mut held: Vec<_> = processes(state).into_iter().map(|(pid, line)| format!("process {pid}: {line}")).collect();
    files(state, &mut held);
    held
}

/// Processes that name a state folder: their number and command line.
pub fn processes(state: &Path) -> Vec<(i32, String)> {
    let state = state.to_str().expect("a temporary folder has a plain name");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(state).then_some((pid, line))
    });
    processes.collect()
}

fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            // What the hosts of the folder keep, and not an execution.
            _ if is_of_hosts(&entry.file_name()) => {}
            // A profile's own folder counts even if it is empty; the folder of all profiles does not.
            Ok(kind) if kind.is_dir() && starts(&entry.file_name(), &["x-", "s-"]) => {
                found.push(entry.path().display().to_string());
            }
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            _ => found.push(entry.path().display().to_string()),
        }
    }
}

/// The store, the lock by which a host is seen to live, and what it has noted of the versions of browsers.
fn is_of_hosts(name: &OsStr) -> bool {
    starts(name, &["sessions.", "h-", "versions."])
}

fn starts(name: &OsStr, prefixes: &[&str]) -> bool {
    name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}
