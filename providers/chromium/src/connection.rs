//! One WebSocket to a browser: commands out, answers back to whoever waits, events into the log.

use crate::{
    endpoint::{Endpoint, failed, shown, unreachable},
    error::CdpError,
    events::EventLog,
    http,
    message::{self, Incoming, TooLarge, Unreadable},
    stream::Stream,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{CDP_MESSAGE_BYTES_MAX, CDP_MESSAGE_VALUES_MAX, CDP_REPLY_BYTES_MAX, VALUE_DEPTH_MAX},
};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use serde::Serialize;
use serde_json::Value as Json;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::oneshot, task::AbortHandle};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest as _,
        error::CapacityError,
        protocol::{CloseFrame, WebSocketConfig},
    },
};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The detail of a `CDP_CONNECTION_FAILED` that says for certain that no such browser is there. Without it the browser may
/// live: it did not answer in time, or this process has no file descriptor left.
pub const REFUSED: &str = "refused";

/// How long a polite goodbye may take; the browser does not need it.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

type Socket = WebSocketStream<Stream>;

/// A command to a browser.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// Its full name, as `Page.navigate`.
    pub method: &'a str,
    /// Its parameters; `null` for none.
    pub params: Json,
    /// The protocol session to send it to; `None` for the browser itself.
    pub session: Option<&'a str>,
    /// How long the answer may take, sending included.
    pub timeout: Duration,
}

/// A connection to a browser. Clones are the same connection; it ends when [`Connection::close`] is called or the last
/// of them is dropped.
///
/// Events reach the log before the answers that the browser sent after them reach their callers.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    reader: AbortHandle,
    next_id: AtomicU64,
}

/// What callers and the reading task share. The task does not hold [`Inner`], so that the last clone can be dropped.
struct Shared {
    /// Callers write themselves: a task in between would cost every command a change of task. `None` once the connection
    /// is closed, so that the socket is as well, however long a clone is kept.
    writer: tokio::sync::Mutex<Option<SplitSink<Socket, Message>>>,
    pending: Mutex<Pending>,
    events: EventLog,
    closed: CancellationToken,
}

#[derive(Default)]
struct Pending {
    calls: HashMap<u64, Call>,
    /// Why the connection is closed, once it is.
    /// Invariant: no call is added any more after it is set, so none can wait for ever.
    closed: Option<String>,
}

struct Call {
    method: String,
    session: Option<String>,
    answer: oneshot::Sender<Result<Json, CdpError>>,
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
    /// `CDP_CONNECTION_FAILED` if nothing answers there as a WebSocket in time.
    ///
    /// # Cancellation
    /// May be dropped at any time: the socket is closed.
    pub async fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Self, ErrorReport> {
        let url = endpoint.url()?;
        let socket = tokio::time::timeout(timeout, open(&url, endpoint)).await;
        let late = |_| Err(unreachable(&url, &format!("there was no answer within {} ms", timeout.as_millis())));
        let (writer, incoming) = socket.unwrap_or_else(late)?.split();
        let shared = Arc::new(Shared {
            writer: tokio::sync::Mutex::new(Some(writer)),
            pending: Mutex::default(),
            events: EventLog::new(),
            closed: CancellationToken::new(),
        });
        let reader = tokio::spawn(read(incoming, Arc::clone(&shared))).abort_handle();
        Ok(Self { inner: Arc::new(Inner { shared, reader, next_id: AtomicU64::new(1) }) })
    }

    /// Sends a command and waits for its answer. Any number run at the same time.
    ///
    /// # Errors
    /// As [`CdpError`] says.
    ///
    /// # Cancellation
    /// May be dropped at any time: nothing is kept of the call. The browser may already be carrying the command out.
    pub async fn call(&self, command: Command<'_>) -> Result<Json, CdpError> {
        let timeout = command.timeout;
        match tokio::time::timeout(timeout, self.exchange(&command)).await {
            Ok(answer) => answer,
            Err(_) => Err(CdpError::Timeout { method: command.method.to_owned(), timeout }),
        }
    }

