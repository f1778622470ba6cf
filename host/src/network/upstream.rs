//! Upstream proxies, configured by the usual environment variables of this process.

use super::{
    address::Net,
    connect::{Failure, Resolve, any_of},
    net_error::NetError,
    pattern::{host as parse_host, literal},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use codemode_spec::limits::NETWORK_CONNECT_MS_MAX;
use hyper::{
    HeaderMap,
    header::{HeaderValue, PROXY_AUTHORIZATION},
};
use std::{
    env, fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use thiserror::Error;
use tokio::net::TcpStream;
use url::{Host, Url};

/// The kind of traffic for which a proxy is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// A request for an `http` URL.
    Http,
    /// A tunnel.
    Connect,
}

/// The proxies of the environment, and the destinations for which they are not used. No proxy by default.
///
/// A name that goes to such a proxy is checked unresolved, and the proxy resolves it: rules about addresses then apply
/// only to addresses that are written as such, and allow no name. Loopback destinations never use a proxy.
#[derive(Clone, Debug, Default)]
pub struct Upstream {
    http: Option<Arc<Proxy>>,
    connect: Option<Arc<Proxy>>,
    except: Vec<Exception>,
}

/// A proxy of the environment that cannot be used. The value may contain a password and is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UpstreamFault {
    /// The value is not a URL with a host.
    #[error("the proxy in {0} is no URL: write http://HOST:PORT")]
    NotAUrl(&'static str),
    /// The URL's scheme is not `http`.
    #[error("the proxy in {0} has the scheme {1}: only http can be used")]
    Scheme(&'static str, String),
}

/// An upstream proxy.
pub(super) struct Proxy {
    host: Host<String>,
    port: u16,
    authorization: Option<HeaderValue>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Proxy({self})")
    }
}

/// Omits the password.
impl fmt::Display for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.host, self.port)
    }
}

/// Destinations for which no proxy is used.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    All,
    /// A name and the names below it.
    Name(String, Option<u16>),
    Net(Net, Option<u16>),
}

impl Upstream {
    /// Reads the environment of this process: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in lower case or
    /// else in upper case. Tunnels use the proxy of `https_proxy`, other requests that of `http_proxy`.
    ///
    /// # Errors
    /// When a configured proxy cannot be used: it must not be bypassed silently.
    pub fn of_environment() -> Result<Self, UpstreamFault> {
        Self::of(|name| env::var(name).ok())
    }

    /// Like [`Self::of_environment`], with the variables read by `variable`.
    ///
    /// # Errors
    /// As [`Self::of_environment`].
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, UpstreamFault> {
        let set = |names: [&'static str; 2]| {
            names.into_iter().find_map(|name| Some((name, variable(name).filter(|value| !value.trim().is_empty())?)))
        };
        let proxy = |names| set(names).or_else(|| set(["all_proxy", "ALL_PROXY"]));
        let proxy = |names| proxy(names).map(|(name, value)| Proxy::parse(name, &value).map(Arc::new)).transpose();
        let except = set(["no_proxy", "NO_PROXY"]).map(|(_, value)| value).unwrap_or_default();
        Ok(Self {
            http: proxy(["http_proxy", "HTTP_PROXY"])?,
            connect: proxy(["https_proxy", "HTTPS_PROXY"])?,
            except: except.split([',', ' ']).filter_map(|entry| Exception::parse(entry.trim())).collect(),
        })
    }

    /// Whether there is no proxy.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.http.is_none() && self.connect.is_none()
    }

    /// The proxy to use for a destination; `None` to connect directly.
    pub(super) fn route(&self, scheme: Scheme, host: &Host<String>, port: u16) -> Option<Arc<Proxy>> {
        let proxy = match scheme {
            Scheme::Http => self.http.as_ref(),
            Scheme::Connect => self.connect.as_ref(),
        }?;
        let is_local = match host {
            Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
            Host::Ipv6(address) => address.to_canonical().is_loopback() || address.is_unspecified(),
        };
        let is_excepted = is_local || self.except.iter().any(|exception| exception.is_about(host, port));
        (!is_excepted).then(|| Arc::clone(proxy))
    }
}

impl Proxy {
    fn parse(variable: &'static str, value: &str) -> Result<Self, UpstreamFault> {
        let value = value.trim();
        let whole = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        let url = Url::parse(&whole).map_err(|_| UpstreamFault::NotAUrl(variable))?;
        if url.scheme() != "http" {
            return Err(UpstreamFault::Scheme(variable, url.scheme().to_owned()));
        }
        let host = url.host_str().and_then(parse_host).ok_or(UpstreamFault::NotAUrl(variable))?;
        let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
        let authorization = (!user.is_empty() || !password.is_empty()).then(|| {
            let words = BASE64_STANDARD.encode([user.as_slice(), b":", &password].concat());
            let mut value = HeaderValue::from_str(&format!("Basic {words}")).expect("base64 is plain ASCII");
            value.set_sensitive(true);
            value
        });
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80), authorization })
    }

    /// Connects to this proxy. No rule is checked, because an operator configured it.
    pub(super) async fn connect(&self, resolver: &dyn Resolve) -> Result<(TcpStream, IpAddr), Failure> {
        let connecting = async {
            let addresses = match &self.host {
                Host::Domain(name) => resolver.resolve(name).await?,
                host => literal(host).into_iter().collect(),
            };
            any_of(addresses.into_iter().map(|address| SocketAddr::new(address, self.port)).collect()).await
        };
        let connected = tokio::time::timeout(Duration::from_millis(NETWORK_CONNECT_MS_MAX), connecting).await;
        connected.ok().and_then(io::Result::ok).ok_or(Failure::Unreachable(NetError::ProxyConnectionFailed))
    }

    pub(super) fn authorize(&self, headers: &mut HeaderMap) {
        if let Some(authorization) = &self.authorization {
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
    }
}

