//! A host with a real Chromium and a site to visit, and checks for processes and files that executions leave behind.

use super::{
    lab::{self, Lab},
    pages::Pages,
    program::need_browser,
};
use codemode_browser::BrowserProvider;
use codemode_cdp::CdpProvider;
use codemode_host::{
    engine::Engine,
    exec::{Request, Settings},
    result::{Identity, Transform},
    session::{SessionManager, SessionSettings},
    site::{self, Site},
    state_dir::StateDir,
};
use codemode_page::{BrowserConfig, Browsers};
use codemode_provider::{Provider, ServiceProvider, Sessions, testkit::FakeProvider};
use codemode_spec::session::{SessionMode, SessionRequest};
use rustix::process::{Pid, getpgid};
use std::{
    ffi::OsStr,
    fs,
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;

/// The time within which nothing of an execution may be left after its client has disconnected.
pub const GONE: Duration = Duration::from_secs(60);

/// The engine whose image contains the JavaScript layer of `browser`.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let layers: Vec<_> = BrowserProvider::new().manifest().to_layer().into_iter().collect();
    Engine::open(&super::image_dir(), &layers, &|line| eprintln!("{line}")).expect("the layer is right")
});

/// Runs a future that needs a browser. Installing the browser does not count as the future's time.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    need_browser();
    LazyLock::force(&ENGINE);
    lab::block_on(future)
}

/// The shared browsers of a host; the description of their protocol is cached for all tests.
pub fn browsers(sessions: Option<Arc<dyn Sessions>>) -> Browsers {
    Browsers::new(BrowserConfig { protocols_dir: Some(super::image_dir()), ..BrowserConfig::default() }, sessions)
}

/// The session key of the browser that executions share.
const SHARED: &str = "shared";
/// Resets a shared browser to the state of a new one: one empty page.
const AFRESH: &str = "
const tabs = (await cdp.send('Target.getTargets')).targetInfos.filter(({ type }) => type === 'page');
const kept = tabs.find(({ url }) => url === 'about:blank')?.targetId ?? (await browser.newPage()).id;
for (const { targetId } of tabs) if (targetId !== kept) await cdp.send('Target.closeTarget', { targetId });
const session = { sessionId: await cdp.attachToTarget(kept) };
await cdp.send('Storage.clearCookies', {}, session);
await cdp.send('Browser.resetPermissions');
await cdp.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' }, session);
await cdp.send('Network.clearBrowserCache', {}, session);
";

/// A host whose executions have a browser: the namespaces `browser`, `cdp` and `fake`.
pub struct Browsing {
    pub lab: Lab,
    pub site: Site,
    pages: Option<Pages>,
    /// Leases browsers that outlive an execution; without it each execution has its own.
    sessions: Option<SessionManager>,
    /// Whether the shared browser has been used.
    is_shared: AtomicBool,
    state: TempDir,
}

impl Browsing {
    /// Results are not truncated.
    pub async fn new() -> Self {
        Self::with(Arc::new(Identity)).await
    }

    pub async fn with(transform: Arc<dyn Transform>) -> Self {
        Self::of(state_dir(), transform, None).await
    }

    /// A host whose scripts visit the site of the verbs' cases, in browsers of session keys.
    pub async fn on_pages() -> Self {
        let state = state_dir();
        let places = StateDir::open(state.path()).expect("a state folder");
        let program = env!("CARGO_BIN_EXE_codemode").into();
        let sessions = SessionManager::open(places, program, SessionSettings::default()).expect("a store");
        let browsing = Self::of(state, Arc::new(Identity), Some(sessions)).await;
        Self { pages: Some(Pages::serve().await), ..browsing }
    }

