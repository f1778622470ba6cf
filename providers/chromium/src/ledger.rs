//! The ledger: which profile folders have an owner, written before there is anything to clean up.
//!
//! `<name>.ledger` stands beside the folder `<name>` and comes before it. Its owner holds a lock on the file for as long
//! as it lives; the kernel lets go of the lock when the owner dies, however it dies, so that a ledger that can be locked
//! has no owner, or one who has not come to lock it and will look whether it is still there. A lock tells this across containers too, where process numbers mean nothing.

use crate::process::{Group, Proof, program_of};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use std::{
    env,
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

const SUFFIX: &str = "ledger";
/// Of a profile that stays when its browser ends. That it stays follows from the file's name, as the profile does.
const SUFFIX_KEPT: &str = "kept-ledger";
/// How long the processes of one dead host may take to go.
const REAP_PATIENCE: Duration = Duration::from_secs(5);
/// How long the name of a kept profile is waited for. Nobody has it for long whose browser another may follow: only who
/// removes what a dead one left, or the profile, or puts one in its place.
pub(crate) const NAME_PATIENCE: Duration = Duration::from_secs(8);
/// How often it is looked whether a name is free.
pub(crate) const NAME_INTERVAL: Duration = Duration::from_millis(20);
/// Begins the name that a profile gets when it is to be removed.
const GONE_PREFIX: &str = "gone-";
const NAME_CHARS_MAX: usize = 128;
/// Files by which Chromium sees that a profile is in use.
const SINGLETONS: [&str; 3] = ["SingletonLock", "SingletonCookie", "SingletonSocket"];
const TEMPORARY_PREFIX: &str = "codemode-";
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

/// One line of a ledger. Lines are only appended: a torn last one is left out, and what came before it still holds.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Line {
    /// The first, before the folders exist. The owner's number is for people to read.
    Opened { owner_pid: u32, boot_id: String, temporary: PathBuf },
    /// The browser runs.
    Started { pid: i32, start_ticks: u64 },
    /// It is ready, and this is its program: with a wrapper script, not the one that was started.
    Runs { executable: PathBuf },
}

/// The ownership of one browser's processes and folders.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Locked for as long as it is open.
    file: File,
    path: PathBuf,
    profile: PathBuf,
    /// The profile stays when the browser ends.
    kept: bool,
    /// For the browser's temporary files, which it leaves behind when it is killed. Not in the profile: one of them is a
    /// socket, and the paths of sockets must be short.
    temporary: Option<PathBuf>,
    /// The processes, once they run.
    group: Option<Group>,
    /// The name under which the profile is kept when the browser ends.
    heir: Option<String>,
    /// Their program, once that is known.
    executable: Option<PathBuf>,
}

