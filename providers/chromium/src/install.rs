//! Installs a browser with the system's package manager.

use crate::find::{BROWSER_VARIABLE, Executable, find, find_unnamed};
use codemode_spec::{ErrorCode, ErrorReport, limits::INSTALL_OUTPUT_BYTES_KEPT};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use std::{
    collections::VecDeque,
    env,
    ffi::OsStr,
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{
    process::Command,
    time::{Instant, sleep, timeout},
};

/// The timeout for the whole installation, with allowance for a slow mirror and a slow disk.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(1_200);
/// How long to wait for another installation to finish.
const LOCK_TIMEOUT: Duration = Duration::from_secs(900);
const LOCK_INTERVAL: Duration = Duration::from_millis(500);
/// How often to retry `apt-get update`, which does not wait for the lock of the package lists by itself.
const LISTS_LOCK_INTERVAL: Duration = Duration::from_secs(2);
/// The number of output lines of a failed step that are reported.
const LINES_KEPT: usize = 20;
const LINE_BYTES_MAX: usize = 4096;
/// How often to read the output of a running step.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(100);
/// Prefixes of output lines that report progress.
const HEADWAY: [&str; 6] = ["Get:", "Fetched ", "Unpacking ", "Setting up ", "Need to get ", "E: "];

/// Google's own package, for systems whose Chromium exists only as a snap.
const CHROME_URL: &str = "https://dl.google.com/linux/direct/google-chrome-stable_current_amd64.deb";

type Progress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Installs a browser if none is installed, and returns the installed one.
///
/// Works as root on Debian, Ubuntu and their derivatives, with apt-get. Installs `chromium` or, where that is only a
/// placeholder for a snap, Google's Chrome package. A snap cannot be used, because it has no access to profile folders
/// outside its own. Any number of processes may call this at the same time: one installs, and the others wait and find
/// the installed browser.
///
/// # Errors
/// `UNSUPPORTED_OPERATION` where it cannot install, with a hint for doing it by hand; `IO_ERROR` if a step fails, with
/// the last lines of its output in the details; `BROWSER_NOT_FOUND` if `CODEMODE_BROWSER` names a browser that does not
/// run.
///
/// # Cancellation
/// A step that has started continues on its own: killing a package manager leaves a broken system.
pub async fn install(progress: &(dyn Fn(&str) + Send + Sync)) -> Result<Executable, ErrorReport> {
    if env::var_os(BROWSER_VARIABLE).is_some_and(|path| !path.is_empty()) {
        return blocking(|| find(None)).await;
    }
    if let Ok(found) = blocking(find_unnamed).await {
        progress(&format!("{} is already here: {}", found.version, found.path.display()));
        return Ok(found);
    }
    let system = System::of_this_machine();
    let apt = Apt::of(&system)?;
    let _lock = lock(Path::new("/run/codemode-setup.lock"), progress).await?;
    // Another process may have installed a browser while this one waited.
    if let Ok(found) = blocking(find_unnamed).await {
        return Ok(found);
    }
    let installed = tokio::time::timeout(INSTALL_TIMEOUT, apt.install_browser(progress)).await;
    installed.unwrap_or_else(|_| {
        let message = format!("the installation took longer than {} s", INSTALL_TIMEOUT.as_secs());
        Err(ErrorReport::new(ErrorCode::IoError, message))
    })?;
    let found = blocking(find_unnamed).await?;
    progress(&format!("{} is installed: {}", found.version, found.path.display()));
    Ok(found)
}

async fn blocking(find: fn() -> Result<Executable, ErrorReport>) -> Result<Executable, ErrorReport> {
    tokio::task::spawn_blocking(find).await.unwrap_or_else(|error| {
        Err(ErrorReport::new(ErrorCode::HostFault, format!("the search for a browser failed: {error}")))
    })
}

/// The properties of the machine that determine how to install.
struct System {
    /// `ID` of os-release, such as `debian`.
    id: String,
    is_root: bool,
    apt_get: Option<PathBuf>,
}

impl System {
    fn of_this_machine() -> Self {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let id = release.lines().find_map(|line| line.strip_prefix("ID=")).unwrap_or(env::consts::OS);
        let apt_get = Path::new("/usr/bin/apt-get");
        Self {
            id: id.trim_matches('"').to_owned(),
            is_root: rustix::process::geteuid().is_root(),
            apt_get: apt_get.exists().then(|| apt_get.to_owned()),
        }
    }
}

/// The programs of apt.
struct Apt {
    apt_get: PathBuf,
    helper: PathBuf,
    chrome_url: String,
    /// Google provides its package for Debian's `amd64` architecture only.
    is_amd64: bool,
}

impl Apt {
    fn of(system: &System) -> Result<Self, ErrorReport> {
        let unsupported =
            |message: &str, hint: &str| Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message).with_hint(hint));
        let Some(apt_get) = system.apt_get.clone() else {
            let hint = match system.id.as_str() {
                "fedora" | "rhel" | "centos" | "rocky" | "almalinux" => "Run `dnf install chromium` as root.",
                "arch" | "manjaro" => "Run `pacman -S chromium` as root.",
                "alpine" => "Run `apk add chromium` as root.",
                "opensuse-leap" | "opensuse-tumbleweed" => "Run `zypper install chromium` as root.",
                "macos" => "Run `brew install --cask google-chrome`.",
                _ => {
                    "Install Chromium or Chrome by the means of your system, or name one with --browser or CODEMODE_BROWSER."
                }
            };
            return unsupported(
                &format!("a browser cannot be installed on this system ({}) from here", system.id),
                hint,
            );
        };
        if !system.is_root {
            return unsupported(
                "a browser can be installed by root only",
                "Run `sudo apt-get install chromium` (on Ubuntu install Google Chrome: its chromium is a snap, which cannot \
                 be used), or run `codemode setup` as root.",
            );
        }
        Ok(Self {
            apt_get,
            helper: "/usr/lib/apt/apt-helper".into(),
            chrome_url: CHROME_URL.to_owned(),
            is_amd64: cfg!(target_arch = "x86_64"),
        })
    }

    async fn install_browser(&self, progress: Progress<'_>) -> Result<(), ErrorReport> {
        // Outdated package lists may suffice if the update fails; the next step shows whether they do.
        let updated = self.update(progress).await;
        let simulated = self.apt_get(["install", "--simulate", "--no-install-recommends", "chromium"], &|_| ()).await;
        match &simulated {
            Ok(lines) if is_snap(lines) => {
                progress(
                    "Chromium exists only as a snap on this system, which cannot be used: installing Google Chrome",
                );
                self.install_chrome(progress).await
            }
            Ok(_) => self.install_packages(["chromium"], progress).await,
            Err(report) => Err(updated.err().unwrap_or_else(|| report.clone())),
        }
    }

    async fn update(&self, progress: Progress<'_>) -> Result<(), ErrorReport> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match self.apt_get(["update"], progress).await {
                Err(report)
                    if report.details.to_string().contains("Could not get lock") && Instant::now() < deadline =>
                {
                    progress("another package manager is at work; waiting");
                    sleep(LISTS_LOCK_INTERVAL).await;
                }
                updated => return updated.map(drop),
            }
        }
    }

    async fn install_chrome(&self, progress: Progress<'_>) -> Result<(), ErrorReport> {
        if !self.is_amd64 {
            let message = "Chromium exists only as a snap on this system, and Google Chrome not for this processor";
            let hint = "Install a Chromium that is no snap and name it with --browser or CODEMODE_BROWSER.";
            return Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message).with_hint(hint));
        }
        self.install_packages(["ca-certificates"], progress).await?;
        let failed = |error| ErrorReport::new(ErrorCode::IoError, format!("could not make a folder: {error}"));
        let folder = tempfile::tempdir().map_err(failed)?;
        let package = folder.path().join("google-chrome-stable.deb");
        progress(&format!("downloading {}", self.chrome_url));
        let arguments = ["download-file".as_ref(), OsStr::new(&self.chrome_url), package.as_os_str()];
        run(&self.helper, arguments, &|_| ()).await?;
        self.install_packages([package.as_os_str()], progress).await
    }

    async fn install_packages<T: AsRef<OsStr>>(
        &self,
        packages: impl IntoIterator<Item = T>,
        progress: Progress<'_>,
    ) -> Result<(), ErrorReport> {
        let options = ["install", "--yes", "--no-install-recommends"].map(OsStr::new).map(OsStr::to_owned);
        let packages = packages.into_iter().map(|package| package.as_ref().to_owned());
        self.apt_get(options.into_iter().chain(packages), progress).await.map(drop)
    }

    async fn apt_get<T: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = T>,
        progress: Progress<'_>,
    ) -> Result<Vec<String>, ErrorReport> {
        let options =
            ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3", "-q"].map(|text| OsStr::new(text).to_owned());
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
        run(&self.apt_get, options.into_iter().chain(arguments), progress).await
    }
}

