//! An execution as a host would run it, and a site to visit.

use codemode_cdp::CdpProvider;
use codemode_chromium::{Browser, Executable, LaunchOptions, install};
use codemode_page::{BrowserConfig, Browsers};
use codemode_provider::{
    Ending, Refusal, RefusalSink, ServiceProvider,
    testkit::{self, TestExecution},
};
use codemode_spec::{ErrorReport, Value};
use serde_json::{Value as Json, json};
use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::OnceCell,
};
use tokio_util::task::AbortOnDropHandle;

/// Longer than any successful step takes: a test that reaches it has failed. Less than the timeout of the test kit's
/// calls, so that a hanging call is found by this and not by its own timeout.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);
/// Longer than [`PATIENCE`].
const CALL_MS: u64 = 600_000;

/// One execution.
pub(crate) struct Execution {
    pub(crate) life: TestExecution,
    pub(crate) state: Arc<TempDir>,
}

/// The shared browsers of a host.
pub(crate) fn browsers(config: BrowserConfig) -> Arc<dyn ServiceProvider> {
    Arc::new(Browsers::new(config, None))
}

impl Execution {
    /// With a dedicated browser.
    pub(crate) async fn begin() -> Self {
        Self::of(browsers(BrowserConfig::default()), json!({})).await
    }

    /// With a browser from `browsers`, and options for it.
    pub(crate) async fn of(browsers: Arc<dyn ServiceProvider>, options: Json) -> Self {
        Self::with(browsers, json!({ "page": options }), None).await
    }

    /// With a browser from `browsers`, and the refusals recorded in its audit.
    pub(crate) async fn audited(browsers: Arc<dyn ServiceProvider>) -> (Self, Refusals) {
        let refusals = Refusals::default();
        let execution = Self::with(browsers, json!({}), Some(Arc::new(refusals.clone()))).await;
        (execution, refusals)
    }

    async fn with(browsers: Arc<dyn ServiceProvider>, options: Json, audit: Option<Arc<dyn RefusalSink>>) -> Self {
        executable().await;
        let state = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let mut context = testkit::context(state.path(), options);
        if let Some(audit) = audit {
            context.services.insert(audit);
        }
        let life = TestExecution::begin(Arc::new(CdpProvider::new()), &[browsers], context).await;
        Self { life: life.expect("create succeeds"), state }
    }

    /// Calls a method with JSON arguments.
    pub(crate) async fn call(&self, method: &str, arguments: Json) -> Result<Json, ErrorReport> {
        let Json::Array(arguments) = arguments else { panic!("arguments are an array") };
        let arguments = arguments.into_iter().map(Value::from).collect();
        let result = tokio::time::timeout(PATIENCE, self.life.call(method, arguments))
            .await
            .unwrap_or_else(|_| panic!("cdp.{method} hangs"));
        result.map(|value| value.to_plain_json().unwrap_or_default())
    }

    /// `cdp.send` to the browser.
    pub(crate) async fn send(&self, method: &str, params: Json) -> Result<Json, ErrorReport> {
        self.call("send", json!([method, params])).await
    }

    /// `cdp.send` to a page.
    pub(crate) async fn page(&self, session: &str, method: &str, params: Json) -> Result<Json, ErrorReport> {
        self.call("send", json!([method, params, { "sessionId": session, "timeoutMs": CALL_MS }])).await
    }

    /// `cdp.attachToTarget()`.
    pub(crate) async fn attach(&self) -> String {
        let attached = self.call("attachToTarget", json!([])).await.expect("it attaches");
        attached["sessionId"].as_str().expect("a handle").to_owned()
    }

    /// A new tab: its target and its handle.
    pub(crate) async fn open(&self, url: &str) -> (String, String) {
        let made = self.send("Target.createTarget", json!({ "url": url })).await.expect("a tab opens");
        let target = made["targetId"].as_str().expect("a target").to_owned();
        let handle = self.call("attachToTarget", json!([target])).await.expect("it attaches");
        assert_eq!(handle, json!({"sessionId": format!("target:{target}"), "targetId": target}));
        (target, format!("target:{}", made["targetId"].as_str().unwrap_or_default()))
    }

    /// Navigates and waits until the page is loaded.
    pub(crate) async fn visit(&self, session: &str, url: &str) {
        let answer = self.page(session, "Page.navigate", json!({ "url": url })).await.expect("it navigates");
        assert_eq!(answer.get("errorText"), None, "{url}");
        self.wait("Page.loadEventFired", json!({ "sessionId": session })).await.expect("it loads");
    }

    /// The value of an expression in a page.
    pub(crate) async fn evaluate(&self, session: &str, expression: &str) -> Result<Json, ErrorReport> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.page(session, "Runtime.evaluate", params).await?;
        Ok(answer["result"]["value"].take())
    }

    /// `cdp.waitForEvent`.
    pub(crate) async fn wait(&self, name: &str, mut options: Json) -> Result<Json, ErrorReport> {
        options.as_object_mut().expect("options are an object").entry("timeoutMs").or_insert(CALL_MS.into());
        self.call("waitForEvent", json!([name, options])).await
    }

    /// Ends the execution, and asserts that no process or folder remains.
    pub(crate) async fn end(self) {
        self.life.dispose(Ending::Succeeded).await.expect("dispose succeeds");
        assert_eq!(held(self.state.path()), Vec::<String>::new());
    }
}

/// The refusals recorded in an audit.
#[derive(Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<Vec<(String, String)>>>);

impl RefusalSink for Refusals {
    fn refused(&self, refusal: &Refusal) {
        self.0.lock().expect("nothing panics").push((refusal.target.clone(), refusal.scheme.clone()));
    }
}