    async fn of(state: TempDir, transform: Arc<dyn Transform>, sessions: Option<SessionManager>) -> Self {
        let lent = sessions.clone().map(|sessions| Arc::new(sessions) as Arc<dyn Sessions>);
        let services: Vec<Arc<dyn ServiceProvider>> = vec![Arc::new(browsers(lent))];
        let settings = Settings { transform, services, ..Settings::new(state.path()) };
        let providers: Vec<Arc<dyn Provider>> =
            vec![Arc::new(FakeProvider::new("fake")), Arc::new(CdpProvider::new()), Arc::new(BrowserProvider::new())];
        let lab = Lab::on(ENGINE.clone(), providers, settings);
        Self {
            lab,
            site: site::serve().await.expect("a port"),
            pages: None,
            sessions,
            is_shared: AtomicBool::new(false),
            state,
        }
    }

    /// The script, with `{{site}}` replaced by the site's URL.
    pub fn script(&self, code: &str) -> String {
        match &self.pages {
            Some(pages) => pages.place(code),
            None => code.replace("{{site}}", self.site.url()),
        }
    }

    /// Prepares a request for this host. Where browsers outlive an execution, it gets the shared browser, reset to the
    /// state of a new one, or with a `key` the browser of that key.
    pub async fn prepare(&self, mut request: Request, key: Option<&str>) -> Request {
        request.code = self.script(&request.code);
        if self.sessions.is_some() {
            if key.is_none() && self.is_shared.swap(true, Ordering::Relaxed) {
                let refreshed = self.lab.execute(in_browser_of(SHARED, Request::new(self.script(AFRESH)))).await;
                assert!(refreshed.outcome.is_ok(), "it cannot be made as good as new: {:?}", refreshed.outcome);
            }
            request = in_browser_of(key.unwrap_or(SHARED), request);
        }
        request
    }

    /// Closes the sessions of all browsers that outlive an execution.
    pub async fn close_sessions(&self) {
        let Some(sessions) = &self.sessions else { return };
        for session in sessions.store().sessions().await.expect("the store can be read") {
            sessions.close(&session).await.expect("a session can be closed");
        }
    }

    /// Whether browsers outlive an execution.
    pub const fn lends(&self) -> bool {
        self.sessions.is_some()
    }

    /// The processes and files that executions currently hold. Files named by answers, which are retained for some
    /// days, and saved logins do not count.
    pub fn held(&self) -> Vec<String> {
        let kept = ["downloads", "artifacts", "logins"].map(|name| self.state.path().join(name));
        let mut held = held(self.state.path());
        held.retain(|held| !kept.iter().any(|kept| Path::new(held).starts_with(kept)));
        held
    }

    /// The main process of the only running browser. A forked child has the same command line for a moment, but is not
    /// a group leader.
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

    /// Asserts that everything held is released within this time.
    pub async fn assert_gone(&self, patience: Duration) {
        let gone = lab::until("the end of the browser", || self.held().is_empty());
        if tokio::time::timeout(patience, gone).await.is_err() {
            panic!("not gone within {patience:?}: {:?}", self.held());
        }
    }
}

fn in_browser_of(key: &str, request: Request) -> Request {
    let session = SessionRequest { mode: SessionMode::Reuse, key: Some(key.to_owned()), ..SessionRequest::default() };
    Request { session, ..request }
}

fn state_dir() -> TempDir {
    tempfile::Builder::new().prefix("codemode-test-").tempdir().expect("a folder")
}

/// The processes that name a state folder, and everything in it except empty folders.
pub fn held(state: &Path) -> Vec<String> {
    let mut held: Vec<_> = processes(state).into_iter().map(|(pid, line)| format!("process {pid}: {line}")).collect();
    files(state, &mut held);
    held
}

/// The processes that name a state folder: pid and command line.
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
            // State of the folder's hosts, not of an execution.
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

/// The store, the host's liveness lock, and its cache of browser versions.
fn is_of_hosts(name: &OsStr) -> bool {
    starts(name, &["sessions.", "h-", "versions."])
}

fn starts(name: &OsStr, prefixes: &[&str]) -> bool {
    name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}