/// The bytes of a percent-encoded part of a URL.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

impl Exception {
    /// Parses an entry; an invalid one is ignored.
    fn parse(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self::All);
        }
        if let Some((address, bits)) = entry.split_once('/') {
            return Some(Self::Net(Net::new(address.parse().ok()?, bits.parse().ok()?)?, None));
        }
        if let Ok(address) = entry.parse::<IpAddr>() {
            return Some(Self::Net(Net::of(address), None));
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let name = name.strip_prefix('*').unwrap_or(name);
        let host = parse_host(name.strip_prefix('.').unwrap_or(name))?;
        Some(match literal(&host) {
            Some(address) => Self::Net(Net::of(address), port),
            None => Self::Name(host.to_string(), port),
        })
    }

    fn is_about(&self, host: &Host<String>, port: u16) -> bool {
        let has_port = |own: &Option<u16>| own.is_none_or(|own| own == port);
        match self {
            Self::All => true,
            Self::Name(name, own) => {
                let Host::Domain(host) = host else { return false };
                let rest = host.strip_suffix(name.as_str());
                has_port(own) && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            Self::Net(net, own) => {
                has_port(own) && literal(host).is_some_and(|address| net.contains(address.to_canonical()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(variables: &[(&str, &str)]) -> Result<Upstream, UpstreamFault> {
        Upstream::of(|asked| variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned()))
    }

    fn proxy_for(upstream: &Upstream, scheme: Scheme, host: &str, port: u16) -> Option<String> {
        upstream.route(scheme, &parse_host(host).unwrap(), port).map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_environment_says_what_goes_where() {
        let upstream = upstream(&[
            ("http_proxy", "http://plain.test:3128/"),
            ("HTTP_PROXY", "http://ignored.test:1"),
            ("HTTPS_PROXY", "tunnel.test:8080"),
            ("no_proxy", "internal.test, .below.test,10.0.0.0/8,*.star.test,port.test:8443,[::5]:80, 192.0.2.7"),
        ])
        .unwrap();
        let (plain, tunnel) = (Some("plain.test:3128".to_owned()), Some("tunnel.test:8080".to_owned()));
        assert_eq!(proxy_for(&upstream, Scheme::Http, "example.com", 80), plain);
        assert_eq!(proxy_for(&upstream, Scheme::Connect, "example.com", 443), tunnel);
        for host in [
            "internal.test",
            "a.internal.test",
            "x.below.test",
            "below.test",
            "a.star.test",
            "10.1.2.3",
            "192.0.2.7",
            "localhost",
            "a.localhost",
            "127.0.0.2",
            "[::1]",
            "[::ffff:10.0.0.1]",
            "0.0.0.0",
        ] {
            assert_eq!(proxy_for(&upstream, Scheme::Http, host, 80), None, "{host}");
        }
        assert_eq!(proxy_for(&upstream, Scheme::Connect, "port.test", 8443), None);
        assert_eq!(proxy_for(&upstream, Scheme::Connect, "port.test", 443), tunnel);
        assert_eq!(proxy_for(&upstream, Scheme::Http, "xinternal.test", 80), plain);
        assert_eq!(proxy_for(&upstream, Scheme::Http, "11.0.0.1", 80), plain);
        assert!(super::Upstream::default().is_none());
    }

    #[test]
    fn a_password_is_sent_and_never_shown() {
        let upstream = upstream(&[("all_proxy", "http://us%40er:p%3Ass@proxy.test")]).unwrap();
        let proxy = upstream.route(Scheme::Connect, &parse_host("example.com").unwrap(), 443).unwrap();
        let mut headers = HeaderMap::new();
        proxy.authorize(&mut headers);
        let words = BASE64_STANDARD.encode("us@er:p:ss");
        assert_eq!(headers[PROXY_AUTHORIZATION], format!("Basic {words}"));
        let shown = format!("{upstream:?} {proxy} {headers:?}");
        assert!(!shown.contains("ss@") && !shown.contains(&words) && shown.contains("proxy.test:80"), "{shown}");
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_named_by_its_variable() {
        let fault = upstream(&[("HTTPS_PROXY", "socks5://me:secret@proxy.test")]).unwrap_err();
        assert_eq!(fault, UpstreamFault::Scheme("HTTPS_PROXY", "socks5".to_owned()));
        assert!(!fault.to_string().contains("secret"));
        assert_eq!(upstream(&[("http_proxy", "http://")]).unwrap_err(), UpstreamFault::NotAUrl("http_proxy"));
        assert!(upstream(&[("http_proxy", " ")]).unwrap().is_none());
    }
}
