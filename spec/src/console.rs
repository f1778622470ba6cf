//! The buffer of an execution's console lines. It is bounded: half of it stores the first lines and half the latest
//! ones; the bytes dropped in between are counted.

use crate::{limits::CONSOLE_BYTES_KEPT, message::ConsoleLine};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The first and the last console lines, within [`CONSOLE_BYTES_KEPT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleBuffer {
    head: Vec<ConsoleLine>,
    head_bytes: usize,
    tail: VecDeque<ConsoleLine>,
    tail_bytes: usize,
    dropped_bytes: u64,
}

impl ConsoleBuffer {
    /// Adds a line. If there is no room, the oldest lines of the last half are dropped.
    pub fn push(&mut self, line: ConsoleLine) {
        // Every line counts at least one byte, or the buffer could hold any number of empty lines.
        let size = line.text.len() + 1;
        if self.tail.is_empty() && self.dropped_bytes == 0 && self.head_bytes + size <= CONSOLE_BYTES_KEPT / 2 {
            self.head_bytes += size;
            self.head.push(line);
            return;
        }
        self.tail_bytes += size;
        self.tail.push_back(line);
        while self.tail_bytes > CONSOLE_BYTES_KEPT / 2 {
            let Some(oldest) = self.tail.pop_front() else { break };
            self.tail_bytes -= oldest.text.len() + 1;
            self.dropped_bytes += oldest.text.len() as u64 + 1;
        }
    }

    /// Counts bytes that were dropped before they reached this buffer.
    pub fn count_dropped(&mut self, bytes: u64) {
        self.dropped_bytes += bytes;
    }

    /// Returns the stored lines in order, and how many bytes were dropped between them. Leaves the buffer empty.
    pub fn take(&mut self) -> (Vec<ConsoleLine>, u64) {
        let Self { mut head, tail, dropped_bytes, .. } = std::mem::take(self);
        head.extend(tail);
        (head, dropped_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Level;

    #[test]
    fn a_flood_keeps_its_first_and_last_lines() {
        let mut buffer = ConsoleBuffer::default();
        for number in 0..100_000 {
            buffer.push(ConsoleLine { level: Level::Log, text: format!("line {number}") });
        }
        let (lines, dropped) = buffer.take();
        assert_eq!(lines.first().unwrap().text, "line 0");
        assert_eq!(lines.last().unwrap().text, "line 99999");
        assert!(lines.iter().map(|line| line.text.len() + 1).sum::<usize>() <= CONSOLE_BYTES_KEPT);
        assert!(dropped > 900_000);
        assert_eq!(buffer.take(), (vec![], 0));
    }
}
