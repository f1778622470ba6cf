//! The targets of attacks: files with secrets that no browser of codemode may read, another user's browser with a
//! secret in a tab, a site that records the requests that reach it, and a corporate forward proxy. All of it is on
//! loopback.

use super::{
    lab,
    program::{PATIENCE, need_browser, wait_until},
};
use axum::{
    Router,
    extract::{Query, RawQuery, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_chromium::find;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::Value as Json;
use std::{
    collections::HashMap,
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};
use tempfile::TempDir;

/// The ports that a host at commit 79f594e blocked for pages of its own browsers. A browser that listens there shows
/// that the proxy does not block by these ports.
const GUARDED_PORTS: std::ops::Range<u16> = 29_200..29_712;
/// An empty document for the built-in PDF viewer.
const PDF: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
                   3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\nxref\n0 4\n0000000000 65535 f \n\
                   0000000009 00000 n \n0000000052 00000 n \n0000000101 00000 n \ntrailer<</Size 4/Root 1 0 R>>\n\
                   startxref\n164\n%%EOF\n";
/// A shell command that becomes the browser. The browser exits when this process does, because its debugging pipe
/// closes.
const BECOME_BROWSER: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A secret that no answer may contain.
#[derive(Clone)]
pub struct Secret {
    text: String,
    /// The size of an image: what a page could learn about an image that it must not read.
    size: (u32, u32),
}

impl Secret {
    pub fn new() -> Self {
        let size = || 1_000 + rand::random::<u32>() % 9_000;
        Self { text: format!("CANARY{:032x}", rand::random::<u128>()), size: (size(), size()) }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The encoding in which the secret occurs in a text.
    pub fn found_in(&self, text: &str) -> Option<&'static str> {
        let hex: String = self.text.bytes().map(|byte| format!("{byte:02x}")).collect();
        // The part that does not depend on the secret's offset in the encoded data.
        let base64 = (0..3).map(|before| {
            let encoded = STANDARD.encode([&vec![b' '; before][..], self.text.as_bytes()].concat());
            encoded[(before * 8).div_ceil(6)..encoded.len() - 4].to_owned()
        });
        let text = text.to_ascii_lowercase();
        let holds = |form: &str| text.contains(&form.to_ascii_lowercase());
        if holds(&self.text) {
            Some("as it is")
        } else if base64.into_iter().any(|form| holds(&form)) {
            Some("in base64")
        } else if holds(&hex) {
            Some("in hexadecimal")
        } else if holds(&format!("image:{}x{}", self.size.0, self.size.1)) {
            Some("as the size of an image")
        } else {
            None
        }
    }
}

/// Files with the secret, and a folder that must stay empty. They are readable and writable for everyone, so that it is
/// not the file mode that keeps a browser out.
pub struct Canaries {
    folder: TempDir,
}

impl Canaries {
    pub fn new(secret: &Secret, site: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("codemode-canary-").tempdir().unwrap();
        let (text, (width, height)) = (&secret.text, secret.size);
        let say = format!("for (const to of [parent, opener, top]) try {{ to.postMessage('{text}', '*') }} catch {{}}");
        let html = format!(
            "<!doctype html><title>{text}</title><body>{text}<script>{say}; new Image().src = '{site}/shout?{text}'</script>"
        );
        let js = format!(
            "globalThis.canary = '{text}'; try {{ document.title = canary }} catch {{}} try {{ postMessage(canary) }} catch {{}}"
        );
        let svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><text>{text}</text></svg>"#
        );
        let files = [
            ("canary.txt", text.clone()),
            ("canary.html", html),
            ("canary.js", js),
            ("canary.css", format!(":root {{ --canary: '{text}' }}")),
            ("canary.svg", svg),
            ("canary.pdf", PDF.replace("/MediaBox", &format!("/Canary({text})/MediaBox"))),
            (&format!("{text}.name"), String::new()),
        ];
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        fs::create_dir(folder.path().join("drop")).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.path().join("drop"), fs::Permissions::from_mode(0o777)).unwrap();
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The files that were written into the folder.
    pub fn dropped(&self) -> Vec<String> {
        let drop = fs::read_dir(self.folder().join("drop")).unwrap().flatten();
        drop.map(|entry| entry.file_name().display().to_string()).collect()
    }
}

/// The recorded messages.
pub type Recorded = Arc<Mutex<Vec<String>>>;

fn lock(recorded: &Recorded) -> MutexGuard<'_, Vec<String>> {
    recorded.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The attacker's site.
pub struct AttackSite {
    port: u16,
    shouts: Recorded,
}

impl AttackSite {
    pub fn serve() -> Self {
        let shouts = Recorded::default();
        let router = Router::new()
            .route("/", get(Html("<!doctype html><title>plain</title><p>hello</p>")))
            .route("/pdf", get(([(header::CONTENT_TYPE, "application/pdf")], PDF)))
            .route("/to", get(redirect))
            .route("/echo", get(echo))
            .route("/shout", get(shout))
            .with_state(Arc::clone(&shouts));
        let port = lab::block_on(async {
            let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            tokio::spawn(async move { axum::serve(listener, router).await });
            port
        });
        Self { port, shouts }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The URL of the same pages on another site.
    pub fn other_url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// What pages or files have sent to `/shout` since the last call, which they should not be able to.
    pub fn shouts(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.shouts))
    }
}

