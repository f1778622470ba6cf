//! The state folder: where everything lies that is kept, and whether it is this user's alone.
//!
//! What lies in it is trusted: code that is run, browsers' logins, the numbers of processes to be ended. So it must belong
//! to the user whose rights this process has, no other user may write to it, and no other user may be able to put
//! another folder in its place. Other users' rights to read it are taken away if it holds nothing but ours; a folder
//! that holds other things as well is refused instead, because its permissions may be meant.

use codemode_chromium::{PrivateDir, Untrusted};
use codemode_spec::{ErrorCode, ErrorReport};
use rustix::process::geteuid;
use std::{
    collections::VecDeque,
    env,
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Component, Path, PathBuf},
};
use thiserror::Error;

/// The file of the store. What SQLite keeps beside it begins with this name.
const STORE: &str = "sessions.db";
/// The files that belong to the store: its own, SQLite's beside it, and the one by which openings come in turn.
const STORE_FILES: [&str; 5] = [STORE, "sessions.db-wal", "sessions.db-shm", "sessions.db-journal", "sessions.lock"];
/// The locks by which it is seen which hosts live.
const HOSTS: &str = "hosts";
/// The browsers' profiles, and their owners' record of them.
const PROFILES: &str = "profiles";
/// What browsers download, a folder for each session.
const DOWNLOADS: &str = "downloads";
/// The cookies of each key.
const COOKIES: &str = "cookies";
/// What executions leave for the next one that uses the browser of a key.
const NOTES: &str = "notes";
/// What of a result was cut, a folder for each execution.
const ARTIFACTS: &str = "artifacts";
/// Prepared sandbox images.
const IMAGES: &str = "images";
/// The sockets of keepers.
const SOCKETS: &str = "run";
/// Descriptions of the protocols of browsers.
const PROTOCOLS: &str = "protocols";
/// Values that pages get and scripts do not, sealed, with the key.
const SECRETS: &str = "secrets";
/// What logins left in browsers, saved by scripts, sealed, with the key.
const LOGINS: &str = "logins";
/// What clients of a contract over HTTP did.
const HISTORY: &str = "history";
const FOLDERS: [&str; 12] =
    [HOSTS, PROFILES, DOWNLOADS, COOKIES, NOTES, ARTIFACTS, IMAGES, SOCKETS, PROTOCOLS, SECRETS, LOGINS, HISTORY];
/// Links on the way to the folder; the kernel follows as many.
const LINKS_MAX: usize = 40;

/// The paths in a state folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    /// Absolute, and without links once it was checked.
    path: PathBuf,
}

/// Why a folder is not used.
#[derive(Debug, Error)]
pub enum StateDirError {
    /// Nothing says where the state folder is.
    #[error("there is no state folder: the environment names no home folder")]
    NoHome,
    /// The state folder cannot be made or looked at.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The state folder is another user's, or other users can write to it.
    #[error("the state folder cannot be trusted: {0}")]
    Untrusted(Untrusted),
    /// Other users can read the state folder, and it holds entries that are not ours.
    #[error("the state folder {} can be read by other users (mode {mode:o}), and it holds other things: {}", path.display(), other.display())]
    Shared {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// The first of the other things.
        other: PathBuf,
    },
    /// Others could put another folder in its place.
    #[error("the state folder {} cannot be trusted, because of a folder above it: {fault}", path.display())]
    Above {
        /// The state folder.
        path: PathBuf,
        /// What is wrong above it.
        fault: Untrusted,
    },
    /// Something in it was not put there by us.
    #[error("the state folder {} holds what codemode did not put there: {fault}", path.display())]
    Planted {
        /// The state folder.
        path: PathBuf,
        /// What is wrong with it.
        fault: Untrusted,
    },
}

