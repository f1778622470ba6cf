//! Ledgers: files that record which profile folders have an owner, written before there is anything to clean up.
//!
//! `<name>.ledger` is stored next to the profile folder `<name>` and created before it. Its owner holds a lock on the
//! file for its whole life. The kernel releases the lock when the owner dies, however it dies, so a ledger that can be
//! locked has no owner, or a new owner that has not locked it yet and will check afterwards that the file still exists.
//! Unlike process ids, a lock proves this across containers as well.

use crate::{
    confine::may_be_a_browsers,
    private::{PrivateDir, Untrusted},
    process::{Group, Proof, program_of},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

const SUFFIX: &str = "ledger";
/// The suffix for a profile that is retained when its browser ends. Both this property and the profile's name follow
/// from the file name alone.
const SUFFIX_KEPT: &str = "kept-ledger";
/// How long to wait for the killed processes of one dead host to exit.
const REAP_PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for the name of a kept profile. As long as a browser may be started with that profile, other
/// processes hold the name only briefly: to remove what a dead browser left behind, or to remove or replace the
/// profile.
pub(crate) const NAME_PATIENCE: Duration = Duration::from_secs(8);
/// How often to check whether a name is free.
pub(crate) const NAME_INTERVAL: Duration = Duration::from_millis(20);
/// The name prefix of profiles that are about to be removed.
const GONE_PREFIX: &str = "gone-";
const NAME_CHARS_MAX: usize = 128;
/// A ledger has four lines; a longer file is not a ledger.
const LEDGER_BYTES_MAX: u64 = 64 * 1024;
/// The files by which Chromium detects that a profile is in use.
const SINGLETONS: [&str; 3] = ["SingletonLock", "SingletonCookie", "SingletonSocket"];
const TEMPORARY_PREFIX: &str = "codemode-";
/// The number of hexadecimal digits after the prefix of a temporary folder's name.
const TEMPORARY_DIGITS: usize = 16;
/// A socket's path has at most 107 bytes, of which Chromium needs 45 and the folder's name 26.
const TEMPORARY_BYTES_MAX: usize = 36;

/// What [`reap`] found and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reaped {
    /// Processes that were killed.
    pub processes: usize,
    /// Profiles that were removed.
    pub profiles: usize,
}

/// One line of a ledger. Lines are only appended; a torn last line is ignored, and the lines before it remain valid.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Line {
    /// The first line, written before the folders exist. The owner's process id is informational.
    Opened { owner_pid: u32, boot_id: String, temporary: PathBuf },
    /// The browser's main process was started.
    Started { pid: i32, start_ticks: u64 },
    /// The browser is ready, and this is its program: behind a wrapper script, not the program that was started.
    Runs { executable: PathBuf },
    /// The profile is to be moved to this name when the browser ends.
    Successor { name: String },
}

/// The ownership of one browser's processes and folders.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The ledger's file, locked for as long as it is open.
    file: File,
    /// The folder that contains the profiles and their ledgers.
    folder: PrivateDir,
    /// The ledger's name in that folder.
    name: OsString,
    profile: PathBuf,
    /// Whether the profile is retained when the browser ends.
    kept: bool,
    /// The folder for the browser's temporary files, which a killed browser leaves behind. It is outside the profile
    /// because one of the files is a socket, and the paths of sockets must be short.
    temporary: Option<PathBuf>,
    /// The browser's process group, once it runs.
    group: Option<Group>,
    /// The name to which the profile is moved when the browser ends.
    successor: Option<String>,
    /// Whether the ledger was taken over from a dead owner.
    inherited: bool,
    /// The browser's program, once it is known.
    executable: Option<PathBuf>,
}