    /// Sends one of the typed commands of chromiumoxide and reads its answer as the type that belongs to it.
    ///
    /// # Errors
    /// As [`Connection::call`], and [`CdpError::Malformed`] if the answer does not fit the type.
    ///
    /// # Cancellation
    /// As [`Connection::call`].
    pub async fn execute<T: chromiumoxide::Command>(
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

    /// The events of this connection, of all sessions.
    #[must_use]
    pub fn events(&self) -> &EventLog {
        &self.inner.shared.events
    }

    /// Whether the connection has ended, for whatever reason.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.shared.closed.is_cancelled()
    }

    /// Waits for the end of the connection.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn closed(&self) {
        self.inner.shared.closed.cancelled().await;
    }

    /// Ends the connection: calls that still wait fail, the browser goes on. Does nothing if it has already ended.
    ///
    /// # Cancellation
    /// May be dropped at any time: the connection has ended all the same.
    pub async fn close(&self) {
        let already = self.is_closed();
        self.inner.shared.close("it was closed on this side", None);
        self.inner.reader.abort();
        if !already {
            let writer = self.inner.shared.writer.lock().await.take();
            if let Some(mut writer) = writer {
                // The browser may be gone or stuck; either way nobody reads from it any more.
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, writer.close()).await;
            }
        }
    }

    async fn exchange(&self, command: &Command<'_>) -> Result<Json, CdpError> {
        let Inner { shared, next_id, .. } = &*self.inner;
        let id = next_id.fetch_add(1, Ordering::Relaxed);
        let outgoing = Outgoing { id, method: command.method, params: &command.params, session: command.session };
        let text =
            serde_json::to_string(&outgoing).map_err(|error| CdpError::Malformed { reason: error.to_string() })?;
        if text.len() > CDP_MESSAGE_BYTES_MAX {
            return Err(CdpError::TooLarge { bytes: text.len(), bytes_max: CDP_MESSAGE_BYTES_MAX });
        }
        // Entered before it is sent: the answer may be there before `send` returns.
        let (answer, answered) = oneshot::channel();
        let _entry = shared.enter(id, command, answer)?;
        shared.send(Message::text(text)).await?;
        answered.await.unwrap_or_else(|_| Err(shared.closed_error()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close("it was dropped on this side", None);
        self.reader.abort();
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

async fn open(url: &Url, endpoint: &Endpoint) -> Result<Socket, ErrorReport> {
    let mut request = url.as_str().into_client_request().map_err(|error| unreachable(url, &error))?;
    request.headers_mut().extend(http::header_map(&endpoint.headers)?);
    let stream = Stream::connect(url).await?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(CDP_MESSAGE_BYTES_MAX))
        .max_frame_size(Some(CDP_MESSAGE_BYTES_MAX));
    match client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(response)) => {
            let status = response.status();
            let message = format!("{} answered {status} instead of opening a WebSocket", shown(url));
            let report = ErrorReport::new(ErrorCode::CdpConnectionFailed, message);
            Err(report.with_detail("status", status.as_u16()).with_detail(REFUSED, true))
        }
        Err(tungstenite::Error::Io(error)) => Err(failed(url, &error)),
        // What answers there is no browser.
        Err(error) => Err(unreachable(url, &error).with_detail(REFUSED, true)),
    }
}

/// Reads until the connection ends, and lets go of the socket then.
async fn read(incoming: SplitStream<Socket>, shared: Arc<Shared>) {
    read_messages(incoming, &shared).await;
    // A send that is stuck has given up the lock by now: the connection is closed.
    shared.writer.lock().await.take();
}

async fn read_messages(mut incoming: SplitStream<Socket>, shared: &Shared) {
    loop {
        match incoming.next().await {
            Some(Ok(Message::Text(text))) => shared.take(&text),
            Some(Ok(Message::Close(frame))) => {
                let words = |CloseFrame { code, reason }| format!("the browser closed it ({code} {reason})");
                return shared.close(&frame.map_or_else(|| "the browser closed it".to_owned(), words), None);
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                shared.close_by(&error);
                return;
            }
            None => return shared.close("the browser went away", None),
        }
    }
}

