//! The stdio transport of MCP: one message per line.
//!
//! The library's own transport drops lines that it cannot parse, and lets a second request replace one with the same
//! id. This one answers each of them with an error, so that no request is left without an answer.

use codemode_spec::{
    limits::{KIB, MCP_CANCELLED_IDS_MAX, MCP_LINE_BYTES_MAX, MCP_REQUESTS_MAX},
    whole,
};
use rmcp::{
    RoleServer,
    model::{ClientNotification, ErrorCode, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, io::stdio_pipes},
};
use serde_json::{Value as Json, error::Category, json};
use std::{
    collections::{HashSet, VecDeque},
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, ReadBuf},
    sync::{mpsc, oneshot},
};
use tokio_util::sync::CancellationToken;

/// The number of lines queued for writing. Senders wait until their line is written.
const LINES_WAITING_MAX: usize = 16;
/// The largest buffer that is reused for the next message.
const LINE_BYTES_KEPT: usize = 64 * KIB;
/// The UTF-8 byte order mark, with which some programs start a stream.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An input that cancels the token at its end. Otherwise a running execution would notice that the client has
/// disconnected only when it answers.
struct Watched<T> {
    inner: T,
    gone: CancellationToken,
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (before, room) = (buf.filled().len(), buf.remaining());
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        let ended = match &read {
            Poll::Ready(Ok(())) => room > 0 && buf.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ended {
            self.gone.cancel();
        }
        read
    }
}

/// A line to be written, and the sender to notify once it is.
type Outgoing = (Vec<u8>, oneshot::Sender<()>);

/// The transport: reads and writes messages as lines.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    /// The part of the next line that was read so far. It is stored here so that dropping [`Transport::receive`] loses
    /// nothing.
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is being discarded.
    is_skipping: bool,
    /// An error answer to send before the next line is read.
    refusal: Option<Vec<u8>>,
    output: Option<mpsc::Sender<Outgoing>>,
    requests: Arc<Mutex<Requests>>,
}

/// The requests that are not answered yet.
#[derive(Debug, Default)]
struct Requests {
    in_flight: HashSet<RequestId>,
    /// The requests that were cancelled last. They get no answer, but their ids stay reserved: a handler may still be
    /// running, which is not visible here, and its answer would be taken for that of a new request with the same id.
    cancelled: VecDeque<RequestId>,
}

/// The transport over standard input and output. The end of either means that the client has disconnected, and cancels
/// the token.
pub(super) fn lines(gone: &CancellationToken) -> Lines<impl AsyncRead + Unpin + Send + use<>> {
    let (input, output) = stdio_pipes();
    Lines::new(Watched { inner: input, gone: gone.clone() }, output, gone.clone())
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(input: R, output: impl AsyncWrite + Unpin + Send + 'static, gone: CancellationToken) -> Self {
        let (sender, lines) = mpsc::channel(LINES_WAITING_MAX);
        tokio::spawn(write(output, lines, gone));
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            is_skipping: false,
            refusal: None,
            output: Some(sender),
            requests: Arc::default(),
        }
    }

    /// Reads the next line, without its terminator; `None` at the end of the input. An unterminated last line is
    /// ignored.
    ///
    /// # Cancellation
    /// May be dropped at any time: what was read so far is kept in `self.line`.
    async fn next_line(&mut self) -> Option<Result<Vec<u8>, Refusal>> {
        loop {
            let Self { input, line, is_skipping, .. } = self;
            let available = input.fill_buf().await.ok().filter(|available| !available.is_empty())?;
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let is_too_long = line.len() + taken > MCP_LINE_BYTES_MAX;
            if !*is_skipping && !is_too_long {
                line.extend_from_slice(&available[..taken]);
            }
            input.consume(taken);
            let was_skipping = std::mem::replace(is_skipping, (*is_skipping || is_too_long) && end.is_none());
            if is_too_long && !was_skipping {
                self.line = Vec::new();
                return Some(Err(Refusal::too_long()));
            }
            if end.is_some() && !was_skipping {
                let mut line = std::mem::take(&mut self.line);
                line.truncate(line.trim_ascii_end().len());
                return Some(Ok(line));
            }
        }
    }

    /// Parses a line and registers its request; `None` if it is ignored.
    fn accept(&self, line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        if line.is_empty() {
            return Ok(None);
        }
        let Some(message) = parse_message(line)? else { return Ok(None) };
        match &message {
            JsonRpcMessage::Request(request) => self.requests().begin(&request.id)?,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.requests().cancel(id);
                }
            }
            _ => {}
        }
        Ok(Some(message))
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        lock(&self.requests)
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        // The id is released before the answer is written: a client that has read the answer may reuse it at once.
        if let Some(id) = answered {
            self.requests().end(id);
        }
        let (output, line) = (self.output.clone(), serde_json::to_vec(&message));
        async move {
            let closed = || io::Error::new(io::ErrorKind::NotConnected, "the client is gone");
            let (sender, written) = oneshot::channel();
            output.ok_or_else(closed)?.send((line?, sender)).await.map_err(|_| closed())?;
            written.await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.refusal.is_some() {
                // Backpressure: while the client does not read its answers, no further line is read.
                let place = self.output.as_ref()?.reserve().await.ok()?;
                place.send((self.refusal.take()?, oneshot::channel().0));
            }
            let accepted = match self.next_line().await? {
                Ok(line) => {
                    let accepted = self.accept(&line);
                    if line.capacity() <= LINE_BYTES_KEPT && self.line.capacity() == 0 {
                        self.line = line;
                        self.line.clear();
                    }
                    accepted
                }
                Err(refusal) => Err(refusal),
            };
            match accepted {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(refusal) => self.refusal = Some(refusal.line()),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        Ok(())
    }
}