impl Ledger {
    /// Claims a name and creates its folders, readable by this user only. What a dead owner of the name left behind is
    /// ended and removed first. `None` while a living owner holds the name.
    ///
    /// A `kept` profile may already exist, and is retained when the browser ends.
    pub(crate) fn try_open(profiles_dir: &Path, name: &str, kept: bool) -> Result<Option<Self>, ErrorReport> {
        if !is_name(name) {
            let message =
                format!("{name:?} cannot name a profile: letters, digits, `-` and `_` can, {NAME_CHARS_MAX} at most");
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, message));
        }
        let failed = |what: &str, path: &Path| {
            let message = format!("could not {what} {}", path.display());
            move |error: io::Error| ErrorReport::new(ErrorCode::IoError, format!("{message}: {error}"))
        };
        // Absolute, because the browser receives this path and its processes are recognised by it.
        let folder = PrivateDir::make(profiles_dir).map_err(failed("use the folder", profiles_dir))?;
        let suffix = if kept { SUFFIX_KEPT } else { SUFFIX };
        let profile = folder.path().join(name);
        let path = profile.with_extension(suffix);
        let ledger_name = OsString::from(format!("{name}.{suffix}"));

        let file = match folder.create(&ledger_name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let dead = Self::inherit(&folder, &ledger_name).map_err(|why| not_ours(&path, &why))?;
                let Some(dead) = dead else { return Ok(None) };
                dead.close(REAP_PATIENCE)?;
                return Self::try_open(profiles_dir, name, kept);
            }
            Err(error) => return Err(failed("write the ledger", &path)(error)),
        };
        file.lock().map_err(failed("lock the ledger", &path))?;
        // Until it was locked, the file looked like a dead owner's ledger, and another process may have removed it.
        if !stands_at(&file, &folder, &ledger_name) {
            return Self::try_open(profiles_dir, name, kept);
        }
        let temporary = temporary_path();
        let mut ledger = Self {
            file,
            folder,
            name: ledger_name,
            profile,
            kept,
            temporary: Some(temporary.clone()),
            group: None,
            executable: None,
            successor: None,
            inherited: false,
        };
        let (owner_pid, boot_id) = (std::process::id(), boot_id());
        let opened = Line::Opened { owner_pid, boot_id, temporary: temporary.clone() };
        if let Err(error) = ledger.append(&opened) {
            ledger.remove();
            return Err(failed("write the ledger", &path)(error));
        }
        let made = match ledger.folder.metadata(name) {
            // A folder that existed before this ledger is not codemode's to remove.
            Ok(_) if !kept => Err(io::ErrorKind::AlreadyExists.into()),
            _ => ledger.folder.make_folder_of_any(name).map(drop),
        };
        let made = made.map_err(|error| (error, ledger.profile.clone())).and_then(|()| {
            DirBuilder::new().mode(0o700).create(&temporary).map_err(|error| {
                let _ = ledger.folder.remove_empty_folder(name);
                (error, temporary.clone())
            })
        });
        if let Err((error, folder)) = made {
            ledger.remove();
            return Err(failed("make the folder", &folder)(error));
        }
        Ok(Some(ledger))
    }

    /// As [`Self::try_open`] for a kept profile, but waits until the name is free. Blocks.
    fn open_kept(profiles_dir: &Path, name: &str) -> Result<Self, ErrorReport> {
        let deadline = Instant::now() + NAME_PATIENCE;
        loop {
            if let Some(ledger) = Self::try_open(profiles_dir, name, true)? {
                return Ok(ledger);
            }
            if Instant::now() > deadline {
                return Err(in_use(name));
            }
            thread::sleep(NAME_INTERVAL);
        }
    }

    pub(crate) fn profile(&self) -> &Path {
        &self.profile
    }

    /// The folder for temporary files.
    pub(crate) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Records the running browser by its main process.
    pub(crate) fn started(&mut self, pid: i32) -> io::Result<()> {
        self.group = Group::led_by(pid);
        match self.group {
            Some(Group { leader, start_ticks }) => self.append(&Line::Started { pid: leader, start_ticks }),
            None => Ok(()),
        }
    }

    /// Records the program of the browser, once the browser is ready.
    pub(crate) fn runs(&mut self) -> io::Result<()> {
        self.executable = self.group.and_then(|group| program_of(group.leader));
        match self.executable.clone() {
            Some(executable) => self.append(&Line::Runs { executable }),
            None => Ok(()),
        }
    }

    /// Kills the browser's remaining processes, removes its folders and then the ledger itself. If something cannot be
    /// removed, the ledger is left for a later [`reap`].
    pub(crate) fn close(&self, patience: Duration) -> Result<usize, ErrorReport> {
        let proof = Proof { profile: &self.profile, group: self.group, executable: self.executable.as_deref() };
        let killed = proof.end(patience).map_err(|living| {
            ErrorReport::new(ErrorCode::IoError, format!("processes of the browser do not end: {living:?}"))
                .with_hint("They end with the machine at the latest; the next start tries again.")
        })?;
        if let Some(successor) = &self.successor {
            self.move_profile_to_successor(successor)?;
        }
        let not_removed = |folder: &Path, error: &io::Error| {
            ErrorReport::new(ErrorCode::IoError, format!("could not remove {}: {error}", folder.display()))
        };
        if let Some(temporary) = &self.temporary {
            remove_folder(temporary).map_err(|error| not_removed(temporary, &error))?;
        }
        if self.kept {
            self.remove_singletons();
        } else {
            self.folder.remove_folder(self.profile_name()).map_err(|error| not_removed(&self.profile, &error))?;
        }
        self.remove();
        Ok(killed)
    }

    fn profile_name(&self) -> &OsStr {
        self.profile.file_name().unwrap_or_default()
    }

    /// Removes the ledger itself.
    fn remove(&self) {
        let _ = self.folder.remove_file(&self.name);
    }

    /// Requests that the profile be moved to another name when the browser ends, replacing the profile of that name. If
    /// that fails, or if this process dies first, [`reap`] moves the profile, unless that name has a profile by then.
    pub(crate) fn keep_as(&mut self, name: &str) {
        if let Err(error) = self.append(&Line::Successor { name: name.to_owned() }) {
            tracing::warn!(%error, "could not note the new name of a profile");
        }
        self.successor = Some(name.to_owned());
    }

    fn move_profile_to_successor(&self, name: &str) -> Result<(), ErrorReport> {
        // A dead owner may have moved it.
        let found = self.folder.metadata(self.profile_name());
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(());
        }
        self.remove_singletons();
        let successor = Self::open_kept(self.folder.path(), name)?;
        // A profile that has the name when the owner is dead may be newer. Renaming replaces only an empty folder.
        let replaced = if self.inherited { None } else { Some(successor.set_profile_aside()?) };
        match self.move_profile_to(&successor) {
            Ok(()) => {}
            Err(error) if self.inherited && is_not_empty(&error) => {
                tracing::warn!(profile = %self.profile.display(), name, "a profile was replaced by a newer one");
            }
            Err(error) => {
                let message = format!("could not keep {}: {error}", self.profile.display());
                return Err(ErrorReport::new(ErrorCode::IoError, message));
            }
        }
        successor.close(Duration::ZERO)?;
        replaced.map_or(Ok(()), |replaced| replaced.close(Duration::ZERO).map(drop))
    }

    /// Moves the profile under a name at which it is about to be removed. Renamed in one step, so that a process that
    /// dies here leaves no partial profile for the next browser.
    fn set_profile_aside(&self) -> Result<Self, ErrorReport> {
        let name = format!("{GONE_PREFIX}{:016x}", random());
        let gone = Self::try_open(self.folder.path(), &name, false)?.ok_or_else(|| in_use(&name))?;
        self.move_profile_to(&gone).map_err(|error| {
            ErrorReport::new(ErrorCode::IoError, format!("could not remove {}: {error}", self.profile.display()))
        })?;
        Ok(gone)
    }

    /// If this browser's process id were reused, the next browser would take these files as a sign that this browser is
    /// alive.
    fn remove_singletons(&self) {
        // Only in a real profile folder: a link in its place may lead anywhere.
        let Ok(Some(profile)) = self.folder.find_folder_of_any(self.profile_name()) else { return };
        for left in SINGLETONS {
            let _ = profile.remove_file(left);
        }
    }

    fn move_profile_to(&self, other: &Self) -> io::Result<()> {
        self.folder.rename(self.profile_name(), &other.folder, other.profile_name())
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())
    }

    /// Takes over the ledger of a dead owner.
    ///
    /// # Errors
    /// When the file cannot have been written by this user's codemode: none of its content is trusted.
    fn inherit(folder: &PrivateDir, name: &OsStr) -> Result<Option<Self>, Untrusted> {
        let file = match folder.append(name) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            Err(error) => return Untrusted::of(&error).cloned().map_or(Ok(None), Err),
        };
        // Its owner may have removed the file just now, and another owner may have claimed the name.
        if file.try_lock().is_err() || !stands_at(&file, folder, name) {
            return Ok(None);
        }
        // The profile follows from the file's name, never from its content, so no other folder can be removed.
        let profile = folder.path().join(name).with_extension("");
        let kept = Path::new(name).extension().is_some_and(|suffix| suffix == SUFFIX_KEPT);
        let mut ledger = Self {
            file,
            folder: folder.clone(),
            name: name.to_owned(),
            profile,
            kept,
            temporary: None,
            group: None,
            executable: None,
            successor: None,
            inherited: true,
        };
        ledger.read();
        Ok(Some(ledger))
    }

    /// Loads the dead owner's records, as far as they can be trusted.
    fn read(&mut self) {
        let mut text = String::new();
        let _ = (&self.file).take(LEDGER_BYTES_MAX).read_to_string(&mut text);
        let mut boot_id_then = String::new();
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Opened { boot_id, temporary, .. } => {
                    boot_id_then = boot_id;
                    self.temporary = is_our_temporary(&temporary).then_some(temporary);
                }
                // Process ids mean nothing after a reboot.
                Line::Started { pid, start_ticks } if boot_id_then == boot_id() => {
                    self.group = Some(Group { leader: pid, start_ticks });
                }
                Line::Started { .. } => {}
                Line::Runs { executable } => self.executable = Some(executable),
                Line::Successor { name } => self.successor = Some(name).filter(|name| is_name(name)),
            }
        }
        // Whichever process wrote the ledger, only a browser with this profile is killed.
        let (profile, executable) = (self.profile.as_path(), self.executable.as_deref());
        self.group = self.group.filter(|group| Proof { profile, group: None, executable }.confirms(*group));
    }
}

