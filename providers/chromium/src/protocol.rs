//! The protocol description of the exact browser version, as the browser itself reports it.

use crate::{
    confine::Confinement,
    endpoint::{Endpoint, Version},
    http,
    launch::Browser,
    options::LaunchOptions,
    schema::{CommandSpec, Domain, EventSpec, Shape, TypeSpec},
};
use chromiumoxide_cdp::cdp::browser_protocol::browser::GetVersionReturns;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::Deserialize;
use std::{
    collections::HashMap,
    fmt,
    fs::{self, DirBuilder, OpenOptions},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The number of cached protocols; a host rarely uses more than one browser version, or more than a few endpoints.
const CACHED_MAX: usize = 4;

/// The maximum size of a protocol file.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The folder, next to the protocol files, for the profiles of browsers that are started to describe themselves.
const PROFILES: &str = "describing";

/// Protocols, keyed by the version that the browser reports and, for those of endpoints, by the endpoint's host.
type Cache = Vec<(String, Arc<Protocol>)>;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);
/// One caller reads the protocol of a program at a time; the others then find its result in the cache.
static READING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The protocol of one version of a browser.
pub struct Protocol {
    domains: Vec<Domain>,
    /// Keyed by full name, such as `Page.navigate`: the index of the domain, and of the member in it.
    commands: HashMap<String, (usize, usize)>,
    events: HashMap<String, (usize, usize)>,
    types: HashMap<String, (usize, usize)>,
}

#[derive(Deserialize)]
struct Document {
    domains: Vec<Domain>,
}

