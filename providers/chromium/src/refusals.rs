//! What the proxy of a browser refused, as the relay of the browser tells its clients: in an event of the relay's own.
//!
//! The browser cannot send such an event, since the relay drops what the browser says under this name, and neither can a
//! page or a server. Scripts do not see the event: a connection keeps it apart from those of the browser.

use codemode_spec::limits::NETWORK_REFUSALS_TOLD_MAX;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The event by which a relay tells of a destination, in the relay's own domain.
pub(crate) const DESTINATION_REFUSED: &str = "Codemode.destinationRefused";

/// A destination that network rules refuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedDestination {
    /// The host, as in a URL.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The rule, in words for a reader.
    pub rule: String,
}

/// The destinations that were refused while a connection was open, each once, the last refused one at the end. When there
/// are too many, the first are forgotten.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<Told>);

#[derive(Default)]
struct Told {
    count: u64,
    /// Each with what the count was.
    destinations: VecDeque<(u64, RefusedDestination)>,
}

impl Refusals {
    /// Takes in an event of the relay.
    pub(crate) fn take(&self, params: Json) {
        let Ok(refused) = serde_json::from_value::<RefusedDestination>(params) else { return };
        let mut told = self.told();
        told.destinations.retain(|(_, known)| (&known.host, known.port) != (&refused.host, refused.port));
        if told.destinations.len() >= NETWORK_REFUSALS_TOLD_MAX {
            told.destinations.pop_front();
        }
        let at = told.count;
        told.count += 1;
        told.destinations.push_back((at, refused));
    }

    /// How many there have been.
    pub(crate) fn count(&self) -> u64 {
        self.told().count
    }

    /// The refusal of a destination, if there was one after the first `from`.
    pub(crate) fn of(&self, host: &str, port: u16, from: u64) -> Option<RefusedDestination> {
        let told = self.told();
        let is_meant =
            |(at, known): &&(u64, RefusedDestination)| *at >= from && known.port == port && known.host == host;
        told.destinations.iter().find(is_meant).map(|(_, known)| known.clone())
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn destinations_are_told_apart_and_the_first_are_forgotten() {
        let refusals = Refusals::default();
        let take = |host: &str, port: u16| refusals.take(json!({"host": host, "port": port, "rule": "deny"}));
        take("a.test", 80);
        let from = refusals.count();
        assert!(refusals.of("a.test", 80, 0).is_some());
        assert!(refusals.of("a.test", 80, from).is_none(), "it was refused before");
        assert!(refusals.of("a.test", 81, 0).is_none() && refusals.of("b.test", 80, 0).is_none());
        take("a.test", 80);
        assert_eq!(refusals.of("a.test", 80, from).map(|refused| refused.rule), Some("deny".to_owned()));
        (0..NETWORK_REFUSALS_TOLD_MAX).for_each(|n| take(&format!("{n}.test"), 80));
        assert!(refusals.of("a.test", 80, 0).is_none() && refusals.of("0.test", 80, 0).is_some());
        refusals.take(json!({"host": "c.test"}));
        assert_eq!(refusals.told().destinations.len(), NETWORK_REFUSALS_TOLD_MAX);
    }
}
