//! The ledger: which profile folders have an owner, written before there is anything to clean up.
//!
//! `<name>.ledger` stands beside the folder `<name>` and comes before it. Its owner holds a lock on the file for as long
//! as it lives; the kernel lets go of the lock when the owner dies, however it dies, so that a ledger that can be locked
//! has no owner, or one who has not come to lock it and will look whether it is still there. A lock tells this across containers too, where process numbers mean nothing.

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
/// The suffix for a profile that stays when its browser ends. The file's name alone tells that, and names the profile.
const SUFFIX_KEPT: &str = "kept-ledger";
/// How long the processes of one dead host may take to go.
const REAP_PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for the name of a kept profile. Where a browser may be started with that profile, another process
/// holds the name only briefly: to remove what a dead browser left, to remove the profile or to replace it.
pub(crate) const NAME_PATIENCE: Duration = Duration::from_secs(8);
/// How often to look whether a name is free.
pub(crate) const NAME_INTERVAL: Duration = Duration::from_millis(20);
/// The prefix of the name that a profile gets when it is to be removed.
const GONE_PREFIX: &str = "gone-";
const NAME_CHARS_MAX: usize = 128;
/// A ledger has three lines; a longer file is no ledger.
const LEDGER_BYTES_MAX: u64 = 64 * 1024;
/// The files by which Chromium sees that a profile is in use.
const SINGLETONS: [&str; 3] = ["SingletonLock", "SingletonCookie", "SingletonSocket"];
const TEMPORARY_PREFIX: &str = "codemode-";
/// The length of the rest of a temporary folder's name, in hexadecimal digits.
const TEMPORARY_DIGITS: usize = 16;
/// A socket's path has at most 107 bytes, of which Chromium takes 45 and the folder's name 26.
const TEMPORARY_BYTES_MAX: usize = 36;

/// What [`reap`] found and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reaped {
    /// Processes that were killed.
    pub processes: usize,
    /// Profiles that were removed.
    pub profiles: usize,
}

/// One line of a ledger. Lines are only appended: a torn last line is left out, and the lines before it still hold.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Line {
    /// The first line, written before the folders exist. The owner's number is for people to read.
    Opened { owner_pid: u32, boot_id: String, temporary: PathBuf },
    /// The browser runs.
    Started { pid: i32, start_ticks: u64 },
    /// The browser is ready, and this is its program: with a wrapper script, not the program that was started.
    Runs { executable: PathBuf },
}

/// The ownership of one browser's processes and folders.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The ledger's file, which is locked for as long as it is open.
    file: File,
    /// The folder of the profiles, in which the ledger lies beside its profile.
    folder: PrivateDir,
    /// The ledger's name in that folder.
    name: OsString,
    profile: PathBuf,
    /// Whether the profile stays when the browser ends.
    kept: bool,
    /// The folder for the browser's temporary files, which a killed browser leaves behind. Not in the profile: one of
    /// the files is a socket, and the paths of sockets must be short.
    temporary: Option<PathBuf>,
    /// The group of the browser's processes, once they run.
    group: Option<Group>,
    /// The name under which the profile is kept when the browser ends.
    heir: Option<String>,
    /// The browser's program, once it is known.
    executable: Option<PathBuf>,
}

impl Ledger {
    /// Takes a name and makes its folders, readable for this user only. What a dead owner left under the name is ended
    /// and removed first. `None` while a living owner has the name.
    ///
    /// A profile that is `kept` may be there already, and stays.
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
        // Absolute, because the browser is given this path and processes are recognised by it.
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
            heir: None,
        };
        let (owner_pid, boot_id) = (std::process::id(), boot_id());
        let opened = Line::Opened { owner_pid, boot_id, temporary: temporary.clone() };
        if let Err(error) = ledger.append(&opened) {
            ledger.remove();
            return Err(failed("write the ledger", &path)(error));
        }
        let made = match ledger.folder.metadata(name) {
            // A folder that was there before this ledger is not ours to remove.
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

    /// As [`Self::try_open`], for the name of a kept profile: waits until the name is free. Blocks.
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

    /// Notes the running browser, by its main process.
    pub(crate) fn started(&mut self, pid: i32) -> io::Result<()> {
        self.group = Group::led_by(pid);
        match self.group {
            Some(Group { leader, start_ticks }) => self.append(&Line::Started { pid: leader, start_ticks }),
            None => Ok(()),
        }
    }

    /// Notes the program of the browser, which is ready.
    pub(crate) fn runs(&mut self) -> io::Result<()> {
        self.executable = self.group.and_then(|group| program_of(group.leader));
        match self.executable.clone() {
            Some(executable) => self.append(&Line::Runs { executable }),
            None => Ok(()),
        }
    }

    /// Kills what lives of the browser, removes its folders and then the ledger itself. If something cannot be removed
    /// the ledger stays, for a later [`reap`].
    pub(crate) fn close(&self, patience: Duration) -> Result<usize, ErrorReport> {
        let proof = Proof { profile: &self.profile, group: self.group, executable: self.executable.as_deref() };
        let killed = proof.end(patience).map_err(|living| {
            ErrorReport::new(ErrorCode::IoError, format!("processes of the browser do not end: {living:?}"))
                .with_hint("They end with the machine at the latest; the next start tries again.")
        })?;
        if let Some(heir) = &self.heir {
            self.bequeath(heir)?;
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

    /// Has the profile kept under another name when the browser ends, in the place of what has that name.
    pub(crate) fn keep_as(&mut self, name: &str) {
        self.heir = Some(name.to_owned());
    }

    fn bequeath(&self, name: &str) -> Result<(), ErrorReport> {
        self.remove_singletons();
        let heir = Self::open_kept(self.folder.path(), name)?;
        let moved = heir.folder.remove_folder(name).and_then(|()| self.move_profile_to(&heir));
        moved.map_err(|error| {
            ErrorReport::new(ErrorCode::IoError, format!("could not keep {}: {error}", self.profile.display()))
        })?;
        heir.close(Duration::ZERO).map(drop)
    }

    /// The next browser would take these files for a sign that this browser lives, if its process number were reused.
    fn remove_singletons(&self) {
        // Only in a folder of ours: a link in its place may lead to a folder that is not ours.
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

    /// Takes over a ledger if its owner is dead.
    ///
    /// # Errors
    /// When this user's codemode cannot have written the file: nothing that the file says is believed.
    fn inherit(folder: &PrivateDir, name: &OsStr) -> Result<Option<Self>, Untrusted> {
        let file = match folder.append(name) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            Err(error) => return Untrusted::of(&error).cloned().map_or(Ok(None), Err),
        };
        // Its owner may have removed the file just now, and another owner may have taken the name.
        if file.try_lock().is_err() || !stands_at(&file, folder, name) {
            return Ok(None);
        }
        // The profile follows from the file's name and never from its content: no other folder can be removed.
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
            heir: None,
        };
        ledger.read();
        Ok(Some(ledger))
    }

    /// Takes what the dead owner had noted, as far as it can be believed.
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
                // Process numbers mean nothing after a reboot.
                Line::Started { pid, start_ticks } if boot_id_then == boot_id() => {
                    self.group = Some(Group { leader: pid, start_ticks });
                }
                Line::Started { .. } => {}
                Line::Runs { executable } => self.executable = Some(executable),
            }
        }
        // No matter which process wrote the ledger: only a browser with this profile is killed.
        let (profile, executable) = (self.profile.as_path(), self.executable.as_deref());
        self.group = self.group.filter(|group| Proof { profile, group: None, executable }.confirms(*group));
    }
}

