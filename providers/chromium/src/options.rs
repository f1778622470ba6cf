//! How a browser is launched.

use crate::confine::Confinement;
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// How a browser is launched.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The browser, as [`crate::find`] gives it.
    pub executable: PathBuf,
    /// Where profiles and their ledgers are kept; made if it is not there.
    pub profiles_dir: PathBuf,
    /// Names the profile: letters, digits, `-` and `_`, unique among those that live.
    pub name: String,
    /// Where downloads go, for as long as no command says otherwise.
    pub downloads_dir: Option<PathBuf>,
    /// The profile may be there already, and stays when the browser ends.
    pub keep_profile: bool,
    /// The kernel kills it when this process dies, at once.
    pub bound_to_thread: bool,
    /// Without a window.
    pub headless: bool,
    /// What it may reach of the machine.
    pub confinement: Confinement,
    /// It also listens on a loopback port, where every user of this machine can reach it. For a browser that holds
    /// nothing: one that only describes its protocol, or stands for a user's own in a test.
    pub listens: bool,
    /// The proxy through which every page goes, those of this machine too.
    pub proxy: Option<SocketAddr>,
    /// How long the start may take.
    pub start_timeout: Duration,
}
