//! What is owned of a browser that runs: its processes, its profile, its debugging pipe and its last words.

use crate::{
    confine::{self, Identity, Needs, Spawned},
    endpoint::Endpoint,
    flags,
    ledger::Ledger,
    options::LaunchOptions,
    process::CRASHES,
    relay::Relay,
};
use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{io::AsyncReadExt as _, process::ChildStderr, sync::oneshot};

/// How long the processes may take to go once they are killed.
const CLOSE_PATIENCE: Duration = Duration::from_secs(12);
/// The same where the caller's thread is blocked meanwhile.
const DROP_PATIENCE: Duration = Duration::from_secs(5);
/// How much of the end of the browser's output is kept.
const WORDS_BYTES_KEPT: usize = 8 * 1024;
/// What Chromium says once its port, if it has one, can be connected to.
const LISTENING: &str = "DevTools listening on ";

/// Becomes the browser, with both ends of its debugging pipe where Chromium looks for them.
const BECOME_BROWSER: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";
/// As [`BECOME_BROWSER`], for a browser that the kernel kills with the thread that launched it, where the system has
/// the means: not every `setpriv` can do it.
const BECOME_BOUND_BROWSER: &str = "if setpriv --pdeathsig KILL -- true >/dev/null 2>&1; \
                                    then set -- setpriv --pdeathsig KILL -- \"$@\"; fi; \
                                    exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// The processes, the profile and the ledger.
#[derive(Debug)]
pub(crate) struct Owned {
    child: Child,
    pub(crate) pid: u32,
    pub(crate) ledger: Ledger,
    /// The walls around the browser that are missing.
    pub(crate) shortfalls: Vec<String>,
    words: Arc<Mutex<Words>>,
    ended: bool,
    /// The thread that started the browser ends when this is dropped.
    _spawned_by: std::sync::mpsc::Sender<()>,
}

/// A browser that has just been started.
pub(crate) struct Begun {
    pub(crate) owned: Owned,
    pub(crate) relay: Relay,
    /// The endpoint of the browser's port, once the browser tells it, if it has a port.
    pub(crate) listening: oneshot::Receiver<Endpoint>,
}

impl Owned {
    /// Starts the processes.
    pub(crate) fn spawn(ledger: Ledger, options: &LaunchOptions, identity: Identity) -> Result<Begun, ErrorReport> {
        let failed = |what: &str| {
            let message = format!("{what} {}", options.executable.display());
            move |error: io::Error| ErrorReport::new(ErrorCode::BrowserLaunchFailed, format!("{message}: {error}"))
        };
        let Spawned { mut child, shortfalls, _thread } = match start(&ledger, options, identity) {
            Ok(spawned) => spawned,
            Err(error) => {
                let _ = ledger.close(DROP_PATIENCE);
                return Err(failed("could not start")(error));
            }
        };
        let pid = child.id();
        let ends = child.stdin.take().map(OwnedFd::from).zip(child.stdout.take().map(OwnedFd::from));
        let stderr = child.stderr.take();
        let words = Arc::default();
        let mut owned = Self { child, pid, ledger, shortfalls, words, ended: false, _spawned_by: _thread };
        owned.ledger.started(pid.cast_signed()).map_err(failed("could not note the start of"))?;
        let stderr = stderr.map(ChildStderr::from_std).transpose().map_err(failed("could not listen to"))?;
        let (found, listening) = oneshot::channel();
        if let Some(stderr) = stderr {
            // The task ends with the last process that holds the other end, and these processes all end with us.
            tokio::spawn(listen(stderr, Arc::clone(&owned.words), found));
        }
        let no_pipe = || io::Error::other("it has no debugging pipe");
        let relay = ends.ok_or_else(no_pipe).and_then(|(to, from)| Relay::new(to, from));
        let relay = relay.map_err(failed("could not speak to"))?;
        Ok(Begun { owned, relay, listening })
    }

    pub(crate) fn last_words(&self) -> String {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// Ends the browser on a thread that may block. If this future is dropped, the thread goes on; if the runtime is
    /// shutting down and takes no more work, the drop of `self` does the same.
    pub(crate) async fn close(mut self) -> Result<(), ErrorReport> {
        let ended = tokio::task::spawn_blocking(move || {
            let ended = self.end(CLOSE_PATIENCE);
            // The caller of `close` may have dropped its future.
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
        // Our own child keeps its number until we wait for it: this cannot hit another process. Most often this
        // signal suffices, and the children see their parent gone and end as well.
        let _ =
            rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
        // While the leader is not reaped, it proves the group; so the leader is reaped when no process of the group
        // lives.
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

/// Reads the browser's output for as long as the browser lives: a full pipe would stop it.
async fn listen(mut stderr: ChildStderr, words: Arc<Mutex<Words>>, found: oneshot::Sender<Endpoint>) {
    let (mut found, mut chunk) = (Some(found), [0; 4096]);
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.add(&chunk[..read]);
        if found.is_some()
            && let Some(ws_url) = words.listening()
            && let Some(found) = found.take()
        {
            let _ = found.send(Endpoint { ws_url, headers: Vec::new() });
        }
    }
}

/// The end of a browser's output.
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

    /// The address of the port, once the browser has told it.
    fn listening(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.kept);
        let (url, _) = text.split_once(LISTENING)?.1.split_once('\n')?;
        Some(url.trim().to_owned())
    }

    /// The text, without the complaints about a missing message bus, of which each start in a container is full.
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.contains(":dbus/")).collect();
        lines.join("\n")
    }
}

/// Starts the processes behind their walls.
fn start(ledger: &Ledger, options: &LaunchOptions, identity: Identity) -> io::Result<Spawned> {
    let (profile, temporary) = (ledger.profile(), ledger.temporary());
    let has_sandbox = identity != Identity::Ours || !rustix::process::geteuid().is_root();
    let arguments = flags::prepare(profile, has_sandbox, options)?;
    let executable = std::path::absolute(&options.executable)?;
    let mut command = Command::new("/bin/sh");
    let become_browser = if options.bound_to_thread { BECOME_BOUND_BROWSER } else { BECOME_BROWSER };
    command.args(["-c", become_browser, "codemode-browser"].map(OsStr::new)).arg(&executable).args(arguments);
    command.env_clear().envs(confine::environment(profile, !options.headless));
    // Not to the user's own folder; and the crash handler is known by it.
    command.env("BREAKPAD_DUMP_LOCATION", profile.join(CRASHES));
    command.envs(temporary.map(|folder| ("TMPDIR", folder)));
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let folders: Vec<PathBuf> =
        [Some(profile), temporary, options.downloads_dir.as_deref()].into_iter().flatten().map(PathBuf::from).collect();
    let folders = folders.iter().map(std::path::absolute).collect::<io::Result<_>>()?;
    let needs = Needs { executable, folders, headed: !options.headless, proxy: options.proxy };
    confine::spawn(command, identity, options.confinement.clone(), needs)
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
        assert_eq!(words.listening(), None);
        words.add(b"y\n[1:2:ERROR:dbus/bus.cc:405] Failed\n");
        assert_eq!(words.listening(), Some("ws://127.0.0.1:1/xy".to_owned()));
        assert_eq!(words.text(), "noise\nDevTools listening on ws://127.0.0.1:1/xy");
        words.add(&[b'z'; WORDS_BYTES_KEPT * 2]);
        assert_eq!(words.kept.len(), WORDS_BYTES_KEPT);
    }
}
