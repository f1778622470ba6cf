//! One browser's debugging pipe, shared by clients.
//!
//! Each client works below a protocol session of its own (`Target.attachToBrowserTarget`), its *root session*. The relay
//! passes on whole messages only: from a client the messages that name a protocol session of that client, from the
//! browser the messages of a session to the client that has the session. When a client goes, its root session is
//! detached, and with it the browser drops everything below: sessions, interceptors, disposable contexts (seen on
//! Chromium 156). The next client finds a clean protocol.

use crate::{
    connection::Connection,
    descriptor::{self, Input, Output},
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
use tokio::{net::UnixStream, sync::oneshot, task::AbortHandle};
use tokio_util::{codec::FramedRead, sync::CancellationToken};

/// The browser answers the relay's own commands within this time, or the browser is stuck.
const ASK_MAX: Duration = Duration::from_secs(10);

/// The domain of the relay's own events. Chromium has no such domain; its messages with such a name are not passed on.
const OWN_DOMAIN: &str = "Codemode.";

/// A browser's debugging pipe and its clients. Clones are the same relay; the pipe is closed when the last clone is
/// dropped, whereupon Chromium ends.
#[derive(Clone)]
pub struct Relay {
    owner: Arc<Owner>,
}

struct Owner {
    inner: Arc<Inner>,
    reader: AbortHandle,
}

struct Inner {
    /// Held for one message at a time.
    pipe: tokio::sync::Mutex<FrameWriter<Output>>,
    state: Mutex<State>,
    next_id: AtomicU64,
    closed: CancellationToken,
}

#[derive(Default)]
struct State {
    /// The client of each protocol session.
    sessions: HashMap<String, Arc<Client>>,
    clients: usize,
    /// The pending commands of the relay itself.
    pending: HashMap<u64, oneshot::Sender<Result<Json, CdpError>>>,
}

struct Client {
    root: String,
    /// `None` until the client is served.
    stream: tokio::sync::Mutex<Option<FrameWriter<Output>>>,
    gone: CancellationToken,
}

/// A client that has its root session and is about to be served. If it is dropped unserved, its root session is
/// detached in the background.
pub struct Attached {
    relay: Relay,
    client: Arc<Client>,
    detached: bool,
}

/// The members by which a message is routed.
#[derive(Deserialize)]
struct Head<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
}

