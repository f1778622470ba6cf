//! The byte stream below an endpoint's HTTP and WebSocket connections: TCP, or TLS over TCP.

use crate::{
    descriptor::{Input, Socket},
    reach::{failed, unreachable},
};
use codemode_spec::{ErrorCode, ErrorReport};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use url::{Host, Url};

/// A connected stream.
pub(crate) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// Connects to the host of a URL, with TLS if the scheme requires it. The caller must apply a timeout.
    pub(crate) async fn connect(url: &Url) -> Result<Self, ErrorReport> {
        let (host, port) = match (url.host(), url.port_or_known_default()) {
            (Some(host), Some(port)) => (host, port),
            _ => return Err(ErrorReport::new(ErrorCode::InvalidArgument, "the endpoint's URL names no host")),
        };
        let tcp = match &host {
            Host::Domain(name) => TcpStream::connect((*name, port)).await,
            Host::Ipv4(address) => TcpStream::connect((*address, port)).await,
            Host::Ipv6(address) => TcpStream::connect((*address, port)).await,
        }
        .map_err(|error| failed(url, &error))?;
        // A command is one small packet whose answer is awaited, so it must not be delayed.
        tcp.set_nodelay(true).map_err(|error| unreachable(url, &error))?;
        let socket = tcp.into_std().and_then(Socket::new).map_err(|error| unreachable(url, &error))?;
        if !matches!(url.scheme(), "wss" | "https") {
            return Ok(Self::Plain(socket));
        }
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.to_owned()).map_err(|error| unreachable(url, &error))?,
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::V4(address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::V6(address)),
        };
        let tls =
            TlsConnector::from(tls_config()?).connect(name, socket).await.map_err(|error| unreachable(url, &error))?;
        Ok(Self::Tls(Box::new(tls)))
    }

    /// The reading end of the socket.
    pub(crate) fn input(&mut self) -> &mut Input {
        match self {
            Self::Plain(socket) => &mut socket.input,
            Self::Tls(tls) => &mut tls.get_mut().0.input,
        }
    }
}

/// The shared TLS configuration. Trusts the machine's certificate authorities or, on a machine without any, Mozilla's,
/// which are compiled in.
///
/// # Errors
/// `HOST_FAULT` when TLS cannot be set up.
pub fn tls_config() -> Result<Arc<ClientConfig>, ErrorReport> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(Arc::clone(config));
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("TLS could not be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::clone(CONFIG.get_or_init(|| Arc::new(config))))
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
