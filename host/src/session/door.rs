//! The way to a session's browser: a Unix socket in the state folder, at which the browser's keeper listens.
//!
//! A client says which lease it holds. The keeper checks the lease in the store, gives the client a protocol session of
//! its own in the browser, and from then on passes messages on. The lease is checked again before each message: the
//! keeper is the only process that can write to the browser, so that no other message can come between check and write.
//! When the lease is lost, the connection is closed; before the next holder is let in, everything that the last holder
//! had in the browser is gone.
//!
//! Operators may see the URLs of the pages without a lease: the keeper asks the browser for them.

use super::{
    rules::lease_after_promotion,
    store::{LeaseName, LeaseRef, Store, StoreError},
};
use codemode_chromium::{REFUSED, Relay};
use codemode_provider::BrowserChannel;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{DOOR_CLIENTS_MAX, DOOR_WORDS_BYTES_MAX, SESSION_PAGES_NAMED_MAX},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;
use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::watch,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// How long either side may take for the first words, the browser's answer included.
const GREETING_MAX: Duration = Duration::from_secs(10);
/// Bytes of a path for which a socket's address in the kernel has room.
const ADDRESS_BYTES_MAX: usize = 100;

/// The first message of a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Hello {
    /// The client holds this lease.
    Use { lease: String, token: u64, execution: String },
    /// The client wants the URLs of the pages.
    Look,
}

/// The keeper's answer to the first message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Welcome {
    /// Messages may follow, all of them below this protocol session.
    Root(String),
    /// The pages' URLs.
    Pages(Vec<String>),
    /// The client is not let in.
    Refused(Box<ErrorReport>),
}

/// The keeper's side. When it is dropped, the socket is removed and its clients are disconnected.
pub(super) struct Door {
    inner: Arc<Inner>,
    path: PathBuf,
    _accepting: AbortOnDropHandle<()>,
}

struct Inner {
    session: String,
    relay: Relay,
    store: Arc<dyn Store>,
    guests: Mutex<Vec<Guest>>,
}

/// A client that was let in.
struct Guest {
    pass: Arc<Pass>,
    leave: CancellationToken,
    /// Closed when everything that the client had in the browser is gone.
    left: watch::Receiver<()>,
}

/// The lease that a client came with.
struct Pass {
    execution: String,
    lease: Mutex<LeaseRef>,
}

impl Door {
    /// Opens the door to the browser of a session.
    ///
    /// # Errors
    /// `IO_ERROR` when there can be no socket.
    pub(super) fn open(folder: &Path, session: &str, relay: Relay, store: Arc<dyn Store>) -> Result<Self, ErrorReport> {
        let path = socket(folder, session);
        let failed = |error: io::Error| {
            ErrorReport::new(ErrorCode::IoError, format!("could not listen at {}: {error}", path.display()))
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        // The socket of a dead keeper: no other session has this name.
        let _ = fs::remove_file(&path);
        let (address, _folder) = address(&path).map_err(failed)?;
        let listener = UnixListener::bind(address).map_err(failed)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
        let inner = Inner { session: session.to_owned(), relay, store, guests: Mutex::default() };
        let inner = Arc::new(inner);
        let accepting = tokio::spawn(accept(listener, Arc::clone(&inner)));
        Ok(Self { inner, path, _accepting: AbortOnDropHandle::new(accepting) })
    }

    /// Disconnects the clients whose lease is not held any more.
    pub(super) async fn close_to_others(&self) {
        let inner = &self.inner;
        let guests: Vec<_> = {
            let mut guests = inner.guests();
            guests.retain(|guest| guest.left.has_changed().is_ok());
            guests.iter().map(|guest| (Arc::clone(&guest.pass), guest.leave.clone())).collect()
        };
        for (pass, leave) in guests {
            if !inner.admits(&pass).await {
                leave.cancel();
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.inner.guests().iter().for_each(|guest| guest.leave.cancel());
    }
}

async fn accept(listener: UnixListener, inner: Arc<Inner>) {
    let own = rustix::process::geteuid().as_raw();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Perhaps no file descriptor is left: other connections must end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // A second check: the folder is closed to other users already.
        if stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
            tokio::spawn(Arc::clone(&inner).receive(stream));
        }
    }
}

impl Inner {
    async fn receive(self: Arc<Self>, mut stream: UnixStream) {
        let hello = tokio::time::timeout(GREETING_MAX, hear(&mut stream)).await;
        let Ok(Ok(hello)) = hello else { return };
        match hello {
            Hello::Look => drop(say(&mut stream, &Welcome::Pages(self.pages().await)).await),
            Hello::Use { lease, token, execution } => {
                let Some(lease) = LeaseName::parse(&lease).map(|name| LeaseRef { name, token }) else { return };
                let pass = Arc::new(Pass { execution, lease: Mutex::new(lease) });
                if let Err(report) = self.serve(stream, pass).await {
                    tracing::debug!(%report, "a client was not let in");
                }
            }
        }
    }

