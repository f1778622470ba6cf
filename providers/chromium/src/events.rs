//! The events of one connection: a bounded ring buffer that readers can read from any position and wait on.

use codemode_spec::limits::{EVENT_RING_BYTES_MAX, EVENT_RING_MAX};
use serde_json::Value as Json;
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// One event of the browser.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The event's sequence number in the connection, counted from 0.
    pub seq: u64,
    /// The event's full name, such as `Page.loadEventFired`.
    pub method: String,
    /// The protocol session that the event belongs to; `None` for the browser itself.
    pub session: Option<String>,
    /// The event's parameters.
    pub params: Json,
    /// The approximate size of the event in memory, in bytes.
    pub bytes: usize,
}

/// A batch of events read from a cursor onward.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events that match, oldest first.
    pub events: Vec<Arc<Event>>,
    /// The cursor for the next read: the sequence number after the last event that was examined.
    pub next: u64,
    /// The number of events after the cursor that are lost: evicted, or too large to be stored.
    pub dropped: u64,
}

/// The log of one connection's events. It retains the newest events, bounded by number and by memory. Readers never
/// slow the connection down: a slow reader loses the oldest events and learns how many.
///
/// Invariant: sequence numbers have no gaps, so the number of dropped events can be computed.
pub struct EventLog {
    ring: Mutex<Ring>,
    changed: Notify,
    events_max: usize,
}

#[derive(Default)]
struct Ring {
    /// `None` for an event that was too large to be stored.
    kept: VecDeque<Option<Arc<Event>>>,
    bytes: usize,
    bytes_max: usize,
    next: u64,
    closed: bool,
}

impl Ring {
    /// The sequence number of the oldest retained event.
    fn oldest(&self) -> u64 {
        self.next - self.kept.len() as u64
    }

    /// Evicts the oldest events until the rest is within the bounds.
    fn push_out(&mut self, events_max: usize) -> Vec<Option<Arc<Event>>> {
        let mut pushed_out = Vec::new();
        while self.kept.len() > events_max || self.bytes > self.bytes_max {
            let Some(event) = self.kept.pop_front() else { break };
            self.bytes -= event.as_ref().map_or(0, |event| event.bytes);
            pushed_out.push(event);
        }
        pushed_out
    }

    /// The retained events from a cursor onward.
    fn from(&self, cursor: u64) -> impl Iterator<Item = Option<&Arc<Event>>> {
        let skip = usize::try_from(cursor.saturating_sub(self.oldest())).unwrap_or(usize::MAX);
        self.kept.range(skip.min(self.kept.len())..).map(Option::as_ref)
    }
}

impl EventLog {
    pub(crate) fn new() -> Self {
        Self::bounded(EVENT_RING_MAX, EVENT_RING_BYTES_MAX)
    }

    fn bounded(events_max: usize, bytes_max: usize) -> Self {
        let ring = Ring { bytes_max, ..Ring::default() };
        Self { ring: Mutex::new(ring), changed: Notify::new(), events_max }
    }

    /// The sequence number of the next event: a position to read or wait from.
    #[must_use]
    pub fn cursor(&self) -> u64 {
        self.ring().next
    }

    /// Reads the matching retained events from `cursor` onward, at most `limit` of them.
    ///
    /// `matches` runs while the log is locked: it must be short and must not call the log.
    #[must_use]
    pub fn since(&self, cursor: u64, limit: usize, matches: &dyn Fn(&Event) -> bool) -> Batch {
        self.since_within(cursor, limit, usize::MAX, matches)
    }

    /// As [`EventLog::since`], limited to `bytes_max` bytes of events, but to no less than one event.
    #[must_use]
    pub fn since_within(&self, cursor: u64, limit: usize, bytes_max: usize, matches: &dyn Fn(&Event) -> bool) -> Batch {
        let ring = self.ring();
        let mut bytes = 0;
        let mut batch = Batch { events: Vec::new(), next: ring.next, dropped: ring.oldest().saturating_sub(cursor) };
        for event in ring.from(cursor) {
            let Some(event) = event else {
                batch.dropped += 1;
                continue;
            };
            if batch.events.len() == limit {
                batch.next = event.seq;
                break;
            }
            if matches(event) {
                bytes += event.bytes;
                if bytes > bytes_max && !batch.events.is_empty() {
                    batch.next = event.seq;
                    break;
                }
                batch.events.push(Arc::clone(event));
            }
        }
        batch
    }