/// Whether the simulated installation is only a placeholder that fetches a snap.
fn is_snap(lines: &[String]) -> bool {
    let installs = |line: &&String| line.starts_with("Inst ");
    lines.iter().filter(installs).any(|line| line.starts_with("Inst snapd ") || line.contains("snap1"))
}

/// Runs a step and returns the last lines of its output, as many as [`INSTALL_OUTPUT_BYTES_KEPT`] allows; lines that report progress also go to `progress` as they appear.
async fn run<T: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = T>,
    progress: Progress<'_>,
) -> Result<Vec<String>, ErrorReport> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |error: io::Error| ErrorReport::new(ErrorCode::IoError, format!("could not run {name}: {error}"));
    // Both outputs go into one file, so that errors appear in order; and into a file, not a pipe, so that the program
    // can still write after this process has stopped reading.
    let output = File::from(memfd_create(&name, MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?);
    let mut command = Command::new(program);
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(failed)?).stderr(output.try_clone().map_err(failed)?);
    // In its own process group, so that Ctrl-C at our terminal does not kill it either.
    let mut child = command.process_group(0).spawn().map_err(failed)?;
    let mut tail = Tail::of(output);
    let status = loop {
        let ended = timeout(OUTPUT_INTERVAL, child.wait()).await;
        tail.read(ended.is_ok(), progress).map_err(failed)?;
        if let Ok(status) = ended {
            break status.map_err(failed)?;
        }
    };
    let mut lines = Vec::from(tail.lines);
    if status.success() {
        return Ok(lines);
    }
    let last = lines.split_off(lines.len().saturating_sub(LINES_KEPT));
    let reason =
        last.iter().rev().find(|line| line.starts_with("E: ")).map_or_else(|| status.to_string(), Clone::clone);
    let hint = "Read the last lines in the details; or install Chromium by hand and name it with --browser.";
    Err(ErrorReport::new(ErrorCode::IoError, format!("{name} failed: {reason}"))
        .with_hint(hint)
        .with_detail("output", last))
}

