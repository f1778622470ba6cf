//! The relay: shares one browser's debugging pipe among several clients.
//!
//! Each client works below a dedicated protocol session (`Target.attachToBrowserTarget`), its *root session*. The relay
//! forwards complete messages only: from a client those that name one of the client's own protocol sessions, and from
//! the browser those of a session to the client that owns the session. When a client disconnects, its root session is
//! detached, and with it the browser drops everything below: sessions, interceptors, disposable contexts (observed with
//! Chromium 156). The next client starts from a clean protocol state.

use crate::{
    connection::Connection,
    descriptor::{Input, Output, Socket},
    destinations::{DESTINATION_FAILED, FailedDestination},
    error::CdpError,
    frames::{Frame, FrameWriter, Frames},
    message::{self, PASSED_OVER_CODE, PASSED_OVER_EVENT},
    reach::REFUSED,
};
use bytes::Bytes;
use chromiumoxide_cdp::cdp::browser_protocol::target::{AttachToBrowserTargetParams, DetachFromTargetParams};
use chromiumoxide_types::Command;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{CDP_COMMAND_BYTES_MAX, CDP_REPLY_BYTES_MAX, RELAY_CLIENTS_MAX, RELAY_SESSIONS_MAX, RELAY_STALL_MS},
};
use futures::{StreamExt as _, future::join_all};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::{
    borrow::Cow,
    collections::HashMap,
    fmt, io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::UnixStream,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::AbortHandle,
};
use tokio_util::{codec::FramedRead, sync::CancellationToken};

/// The timeout for the relay's own commands; a browser that exceeds it is stuck.
const ASK_MAX: Duration = Duration::from_secs(10);

/// The domain of the relay's own events. Chromium has no such domain; messages of the browser with such a name are
/// dropped.
const OWN_DOMAIN: &str = "Codemode.";

/// A browser's debugging pipe and its clients. Clones share one relay; the pipe is closed when the last clone is
/// dropped, whereupon Chromium exits.
#[derive(Clone)]
pub struct Relay {
    owner: Arc<Owner>,
}

struct Owner {
    inner: Arc<Inner>,
    reader: AbortHandle,
}

struct Inner {
    /// The writing end of the pipe. Locked for one message at a time.
    pipe: tokio::sync::Mutex<FrameWriter<Output>>,
    state: Mutex<State>,
    next_id: AtomicU64,
    /// A permit for each client that the browser may have.
    clients: Arc<Semaphore>,
    closed: CancellationToken,
}

#[derive(Default)]
struct State {
    /// The client that owns each protocol session.
    sessions: HashMap<String, Arc<Client>>,
    /// The pending commands of the relay itself.
    pending: HashMap<u64, oneshot::Sender<Result<Json, CdpError>>>,
}

struct Client {
    root: String,
    /// `None` until the client is served.
    stream: tokio::sync::Mutex<Option<FrameWriter<Output>>>,
    gone: CancellationToken,
    /// One of the clients that the browser may have.
    _permit: OwnedSemaphorePermit,
}

/// A client whose root session is attached and which is about to be served. If this is dropped unserved, the root
/// session is detached in the background.
pub struct Attached {
    relay: Relay,
    client: Arc<Client>,
    detached: bool,
}

/// The fields by which a message is routed.
#[derive(Deserialize)]
struct Head<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
}

/// The parameters of `Target.attachedToTarget` and `Target.detachedFromTarget` that name the affected session.
#[derive(Deserialize)]
struct About {
    params: AboutSession,
}

#[derive(Deserialize)]
struct AboutSession {
    #[serde(rename = "sessionId")]
    session: String,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    result: Json,
    error: Option<Json>,
}

impl Relay {
    /// Creates a relay on this process's ends of a browser's debugging pipe. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the runtime cannot register the ends of the pipe.
    pub(crate) fn new(to_browser: OwnedFd, from_browser: OwnedFd) -> io::Result<Self> {
        let writer = FrameWriter::new(Output::new(to_browser)?);
        let reader = FramedRead::new(Input::new(from_browser)?, Frames::up_to(CDP_REPLY_BYTES_MAX));
        let inner = Arc::new(Inner {
            pipe: tokio::sync::Mutex::new(writer),
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            clients: Arc::new(Semaphore::new(RELAY_CLIENTS_MAX)),
            closed: CancellationToken::new(),
        });
        let reader = tokio::spawn(read(reader, Arc::clone(&inner))).abort_handle();
        Ok(Self { owner: Arc::new(Owner { inner, reader }) })
    }