impl Refusals {
    /// The types of the refused targets, and the schemes that they navigated to.
    pub(crate) fn told(&self) -> Vec<(String, String)> {
        self.0.lock().expect("nothing panics").clone()
    }
}

/// A browser that its user started, and a host that uses it.
pub(crate) struct UsersBrowser {
    pub(crate) browser: Browser,
    pub(crate) browsers: Arc<dyn ServiceProvider>,
    _profiles: TempDir,
}

impl UsersBrowser {
    pub(crate) async fn begin() -> Self {
        let profiles = tempfile::tempdir().unwrap();
        let executable = executable().await.path.clone();
        let options = LaunchOptions::new(executable, profiles.path().to_owned(), "somebody");
        let options = LaunchOptions { listens: true, start_timeout: PATIENCE, ..options };
        let browser = Browser::launch(options).await.unwrap();
        let url = browser.endpoint().expect("it listens").ws_url.clone();
        let browsers = browsers(BrowserConfig { cdp_url: Some(url), ..BrowserConfig::default() });
        Self { browser, browsers, _profiles: profiles }
    }

    pub(crate) async fn execution(&self) -> Execution {
        Execution::of(Arc::clone(&self.browsers), json!({})).await
    }
}

/// The browser's executable, installed if necessary.
pub(crate) async fn executable() -> &'static Executable {
    static FOUND: OnceCell<Executable> = OnceCell::const_new();
    let find = || async { install(&|line| eprintln!("{line}")).await.expect("a browser can be installed") };
    FOUND.get_or_init(find).await
}

/// Browsers started by a wrapper, written into `folder`, that runs this shell script first. The script may change the
/// arguments.
pub(crate) async fn started_after(script: &str, folder: &Path) -> Arc<dyn ServiceProvider> {
    let (program, real) = (folder.join("browser"), executable().await.path.display());
    std::fs::write(&program, format!("#!/bin/sh\n{script}\nexec '{real}' \"$@\"\n")).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
    browsers(BrowserConfig { browser: Some(program), ..BrowserConfig::default() })
}

/// Enables the internal pages that codemode's own browsers disable.
pub(crate) const HAS_PAGES_OF_ITS_OWN: &str = r#"for argument; do
    shift; case "$argument" in --disable-features=*) ;; *) set -- "$@" "$argument";; esac
done"#;

/// Processes and profiles that belong to a state folder.
pub(crate) fn held(state: &Path) -> Vec<String> {
    let mut held: Vec<_> = processes(state).into_iter().map(|(pid, line)| format!("process {pid}: {line}")).collect();
    for folder in ["profiles", "downloads"] {
        let entries = std::fs::read_dir(state.join(folder)).into_iter().flatten().flatten();
        held.extend(entries.map(|entry| entry.path().display().to_string()));
    }
    held
}

/// Live processes whose command line names a profile of a state folder, with their command lines.
fn processes(state: &Path) -> Vec<(u32, String)> {
    let state = format!("{}/profiles/", state.to_str().expect("a temporary folder has a plain name"));
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(&state).then_some((pid, line))
    });
    processes.collect()
}

/// The main process of the only browser of a state folder. A process that it forks has the same command line for a
/// moment, but leads no group.
pub(crate) fn browser_pid(state: &Path) -> u32 {
    let main: Vec<_> = processes(state).into_iter().filter(|(_, line)| !line.contains("--type=")).collect();
    let is_browser = |pid: u32, line: &str| line.contains("--user-data-dir=") && group_of(pid) == Some(pid);
    let browsers: Vec<_> = main.iter().filter(|(pid, line)| is_browser(*pid, line)).collect();
    assert_eq!(browsers.len(), 1, "one browser: {main:?}");
    browsers[0].0
}

/// The group of a live process.
fn group_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()
}

/// The smallest document that Chromium's viewer shows.
const DOCUMENT: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>\
                        endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n";

/// A few pages on loopback.
pub(crate) struct Site {
    origin: String,
    _server: AbortOnDropHandle<()>,
}

impl Site {
    pub(crate) async fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream));
            }
        });
        Self { origin, _server: AbortOnDropHandle::new(server) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or("/");
    let (status, kind, body) = match path.split('?').next().unwrap_or(path) {
        "/" => ("200 OK", "text/html", "<!doctype html><title>Home</title><h1>Home</h1>"),
        "/other" => ("200 OK", "text/html", "<!doctype html><title>Other</title><h1>Other</h1>"),
        "/fetching" => (
            "200 OK",
            "text/html",
            "<!doctype html><title>Fetching</title><script>fetch('/api/one').then(() => fetch('/api/two'))</script>",
        ),
        "/asking" => (
            "200 OK",
            "text/html",
            "<!doctype html><title>Asking</title><button style='position:fixed;inset:0' \
             onclick='document.title = confirm(\"Really?\")'>x</button>",
        ),
        "/leaving" => (
            "200 OK",
            "text/html",
            "<!doctype html><title>Leaving</title><button style='position:fixed;inset:0'>x</button>\
             <script>onbeforeunload = event => event.preventDefault()</script>",
        ),
        "/framing" => (
            "200 OK",
            "text/html",
            "<!doctype html><title>Framing</title><script>\
             const frame = document.createElement('iframe'); frame.src = 'http://localhost:' + location.port + '/other'; \
             document.documentElement.append(frame)</script>",
        ),
        "/document.pdf" => ("200 OK", "application/pdf", DOCUMENT),
        "/api/one" | "/api/two" => ("200 OK", "application/json", "{\"ok\":true}"),
        _ => ("404 Not Found", "text/plain", "there is nothing here"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
