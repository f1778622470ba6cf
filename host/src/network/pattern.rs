//! The patterns of network rules: a host, an address or a network, and ports.

use super::address::{Forms, Net};
use codemode_spec::limits::NETWORK_PATTERN_CHARS_MAX;
use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr, ops::RangeInclusive, str::FromStr};
use thiserror::Error;
use url::Host;

/// The destinations to which a rule applies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    /// The hosts.
    pub host: HostPattern,
    /// The ports; `None` is all ports.
    pub ports: Option<RangeInclusive<u16>>,
}

/// The hosts of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// All hosts.
    Any,
    /// One name.
    Name(String),
    /// Every name below this one, but not this name itself.
    Below(String),
    /// Addresses, and every name that resolves to one of them.
    Net(Net),
}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum PatternFault {
    #[error("it is empty")]
    Empty,
    #[error("it has more than {NETWORK_PATTERN_CHARS_MAX} characters")]
    TooLong,
    #[error("write the host alone, without a scheme, a user or a path")]
    NotAHostAlone,
    #[error("a star stands alone, or before the first dot as in *.example.com")]
    Star,
    #[error("write *.example.com for every name below example.com")]
    LeadingDot,
    #[error("{0:?} is no port and no range of ports as 8000-8999")]
    Ports(String),
    #[error("{0:?} is no length of a network's prefix")]
    Prefix(String),
    #[error("an IPv6 address with a port is written in brackets")]
    Brackets,
    #[error("it is no host name and no address")]
    Host,
}

impl Pattern {
    /// A pattern for all ports of these hosts.
    #[must_use]
    pub const fn of(host: HostPattern) -> Self {
        Self { host, ports: None }
    }

    pub(super) fn has_port(&self, port: u16) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports.contains(&port))
    }

    /// Whether the pattern matches a host as the request names it.
    pub(super) fn names(&self, host: &Host<String>, port: u16) -> bool {
        let Host::Domain(name) = host else { return matches!(self.host, HostPattern::Any) && self.has_port(port) };
        self.has_port(port)
            && match &self.host {
                HostPattern::Any => true,
                HostPattern::Name(named) => name == named,
                HostPattern::Below(parent) => {
                    name.strip_suffix(parent.as_str()).is_some_and(|rest| rest.ends_with('.'))
                }
                HostPattern::Net(_) => false,
            }
    }

    /// Whether the pattern matches one of these addresses.
    pub(super) fn has_any_of(&self, mut addresses: impl Iterator<Item = IpAddr>, port: u16) -> bool {
        let HostPattern::Net(net) = self.host else { return false };
        self.has_port(port) && addresses.any(|address| net.contains(address))
    }

    /// Whether the pattern matches this address or the one that it certainly stands for. Addresses that it only may
    /// reach are ignored: they must not make a destination allowed.
    pub(super) fn has_surely(&self, forms: &Forms, port: u16) -> bool {
        self.has_any_of([forms.itself].into_iter().chain(forms.inner), port)
    }
}

/// Normalises a host for comparisons: in lower case and ASCII, an address as an address, without a trailing dot.
pub(super) fn host(text: &str) -> Option<Host<String>> {
    let text = match text.strip_suffix('.') {
        Some(rest) if !rest.is_empty() => rest,
        _ => text,
    };
    match Host::parse(text).ok()? {
        Host::Domain(name) if name.is_empty() || name.ends_with('.') => None,
        host => Some(host),
    }
}

/// The address, if the host is written as an address.
pub(super) fn literal(host: &Host<String>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some((*address).into()),
        Host::Ipv6(address) => Some((*address).into()),
    }
}

impl FromStr for Pattern {
    type Err = PatternFault;

    fn from_str(text: &str) -> Result<Self, PatternFault> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PatternFault::Empty);
        }
        if text.chars().count() > NETWORK_PATTERN_CHARS_MAX {
            return Err(PatternFault::TooLong);
        }
        let (host, ports) = split(text)?;
        let ports = ports.map(range).transpose()?;
        Ok(Self { host: host_pattern(host)?, ports })
    }
}

/// Splits a pattern into host and ports. An address loses its brackets.
fn split(text: &str) -> Result<(&str, Option<&str>), PatternFault> {
    if text.contains("://") || text.contains(['@', '?', '#', '\\']) {
        return Err(PatternFault::NotAHostAlone);
    }
    if text.starts_with('[') {
        let (inside, after) = text.split_once(']').ok_or(PatternFault::Brackets)?;
        return match after.strip_prefix(':') {
            Some(ports) => Ok((&inside[1..], Some(ports))),
            None if after.is_empty() => Ok((&inside[1..], None)),
            None => Err(PatternFault::Brackets),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, ports)) => Ok((host, Some(ports))),
        None => Ok((text, None)),
    }
}

