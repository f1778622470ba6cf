//! A log of the commands sent to the browser, for the script's own debugging: names and times, never parameters or
//! results.

use codemode_page::short;
use codemode_spec::{ErrorCode, limits::DEBUG_LOG_MAX};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The highest number of a command that scripts can read exactly; no execution sends that many.
const SEQ_MAX: u64 = (1 << 53) - 1;

/// One command.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// The number of the command within the execution; clearing the log does not reset it.
    seq: u64,
    /// When it was sent, in milliseconds since the log was created.
    at_ms: u64,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    duration_ms: f64,
    /// `ok`, `cancelled`, or the code of the error.
    outcome: &'static str,
}

/// The last commands of one execution.
pub(crate) struct DebugLog {
    began: Instant,
    entries: Mutex<Entries>,
}

/// A log in the serialised state of a suspended execution.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedLog {
    /// The age of the log.
    age: Duration,
    next: u64,
    entries: Vec<SavedEntry>,
}

#[derive(Serialize, Deserialize)]
struct SavedEntry {
    seq: u64,
    at_ms: u64,
    method: String,
    session_id: Option<String>,
    duration_ms: f64,
    outcome: String,
}

#[derive(Default)]
struct Entries {
    kept: VecDeque<Entry>,
    next: u64,
}

impl DebugLog {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), entries: Mutex::default() }
    }

    /// Starts an entry. It is written when the guard is dropped, even if the call is dropped too.
    pub(crate) fn begin<'a>(&'a self, method: &'a str, session: Option<&'a str>) -> Running<'a> {
        Running { log: self, method, session, began: Instant::now(), outcome: "cancelled" }
    }

    /// The last entries, oldest first.
    pub(crate) fn last(&self, limit: usize) -> Vec<Entry> {
        let entries = self.entries();
        let skip = entries.kept.len().saturating_sub(limit);
        entries.kept.iter().skip(skip).cloned().collect()
    }

    /// The log to serialise while the execution is suspended.
    pub(crate) fn save(&self) -> SavedLog {
        let entries = self.entries();
        let row = |entry: &Entry| SavedEntry {
            seq: entry.seq,
            at_ms: entry.at_ms,
            method: entry.method.clone(),
            session_id: entry.session_id.clone(),
            duration_ms: entry.duration_ms,
            outcome: entry.outcome.to_owned(),
        };
        SavedLog { age: self.began.elapsed(), next: entries.next, entries: entries.kept.iter().map(row).collect() }
    }

    /// Restores a log from its serialised state; `None` if no log can have produced that state.
    pub(crate) fn restored(saved: SavedLog) -> Option<Self> {
        let began = Instant::now().checked_sub(saved.age)?;
        let first = saved.next.checked_sub(saved.entries.len() as u64)?;
        if saved.entries.len() > DEBUG_LOG_MAX || saved.next > SEQ_MAX {
            return None;
        }
        let entry = |(seq, entry): (u64, SavedEntry)| {
            let outcomes = ["ok", "cancelled"].into_iter().chain(ErrorCode::ALL.iter().map(|code| code.as_str()));
            let outcome = outcomes.into_iter().find(|outcome| *outcome == entry.outcome)?;
            let is_short = |text: &String| *text == short(text);
            let is_one = entry.seq == seq
                && entry.duration_ms.is_finite()
                && is_short(&entry.method)
                && entry.session_id.as_ref().is_none_or(is_short);
            is_one.then_some(Entry {
                seq: entry.seq,
                at_ms: entry.at_ms,
                method: entry.method,
                session_id: entry.session_id,
                duration_ms: entry.duration_ms,
                outcome,
            })
        };
        let entries = (first..).zip(saved.entries).map(entry).collect::<Option<_>>()?;
        Some(Self { began, entries: Mutex::new(Entries { kept: entries, next: saved.next }) })
    }

    pub(crate) fn clear(&self) {
        self.entries().kept.clear();
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The guard of a pending command.
pub(crate) struct Running<'a> {
    log: &'a DebugLog,
    method: &'a str,
    session: Option<&'a str>,
    began: Instant,
    pub(crate) outcome: &'static str,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut entries = self.log.entries();
        let entry = Entry {
            seq: entries.next,
            at_ms: u64::try_from((self.began - self.log.began).as_millis()).unwrap_or(u64::MAX),
            method: short(self.method),
            session_id: self.session.map(short),
            duration_ms: milliseconds(self.began.elapsed()),
            outcome: self.outcome,
        };
        entries.next += 1;
        if entries.kept.len() == DEBUG_LOG_MAX {
            entries.kept.pop_front();
        }
        entries.kept.push_back(entry);
    }
}

fn milliseconds(time: Duration) -> f64 {
    // Whole microseconds are exact enough and print short.
    (time.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_numbers_go_on() {
        let log = DebugLog::new();
        for _ in 0..DEBUG_LOG_MAX + 10 {
            log.begin("Page.enable", Some("S")).outcome = "ok";
        }
        assert_eq!(log.last(usize::MAX).len(), DEBUG_LOG_MAX);
        assert_eq!(log.last(1)[0].seq, DEBUG_LOG_MAX as u64 + 9);
        log.clear();
        drop(log.begin("Page.navigate", None));
        let last = serde_json::to_value(log.last(5)).unwrap();
        assert_eq!(last[0]["outcome"], "cancelled");
        assert_eq!(last[0]["seq"], DEBUG_LOG_MAX as u64 + 10);
        assert_eq!(last.as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_state_that_no_log_can_have_is_refused() {
        let saved = |change: fn(&mut SavedLog)| {
            let log = DebugLog::new();
            for _ in 0..3 {
                log.begin("Page.enable", None).outcome = "ok";
            }
            let mut saved = log.save();
            change(&mut saved);
            DebugLog::restored(saved)
        };
        assert_eq!(saved(|_| {}).map(|log| log.last(1)[0].seq), Some(2));
        assert!(saved(|log| log.entries.clear()).is_some(), "it was cleared");
        let changes: [fn(&mut SavedLog); 6] = [
            |log| log.next = u64::MAX,
            |log| log.next = 2,
            |log| log.next = 4,
            |log| log.entries.swap(0, 1),
            |log| log.entries[2].seq = 7,
            |log| (log.next, log.entries) = (u64::MAX, Vec::new()),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            assert!(saved(change).is_none(), "change {index}");
        }
    }
}