/// Writes lines until all senders are dropped, or a write fails.
async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Outgoing>, gone: CancellationToken) {
    while let Some((mut line, sender)) = lines.recv().await {
        line.push(b'\n');
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if written.await.is_err() {
            gone.cancel();
            return;
        }
        // Fails for an error answer, whose sender does not wait.
        let _ = sender.send(());
    }
}

impl Requests {
    fn begin(&mut self, id: &RequestId) -> Result<(), Refusal> {
        let refused = |why: &str| Err(Refusal::request(Some(json!(id)), why));
        if self.in_flight.contains(id) {
            return refused("a request with this id is still in flight");
        }
        if self.cancelled.contains(id) {
            return refused("a request with this id was cancelled: use another");
        }
        if self.in_flight.len() >= MCP_REQUESTS_MAX {
            return refused("too many requests are in flight");
        }
        self.in_flight.insert(id.clone());
        Ok(())
    }

    fn end(&mut self, id: &RequestId) {
        self.in_flight.remove(id);
    }

    fn cancel(&mut self, id: &RequestId) {
        if self.in_flight.remove(id) {
            self.cancelled.push_back(id.clone());
            if self.cancelled.len() > MCP_CANCELLED_IDS_MAX {
                self.cancelled.pop_front();
            }
        }
    }
}

/// The error answer to a line that is not a valid message.
#[derive(Debug, PartialEq)]
struct Refusal {
    id: Json,
    code: ErrorCode,
    message: String,
}

impl Refusal {
    fn unreadable(why: &str) -> Self {
        Self { id: Json::Null, code: ErrorCode::PARSE_ERROR, message: format!("the line is no JSON: {why}") }
    }

    fn too_long() -> Self {
        let message = format!("the line is longer than {MCP_LINE_BYTES_MAX} bytes");
        Self { id: Json::Null, code: ErrorCode::PARSE_ERROR, message }
    }

    fn request(id: Option<Json>, why: &str) -> Self {
        Self { id: id.unwrap_or_default(), code: ErrorCode::INVALID_REQUEST, message: why.to_owned() }
    }

    fn line(self) -> Vec<u8> {
        let Self { id, code, message } = self;
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.0, "message": message}}).to_string().into_bytes()
    }
}

/// Parses the message in a line; `None` for an unknown notification, which gets no answer.
fn parse_message(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
    match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) if error.classify() != Category::Data => return Err(unreadable(&error)),
        Err(_) => {}
    }
    let mut json: Json = serde_json::from_slice(line).map_err(|error| unreadable(&error))?;
    whole::in_json(&mut json);
    let id = json.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64()).cloned();
    let is_notification = json.get("id").is_none() && json.get("method").is_some_and(Json::is_string);
    match serde_json::from_value(json) {
        Ok(message) => Ok(Some(message)),
        Err(_) if is_notification => Ok(None),
        Err(_) => Err(Refusal::request(id, "the line is no request, notification or response of JSON-RPC 2.0")),
    }
}

/// Reports only the position: the text at it may be a script.
fn unreadable(error: &serde_json::Error) -> Refusal {
    let kind = if error.is_eof() { "it ends too early" } else { "there is an error" };
    Refusal::unreadable(&format!("{kind} at column {}", error.column()))
}

