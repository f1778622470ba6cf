//! Sockets and pipes with a minimum of readiness notifications.
//!
//! Tokio registers a socket for both directions, so every message that the peer reads wakes this process for nothing,
//! just when the browser needs the processor. Here the reading end is registered, and the writing end only while it is
//! full. Tokio's pipe types register one direction only, and work for sockets as well.

use rustix::{io::Errno, net::Shutdown};
use std::{
    io::{self, IoSlice},
    mem,
    os::fd::{AsFd as _, OwnedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::unix::pipe,
};

/// How many reads a thread that reads directly may do without a wait. A peer that sends faster than it is read, and
/// never completes a message, would otherwise keep the thread beyond its time.
const READS_WITHOUT_WAIT_MAX: usize = 64;

/// The reading end. It is registered with tokio, unless a thread reads it directly.
#[derive(Debug)]
pub(crate) struct Input(Registration);

#[derive(Debug)]
enum Registration {
    Tokio(pipe::Receiver),
    /// A thread waits for the descriptor itself, so that no worker of the runtime is woken by it.
    Thread {
        descriptor: Arc<OwnedFd>,
        /// The reads since the last one that was pending.
        reads: usize,
    },
    /// Registering failed.
    Failed,
}

/// The writing end. The peer sees EOF when this is dropped.
#[derive(Debug)]
pub(crate) struct Output {
    descriptor: OwnedFd,
    /// Registered with tokio while the socket or pipe is full.
    full: Option<pipe::Sender>,
}

/// Both ends of a socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) input: Input,
    pub(crate) output: Output,
}

impl Socket {
    /// Must be called within a tokio runtime, with a non-blocking stream socket.
    ///
    /// # Errors
    /// When the process has no file descriptor left, or the runtime cannot register the socket.
    pub(crate) fn new(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let socket = socket.into();
        let output = Output { descriptor: socket.try_clone()?, full: None };
        let input = Input(Registration::Tokio(pipe::Receiver::from_owned_fd_unchecked(socket)?));
        Ok(Self { input, output })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.output).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.output).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.output.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_shutdown(context)
    }
}

