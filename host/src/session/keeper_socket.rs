//! The connection to a session's browser: a Unix socket in the state folder, on which the browser's keeper listens.
//!
//! A client opens with a handshake that names its lease. The keeper checks the lease in the store, attaches a dedicated
//! root session of the protocol for the client, and from then on relays messages. It checks the lease again before each
//! message: the keeper is the only process that can write to the browser, so no other message can come between check
//! and write. When the lease is lost, the keeper closes the connection. Before it admits the next holder, everything
//! that the last holder had in the browser has been removed.
//!
//! Operators can list the URLs of the pages without a lease: the keeper requests them from the browser.

use super::{
    rules::lease_after_promotion,
    store::{LeaseName, LeaseRef, Store, StoreError},
};
use codemode_chromium::{REFUSED, Relay};
use codemode_provider::BrowserChannel;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{HANDSHAKE_BYTES_MAX, KEEPER_CLIENTS_MAX, KEEPER_CONNECTIONS_MAX, SESSION_PAGES_NAMED_MAX},
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
    sync::{Semaphore, SemaphorePermit, watch},
    task::JoinSet,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// How long the handshake may take, including the browser's reply.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// The longest path that is passed to the kernel as a socket address; the kernel's own limit is 108 bytes.
const ADDRESS_BYTES_MAX: usize = 100;

/// The first message of a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Handshake {
    /// The client holds this lease.
    Use { lease: String, token: u64, execution: String },
    /// The client requests the URLs of the pages.
    Look,
}

/// The keeper's reply to the handshake.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HandshakeReply {
    /// Messages may follow, all of them below this protocol session.
    Root(String),
    /// The pages' URLs.
    Pages(Vec<String>),
    /// The client is not admitted.
    Refused(Box<ErrorReport>),
}

/// The keeper's listening socket. Dropping it removes the socket and disconnects its clients.
pub(super) struct KeeperSocket {
    inner: Arc<Inner>,
    path: PathBuf,
    _accepting: AbortOnDropHandle<()>,
}

struct Inner {
    session: String,
    relay: Relay,
    store: Arc<dyn Store>,
    clients: Mutex<Vec<Client>>,
    /// A permit is a client, from before it is attached until everything that it had in the browser has been removed.
    places: Semaphore,
}

/// An admitted client.
struct Client {
    held: Arc<ClientLease>,
    disconnect: CancellationToken,
    /// Closed when everything that the client had in the browser has been removed.
    disconnected: watch::Receiver<()>,
}

/// The lease that a client named in its handshake.
struct ClientLease {
    execution: String,
    lease: Mutex<LeaseRef>,
}

impl KeeperSocket {
    /// Listens for clients of a session's browser.
    ///
    /// # Errors
    /// `IO_ERROR` when the socket cannot be created.
    pub(super) fn listen(
        folder: &Path,
        session: &str,
        relay: Relay,
        store: Arc<dyn Store>,
    ) -> Result<Self, ErrorReport> {
        let path = socket_path(folder, session);
        let failed = |error: io::Error| {
            ErrorReport::new(ErrorCode::IoError, format!("could not listen at {}: {error}", path.display()))
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        // Removes the socket of a dead keeper of this session.
        let _ = fs::remove_file(&path);
        let (address, _folder) = kernel_path(&path).map_err(failed)?;
        let listener = UnixListener::bind(address).map_err(failed)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
        let inner = Arc::new(Inner {
            session: session.to_owned(),
            relay,
            store,
            clients: Mutex::default(),
            places: Semaphore::new(KEEPER_CLIENTS_MAX),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&inner)));
        Ok(Self { inner, path, _accepting: AbortOnDropHandle::new(accepting) })
    }

    /// Disconnects the clients whose lease is not held any more.
    pub(super) async fn disconnect_stale(&self) {
        let inner = &self.inner;
        let clients: Vec<_> = {
            let mut clients = inner.clients();
            clients.retain(Client::is_connected);
            clients.iter().map(|client| (Arc::clone(&client.held), client.disconnect.clone())).collect()
        };
        for (held, disconnect) in clients {
            if !inner.is_valid(&held).await {
                disconnect.cancel();
            }
        }
    }
}