impl Ledger {
    /// Takes a name and makes its folders, readable for this user only. What a dead one left of the name is ended and
    /// removed first. `None` while a living one has it.
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
        // Absolute, because the browser is told of it and processes are known by it.
        let profiles_dir = std::path::absolute(profiles_dir).map_err(failed("find", profiles_dir))?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&profiles_dir);
        made.map_err(failed("make the folder", &profiles_dir))?;
        let suffix = if kept { SUFFIX_KEPT } else { SUFFIX };
        let (profile, path) = (profiles_dir.join(name), profiles_dir.join(name).with_extension(suffix));

        let file = match OpenOptions::new().append(true).read(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let Some(dead) = Self::inherit(&path) else { return Ok(None) };
                dead.close(REAP_PATIENCE)?;
                return Self::try_open(&profiles_dir, name, kept);
            }
            Err(error) => return Err(failed("write the ledger", &path)(error)),
        };
        file.lock().map_err(failed("lock the ledger", &path))?;
        // Until it was locked it was like one that a dead owner left, and may be removed.
        if !stands_at(&file, &path) {
            return Self::try_open(&profiles_dir, name, kept);
        }
        let temporary = temporary_path();
        let mut ledger = Self {
            file,
            path,
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
            let _ = fs::remove_file(&ledger.path);
            return Err(failed("write the ledger", &ledger.path)(error));
        }
        for folder in [&ledger.profile, &temporary] {
            let is_kept = kept && *folder == ledger.profile;
            if let Err(error) = DirBuilder::new().recursive(is_kept).mode(0o700).create(folder) {
                // What was there before us is not ours to remove.
                let _ = if *folder == temporary { fs::remove_dir(&ledger.profile) } else { Ok(()) };
                let _ = fs::remove_file(&ledger.path);
                return Err(failed("make the folder", folder)(error));
            }
        }
        Ok(Some(ledger))
    }

    /// The same for the name of a kept profile, which is waited for. Blocks.
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

    /// Kills what lives of the browser, removes its folders and then the entry itself. If something cannot be removed
    /// the entry stays, for a later [`reap`].
    pub(crate) fn close(&self, patience: Duration) -> Result<usize, ErrorReport> {
        let proof = Proof { profile: &self.profile, group: self.group, executable: self.executable.as_deref() };
        let killed = proof.end(patience).map_err(|living| {
            ErrorReport::new(ErrorCode::IoError, format!("processes of the browser do not end: {living:?}"))
                .with_hint("They end with the machine at the latest; the next start tries again.")
        })?;
        if let Some(heir) = &self.heir {
            self.bequeath(heir)?;
        }
        for folder in self.temporary.iter().chain((!self.kept).then_some(&self.profile)) {
            remove_folder(folder).map_err(|error| {
                ErrorReport::new(ErrorCode::IoError, format!("could not remove {}: {error}", folder.display()))
            })?;
        }
        if self.kept {
            self.remove_singletons();
        }
        let _ = fs::remove_file(&self.path);
        Ok(killed)
    }

    /// Has the profile kept under another name when the browser ends, in the place of what has that name.
    pub(crate) fn keep_as(&mut self, name: &str) {
        self.heir = Some(name.to_owned());
    }

    fn bequeath(&self, name: &str) -> Result<(), ErrorReport> {
        self.remove_singletons();
        let heir = Self::open_kept(self.profile.parent().unwrap_or(Path::new(".")), name)?;
        remove_folder(&heir.profile).and_then(|()| fs::rename(&self.profile, &heir.profile)).map_err(|error| {
            ErrorReport::new(ErrorCode::IoError, format!("could not keep {}: {error}", self.profile.display()))
        })?;
        heir.close(Duration::ZERO).map(drop)
    }

    /// The next browser would take them for a sign that this one lives, if its number were given anew.
    fn remove_singletons(&self) {
        for left in SINGLETONS {
            let _ = fs::remove_file(self.profile.join(left));
        }
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())
    }

    /// Takes over the ledger at a path if its owner is dead.
    fn inherit(path: &Path) -> Option<Self> {
        let file = OpenOptions::new().append(true).read(true).open(path).ok()?;
        file.try_lock().ok()?;
        // Its owner may have removed it just now, and another one may have taken the name.
        let is_the_same = stands_at(&file, path);
        // The profile follows from the file's name and never from its content: nothing else can be removed.
        let profile = path.with_extension("");
        let kept = path.extension().is_some_and(|suffix| suffix == SUFFIX_KEPT);
        let mut ledger = Self {
            file,
            path: path.to_owned(),
            profile,
            kept,
            temporary: None,
            group: None,
            executable: None,
            heir: None,
        };
        is_the_same.then(|| {
            ledger.read();
            ledger
        })
    }

    /// Takes what the dead owner had noted, as far as it can be believed.
    fn read(&mut self) {
        let mut text = String::new();
        let _ = self.file.read_to_string(&mut text);
        let mut boot_id_then = String::new();
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Opened { boot_id, temporary, .. } => {
                    boot_id_then = boot_id;
                    self.temporary = is_our_temporary(&temporary).then_some(temporary);
                }
                // Numbers of processes mean nothing after the machine was started anew.
                Line::Started { pid, start_ticks } if boot_id_then == boot_id() => {
                    self.group = Some(Group { leader: pid, start_ticks });
                }
                Line::Started { .. } => {}
                Line::Runs { executable } => self.executable = Some(executable),
            }
        }
    }
}

