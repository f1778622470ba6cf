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

/// How long a start may take, unless the options say otherwise.
const START_MAX: Duration = Duration::from_secs(60);

impl LaunchOptions {
    /// A browser without a window, port and proxy, whose profile goes with it.
    #[must_use]
    pub fn new(executable: PathBuf, profiles_dir: PathBuf, name: &str) -> Self {
        Self {
            executable,
            profiles_dir,
            name: name.to_owned(),
            downloads_dir: None,
            keep_profile: false,
            bound_to_thread: false,
            headless: true,
            confinement: Confinement::default(),
            listens: false,
            proxy: None,
            start_timeout: START_MAX,
        }
    }
}