impl Drop for KeeperSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn accept(listener: UnixListener, inner: Arc<Inner>) {
    let own = rustix::process::geteuid().as_raw();
    // The tasks of all connections. They are aborted when this task is.
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if connections.len() < KEEPER_CONNECTIONS_MAX => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            // Probably no file descriptor is available: other connections must close first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Defence in depth: the mode of the folder excludes other users already.
        if stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
            connections.spawn(Arc::clone(&inner).receive(stream));
        }
    }
}

impl Inner {
    async fn receive(self: Arc<Self>, mut stream: UnixStream) {
        let handshake = tokio::time::timeout(HANDSHAKE_MAX, read_frame(&mut stream)).await;
        let Ok(Ok(handshake)) = handshake else { return };
        match handshake {
            Handshake::Look => drop(write_frame(&mut stream, &HandshakeReply::Pages(self.pages().await)).await),
            Handshake::Use { lease, token, execution } => {
                let Some(lease) = LeaseName::parse(&lease).map(|name| LeaseRef { name, token }) else { return };
                let held = Arc::new(ClientLease { execution, lease: Mutex::new(lease) });
                if let Err(report) = self.serve(stream, held).await {
                    tracing::debug!(%report, "a client was not let in");
                }
            }
        }
    }

    async fn serve(&self, mut stream: UnixStream, held: Arc<ClientLease>) -> Result<(), ErrorReport> {
        let admitted = async {
            self.check(&held).await?;
            self.disconnect_others(&held).await;
            let place = self.place()?;
            self.relay.attach().await.map(|attached| (attached, place))
        };
        let (attached, place) = match admitted.await {
            Ok(admitted) => admitted,
            Err(report) => {
                let _ = write_frame(&mut stream, &HandshakeReply::Refused(Box::new(report.clone()))).await;
                return Err(report);
            }
        };
        let (disconnected_tx, disconnected) = watch::channel(());
        let client = Client { held: Arc::clone(&held), disconnect: attached.stop(), disconnected };
        {
            let mut clients = self.clients();
            clients.retain(Client::is_connected);
            clients.push(client);
        }
        if write_frame(&mut stream, &HandshakeReply::Root(attached.root().to_owned())).await.is_ok() {
            attached.serve(stream, || self.is_valid(&held)).await;
        } else {
            attached.detach().await;
        }
        // The next holder may wait for this client to be disconnected, and then needs a place.
        drop(place);
        drop(disconnected_tx);
        Ok(())
    }

    /// Disconnects the clients of other leases, and waits until everything that they had in the browser has been
    /// removed.
    async fn disconnect_others(&self, held: &ClientLease) {
        let lease = held.lease().clone();
        let others: Vec<_> = {
            let clients = self.clients();
            let others = clients.iter().filter(|client| *client.held.lease() != lease);
            others.map(|client| (client.disconnect.clone(), client.disconnected.clone())).collect()
        };
        others.iter().for_each(|(disconnect, _)| disconnect.cancel());
        for (_, mut disconnected) in others {
            let _ = disconnected.changed().await;
        }
    }

    /// Reserves the place of one more client.
    fn place(&self) -> Result<SemaphorePermit<'_>, ErrorReport> {
        self.places.try_acquire().map_err(|_| {
            let message = format!("the browser has {KEEPER_CLIENTS_MAX} connections already");
            ErrorReport::new(ErrorCode::CapacityExceeded, message)
        })
    }

    async fn is_valid(&self, held: &ClientLease) -> bool {
        self.check(held).await.is_ok()
    }

    /// Checks that a client still holds the lease of the session. If its execution promoted the session, the client's
    /// lease is now that of the key.
    async fn check(&self, held: &ClientLease) -> Result<(), StoreError> {
        let lease = held.lease().clone();
        let Err(error) = self.store.lease_check(&lease, &self.session).await else { return Ok(()) };
        // Only the lease on a session without a key can be replaced by the lease of a key.
        if matches!(error, StoreError::NotHeld(_))
            && lease.name.key().is_none()
            && let Some(session) = self.store.session(&self.session).await?
        {
            let leases = self.store.leases().await?;
            if let Some(promoted) = lease_after_promotion(&lease, &session, &leases, &held.execution) {
                *held.lease() = promoted.clone();
                return self.store.lease_check(&promoted, &self.session).await;
            }
        }
        Err(error)
    }

    /// The URLs of the pages.
    async fn pages(&self) -> Vec<String> {
        let targets = self.relay.call("Target.getTargets", json!({}), HANDSHAKE_MAX).await.unwrap_or_default();
        let pages = targets["targetInfos"].as_array().into_iter().flatten().filter(|target| target["type"] == "page");
        let urls = pages.filter_map(|page| page["url"].as_str());
        // Pages choose the length of their URLs.
        let urls = urls.map(|url| url.chars().take(HANDSHAKE_BYTES_MAX / SESSION_PAGES_NAMED_MAX / 8).collect());
        urls.take(SESSION_PAGES_NAMED_MAX).collect()
    }

    fn clients(&self) -> MutexGuard<'_, Vec<Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    fn is_connected(&self) -> bool {
        self.disconnected.has_changed().is_ok()
    }
}