    /// Waits for the first matching event from `from` onward. Events that have already arrived count, so nothing is
    /// missed between a command and the wait for its effect. `None` once the connection is closed.
    ///
    /// # Cancellation
    /// May be dropped at any time; the event stays in the log.
    pub async fn wait(&self, from: u64, matches: &(dyn Fn(&Event) -> bool + Sync)) -> Option<Arc<Event>> {
        let mut cursor = from;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before the ring is checked, so that an event that arrives after the check wakes this task.
            changed.as_mut().enable();
            {
                let ring = self.ring();
                if let Some(event) = ring.from(cursor).flatten().find(|event| matches(event)) {
                    return Some(Arc::clone(event));
                }
                if ring.closed {
                    return None;
                }
                cursor = cursor.max(ring.next);
            }
            changed.await;
        }
    }

    /// The newest retained event that matches.
    #[must_use]
    pub fn last(&self, matches: &dyn Fn(&Event) -> bool) -> Option<Arc<Event>> {
        self.ring().kept.iter().rev().flatten().find(|event| matches(event)).cloned()
    }

    /// Appends an event of approximately `bytes` in memory. An event that is larger than the whole ring is dropped at
    /// once: it would evict all others, and then itself.
    pub(crate) fn push(&self, method: String, session: Option<String>, params: Json, bytes: usize) {
        self.append(|seq| Some(Arc::new(Event { seq, method, session, params, bytes })), bytes);
    }

    /// Counts an event that is too large to be stored.
    pub(crate) fn skip(&self) {
        self.append(|_| None, 0);
    }

    /// Limits the log to `bytes_max` bytes from now on.
    pub fn keep(&self, bytes_max: usize) {
        let pushed_out = {
            let mut ring = self.ring();
            ring.bytes_max = bytes_max;
            ring.push_out(self.events_max)
        };
        drop(pushed_out);
    }

    fn append(&self, event: impl FnOnce(u64) -> Option<Arc<Event>>, bytes: usize) {
        // Evicted events are dropped after the lock is released, because they may be large trees.
        let pushed_out = {
            let mut ring = self.ring();
            let event = event(ring.next).filter(|_| bytes <= ring.bytes_max);
            ring.next += 1;
            ring.bytes += event.as_ref().map_or(0, |event| event.bytes);
            ring.kept.push_back(event);
            ring.push_out(self.events_max)
        };
        drop(pushed_out);
        self.changed.notify_waiters();
    }

    /// Marks the log as complete and wakes all waiting callers.
    pub(crate) fn close(&self) {
        self.ring().closed = true;
        self.changed.notify_waiters();
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // A panic in a caller's `matches` leaves the ring consistent: nothing is modified while it runs.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for EventLog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = self.ring();
        out.debug_struct("EventLog")
            .field("kept", &ring.kept.len())
            .field("next", &ring.next)
            .field("closed", &ring.closed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn push(log: &EventLog, method: &str, bytes: usize) {
        log.push(method.to_owned(), None, Json::Null, bytes);
    }

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let log = EventLog::bounded(3, 100);
        for method in ["a", "b", "c", "d", "e"] {
            push(&log, method, 10);
        }
        let batch = log.since(0, 10, &|_| true);
        assert_eq!(batch.events.iter().map(|event| event.method.as_str()).collect::<Vec<_>>(), ["c", "d", "e"]);
        assert_eq!((batch.next, batch.dropped), (5, 2));
        assert_eq!(log.since(2, 10, &|_| true).dropped, 0);
        assert_eq!(log.since(99, 10, &|_| true).events.len(), 0);
        push(&log, "large", 90);
        assert_eq!(log.since(0, 10, &|_| true).events.len(), 2, "bytes count as well");
        push(&log, "larger than all", 101);
        let batch = log.since(0, 10, &|_| true);
        assert_eq!((batch.events.len(), batch.next, batch.dropped), (2, 7, 5), "it pushes nothing out");
        push(&log, "after", 1);
        let batch = log.since(5, 10, &|_| true);
        assert_eq!(batch.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [5, 7]);
        assert_eq!((batch.next, batch.dropped), (8, 1));
        assert_eq!(log.last(&|_| true).unwrap().method, "after");
        log.skip();
        let batch = log.since(8, 10, &|_| true);
        assert_eq!((batch.events.len(), batch.next, batch.dropped), (0, 9, 1));
    }

    #[test]
    fn a_limit_can_be_read_on_from_without_gap_or_repetition() {
        let log = EventLog::bounded(100, 1_000);
        for index in 0..20 {
            push(&log, if index % 2 == 0 { "even" } else { "odd" }, 1);
        }
        let (mut cursor, mut seen) = (0, Vec::new());
        loop {
            let batch = log.since(cursor, 3, &|event| event.method == "odd");
            assert!(batch.events.len() <= 3);
            seen.extend(batch.events.iter().map(|event| event.seq));
            cursor = batch.next;
            if cursor == log.cursor() {
                break;
            }
        }
        assert_eq!(seen, (0..20).filter(|seq| seq % 2 == 1).collect::<Vec<_>>());
        assert_eq!(log.last(&|event| event.method == "even").unwrap().seq, 18);
    }

    #[test]
    fn a_bound_of_bytes_can_be_read_on_from_and_counts_what_is_dropped_once() {
        let log = EventLog::bounded(100, 1_000);
        for bytes in [10, 10, 10, 200, 10] {
            push(&log, "event", bytes);
            log.skip();
        }
        let (mut cursor, mut seen, mut dropped) = (0, Vec::new(), 0);
        while cursor < log.cursor() {
            let batch = log.since_within(cursor, 100, 25, &|_| true);
            seen.push(batch.events.iter().map(|event| event.seq).collect::<Vec<_>>());
            (cursor, dropped) = (batch.next, dropped + batch.dropped);
        }
        assert_eq!(seen, [vec![0, 2], vec![4], vec![6], vec![8]], "one that is larger comes alone");
        assert_eq!(dropped, 5);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_wait_sees_what_came_before_it_and_never_misses_what_comes_during_it() {
        let log = Arc::new(EventLog::new());
        push(&log, "early", 1);
        assert_eq!(log.wait(0, &|event| event.method == "early").await.unwrap().seq, 0);
        for round in 0..500 {
            let from = log.cursor();
            let pusher = tokio::spawn({
                let log = Arc::clone(&log);
                async move { push(&log, "now", 1) }
            });
            let event = tokio::time::timeout(Duration::from_secs(10), log.wait(from, &|event| event.method == "now"));
            assert_eq!(event.await.unwrap_or_else(|_| panic!("lost in round {round}")).unwrap().seq, from);
            pusher.await.unwrap();
        }
        let waiter = tokio::spawn({
            let log = Arc::clone(&log);
            async move { log.wait(0, &|event| event.method == "never").await }
        });
        log.close();
        assert!(waiter.await.unwrap().is_none());
        assert!(log.wait(0, &|event| event.method == "early").await.is_some(), "what is kept can still be read");
    }
}
