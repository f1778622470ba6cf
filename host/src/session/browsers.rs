//! Starts and ends the browsers of sessions. Each browser has a keeper, a process that starts it, holds its debugging
//! pipe and ends it.

use super::{
    keeper_socket,
    liveness::{Liveness as _, ProcessLocks},
    store::{BrowserFacts, EndReason, LeaseRef, SessionRow, SessionState, Store},
};
use crate::state_dir::StateDir;
use async_trait::async_trait;
use codemode_chromium::{Confinement, PrivateDir, ProcessId};
use codemode_provider::BrowserChannel;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{NETWORK_PATTERN_CHARS_MAX, NETWORK_PATTERNS_MAX},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, Command},
    time::Instant,
};
use tokio_util::task::AbortOnDropHandle;

/// The hidden command that makes a process of the program a keeper.
pub(crate) const KEEP: &str = "keep";
/// How long a keeper may take to report the result of the start: longer than the browser may take to start.
const LAUNCH_MAX: Duration = Duration::from_secs(25);
/// How long a browser may take to end before that is an error.
const END_MAX: Duration = Duration::from_secs(16);
/// How long a keeper may take to end its browser: time for the browser to flush its data, and some seconds to kill it.
const KEEPER_END_MAX: Duration = Duration::from_secs(11);
/// How long a new keeper may take to acquire its process lock.
const KEEPER_START_MAX: Duration = Duration::from_secs(2);
/// How often to check whether a browser has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long a keeper may take to enforce new network rules.
const RULES_APPLY_MAX: Duration = Duration::from_secs(10);
/// The longest reply of a keeper.
pub(super) const LINE_BYTES_MAX: u64 = 64 * 1024;
/// The longest order for a keeper. Most of it is two pairs of lists of network rules, escaped twice.
pub(super) const ORDER_BYTES_MAX: u64 = 1024 * 1024;
const _: () =
    assert!(4 * NETWORK_PATTERNS_MAX * (NETWORK_PATTERN_CHARS_MAX + 16) + 64 * 1024 < ORDER_BYTES_MAX as usize);

/// A browser to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchOrder {
    /// The session that the browser is for.
    pub session: String,
    /// The name of the browser's profile.
    pub profile: String,
    /// Whether the profile stays when the browser ends.
    pub profile_kept: bool,
    /// The browser's program; `None` searches for one.
    pub executable: Option<PathBuf>,
    /// Without a window.
    pub headless: bool,
    /// The folder for downloads.
    pub downloads_dir: PathBuf,
    /// Which files of the machine the browser can access.
    #[serde(default)]
    pub confinement: Confinement,
    /// The network rules for the browser, as JSON; `None` is the default rules.
    pub network: Option<String>,
}

/// Starts and ends browsers. Simulations have their own implementation.
#[async_trait]
pub trait Browsers: Send + Sync {
    /// Starts the browser of a session, and records in the store that it runs.
    ///
    /// # Errors
    /// When the browser does not start; nothing is left of the browser then.
    async fn launch(&self, order: &LaunchOrder) -> Result<BrowserFacts, ErrorReport>;

    /// A channel to the browser of a session, for the execution that holds a lease on it.
    ///
    /// # Errors
    /// When the lease is not held, or the browser cannot be reached.
    async fn connect(&self, session: &str, lease: &LeaseRef, execution: &str) -> Result<BrowserChannel, ErrorReport>;

    /// Waits until the keeper of a live session enforces the network rules that the last lease requires.
    ///
    /// # Errors
    /// When the keeper does not enforce the rules in time.
    async fn await_network_rules(&self, _session: &SessionRow) -> Result<(), ErrorReport> {
        Ok(())
    }

    /// Ends what is left of the browser of a session that is marked as closing, and marks the session as
    /// ended. The browser need not have started, and may have ended by itself.
    ///
    /// # Errors
    /// When the browser may still run: the session stays as it is.
    async fn end(&self, session: &SessionRow, reason: EndReason) -> Result<(), ErrorReport>;

    /// Whether the keeper of a session is alive.
    fn has_keeper(&self, session: &SessionRow) -> bool;

    /// Removes the profile of a key. The caller holds the key's lease, and the key's browser has ended.
    ///
    /// # Errors
    /// When the profile cannot be removed, or a browser still uses it.
    async fn forget_profile(&self, key: &str) -> Result<(), ErrorReport>;

    /// Removes the saved cookies of a key, and the notes of its executions. The caller holds the key's lease.
    ///
    /// # Errors
    /// When these files cannot be removed.
    async fn forget_kept(&self, key: &str) -> Result<(), ErrorReport>;
}

/// A keeper's reply to a [`LaunchOrder`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Started {
    Browser(BrowserFacts),
    Error(Box<ErrorReport>),
}

