//! Resolves a name, checks its addresses against the rules, and connects to one that is allowed.

use super::{gate::Gate, net_error::NetError, pattern::literal, rules::Rule};
use async_trait::async_trait;
use codemode_spec::limits::{NETWORK_ADDRESSES_MAX, NETWORK_ATTEMPT_DELAY_MS, NETWORK_CONNECT_MS_MAX};
use futures::{StreamExt as _, stream::FuturesUnordered};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use tokio::net::TcpStream;
use url::Host;

/// Resolves names to addresses.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The addresses of a name, in the order in which to try them.
    ///
    /// # Errors
    /// When the name has no address, or cannot be resolved.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        // As browsers do, whatever the resolver answers (RFC 6761).
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Why a connection was not established.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// A rule refuses the destination.
    Refused(Rule),
    /// The destination could not be reached.
    Unreachable(NetError),
}

impl<E: Into<NetError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Unreachable(error.into())
    }
}

/// Connects to a host: resolves its name once, checks every address against the rules, and connects to one that is
/// allowed. A refused address is never tried.
pub(super) async fn connect(
    gate: &Gate,
    resolver: &dyn Resolve,
    host: &Host<String>,
    port: u16,
) -> Result<(TcpStream, IpAddr), Failure> {
    if let Some(rule) = gate.policy().refuses_name(host, port) {
        return Err(Failure::Refused(rule));
    }
    let connecting = async {
        let addresses = match (literal(host), host) {
            (None, Host::Domain(name)) => {
                resolver.resolve(name).await.map_err(|_| Failure::Unreachable(NetError::NameNotResolved))?
            }
            (address, _) => address.into_iter().collect(),
        };
        let policy = gate.policy();
        let (mut allowed, mut refused) = (Vec::new(), None);
        for address in addresses.into_iter().take(NETWORK_ADDRESSES_MAX) {
            match policy.judge(host, port, Some(address)).refused() {
                None => allowed.push(SocketAddr::new(address, port)),
                Some(rule) => refused = refused.or(Some(rule)),
            }
        }
        match (allowed.is_empty(), refused) {
            (true, Some(rule)) => Err(Failure::Refused(rule)),
            (true, None) => Err(Failure::Unreachable(NetError::NameNotResolved)),
            (false, _) => Ok(any_of(allowed).await?),
        }
    };
    tokio::time::timeout(Duration::from_millis(NETWORK_CONNECT_MS_MAX), connecting)
        .await
        .unwrap_or(Err(Failure::Unreachable(NetError::ConnectionTimedOut)))
}

/// Connects to the first of several addresses that accepts. The next address is tried when an attempt fails or takes
/// long (RFC 8305).
pub(super) async fn any_of(addresses: Vec<SocketAddr>) -> io::Result<(TcpStream, IpAddr)> {
    let mut rest = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        match rest.next() {
            Some(address) => attempts.push(async move { (address, TcpStream::connect(address).await) }),
            None if attempts.is_empty() => return Err(failure),
            None => {}
        }
        let attempt_timeout = match rest.len() {
            0 => Duration::MAX,
            _ => Duration::from_millis(NETWORK_ATTEMPT_DELAY_MS),
        };
        match tokio::time::timeout(attempt_timeout, attempts.next()).await {
            Ok(Some((address, Ok(stream)))) => {
                // Send small messages at once, as browsers do on their own connections.
                stream.set_nodelay(true)?;
                return Ok((stream, address.ip()));
            }
            Ok(Some((_, Err(error)))) => failure = error,
            Ok(None) | Err(_) => {}
        }
    }
}