impl From<StateDirError> for ErrorReport {
    fn from(error: StateDirError) -> Self {
        const ANOTHER: &str = "name a folder of your own with --state-dir or CODEMODE_STATE_DIR";
        let hint = match &error {
            StateDirError::NoHome => {
                "Name a folder with --state-dir or CODEMODE_STATE_DIR, or set HOME to your home folder.".to_owned()
            }
            StateDirError::Io { .. } => format!("Make it accessible for this user, or {ANOTHER}."),
            StateDirError::Untrusted(Untrusted::Writable { path, .. }) => format!(
                "Check that nothing in it belongs to another user, then run: chmod 700 {}. Or {ANOTHER}.",
                path.display()
            ),
            StateDirError::Untrusted(_) => format!("Instead {ANOTHER}."),
            StateDirError::Shared { path, .. } => {
                format!("If the folder is for codemode alone, run: chmod 700 {}. If not, {ANOTHER}.", path.display())
            }
            StateDirError::Above { fault: Untrusted::Writable { path, .. }, .. } => {
                format!(
                    "Run: chmod go-w {}. Or {ANOTHER}, below folders that only you and root can write.",
                    path.display()
                )
            }
            StateDirError::Above { .. } => {
                format!("Instead {ANOTHER}, below folders that only you and root can write.")
            }
            StateDirError::Planted { .. } => {
                format!("See who put it there, and remove it; or {ANOTHER}. Nothing was changed.")
            }
        };
        let code = match &error {
            StateDirError::Io { .. } => ErrorCode::IoError,
            _ => ErrorCode::NotReady,
        };
        let report = Self::new(code, error.to_string()).with_hint(hint);
        // Only a person can change it.
        Self { retryable: false, ..report }
    }
}

impl StateDir {
    /// The state folder at a path, made if it is not there, with every check on it: see the module.
    ///
    /// # Errors
    /// As [`StateDirError`] says; nothing in the folder was changed then.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        let path = real(path)?;
        let folder = PrivateDir::make(&path).map_err(|error| match Untrusted::of(&error) {
            Some(why) => StateDirError::Untrusted(why.clone()),
            None => StateDirError::Io { doing: "make the state folder", path: path.clone(), source: error },
        })?;
        let looked = |source| StateDirError::Io { doing: "look into the state folder", path: path.clone(), source };
        let checked = |result: io::Result<()>| {
            result.map_err(|error| match Untrusted::of(&error) {
                Some(fault) => StateDirError::Planted { path: path.clone(), fault: fault.clone() },
                None => looked(error),
            })
        };
        for name in FOLDERS {
            checked(folder.find_folder(name).map(drop))?;
        }
        for name in STORE_FILES {
            checked(folder.require_file(name))?;
        }
        let mode = folder.mode().map_err(looked)?;
        if mode & 0o077 != 0 {
            let names = folder.names().map_err(looked)?;
            if let Some(other) = names.into_iter().find(|name| !is_ours(name)) {
                return Err(StateDirError::Shared { other: path.join(other), path: path.clone(), mode });
            }
            folder.tighten().map_err(|source| StateDirError::Io {
                doing: "close to others",
                path: path.clone(),
                source,
            })?;
            tracing::info!(folder = %path.display(), "the state folder is closed to other users from now on");
        }
        Ok(Self { path })
    }

    /// The paths in a folder that is neither made nor looked at: for simulations.
    #[must_use]
    pub fn imagined(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Where the state folder is unless it is named, by the XDG base directory specification. There is no other place:
    /// a folder that all users share belongs to none of them.
    ///
    /// # Errors
    /// Without a home folder.
    pub fn usual() -> Result<PathBuf, StateDirError> {
        usual(|name| env::var_os(name))
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of the store.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// The folder of the hosts' locks.
    #[must_use]
    pub fn hosts(&self) -> PathBuf {
        self.path.join(HOSTS)
    }

    /// The folder of the profiles.
    #[must_use]
    pub fn profiles(&self) -> PathBuf {
        self.path.join(PROFILES)
    }

    /// Where the browser of a session, or of an execution without one, puts what it downloads.
    #[must_use]
    pub fn downloads(&self, session: &str) -> PathBuf {
        self.path.join(DOWNLOADS).join(session)
    }

    /// The file of a key's cookies.
    #[must_use]
    pub fn cookies(&self, key: &str) -> PathBuf {
        self.path.join(COOKIES).join(format!("{}.json", profile_of_key(key)))
    }

    /// The file of what an execution leaves for the next one that uses the browser of a key.
    #[must_use]
    pub fn notes(&self, key: &str) -> PathBuf {
        self.path.join(NOTES).join(format!("{}.bin", profile_of_key(key)))
    }

    /// Where the files of an execution are put.
    #[must_use]
    pub fn artifacts(&self, execution: &str) -> PathBuf {
        self.path.join(ARTIFACTS).join(execution)
    }

    /// The folder of prepared sandbox images.
    #[must_use]
    pub fn images(&self) -> PathBuf {
        self.path.join(IMAGES)
    }

    /// The folder of keepers' sockets. A socket's path must have less than 108 bytes, which this folder's may already
    /// have: [`PrivateDir::short_path`] helps.
    #[must_use]
    pub fn sockets(&self) -> PathBuf {
        self.path.join(SOCKETS)
    }

    /// The folder of what is known of browsers' programs: their versions, and the descriptions of their protocols.
    #[must_use]
    pub fn protocols(&self) -> PathBuf {
        self.path.join(PROTOCOLS)
    }

    /// The folder of the secrets.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.path.join(SECRETS)
    }

    /// The folder of the saved login states.
    #[must_use]
    pub fn logins(&self) -> PathBuf {
        self.path.join(LOGINS)
    }

    /// The folder of the history of contracts over HTTP.
    #[must_use]
    pub fn history(&self) -> PathBuf {
        self.path.join(HISTORY)
    }

    /// The folders in which each execution or session has one of its own, which is kept for a while.
    #[must_use]
    pub fn kept_for_a_while(&self) -> [PathBuf; 2] {
        [ARTIFACTS, DOWNLOADS].map(|name| self.path.join(name))
    }
}

