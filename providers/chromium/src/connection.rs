//! One connection to a browser: sends commands, delivers answers to the waiting callers, and records events in the log.

use crate::{
    broken::Broken,
    destinations::{DESTINATION_FAILED, Destinations, NoConnection},
    endpoint::Endpoint,
    error::CdpError,
    events::EventLog,
    message::{self, Incoming, PASSED_OVER_EVENT, Unreadable},
    reach::unreachable,
    reading::Reading,
    reply_budget::{ReplyBudget, ReplyPermits},
    transport::{self, Reader, Text, Writer},
    web_socket::WebSocket,
};
use codemode_spec::{
    ErrorReport, Value,
    limits::{CDP_COMMAND_BYTES_MAX, CDP_REPLY_BYTES_MAX, CDP_TREE_BYTES_MAX, VALUE_DEPTH_MAX},
    message::Encoded,
    value::weigh,
};
use futures::FutureExt as _;
use serde::Serialize;
use serde_json::Value as Json;
use std::{
    collections::HashMap,
    fmt, io,
    os::fd::BorrowedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::UnixStream,
    sync::{Semaphore, oneshot},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

/// How long the closing handshake of the WebSocket may take; the browser does not require it.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// A command to a browser.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// The command's full name, such as `Page.navigate`.
    pub method: &'a str,
    /// The command's parameters; `null` for none.
    pub params: Json,
    /// The protocol session to which the command goes; `None` for the browser itself.
    pub session: Option<&'a str>,
    /// The timeout for sending the command and receiving the answer.
    pub timeout: Duration,
}

/// A connection to a browser. Clones share one connection, which ends when [`Connection::close`] is called or the last
/// clone is dropped.
///
/// An event reaches the log before any answer that the browser sent after it reaches its caller.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    reading: Arc<Reading>,
    task: AbortHandle,
    next_id: AtomicU64,
}

/// The state shared by callers and the reading task. The task does not hold [`Inner`], so that the last clone can be
/// dropped.
struct Shared {
    /// Callers write commands themselves: a writing task would cost every command a task switch. `None` once the
    /// connection is closed, so that the socket is closed as well, however long a clone is held.
    writer: tokio::sync::Mutex<Option<Writer>>,
    /// The root protocol session of this connection. It is hidden from callers, to whom it stands for the browser
    /// itself.
    root: Option<String>,
    pending: Mutex<Pending>,
    events: EventLog,
    /// The memory budget for answers that their callers have not taken yet.
    room: ReplyBudget,
    destinations: Destinations,
    closed: CancellationToken,
}

#[derive(Default)]
struct Pending {
    calls: HashMap<u64, Call>,
    /// The reason why the connection was closed, once it is.
    /// Invariant: no call is added after this is set, so that no call can wait forever.
    closed: Option<String>,
}

struct Call {
    method: String,
    session: Option<String>,
    answer: oneshot::Sender<Result<Answer, CdpError>>,
}

/// An encoded value, and its permits from the memory budget.
#[derive(Debug, Default)]
struct Answer {
    value: Vec<u8>,
    _place: ReplyPermits,
}

#[derive(Serialize)]
struct Outgoing<'a> {
    id: u64,
    method: &'a str,
    #[serde(skip_serializing_if = "Json::is_null")]
    params: &'a Json,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

impl Connection {
    /// Connects to a browser.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` if no WebSocket answers at the endpoint in time.
    ///
    /// # Cancellation
    /// May be dropped at any time: the socket is closed.
    pub async fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Self, ErrorReport> {
        let opened = tokio::time::timeout(timeout, WebSocket::open(endpoint)).await;
        let socket = match opened {
            Ok(opened) => opened?,
            Err(_) => {
                let late = format!("there was no answer within {} ms", timeout.as_millis());
                return Err(unreachable(&endpoint.url()?, &late));
            }
        };
        Ok(Self::of(Writer::Web(socket.clone()), Reader::Web(socket), None))
    }

