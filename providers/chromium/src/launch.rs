//! Launches a browser and makes sure that it ends.
//!
//! It ends in one of three ways, each for the case that the one before it did not come to pass: its [`Browser`] is closed
//! or dropped; the process that launched it dies, and with it the pipe that Chromium's `--remote-debugging-pipe` listens
//! on, whereupon Chromium ends by itself; or [`crate::reap`] finds its ledger without an owner.

use crate::{
    connection::{Command as CdpCommand, Connection},
    endpoint::Endpoint,
    flags,
    ledger::{Ledger, NAME_INTERVAL, NAME_PATIENCE, in_use},
    ports,
    process::{CRASHES, is_running},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::{
    ffi::OsStr,
    io,
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::AsyncReadExt as _,
    process::ChildStderr,
    sync::oneshot,
    time::{Instant, timeout_at},
};

/// How long the processes may take to go once they are killed.
const CLOSE_PATIENCE: Duration = Duration::from_secs(12);
/// The same where somebody is kept from going on meanwhile.
const DROP_PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether a browser that quits has ended.
const QUIT_INTERVAL: Duration = Duration::from_millis(5);
/// What is kept of what the browser says, from the end.
const WORDS_BYTES_KEPT: usize = 8 * 1024;
/// What Chromium says once its protocol can be reached.
const READY: &str = "DevTools listening on ";
/// What Chromium says if its protocol cannot be reached because the port was taken; it goes on without.
const PORT_TAKEN: &str = "Cannot start http server for devtools";

/// Becomes the browser, with both ends of its debugging pipe where Chromium looks for them. Nothing is ever said on the
/// pipe: that it closes is the message.
const BECOME_BROWSER: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";
/// The same for a browser that the kernel kills with the thread that launched it, where the system has the means: not
/// every `setpriv` can do it.
const BECOME_BOUND_BROWSER: &str = "if setpriv --pdeathsig KILL -- true >/dev/null 2>&1; \
                                    then set -- setpriv --pdeathsig KILL -- \"$@\"; fi; \
                                    exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

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
    /// The kernel kills it with the thread that launches it, at once: for a thread that lives as long as its process.
    pub bound_to_thread: bool,
    /// Without a window.
    pub headless: bool,
    /// The proxy through which every page goes, those of this machine too.
    pub proxy: Option<SocketAddr>,
    /// How long the start may take.
    pub start_timeout: Duration,
}

/// A browser that we launched and own. It ends with this value.
#[derive(Debug)]
pub struct Browser {
    owned: Owned,
    endpoint: Endpoint,
}

impl Browser {
    /// Launches a browser with a fresh profile and waits until it can be connected to.
    ///
    /// # Errors
    /// `BROWSER_LAUNCH_FAILED` with the browser's last words in the details, or if another one has the profile and does not
    /// let go of it within a few seconds; `IO_ERROR` if there can be no profile. Either way nothing is left of it.
    ///
    /// # Cancellation
    /// May be dropped at any time: the processes are killed and the profile is removed before the drop returns.
    pub async fn launch(options: LaunchOptions) -> Result<Self, ErrorReport> {
        let deadline = Instant::now() + options.start_timeout;
        for port in ports::free() {
            if let Some(browser) = Self::launch_at(port, &options, deadline).await? {
                return Ok(browser);
            }
        }
        let message = "every port tried for the browser's protocol was taken";
        Err(ErrorReport::new(ErrorCode::BrowserLaunchFailed, message)
            .with_hint("Close browsers that are not needed any more: `codemode sessions list` shows them."))
    }

    /// Launches it with its protocol on this port; `None` if somebody else was faster to take that.
    async fn launch_at(port: u16, options: &LaunchOptions, deadline: Instant) -> Result<Option<Self>, ErrorReport> {
        // The ledger comes first: from here on there is always somebody who can clean up.
        let (mut owned, started) = Owned::spawn(port, Self::ledger(options).await?, options)?;
        let executable = options.executable.display();
        let timeout_ms = options.start_timeout.as_millis();
        let message = match timeout_at(deadline, started).await {
            Ok(Ok(Started::Ready(ws_url))) => {
                owned.ledger.runs().map_err(|error| {
                    ErrorReport::new(ErrorCode::BrowserLaunchFailed, format!("could not note the program: {error}"))
                })?;
                return Ok(Some(Self { owned, endpoint: Endpoint { ws_url, headers: Vec::new() } }));
            }
            Ok(Ok(Started::PortTaken)) => return owned.close().await.map(|()| None),
            Ok(Err(_)) => format!("{executable} ended before it could be connected to"),
            Err(_) => format!("{executable} could not be connected to within {timeout_ms} ms"),
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
        // One that is not kept is like no other.
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

    /// Where it can be connected to.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The number of its main process, which is also that of its process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.owned.pid
    }

    /// Its profile folder.
    #[must_use]
    pub fn profile(&self) -> &Path {
        self.owned.ledger.profile()
    }

    /// Has the profile kept under another name when the browser ends, in the place of what has that name.
    pub fn keep_profile_as(&mut self, name: &str) {
        self.owned.ledger.keep_as(name);
    }

    /// Whether its main process has ended, by itself or by another's hand.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        // Not waited for: until its group is dealt with, its number must stay its own.
        !is_running(self.owned.pid.cast_signed())
    }

