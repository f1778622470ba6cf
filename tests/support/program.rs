//! Runs the program as users do: as a process, with a state folder per test.

use super::failures;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio},
    sync::{
        LazyLock,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The timeout of a condition, sufficient on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The timeout of an answer, which may have to wait for a whole execution.
const ANSWERED: Duration = Duration::from_secs(240);

/// A temporary folder for one test, with the program's state. The sandbox image is shared, and is compiled before the
/// first test starts.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        static WARM: LazyLock<Output> = LazyLock::new(|| Place::cold().run(&["warm", "--json"]));
        assert!(WARM.status.success(), "no image: {}", String::from_utf8_lossy(&WARM.stdout));
        Self::cold()
    }

    fn cold() -> Self {
        failures::tell_at_once();
        Self { folder: tempfile::Builder::new().prefix("codemode-test-").tempdir().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A command of the program, without settings from the test's environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codemode"));
        for (name, _) in std::env::vars_os() {
            let settings =
                name.to_str().is_some_and(|name| name.starts_with("CODEMODE_") && name != "CODEMODE_BROWSER");
            let of_logs = name.to_str().is_some_and(|name| name == "RUST_LOG" || name.starts_with("OTEL_"));
            if settings || of_logs {
                command.env_remove(name);
            }
        }
        command
            .env("CODEMODE_STATE_DIR", self.folder().join("state"))
            .env("CODEMODE_IMAGE_DIR", super::image_dir())
            .env("XDG_CONFIG_HOME", self.folder().join("config"))
            .args(arguments);
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// The processes whose command line names this folder: its browsers.
    pub fn processes(&self) -> Vec<String> {
        let folder = self.folder().to_str().unwrap();
        let command_line = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("cmdline")).ok();
        let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(command_line);
        processes.filter(|line| line.contains(folder)).map(|line| line.replace('\0', " ")).collect()
    }
}

/// Installs a browser if necessary, as a user would.
pub fn need_browser() {
    static SETUP: LazyLock<Output> = LazyLock::new(|| Place::new().run(&["setup", "--json"]));
    assert!(SETUP.status.success(), "no browser: {}", String::from_utf8_lossy(&SETUP.stdout));
}

/// Waits for a condition; fails with its description after a timeout.
pub fn wait_until(what: &str, patience: Duration, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < patience, "{what}: not within {patience:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A running program that exchanges lines over its standard streams.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            // A killed program may leave an incomplete line.
            while output.read_line(&mut line).is_ok() && line.ends_with('\n') {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, lines }
    }

    pub fn send(&mut self, message: &Json) {
        assert!(self.try_send(message), "the program closed its input: {:?}", self.child.wait());
    }

    /// Sends a raw line.
    pub fn send_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a message; `false` if the program has closed its input.
    pub fn try_send(&mut self, message: &Json) -> bool {
        writeln!(self.input.as_mut().unwrap(), "{message}").is_ok()
    }

    /// Waits for the next message.
    pub fn receive(&mut self) -> Json {
        self.receive_or_end().unwrap_or_else(|| panic!("the program closed its output: {:?}", self.child.wait()))
    }

    /// Waits for the next message; `None` if the program has closed its output.
    pub fn receive_or_end(&mut self) -> Option<Json> {
        let line = self.receive_line()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}")))
    }

    /// Waits for the next line, with its terminator; `None` if the program has closed its output.
    pub fn receive_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(ANSWERED) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => panic!("no message within {ANSWERED:?}"),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Waits until the program has installed a handler for a signal; before, the signal would kill it.
    pub fn wait_until_it_handles(&self, signal: Signal) {
        let bit = 1_u64 << (signal.as_raw() - 1);
        wait_until("a handler", PATIENCE, || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & bit != 0))
        });
    }

    pub fn pid(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Closes the program's input, as a disconnecting client does.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Waits for the program to exit.
    pub fn ended(&mut self, patience: Duration) -> ExitStatus {
        let mut status = None;
        wait_until("the program's end", patience, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Has exited already, normally.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