impl ClientLease {
    fn lease(&self) -> MutexGuard<'_, LeaseRef> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects to a session's browser under a lease.
///
/// # Errors
/// The keeper's refusal, and `CDP_CONNECTION_FAILED` when the keeper does not answer, with the detail [`REFUSED`] if it
/// certainly does not exist.
pub(super) async fn connect(
    folder: &Path,
    session: &str,
    lease: &LeaseRef,
    execution: &str,
) -> Result<BrowserChannel, ErrorReport> {
    let handshake =
        Handshake::Use { lease: lease.name.as_str().to_owned(), token: lease.token, execution: execution.to_owned() };
    match perform_handshake(folder, session, &handshake).await? {
        (HandshakeReply::Root(root), socket) => Ok(BrowserChannel { socket, root }),
        (HandshakeReply::Refused(report), _) => Err(*report),
        (HandshakeReply::Pages(_), _) => Err(unreachable(session, &"its keeper answered something else")),
    }
}

/// The URLs of the pages of a session's browser; empty if the keeper does not answer.
pub(super) async fn pages(folder: &Path, session: &str) -> Vec<String> {
    match perform_handshake(folder, session, &Handshake::Look).await {
        Ok((HandshakeReply::Pages(pages), _)) => pages,
        _ => Vec::new(),
    }
}

/// Removes the sockets of dead keepers.
pub(super) fn remove_stale(folder: &Path, is_alive: impl Fn(&str) -> bool) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.file_stem().and_then(|name| name.to_str()).is_some_and(|session| !is_alive(session)) {
            let _ = fs::remove_file(&path);
        }
    }
}

async fn perform_handshake(
    folder: &Path,
    session: &str,
    handshake: &Handshake,
) -> Result<(HandshakeReply, UnixStream), ErrorReport> {
    let result = tokio::time::timeout(HANDSHAKE_MAX, async {
        let path = socket_path(folder, session);
        let (address, _folder) = kernel_path(&path)?;
        let mut stream = UnixStream::connect(address).await?;
        write_frame(&mut stream, handshake).await?;
        Ok::<_, io::Error>((read_frame(&mut stream).await?, stream))
    });
    let error = match result.await {
        Ok(Ok(result)) => return Ok(result),
        Ok(Err(error)) => error,
        Err(_) => {
            return Err(unreachable(session, &format!("there was no answer within {} ms", HANDSHAKE_MAX.as_millis())));
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
fn socket_path(folder: &Path, session: &str) -> PathBuf {
    folder.join(session).with_extension("sock")
}

/// The path of a socket as the kernel accepts it. A path that is too long is expressed through its folder's descriptor,
/// which must stay open meanwhile.
fn kernel_path(path: &Path) -> io::Result<(PathBuf, Option<OwnedFd>)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok((path.to_owned(), None)) };
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((path.to_owned(), None));
    }
    let folder: OwnedFd = fs::File::open(folder)?.into();
    Ok((Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name), Some(folder)))
}

/// Writes a length-prefixed JSON frame, so that the reader consumes no byte of the messages that follow.
async fn write_frame(stream: &mut UnixStream, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    stream.write_all(&[&length.to_le_bytes()[..], &text].concat()).await
}

async fn read_frame<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let length = usize::try_from(stream.read_u32_le().await?).unwrap_or(usize::MAX);
    if length > HANDSHAKE_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text).await?;
    Ok(serde_json::from_slice(&text)?)
}
