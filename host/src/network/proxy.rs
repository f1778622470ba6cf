//! A forward proxy for one browser.

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

/// How long it is waited when no connection can be accepted, as without a free file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A proxy that listens and does not serve yet: a client that connects waits.
#[derive(Debug)]
pub struct ForwardProxy {
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
}

/// A proxy that serves, for as long as this lives.
#[derive(Debug)]
pub struct Serving {
    _accepting: AbortOnDropHandle<()>,
}

impl ForwardProxy {
    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// When there is none.
    pub async fn bind(gate: Arc<Gate>, resolver: Arc<dyn Resolve>, upstream: Upstream) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, shared: Shared { gate, resolver, upstream } })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves those connections of which `is_ours` says so, by where they come from; it may block. All others are closed
    /// without a word. To be called within a runtime.
    #[must_use]
    pub fn serve(self, is_ours: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) -> Serving {
        let (shared, is_ours) = (Arc::new(self.shared), Arc::new(is_ours));
        let listener = self.listener;
        let accepting = tokio::spawn(async move {
            let places = Arc::new(Semaphore::new(NETWORK_CONNECTIONS_MAX));
            // Ends them all when it is dropped.
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
    // Fails only when it is closed already.
    let _ = stream.set_nodelay(true);
    connection::serve(shared, stream).await;
}