impl Protocol {
    /// Reads the protocol of the browser behind an endpoint, once per host, browser version and process.
    ///
    /// `version` is the browser's answer to `Browser.getVersion`.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` if the endpoint does not serve it; some remote ones do not.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn read(
        endpoint: &Endpoint,
        version: &GetVersionReturns,
        timeout: Duration,
    ) -> Result<Arc<Self>, ErrorReport> {
        // With the host: what one endpoint says of a version is not believed of another endpoint's browser, nor of one
        // that codemode launched.
        let key = format!("{} {}", endpoint.url()?.origin().ascii_serialization(), name_of(version));
        if let Some(protocol) = cached(&key) {
            return Ok(protocol);
        }
        let body = document(endpoint, Instant::now() + timeout).await?;
        // Parsing megabytes of JSON would block a runtime thread.
        let parsed = tokio::task::spawn_blocking(move || Self::parse(&body)).await;
        let protocol = Arc::new(parsed.map_err(|error| unreadable(&error))??);
        cache(key, &protocol);
        Ok(protocol)
    }

    /// The protocol of a browser that codemode launched. Such a browser has no port from which to read the protocol; so
    /// the first time that a browser version is used, the program is started once more, without a page and with a
    /// profile of its own, and describes itself. The result is stored in `folder`, which only its user may write to.
    ///
    /// `version` is the browser's answer to `Browser.getVersion`.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` if the program has changed to another version, or does not describe itself, or if another
    /// call reads the protocol for longer than `timeout`; `IO_ERROR` if the folder cannot be used.
    ///
    /// # Cancellation
    /// May be dropped at any time: a browser that was started to describe itself is ended.
    pub async fn of_program(
        program: &Path,
        version: &GetVersionReturns,
        folder: &Path,
        timeout: Duration,
    ) -> Result<Arc<Self>, ErrorReport> {
        let key = name_of(version);
        if let Some(protocol) = cached(&key) {
            return Ok(protocol);
        }
        let deadline = Instant::now() + timeout;
        let _reading = tokio::time::timeout_at(deadline, READING.lock()).await.map_err(|_| {
            unreadable(&format!("another call has not finished reading it within {} ms", timeout.as_millis()))
        })?;
        if let Some(protocol) = cached(&key) {
            return Ok(protocol);
        }
        let file = folder.join(format!("protocol-{}.json", &blake3::hash(key.as_bytes()).to_hex()[..16]));
        let kept = {
            let file = file.clone();
            tokio::task::spawn_blocking(move || Self::parse(&read(&file).ok()?).ok()).await
        };
        let protocol = match kept {
            Ok(Some(protocol)) => protocol,
            _ => {
                let body = describe(program, version, folder, deadline).await?;
                let parsed = tokio::task::spawn_blocking(move || {
                    let protocol = Self::parse(&body)?;
                    // If it cannot be stored, it is read again next time.
                    if let Err(error) = write(&file, &body) {
                        tracing::warn!(%error, "the protocol of a browser could not be kept");
                    }
                    Ok::<_, ErrorReport>(protocol)
                });
                parsed.await.map_err(|error| unreadable(&error))??
            }
        };
        let protocol = Arc::new(protocol);
        cache(key, &protocol);
        Ok(protocol)
    }

    /// Parses a protocol document in the format of `/json/protocol`.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` if the document does not have that format.
    pub fn parse(document: &[u8]) -> Result<Self, ErrorReport> {
        let Document { domains } = serde_json::from_slice(document).map_err(|error| unreadable(&error))?;
        let (mut commands, mut events, mut types) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (place, domain) in domains.iter().enumerate() {
            let full = |name: &str| format!("{}.{name}", domain.name);
            commands.extend(domain.commands.iter().enumerate().map(|(at, spec)| (full(&spec.name), (place, at))));
            events.extend(domain.events.iter().enumerate().map(|(at, spec)| (full(&spec.name), (place, at))));
            types.extend(domain.types.iter().enumerate().map(|(at, spec)| (full(&spec.id), (place, at))));
        }
        Ok(Self { domains, commands, events, types })
    }

    /// Every domain, in the browser's order.
    pub fn domains(&self) -> impl Iterator<Item = &Domain> {
        self.domains.iter()
    }

    /// The domain with a name.
    #[must_use]
    pub fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.iter().find(|domain| domain.name == name)
    }

    /// The command with a full name, such as `Page.navigate`.
    #[must_use]
    pub fn command(&self, name: &str) -> Option<&CommandSpec> {
        self.commands.get(name).map(|(domain, at)| &self.domains[*domain].commands[*at])
    }

    /// The event with a full name, such as `Page.loadEventFired`.
    #[must_use]
    pub fn event(&self, name: &str) -> Option<&EventSpec> {
        self.events.get(name).map(|(domain, at)| &self.domains[*domain].events[*at])
    }

    /// The type with a full name, such as `Page.FrameId`.
    #[must_use]
    pub fn type_(&self, name: &str) -> Option<&TypeSpec> {
        self.types.get(name).map(|(domain, at)| &self.domains[*domain].types[*at])
    }

    /// The command that a wrong name most likely meant: in different case, in another domain, without a domain, or by
    /// the name that other tools use for it. `None` if no command is similar enough.
    #[must_use]
    pub fn nearest_command(&self, name: &str) -> Option<String> {
        let names = self
            .domains
            .iter()
            .flat_map(|domain| domain.commands.iter().map(|command| (domain.name.as_str(), command.name.as_str())));
        crate::nearest::nearest(name, names)
    }

    /// The event that a wrong name most likely meant, as [`Protocol::nearest_command`].
    #[must_use]
    pub fn nearest_event(&self, name: &str) -> Option<String> {
        let names = self
            .domains
            .iter()
            .flat_map(|domain| domain.events.iter().map(|event| (domain.name.as_str(), event.name.as_str())));
        crate::nearest::nearest(name, names)
    }

    /// Resolves a type reference that occurs in a domain. Returns the shape, and the domain in which the shape's own
    /// references are resolved.
    pub(crate) fn resolve<'a>(&'a self, domain: &'a str, reference: &'a str) -> Option<(&'a str, &'a Shape)> {
        let (domain, shape) = match reference.split_once('.') {
            Some((domain, _)) => (domain, self.type_(reference)),
            None => (domain, self.type_(&format!("{domain}.{reference}"))),
        };
        shape.map(|spec| (domain, &spec.shape))
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Protocol")
            .field("domains", &self.domains.len())
            .field("commands", &self.commands.len())
            .field("events", &self.events.len())
            .finish_non_exhaustive()
    }
}

/// The exact version of a browser, down to the commit.
fn name_of(version: &GetVersionReturns) -> String {
    [&*version.product, &*version.protocol_version, &*version.revision].join(" ")
}

fn cached(key: &str) -> Option<Arc<Protocol>> {
    let cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.iter().find(|(known, _)| known == key).map(|(_, protocol)| Arc::clone(protocol))
}

fn cache(key: String, protocol: &Arc<Protocol>) {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    // Two callers may have read it at the same time.
    cache.retain(|(known, _)| *known != key);
    if cache.len() == CACHED_MAX {
        cache.remove(0);
    }
    cache.push((key, Arc::clone(protocol)));
}

