//! The forward proxy of one browser.

use super::{
    connect::Resolve,
    connection::{self, Shared},
    gate::Gate,
    upstream::Upstream,
};
use codemode_spec::limits::NETWORK_CONNECTIONS_MAX;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::task::AbortOnDropHandle;

/// The pause after accepting a connection has failed, for example without a free file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A proxy that listens but does not accept connections yet: clients that connect wait.
#[derive(Debug)]
pub struct ForwardProxy {
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
}

/// A proxy that serves until this value is dropped.
#[derive(Debug)]
pub struct Serving {
    _accepting: AbortOnDropHandle<()>,
}

impl ForwardProxy {
    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn bind(gate: Arc<Gate>, resolver: Arc<dyn Resolve>, upstream: Upstream) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, shared: Shared { gate, resolver, upstream } })
    }

    /// The address at which the proxy listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the connections that `is_ours` accepts by their peer address; `is_ours` may block. All others are closed
    /// without a response. Must be called within a runtime.
    #[must_use]
    pub fn serve(self, is_ours: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) -> Serving {
        let (shared, is_ours) = (Arc::new(self.shared), Arc::new(is_ours));
        let listener = self.listener;
        let accepting = tokio::spawn(async move {
            let places = Arc::new(Semaphore::new(NETWORK_CONNECTIONS_MAX));
            // Dropping the set closes all connections.
            let mut connections = JoinSet::new();
            // The semaphore is never closed.
            while let Ok(place) = Arc::clone(&places).acquire_owned().await {
                while connections.try_join_next().is_some() {}
                let Ok((stream, peer)) = listener.accept().await else {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let (shared, is_ours) = (Arc::clone(&shared), Arc::clone(&is_ours));
                connections.spawn(async move {
                    let _place = place;
                    if tokio::task::spawn_blocking(move || is_ours(peer)).await.unwrap_or(false) {
                        serve(shared, stream).await;
                    }
                });
            }
        });
        Serving { _accepting: AbortOnDropHandle::new(accepting) }
    }
}

async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    // Fails only when the connection is already closed.
    let _ = stream.set_nodelay(true);
    connection::serve(shared, stream).await;
}