/// The end of a file in memory that another process is still writing.
struct Tail {
    file: File,
    read: u64,
    /// The incomplete last line.
    rest: Vec<u8>,
    lines: VecDeque<String>,
    /// What the lines occupy.
    lines_bytes: usize,
}

impl Tail {
    const fn of(file: File) -> Self {
        Self { file, read: 0, rest: Vec::new(), lines: VecDeque::new(), lines_bytes: 0 }
    }

    /// Reads the lines written since the last call; with `all`, also an incomplete last line.
    fn read(&mut self, all: bool, progress: Progress<'_>) -> io::Result<()> {
        let mut chunk = [0; LINE_BYTES_MAX];
        loop {
            let count = self.file.read_at(&mut chunk, self.read)?;
            self.read += count as u64;
            self.rest.extend_from_slice(&chunk[..count]);
            // An overlong line is split.
            while let Some(end) = self.end_of_line(all && count == 0) {
                let line: Vec<u8> = self.rest.drain(..end).collect();
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if HEADWAY.iter().any(|sign| line.starts_with(sign)) {
                    progress(&line);
                }
                self.retain(line);
            }
            if count == 0 {
                // The other process writes at the end of the file, so its start cannot be cut off; but the memory of
                // what was read can be released. Where that fails, the file is removed with the step.
                if self.read > 0 {
                    let _ = fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, self.read);
                }
                return Ok(());
            }
        }
    }

    fn retain(&mut self, line: String) {
        let bytes = |line: &String| line.len() + size_of::<String>();
        self.lines_bytes += bytes(&line);
        self.lines.push_back(line);
        while self.lines_bytes > INSTALL_OUTPUT_BYTES_KEPT
            && let Some(oldest) = self.lines.pop_front()
        {
            self.lines_bytes -= bytes(&oldest);
        }
    }

    fn end_of_line(&self, at_the_end: bool) -> Option<usize> {
        let end = self.rest.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        end.or_else(|| {
            (self.rest.len() >= LINE_BYTES_MAX || at_the_end && !self.rest.is_empty()).then_some(self.rest.len())
        })
    }
}

