//! A WebSocket to a browser, written and read by different threads.

use crate::{
    broken::Broken,
    descriptor::Input,
    endpoint::Endpoint,
    error::CdpError,
    http,
    reach::{REFUSED, failed, shown, unreachable},
    stream::Stream,
};
use codemode_spec::{ErrorCode, ErrorReport, limits::CDP_WEB_MESSAGE_BYTES_MAX};
use futures::{Sink as _, Stream as _};
use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message, Utf8Bytes,
        client::IntoClientRequest as _,
        error::CapacityError,
        handshake::client::Request,
        protocol::{CloseFrame, WebSocketConfig},
    },
};
use url::Url;

/// The size of a WebSocket's read buffer, which is filled with zeros before each read: larger than most messages, and
/// much smaller than the default.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// One half of a WebSocket. Clones share one socket, of which one may write and one may read; it is closed when the last
/// clone is dropped.
#[derive(Clone)]
pub(crate) struct WebSocket {
    /// Locked for one poll at a time, so never while a peer is waited for.
    socket: Arc<Mutex<WebSocketStream<Stream>>>,
}

impl WebSocket {
    /// Opens a WebSocket to a browser.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self, ErrorReport> {
        let url = endpoint.url()?;
        let mut request = url.as_str().into_client_request().map_err(|error| unreachable(&url, &error))?;
        request.headers_mut().extend(http::header_map(&endpoint.headers)?);
        let stream = Stream::connect(&url).await?;
        Self::over(stream, request).await.map_err(|error| not_opened(&url, error))
    }

    /// Opens a WebSocket over a stream.
    pub(crate) async fn over(stream: Stream, request: Request) -> Result<Self, tungstenite::Error> {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .max_message_size(Some(CDP_WEB_MESSAGE_BYTES_MAX))
            .max_frame_size(Some(CDP_WEB_MESSAGE_BYTES_MAX));
        let (socket, _) = client_async_with_config(request, stream, Some(config)).await?;
        Ok(Self { socket: Arc::new(Mutex::new(socket)) })
    }

    /// Sends a message.
    ///
    /// # Cancellation
    /// May be dropped at any time: a partially sent message stays in the buffer and is completed before the next one.
    pub(crate) async fn send(&self, text: String) -> Result<(), Broken> {
        let mut message = Some(Message::text(text));
        poll_fn(|context| {
            self.with(|mut socket| {
                if message.is_some() {
                    ready!(socket.as_mut().poll_ready(context))?;
                }
                message.take().map_or(Ok(()), |message| socket.as_mut().start_send(message))?;
                socket.poll_flush(context)
            })
        })
        .await
        .map_err(Broken::from)
    }

    /// Performs the closing handshake. The caller must apply a timeout.
    pub(crate) async fn close(&self) {
        // The socket is closed in any case: a failure has no consequence.
        let _ = poll_fn(|context| self.with(|socket| socket.poll_close(context))).await;
    }

    /// The next message, or the reason why no further message can be read; `None` for a frame that carries no message.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Result<Option<Utf8Bytes>, Broken>> {
        Poll::Ready(match ready!(self.with(|socket| socket.poll_next(context))) {
            Some(Ok(Message::Text(text))) => Ok(Some(text)),
            Some(Ok(Message::Close(frame))) => {
                let words = |CloseFrame { code, reason }| format!("the browser closed it ({code} {reason})");
                Err(Broken::because(&frame.map_or_else(|| "the browser closed it".to_owned(), words)))
            }
            Some(Ok(_)) => Ok(None),
            Some(Err(error)) => Err(Broken::from(error)),
            None => Err(Broken::gone()),
        })
    }

    /// Runs a function on the reading end of the socket.
    pub(crate) fn with_input<T>(&self, function: impl FnOnce(&mut Input) -> T) -> T {
        self.with(|socket| function(socket.get_mut().get_mut().input()))
    }

    fn with<T>(&self, function: impl FnOnce(Pin<&mut WebSocketStream<Stream>>) -> T) -> T {
        // If a function panicked, the socket is used as it was left.
        function(Pin::new(&mut *self.socket.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn not_opened(url: &Url, error: tungstenite::Error) -> ErrorReport {
    match error {
        tungstenite::Error::Http(response) => {
            let status = response.status();
            let message = format!("{} answered {status} instead of opening a WebSocket", shown(url));
            let report = ErrorReport::new(ErrorCode::CdpConnectionFailed, message);
            report.with_detail("status", status.as_u16()).with_detail(REFUSED, true)
        }
        tungstenite::Error::Io(error) => failed(url, &error),
        // The server that answered is not a browser.
        error => unreachable(url, &error).with_detail(REFUSED, true),
    }
}

impl From<tungstenite::Error> for Broken {
    fn from(error: tungstenite::Error) -> Self {
        let too_large = match &error {
            tungstenite::Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
                Some(CdpError::TooLarge { bytes: *size, bytes_max: *max_size })
            }
            _ => None,
        };
        Self { reason: error.to_string(), too_large }
    }
}
