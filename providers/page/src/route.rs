//! How the browser of an execution is reached.

use codemode_chromium::{Connection, Endpoint, Protocol, Relay, cdp::browser_protocol::browser::GetVersionReturns};
use codemode_provider::{BrowserChannel, BrowserSession};
use codemode_spec::ErrorReport;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The way to a browser, which may be taken more than once.
#[derive(Clone)]
pub(crate) enum Route {
    /// An external browser, at its endpoint.
    Endpoint(Endpoint),
    /// A leased one: its session opens the way for as long as the lease holds.
    Leased(Arc<dyn BrowserSession>),
    /// One that this process has started, by its debugging pipe; and its program.
    Own(Relay, PathBuf),
}

impl Route {
    /// A connection of its own.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED`, and what keeps a lease from being used.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn connect(&self, timeout: Duration) -> Result<Connection, ErrorReport> {
        match self {
            Self::Endpoint(endpoint) => Connection::connect(endpoint, timeout).await,
            Self::Leased(session) => {
                let BrowserChannel { socket, root } = session.connect().await?;
                Connection::over(socket, root)
            }
            Self::Own(relay, _) => relay.connect().await,
        }
    }

    /// The protocol of the browser, which answered so to `Browser.getVersion`. That of one of ours is described by its
    /// program and kept in a folder.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` when it is not told.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn protocol(
        &self,
        version: &GetVersionReturns,
        protocols_dir: &Path,
        timeout: Duration,
    ) -> Result<Arc<Protocol>, ErrorReport> {
        let program = match self {
            Self::Endpoint(endpoint) => return Protocol::read(endpoint, timeout).await,
            Self::Leased(session) => session.facts().program,
            Self::Own(_, program) => program.clone(),
        };
        Protocol::of_program(&program, version, protocols_dir, timeout).await
    }
}