    async fn serve(&self, mut stream: UnixStream, pass: Arc<Pass>) -> Result<(), ErrorReport> {
        let admitted = async {
            self.check(&pass).await?;
            self.make_room_for(&pass).await?;
            self.relay.attach().await
        };
        let attached = match admitted.await {
            Ok(attached) => attached,
            Err(report) => {
                let _ = say(&mut stream, &Welcome::Refused(Box::new(report.clone()))).await;
                return Err(report);
            }
        };
        let (leaving, left) = watch::channel(());
        self.guests().push(Guest { pass: Arc::clone(&pass), leave: attached.stop(), left });
        if say(&mut stream, &Welcome::Root(attached.root().to_owned())).await.is_ok() {
            attached.serve(stream, || self.admits(&pass)).await;
        } else {
            attached.detach().await;
        }
        drop(leaving);
        Ok(())
    }

    /// Disconnects the clients that came with another lease, and waits until nothing of them is left in the browser.
    async fn make_room_for(&self, pass: &Pass) -> Result<(), ErrorReport> {
        let lease = pass.lease().clone();
        let others: Vec<_> = {
            let mut guests = self.guests();
            guests.retain(|guest| guest.left.has_changed().is_ok());
            if guests.len() >= DOOR_CLIENTS_MAX {
                let message = format!("the browser has {DOOR_CLIENTS_MAX} connections already");
                return Err(ErrorReport::new(ErrorCode::CapacityExceeded, message));
            }
            let others = guests.iter().filter(|guest| *guest.pass.lease() != lease);
            others.map(|guest| (guest.leave.clone(), guest.left.clone())).collect()
        };
        others.iter().for_each(|(leave, _)| leave.cancel());
        for (_, mut left) in others {
            let _ = left.changed().await;
        }
        Ok(())
    }

    async fn admits(&self, pass: &Pass) -> bool {
        self.check(pass).await.is_ok()
    }

    /// Whether a client may go on. Its lease may have become the lease of a key: the key for which its execution
    /// promoted the session.
    async fn check(&self, pass: &Pass) -> Result<(), StoreError> {
        let lease = pass.lease().clone();
        let Err(error) = self.store.lease_check(&lease, &self.session).await else { return Ok(()) };
        // Only the lease on a session without a key can have become the lease of a key.
        if matches!(error, StoreError::NotHeld(_))
            && lease.name.key().is_none()
            && let Some(session) = self.store.session(&self.session).await?
        {
            let leases = self.store.leases().await?;
            if let Some(promoted) = lease_after_promotion(&lease, &session, &leases, &pass.execution) {
                *pass.lease() = promoted.clone();
                return self.store.lease_check(&promoted, &self.session).await;
            }
        }
        Err(error)
    }