/// Kills and removes what dead processes left under `profiles_dir`: browsers that still run, and their profiles. What has
/// a living owner, and what is not proven to be ours, is left alone. Any number of processes may do this at the same time.
///
/// Blocks, mostly for a millisecond; call it once at start.
///
/// # Errors
/// `IO_ERROR` if the folder cannot be read, or with the first thing that could not be removed; the rest is.
pub fn reap(profiles_dir: &Path) -> Result<Reaped, ErrorReport> {
    let unreadable = |error: io::Error| {
        ErrorReport::new(ErrorCode::IoError, format!("could not read {}: {error}", profiles_dir.display()))
    };
    // As the owner wrote it on its browser's command line.
    let profiles_dir = std::path::absolute(profiles_dir).map_err(unreadable)?;
    let entries = match fs::read_dir(&profiles_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Reaped::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let (mut reaped, mut failed) = (Reaped::default(), None);
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(SUFFIX | SUFFIX_KEPT) = path.extension().and_then(OsStr::to_str) else { continue };
        let Some(ledger) = Ledger::inherit(&path) else { continue };
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
    // In one step: whoever dies here does not leave a part of it to the next browser.
    fs::rename(&kept.profile, &gone.profile).map_err(|error| {
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

/// Removes a folder that processes killed a moment ago wrote to.
fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether an open file is the one that has this path.
fn stands_at(file: &File, path: &Path) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().ok().zip(fs::metadata(path).ok()).is_some_and(|(ours, named)| id(ours) == id(named))
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

/// A path that nothing has yet, short enough for a socket somewhere below it.
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
    let is_named = path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(TEMPORARY_PREFIX));
    let is_ours = |metadata: fs::Metadata| metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    path.is_absolute() && is_named && fs::symlink_metadata(path).is_ok_and(is_ours)
}

/// Differs after each start of the machine; empty where the system does not tell.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        process::Command,
        sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    };

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn open(profiles_dir: &Path, name: &str, kept: bool) -> Ledger {
        Ledger::try_open(profiles_dir, name, kept).unwrap().expect("nobody has the name")
    }

    /// A child that another test starts at the same moment holds a copy of every lock until it has become its program.
    fn repeated<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match attempt() {
                Some(done) => return done,
                None => assert!(Instant::now() < deadline, "the lock is still held"),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn inherited(path: &Path) -> Ledger {
        repeated(|| Ledger::inherit(path))
    }

    fn reaped(profiles_dir: &Path) -> Reaped {
        repeated(|| Some(reap(profiles_dir).unwrap()).filter(|reaped| *reaped != Reaped::default()))
    }

    #[test]
    fn what_has_a_living_owner_is_left_alone_and_what_has_none_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let profiles_dir = folder.path().join("a/profiles");
        assert_eq!(reap(&profiles_dir).unwrap(), Reaped::default(), "there need be nothing");
        let ledger = open(&profiles_dir, "one", false);
        assert_eq!(names(&profiles_dir), ["one", "one.ledger"]);
        assert_eq!(fs::metadata(ledger.profile()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&profiles_dir).unwrap().mode() & 0o777, 0o700);
        assert!(Ledger::try_open(&profiles_dir, "one", false).unwrap().is_none(), "it has an owner");
        assert_eq!(reap(&profiles_dir).unwrap(), Reaped::default());
        assert_eq!(names(&profiles_dir), ["one", "one.ledger"]);

        fs::write(ledger.profile().join("file"), "x").unwrap();
        let temporary = ledger.temporary().unwrap().to_owned();
        assert!(temporary.is_dir());
        // As if its process had died: the lock is gone, the files are not.
        drop(ledger);
        fs::create_dir(profiles_dir.join("not-ours")).unwrap();
        assert_eq!(reaped(&profiles_dir), Reaped { processes: 0, profiles: 1 });
        assert_eq!(names(&profiles_dir), ["not-ours"]);
        assert!(!temporary.exists());
    }

    #[test]
    fn a_kept_profile_stays_and_can_be_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = open(folder.path(), "key-1", true);
        for name in ["cookies", SINGLETONS[0]] {
            fs::write(ledger.profile().join(name), "x").unwrap();
        }
        assert!(Ledger::try_open(folder.path(), "key-1", true).unwrap().is_none(), "one browser at a time");
        ledger.close(REAP_PATIENCE).unwrap();
        drop(ledger);
        assert_eq!(names(folder.path()), ["key-1"]);
        assert_eq!(names(&folder.path().join("key-1")), ["cookies"]);
        // Its owner dies.
        drop(open(folder.path(), "key-1", true));
        repeated(|| {
            reap(folder.path()).unwrap();
            (names(folder.path()) == ["key-1"]).then_some(())
        });
        assert_eq!(names(&folder.path().join("key-1")), ["cookies"]);
    }

    #[test]
    fn a_name_whose_owner_has_died_is_free_and_one_whose_owner_lives_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let dead = open(folder.path(), "key-1", true);
        fs::write(dead.profile().join("cookies"), "x").unwrap();
        let temporary = dead.temporary().unwrap().to_owned();
        drop(dead);
        let living = repeated(|| Ledger::try_open(folder.path(), "key-1", true).unwrap());
        assert_eq!((names(living.profile()), temporary.exists()), (vec!["cookies".to_owned()], false));

        thread::scope(|scope| {
            let waiting = scope.spawn(|| remove_kept_profile(folder.path(), "key-1"));
            living.close(REAP_PATIENCE).unwrap();
            waiting.join().unwrap().unwrap();
        });
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn of_those_who_want_a_name_at_once_one_has_it_whoever_reaps_meanwhile() {
        let (folder, owners, is_over) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let reaper = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    reap(folder.path()).unwrap();
                }
            });
            let one = || {
                for _ in 0..5 {
                    let ledger = Ledger::open_kept(folder.path(), "key-1").unwrap();
                    assert_eq!(owners.fetch_add(1, Ordering::SeqCst), 0);
                    thread::yield_now();
                    assert_eq!(owners.fetch_sub(1, Ordering::SeqCst), 1);
                    ledger.close(REAP_PATIENCE).unwrap();
                }
            };
            let ones = [(); 4].map(|()| scope.spawn(one)).map(thread::ScopedJoinHandle::join);
            is_over.store(true, Ordering::Relaxed);
            assert!(ones.iter().chain([&reaper.join()]).all(Result::is_ok));
        });
        assert_eq!(names(folder.path()), ["key-1"]);
    }

    #[test]
    fn a_profile_whose_removal_was_broken_off_is_gone_and_is_removed_by_whoever_reaps() {
        let folder = tempfile::tempdir().unwrap();
        // As they are after the step that cannot be taken by half.
        let (kept, gone) = (open(folder.path(), "key-1", true), open(folder.path(), "gone-1", false));
        fs::write(kept.profile().join("cookies"), "x").unwrap();
        fs::rename(kept.profile(), gone.profile()).unwrap();
        drop((kept, gone));
        remove_kept_profile(folder.path(), "key-1").unwrap();
        repeated(|| reap(folder.path()).ok().filter(|_| names(folder.path()).is_empty()));
    }

    #[test]
    fn a_ledger_of_which_only_a_part_was_written_is_reaped_too() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("empty", ""), ("torn", "{\"what\":\"opened\",\"owner_p"), ("foreign", "hello\n")] {
            fs::write(folder.path().join(name).with_extension(SUFFIX), text).unwrap();
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(reap(folder.path()).unwrap().profiles, 3);
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn a_noted_group_is_believed_only_since_the_same_boot() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let mut ledger = open(folder.path(), "x", false);
        ledger.started(child.id().cast_signed()).unwrap();
        let (path, group) = (ledger.path.clone(), ledger.group);
        assert!(group.is_some() && Ledger::inherit(&path).is_none());
        drop(ledger);
        assert_eq!(inherited(&path).group, group);
        let text = fs::read_to_string(&path).unwrap().replace(&boot_id(), "another");
        fs::write(&path, text).unwrap();
        assert_eq!(inherited(&path).group, None);
        inherited(&path).close(REAP_PATIENCE).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "a process that only has the number was killed");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_ledger_cannot_name_a_folder_of_others_as_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let (foreign, linked) = (folder.path().join("foreign"), folder.path().join("codemode-linked"));
        fs::create_dir(&foreign).unwrap();
        std::os::unix::fs::symlink(&foreign, &linked).unwrap();
        for temporary in [&foreign, &linked] {
            let path = folder.path().join("x").with_extension(SUFFIX);
            let line = Line::Opened { owner_pid: 1, boot_id: boot_id(), temporary: temporary.clone() };
            fs::write(&path, serde_json::to_string(&line).unwrap()).unwrap();
            inherited(&path).close(REAP_PATIENCE).unwrap();
            assert!(foreign.is_dir() && !path.exists());
        }
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["", ".", "..", "a/b", "a.b", "ä", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert_eq!(
                Ledger::try_open(folder.path(), name, false).unwrap_err().code,
                ErrorCode::InvalidArgument,
                "{name}"
            );
        }
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}
