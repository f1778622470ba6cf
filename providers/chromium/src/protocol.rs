//! The protocol that a browser really speaks, read from the browser.

use crate::{
    endpoint::{Endpoint, Version},
    http,
    schema::{CommandSpec, Domain, EventSpec, Shape, TypeSpec},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::Deserialize;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Protocols kept in the process; a host rarely meets more than one version of a browser.
const CACHED_MAX: usize = 4;

/// By what a browser says of itself.
type Cache = Vec<(String, Arc<Protocol>)>;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

/// The protocol of one version of a browser.
pub struct Protocol {
    domains: Vec<Domain>,
    /// By full name, as `Page.navigate`: the places of the domain and of the member in it.
    commands: HashMap<String, (usize, usize)>,
    events: HashMap<String, (usize, usize)>,
    types: HashMap<String, (usize, usize)>,
}

#[derive(Deserialize)]
struct Document {
    domains: Vec<Domain>,
}

impl Protocol {
    /// Reads the protocol of the browser behind an endpoint, once for each of its versions in this process.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` if the endpoint does not serve it; some remote ones do not.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn read(endpoint: &Endpoint, timeout: Duration) -> Result<Arc<Self>, ErrorReport> {
        let deadline = Instant::now() + timeout;
        let version = Version::get(&endpoint.http_url("/json/version")?, &endpoint.headers, timeout).await?;
        let key = format!("{} {} {}", version.browser, version.protocol, version.build);
        if let Some(protocol) = cached(&key) {
            return Ok(protocol);
        }
        let url = endpoint.http_url("/json/protocol")?;
        let left = deadline.saturating_duration_since(Instant::now());
        let body = http::get(&url, &endpoint.headers, left).await?;
        // Megabytes of JSON: not on a thread that others wait for.
        let parsed = tokio::task::spawn_blocking(move || Self::parse(&body)).await;
        let protocol = Arc::new(parsed.map_err(|error| unreadable(&error))??);
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() == CACHED_MAX {
            cache.remove(0);
        }
        cache.push((key, Arc::clone(&protocol)));
        Ok(protocol)
    }

    /// The protocol that a document describes, in the form of `/json/protocol`.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` if it does not have that form.
    pub fn parse(document: &[u8]) -> Result<Self, ErrorReport> {
        let Document { domains } = serde_json::from_slice(document).map_err(|error| unreadable(&error))?;
        let (mut commands, mut events, mut types) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (place, domain) in domains.iter().enumerate() {
            let full = |name: &str| format!("{}.{name}", domain.name);
            commands.extend(domain.commands.iter().enumerate().map(|(at, spec)| (full(&spec.name), (place, at))));
            events.extend(domain.events.iter().enumerate().map(|(at, spec)| (full(&spec.name), (place, at))));
            types.extend(domain.types.iter().enumerate().map(|(at, spec)| (full(&spec.id), (place, at))));
        }
        Ok(Self { domains, commands, events, types })
    }

    /// Every domain, in the browser's order.
    pub fn domains(&self) -> impl Iterator<Item = &Domain> {
        self.domains.iter()
    }

    /// The domain of a name.
    #[must_use]
    pub fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.iter().find(|domain| domain.name == name)
    }

    /// The command of a full name, as `Page.navigate`.
    #[must_use]
    pub fn command(&self, name: &str) -> Option<&CommandSpec> {
        self.commands.get(name).map(|(domain, at)| &self.domains[*domain].commands[*at])
    }

    /// The event of a full name, as `Page.loadEventFired`.
    #[must_use]
    pub fn event(&self, name: &str) -> Option<&EventSpec> {
        self.events.get(name).map(|(domain, at)| &self.domains[*domain].events[*at])
    }

    /// The type of a full name, as `Page.FrameId`.
    #[must_use]
    pub fn type_(&self, name: &str) -> Option<&TypeSpec> {
        self.types.get(name).map(|(domain, at)| &self.domains[*domain].types[*at])
    }

    /// The command that a wrong name most likely meant: written in another case, in another domain, without its domain,
    /// or by the name that other tools have for it. `None` if nothing is near.
    #[must_use]
    pub fn nearest_command(&self, name: &str) -> Option<String> {
        let names = self
            .domains
            .iter()
            .flat_map(|domain| domain.commands.iter().map(|command| (domain.name.as_str(), command.name.as_str())));
        crate::nearest::nearest(name, names)
    }

    /// The event that a wrong name most likely meant, as [`Protocol::nearest_command`].
    #[must_use]
    pub fn nearest_event(&self, name: &str) -> Option<String> {
        let names = self
            .domains
            .iter()
            .flat_map(|domain| domain.events.iter().map(|event| (domain.name.as_str(), event.name.as_str())));
        crate::nearest::nearest(name, names)
    }

    /// What a reference made in a domain stands for, and the domain that its own references are made in.
    pub(crate) fn resolve<'a>(&'a self, domain: &'a str, reference: &'a str) -> Option<(&'a str, &'a Shape)> {
        let (domain, shape) = match reference.split_once('.') {
            Some((domain, _)) => (domain, self.type_(reference)),
            None => (domain, self.type_(&format!("{domain}.{reference}"))),
        };
        shape.map(|spec| (domain, &spec.shape))
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Protocol")
            .field("domains", &self.domains.len())
            .field("commands", &self.commands.len())
            .field("events", &self.events.len())
            .finish_non_exhaustive()
    }
}

fn cached(key: &str) -> Option<Arc<Protocol>> {
    let cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.iter().find(|(known, _)| known == key).map(|(_, protocol)| Arc::clone(protocol))
}

fn unreadable(error: &dyn fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("the browser's protocol cannot be read: {error}"))
}