    /// Sends a command to the browser itself, outside of every client's session.
    ///
    /// # Errors
    /// See [`CdpError`].
    ///
    /// # Cancellation
    /// May be dropped at any time. The browser may already be executing the command.
    pub async fn call(&self, method: &str, params: Json, timeout: Duration) -> Result<Json, CdpError> {
        let inner = &self.owner.inner;
        let id = inner.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        inner.state().pending.insert(id, answer);
        let _entry = Entry { inner, id };
        let exchange = async {
            let message = json!({"id": id, "method": method, "params": params}).to_string();
            inner.pipe.lock().await.send(message.into()).await.map_err(|error| closed(&error))?;
            tokio::select! {
                biased;
                answer = answered => answer.unwrap_or_else(|_| Err(closed(&"the browser went away"))),
                () = inner.closed.cancelled() => Err(closed(&"the browser went away")),
            }
        };
        let late = |_| Err(CdpError::Timeout { method: method.to_owned(), timeout });
        tokio::time::timeout(timeout, exchange).await.unwrap_or_else(late)
    }

    /// Sends a typed command to the browser itself, and deserializes the answer as the command's response type.
    ///
    /// # Errors
    /// As [`Self::call`], and [`CdpError::Malformed`] if the answer does not match the type.
    ///
    /// # Cancellation
    /// As [`Self::call`].
    pub(crate) async fn execute<T: Command>(&self, command: &T, timeout: Duration) -> Result<T::Response, CdpError> {
        let malformed = |error: serde_json::Error| CdpError::Malformed { reason: error.to_string() };
        let params = serde_json::to_value(command).map_err(malformed)?;
        let answer = self.call(&command.identifier(), params, timeout).await?;
        T::response_from_value(answer).map_err(malformed)
    }

    /// Attaches a root session for a new client.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` when the browser does not attach a session, or already has the maximum number of
    /// clients.
    ///
    /// # Cancellation
    /// May be dropped at any time; a session that was attached in the meantime lives as long as the browser.
    pub async fn attach(&self) -> Result<Attached, ErrorReport> {
        let failed = |why: &dyn fmt::Display| {
            let message = format!("the browser cannot be connected to: {why}");
            ErrorReport::new(ErrorCode::CdpConnectionFailed, message)
        };
        let inner = &self.owner.inner;
        let Ok(permit) = Arc::clone(&inner.clients).try_acquire_owned() else {
            return Err(failed(&format!("it has {RELAY_CLIENTS_MAX} clients already")));
        };
        let answer = self.execute(&AttachToBrowserTargetParams::default(), ASK_MAX).await;
        let answer = answer.map_err(|error| match error {
            // The pipe is certainly closed.
            CdpError::Closed { .. } => failed(&error).with_detail(REFUSED, true),
            CdpError::Timeout { timeout, .. } => {
                failed(&format!("there was no answer within {} ms", timeout.as_millis()))
            }
            error => failed(&error),
        })?;
        let root = String::from(answer.session_id);
        let client = Arc::new(Client {
            root: root.clone(),
            stream: tokio::sync::Mutex::default(),
            gone: inner.closed.child_token(),
            _permit: permit,
        });
        inner.state().sessions.insert(root, Arc::clone(&client));
        Ok(Attached { relay: self.clone(), client, detached: false })
    }

    /// Opens a connection from this process to the browser.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` when the browser does not answer.
    ///
    /// # Cancellation
    /// As [`Self::attach`].
    pub async fn connect(&self) -> Result<Connection, ErrorReport> {
        let attached = self.attach().await?;
        let (ours, theirs) = UnixStream::pair().map_err(|error| {
            ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("no socket could be made: {error}"))
        })?;
        let connection = Connection::over(ours, attached.root().to_owned())?;
        tokio::spawn(attached.serve(theirs, || std::future::ready(true)));
        Ok(connection)
    }

    /// Notifies all clients of a destination to which the proxy does not connect the browser. All are notified when
    /// this future completes, before any later message of the browser.
    ///
    /// # Cancellation
    /// May be dropped at any time: some clients may then be notified and others not.
    pub async fn tell_failed(&self, failed: &FailedDestination) {
        let clients: HashMap<_, _> = {
            let state = self.owner.inner.state();
            state.sessions.values().map(|client| (client.root.clone(), Arc::clone(client))).collect()
        };
        let told = clients.values().map(|client| {
            let event = json!({"method": DESTINATION_FAILED, "params": failed, "sessionId": client.root});
            client.deliver(event.to_string().into())
        });
        join_all(told).await;
    }

    /// Whether the browser has closed the pipe.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.owner.inner.closed.is_cancelled()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.inner.closed.cancel();
        self.reader.abort();
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Relay").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

