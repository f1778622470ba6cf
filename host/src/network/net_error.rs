//! The reasons why a destination could not be reached.

use std::{error::Error as _, io};

/// Chromium's connection errors (`net/base/net_error_list.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetError {
    /// The name does not resolve to an address.
    NameNotResolved,
    /// Nothing listens at the address.
    ConnectionRefused,
    /// The connection was reset.
    ConnectionReset,
    /// The connection timed out.
    ConnectionTimedOut,
    /// There is no route to the address.
    AddressUnreachable,
    /// The connection failed for another reason.
    ConnectionFailed,
    /// The destination closed the connection without a response.
    EmptyResponse,
    /// The response is not HTTP.
    InvalidHttpResponse,
    /// The upstream proxy could not be reached, or does not connect.
    ProxyConnectionFailed,
}

impl NetError {
    /// Chromium's name of the error.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NameNotResolved => "net::ERR_NAME_NOT_RESOLVED",
            Self::ConnectionRefused => "net::ERR_CONNECTION_REFUSED",
            Self::ConnectionReset => "net::ERR_CONNECTION_RESET",
            Self::ConnectionTimedOut => "net::ERR_CONNECTION_TIMED_OUT",
            Self::AddressUnreachable => "net::ERR_ADDRESS_UNREACHABLE",
            Self::ConnectionFailed => "net::ERR_CONNECTION_FAILED",
            Self::EmptyResponse => "net::ERR_EMPTY_RESPONSE",
            Self::InvalidHttpResponse => "net::ERR_INVALID_HTTP_RESPONSE",
            Self::ProxyConnectionFailed => "net::ERR_PROXY_CONNECTION_FAILED",
        }
    }
}

impl From<io::Error> for NetError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::ConnectionRefused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::ConnectionReset,
            io::ErrorKind::TimedOut => Self::ConnectionTimedOut,
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable => Self::AddressUnreachable,
            _ => Self::ConnectionFailed,
        }
    }
}

/// An error in an exchange with a destination after the connection was established.
impl From<hyper::Error> for NetError {
    fn from(error: hyper::Error) -> Self {
        let reset = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        match reset.map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionReset) => Self::ConnectionReset,
            _ if error.is_parse() => Self::InvalidHttpResponse,
            _ => Self::EmptyResponse,
        }
    }
}
