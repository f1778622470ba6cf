//! How to connect to the browser of an execution.

use codemode_chromium::{Connection, Endpoint, Protocol, Relay, cdp::browser_protocol::browser::GetVersionReturns};
use codemode_provider::{BrowserChannel, BrowserSession};
use codemode_spec::ErrorReport;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// How to connect to a browser; usable for any number of connections.
#[derive(Clone)]
pub(crate) enum Route {
    /// An external browser, at its endpoint.
    Endpoint(Endpoint),
    /// A leased browser: its session opens connections for as long as the lease holds.
    Leased(Arc<dyn BrowserSession>),
    /// A browser that this process started: the relay of its debugging pipe, and the path of its program.
    Own(Relay, PathBuf),
}

impl Route {
    /// Opens a new connection.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED`, or the error of a lease that cannot be used.
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

    /// The protocol of the browser that answered `version` to `Browser.getVersion`. A browser that codemode started is
    /// described by its program, and the description is cached in `protocols_dir`.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` when the endpoint does not describe it.
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
            Self::Endpoint(endpoint) => return Protocol::read(endpoint, version, timeout).await,
            Self::Leased(session) => session.facts().program,
            Self::Own(_, program) => program.clone(),
        };
        Protocol::of_program(&program, version, protocols_dir, timeout).await
    }
}
