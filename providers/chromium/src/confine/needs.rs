//! The resources of the machine that one browser needs.

use std::{net::SocketAddr, path::PathBuf};

/// The resources of the machine that one browser needs.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    pub(crate) executable: PathBuf,
    /// Writable folders.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) headed: bool,
    /// The proxy, to whose port alone the browser may connect by TCP; `None` for no such restriction.
    pub(crate) proxy: Option<SocketAddr>,
}
