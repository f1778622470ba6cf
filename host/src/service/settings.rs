//! The settings of a service as plain values. Surfaces read them from flags, environment variables and files.

use crate::{network::NetworkRules, session::store::Retention, state_dir::StateDir};
use codemode_page::BrowserConfig;
use codemode_spec::{
    ErrorReport,
    limits::{EXECUTIONS_CONCURRENT_MAX, EXECUTIONS_QUEUED_MAX, LEASE_TTL_MS, RESULT_CHARS_DEFAULT},
    session::SessionRequest,
};
use std::{path::PathBuf, time::Duration};

/// The settings of a service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder for all persistent data; `None` is the default folder of this user.
    pub state_dir: Option<PathBuf>,
    /// The folder of sandbox images and of protocol descriptions; `None` is a folder in the state folder.
    pub image_dir: Option<PathBuf>,
    /// The browser of executions, and its confinement.
    pub browser: BrowserConfig,
    /// The program that runs as the keeper of a browser: `codemode`, or a program that calls [`super::keep`] when it is
    /// started as `PROGRAM --state-dir FOLDER keep`. Without it, a browser ends with its execution, and every session
    /// is one-shot.
    pub keeper: Option<PathBuf>,
    /// A lease that is not renewed for this time is lost.
    pub lease_ttl: Duration,
    /// How long ended sessions, unused logins and audit rows are retained.
    pub retention: Retention,
    /// The network rules of all browsers: a caller or a call can only narrow them.
    pub network: NetworkRules,
    /// The session of executions that request none.
    pub session: SessionRequest,
    /// The characters of the result in an answer, if the call does not specify them.
    pub result_chars: u64,
    /// The maximum number of executions that run at the same time.
    pub concurrent_max: usize,
    /// The maximum number of executions that wait for a permit.
    pub queued_max: usize,
    /// Whether operators get insight into executions beyond the audit: scripts, calls, console lines, and live views of
    /// pages. This data is held in memory only.
    pub insight: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            state_dir: None,
            image_dir: None,
            browser: BrowserConfig::default(),
            keeper: None,
            lease_ttl: Duration::from_millis(LEASE_TTL_MS),
            retention: Retention::default(),
            network: NetworkRules::default(),
            session: SessionRequest::default(),
            result_chars: RESULT_CHARS_DEFAULT as u64,
            concurrent_max: EXECUTIONS_CONCURRENT_MAX,
            queued_max: EXECUTIONS_QUEUED_MAX,
            insight: false,
        }
    }
}

impl Settings {
    /// Whether executions use the browser of an external endpoint, which codemode neither launches nor closes.
    pub(super) fn is_external(&self) -> bool {
        self.browser.cdp_url.is_some()
    }

    /// Opens the state folder: creates it if it is missing, and checks that it is private.
    pub(super) fn state(&self) -> Result<StateDir, ErrorReport> {
        let path = self.state_dir.clone().map_or_else(StateDir::default_path, Ok)?;
        Ok(StateDir::open(&path)?)
    }

    /// The folder of sandbox images. Opens the state folder only if the images are stored there.
    pub(super) fn image_dir(&self) -> Result<PathBuf, ErrorReport> {
        match &self.image_dir {
            Some(folder) => Ok(folder.clone()),
            None => Ok(self.state()?.images()),
        }
    }
}