fn lock(requests: &Mutex<Requests>) -> MutexGuard<'_, Requests> {
    // No code panics while holding the lock.
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, duplex};

    /// The messages received from some input bytes, and the error answers sent for them.
    async fn received(bytes: &[u8]) -> (Vec<RxJsonRpcMessage<RoleServer>>, Vec<Json>) {
        let (output, mut answers) = duplex(1 << 20);
        let mut lines = Lines::new(bytes, output, CancellationToken::new());
        let mut messages = Vec::new();
        while let Some(message) = lines.receive().await {
            messages.push(message);
        }
        drop(lines);
        let mut text = String::new();
        answers.read_to_string(&mut text).await.unwrap();
        (messages, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    fn codes(answers: &[Json]) -> Vec<(Json, i64)> {
        answers.iter().map(|answer| (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap())).collect()
    }

    fn ping(id: &str) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
    }

    #[tokio::test]
    async fn each_line_that_is_no_message_is_answered_and_the_next_is_read() {
        let wrong = [
            ("{", -32700, json!(null)),
            ("hello", -32700, json!(null)),
            ("\u{0}\u{0}", -32700, json!(null)),
            (&"[".repeat(100_000), -32700, json!(null)),
            ("[]", -32600, json!(null)),
            ("7", -32600, json!(null)),
            ("{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"ping\"}", -32600, json!("x")),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":1}", -32600, json!(7)),
            ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, json!(null)),
        ];
        for (line, code, id) in wrong {
            let (messages, answers) = received(format!("{line}\n{}", ping("1")).as_bytes()).await;
            assert_eq!((messages.len(), codes(&answers)), (1, vec![(id, code)]), "{line:.40}");
        }
        let (messages, answers) =
            received(b"\xff\xfe{\0\n\n\r\n\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n").await;
        assert_eq!((messages.len(), codes(&answers)), (1, vec![(json!(null), -32700)]));
        let unknown =
            b"{\"jsonrpc\":\"2.0\",\"method\":\"$/other\",\"params\":7}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi";
        let (messages, answers) = received(unknown).await;
        let what = "a notification of others gets no answer, and a line without an end is none";
        assert!(messages.len() <= 1 && answers.is_empty(), "{what}: {messages:?} {answers:?}");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_not_kept_and_the_next_is_read() {
        let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}\n", "x".repeat(MCP_LINE_BYTES_MAX));
        let (messages, answers) = received(format!("{long}{}", ping("2")).as_bytes()).await;
        assert_eq!((messages.len(), codes(&answers)), (1, vec![(json!(null), -32700)]));
        let longest = "x".repeat(MCP_LINE_BYTES_MAX - ping("1").len());
        let (messages, answers) = received(ping("1").replace("ping", &format!("ping{longest}")).as_bytes()).await;
        assert_eq!((messages.len(), answers.len()), (1, 0));
    }

    #[tokio::test]
    async fn an_id_in_flight_is_refused_until_it_is_answered_and_one_cancelled_for_longer() {
        let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n";
        let lines = [&*ping("1"), &*ping("1.0"), &*ping("\"1\""), cancel, &*ping("1")].concat();
        let (messages, answers) = received(lines.as_bytes()).await;
        assert_eq!((messages.len(), codes(&answers)), (3, vec![(json!(1), -32600), (json!(1), -32600)]));

        let (output, _answers) = duplex(1 << 20);
        let text = [ping("1"), ping("1")].concat();
        let mut lines = Lines::new(text.as_bytes(), output, CancellationToken::new());
        assert!(lines.receive().await.is_some());
        let answer = serde_json::from_value(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}));
        lines.send(answer.unwrap()).await.unwrap();
        assert!(lines.receive().await.is_some(), "it is free again");
    }

    #[test]
    fn requests_are_bounded() {
        let mut requests = Requests::default();
        for id in 0..i64::try_from(MCP_REQUESTS_MAX).unwrap() {
            requests.begin(&RequestId::Number(id)).unwrap();
        }
        assert!(requests.begin(&RequestId::Number(-1)).is_err());
        for id in 0..i64::try_from(MCP_REQUESTS_MAX).unwrap() {
            requests.cancel(&RequestId::Number(id));
        }
        assert_eq!((requests.in_flight.len(), requests.cancelled.len()), (0, MCP_CANCELLED_IDS_MAX));
    }
}