    /// The end of what it wrote to its standard error: why it died, if it did.
    #[must_use]
    pub fn last_words(&self) -> String {
        self.owned.last_words()
    }

    /// Asks it to end by itself, as it does when its user quits: only then is all written down that a kept profile has.
    /// Gives up in the end, whatever it does; [`Self::close`] is for the rest.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn quit(&self, patience: Duration) {
        let quitting = async {
            let connection = Connection::connect(self.endpoint(), patience).await.ok()?;
            let command = CdpCommand { method: "Browser.close", params: Json::Null, session: None, timeout: patience };
            // Its answer may be lost with it.
            let _ = connection.call(command).await;
            while !self.has_ended() {
                tokio::time::sleep(QUIT_INTERVAL).await;
            }
            Some(())
        };
        let _ = tokio::time::timeout(patience, quitting).await;
    }

    /// Kills the whole browser, waits until none of its processes lives, and removes the profile.
    ///
    /// # Errors
    /// `IO_ERROR` if a process does not end or the profile cannot be removed; [`crate::reap`] will try again.
    ///
    /// # Cancellation
    /// May be dropped at any time: it goes on in the background to its end.
    pub async fn close(self) -> Result<(), ErrorReport> {
        self.owned.close().await
    }
}

/// The processes, the profile and the ledger.
#[derive(Debug)]
struct Owned {
    /// Its standard input and output are our ends of the debugging pipe.
    child: Child,
    pid: u32,
    ledger: Ledger,
    words: Arc<Mutex<Words>>,
    ended: bool,
}

impl Owned {
    /// Starts the processes; the receiver gets what became of it, or an error if that will not be known.
    fn spawn(
        port: u16,
        ledger: Ledger,
        options: &LaunchOptions,
    ) -> Result<(Self, oneshot::Receiver<Started>), ErrorReport> {
        let failed = |what: &str| {
            let message = format!("{what} {}", options.executable.display());
            move |error: io::Error| ErrorReport::new(ErrorCode::BrowserLaunchFailed, format!("{message}: {error}"))
        };
        let started = flags::prepare(ledger.profile(), port, options).and_then(|arguments| {
            let executable = std::path::absolute(&options.executable)?;
            let mut command = Command::new("/bin/sh");
            let become_browser = if options.bound_to_thread { BECOME_BOUND_BROWSER } else { BECOME_BROWSER };
            command.args(["-c", become_browser, "codemode-browser"].map(OsStr::new)).arg(&executable).args(arguments);
            // Not to the user's own folder; and the crash handler is known by it.
            command.env("BREAKPAD_DUMP_LOCATION", ledger.profile().join(CRASHES));
            if let Some(folder) = ledger.temporary() {
                command.env("TMPDIR", folder);
            }
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()
        });
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                let _ = ledger.close(DROP_PATIENCE);
                return Err(failed("could not start")(error));
            }
        };
        let pid = child.id();
        let mut owned = Self { child, pid, ledger, words: Arc::default(), ended: false };
        owned.ledger.started(pid.cast_signed()).map_err(failed("could not note the start of"))?;
        let stderr = owned.child.stderr.take().map(ChildStderr::from_std).transpose();
        let stderr = stderr.map_err(failed("could not listen to"))?;
        let (found, started) = oneshot::channel();
        if let Some(stderr) = stderr {
            // Ends with the last process that holds the other end, and these all end with us.
            tokio::spawn(listen(stderr, Arc::clone(&owned.words), found));
        }
        Ok((owned, started))
    }

    fn last_words(&self) -> String {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// Ends it on a thread that may block. If this future is dropped, that goes on; if the runtime is shutting down and
    /// takes no more work, the drop of `self` does the same.
    async fn close(mut self) -> Result<(), ErrorReport> {
        let ended = tokio::task::spawn_blocking(move || {
            let ended = self.end(CLOSE_PATIENCE);
            // Whoever closed it may not listen any more.
            if let Err(report) = &ended {
                tracing::warn!(%report, "a browser was not cleaned up");
            }
            ended
        })
        .await;
        ended.unwrap_or_else(|error| Err(ErrorReport::new(ErrorCode::HostFault, format!("closing failed: {error}"))))
    }

    fn end(&mut self, patience: Duration) -> Result<(), ErrorReport> {
        self.ended = true;
        let Self { child, ledger, .. } = self;
        // Our own child keeps its number until we wait for it: this cannot hit another process. Most often it is all
        // that is needed to kill, and the children see their parent gone and end as well.
        let _ =
            rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
        // While its leader is not yet reaped the group is proven by it; it is reaped when nothing of it lives.
        let closed = ledger.close(patience);
        let _ = child.kill();
        let _ = child.wait();
        closed.map(drop)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.ended
            && let Err(report) = self.end(DROP_PATIENCE)
        {
            tracing::warn!(%report, "a browser was not cleaned up");
        }
    }
}

