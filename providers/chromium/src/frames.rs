//! The framing of Chromium's debugging pipe: JSON texts, each terminated by a zero byte.

use bytes::{Buf as _, Bytes, BytesMut, buf::Chain};
use codemode_spec::limits::CDP_EDGE_BYTES_KEPT;
use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio_util::codec::Decoder;

/// Terminates a message. JSON text never contains this byte.
const END: u8 = 0;
/// A buffer that a long message has grown beyond this size is freed.
const BUFFER_BYTES_KEPT: usize = 256 * 1024;

/// A complete message, or the edges of a message that was discarded.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    Whole(Bytes),
    /// A message that exceeded the bound: its first bytes, its last bytes, and its size.
    TooLong {
        head: Bytes,
        tail: Bytes,
        bytes: usize,
    },
}

/// Splits a byte stream into complete messages.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes_max: usize,
    /// The length of the buffer's prefix that is known to contain no terminator.
    searched: usize,
    /// The message that is currently being discarded.
    passing: Option<Passing>,
}

#[derive(Debug)]
struct Passing {
    head: Bytes,
    tail: BytesMut,
    bytes: usize,
}

impl Passing {
    fn new(message: &[u8]) -> Self {
        let head = Bytes::copy_from_slice(&message[..message.len().min(CDP_EDGE_BYTES_KEPT)]);
        Self { head, tail: BytesMut::new(), bytes: 0 }
    }

    fn pass(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(CDP_EDGE_BYTES_KEPT)..]);
        self.tail.advance(self.tail.len().saturating_sub(CDP_EDGE_BYTES_KEPT));
    }

    fn over(self) -> Frame {
        Frame::TooLong { head: self.head, tail: self.tail.freeze(), bytes: self.bytes }
    }
}

impl Frames {
    /// Yields messages of at most `bytes_max` bytes, and discards longer ones.
    pub(crate) fn up_to(bytes_max: usize) -> Self {
        Self { bytes_max, searched: 0, passing: None }
    }

    /// Extracts the message whose terminator is at index `end` of the buffer.
    fn whole(&mut self, buffer: &mut BytesMut, end: usize) -> Frame {
        let message = buffer.split_to(end);
        buffer.advance(1);
        self.searched = 0;
        if buffer.is_empty() && buffer.capacity() > BUFFER_BYTES_KEPT {
            *buffer = BytesMut::new();
        }
        if self.passing.is_none() && message.len() <= self.bytes_max {
            return Frame::Whole(message.freeze());
        }
        let mut passing = self.passing.take().unwrap_or_else(|| Passing::new(&message));
        passing.pass(&message);
        passing.over()
    }
}

impl Decoder for Frames {
    type Item = Frame;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Frame>> {
        if let Some(end) = memchr::memchr(END, &buffer[self.searched..]) {
            return Ok(Some(self.whole(buffer, self.searched + end)));
        }
        self.searched = buffer.len();
        if self.passing.is_some() || buffer.len() > self.bytes_max {
            self.passing.get_or_insert_with(|| Passing::new(buffer)).pass(buffer);
            self.searched = 0;
            *buffer = BytesMut::with_capacity(BUFFER_BYTES_KEPT);
        }
        Ok(None)
    }

    /// Discards a message without a terminator at the end of the stream: it was not sent completely.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Frame>> {
        let message = self.decode(buffer)?;
        if message.is_none() {
            buffer.clear();
        }
        Ok(message)
    }
}

/// Writes complete messages, without copying them.
#[derive(Debug)]
pub(crate) struct FrameWriter<W> {
    to: W,
    /// The unwritten rest of the last message.
    begun: Chain<Bytes, &'static [u8]>,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, begun: Bytes::new().chain(&[]) }
    }

    /// Writes a message.
    ///
    /// # Cancellation
    /// May be dropped at any time: a partially written message is completed before the next one.
    pub(crate) async fn send(&mut self, message: Bytes) -> io::Result<()> {
        self.finish().await?;
        self.begun = message.chain(&[END]);
        self.finish().await
    }

    /// Writes the rest of a message whose sender was cancelled.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        while self.begun.has_remaining() {
            if self.to.write_buf(&mut self.begun).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BufMut as _;

    fn whole(text: &'static str) -> Option<Frame> {
        Some(Frame::Whole(Bytes::from_static(text.as_bytes())))
    }

    #[test]
    fn messages_come_whole_or_not_at_all() {
        let (mut frames, mut buffer) = (Frames::up_to(100), BytesMut::new());
        buffer.put_slice(b"{}\0[1]\0{\"half");
        assert_eq!(frames.decode(&mut buffer).unwrap(), whole("{}"));
        assert_eq!(frames.decode(&mut buffer).unwrap(), whole("[1]"));
        assert_eq!(frames.decode(&mut buffer).unwrap(), None);
        buffer.put_slice(b"\": 1}");
        assert_eq!(frames.decode(&mut buffer).unwrap(), None);
        assert_eq!(frames.decode_eof(&mut buffer).unwrap(), None, "it has no end");
        assert!(buffer.is_empty());
        frames.searched = 0;
        buffer.put_slice(b"{}\0");
        assert_eq!(frames.decode_eof(&mut buffer).unwrap(), whole("{}"));
    }

    #[test]
    fn a_message_that_is_too_long_is_passed_over_in_whatever_pieces_it_comes() {
        let long = [b"{\"id\":7,".as_slice(), &[b'x'; 2_000], b"the end"].concat();
        for piece in [1, 99, 100, 101, 5_000] {
            let (mut frames, mut buffer, mut seen) = (Frames::up_to(100), BytesMut::new(), Vec::new());
            let stream = [b"{}\0".as_slice(), &long, b"\0[1]\0"].concat();
            for piece in stream.chunks(piece) {
                buffer.put_slice(piece);
                while let Some(frame) = frames.decode(&mut buffer).unwrap() {
                    seen.push(frame);
                }
                assert!(buffer.len() <= 5_000);
            }
            let [first, Frame::TooLong { head, tail, bytes }, last] = &*seen else { panic!("{seen:?}") };
            assert_eq!((Some(first), Some(last)), (whole("{}").as_ref(), whole("[1]").as_ref()));
            assert!(head.starts_with(b"{\"id\":7,") && head.len() <= CDP_EDGE_BYTES_KEPT, "{head:?}");
            assert!(tail.ends_with(b"xthe end") && tail.len() <= CDP_EDGE_BYTES_KEPT, "{tail:?}");
            assert_eq!(*bytes, long.len());
        }
    }

    #[tokio::test]
    async fn a_message_whose_sender_gave_up_goes_out_whole_before_the_next() {
        let (to, mut from) = tokio::io::duplex(8);
        let mut writer = FrameWriter::new(to);
        {
            let mut given_up = Box::pin(writer.send(Bytes::from_static(b"0123456789abcdef")));
            assert!(futures::poll!(&mut given_up).is_pending());
        }
        let read = tokio::spawn(async move {
            let mut text = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut from, &mut text).await.unwrap();
            text
        });
        writer.send(Bytes::from_static(b"next")).await.unwrap();
        drop(writer);
        assert_eq!(read.await.unwrap(), b"0123456789abcdef\0next\0");
    }
}