impl Input {
    /// The reading end of a pipe. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When this is no pipe, or the runtime cannot register it.
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self(Registration::Tokio(pipe::Receiver::from_owned_fd(pipe)?)))
    }

    /// Gives the descriptor to the calling thread: until [`Self::give_back`], a read that is pending wakes no task, and
    /// the thread must wait for the returned descriptor before it reads again.
    ///
    /// # Errors
    /// When the runtime cannot deregister it; then nothing can be read any more.
    pub(crate) fn take_over(&mut self) -> io::Result<Arc<OwnedFd>> {
        let descriptor = match mem::replace(&mut self.0, Registration::Failed) {
            Registration::Tokio(receiver) => Arc::new(receiver.into_nonblocking_fd()?),
            Registration::Thread { descriptor, .. } => descriptor,
            Registration::Failed => return Err(io::ErrorKind::NotConnected.into()),
        };
        self.0 = Registration::Thread { descriptor: Arc::clone(&descriptor), reads: 0 };
        Ok(descriptor)
    }

    /// Registers the descriptor with tokio again. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the runtime cannot register it; then nothing can be read any more.
    pub(crate) fn give_back(&mut self) -> io::Result<()> {
        if let Registration::Thread { descriptor, .. } = mem::replace(&mut self.0, Registration::Failed) {
            let descriptor = Arc::try_unwrap(descriptor).or_else(|shared| shared.try_clone())?;
            self.0 = Registration::Tokio(pipe::Receiver::from_owned_fd_unchecked(descriptor)?);
        }
        Ok(())
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (descriptor, reads) = match &mut self.0 {
            Registration::Tokio(receiver) => return Pin::new(receiver).poll_read(context, buffer),
            Registration::Thread { descriptor, reads } => (descriptor, reads),
            Registration::Failed => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        };
        if *reads == READS_WITHOUT_WAIT_MAX {
            *reads = 0;
            return Poll::Pending;
        }
        loop {
            match rustix::io::read(&*descriptor, buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    *reads += 1;
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    *reads = 0;
                    return Poll::Pending;
                }
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl Output {
    /// The writing end of a pipe.
    ///
    /// # Errors
    /// When the pipe cannot be made non-blocking.
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self { descriptor: pipe, full: None })
    }

    /// Shuts down the writing direction of a socket, whose reading end is still open; a pipe needs only to be closed.
    fn end(&self) {
        let _ = rustix::net::shutdown(&self.descriptor, Shutdown::Write);
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            if let Some(full) = &mut self.full {
                let written = ready!(Pin::new(full).poll_write_vectored(context, pieces));
                self.full = None;
                return Poll::Ready(written);
            }
            match rustix::io::writev(self.descriptor.as_fd(), pieces) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // Registered as a duplicate: epoll accepts each descriptor only once.
                    self.full = Some(pipe::Sender::from_owned_fd_unchecked(self.descriptor.try_clone()?)?);
                }
                written => return Poll::Ready(Ok(written?)),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use std::os::unix::net::UnixStream;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn pair() -> (Socket, Socket) {
        let (left, right) = UnixStream::pair().unwrap();
        for end in [&left, &right] {
            end.set_nonblocking(true).unwrap();
        }
        (Socket::new(left).unwrap(), Socket::new(right).unwrap())
    }

    #[tokio::test]
    async fn what_is_written_faster_than_it_is_read_waits_and_arrives_whole() {
        let (Socket { mut output, .. }, Socket { mut input, .. }) = pair();
        let sent: Vec<u8> = (0..4_000_000_u32).map(|number| (number % 251) as u8).collect();
        let expected = sent.clone();
        let written = tokio::spawn(async move {
            output.write_all(&sent).await.unwrap();
        });
        let mut received = Vec::new();
        input.read_to_end(&mut received).await.unwrap();
        written.await.unwrap();
        assert_eq!(received, expected, "the end came after the last byte");
    }

    #[tokio::test]
    async fn the_other_end_learns_that_this_one_went() {
        let (Socket { mut input, output }, Socket { input: mut theirs, output: mut to_us }) = pair();
        drop(output);
        assert_eq!(theirs.read(&mut [0; 8]).await.unwrap(), 0, "nothing more comes, though we still read");
        to_us.write_all(b"late").await.unwrap();
        let mut late = [0; 8];
        assert_eq!(input.read(&mut late).await.unwrap(), 4);
        drop(input);
        let error = loop {
            if let Err(error) = to_us.write_all(b"lost").await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_full_pipe_is_waited_for_until_it_is_read() {
        let (read, written) = io::pipe().unwrap();
        let (mut input, mut output) = (Input::new(read.into()).unwrap(), Output::new(written.into()).unwrap());
        let block = [7; 1 << 16];
        output.write_all(&block).await.unwrap();
        let mut next = Box::pin(output.write_all(b"next"));
        assert!(futures::poll!(&mut next).is_pending(), "a pipe holds 64 KiB");
        let mut received = vec![0; block.len()];
        input.read_exact(&mut received).await.unwrap();
        next.await.unwrap();
        received.truncate(4);
        input.read_exact(&mut received).await.unwrap();
        assert_eq!(received, b"next");
    }

    #[tokio::test]
    async fn a_thread_that_reads_a_peer_without_end_comes_back_to_its_wait() {
        let (Socket { mut input, .. }, Socket { output: mut peer, .. }) = pair();
        let rounds = 3;
        peer.write_all(&vec![7; rounds * READS_WITHOUT_WAIT_MAX + 1]).await.unwrap();
        let _descriptor = input.take_over().unwrap();
        for _ in 0..rounds {
            for _ in 0..READS_WITHOUT_WAIT_MAX {
                assert_eq!(input.read(&mut [0]).now_or_never().unwrap().unwrap(), 1);
            }
            assert!(input.read(&mut [0]).now_or_never().is_none(), "though there is more");
        }
        assert_eq!(input.read(&mut [0]).now_or_never().unwrap().unwrap(), 1, "nothing was lost");
        assert!(input.read(&mut [0]).now_or_never().is_none());

        peer.write_all(b"then").await.unwrap();
        input.give_back().unwrap();
        let mut then = [0; 4];
        input.read_exact(&mut then).await.unwrap();
        assert_eq!(&then, b"then", "though the thread's descriptor is still there");
    }
}