/// Reads what the browser says for as long as it lives: a full pipe would stop it.
async fn listen(mut stderr: ChildStderr, words: Arc<Mutex<Words>>, found: oneshot::Sender<Started>) {
    let (mut found, mut chunk) = (Some(found), [0; 4096]);
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.add(&chunk[..read]);
        if found.is_some()
            && let Some(started) = words.started()
            && let Some(found) = found.take()
        {
            let _ = found.send(started);
        }
    }
}

/// What became of a start.
#[derive(Debug, PartialEq, Eq)]
enum Started {
    /// The protocol can be reached at this WebSocket.
    Ready(String),
    /// It cannot: the port is another's.
    PortTaken,
}

/// The end of what a browser said.
#[derive(Debug, Default)]
struct Words {
    kept: Vec<u8>,
}

impl Words {
    fn add(&mut self, chunk: &[u8]) {
        self.kept.extend_from_slice(chunk);
        let over = self.kept.len().saturating_sub(WORDS_BYTES_KEPT);
        self.kept.drain(..over);
    }

    /// What became of the start, once it was said.
    fn started(&self) -> Option<Started> {
        let text = String::from_utf8_lossy(&self.kept);
        if text.contains(PORT_TAKEN) {
            return Some(Started::PortTaken);
        }
        let (url, _) = text.split_once(READY)?.1.split_once('\n')?;
        Some(Started::Ready(url.trim().to_owned()))
    }

    /// Without the complaints about a missing message bus, which each start in a container is full of.
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.contains(":dbus/")).collect();
        lines.join("\n")
    }
}

/// What to do about a failure that is known.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_browser_starts_whatever_the_system_has_to_bind_it_to_its_thread() {
        let folder = tempfile::tempdir().unwrap();
        // As BusyBox has it.
        let poor = "#!/bin/sh\n[ \"$1\" = --pdeathsig ] && { echo unrecognized option >&2; exit 1; }\nexec \"$@\"\n";
        fs::write(folder.path().join("setpriv"), poor).unwrap();
        fs::set_permissions(folder.path().join("setpriv"), fs::Permissions::from_mode(0o700)).unwrap();
        let none = folder.path().join("none");
        for path in [folder.path().as_os_str(), none.as_os_str(), &env::var_os("PATH").unwrap()] {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", BECOME_BOUND_BROWSER, "codemode-browser", "/bin/sh", "-c", "exit 7"]).env("PATH", path);
            let output = command.stdin(Stdio::piped()).output().unwrap();
            assert_eq!(output.status.code(), Some(7), "{path:?} {output:?}");
        }
    }

    #[test]
    fn the_address_is_found_in_pieces_and_the_words_are_bounded() {
        let mut words = Words::default();
        words.add(b"noise\n\nDevTools listening on ws://127.0.0.1:1/x");
        assert_eq!(words.started(), None);
        words.add(b"y\n[1:2:ERROR:dbus/bus.cc:405] Failed\n");
        assert_eq!(words.started(), Some(Started::Ready("ws://127.0.0.1:1/xy".to_owned())));
        assert_eq!(words.text(), "noise\nDevTools listening on ws://127.0.0.1:1/xy");
        words.add(&[b'z'; WORDS_BYTES_KEPT * 2]);
        assert_eq!(words.kept.len(), WORDS_BYTES_KEPT);
    }
}