    /// Creates a connection over a socket of a [`crate::Relay`], which has already attached the root session.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` when the runtime cannot register the socket.
    pub fn over(stream: UnixStream, root: String) -> Result<Self, ErrorReport> {
        let (writer, reader) = transport::over(stream)?;
        Ok(Self::of(writer, reader, Some(root)))
    }

    fn of(writer: Writer, reader: Reader, root: Option<String>) -> Self {
        let shared = Arc::new(Shared {
            writer: tokio::sync::Mutex::new(Some(writer)),
            root,
            pending: Mutex::default(),
            events: EventLog::new(),
            room: ReplyBudget::new(),
            destinations: Destinations::default(),
            closed: CancellationToken::new(),
        });
        let handler = {
            let shared = Arc::clone(&shared);
            move |text| handle(Arc::clone(&shared), text).boxed()
        };
        let reading = Arc::new(Reading::new(reader, handler));
        let task = tokio::spawn(read(Arc::clone(&reading), Arc::clone(&shared))).abort_handle();
        Self { inner: Arc::new(Inner { shared, reading, task, next_id: AtomicU64::new(1) }) }
    }

    /// Shares a host's memory budget, one permit per byte, for answers that their callers have not taken yet: while the
    /// budget is exhausted, nothing is read; an answer that waits too long for it fails. Without a shared budget, only
    /// this connection's own bound applies.
    pub fn share_room(&self, host: Arc<Semaphore>) {
        self.inner.shared.room.share(host);
    }

    /// Sends a command, waits for its answer and returns it as JSON. Any number of calls run concurrently.
    ///
    /// # Errors
    /// See [`CdpError`].
    ///
    /// # Cancellation
    /// May be dropped at any time: nothing of the call is retained. The browser may already be executing the command.
    pub async fn call(&self, command: Command<'_>) -> Result<Json, CdpError> {
        let Encoded(value) = self.ask(command).await?;
        let malformed = |error: &dyn fmt::Display| CdpError::Malformed { reason: error.to_string() };
        let weight = weigh(&value).map_err(|error| malformed(&error))?;
        if weight > CDP_TREE_BYTES_MAX {
            return Err(CdpError::TooLarge { bytes: value.len(), bytes_max: CDP_REPLY_BYTES_MAX });
        }
        let value = Value::decode(&value).map_err(|error| malformed(&error))?;
        Ok(value.to_plain_json().unwrap_or_default())
    }

    /// As [`Connection::call`], but returns the answer encoded by the value codec: an answer that is only forwarded is
    /// not parsed into values.
    ///
    /// # Errors
    /// See [`CdpError`].
    ///
    /// # Cancellation
    /// As [`Connection::call`].
    pub async fn ask(&self, command: Command<'_>) -> Result<Encoded, CdpError> {
        self.ask_with(command, ()).await
    }

    /// As [`Connection::ask`]. `held` is dropped together with the parameters, as soon as the command is serialized.
    ///
    /// # Errors
    /// See [`CdpError`].
    ///
    /// # Cancellation
    /// As [`Connection::call`].
    pub async fn ask_with(&self, command: Command<'_>, held: impl Send) -> Result<Encoded, CdpError> {
        let (method, timeout) = (command.method, command.timeout);
        match tokio::time::timeout(timeout, self.exchange(command, held)).await {
            Ok(answer) => answer.map(|answer| Encoded(answer.value)),
            Err(_) => Err(CdpError::Timeout { method: method.to_owned(), timeout }),
        }
    }

    /// Sends a typed command of chromiumoxide and deserializes the answer as the command's response type.
    ///
    /// # Errors
    /// As [`Connection::call`], and [`CdpError::Malformed`] if the answer does not match the type.
    ///
    /// # Cancellation
    /// As [`Connection::call`].
    pub async fn execute<T: chromiumoxide_types::Command>(
        &self,
        command: &T,
        session: Option<&str>,
        timeout: Duration,
    ) -> Result<T::Response, CdpError> {
        let malformed = |error: serde_json::Error| CdpError::Malformed { reason: error.to_string() };
        let params = serde_json::to_value(command).map_err(malformed)?;
        let answer = self.call(Command { method: &command.identifier(), params, session, timeout }).await?;
        T::response_from_value(answer).map_err(malformed)
    }

