//! Messages as Chromium's debugging pipe carries them: JSON texts, each with a zero byte behind it.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use codemode_spec::limits::CDP_MESSAGE_BYTES_MAX;
use std::io;
use tokio_util::codec::{Decoder, Encoder};

/// Ends a message. JSON text never holds this byte.
const END: u8 = 0;
/// A buffer that a long message left larger than this is given back.
const BUFFER_BYTES_KEPT: usize = 256 * 1024;

/// Cuts a stream of bytes into whole messages.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// How much of the buffer is known to hold no end.
    searched: usize,
}

impl Decoder for Frames {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let Some(end) = memchr::memchr(END, &buffer[self.searched..]) else {
            self.searched = buffer.len();
            if self.searched > CDP_MESSAGE_BYTES_MAX {
                let message = format!("a message is longer than {CDP_MESSAGE_BYTES_MAX} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            return Ok(None);
        };
        let message = buffer.split_to(self.searched + end).freeze();
        buffer.advance(1);
        self.searched = 0;
        if buffer.is_empty() && buffer.capacity() > BUFFER_BYTES_KEPT {
            *buffer = BytesMut::new();
        }
        Ok(Some(message))
    }

    /// What stands before the end of the stream without its own end was never sent as a whole.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let message = self.decode(buffer)?;
        if message.is_none() {
            buffer.clear();
        }
        Ok(message)
    }
}

impl<T: AsRef<[u8]>> Encoder<T> for Frames {
    type Error = io::Error;

    fn encode(&mut self, message: T, buffer: &mut BytesMut) -> io::Result<()> {
        let message = message.as_ref();
        if buffer.is_empty() && buffer.capacity() > BUFFER_BYTES_KEPT {
            *buffer = BytesMut::new();
        }
        buffer.reserve(message.len() + 1);
        buffer.put_slice(message);
        buffer.put_u8(END);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_or_not_at_all() {
        let (mut frames, mut buffer) = (Frames::default(), BytesMut::new());
        frames.encode("{}", &mut buffer).unwrap();
        frames.encode("[1]", &mut buffer).unwrap();
        buffer.put_slice(b"{\"half");
        assert_eq!(frames.decode(&mut buffer).unwrap().as_deref(), Some(&b"{}"[..]));
        assert_eq!(frames.decode(&mut buffer).unwrap().as_deref(), Some(&b"[1]"[..]));
        assert_eq!(frames.decode(&mut buffer).unwrap(), None);
        buffer.put_slice(b"\": 1}");
        assert_eq!(frames.decode(&mut buffer).unwrap(), None);
        assert_eq!(frames.decode_eof(&mut buffer).unwrap(), None, "it has no end");
        assert!(buffer.is_empty());
        frames.searched = 0;
        buffer.put_slice(b"{}\0");
        assert_eq!(frames.decode_eof(&mut buffer).unwrap().as_deref(), Some(&b"{}"[..]));
    }

    #[test]
    fn a_message_without_an_end_is_given_up() {
        let mut buffer = BytesMut::zeroed(CDP_MESSAGE_BYTES_MAX + 1);
        buffer.fill(b' ');
        assert!(Frames::default().decode(&mut buffer).is_err());
    }
}
