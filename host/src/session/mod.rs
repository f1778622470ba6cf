//! Browser sessions: who holds which browser, since when, and the proof of it.
//!
//! A *session* is a browser that exists; a *lease* is the exclusive right of one execution to use it. The
//! [`SessionManager`] gives leases to executions; the [`store`] keeps them, with everything that happened to them, for all
//! hosts of a state folder; a [`keeper`] process starts each browser, watches over the store and ends the browser when
//! nobody may use it any more, so that it neither dies with a host nor outlives its lease.
//!
//! This module knows no wasmtime, no namespace and no script.

mod browsers;
pub mod clock;
mod fence;
mod guarded;
mod held;
pub mod hosts;
pub mod keeper;
mod leasing;
mod manager;
pub mod store;

pub use browsers::{Browsers, BrowsersOfKeepers, LaunchOrder};
pub use held::Held;
pub use manager::{SessionManager, SessionSettings};

use std::path::{Path, PathBuf};

/// The file of the store in the state folder.
const STORE: &str = "sessions.db";
/// The folder of the locks by which it is seen which hosts live.
const HOSTS: &str = "hosts";
/// The folder in which browsers have their profiles.
const PROFILES: &str = "profiles";
/// The folder in which browsers put what they download.
const DOWNLOADS: &str = "downloads";
/// The folder of the cookies of each key.
const COOKIES: &str = "cookies";

/// The folders that sessions have in a state folder.
#[derive(Clone, Debug)]
pub struct Places {
    state_dir: PathBuf,
}

impl Places {
    /// Those in this state folder; it is made absolute.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self { state_dir: std::path::absolute(state_dir).unwrap_or_else(|_| state_dir.to_owned()) }
    }

    /// The state folder.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// The file of the store.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.state_dir.join(STORE)
    }

    /// The folder of the hosts' locks.
    #[must_use]
    pub fn hosts(&self) -> PathBuf {
        self.state_dir.join(HOSTS)
    }

    /// The folder of the profiles.
    #[must_use]
    pub fn profiles(&self) -> PathBuf {
        self.state_dir.join(PROFILES)
    }

    /// Where a session's browser puts what it downloads.
    #[must_use]
    pub fn downloads(&self, session: &str) -> PathBuf {
        self.state_dir.join(DOWNLOADS).join(session)
    }

    /// The file of a key's cookies.
    #[must_use]
    pub fn cookies(&self, key: &str) -> PathBuf {
        self.state_dir.join(COOKIES).join(format!("{}.json", profile_of_key(key)))
    }
}

/// The name of the profile that a key keeps: a key may hold what no file name can.
#[must_use]
pub fn profile_of_key(key: &str) -> String {
    format!("key-{}", &blake3::hash(key.as_bytes()).to_hex()[..32])
}