    /// The event log of this connection, for all sessions.
    #[must_use]
    pub fn events(&self) -> &EventLog {
        &self.inner.shared.events
    }

    /// The number of failed destinations that the relay has reported so far: a position for [`Self::no_connection_to`].
    #[must_use]
    pub fn destinations_told(&self) -> u64 {
        self.inner.shared.destinations.count()
    }

    /// The reason why the proxy did not connect the browser to a destination, if the relay has reported it since
    /// `from`. The relay reports it before the proxy answers the browser, and so before the answer of a command that
    /// failed because of it. Only a connection over a relay receives such reports.
    #[must_use]
    pub fn no_connection_to(&self, host: &str, port: u16, from: u64) -> Option<NoConnection> {
        self.inner.shared.destinations.of(host, port, from)
    }

    /// Whether the connection has ended, for whatever reason.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.shared.closed.is_cancelled()
    }

    /// Reads the browser's messages on the calling thread, which blocks, until `is_done`; the connection's task does not
    /// read meanwhile. `wait` waits for the descriptor, or for what else makes it done. Must be called within the
    /// runtime of the connection.
    ///
    /// Returns `false` at once if the calling thread cannot read: another thread does, the last message waits for
    /// memory, or the connection has ended.
    pub fn read_on_this_thread(
        &self,
        is_done: &dyn Fn() -> bool,
        wait: &dyn Fn(BorrowedFd<'_>) -> io::Result<()>,
    ) -> bool {
        self.inner.reading.run_on_this_thread(is_done, wait)
    }

    /// Waits for the end of the connection.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn closed(&self) {
        self.inner.shared.closed.cancelled().await;
    }

    /// Closes the connection: pending calls fail, and the browser is not affected. Does nothing if the connection has
    /// already ended.
    ///
    /// # Cancellation
    /// May be dropped at any time: the connection has ended nevertheless.
    pub async fn close(&self) {
        let already = self.is_closed();
        self.inner.shared.close("it was closed on this side", None);
        self.inner.task.abort();
        self.inner.reading.end();
        if !already {
            let writer = self.inner.shared.writer.lock().await.take();
            if let Some(mut writer) = writer {
                // With a timeout: the browser may be gone or stuck, and its messages are not read any more.
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, writer.close()).await;
            }
        }
    }

    async fn exchange(&self, command: Command<'_>, held: impl Send) -> Result<Answer, CdpError> {
        let Inner { shared, next_id, .. } = &*self.inner;
        let id = next_id.fetch_add(1, Ordering::Relaxed);
        // Registered before the command is sent: the answer may arrive before `send` returns.
        let (answer, answered) = oneshot::channel();
        let _entry = shared.enter(id, &command, answer)?;
        shared.send(id, command, held).await?;
        answered.await.unwrap_or_else(|_| Err(shared.closed_error()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close("it was dropped on this side", None);
        self.task.abort();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Connection")
            .field("closed", &self.is_closed())
            .field("pending", &self.inner.shared.pending().calls.len())
            .finish_non_exhaustive()
    }
}

/// Reads until the connection ends, then closes the socket.
async fn read(reading: Arc<Reading>, shared: Arc<Shared>) {
    let Some(broken) = reading.run().await else { return };
    shared.close_by(broken);
    // A stuck send has released the lock by now, because the connection is closed.
    shared.writer.lock().await.take();
}

/// Handles one message of the browser.
async fn handle(shared: Arc<Shared>, text: Text) {
    match text {
        Text::Web(text) => shared.take(&text).await,
        Text::Relay(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => shared.take(text).await,
            Err(_) => tracing::warn!("skipped a message of the browser that is no text"),
        },
        Text::Passed { head, bytes } => shared.passed(&head, bytes),
    }
}

impl Shared {
    /// Registers a call; its entry is removed when the guard is dropped.
    fn enter(
        &self,
        id: u64,
        command: &Command<'_>,
        answer: oneshot::Sender<Result<Answer, CdpError>>,
    ) -> Result<Entry<'_>, CdpError> {
        let mut pending = self.pending();
        if let Some(reason) = &pending.closed {
            return Err(CdpError::Closed { reason: reason.clone() });
        }
        let session = command.session.map(str::to_owned);
        pending.calls.insert(id, Call { method: command.method.to_owned(), session, answer });
        Ok(Entry { shared: self, id })
    }

    /// Sends a command, unless the connection ends first: a browser that no longer reads would block it forever.
    async fn send(&self, id: u64, command: Command<'_>, held: impl Send) -> Result<(), CdpError> {
        let send = async {
            let mut writer = self.writer.lock().await;
            let Some(writer) = writer.as_mut() else { return Err(self.closed_error()) };
            // Serialized only while the lock is held, so that only one such text exists at a time.
            let Command { method, params, session, .. } = command;
            let session = session.or(self.root.as_deref());
            let text = text_of(&Outgoing { id, method, params: &params, session })?;
            drop((params, held));
            writer.send(text).await.map_err(|broken| self.close_by(broken))
        };
        tokio::select! {
            biased;
            sent = send => sent,
            () = self.closed.cancelled() => Err(self.closed_error()),
        }
    }

    /// Handles one message of the browser.
    async fn take(&self, text: &str) {
        match message::parse(text) {
            Ok(Incoming { id: Some(id), error: Some(error), .. }) => self.answer(id, Err(CdpError::refusal(error))),
            Ok(Incoming { id: Some(id), result, .. }) => self.answer_with(id, result.unwrap_or_default()).await,
            // Only from a relay: any other endpoint could forge these events.
            Ok(Incoming { method: Some(method), params, .. })
                if self.root.is_some() && method == DESTINATION_FAILED =>
            {
                self.destinations.take(params);
            }
            Ok(Incoming { method: Some(method), .. }) if self.root.is_some() && method == PASSED_OVER_EVENT => {
                self.events.skip();
            }
            Ok(Incoming { method: Some(method), session, params, bytes, .. }) => {
                let session = session.filter(|session| self.root.as_deref() != Some(session));
                let silenced = silenced(&method, session.as_deref(), &params);
                self.events.push(method, session, params, bytes);
                if let Some((session, error)) = silenced {
                    self.give_up(&session, error);
                }
            }
            Err(Unreadable::TooDeep { id: Some(id) }) => {
                self.answer(id, Err(CdpError::TooDeep { depth_max: VALUE_DEPTH_MAX }));
            }
            Err(Unreadable::TooLarge { id }) => self.too_large(id, text.len()),
            Err(Unreadable::Malformed { id: Some(id), reason }) => self.answer(id, Err(CdpError::Malformed { reason })),
            // Readers of the event log learn that one event is missing.
            Err(Unreadable::TooDeep { id: None }) => self.too_large(None, text.len()),
            // Not a message, so no call and no reader of events waits for it.
            Ok(_) | Err(Unreadable::Malformed { id: None, .. }) => {
                tracing::warn!(bytes = text.len(), "skipped a message of the browser that cannot be read");
            }
        }
    }

    /// Handles a message that was discarded because it was too long, of which only the first bytes are available.
    fn passed(&self, head: &[u8], bytes: usize) {
        self.too_large(message::id_of_head(head), bytes);
    }

    fn too_large(&self, id: Option<u64>, bytes: usize) {
        match id {
            Some(id) => self.answer(id, Err(CdpError::TooLarge { bytes, bytes_max: CDP_REPLY_BYTES_MAX })),
            None => {
                tracing::warn!(bytes, "dropped an event that is too large or too deep");
                self.events.skip();
            }
        }
    }

    /// Delivers an answer once the memory budget has room for it.
    async fn answer_with(&self, id: u64, value: Vec<u8>) {
        let bytes = value.len();
        // Do not acquire memory for a call that timed out.
        if !self.pending().calls.contains_key(&id) {
            return;
        }
        let permits = tokio::select! {
            biased;
            permits = self.room.acquire(bytes) => permits,
            () = self.closed.cancelled() => None,
        };
        self.answer(id, permits.map(|permits| Answer { value, _place: permits }).ok_or(CdpError::NoRoom { bytes }));
    }

    fn answer(&self, id: u64, answer: Result<Answer, CdpError>) {
        // Without an entry, the answer arrived after the call's timeout.
        let call = self.pending().calls.remove(&id);
        if let Some(call) = call {
            let _ = call.answer.send(answer);
        }
    }

    /// Fails the calls of a session that was detached or whose page crashed, which Chromium does not answer any more.
    fn give_up(&self, session: &str, error: Silence) {
        let given_up: Vec<_> = {
            let calls = &mut self.pending().calls;
            calls.extract_if(|_, call| call.session.as_deref() == Some(session)).map(|(_, call)| call).collect()
        };
        for Call { method, answer, .. } in given_up {
            let _ = answer.send(Err(error(method, session.to_owned())));
        }
    }

    /// Closes the connection because its socket has ended. Returns the error for a call that observes the end.
    fn close_by(&self, Broken { reason, too_large }: Broken) -> CdpError {
        self.close(&reason, too_large.as_ref());
        too_large.unwrap_or_else(|| self.closed_error())
    }

    /// Closes the connection: pending calls fail with `error`, or with [`CdpError::Closed`] if it is `None`.
    fn close(&self, reason: &str, error: Option<&CdpError>) {
        let calls = {
            let mut pending = self.pending();
            if pending.closed.is_some() {
                return;
            }
            pending.closed = Some(reason.to_owned());
            std::mem::take(&mut pending.calls)
        };
        self.closed.cancel();
        self.events.close();
        let closed = CdpError::Closed { reason: reason.to_owned() };
        for call in calls.into_values() {
            let _ = call.answer.send(Err(error.unwrap_or(&closed).clone()));
        }
    }

    fn closed_error(&self) -> CdpError {
        let reason = self.pending().closed.clone().unwrap_or_else(|| "it ended".to_owned());
        CdpError::Closed { reason }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // No code panics while it holds this lock.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serializes a command, up to the bound on commands.
fn text_of(outgoing: &Outgoing<'_>) -> Result<String, CdpError> {
    let mut bounded = Bounded(Vec::new());
    match serde_json::to_writer(&mut bounded, outgoing) {
        Ok(()) => String::from_utf8(bounded.0).map_err(|error| CdpError::Malformed { reason: error.to_string() }),
        Err(error) if error.is_io() => {
            Err(CdpError::TooLarge { bytes: CDP_COMMAND_BYTES_MAX + 1, bytes_max: CDP_COMMAND_BYTES_MAX })
        }
        Err(error) => Err(CdpError::Malformed { reason: error.to_string() }),
    }
}

/// A writer that fails beyond the bound on commands.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > CDP_COMMAND_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes the pending entry of a call when it was answered, timed out or dropped.
struct Entry<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.shared.pending().calls.remove(&self.id);
    }
}

/// Creates the error of a call from its method and its session.
type Silence = fn(String, String) -> CdpError;

/// The session that will not answer any more according to an event, and the error for its calls.
fn silenced(method: &str, session: Option<&str>, params: &Json) -> Option<(String, Silence)> {
    match method {
        "Target.detachedFromTarget" => {
            Some((params["sessionId"].as_str()?.to_owned(), |method, session| CdpError::Detached { method, session }))
        }
        "Inspector.targetCrashed" => {
            Some((session?.to_owned(), |method, session| CdpError::Crashed { method, session }))
        }
        _ => None,
    }
}
