//! How a service is set up, in plain values. Flags, variables and files are read by the surfaces.

use crate::{network::NetworkRules, session::store::Retention, state_dir::StateDir};
use codemode_page::BrowserConfig;
use codemode_spec::{
    ErrorReport,
    limits::{EXECUTIONS_CONCURRENT_MAX, EXECUTIONS_QUEUED_MAX, LEASE_TTL_MS, RESULT_CHARS_DEFAULT},
    session::SessionRequest,
};
use std::{path::PathBuf, time::Duration};

/// How a service is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of everything that is kept; `None` is the usual place of this user.
    pub state_dir: Option<PathBuf>,
    /// The folder of prepared sandbox images and of protocol descriptions; `None` is one in the state folder.
    pub image_dir: Option<PathBuf>,
    /// Which browser executions get, and what it may reach of the machine.
    pub browser: BrowserConfig,
    /// The program that keeps browsers: `codemode`, or a program that calls [`super::keep`] when it is started as
    /// `PROGRAM --state-dir FOLDER keep`. Without it a browser ends with its execution, and every session is one-shot.
    pub keeper: Option<PathBuf>,
    /// A lease that is not renewed for so long is lost.
    pub lease_ttl: Duration,
    /// How long what is over is remembered.
    pub retention: Retention,
    /// What browsers may reach of the network at most: a call can narrow it.
    pub network: NetworkRules,
    /// The session of executions that ask for none.
    pub session: SessionRequest,
    /// Characters of the result in an answer, where a call does not say.
    pub result_chars: u64,
    /// Executions that run at the same time.
    pub concurrent_max: usize,
    /// Executions that wait for a place.
    pub queued_max: usize,
    /// Whether operators see more of executions than their audit: what they run, call and write, and the pages of those that
    /// run. It is kept in memory alone.
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
    /// Whether the browser is that of an external endpoint, which is neither launched nor closed here.
    pub(super) fn is_external(&self) -> bool {
        self.browser.cdp_url.is_some()
    }

    /// The state folder, made and checked.
    pub(super) fn state(&self) -> Result<StateDir, ErrorReport> {
        let path = self.state_dir.clone().map_or_else(StateDir::usual, Ok)?;
        Ok(StateDir::open(&path)?)
    }

    /// The folder of prepared images. Needs a state folder only where it lies there.
    pub(super) fn image_dir(&self) -> Result<PathBuf, ErrorReport> {
        match &self.image_dir {
            Some(folder) => Ok(folder.clone()),
            None => Ok(self.state()?.images()),
        }
    }
}
