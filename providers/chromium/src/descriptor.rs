//! Sockets and pipes with a minimum of readiness notifications.
//!
//! Tokio registers a socket for both directions, so every message that the peer reads wakes this process for nothing,
//! just when the browser needs the processor. Here the reading end is registered, and the writing end only while it is
//! full. Tokio's pipe types register one direction only, and work for sockets as well.

use rustix::{io::Errno, net::Shutdown};
use std::{
    io::{self, IoSlice},
    mem,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{UnixStream, unix::pipe},
};

/// The reading end. It is registered with tokio, unless a thread reads it directly.
#[derive(Debug)]
pub(crate) struct Input(Registration);

#[derive(Debug)]
enum Registration {
    Tokio(pipe::Receiver),
    /// A thread waits for the descriptor itself, so that no worker of the runtime is woken by it.
    Thread(OwnedFd),
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

/// Splits a socket into its two directions. Must be called within a tokio runtime.
///
/// # Errors
/// When the process has no file descriptor left, or the runtime cannot register the socket.
pub(crate) fn split(stream: UnixStream) -> io::Result<(Input, Output)> {
    let read = OwnedFd::from(stream.into_std()?);
    let written = read.try_clone()?;
    Ok((
        Input(Registration::Tokio(pipe::Receiver::from_owned_fd_unchecked(read)?)),
        Output { descriptor: written, full: None },
    ))
}

impl Input {
    /// The reading end of a pipe. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When this is no pipe, or the runtime cannot register it.
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self(Registration::Tokio(pipe::Receiver::from_owned_fd(pipe)?)))
    }

    /// Gives the descriptor to the calling thread: until [`Self::give_back`], a read that finds nothing is pending and
    /// wakes no task, and the thread must wait for [`Self::descriptor`] itself.
    ///
    /// # Errors
    /// When the runtime cannot deregister it; then nothing can be read any more.
    pub(crate) fn take_over(&mut self) -> io::Result<()> {
        if let Registration::Tokio(receiver) = mem::replace(&mut self.0, Registration::Failed) {
            self.0 = Registration::Thread(receiver.into_nonblocking_fd()?);
        }
        Ok(())
    }

    /// Registers the descriptor with tokio again. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the runtime cannot register it; then nothing can be read any more.
    pub(crate) fn give_back(&mut self) -> io::Result<()> {
        if let Registration::Thread(descriptor) = mem::replace(&mut self.0, Registration::Failed) {
            self.0 = Registration::Tokio(pipe::Receiver::from_owned_fd_unchecked(descriptor)?);
        }
        Ok(())
    }

    /// The descriptor, while a thread has taken it over.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            Registration::Thread(descriptor) => Some(descriptor.as_fd()),
            Registration::Tokio(_) | Registration::Failed => None,
        }
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let descriptor = match &mut self.0 {
            Registration::Tokio(receiver) => return Pin::new(receiver).poll_read(context, buffer),
            Registration::Thread(descriptor) => descriptor,
            Registration::Failed => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        };
        loop {
            match rustix::io::read(&*descriptor, buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Poll::Pending,
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn what_is_written_faster_than_it_is_read_waits_and_arrives_whole() {
        let (left, right) = UnixStream::pair().unwrap();
        let (_, mut output) = split(left).unwrap();
        let (mut input, _) = split(right).unwrap();
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
        let (left, right) = UnixStream::pair().unwrap();
        let (mut input, output) = split(left).unwrap();
        let (mut theirs, mut to_us) = split(right).unwrap();
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
}