    /// The URLs of the pages.
    async fn pages(&self) -> Vec<String> {
        let targets = self.relay.call("Target.getTargets", json!({}), GREETING_MAX).await.unwrap_or_default();
        let pages = targets["targetInfos"].as_array().into_iter().flatten().filter(|target| target["type"] == "page");
        let urls = pages.filter_map(|page| page["url"].as_str());
        // A page can make its URL as long as it likes.
        let urls = urls.map(|url| url.chars().take(DOOR_WORDS_BYTES_MAX / SESSION_PAGES_NAMED_MAX / 8).collect());
        urls.take(SESSION_PAGES_NAMED_MAX).collect()
    }

    fn guests(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    fn lease(&self) -> MutexGuard<'_, LeaseRef> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects to a session's browser under a lease.
///
/// # Errors
/// The keeper's refusal, and `CDP_CONNECTION_FAILED` when there is no keeper, with [`REFUSED`] if that is certain.
pub(super) async fn enter(
    folder: &Path,
    session: &str,
    lease: &LeaseRef,
    execution: &str,
) -> Result<BrowserChannel, ErrorReport> {
    let hello =
        Hello::Use { lease: lease.name.as_str().to_owned(), token: lease.token, execution: execution.to_owned() };
    match greet(folder, session, &hello).await? {
        (Welcome::Root(root), socket) => Ok(BrowserChannel { socket, root }),
        (Welcome::Refused(report), _) => Err(*report),
        (Welcome::Pages(_), _) => Err(unreachable(session, &"its keeper answered something else")),
    }
}

/// The URLs of the pages of a session's browser; none if the keeper does not answer.
pub(super) async fn pages(folder: &Path, session: &str) -> Vec<String> {
    match greet(folder, session, &Hello::Look).await {
        Ok((Welcome::Pages(pages), _)) => pages,
        _ => Vec::new(),
    }
}

/// Removes the sockets of keepers that do not live any more.
pub(super) fn sweep(folder: &Path, is_alive: impl Fn(&str) -> bool) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.file_stem().and_then(|name| name.to_str()).is_some_and(|session| !is_alive(session)) {
            let _ = fs::remove_file(&path);
        }
    }
}

async fn greet(folder: &Path, session: &str, hello: &Hello) -> Result<(Welcome, UnixStream), ErrorReport> {
    let greeted = tokio::time::timeout(GREETING_MAX, async {
        let path = socket(folder, session);
        let (address, _folder) = address(&path)?;
        let mut stream = UnixStream::connect(address).await?;
        say(&mut stream, hello).await?;
        Ok::<_, io::Error>((hear(&mut stream).await?, stream))
    });
    let error = match greeted.await {
        Ok(Ok(greeted)) => return Ok(greeted),
        Ok(Err(error)) => error,
        Err(_) => {
            return Err(unreachable(session, &format!("there was no answer within {} ms", GREETING_MAX.as_millis())));
        }
    };
    let is_certain = matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    );
    let report = unreachable(session, &error);
    Err(if is_certain { report.with_detail(REFUSED, true) } else { report })
}

fn unreachable(session: &str, why: &dyn std::fmt::Display) -> ErrorReport {
    let message = format!("the browser of the session {session} cannot be reached: {why}");
    ErrorReport::new(ErrorCode::CdpConnectionFailed, message)
}

/// The socket of a session.
fn socket(folder: &Path, session: &str) -> PathBuf {
    folder.join(session).with_extension("sock")
}

/// The path of a socket for the kernel, which takes short paths only: a long path goes by its folder's descriptor.
fn address(path: &Path) -> io::Result<(PathBuf, Option<OwnedFd>)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok((path.to_owned(), None)) };
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((path.to_owned(), None));
    }
    let folder: OwnedFd = fs::File::open(folder)?.into();
    Ok((Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name), Some(folder)))
}

/// Sends a greeting: its length and its JSON, so that its reader takes no byte of the messages that follow.
async fn say(stream: &mut UnixStream, words: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(words)?;
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    stream.write_all(&[&length.to_le_bytes()[..], &text].concat()).await
}

async fn hear<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let length = usize::try_from(stream.read_u32_le().await?).unwrap_or(usize::MAX);
    if length > DOOR_WORDS_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text).await?;
    Ok(serde_json::from_slice(&text)?)
}
