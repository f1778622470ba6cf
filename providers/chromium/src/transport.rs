//! The transport of a connection's messages: a WebSocket, or a socket of a [`crate::Relay`].

use crate::{
    broken::Broken,
    descriptor::{Input, Output, Socket},
    frames::{Frame, FrameWriter, Frames},
    web_socket::WebSocket,
};
use bytes::Bytes;
use codemode_spec::{ErrorCode, ErrorReport, limits::CDP_REPLY_BYTES_MAX};
use futures::StreamExt as _;
use std::{
    io,
    os::fd::OwnedFd,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::codec::FramedRead;

/// The writing half of a transport.
pub(crate) enum Writer {
    Web(WebSocket),
    Relay(FrameWriter<Output>),
}

/// The reading half of a transport.
pub(crate) enum Reader {
    Web(WebSocket),
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

/// The two halves of a relay's socket.
pub(crate) fn over(stream: UnixStream) -> Result<(Writer, Reader), ErrorReport> {
    let Socket { input, output } = stream.into_std().and_then(Socket::new).map_err(|error| {
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
            Self::Web(socket) => socket.send(text).await,
            Self::Relay(socket) => socket.send(text.into()).await.map_err(|error| Broken::because(&error)),
        }
    }

    /// Closes a WebSocket with the closing handshake; a relay's socket has none. The browser may be gone or stuck, so
    /// the caller must apply a timeout.
    pub(crate) async fn close(&mut self) {
        match self {
            Self::Web(socket) => socket.close().await,
            Self::Relay(_) => {}
        }
    }
}

impl Reader {
    /// The next message, or the reason why no further message can be read; `None` for a frame that carries no message.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Text>, Broken>> {
        match self {
            Self::Web(socket) => socket.poll_next(context).map_ok(|text| text.map(Text::Web)),
            Self::Relay(socket) => Poll::Ready(match ready!(socket.poll_next_unpin(context)) {
                Some(Ok(Frame::Whole(message))) => Ok(Some(Text::Relay(message))),
                Some(Ok(Frame::TooLong { head, bytes, .. })) => Ok(Some(Text::Passed { head, bytes })),
                Some(Err(error)) => Err(Broken::because(&error)),
                None => Err(Broken::gone()),
            }),
        }
    }

    /// See [`Input::take_over`].
    pub(crate) fn take_over(&mut self) -> io::Result<Arc<OwnedFd>> {
        self.with_input(Input::take_over)
    }

    /// See [`Input::give_back`].
    pub(crate) fn give_back(&mut self) -> io::Result<()> {
        self.with_input(Input::give_back)
    }

    fn with_input<T>(&mut self, function: impl FnOnce(&mut Input) -> T) -> T {
        match self {
            Self::Web(socket) => socket.with_input(function),
            Self::Relay(socket) => function(socket.get_mut()),
        }
    }
}