fn range(text: &str) -> Result<RangeInclusive<u16>, PatternFault> {
    let fault = || PatternFault::Ports(text.to_owned());
    let port = |text: &str| text.parse::<u16>().map_err(|_| fault());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = port(first)?..=port(last)?;
    if ports.is_empty() { Err(fault()) } else { Ok(ports) }
}

fn host_pattern(text: &str) -> Result<HostPattern, PatternFault> {
    if text == "*" {
        return Ok(HostPattern::Any);
    }
    if let Some((address, bits)) = text.split_once('/') {
        let address = address.parse::<IpAddr>().map_err(|_| PatternFault::NotAHostAlone)?;
        let net = bits.parse().ok().and_then(|bits| Net::new(address, bits));
        return net.map(HostPattern::Net).ok_or_else(|| PatternFault::Prefix(bits.to_owned()));
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(HostPattern::Net(Net::of(address)));
    }
    if text.starts_with('.') {
        return Err(PatternFault::LeadingDot);
    }
    let (name, is_below) = match text.strip_prefix("*.") {
        Some(name) => (name, true),
        None => (text, false),
    };
    match host(name) {
        // Checked after normalisation, which maps other characters to a star.
        Some(Host::Domain(name)) if name.contains('*') => Err(PatternFault::Star),
        Some(Host::Domain(name)) if is_below => Ok(HostPattern::Below(name)),
        Some(Host::Domain(name)) => Ok(HostPattern::Name(name)),
        Some(address) if !is_below => {
            literal(&address).map(|address| HostPattern::Net(Net::of(address))).ok_or(PatternFault::Host)
        }
        _ => Err(PatternFault::Host),
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match &self.host {
            HostPattern::Any => "*".to_owned(),
            HostPattern::Name(name) => name.clone(),
            HostPattern::Below(parent) => format!("*.{parent}"),
            HostPattern::Net(net) => net.to_string(),
        };
        match &self.ports {
            Some(_) if host.contains(':') => write!(out, "[{host}]")?,
            _ => out.write_str(&host)?,
        }
        match &self.ports {
            Some(ports) if ports.start() == ports.end() => write!(out, ":{}", ports.start()),
            Some(ports) => write!(out, ":{}-{}", ports.start(), ports.end()),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternFault;

    fn try_from(text: String) -> Result<Self, PatternFault> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_and_written_the_same() {
        for (text, written) in [
            ("*", "*"),
            ("*:443", "*:443"),
            (" Example.COM. ", "example.com"),
            ("*.example.com:8000-8999", "*.example.com:8000-8999"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.0.0.0/8:22", "10.0.0.0/8:22"),
            ("127.1", "127.0.0.1"),
            ("::1", "::1"),
            ("fe80::/10", "fe80::/10"),
            ("[::1]:80", "[::1]:80"),
            ("[fd00::/8]:1-9", "[fd00::/8]:1-9"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("localhost:3000-3000", "localhost:3000"),
            ("under_score.example", "under_score.example"),
        ] {
            let pattern: Pattern = text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"));
            assert_eq!(pattern.to_string(), written);
            assert_eq!(written.parse(), Ok(pattern), "{written}");
        }
    }

    #[test]
    fn each_fault_is_its_own() {
        let ports = |text: &str| PatternFault::Ports(text.to_owned());
        for (text, fault) in [
            ("", PatternFault::Empty),
            ("https://example.com", PatternFault::NotAHostAlone),
            ("example.com/path", PatternFault::NotAHostAlone),
            ("me@example.com", PatternFault::NotAHostAlone),
            ("ex*mple.com", PatternFault::Star),
            ("*.*.com", PatternFault::Star),
            ("\u{fe61}", PatternFault::Star),
            ("a.\u{ff0a}.test", PatternFault::Star),
            (".example.com", PatternFault::LeadingDot),
            ("example.com:https", ports("https")),
            ("example.com:", ports("")),
            ("example.com:9-1", ports("9-1")),
            ("example.com:70000", ports("70000")),
            ("10.0.0.0/33", PatternFault::Prefix("33".to_owned())),
            ("[::1", PatternFault::Brackets),
            ("[::1]80", PatternFault::Brackets),
            ("exa mple", PatternFault::Host),
            ("*.127.0.0.1", PatternFault::Host),
            ("999.1.1.1", PatternFault::Host),
        ] {
            assert_eq!(text.parse::<Pattern>(), Err(fault), "{text}");
        }
        assert_eq!("x".repeat(NETWORK_PATTERN_CHARS_MAX + 1).parse::<Pattern>(), Err(PatternFault::TooLong));
    }
}
