//! Copies bytes in both directions, and detects idle connections.

use codemode_spec::limits::{NETWORK_IDLE_MS, NETWORK_TUNNEL_BUFFER_BYTES};
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes},
    net::TcpStream,
};

/// A bidirectional byte stream.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Copies until both sides have closed, or one has failed.
pub(super) async fn copy_both_ways(client: &mut dyn Duplex, server: &mut dyn Duplex) {
    let (mut client, mut server) = (client, server);
    let bytes = NETWORK_TUNNEL_BUFFER_BYTES;
    // The outcome concerns only the two sides of the tunnel.
    let _ = copy_bidirectional_with_sizes(&mut client, &mut server, bytes, bytes).await;
}

/// A counter of the bytes on a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<AtomicU64>);

impl Activity {
    /// Completes when no byte was transferred for the idle time limit.
    pub(super) async fn idle(&self) {
        let mut before = None;
        loop {
            let now = Some(self.0.load(Ordering::Relaxed));
            if now == before {
                return;
            }
            before = now;
            tokio::time::sleep(Duration::from_millis(NETWORK_IDLE_MS)).await;
        }
    }

    fn count(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A stream that counts its bytes.
#[derive(Debug)]
pub(super) struct Counted {
    stream: TcpStream,
    activity: Activity,
}

impl Counted {
    pub(super) const fn new(stream: TcpStream, activity: Activity) -> Self {
        Self { stream, activity }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        self.activity.count(buffer.filled().len() - before);
        Poll::Ready(read)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.activity.count(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        self.activity.count(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