/// Kills and removes what dead processes left under `profiles_dir`: browsers that still run, and their profiles. What has
/// a living owner, and what is not proven to be ours, is left alone. Any number of processes may do this at the same time.
///
/// Blocks, mostly for a millisecond; call it once at start.
///
/// # Errors
/// `IO_ERROR` if the folder cannot be read, or for the first profile that could not be removed; the others are removed.
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
                reaped.profiles += usize::from(!ledger.kept);
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

/// Removes a profile that was kept, or nothing of it. Blocks.
///
/// # Errors
/// `BROWSER_LAUNCH_FAILED` if a browser uses it, `IO_ERROR` if it cannot be removed.
pub fn remove_kept_profile(profiles_dir: &Path, name: &str) -> Result<(), ErrorReport> {
    let kept = Ledger::open_kept(profiles_dir, name)?;
    let gone_name = format!("{GONE_PREFIX}{:016x}", random());
    let gone = Ledger::try_open(profiles_dir, &gone_name, false)?.ok_or_else(|| in_use(&gone_name))?;
    // In one step: a process that dies here leaves no part of the profile to the next browser.
    kept.move_profile_to(&gone).map_err(|error| {
        ErrorReport::new(ErrorCode::IoError, format!("could not remove {}: {error}", kept.profile.display()))
    })?;
    kept.close(REAP_PATIENCE)?;
    gone.close(REAP_PATIENCE).map(drop)
}

/// The refusal of a name that a living browser has.
pub(crate) fn in_use(name: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::BrowserLaunchFailed, format!("the profile name {name:?} is in use"))
        .with_hint("Another browser has this profile: close it first, or use another name.")
}

/// The refusal of a ledger that we did not write.
fn not_ours(path: &Path, why: &Untrusted) -> ErrorReport {
    ErrorReport::new(ErrorCode::IoError, format!("the ledger {} is not believed: {why}", path.display()))
        .with_hint("See who put it there, and remove it. Nothing that it names was touched.")
}

/// Removes a folder to which processes wrote that were killed a moment ago.
fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether an open file is the file that has this name.
fn stands_at(file: &File, folder: &PrivateDir, name: &OsStr) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().ok().zip(folder.metadata(name).ok()).is_some_and(|(ours, named)| id(ours) == id(named))
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

/// A path that does not exist yet, short enough for a socket somewhere below it.
fn temporary_path() -> PathBuf {
    let usual = env::temp_dir();
    let folder = if usual.as_os_str().len() <= TEMPORARY_BYTES_MAX { usual } else { "/tmp".into() };
    folder.join(format!("{TEMPORARY_PREFIX}{:016x}", random()))
}

fn random() -> u64 {
    // Each state of hashing starts from a random key.
    RandomState::new().build_hasher().finish()
}

/// Whether a path from a ledger is a folder that an owner of ours can have made.
fn is_our_temporary(path: &Path) -> bool {
    let digits = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(TEMPORARY_PREFIX));
    let is_named = digits.is_some_and(|digits| {
        digits.len() == TEMPORARY_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    // Only where such folders are made: the owner of a folder of that name elsewhere is not known.
    let stands = path.parent().is_some_and(|parent| parent == env::temp_dir() || parent == Path::new("/tmp"));
    let is_ours = |metadata: fs::Metadata| metadata.is_dir() && may_be_a_browsers(metadata.uid());
    stands && is_named && fs::symlink_metadata(path).is_ok_and(is_ours)
}

/// The id of the boot, which differs after each start of the machine; empty where the system does not tell.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;
