//! The destinations to which a browser's proxy did not connect, as reported by the browser's relay in an event of its
//! own.
//!
//! The event cannot be forged: the relay drops messages of the browser with this name, and pages and servers cannot
//! send one. Scripts do not see the event, since a connection handles it separately from the browser's events.

use codemode_spec::limits::NETWORK_FAILURES_TOLD_MAX;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The relay's own event that reports a failed destination.
pub(crate) const DESTINATION_FAILED: &str = "Codemode.destinationFailed";

/// A destination to which the proxy did not connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedDestination {
    /// The host, as written in a URL.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The reason.
    pub why: NoConnection,
}

/// Why the proxy did not connect to a destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum NoConnection {
    /// Network rules refuse the destination. Contains the rule, as text for the reader.
    Refused(String),
    /// The destination is unreachable. Contains the error that Chromium would report for a direct connection, such as
    /// `net::ERR_CONNECTION_REFUSED`.
    Unreachable(String),
}

/// The destinations that failed while a connection was open, each once with its latest reason, oldest first. The number
/// is bounded: the oldest are dropped.
#[derive(Default)]
pub(crate) struct Destinations(Mutex<Told>);

#[derive(Default)]
struct Told {
    count: u64,
    /// Each failure with the value of `count` when it was reported.
    destinations: VecDeque<(u64, FailedDestination)>,
}

impl Destinations {
    /// Records an event of the relay.
    pub(crate) fn take(&self, params: Json) {
        let Ok(failed) = serde_json::from_value::<FailedDestination>(params) else { return };
        let mut told = self.told();
        told.destinations.retain(|(_, known)| (&known.host, known.port) != (&failed.host, failed.port));
        if told.destinations.len() >= NETWORK_FAILURES_TOLD_MAX {
            told.destinations.pop_front();
        }
        let at = told.count;
        told.count += 1;
        told.destinations.push_back((at, failed));
    }

    /// The number of failures reported so far.
    pub(crate) fn count(&self) -> u64 {
        self.told().count
    }

    /// The reason for a failed destination, if the failure was reported after the first `from` failures.
    pub(crate) fn of(&self, host: &str, port: u16, from: u64) -> Option<NoConnection> {
        let told = self.told();
        let is_meant =
            |(at, known): &&(u64, FailedDestination)| *at >= from && known.port == port && known.host == host;
        told.destinations.iter().find(is_meant).map(|(_, known)| known.why.clone())
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // No code panics while it holds this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn destinations_are_told_apart_and_the_first_are_forgotten() {
        let destinations = Destinations::default();
        let take =
            |host: &str, port: u16, why: Json| destinations.take(json!({"host": host, "port": port, "why": why}));
        let refused = || json!({"refused": "deny"});
        take("a.test", 80, refused());
        let from = destinations.count();
        assert!(destinations.of("a.test", 80, 0).is_some());
        assert!(destinations.of("a.test", 80, from).is_none(), "it was refused before");
        assert!(destinations.of("a.test", 81, 0).is_none() && destinations.of("b.test", 80, 0).is_none());
        take("a.test", 80, refused());
        assert_eq!(destinations.of("a.test", 80, from), Some(NoConnection::Refused("deny".to_owned())));
        take("a.test", 80, json!({"unreachable": "net::ERR_CONNECTION_REFUSED"}));
        let unreachable = NoConnection::Unreachable("net::ERR_CONNECTION_REFUSED".to_owned());
        assert_eq!(destinations.of("a.test", 80, from), Some(unreachable), "what was told last counts");
        (0..NETWORK_FAILURES_TOLD_MAX).for_each(|n| take(&format!("{n}.test"), 80, refused()));
        assert!(destinations.of("a.test", 80, 0).is_none() && destinations.of("0.test", 80, 0).is_some());
        destinations.take(json!({"host": "c.test"}));
        assert_eq!(destinations.told().destinations.len(), NETWORK_FAILURES_TOLD_MAX);
    }
}