type Params = Query<HashMap<String, String>>;

async fn redirect(Query(params): Params) -> Response {
    let to = params.get("url").and_then(|url| HeaderValue::from_str(url).ok());
    let Some(to) = to else { return StatusCode::BAD_REQUEST.into_response() };
    (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
}

async fn echo(Query(params): Params) -> Response {
    let text = |name: &str| params.get(name).cloned();
    let mut headers = vec![
        (header::CONTENT_TYPE, text("type").unwrap_or_else(|| "text/html".to_owned())),
        (HeaderName::from_static("service-worker-allowed"), "/".to_owned()),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*".to_owned()),
    ];
    if let Some(name) = text("attachment") {
        headers.push((header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")));
    }
    let mut response = text("body").unwrap_or_default().into_response();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn shout(State(shouts): State<Recorded>, RawQuery(query): RawQuery) -> &'static str {
    lock(&shouts).push(query.unwrap_or_default());
    ""
}

/// A forward proxy without authentication. Its threads end with the process.
pub struct OpenProxy {
    port: u16,
    asked: Recorded,
}

impl OpenProxy {
    pub fn serve() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Recorded::default();
        let told = Arc::clone(&asked);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let told = Arc::clone(&told);
                // A client that disconnects early is not a failure.
                thread::spawn(move || drop(forward(client, &told)));
            }
        });
        Self { port, asked }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests to a port since the last call.
    pub fn asked_for(&self, port: u16) -> Vec<String> {
        let port = format!(":{port}");
        lock(&self.asked).extract_if(.., |line| line.contains(&port)).collect()
    }
}

/// Forwards one request of a client, and for `CONNECT` the tunnel. Requests that do not go to a port of the test are
/// not forwarded: browsers also make requests to the internet.
fn forward(client: TcpStream, asked: &Recorded) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        head.push(line);
    }
    let Some(first) = head.first().cloned() else { return Ok(()) };
    lock(asked).push(first.trim_end().to_owned());
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (authority, path) = match target.strip_prefix("http://") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => (target, ""),
    };
    let port = authority.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    let Some(port) = port.filter(|port| *port > 1_023) else {
        return (&client).write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    if method == "CONNECT" {
        (&client).write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    } else {
        let kept = head[1..].iter().filter(|line| !line.to_ascii_lowercase().starts_with("proxy-"));
        let request: String = kept.cloned().collect();
        (&server).write_all(format!("{method} {path} HTTP/1.1\r\n{request}\r\n").as_bytes())?;
    }
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    let back = thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(std::net::Shutdown::Both);
    });
    if method == "CONNECT" {
        let _ = io::copy(&mut reader, &mut &server);
    } else {
        // One request per connection: the next one may have another destination.
        let mut rest = [0; 1];
        let _ = reader.read(&mut rest);
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
    let _ = back.join();
    Ok(())
}

/// A browser that is not codemode's, with its debugging port on loopback.
pub struct Stranger {
    child: Child,
    port: u16,
    _profile: TempDir,
}

impl Stranger {
    /// Starts it with a tab that shows a page with this URL and title.
    pub fn start(url: &str, title: &str) -> Self {
        need_browser();
        let profile = tempfile::Builder::new().prefix("codemode-stranger-").tempdir().unwrap();
        let executable = find(None).unwrap().path;
        let first = rand::random::<u16>() % 512;
        let mut ports = (0..512).map(|step| GUARDED_PORTS.start + (first + step) % 512);
        let port = ports.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", BECOME_BROWSER, "sh"]).arg(executable);
        command.args(["--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"]);
        command.args(["--disable-component-update", "--disable-sync", "--remote-debugging-pipe"]);
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        command.arg(format!("--remote-debugging-port={port}"));
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let stranger = Self { child: command.spawn().unwrap(), port, _profile: profile };
        wait_until("another browser", PATIENCE, || stranger.tabs().contains(&(title.to_owned(), url.to_owned())));
        stranger
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Titles and URLs of its pages; empty while it does not answer.
    pub fn tabs(&self) -> Vec<(String, String)> {
        let tabs = self.ask("GET", "/json/list").unwrap_or_default();
        let text = |tab: &Json, key: &str| tab[key].as_str().unwrap_or_default().to_owned();
        let pages = tabs.as_array().into_iter().flatten().filter(|tab| tab["type"] == "page");
        let mut tabs: Vec<_> = pages.map(|tab| (text(tab, "title"), text(tab, "url"))).collect();
        tabs.sort();
        tabs
    }

    /// Opens a tab, as its user does.
    pub fn open(&self, url: &str) {
        // The attacks may delay the browser; the effect is checked later.
        let _ = self.ask("PUT", &format!("/json/new?{url}"));
    }

    fn ask(&self, method: &str, path: &str) -> io::Result<Json> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or_default();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
        // The profile can be removed only when no process writes to it any more.
        wait_until("the end of another browser", PATIENCE, || test_kill_process_group(group).is_err());
    }
}

/// Percent-encodes a text for a URL.
pub fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
