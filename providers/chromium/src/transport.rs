//! The transport of a connection's messages: a WebSocket, or a socket of a [`crate::Relay`].

use crate::{
    descriptor::{self, Input, Output},
    endpoint::Endpoint,
    error::CdpError,
    frames::{Frame, FrameWriter, Frames},
    http,
    reach::{REFUSED, failed, shown, unreachable},
    stream::Stream,
};
use bytes::Bytes;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{CDP_REPLY_BYTES_MAX, CDP_WEB_MESSAGE_BYTES_MAX},
};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use std::{
    fmt,
    task::{Context, Poll, ready},
};
use tokio::net::UnixStream;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message, Utf8Bytes,
        client::IntoClientRequest as _,
        error::CapacityError,
        protocol::{CloseFrame, WebSocketConfig},
    },
};
use tokio_util::codec::FramedRead;
use url::Url;

/// The size of a WebSocket's read buffer, which is filled with zeros before each read: larger than most messages, and
/// much smaller than the default.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// The writing half of a transport.
pub(crate) enum Writer {
    Web(Box<SplitSink<WebSocketStream<Stream>, Message>>),
    Relay(FrameWriter<Output>),
}

/// The reading half of a transport.
pub(crate) enum Reader {
    Web(SplitStream<WebSocketStream<Stream>>),
    Relay(FramedRead<Input, Frames>),
}

/// The text of one message of the browser.
pub(crate) enum Text {
    Web(Utf8Bytes),
    Relay(Bytes),
    /// A message that was discarded because it was too long: its first bytes, and its size.
    Passed {
        head: Bytes,
        bytes: usize,
    },
}

/// Why the transport can no longer send or receive.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) reason: String,
    /// Set if a message exceeded the size bound.
    pub(crate) too_large: Option<CdpError>,
}

/// Opens a WebSocket to a browser.
pub(crate) async fn open_web(endpoint: &Endpoint) -> Result<(Writer, Reader), ErrorReport> {
    let url = endpoint.url()?;
    let mut request = url.as_str().into_client_request().map_err(|error| unreachable(&url, &error))?;
    request.headers_mut().extend(http::header_map(&endpoint.headers)?);
    let stream = Stream::connect(&url).await?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(Some(CDP_WEB_MESSAGE_BYTES_MAX))
        .max_frame_size(Some(CDP_WEB_MESSAGE_BYTES_MAX));
    match client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => {
            let (writer, reader) = socket.split();
            Ok((Writer::Web(Box::new(writer)), Reader::Web(reader)))
        }
        Err(error) => Err(not_opened(&url, error)),
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

/// The two halves of a relay's socket.
pub(crate) fn over(stream: UnixStream) -> Result<(Writer, Reader), ErrorReport> {
    let (input, output) = descriptor::split(stream).map_err(|error| {
        ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("the browser's socket cannot be waited for: {error}"))
    })?;
    let reader = FramedRead::new(input, Frames::up_to(CDP_REPLY_BYTES_MAX));
    Ok((Writer::Relay(FrameWriter::new(output)), Reader::Relay(reader)))
}

impl Writer {
    /// Sends a message.
    ///
    /// # Cancellation
    /// May be dropped at any time: a partially sent message stays in the buffer and is completed before the next one.
    pub(crate) async fn send(&mut self, text: String) -> Result<(), Broken> {
        match self {
            Self::Web(socket) => socket.send(Message::text(text)).await.map_err(Broken::from),
            Self::Relay(socket) => socket.send(text.into()).await.map_err(|error| Broken::because(&error)),
        }
    }

    /// Closes a WebSocket with the closing handshake; a relay's socket has none. The browser may be gone or stuck, so
    /// the caller must apply a timeout.
    pub(crate) async fn close(&mut self) {
        match self {
            Self::Web(socket) => drop(socket.close().await),
            Self::Relay(_) => {}
        }
    }
}

impl Reader {
    /// The next message, or the reason why no further message can be read.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Text, Broken>> {
        let gone = || Broken::because(&"the browser went away");
        match self {
            Self::Relay(socket) => Poll::Ready(match ready!(socket.poll_next_unpin(context)) {
                Some(Ok(Frame::Whole(message))) => Ok(Text::Relay(message)),
                Some(Ok(Frame::TooLong { head, bytes, .. })) => Ok(Text::Passed { head, bytes }),
                Some(Err(error)) => Err(Broken::because(&error)),
                None => Err(gone()),
            }),
            Self::Web(socket) => loop {
                return Poll::Ready(match ready!(socket.poll_next_unpin(context)) {
                    Some(Ok(Message::Text(text))) => Ok(Text::Web(text)),
                    Some(Ok(Message::Close(frame))) => {
                        let words = |CloseFrame { code, reason }| format!("the browser closed it ({code} {reason})");
                        Err(Broken::because(&frame.map_or_else(|| "the browser closed it".to_owned(), words)))
                    }
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => Err(Broken::from(error)),
                    None => Err(gone()),
                });
            },
        }
    }

    /// The reading end of the socket, if a thread may read it directly: a relay's socket.
    pub(crate) fn input(&mut self) -> Option<&mut Input> {
        match self {
            Self::Relay(socket) => Some(socket.get_mut()),
            Self::Web(_) => None,
        }
    }
}

impl Broken {
    pub(crate) fn because(reason: &dyn fmt::Display) -> Self {
        Self { reason: reason.to_string(), too_large: None }
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