/// The session that `Target.attachedToTarget` and `Target.detachedFromTarget` are about.
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
    /// The relay for the ends of a browser's debugging pipe that this process holds. Must be called inside of a tokio
    /// runtime.
    ///
    /// # Errors
    /// When the runtime does not take the ends of the pipe.
    pub(crate) fn new(to_browser: OwnedFd, from_browser: OwnedFd) -> io::Result<Self> {
        let writer = FrameWriter::new(Output::new(to_browser)?);
        let reader = FramedRead::new(Input::from_owned_fd(from_browser)?, Frames::up_to(CDP_REPLY_BYTES_MAX));
        let inner = Arc::new(Inner {
            pipe: tokio::sync::Mutex::new(writer),
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            closed: CancellationToken::new(),
        });
        let reader = tokio::spawn(read(reader, Arc::clone(&inner))).abort_handle();
        Ok(Self { owner: Arc::new(Owner { inner, reader }) })
    }

    /// Sends a command to the browser itself, outside of every client's session.
    ///
    /// # Errors
    /// As [`CdpError`] says.
    ///
    /// # Cancellation
    /// May be dropped at any time. The browser may already be carrying the command out.
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

    /// Sends a typed command to the browser itself, and reads its answer as the type that belongs to the command.
    ///
    /// # Errors
    /// As [`Self::call`], and [`CdpError::Malformed`] if the answer does not fit the type.
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
    /// `CDP_CONNECTION_FAILED` when the browser does not give a session, or has as many clients as it may have.
    ///
    /// # Cancellation
    /// May be dropped at any time; a session that was attached meanwhile ends with the browser.
    pub async fn attach(&self) -> Result<Attached, ErrorReport> {
        let failed = |why: &dyn fmt::Display| {
            let message = format!("the browser cannot be connected to: {why}");
            ErrorReport::new(ErrorCode::CdpConnectionFailed, message)
        };
        let inner = &self.owner.inner;
        if inner.state().clients >= RELAY_CLIENTS_MAX {
            return Err(failed(&format!("it has {RELAY_CLIENTS_MAX} clients already")));
        }
        let answer = self.execute(&AttachToBrowserTargetParams::default(), ASK_MAX).await;
        let answer = answer.map_err(|error| match error {
            // It is certain that the pipe is closed.
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
        });
        let mut state = inner.state();
        state.clients += 1;
        state.sessions.insert(root, Arc::clone(&client));
        drop(state);
        Ok(Attached { relay: self.clone(), client, detached: false })
    }

    /// A connection of this process to the browser.
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

    /// Tells all clients of a destination to which the proxy does not connect the browser: they are told when this future ends, before any
    /// later message of the browser.
    ///
    /// # Cancellation
    /// May be dropped at any time: some clients are told, others not.
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

    /// A token that ends the service when it is cancelled.
    #[must_use]
    pub fn stop(&self) -> CancellationToken {
        self.client.gone.clone()
    }

    /// Passes messages on until the client or the browser goes, [`Self::stop`] is cancelled, or `admits` refuses a message
    /// of the client: `admits` is asked before each message, so late that nothing can come between its answer and the
    /// write. Then detaches the root session.
    ///
    /// # Cancellation
    /// May be dropped at any time: no half message is left on the pipe, and the root session is detached in the background.
    pub async fn serve<F: Future<Output = bool> + Send>(self, stream: UnixStream, admits: impl Fn() -> F + Sync) {
        match descriptor::split(stream) {
            Ok((input, output)) => self.pass_on(input, output, admits).await,
            Err(error) => tracing::warn!(%error, "a client of the browser cannot be waited for"),
        }
        // First the client's socket, so that the client sees the end at once; then its sessions in the browser.
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

    /// Passes a message of the client on; `false` ends the service.
    async fn pass<F: Future<Output = bool> + Send>(&self, message: Bytes, admits: &(impl Fn() -> F + Sync)) -> bool {
        let inner = &self.relay.owner.inner;
        // Only a text that is one message with one session is passed on: no message goes to the browser itself.
        let Ok(Head { session: Some(session), id, .. }) = serde_json::from_slice(&message) else { return false };
        let is_own = inner.state().sessions.get(&*session).is_some_and(|client| Arc::ptr_eq(client, &self.client));
        if !is_own {
            // As Chromium says of a session that was detached meanwhile.
            let error = json!({"code": -32001, "message": "Session with given id not found."});
            let answer = json!({"id": id, "error": error, "sessionId": session}).to_string();
            self.client.deliver(answer.into()).await;
            return true;
        }
        let mut pipe = inner.pipe.lock().await;
        // The bytes that another sender left behind are written first: `admits` is asked right before the write.
        pipe.finish().await.is_ok() && admits().await && pipe.send(message).await.is_ok()
    }

    /// Detaches the root session: all sessions below it end.
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
    let mut state = relay.owner.inner.state();
    state.sessions.retain(|_, other| !Arc::ptr_eq(other, client));
    state.clients -= 1;
}

async fn detach(relay: &Relay, root: &str) {
    let detach = DetachFromTargetParams::builder().session_id(root.to_owned()).build();
    // The session may have ended with the browser.
    let _ = relay.execute(&detach, ASK_MAX).await;
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in one message of the browser.
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
                // The browser took a root session away.
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

    /// Takes in a message that is too long to be held: its client, or the relay's own caller, is told that it is
    /// missing.
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
        // An answer without an entry came after the timeout of its command.
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
    /// Sends a message to the client. A client that does not read for too long is dropped: it would
    /// block all others.
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

/// The session of a message, told from its last bytes: Chromium writes it last, after all that a page has a say in.
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

/// Removes the entry of a command that was answered, timed out or was dropped.
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