impl Attached {
    /// The client's root session.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.client.root
    }

    /// A token whose cancellation ends the service.
    #[must_use]
    pub fn stop(&self) -> CancellationToken {
        self.client.gone.clone()
    }

    /// Forwards messages until the client or the browser disconnects, [`Self::stop`] is cancelled, or `admits` refuses
    /// a message of the client; then detaches the root session. `admits` is called before each message, so late that
    /// nothing can happen between its answer and the write.
    ///
    /// # Cancellation
    /// May be dropped at any time: a partially written message is still completed, and the root session is detached in
    /// the background.
    pub async fn serve<F: Future<Output = bool> + Send>(self, stream: UnixStream, admits: impl Fn() -> F + Sync) {
        match stream.into_std().and_then(Socket::new) {
            Ok(Socket { input, output }) => self.pass_on(input, output, admits).await,
            Err(error) => tracing::warn!(%error, "a client of the browser cannot be waited for"),
        }
        // Close the client's socket first, so that the client sees EOF immediately; then detach its sessions in the
        // browser.
        self.client.gone.cancel();
        self.client.stream.lock().await.take();
        self.detach().await;
    }

    async fn pass_on<F: Future<Output = bool> + Send>(
        &self,
        input: Input,
        output: Output,
        admits: impl Fn() -> F + Sync,
    ) {
        *self.client.stream.lock().await = Some(FrameWriter::new(output));
        let mut messages = FramedRead::new(input, Frames::up_to(CDP_COMMAND_BYTES_MAX));
        loop {
            let message = tokio::select! {
                biased;
                () = self.client.gone.cancelled() => break,
                message = messages.next() => message,
            };
            let Some(Ok(Frame::Whole(message))) = message else { break };
            if !self.pass(message, &admits).await {
                break;
            }
        }
    }

    /// Forwards a message of the client; `false` ends the service.
    async fn pass<F: Future<Output = bool> + Send>(&self, message: Bytes, admits: &(impl Fn() -> F + Sync)) -> bool {
        let inner = &self.relay.owner.inner;
        // Only a text that is exactly one message naming a session is forwarded: clients cannot address the browser
        // itself.
        let Ok(Head { session: Some(session), id, .. }) = serde_json::from_slice(&message) else { return false };
        let is_own = inner.state().sessions.get(&*session).is_some_and(|client| Arc::ptr_eq(client, &self.client));
        if !is_own {
            // The error that Chromium itself reports for a session that was detached in the meantime.
            let error = json!({"code": -32001, "message": "Session with given id not found."});
            let answer = json!({"id": id, "error": error, "sessionId": session}).to_string();
            self.client.deliver(answer.into()).await;
            return true;
        }
        let mut pipe = inner.pipe.lock().await;
        // Write the bytes that a cancelled sender left behind first, so that `admits` is called right before the write.
        pipe.finish().await.is_ok() && admits().await && pipe.send(message).await.is_ok()
    }

    /// Detaches the root session, which ends all sessions below it.
    pub async fn detach(mut self) {
        self.detach_now().await;
    }

    async fn detach_now(&mut self) {
        if !std::mem::replace(&mut self.detached, true) {
            forget(&self.relay, &self.client);
            detach(&self.relay, &self.client.root).await;
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if std::mem::replace(&mut self.detached, true) {
            return;
        }
        self.client.gone.cancel();
        forget(&self.relay, &self.client);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (relay, root) = (self.relay.clone(), self.client.root.clone());
            runtime.spawn(async move { detach(&relay, &root).await });
        }
    }
}

fn forget(relay: &Relay, client: &Arc<Client>) {
    relay.owner.inner.state().sessions.retain(|_, other| !Arc::ptr_eq(other, client));
}

