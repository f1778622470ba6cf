//! What one browser needs of the machine.

use std::{net::SocketAddr, path::PathBuf};

/// What one browser needs.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    pub(crate) executable: PathBuf,
    /// To be written to.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) headed: bool,
    /// The only address that it may connect to by TCP; without one there is no such rule.
    pub(crate) proxy: Option<SocketAddr>,
}