/// Kills and removes what dead processes left under `profiles_dir`: browsers that still run, and their profiles. Skips
/// everything that has a living owner or is not proven to be codemode's. Any number of processes may call this at the
/// same time.
///
/// Blocks, usually for about a millisecond; call it once at start.
///
/// # Errors
/// `IO_ERROR` if the folder cannot be read, or for the first profile that could not be removed; the others are removed
/// nevertheless.
pub fn reap(profiles_dir: &Path) -> Result<Reaped, ErrorReport> {
    let unreadable = |error: io::Error| {
        ErrorReport::new(ErrorCode::IoError, format!("could not read {}: {error}", profiles_dir.display()))
    };
    let Some(folder) = PrivateDir::find(profiles_dir).map_err(unreadable)? else { return Ok(Reaped::default()) };
    let (mut reaped, mut failed) = (Reaped::default(), None);
    for name in folder.names().map_err(unreadable)? {
        let Some(SUFFIX | SUFFIX_KEPT) = Path::new(&name).extension().and_then(OsStr::to_str) else { continue };
        let ledger = match Ledger::inherit(&folder, &name) {
            Ok(Some(ledger)) => ledger,
            Ok(None) => continue,
            Err(why) => {
                failed = failed.or(Some(not_ours(&folder.path().join(name), &why)));
                continue;
            }
        };
        match ledger.close(REAP_PATIENCE) {
            Ok(processes) => {
                reaped.processes += processes;
                reaped.profiles += usize::from(!ledger.kept && ledger.successor.is_none());
            }
            Err(report) => failed = failed.or(Some(report)),
        }
    }
    if reaped != Reaped::default() {
        tracing::info!(
            processes = reaped.processes,
            profiles = reaped.profiles,
            "removed what dead processes had left"
        );
    }
    failed.map_or(Ok(reaped), Err)
}

