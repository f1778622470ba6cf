//! The versions of browser programs. Querying a version starts the program, which takes about 50 ms, so the result is
//! cached for as long as the program's file is unchanged.

use crate::private::PrivateDir;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    io::{Read as _, Seek as _},
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Generous, because a first start from a slow disk is slow.
const VERSION_TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum length of the output that is read.
const VERSION_BYTES_MAX: u64 = 4096;
/// The file that stores versions across processes, and how much of it is read.
const FILE: &str = "versions.json";
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// The maximum number of cached versions; beyond it, the oldest is dropped.
const KNOWN_MAX: usize = 16;

/// The versions known to this process.
static KNOWN: LazyLock<Mutex<Vec<Known>>> = LazyLock::new(Mutex::default);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    path: PathBuf,
    file: FileMark,
    version: String,
}

/// Identifies one state of a file: the file, its size and its modification time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl FileMark {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// The version that a browser reports, or its fault, worded to follow the browser's path in a sentence.
pub(crate) fn version(path: &Path) -> Result<String, String> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be read: {error}"),
    })?;
    if !metadata.is_file() {
        return Err("is not a file".to_owned());
    }
    let file = FileMark::of(&metadata);
    let before =
        known().iter().find(|known| known.path == path && known.file == file).map(|known| known.version.clone());
    if let Some(version) = before {
        return Ok(version);
    }
    let version = ask(path, VERSION_TIMEOUT)?;
    learn(&mut known(), Known { path: path.to_owned(), file, version: version.clone() });
    Ok(version)
}

/// Loads the versions that an earlier process stored in this folder. Versions that cannot be read are queried again.
pub(crate) fn recall(folder: &PrivateDir) {
    let noted = read(folder);
    let mut known = known();
    for noted in noted {
        if !known.iter().any(|known| known.path == noted.path) {
            learn(&mut known, noted);
        }
    }
}

/// Stores the known versions for later processes.
pub(crate) fn note(folder: &PrivateDir) {
    let known = known().clone();
    if known != read(folder)
        && let Ok(text) = serde_json::to_vec(&known)
        && let Err(error) = folder.replace(FILE, &text)
    {
        tracing::debug!(%error, "the versions of browsers could not be noted");
    }
}

fn read(folder: &PrivateDir) -> Vec<Known> {
    let text = folder.read(FILE).and_then(|file| {
        let mut text = Vec::new();
        file.map_or(Ok(0), |file| file.take(FILE_BYTES_MAX).read_to_end(&mut text))?;
        Ok(text)
    });
    text.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn learn(known: &mut Vec<Known>, new: Known) {
    known.retain(|known| known.path != new.path);
    if known.len() >= KNOWN_MAX {
        known.remove(0);
    }
    known.push(new);
}

fn known() -> MutexGuard<'static, Vec<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask(path: &Path, timeout: Duration) -> Result<String, String> {
    let failed = |error: io::Error| format!("does not run: {error}");
    // Into a file and not through a pipe, which a child of the program could keep open forever.
    let mut output = tempfile::tempfile().map_err(failed)?;
    let said = || Ok::<_, io::Error>(Stdio::from(output.try_clone()?));
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stdout(said().map_err(failed)?).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn().map_err(failed)?;
    let deadline = Instant::now() + timeout;
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
            None => {
                let group = rustix::process::Pid::from_child(&child);
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                let _ = child.wait();
                return Err(format!("did not tell its version within {} s", timeout.as_secs()));
            }
        }
    };
    if !status.success() {
        return Err(format!("does not run: {status} when asked for its version"));
    }
    let mut text = Vec::new();
    let read = output.rewind().and_then(|()| (&output).take(VERSION_BYTES_MAX).read_to_end(&mut text));
    read.map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    // Debian's Chromium appends how it was built, and some programs print more lines.
    let version = text.lines().next().unwrap_or_default().split(" built on ").next().unwrap_or_default().trim();
    if version.contains(|c: char| c.is_ascii_digit()) {
        Ok(version.to_owned())
    } else {
        Err("is no browser: it tells no version".to_owned())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Creates an executable shell script.
    pub(crate) fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
        let path = folder.join(name);
        // Written by a separate shell: a file that this process holds open for writing while another thread forks
        // cannot be executed ("text file busy").
        let mut write = Command::new("sh");
        write.args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$2\" >\"$1\"", "sh"]).arg(&path).arg(script);
        let status = write.status().unwrap();
        assert!(status.success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_program_that_hangs_is_given_up_and_killed() {
        let folder = tempfile::tempdir().unwrap();
        let hangs = program(folder.path(), "hangs", "sleep 600");
        let begun = Instant::now();
        let fault = ask(&hangs, Duration::from_millis(200)).unwrap_err();
        assert!(fault.contains("did not tell its version"), "{fault}");
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn what_was_noted_is_believed_while_the_file_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let notes = PrivateDir::make(&folder.path().join("notes")).unwrap();
        // Each run appends a letter to a file.
        let counts = |version: &str| format!("printf x >>\"$0.runs\"; echo Chromium {version}");
        let browser = program(folder.path(), "browser", &counts("1.0"));
        let runs = || fs::read_to_string(folder.path().join("browser.runs")).unwrap_or_default().len();
        let forget = || known().retain(|known| known.path != browser);
        assert_eq!((version(&browser).as_deref(), runs()), (Ok("Chromium 1.0"), 1));
        note(&notes);
        forget();
        recall(&notes);
        assert_eq!((version(&browser).as_deref(), runs()), (Ok("Chromium 1.0"), 1), "it was noted");
        program(folder.path(), "browser", &counts("2.0 and more"));
        forget();
        recall(&notes);
        assert_eq!((version(&browser).as_deref(), runs()), (Ok("Chromium 2.0 and more"), 2), "another file");
        note(&notes);
        for damaged in ["", "{", "[{}]", "[]"] {
            notes.replace(FILE, damaged.as_bytes()).unwrap();
            forget();
            recall(&notes);
            let before = runs();
            assert_eq!((version(&browser).as_deref(), runs()), (Ok("Chromium 2.0 and more"), before + 1), "{damaged}");
        }
        fs::remove_file(&browser).unwrap();
        assert_eq!(version(&browser).unwrap_err(), "does not exist");
    }
}
