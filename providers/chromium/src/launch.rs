//! Launches a browser and guarantees that it ends.
//!
//! A browser ends in one of three ways, each a fallback for the one before: its [`Browser`] is closed or dropped; the
//! process that launched it dies, which closes the debugging pipe, whereupon Chromium exits; or [`crate::reap`] finds
//! its ledger without an owner.
//!
//! A browser has no port: its protocol is spoken over the debugging pipe, whose ends only its owner holds.

use crate::{
    confine::{ConfineMode, Confinement, Identity, NO_USER_OF_ITS_OWN},
    connection::Connection,
    endpoint::Endpoint,
    error::CdpError,
    ledger::{Ledger, NAME_INTERVAL, NAME_PATIENCE, in_use},
    options::LaunchOptions,
    owned::{Begun, Owned},
    process::is_running,
    relay::Relay,
};
use chromiumoxide_cdp::cdp::browser_protocol::browser::{CloseParams, GetVersionParams};
use codemode_spec::{ErrorCode, ErrorReport};
use std::{path::Path, time::Duration};
use tokio::time::{Instant, timeout_at};

/// How often to check whether a browser that is quitting has ended.
const QUIT_INTERVAL: Duration = Duration::from_millis(5);
/// How long to wait for the last output of a browser that has closed its pipe.
const WORDS_MAX: Duration = Duration::from_secs(1);
/// Messages by which Chromium reports that its own sandbox cannot be used.
const NO_SANDBOX: &[&str] = &["No usable sandbox", "Failed to move to new namespace", "zygote_host_impl_linux"];
/// Messages by which the shell and `setpriv` report that a user cannot execute a program.
const NOT_EXECUTABLE: &[&str] = &["codemode-browser: ", "setpriv: failed to execute"];
/// The warning in an answer about a browser without Chromium's own sandbox.
const WITHOUT_SANDBOX: &str = "Chromium runs without its own sandbox, because this host runs as root and this system \
     gives the browser no user of its own: run codemode as an ordinary user, or with the capability CAP_SYS_ADMIN.";
/// The hint where a browser without its own sandbox is refused.
const NEEDS_CAPABILITY: &str = "As root, codemode needs the capability CAP_SYS_ADMIN to run a browser as a user of its own: \
     add it (docker run --cap-add=SYS_ADMIN), or run codemode as an ordinary user. With confine = \"try\" the browser \
     starts all the same, without Chromium's own sandbox.";

/// A browser that this process launched and owns. The browser ends when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    owned: Owned,
    relay: Relay,
    endpoint: Option<Endpoint>,
}

impl Browser {
    /// Launches a browser and waits until it answers commands.
    ///
    /// # Errors
    /// `BROWSER_LAUNCH_FAILED` if the browser cannot be started or does not answer in time, with the end of its output
    /// in the details; if another browser holds the profile and does not release it within a few seconds; or if required
    /// confinement cannot be applied. `IO_ERROR` if the profile cannot be created. After an error nothing of the browser
    /// remains.
    ///
    /// # Cancellation
    /// May be dropped at any time: the processes are killed and the profile is removed before the drop returns.
    pub async fn launch(options: LaunchOptions) -> Result<Self, ErrorReport> {
        let deadline = Instant::now() + options.start_timeout;
        if !rustix::process::geteuid().is_root() {
            return match Self::launch_as(Identity::Ours, &options, deadline).await {
                // Under Landlock, Chromium cannot use its setuid-root sandbox helper, and where ordinary users cannot
                // create user namespaces it has no alternative. Its own sandbox is worth more than Landlock.
                Err(report) if options.confinement.mode == ConfineMode::Try && lacks_sandbox(&report) => {
                    let confinement = Confinement { mode: ConfineMode::Off, ..options.confinement.clone() };
                    let bare = LaunchOptions { confinement, ..options };
                    let mut browser = Self::launch_as(Identity::Ours, &bare, deadline).await?;
                    let why = "The browser is not confined to its own files: with that, Chromium could not use its own \
                               sandbox on this system.";
                    browser.owned.shortfalls.push(why.to_owned());
                    Ok(browser)
                }
                launched => launched,
            };
        }
        let profile = std::path::absolute(options.profiles_dir.join(&options.name)).unwrap_or_default();
        let own = Self::launch_as(Identity::of_profile(&profile), &options, deadline).await;
        let Err(report) = own else { return own };
        // A browser that crashed, or whose profile is in use, is not started again with less protection.
        if !is_denied_its_user(&report) {
            return Err(report);
        }
        if options.confinement.mode == ConfineMode::Require {
            return Err(report.with_hint(NEEDS_CAPABILITY));
        }
        tracing::warn!(%report, "a browser does not start as a user of its own");
        let mut browser = Self::launch_as(Identity::Ours, &options, deadline).await?;
        browser.owned.shortfalls.push(WITHOUT_SANDBOX.to_owned());
        Ok(browser)
    }