/// Browsers whose keepers are processes of this program.
pub struct KeeperBrowsers {
    state_dir: StateDir,
    program: PathBuf,
    store: Arc<dyn Store>,
    locks: ProcessLocks,
    /// The keepers that this host process started, by session.
    children: Mutex<HashMap<String, Child>>,
    /// The programs that were found, by the requested path. Cached, because a program must be run to see whether it
    /// works.
    found: tokio::sync::Mutex<HashMap<Option<PathBuf>, PathBuf>>,
}

/// A keeper that this host started.
struct Child {
    /// The host's end of the keeper's standard input: when it closes, the keeper knows that the host process has
    /// exited.
    _stdin: ChildStdin,
    exited: AbortOnDropHandle<()>,
}

impl KeeperBrowsers {
    /// Keepers that run `program`, which is the binary `codemode`.
    #[must_use]
    pub fn new(state_dir: StateDir, program: PathBuf, store: Arc<dyn Store>, locks: ProcessLocks) -> Self {
        Self { state_dir, program, store, locks, children: Mutex::default(), found: tokio::sync::Mutex::default() }
    }

    async fn spawn(&self, order: &LaunchOrder) -> Result<BrowserFacts, ErrorReport> {
        let failed = |what: &str, error: &io::Error| {
            let message = format!("the browser's keeper could not be {what}: {error}");
            ErrorReport::new(ErrorCode::BrowserLaunchFailed, message)
        };
        let mut keeper = Command::new(&self.program)
            .arg("--state-dir")
            .arg(self.state_dir.path())
            .arg(KEEP)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not the host's stderr: a program that reads that one until EOF would wait for the browser to end.
            .stderr(Stdio::null())
            .current_dir("/")
            // Keeps the signals of the host's terminal from the keeper.
            .process_group(0)
            .spawn()
            .map_err(|error| failed("started", &error))?;
        let (stdin, stdout) = (keeper.stdin.take(), keeper.stdout.take());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(ErrorReport::new(ErrorCode::HostFault, "a keeper was started without its pipes"));
        };
        let mut request = serde_json::to_string(order).unwrap_or_default();
        request.push('\n');
        stdin.write_all(request.as_bytes()).await.map_err(|error| failed("told what to start", &error))?;
        let exited = tokio::spawn(async move { drop(keeper.wait().await) });
        let child = Child { _stdin: stdin, exited: AbortOnDropHandle::new(exited) };
        self.children().insert(order.session.clone(), child);
        let mut line = String::new();
        let read = BufReader::new(stdout.take(LINE_BYTES_MAX)).read_line(&mut line).await;
        read.map_err(|error| failed("heard", &error))?;
        match serde_json::from_str(&line) {
            Ok(Started::Browser(facts)) => Ok(facts),
            Ok(Started::Error(report)) => Err(*report),
            Err(_) => {
                let message = "the browser's keeper ended before it could start the browser";
                Err(ErrorReport::new(ErrorCode::BrowserLaunchFailed, message))
            }
        }
    }

    fn children(&self) -> MutexGuard<'_, HashMap<String, Child>> {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|_, child| !child.exited.is_finished());
        children
    }

    /// Finds the browser program to start.
    async fn executable(&self, requested: Option<&Path>) -> Result<PathBuf, ErrorReport> {
        let mut found = self.found.lock().await;
        let requested = requested.map(Path::to_owned);
        if let Some(path) = found.get(&requested).filter(|path| path.exists()) {
            return Ok(path.clone());
        }
        let (wanted, notes) = (requested.clone(), self.state_dir.protocols());
        let find = move || codemode_chromium::find_noted(wanted.as_deref(), &notes);
        let finding = tokio::task::spawn_blocking(find).await;
        let failed = |error| ErrorReport::new(ErrorCode::HostFault, format!("looking for a browser failed: {error}"));
        let path = finding.map_err(failed)??.path;
        found.insert(requested, path.clone());
        Ok(path)
    }

    /// Ends and removes the leftovers of dead processes, above all a browser without a keeper.
    async fn reap(&self) -> Result<(), ErrorReport> {
        let profiles = self.state_dir.profiles();
        let reaped = tokio::task::spawn_blocking(move || codemode_chromium::reap(&profiles)).await;
        reaped.map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("reaping failed: {error}")))??;
        Ok(())
    }
}

#[async_trait]
impl Browsers for KeeperBrowsers {
    async fn launch(&self, order: &LaunchOrder) -> Result<BrowserFacts, ErrorReport> {
        let executable = Some(self.executable(order.executable.as_deref()).await?);
        let order = LaunchOrder { executable, ..order.clone() };
        tokio::time::timeout(LAUNCH_MAX, self.spawn(&order)).await.unwrap_or_else(|_| {
            let message = format!("the browser's keeper did not answer within {LAUNCH_MAX:?}");
            Err(ErrorReport::new(ErrorCode::BrowserLaunchFailed, message))
        })
    }

    async fn connect(&self, session: &str, lease: &LeaseRef, execution: &str) -> Result<BrowserChannel, ErrorReport> {
        keeper_socket::connect(&self.state_dir.sockets(), session, lease, execution).await
    }

