//! The console lines that are kept of an execution: the first half of the bytes and the last half; the rest is counted.

use crate::{limits::CONSOLE_BYTES_KEPT, message::ConsoleLine};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Keeps the first and the last console lines within [`CONSOLE_BYTES_KEPT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleBuffer {
    head: Vec<ConsoleLine>,
    head_bytes: usize,
    tail: VecDeque<ConsoleLine>,
    tail_bytes: usize,
    dropped_bytes: u64,
}

impl ConsoleBuffer {
    /// Adds a line; the oldest line of the last half goes if there is no room.
    pub fn push(&mut self, line: ConsoleLine) {
        // An empty line costs something too, or endless empty lines would be kept.
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

    /// Counts bytes that were dropped before they came here.
    pub fn count_dropped(&mut self, bytes: u64) {
        self.dropped_bytes += bytes;
    }

    /// The lines kept, in order, and how many bytes were dropped between them. The buffer is empty afterwards.
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