    async fn launch_as(identity: Identity, options: &LaunchOptions, deadline: Instant) -> Result<Self, ErrorReport> {
        // The ledger is created first: from here on, any process that finds it can clean up.
        let Begun { mut owned, relay, mut listening } = Owned::spawn(Self::ledger(options).await?, options, identity)?;
        let ready = async {
            relay.execute(&GetVersionParams::default(), options.start_timeout).await?;
            Ok::<_, CdpError>(if options.listens { (&mut listening).await.ok() } else { None })
        };
        let executable = options.executable.display();
        let message = match timeout_at(deadline, ready).await {
            Ok(Ok(endpoint)) => {
                owned.ledger.runs().map_err(|error| {
                    ErrorReport::new(ErrorCode::BrowserLaunchFailed, format!("could not note the program: {error}"))
                })?;
                return Ok(Self { owned, relay, endpoint });
            }
            Ok(Err(CdpError::Closed { .. })) => {
                // The browser's last output may still be in transit; it ends when the browser exits.
                let _ = timeout_at(deadline.min(Instant::now() + WORDS_MAX), listening).await;
                format!("{executable} ended before it could be connected to")
            }
            Ok(Err(error)) => format!("{executable} cannot be spoken to: {error}"),
            Err(_) => format!("{executable} could not be connected to within {} ms", options.start_timeout.as_millis()),
        };
        let words = owned.last_words();
        let report = ErrorReport::new(ErrorCode::BrowserLaunchFailed, message);
        let report = match remedy(&words) {
            Some(hint) => report.with_hint(hint),
            None => report,
        };
        owned.close().await?;
        Err(report.with_detail("stderr", words))
    }

    async fn ledger(options: &LaunchOptions) -> Result<Ledger, ErrorReport> {
        let LaunchOptions { profiles_dir, name, keep_profile, .. } = options;
        // The name of a profile that is not kept is unique, so there is nothing to wait for.
        let deadline = Instant::now() + if *keep_profile { NAME_PATIENCE } else { Duration::ZERO };
        loop {
            if let Some(ledger) = Ledger::try_open(profiles_dir, name, *keep_profile)? {
                return Ok(ledger);
            }
            if Instant::now() >= deadline {
                return Err(in_use(name));
            }
            tokio::time::sleep(NAME_INTERVAL).await;
        }
    }

    /// Opens a connection to the browser, with a root protocol session of its own.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` when the browser does not answer.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn connect(&self) -> Result<Connection, ErrorReport> {
        self.relay.connect().await
    }

    /// The relay on the browser's debugging pipe.
    #[must_use]
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// The endpoint of the browser's port, if it was launched to listen.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// The requested confinement that could not be applied, as sentences for the reader of an answer.
    #[must_use]
    pub fn shortfalls(&self) -> &[String] {
        &self.owned.shortfalls
    }

    /// The process id of the browser's main process, which is also the id of its process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.owned.pid
    }

    /// The browser's profile folder.
    #[must_use]
    pub fn profile(&self) -> &Path {
        self.owned.ledger.profile()
    }

    /// Requests that the profile be moved to another name when the browser ends, replacing the profile of that name.
    pub fn keep_profile_as(&mut self, name: &str) {
        self.owned.ledger.keep_as(name);
    }

    /// Whether the browser's main process has ended, for whatever reason.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        // Without reaping it: its process id must not be reused before the process group is ended.
        !is_running(self.owned.pid.cast_signed())
    }

    /// The end of the browser's standard error; after a crash, usually the reason.
    #[must_use]
    pub fn last_words(&self) -> String {
        self.owned.last_words()
    }

    /// Asks the browser to quit, as when a user closes it: only then does it write everything to a kept profile. Stops
    /// waiting after `patience`; [`Self::close`] does the rest.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn quit(&self, patience: Duration) {
        let quitting = async {
            // The browser may exit before its answer is sent.
            let _ = self.relay.execute(&CloseParams::default(), patience).await;
            while !self.has_ended() {
                tokio::time::sleep(QUIT_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(patience, quitting).await;
    }

    /// Kills the whole browser, waits until none of its processes is alive, and removes the profile unless it is kept.
    ///
    /// # Errors
    /// `IO_ERROR` if a process does not end or the profile cannot be removed; [`crate::reap`] will retry.
    ///
    /// # Cancellation
    /// May be dropped at any time: closing continues in the background.
    pub async fn close(self) -> Result<(), ErrorReport> {
        self.owned.close().await
    }
}

fn lacks_sandbox(report: &ErrorReport) -> bool {
    let words = report.details["stderr"].as_str().unwrap_or_default();
    NO_SANDBOX.iter().any(|sign| words.contains(sign))
}

/// Whether this system denies root's browser a dedicated user: the user cannot be assumed, cannot use Chromium's own
/// sandbox, or cannot execute the program.
fn is_denied_its_user(report: &ErrorReport) -> bool {
    let words = report.details["stderr"].as_str().unwrap_or_default();
    report.message.contains(NO_USER_OF_ITS_OWN)
        || lacks_sandbox(report)
        || NOT_EXECUTABLE.iter().any(|sign| words.contains(sign))
}

/// The hint for a known failure.
fn remedy(words: &str) -> Option<&'static str> {
    [
        (
            "No usable sandbox",
            "Chromium's own sandbox needs user namespaces, which this system denies to it: allow them (sysctl \
             kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0), or run in a container.",
        ),
        ("error while loading shared libraries", "A library is missing: install the browser with `codemode setup`."),
        ("Missing X server", "There is no display for a window: launch it headless."),
        ("No space left on device", "The disk is full: free some space, or use another --state-dir."),
    ]
    .into_iter()
    .find(|(sign, _)| words.contains(sign))
    .map(|(_, hint)| hint)
}