/// Removes a kept profile, all of it or nothing. Blocks.
///
/// # Errors
/// `BROWSER_LAUNCH_FAILED` if a browser uses the profile, `IO_ERROR` if it cannot be removed.
pub fn remove_kept_profile(profiles_dir: &Path, name: &str) -> Result<(), ErrorReport> {
    let kept = Ledger::open_kept(profiles_dir, name)?;
    let gone = kept.set_profile_aside()?;
    kept.close(REAP_PATIENCE)?;
    gone.close(REAP_PATIENCE).map(drop)
}

/// The error for a name that a living browser holds.
pub(crate) fn in_use(name: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::BrowserLaunchFailed, format!("the profile name {name:?} is in use"))
        .with_hint("Another browser has this profile: close it first, or use another name.")
}

/// The error for a ledger that codemode did not write.
fn not_ours(path: &Path, why: &Untrusted) -> ErrorReport {
    ErrorReport::new(ErrorCode::IoError, format!("the ledger {} is not believed: {why}", path.display()))
        .with_hint("See who put it there, and remove it. Nothing that it names was touched.")
}

/// Removes a folder, which need not exist.
fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether a folder could not be replaced because it is not empty; file systems report that differently.
fn is_not_empty(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// Whether an open file is still the file with this name.
fn stands_at(file: &File, folder: &PrivateDir, name: &OsStr) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().ok().zip(folder.metadata(name).ok()).is_some_and(|(ours, named)| id(ours) == id(named))
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

/// A path that does not exist yet, short enough for a socket path below it.
fn temporary_path() -> PathBuf {
    let usual = env::temp_dir();
    let folder = if usual.as_os_str().len() <= TEMPORARY_BYTES_MAX { usual } else { "/tmp".into() };
    folder.join(format!("{TEMPORARY_PREFIX}{:016x}", random()))
}

fn random() -> u64 {
    // Each `RandomState` starts from a random key.
    RandomState::new().build_hasher().finish()
}

/// Whether a path from a ledger is a folder that a ledger's owner can have created.
fn is_our_temporary(path: &Path) -> bool {
    let digits = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(TEMPORARY_PREFIX));
    let is_named = digits.is_some_and(|digits| {
        digits.len() == TEMPORARY_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    // Only where such folders are created: elsewhere, a folder with such a name may belong to anything.
    let stands = path.parent().is_some_and(|parent| parent == env::temp_dir() || parent == Path::new("/tmp"));
    let is_ours = |metadata: fs::Metadata| metadata.is_dir() && may_be_a_browsers(metadata.uid());
    stands && is_named && fs::symlink_metadata(path).is_ok_and(is_ours)
}

/// The boot id, which differs after each start of the machine; empty where the system does not provide it.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;