/// Waits until no other `codemode setup` is installing. The lock is released when the file is dropped.
async fn lock(path: &Path, progress: Progress<'_>) -> Result<File, ErrorReport> {
    let failed =
        |error: io::Error| ErrorReport::new(ErrorCode::IoError, format!("could not lock {}: {error}", path.display()));
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(nofollow).open(path);
    let file = file.map_err(failed)?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => {
                let message = format!("another `codemode setup` holds {} for too long", path.display());
                return Err(ErrorReport::new(ErrorCode::IoError, message));
            }
            Err(TryLockError::WouldBlock) => {
                if !told {
                    progress("another `codemode setup` is at work; waiting for it");
                    told = true;
                }
                sleep(LOCK_INTERVAL).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::MetadataExt as _, sync::Mutex};

    /// A fake apt whose programs are shell scripts.
    struct Fake {
        folder: tempfile::TempDir,
        apt: Apt,
    }

    impl Fake {
        /// `script` plays apt-get and apt-helper; each call is logged.
        fn new(script: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("apt-get");
            let log = folder.path().join("log");
            let text = format!("#!/bin/sh\necho \"$(basename \"$0\") $*\" >>{}\n{script}\n", log.display());
            let write = "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\" && ln \"$1\" \"$(dirname \"$1\")/apt-helper\"";
            // Not written by this process, as in the tests of `versions`: a file open for writing cannot be executed.
            let written = std::process::Command::new("sh").args(["-c", write, "sh"]).arg(&program).arg(text).status();
            assert!(written.unwrap().success());
            let helper = folder.path().join("apt-helper");
            let apt = Apt {
                apt_get: program,
                helper,
                chrome_url: "https://example.invalid/chrome.deb".to_owned(),
                is_amd64: true,
            };
            Self { folder, apt }
        }

        /// The logged calls, without the options that are always passed and without the download folder.
        fn calls(&self) -> Vec<String> {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
            let plain = |line: &str| {
                let words: Vec<_> = line
                    .split(' ')
                    .map(|word| word.rsplit_once('/').filter(|_| word.starts_with('/')).map_or(word, |(_, file)| file))
                    .collect();
                words.join(" ").replace(" -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -q", "")
            };
            log.lines().map(plain).collect()
        }
    }

    #[tokio::test]
    async fn on_debian_chromium_is_installed_and_the_headway_is_told() {
        let fake = Fake::new("echo 'Inst chromium (1 Debian:12/stable [amd64])'; echo 'Setting up chromium (1) ...'");
        let told = Mutex::new(Vec::new());
        let progress = |line: &str| told.lock().unwrap().push(line.to_owned());
        fake.apt.install_browser(&progress).await.unwrap();
        assert_eq!(
            fake.calls(),
            [
                "apt-get update",
                "apt-get install --simulate --no-install-recommends chromium",
                "apt-get install --yes --no-install-recommends chromium",
            ]
        );
        assert_eq!(*told.lock().unwrap(), ["Setting up chromium (1) ...", "Setting up chromium (1) ..."]);
    }

    #[tokio::test]
    async fn where_chromium_is_a_snap_the_package_of_chrome_is_installed() {
        let script =
            "echo 'Inst snapd (2.63 Ubuntu [amd64])'; echo 'Inst chromium-browser (2:1snap1-0ubuntu2 Ubuntu [amd64])'";
        let mut fake = Fake::new(script);
        fake.apt.install_browser(&|_| ()).await.unwrap();
        assert_eq!(
            fake.calls()[2..],
            [
                "apt-get install --yes --no-install-recommends ca-certificates",
                "apt-helper download-file https://example.invalid/chrome.deb google-chrome-stable.deb",
                "apt-get install --yes --no-install-recommends google-chrome-stable.deb",
            ]
        );
        fake.apt.is_amd64 = false;
        let report = fake.apt.install_browser(&|_| ()).await.unwrap_err();
        assert_eq!(report.code, ErrorCode::UnsupportedOperation);
    }

    #[tokio::test]
    async fn a_failed_step_is_told_with_its_last_lines() {
        let fake = Fake::new("case \"$*\" in *--yes*) seq 1 30; echo 'E: Unable to fetch' >&2; exit 100;; esac");
        let report = fake.apt.install_browser(&|_| ()).await.unwrap_err();
        assert_eq!((report.code, report.message.as_str()), (ErrorCode::IoError, "apt-get failed: E: Unable to fetch"));
        let output = report.details["output"].as_array().unwrap();
        assert_eq!(
            (output.len(), &output[0], &output[LINES_KEPT - 1]),
            (LINES_KEPT, &"12".into(), &"E: Unable to fetch".into())
        );
    }

    #[tokio::test]
    async fn only_the_end_of_a_long_output_is_retained() {
        let script = "yes 'a line of some length' | head -n 100000; yes '' | head -n 100000; seq 1000; echo 'the last'";
        let fake = Fake::new(script);
        let lines = fake.apt.apt_get(["update"], &|_| ()).await.unwrap();
        let held: usize = lines.iter().map(|line| line.len() + size_of::<String>()).sum();
        assert!(held <= INSTALL_OUTPUT_BYTES_KEPT, "{held} bytes in {} lines", lines.len());
        assert!(lines.len() > 1_001 && lines.ends_with(&["1000".to_owned(), "the last".to_owned()]));
    }

    #[test]
    fn output_that_was_read_occupies_no_memory_in_its_file() {
        let file = File::from(memfd_create("output", MemfdFlags::CLOEXEC).unwrap());
        let mut tail = Tail::of(file.try_clone().unwrap());
        let text = "a line\n".repeat(100_000);
        for _ in 0..2 {
            io::Write::write_all(&mut &file, text.as_bytes()).unwrap();
            assert!(file.metadata().unwrap().blocks() > 0);
            tail.read(false, &|_| ()).unwrap();
            // The last page may remain: it may not be full yet.
            assert!(file.metadata().unwrap().blocks() <= 8, "{}", file.metadata().unwrap().blocks());
            assert!(tail.lines.iter().all(|line| line == "a line"));
        }
    }

    #[tokio::test]
    async fn a_step_goes_on_when_its_caller_goes_away() {
        let fake = Fake::new(
            "case \"$*\" in *update) echo 'Get: it has begun'; until [ -e \"$0.go\" ]; do sleep 0.01; done; seq 1 30000 && touch \"$0.done\";; esac",
        );
        let (begun, has_begun) = std::sync::mpsc::channel();
        {
            let progress = move |_: &str| begun.send(()).unwrap();
            let mut update = std::pin::pin!(fake.apt.update(&progress));
            while has_begun.try_recv().is_err() {
                assert!(timeout(OUTPUT_INTERVAL, update.as_mut()).await.is_err(), "it waits");
            }
        }
        fs::write(fake.folder.path().join("apt-get.go"), "").unwrap();
        let done = fake.folder.path().join("apt-get.done");
        timeout(Duration::from_secs(60), async {
            while !done.exists() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("it goes on to its end");
    }

    #[tokio::test(start_paused = true)]
    async fn another_update_is_waited_for() {
        let fake = Fake::new(
            "case \"$*\" in *update) [ -e \"$0.once\" ] || { touch \"$0.once\"; echo 'E: Could not get lock /x'; exit 100; };; esac",
        );
        fake.apt.update(&|_| ()).await.unwrap();
        assert_eq!(fake.calls(), ["apt-get update", "apt-get update"]);
    }

    #[tokio::test(start_paused = true)]
    async fn two_installations_come_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = lock(&path, &|_| ()).await.unwrap();
        let told = Mutex::new(0);
        let progress = |_: &str| *told.lock().unwrap() += 1;
        let mut second = std::pin::pin!(lock(&path, &progress));
        assert!(tokio::time::timeout(Duration::from_secs(30), second.as_mut()).await.is_err());
        drop(first);
        // A child that another test forks at this moment holds a copy of the lock until it calls exec.
        tokio::time::resume();
        second.await.unwrap();
        assert_eq!(*told.lock().unwrap(), 1);
    }

    #[test]
    fn where_it_cannot_install_it_says_how() {
        let system = |id: &str, is_root, apt: bool| System {
            id: id.to_owned(),
            is_root,
            apt_get: apt.then(|| "/usr/bin/apt-get".into()),
        };
        for (system, hint) in [
            (system("debian", false, true), "sudo apt-get install chromium"),
            (system("fedora", true, false), "dnf install chromium"),
            (system("macos", false, false), "brew install"),
            (system("plan9", true, false), "--browser"),
        ] {
            let report = Apt::of(&system).err().unwrap();
            assert_eq!(report.code, ErrorCode::UnsupportedOperation);
            assert!(report.hint.contains(hint), "{}", report.hint);
        }
        assert!(Apt::of(&system("ubuntu", true, true)).is_ok());
    }
}
