//! The resources of a running browser: its processes, its profile, its debugging pipe and the end of its output.

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

/// How long to wait for the killed processes to exit.
const CLOSE_PATIENCE: Duration = Duration::from_secs(12);
/// As [`CLOSE_PATIENCE`], where the caller's thread is blocked meanwhile.
const DROP_PATIENCE: Duration = Duration::from_secs(5);
/// How many bytes of the end of the browser's output are retained.
const WORDS_BYTES_KEPT: usize = 8 * 1024;
/// What Chromium prints once its debugging port, if it has one, accepts connections.
const LISTENING: &str = "DevTools listening on ";

/// A shell script that becomes the browser, with the debugging pipe on the descriptors where Chromium expects it.
const BECOME_BROWSER: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";
/// As [`BECOME_BROWSER`], for a browser that the kernel kills with the thread that launched it, where the system
/// supports this: not every `setpriv` does.
const BECOME_BOUND_BROWSER: &str = "if setpriv --pdeathsig KILL -- true >/dev/null 2>&1; \
                                    then set -- setpriv --pdeathsig KILL -- \"$@\"; fi; \
                                    exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// A browser's processes, profile and ledger. Dropping it ends the browser.
#[derive(Debug)]
pub(crate) struct Owned {
    child: Child,
    pub(crate) pid: u32,
    pub(crate) ledger: Ledger,
    /// The requested confinement that could not be applied.
    pub(crate) shortfalls: Vec<String>,
    words: Arc<Mutex<Words>>,
    ended: bool,
    /// Dropping this ends the thread that started the browser.
    _spawned_by: std::sync::mpsc::Sender<()>,
}

/// A browser that has just been started.
pub(crate) struct Begun {
    pub(crate) owned: Owned,
    pub(crate) relay: Relay,
    /// Yields the endpoint of the browser's port, if it has one, once the browser reports it.
    pub(crate) listening: oneshot::Receiver<Endpoint>,
}

impl Owned {
    /// Starts the browser.
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
            // The task ends with the last process that holds the other end of the pipe, and those processes all end
            // with `Owned`.
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

    /// Ends the browser on a thread that may block. If this future is dropped, the thread continues; if the runtime is
    /// shutting down and accepts no more tasks, dropping `self` ends the browser.
    pub(crate) async fn close(mut self) -> Result<(), ErrorReport> {
        let ended = tokio::task::spawn_blocking(move || {
            let ended = self.end(CLOSE_PATIENCE);
            // Logged here as well, because the caller of `close` may have dropped its future.
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
        // Our own child keeps its process id until it is reaped, so this cannot hit another process. Usually this
        // signal suffices: the remaining children see their parent exit and end as well.
        let _ =
            rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
        // The unreaped leader proves the group, so it is reaped only once no process of the group is alive.
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

/// Reads the browser's output for as long as the browser lives: a full pipe would block it.
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

    /// The address of the debugging port, once the browser has printed it.
    fn listening(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.kept);
        let (url, _) = text.split_once(LISTENING)?.1.split_once('\n')?;
        Some(url.trim().to_owned())
    }

    /// The text, without the errors about a missing D-Bus, which every start in a container prints many times.
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.contains(":dbus/")).collect();
        lines.join("\n")
    }
}

/// Starts the processes, confined.
fn start(ledger: &Ledger, options: &LaunchOptions, identity: Identity) -> io::Result<Spawned> {
    let (profile, temporary) = (ledger.profile(), ledger.temporary());
    let has_sandbox = identity != Identity::Ours || !rustix::process::geteuid().is_root();
    let arguments = flags::prepare(profile, has_sandbox, options)?;
    let executable = std::path::absolute(&options.executable)?;
    let mut command = Command::new("/bin/sh");
    let become_browser = if options.bound_to_thread { BECOME_BOUND_BROWSER } else { BECOME_BROWSER };
    command.args(["-c", become_browser, "codemode-browser"].map(OsStr::new)).arg(&executable).args(arguments);
    command.env_clear().envs(confine::environment(profile, !options.headless));
    // Keeps crash reports out of the user's home folder; the crash handler is also recognised by this path.
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
        // Behaves as the `setpriv` of BusyBox.
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