impl Shared {
    /// Adds a call; the entry is removed when the guard is dropped.
    fn enter(
        &self,
        id: u64,
        command: &Command<'_>,
        answer: oneshot::Sender<Result<Json, CdpError>>,
    ) -> Result<Entry<'_>, CdpError> {
        let mut pending = self.pending();
        if let Some(reason) = &pending.closed {
            return Err(CdpError::Closed { reason: reason.clone() });
        }
        let session = command.session.map(str::to_owned);
        pending.calls.insert(id, Call { method: command.method.to_owned(), session, answer });
        Ok(Entry { shared: self, id })
    }

    /// Sends a message, unless the connection ends first: a browser that does not read any more would hold it up for ever.
    async fn send(&self, message: Message) -> Result<(), CdpError> {
        let send = async {
            match self.writer.lock().await.as_mut() {
                Some(writer) => writer.send(message).await.map_err(|error| self.close_by(&error)),
                None => Err(self.closed_error()),
            }
        };
        tokio::select! {
            biased;
            sent = send => sent,
            () = self.closed.cancelled() => Err(self.closed_error()),
        }
    }

    /// One message of the browser.
    fn take(&self, text: &str) {
        match message::parse(text) {
            Ok(Incoming { id: Some(id), result, error, .. }) => self.answer(
                id,
                match error {
                    None => Ok(result),
                    Some(error) => Err(refusal(error)),
                },
            ),
            Ok(Incoming { method: Some(method), session, params, bytes, .. }) => {
                let silenced = silenced(&method, session.as_deref(), &params);
                self.events.push(method, session, params, bytes);
                if let Some((session, error)) = silenced {
                    self.give_up(&session, error);
                }
            }
            Err(Unreadable::TooDeep { id: Some(id) }) => {
                self.answer(id, Err(CdpError::TooDeep { depth_max: VALUE_DEPTH_MAX }));
            }
            Err(Unreadable::TooLarge { id: Some(id), why }) => self.answer(
                id,
                Err(match why {
                    TooLarge::Bytes => CdpError::TooLarge { bytes: text.len(), bytes_max: CDP_REPLY_BYTES_MAX },
                    TooLarge::Values => CdpError::TooManyValues { values_max: CDP_MESSAGE_VALUES_MAX },
                }),
            ),
            Err(Unreadable::Malformed { id: Some(id), reason }) => self.answer(id, Err(CdpError::Malformed { reason })),
            // Whoever reads the events is told that there is one less.
            Err(Unreadable::TooDeep { id: None } | Unreadable::TooLarge { id: None, .. }) => {
                tracing::warn!(bytes = text.len(), "dropped an event that is too large or too deep");
                self.events.skip();
            }
            // Of what is no message nobody waits for anything.
            Ok(_) | Err(Unreadable::Malformed { id: None, .. }) => {
                tracing::warn!(bytes = text.len(), "skipped a message of the browser that cannot be read");
            }
        }
    }

    fn answer(&self, id: u64, answer: Result<Json, CdpError>) {
        // An answer that nobody waits for any more came after its timeout.
        let call = self.pending().calls.remove(&id);
        if let Some(call) = call {
            let _ = call.answer.send(answer);
        }
    }

    /// Chromium does not answer what was still under way in a session that is gone or whose page crashed.
    fn give_up(&self, session: &str, error: Silence) {
        let given_up: Vec<_> = {
            let calls = &mut self.pending().calls;
            calls.extract_if(|_, call| call.session.as_deref() == Some(session)).map(|(_, call)| call).collect()
        };
        for Call { method, answer, .. } in given_up {
            let _ = answer.send(Err(error(method, session.to_owned())));
        }
    }

    /// Ends the connection because of an error of the socket, and says what a call that meets it should say.
    fn close_by(&self, error: &tungstenite::Error) -> CdpError {
        let too_large = match error {
            tungstenite::Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
                Some(CdpError::TooLarge { bytes: *size, bytes_max: *max_size })
            }
            _ => None,
        };
        self.close(&error.to_string(), too_large.as_ref());
        too_large.unwrap_or_else(|| self.closed_error())
    }

    /// Ends the connection: whoever waits gets `error`, or that it was closed.
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
        // Nothing panics while it is held.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the entry of a call that was answered, timed out or was dropped.
struct Entry<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.shared.pending().calls.remove(&self.id);
    }
}

/// Makes the error of a call from its method and its session.
type Silence = fn(String, String) -> CdpError;

/// The session that an event says will not answer any more, and how its calls fail.
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

fn refusal(mut error: Json) -> CdpError {
    let message = error["message"].as_str().unwrap_or("no reason was given").to_owned();
    let data = error.get_mut("data").map(Json::take);
    CdpError::Protocol { code: error["code"].as_i64().unwrap_or_default(), message, data }
}