/// The name of the profile that a key keeps: a key may hold what no file name can.
#[must_use]
pub fn profile_of_key(key: &str) -> String {
    format!("key-{}", &blake3::hash(key.as_bytes()).to_hex()[..32])
}

fn usual(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StateDirError> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .map(|folder| folder.join("codemode"))
        .or_else(|| Some(absolute("HOME")?.join(".local/state/codemode")))
        .ok_or(StateDirError::NoHome)
}

fn is_ours(name: &OsStr) -> bool {
    FOLDERS.iter().chain(&STORE_FILES).any(|ours| name == *ours)
}

/// The path without links, made as far as it is not there. Every folder on the way, also on the way of a link, is one in
/// which only this user or the system can put something else in the place of the next.
fn real(path: &Path) -> Result<PathBuf, StateDirError> {
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| StateDirError::Io { doing, path, source }
    };
    let wanted = std::path::absolute(path).map_err(failed("find", path))?;
    let above = |fault| StateDirError::Above { path: wanted.clone(), fault };
    let names = |path: &Path| -> Vec<OsString> { path.components().map(|name| name.as_os_str().to_owned()).collect() };
    let mut ahead: VecDeque<OsString> = names(&wanted).into();
    let (mut current, mut links) = (PathBuf::from("/"), 0);
    while let Some(name) = ahead.pop_front() {
        match Path::new(&name).components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::RootDir) => {
                current = PathBuf::from("/");
                continue;
            }
            Some(Component::ParentDir) => {
                current.pop();
                continue;
            }
            _ => continue,
        }
        require_stable(&current).map_err(failed("look at", &current))?.map_or(Ok(()), |fault| Err(above(fault)))?;
        let next = current.join(&name);
        if let Err(error) = DirBuilder::new().mode(0o700).create(&next)
            && error.kind() != io::ErrorKind::AlreadyExists
            // It may be there and in a folder that cannot be written.
            && fs::symlink_metadata(&next).is_err()
        {
            return Err(failed("make the folder", &next)(error));
        }
        let metadata = fs::symlink_metadata(&next).map_err(failed("look at", &next))?;
        if !metadata.is_symlink() {
            current = next;
            continue;
        }
        links += 1;
        if links > LINKS_MAX || !is_of_the_system_or_ours(metadata.uid()) {
            return Err(above(Untrusted::Owner { path: next, uid: metadata.uid() }));
        }
        let target = fs::read_link(&next).map_err(failed("follow", &next))?;
        names(&target).into_iter().rev().for_each(|name| ahead.push_front(name));
    }
    Ok(current)
}

/// What is wrong with a folder in which an entry of ours must stay what it is.
fn require_stable(folder: &Path) -> io::Result<Option<Untrusted>> {
    let metadata = fs::metadata(folder)?;
    let (path, uid, mode) = (folder.to_owned(), metadata.uid(), metadata.mode() & 0o7777);
    if !is_of_the_system_or_ours(uid) {
        return Ok(Some(Untrusted::Owner { path, uid }));
    }
    // In a folder with the sticky bit, no user can move or remove another user's entries.
    let is_sticky = mode & 0o1000 != 0;
    let by_group = mode & 0o020 != 0 && !is_group_of_ours_alone(metadata.gid());
    let is_open = mode & 0o002 != 0 || by_group;
    Ok((is_open && !is_sticky).then_some(Untrusted::Writable { path, mode }))
}

