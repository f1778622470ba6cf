//! Launches a browser and makes sure that it ends.
//!
//! A browser ends in one of three ways, each for the case that the way before it failed: its [`Browser`] is closed or
//! dropped; the process that launched it dies, and with that process our ends of the debugging pipe, whereupon Chromium
//! ends by itself; or [`crate::reap`] finds its ledger without an owner.
//!
//! A browser has no port: its protocol is spoken on the debugging pipe, whose ends only its owner holds.

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

/// How often to look whether a browser that quits has ended.
const QUIT_INTERVAL: Duration = Duration::from_millis(5);
/// How long to wait for the last words of a browser that has closed its pipe.
const WORDS_MAX: Duration = Duration::from_secs(1);
/// How Chromium says that its own sandbox cannot be had.
const NO_SANDBOX: &[&str] = &["No usable sandbox", "Failed to move to new namespace", "zygote_host_impl_linux"];
/// What an answer says of a browser without Chromium's own sandbox.
const WITHOUT_SANDBOX: &str = "Chromium runs without its own sandbox, because this host runs as root and this system \
     gives the browser no user of its own: run codemode as an ordinary user, or with the capability CAP_SYS_ADMIN.";
/// The remedy, where a browser without its own sandbox is refused.
const NEEDS_CAPABILITY: &str = "As root, codemode needs the capability CAP_SYS_ADMIN to run a browser as a user of its own: \
     add it (docker run --cap-add=SYS_ADMIN), or run codemode as an ordinary user. With confine = \"try\" the browser \
     starts all the same, without Chromium's own sandbox.";

/// A browser that this process launched and owns. It ends when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    owned: Owned,
    relay: Relay,
    endpoint: Option<Endpoint>,
}

impl Browser {
    /// Launches a browser with a fresh profile and waits until it can be spoken to.
    ///
    /// # Errors
    /// `BROWSER_LAUNCH_FAILED` with the browser's last words in the details, if another browser has the profile and
    /// does not release it within a few seconds, or if the browser cannot be confined and must be; `IO_ERROR` if there
    /// can be no profile. Either way nothing is left of the browser.
    ///
    /// # Cancellation
    /// May be dropped at any time: the processes are killed and the profile is removed before the drop returns.
    pub async fn launch(options: LaunchOptions) -> Result<Self, ErrorReport> {
        let deadline = Instant::now() + options.start_timeout;
        if !rustix::process::geteuid().is_root() {
            return match Self::launch_as(Identity::Ours, &options, deadline).await {
                // Behind Landlock Chromium cannot use its helper that is set to root, and where ordinary users get no
                // namespaces it has nothing else. Of the two walls its own is the better one.
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
        if options.confinement.mode == ConfineMode::Require || report.code != ErrorCode::BrowserLaunchFailed {
            let lacks_user = report.message.contains(NO_USER_OF_ITS_OWN);
            return Err(if lacks_user { report.with_hint(NEEDS_CAPABILITY) } else { report });
        }
        tracing::debug!(%report, "a browser does not start as a user of its own");
        let mut browser = Self::launch_as(Identity::Ours, &options, deadline).await?;
        browser.owned.shortfalls.push(WITHOUT_SANDBOX.to_owned());
        Ok(browser)
    }

    async fn launch_as(identity: Identity, options: &LaunchOptions, deadline: Instant) -> Result<Self, ErrorReport> {
        // The ledger comes first: from here on a process that finds the ledger can clean up.
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
                // The browser's last words may still be on their way; they end with the browser.
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
        // The name of a profile that is not kept is unique: there is nothing to wait for.
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

    /// A connection to the browser, below a protocol session of its own.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` when the browser does not answer.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn connect(&self) -> Result<Connection, ErrorReport> {
        self.relay.connect().await
    }

    /// The relay at the browser's debugging pipe.
    #[must_use]
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// The endpoint of the browser's port, if it was launched to listen.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// The walls around the browser that are missing, in sentences for the reader of an answer.
    #[must_use]
    pub fn shortfalls(&self) -> &[String] {
        &self.owned.shortfalls
    }

    /// The number of the browser's main process, which is also the number of its process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.owned.pid
    }

    /// The browser's profile folder.
    #[must_use]
    pub fn profile(&self) -> &Path {
        self.owned.ledger.profile()
    }

    /// Has the profile kept under another name when the browser ends, in the place of what has that name.
    pub fn keep_profile_as(&mut self, name: &str) {
        self.owned.ledger.keep_as(name);
    }

    /// Whether the browser's main process has ended, by itself or killed by another process.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        // Not reaped: until the process group is ended, the number must not be reused.
        !is_running(self.owned.pid.cast_signed())
    }

    /// The end of what the browser wrote to its standard error: the reason, if it died.
    #[must_use]
    pub fn last_words(&self) -> String {
        self.owned.last_words()
    }

    /// Asks the browser to end by itself, as when its user quits: only then does it write everything into a kept
    /// profile. Gives up after `patience`; [`Self::close`] does the rest.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn quit(&self, patience: Duration) {
        let quitting = async {
            // The answer may be lost when the browser ends.
            let _ = self.relay.execute(&CloseParams::default(), patience).await;
            while !self.has_ended() {
                tokio::time::sleep(QUIT_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(patience, quitting).await;
    }

    /// Kills the whole browser, waits until none of its processes lives, and removes the profile.
    ///
    /// # Errors
    /// `IO_ERROR` if a process does not end or the profile cannot be removed; [`crate::reap`] will try again.
    ///
    /// # Cancellation
    /// May be dropped at any time: closing goes on in the background to its end.
    pub async fn close(self) -> Result<(), ErrorReport> {
        self.owned.close().await
    }
}

fn lacks_sandbox(report: &ErrorReport) -> bool {
    let words = report.details["stderr"].as_str().unwrap_or_default();
    NO_SANDBOX.iter().any(|sign| words.contains(sign))
}

/// The remedy for a known failure.
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