async fn document(endpoint: &Endpoint, deadline: Instant) -> Result<hyper::body::Bytes, ErrorReport> {
    let url = endpoint.http_url("/json/protocol")?;
    http::get(&url, &endpoint.headers, deadline.saturating_duration_since(Instant::now())).await
}

/// Starts a browser without any data, and reads the protocol description from it.
async fn describe(
    program: &Path,
    version: &GetVersionReturns,
    folder: &Path,
    deadline: Instant,
) -> Result<hyper::body::Bytes, ErrorReport> {
    let profiles_dir = folder.join(PROFILES);
    let left = profiles_dir.clone();
    // Removes what an earlier, killed attempt left behind.
    let _ = tokio::task::spawn_blocking(move || crate::reap(&left)).await;
    let browser = Browser::launch(LaunchOptions {
        executable: program.to_owned(),
        profiles_dir: profiles_dir.clone(),
        name: format!("p-{:016x}", RandomState::new().build_hasher().finish()),
        downloads_dir: None,
        keep_profile: false,
        bound_to_thread: true,
        headless: true,
        confinement: Confinement::default(),
        listens: true,
        proxy: None,
        start_timeout: deadline.saturating_duration_since(Instant::now()),
    })
    .await?;
    let described = async {
        let endpoint = browser.endpoint().ok_or_else(|| unreadable(&"the program does not say where it listens"))?;
        let left = deadline.saturating_duration_since(Instant::now());
        let Version { browser: product, .. } =
            Version::get(&endpoint.http_url("/json/version")?, &endpoint.headers, left).await?;
        if version.product != product {
            let message = format!("the program is {product} by now, and the browser is {}", version.product);
            return Err(unreadable(&message));
        }
        document(endpoint, deadline).await
    };
    let described = described.await;
    browser.close().await?;
    // Fails harmlessly if another process is using the folder.
    let _ = fs::remove_dir(&profiles_dir);
    described
}

/// Reads a file that belongs to this user and is not a link.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    let metadata = opened.metadata()?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is not ours"));
    }
    let mut text = Vec::new();
    opened.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// Writes a file atomically, readable for this user only.
fn write(file: &Path, text: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(file.parent().unwrap_or(Path::new(".")))?;
    let new: PathBuf = file.with_extension(format!("{:016x}.new", RandomState::new().build_hasher().finish()));
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = out.write_all(text).and_then(|()| fs::rename(&new, file));
    written.inspect_err(|_| drop(fs::remove_file(&new)))
}

fn unreadable(error: &dyn fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("the browser's protocol cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn version(product: &str) -> GetVersionReturns {
        GetVersionReturns {
            protocol_version: "1.3".to_owned(),
            product: product.to_owned(),
            revision: "@0".to_owned(),
            user_agent: String::new(),
            js_version: String::new(),
        }
    }

    /// An endpoint that describes its protocol with one domain.
    async fn endpoint(domain: &'static str) -> Endpoint {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ws_url = format!("ws://{}/devtools/browser/x", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let body = format!(r#"{{"domains": [{{"domain": "{domain}", "commands": []}}]}}"#);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await.unwrap();
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            }
        });
        Endpoint { ws_url, headers: Vec::new() }
    }

    #[tokio::test]
    async fn an_endpoint_describes_its_own_browser_only() {
        let (timeout, version) = (Duration::from_secs(10), version("Chrome/0.0.0.1"));
        let (honest, forging) = (endpoint("Honest").await, endpoint("Forging").await);
        for _ in 0..2 {
            for (endpoint, name) in [(&forging, "Forging"), (&honest, "Honest")] {
                let protocol = Protocol::read(endpoint, &version, timeout).await.unwrap();
                assert!(protocol.domain(name).is_some(), "{name}: {protocol:?}");
            }
        }
        // The program of that version does not exist, so that only what is cached could describe it.
        let folder = tempfile::tempdir().unwrap();
        Protocol::of_program(Path::new("/nowhere"), &version, folder.path(), timeout).await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_waits_no_longer_than_its_timeout_for_another_one_that_reads() {
        let _reading = READING.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let version = version("Chrome/0.0.0.0");
        let timeout = Duration::from_secs(5);
        let began = Instant::now();
        let read = Protocol::of_program(Path::new("/nowhere"), &version, folder.path(), timeout);
        let read = tokio::time::timeout(Duration::from_secs(600), read).await.expect("it stops waiting");
        assert_eq!((read.unwrap_err().code, began.elapsed()), (ErrorCode::CdpConnectionFailed, timeout));
    }
}