fn is_of_the_system_or_ours(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw() || (uid == overflow_uid() && !has_all_users())
}

/// Whom the kernel names as the owner of what belongs to a user that this user namespace does not have.
fn overflow_uid() -> u32 {
    let read = fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    read.and_then(|text| text.trim().parse().ok()).unwrap_or(65_534)
}

/// Whether all users have their own numbers here. In a container that maps only some of them, the system's own folders
/// have the overflow user as their owner.
fn has_all_users() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let fields: Vec<_> = map.split_whitespace().collect();
    fields.is_empty() || fields == ["0", "0", "4294967295"]
}

/// Whether a group has no members but this user and root, as the group that some systems give to each user: its right
/// to write is no right of others then.
fn is_group_of_ours_alone(gid: u32) -> bool {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    has_no_others(&read("/etc/passwd"), &read("/etc/group"), gid, geteuid().as_raw())
}

fn has_no_others(passwd: &str, group: &str, gid: u32, uid: u32) -> bool {
    fn number(field: Option<&&str>) -> Option<u32> {
        field?.parse().ok()
    }
    let users: Vec<Vec<&str>> = passwd.lines().map(|line| line.split(':').collect()).collect();
    let is_other = |user: &[&str]| !matches!(number(user.get(2)), Some(0)) && number(user.get(2)) != Some(uid);
    let is_member = |user: &[&str]| number(user.get(3)) == Some(gid);
    let Some(group) =
        group.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|g| number(g.get(2)) == Some(gid))
    else {
        // Its members are listed where we cannot read them.
        return false;
    };
    let mut named = group.get(3).into_iter().flat_map(|members| members.split(',')).filter(|name| !name.is_empty());
    let is_known_other =
        |name: &str| users.iter().find(|user| user.first() == Some(&name)).is_none_or(|user| is_other(user));
    !named.any(is_known_other) && !users.iter().any(|user| is_member(user) && is_other(user))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn permit(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn without_a_home_there_is_no_folder_and_the_remedy_is_named() {
        let path = |pairs: &'static [(&str, &str)]| {
            usual(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(*value)))
        };
        assert_eq!(path(&[("HOME", "/h"), ("XDG_STATE_HOME", "/x")]).unwrap(), Path::new("/x/codemode"));
        assert_eq!(path(&[("HOME", "/h"), ("XDG_STATE_HOME", "x")]).unwrap(), Path::new("/h/.local/state/codemode"));
        let environments: [&[(&str, &str)]; 3] = [&[], &[("HOME", "")], &[("HOME", "h"), ("XDG_STATE_HOME", "")]];
        for variables in environments {
            let report = ErrorReport::from(path(variables).unwrap_err());
            assert_eq!((report.code, report.retryable), (ErrorCode::NotReady, false));
            for word in ["--state-dir", "CODEMODE_STATE_DIR", "HOME"] {
                assert!(report.hint.contains(word), "{report}");
            }
        }
    }

    #[test]
    fn a_folder_is_made_private_and_one_that_others_can_write_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/state");
        let state = StateDir::open(&path).unwrap();
        assert_eq!((state.path(), mode(&path), mode(&temp.path().join("a"))), (&*path, 0o700, 0o700));
        // Ours alone: closed to readers.
        fs::create_dir(state.hosts()).unwrap();
        permit(&path, 0o755);
        StateDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        // Something else is in it: its permissions may be meant.
        fs::write(path.join("index.html"), "").unwrap();
        permit(&path, 0o755);
        let report = ErrorReport::from(StateDir::open(&path).unwrap_err());
        assert!(report.message.contains("index.html") && report.hint.contains("chmod 700"), "{report}");
        assert_eq!(mode(&path), 0o755);
        for open in [0o770, 0o707, 0o777, 0o1777] {
            permit(&path, open);
            let report = ErrorReport::from(StateDir::open(&path).unwrap_err());
            assert_eq!(report.code, ErrorCode::NotReady);
            assert!(report.message.contains("written by other users") && report.hint.contains("chmod 700"), "{report}");
            assert_eq!(mode(&path), open, "nothing was changed");
        }
        fs::write(temp.path().join("file"), "").unwrap();
        assert!(StateDir::open(&temp.path().join("file")).is_err());
    }

    #[test]
    fn no_other_user_may_be_able_to_put_another_folder_in_its_place() {
        let temp = tempfile::tempdir().unwrap();
        let above = temp.path().join("above");
        let path = above.join("way/state");
        StateDir::open(&path).unwrap();
        for (open, is_trusted) in [(0o777, false), (0o770, false), (0o1777, true), (0o755, true)] {
            // Of a group that some other user has.
            std::os::unix::fs::chown(&above, None, shared_group()).unwrap();
            permit(&above, open);
            let opened = StateDir::open(&path);
            assert_eq!(
                opened.is_ok(),
                is_trusted || (open == 0o770 && shared_group().is_none()),
                "{open:o} {opened:?}"
            );
            if let Err(error) = opened {
                let report = ErrorReport::from(error);
                assert!(report.hint.contains(&format!("chmod go-w {}", above.display())), "{report}");
            }
        }
        if geteuid().is_root() {
            std::os::unix::fs::chown(&above, Some(65_533), None).unwrap();
            let report = ErrorReport::from(StateDir::open(&path).unwrap_err());
            assert!(report.message.contains("another user (uid 65533)"), "{report}");
            std::os::unix::fs::chown(&path, Some(65_533), None).unwrap();
            std::os::unix::fs::chown(&above, Some(0), None).unwrap();
            assert!(matches!(
                StateDir::open(&path),
                Err(StateDirError::Untrusted(Untrusted::Owner { uid: 65_533, .. }))
            ));
        }
    }

    /// Root can give a folder to a group that has others; an ordinary user cannot.
    fn shared_group() -> Option<u32> {
        geteuid().is_root().then_some(65_533)
    }

    #[test]
    fn links_on_the_way_are_followed_if_only_we_could_set_them() {
        let temp = tempfile::tempdir().unwrap();
        let (folder, link) = (temp.path().join("folder"), temp.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink("folder", &link).unwrap();
        let state = StateDir::open(&link.join("../link/state")).unwrap();
        assert_eq!(state.path(), folder.join("state"));
        symlink(&link, folder.join("round")).unwrap();
        symlink(folder.join("loop"), folder.join("loop")).unwrap();
        assert!(StateDir::open(&folder.join("loop/state")).is_err());
        if geteuid().is_root() {
            std::os::unix::fs::lchown(&link, Some(65_533), None).unwrap();
            assert!(matches!(StateDir::open(&link.join("state")), Err(StateDirError::Above { .. })));
        }
    }

    #[test]
    fn what_was_planted_in_it_is_refused_and_left_as_it_is() {
        let outside = tempfile::tempdir().unwrap();
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state");
        StateDir::open(&path).unwrap();
        let secret = outside.path().join("secret");
        fs::write(&secret, "as it was").unwrap();
        for name in FOLDERS.iter().chain(&STORE_FILES) {
            let planted = path.join(name);
            let target = if FOLDERS.contains(name) { outside.path() } else { &secret };
            symlink(target, &planted).unwrap();
            let report = ErrorReport::from(StateDir::open(&path).unwrap_err());
            assert!(report.message.contains(name) && report.message.contains("is a link"), "{report}");
            fs::remove_file(&planted).unwrap();
        }
        fs::hard_link(&secret, path.join(STORE)).unwrap();
        assert!(matches!(StateDir::open(&path), Err(StateDirError::Planted { fault: Untrusted::HardLink(_), .. })));
        fs::remove_file(path.join(STORE)).unwrap();
        fs::create_dir(path.join(PROFILES)).unwrap();
        permit(&path.join(PROFILES), 0o777);
        assert!(matches!(StateDir::open(&path), Err(StateDirError::Planted { fault: Untrusted::Writable { .. }, .. })));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(secret).unwrap(), "as it was");
    }

    #[test]
    fn a_group_of_one_is_no_other() {
        let passwd = "root:x:0:0::/:\nada:x:1000:1000::/:\nbob:x:1001:1001::/:\neve:x:1002:50::/:\n";
        let group = "root:x:0:\nada:x:1000:\nbob:x:1001:ada\nstaff:x:50:\nteam:x:60:ada,root\nmany:x:70:ada,bob\nfar:x:80:zoe\n";
        let alone: Vec<_> = [0, 1000, 1001, 50, 60, 70, 80, 90]
            .into_iter()
            .filter(|gid| has_no_others(passwd, group, *gid, 1000))
            .collect();
        assert_eq!(alone, [0, 1000, 60]);
    }
}
