//! Standard input and output, watched: their end means that the client is gone.

use rmcp::transport::io::stdio_pipes;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// One of the two; cancels the token when it ends. Without it, what runs would learn of the client's going only when it
/// had answered.
pub(super) struct Watched<T> {
    inner: T,
    gone: CancellationToken,
}

/// Standard input and output.
pub(super) fn watched(gone: &CancellationToken) -> (impl AsyncRead + Unpin + use<>, impl AsyncWrite + Unpin + use<>) {
    let (input, output) = stdio_pipes();
    (Watched { inner: input, gone: gone.clone() }, Watched { inner: output, gone: gone.clone() })
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

impl<T: AsyncWrite + Unpin> Watched<T> {
    fn look_at<R>(&self, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if matches!(written, Poll::Ready(Err(_))) {
            self.gone.cancel();
        }
        written
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.look_at(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.look_at(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