    async fn await_network_rules(&self, session: &SessionRow) -> Result<(), ErrorReport> {
        // The signal makes the keeper poll the store now.
        if let Some(BrowserFacts { keeper_pid: pid, keeper_started: start_ticks, .. }) = session.browser {
            ProcessId { pid, start_ticks }.terminate();
        }
        let deadline = Instant::now() + RULES_APPLY_MAX;
        while Instant::now() < deadline {
            match self.store.session(&session.id).await? {
                Some(now) if now.network != now.network_held => tokio::time::sleep(POLL_INTERVAL).await,
                _ => return Ok(()),
            }
        }
        let message = format!("the keeper of the session {} does not take its network rules", session.id);
        Err(ErrorReport::new(ErrorCode::SessionLost, message)
            .with_hint("An older codemode may have started the browser: close it with `codemode sessions close`."))
    }

    async fn end(&self, session: &SessionRow, reason: EndReason) -> Result<(), ErrorReport> {
        let began = Instant::now();
        let keeper = session
            .browser
            .as_ref()
            .map(|browser| ProcessId { pid: browser.keeper_pid, start_ticks: browser.keeper_started });
        // The signal makes the keeper poll the store, which tells it to end the browser.
        if let Some(keeper) = keeper {
            keeper.terminate();
        }
        let mut was_seen = keeper.is_some();
        let child = self.children().remove(&session.id);
        if let Some(Child { _stdin: stdin, mut exited }) = child {
            drop(stdin);
            was_seen = true;
            // A keeper that does not exit in time is killed below.
            let _ = tokio::time::timeout(KEEPER_END_MAX, &mut exited).await;
        }
        loop {
            let now = self.store.session(&session.id).await?;
            let is_gone = keeper.is_none_or(|keeper| !keeper.is_alive());
            if is_gone && now.is_none_or(|now| now.state == SessionState::Ended) {
                break;
            }
            if self.locks.is_alive(&session.id) || keeper.is_some() && !is_gone {
                was_seen = true;
            } else if was_seen || began.elapsed() > KEEPER_START_MAX {
                self.reap().await?;
                self.store.session_ended(&session.id, reason).await?;
                break;
            }
            // A keeper that was stopped (SIGSTOP) does not poll the store. When it is killed, the kernel kills its
            // browser as well.
            if let Some(keeper) = keeper.filter(|_| began.elapsed() > KEEPER_END_MAX) {
                keeper.kill();
            }
            if began.elapsed() > END_MAX {
                let message = format!("the browser of the session {} did not end within {END_MAX:?}", session.id);
                return Err(ErrorReport::new(ErrorCode::IoError, message)
                    .with_hint("It is still listed; `codemode sessions sweep` tries again."));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        // A folder that contains downloads must stay: removing it fails, because it is not empty.
        let _ = tokio::fs::remove_dir(self.state_dir.downloads(&session.id)).await;
        Ok(())
    }

    fn has_keeper(&self, session: &SessionRow) -> bool {
        self.locks.is_alive(&session.id)
    }

    async fn forget_profile(&self, key: &str) -> Result<(), ErrorReport> {
        let (profiles, name) = (self.state_dir.profiles(), super::profile_of_key(key));
        let removing = tokio::task::spawn_blocking(move || codemode_chromium::remove_kept_profile(&profiles, &name));
        removing.await.map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("removing failed: {error}")))?
    }

    async fn forget_kept(&self, key: &str) -> Result<(), ErrorReport> {
        let files = [self.state_dir.cookies(key), self.state_dir.notes(key)];
        let removing = tokio::task::spawn_blocking(move || {
            files.iter().try_for_each(|file| {
                remove_with_copies(file).map_err(|error| {
                    ErrorReport::new(ErrorCode::IoError, format!("could not remove {}: {error}", file.display()))
                })
            })
        });
        removing.await.map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("removing failed: {error}")))?
    }
}

/// Removes a file, and the temporary copies beside it that were left by processes that died while they replaced it.
fn remove_with_copies(file: &Path) -> io::Result<()> {
    let (Some(folder), Some(stem)) = (file.parent(), file.file_stem()) else { return Ok(()) };
    let Some(folder) = PrivateDir::find(folder)? else { return Ok(()) };
    let is_of_it = |name: &OsString| {
        name.as_encoded_bytes().strip_prefix(stem.as_encoded_bytes()).is_some_and(|rest| rest.starts_with(b"."))
    };
    folder.names()?.into_iter().filter(is_of_it).try_for_each(|name| folder.remove_file(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_begun_of_a_file_goes_with_it_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key-1.json");
        remove_with_copies(&folder.path().join("not/there.json")).unwrap();
        for name in ["key-1.json", "key-1.00ff.new", "key-12.json", "key-2.json"] {
            fs::write(folder.path().join(name), "[]").unwrap();
        }
        for _ in 0..2 {
            remove_with_copies(&file).unwrap();
        }
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["key-12.json", "key-2.json"]);
    }
}