async fn detach(relay: &Relay, root: &str) {
    let detach = DetachFromTargetParams::builder().session_id(root.to_owned()).build();
    // An error is ignored: the session may have ended with the browser.
    let _ = relay.execute(&detach, ASK_MAX).await;
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles one message of the browser.
    async fn take(&self, message: Bytes) {
        let Ok(Head { id, method, session }) = serde_json::from_slice(&message) else {
            tracing::warn!(bytes = message.len(), "skipped a message of the browser that cannot be routed");
            return;
        };
        let about = match method.as_deref() {
            Some("Target.attachedToTarget" | "Target.detachedFromTarget") => {
                serde_json::from_slice::<About>(&message).ok().map(|about| about.params.session)
            }
            _ => None,
        };
        let Some(session) = session else {
            if let Some(id) = id {
                self.answer(id, &message);
            } else if let (Some("Target.detachedFromTarget"), Some(root)) = (method.as_deref(), about) {
                // The browser itself detached a root session.
                let client = self.state().sessions.remove(&root);
                client.inspect(|client| client.gone.cancel());
            }
            return;
        };
        if method.as_deref().is_some_and(|method| method.starts_with(OWN_DOMAIN)) {
            return;
        }
        let client = {
            let mut state = self.state();
            let Some(client) = state.sessions.get(&*session).map(Arc::clone) else { return };
            match (method.as_deref(), about) {
                (Some("Target.attachedToTarget"), Some(child)) if state.sessions.len() < RELAY_SESSIONS_MAX => {
                    state.sessions.entry(child).or_insert_with(|| Arc::clone(&client));
                }
                (Some("Target.attachedToTarget"), _) => client.gone.cancel(),
                (Some("Target.detachedFromTarget"), Some(child)) => {
                    let is_own = state.sessions.get(&child).is_some_and(|owner| Arc::ptr_eq(owner, &client));
                    if is_own && child != client.root {
                        state.sessions.remove(&child);
                    }
                }
                _ => {}
            }
            client
        };
        client.deliver(message).await;
    }

    /// Handles a message that was discarded because it was too long: notifies its client, or the relay's own caller,
    /// that it is missing.
    async fn passed_over(&self, head: &[u8], tail: &[u8], bytes: usize) {
        tracing::warn!(bytes, "passed over a message of the browser that is too long");
        let id = message::id_of_head(head);
        let Some(session) = session_at_the_end(tail) else {
            let waiting = id.and_then(|id| self.state().pending.remove(&id));
            if let Some(waiting) = waiting {
                let _ = waiting.send(Err(CdpError::TooLarge { bytes, bytes_max: CDP_REPLY_BYTES_MAX }));
            }
            return;
        };
        let client = self.state().sessions.get(session).map(Arc::clone);
        let Some(client) = client else { return };
        let notice = match id {
            Some(id) => {
                let error = json!({"code": PASSED_OVER_CODE, "message": "the answer is too long", "data": bytes});
                json!({"id": id, "error": error, "sessionId": session})
            }
            None => json!({"method": PASSED_OVER_EVENT, "params": {}, "sessionId": session}),
        };
        client.deliver(notice.to_string().into()).await;
    }

    fn answer(&self, id: u64, message: &[u8]) {
        // Without an entry, the answer arrived after its command's timeout.
        let Some(waiting) = self.state().pending.remove(&id) else { return };
        let answer = match serde_json::from_slice(message) {
            Ok(Answer { error: None, result }) => Ok(result),
            Ok(Answer { error: Some(error), .. }) => Err(CdpError::refusal(error)),
            Err(error) => Err(CdpError::Malformed { reason: error.to_string() }),
        };
        let _ = waiting.send(answer);
    }
}

impl Client {
    /// Sends a message to the client. A client that does not read for too long is disconnected, because it would block
    /// all others.
    async fn deliver(&self, message: Bytes) {
        let deliver = async {
            match self.stream.lock().await.as_mut() {
                Some(stream) => stream.send(message).await.is_ok(),
                None => true,
            }
        };
        let delivered = tokio::select! {
            biased;
            () = self.gone.cancelled() => true,
            delivered = tokio::time::timeout(Duration::from_millis(RELAY_STALL_MS), deliver) => delivered == Ok(true),
        };
        if !delivered {
            self.gone.cancel();
        }
    }
}

/// The session of a message, read from its last bytes: Chromium writes it last, after everything that a page can
/// influence.
fn session_at_the_end(tail: &[u8]) -> Option<&str> {
    const NAME: &[u8] = b"\"sessionId\":\"";
    let tail = tail.strip_suffix(b"\"}")?;
    let session = &tail[memchr::memmem::rfind(tail, NAME)? + NAME.len()..];
    std::str::from_utf8(session).ok().filter(|session| session.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Reads until the browser closes the pipe.
async fn read(mut messages: FramedRead<Input, Frames>, inner: Arc<Inner>) {
    while let Some(message) = messages.next().await {
        match message {
            Ok(Frame::Whole(message)) => inner.take(message).await,
            Ok(Frame::TooLong { head, tail, bytes }) => inner.passed_over(&head, &tail, bytes).await,
            Err(error) => {
                tracing::warn!(%error, "the browser's pipe cannot be read");
                break;
            }
        }
    }
    inner.closed.cancel();
}

/// Removes the pending entry of a command when it was answered, timed out or dropped.
struct Entry<'a> {
    inner: &'a Inner,
    id: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.inner.state().pending.remove(&self.id);
    }
}

fn closed(reason: &dyn fmt::Display) -> CdpError {
    CdpError::Closed { reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
