//! The options for launching a browser.

use crate::confine::Confinement;
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// The options for launching a browser.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The browser's program, as [`crate::find`] returns it.
    pub executable: PathBuf,
    /// The folder of profiles and their ledgers; created if it is missing.
    pub profiles_dir: PathBuf,
    /// The profile's name: letters, digits, `-` and `_`, unique among the running browsers.
    pub name: String,
    /// The download folder, unless a command sets another one.
    pub downloads_dir: Option<PathBuf>,
    /// Whether the profile may already exist and is retained when the browser ends.
    pub keep_profile: bool,
    /// Whether the kernel kills the browser as soon as this process dies.
    pub bound_to_thread: bool,
    /// Whether the browser runs without a window.
    pub headless: bool,
    /// The confinement of the browser on this machine.
    pub confinement: Confinement,
    /// Whether the browser also listens on a loopback port, which every user of this machine can reach. Only for a
    /// browser that holds no data: one that only describes its protocol, or stands for a user's own in a test.
    pub listens: bool,
    /// The proxy for all requests of pages, including those to this machine.
    pub proxy: Option<SocketAddr>,
    /// How long the start may take.
    pub start_timeout: Duration,
}

/// The default of [`LaunchOptions::start_timeout`].
const START_MAX: Duration = Duration::from_secs(60);

impl LaunchOptions {
    /// Options for a browser without a window, port or proxy, whose profile is removed when it ends.
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
