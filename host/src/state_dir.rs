//! The state folder: the paths of everything that the host persists, and the check that the folder is private to its
//! user.
//!
//! The contents are trusted: code that is run, browsers' logins, the numbers of processes to be killed. So the folder
//! must belong to the effective user of this process, no other user may write to it, and no other user may be able to
//! replace it with another folder. Other users' read permission is removed if the folder holds only codemode's entries;
//! a folder with other entries is refused instead, because its permissions may be intended.

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

/// The file of the store. The names of the files that SQLite puts beside it begin with this name.
const STORE: &str = "sessions.db";
/// The files of the store: the database, SQLite's files beside it, and the lock that serialises opening.
const STORE_FILES: [&str; 5] = [STORE, "sessions.db-wal", "sessions.db-shm", "sessions.db-journal", "sessions.lock"];
/// Lock files that prove which host processes are alive.
const HOSTS: &str = "hosts";
/// The browsers' profiles, and the ledgers of their owners.
const PROFILES: &str = "profiles";
/// The browsers' downloads, in a folder for each session.
const DOWNLOADS: &str = "downloads";
/// The saved cookies of each key.
const COOKIES: &str = "cookies";
/// Data that an execution leaves for the next one that uses the browser of the same key.
const NOTES: &str = "notes";
/// Files of results that did not fit into the answer, in a folder for each execution.
const ARTIFACTS: &str = "artifacts";
/// Prepared sandbox images.
const IMAGES: &str = "images";
/// The sockets of keepers.
const SOCKETS: &str = "run";
/// Descriptions of browsers' debugging protocols.
const PROTOCOLS: &str = "protocols";
/// Values that pages receive and scripts never see, encrypted, with the encryption key.
const SECRETS: &str = "secrets";
/// Login states saved by scripts, encrypted, with the encryption key.
const LOGINS: &str = "logins";
/// What clients of the HTTP contracts did.
const HISTORY: &str = "history";
const FOLDERS: [&str; 12] =
    [HOSTS, PROFILES, DOWNLOADS, COOKIES, NOTES, ARTIFACTS, IMAGES, SOCKETS, PROTOCOLS, SECRETS, LOGINS, HISTORY];
/// The most symbolic links on the path to the folder; the kernel has the same limit.
const LINKS_MAX: usize = 40;

/// The paths in a state folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    /// Absolute, and without symbolic links once checked.
    path: PathBuf,
}

/// Why a state folder is refused.
#[derive(Debug, Error)]
pub enum StateDirError {
    /// No state folder is configured, and there is no home folder for the default one.
    #[error("there is no state folder: the environment names no home folder")]
    NoHome,
    /// The state folder cannot be created or inspected.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The state folder is another user's, or other users can write to it.
    #[error("the state folder cannot be trusted: {0}")]
    Untrusted(Untrusted),
    /// Other users can read the state folder, and it holds entries that are not codemode's.
    #[error("the state folder {} can be read by other users (mode {mode:o}), and it holds other things: {}", path.display(), other.display())]
    Shared {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// The first of the other entries.
        other: PathBuf,
    },
    /// Other users could replace the state folder with another one.
    #[error("the state folder {} cannot be trusted, because of a folder above it: {fault}", path.display())]
    Above {
        /// The state folder.
        path: PathBuf,
        /// The problem with a folder above it.
        fault: Untrusted,
    },
    /// An entry of the state folder was not put there by codemode.
    #[error("the state folder {} holds what codemode did not put there: {fault}", path.display())]
    Planted {
        /// The state folder.
        path: PathBuf,
        /// The problem with the entry.
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
        // Retrying does not help: only a person can repair it.
        Self { retryable: false, ..report }
    }
}

impl StateDir {
    /// Opens the state folder at a path, and creates it if it is missing, with every check that the module describes.
    ///
    /// # Errors
    /// As [`StateDirError`] lists them; nothing in the folder has been changed then.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        let path = resolve(path)?;
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

    /// The paths below a folder that is neither created nor checked: for simulations.
    #[must_use]
    pub fn unchecked(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The default path of the state folder, by the XDG base directory specification. There is no fallback to a folder
    /// that all users share, since it would belong to none of them.
    ///
    /// # Errors
    /// When the environment names no home folder.
    pub fn default_path() -> Result<PathBuf, StateDirError> {
        default_path(|name| env::var_os(name))
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

    /// The folder for the downloads of a session's browser, or of an execution without a session.
    #[must_use]
    pub fn downloads(&self, session: &str) -> PathBuf {
        self.path.join(DOWNLOADS).join(session)
    }

    /// The file of a key's cookies.
    #[must_use]
    pub fn cookies(&self, key: &str) -> PathBuf {
        self.path.join(COOKIES).join(format!("{}.json", profile_of_key(key)))
    }

    /// The file of the data that an execution leaves for the next one that uses the browser of this key.
    #[must_use]
    pub fn notes(&self, key: &str) -> PathBuf {
        self.path.join(NOTES).join(format!("{}.bin", profile_of_key(key)))
    }

    /// The folder for the files of an execution.
    #[must_use]
    pub fn artifacts(&self, execution: &str) -> PathBuf {
        self.path.join(ARTIFACTS).join(execution)
    }

    /// The folder of prepared sandbox images.
    #[must_use]
    pub fn images(&self) -> PathBuf {
        self.path.join(IMAGES)
    }

    /// The folder of keepers' sockets. A socket's path must be shorter than 108 bytes, and this folder's path may
    /// already be longer: use [`PrivateDir::short_path`].
    #[must_use]
    pub fn sockets(&self) -> PathBuf {
        self.path.join(SOCKETS)
    }

    /// The folder of facts about browser programs: their versions, and the descriptions of their protocols.
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

    /// The folder of the history of the HTTP contracts.
    #[must_use]
    pub fn history(&self) -> PathBuf {
        self.path.join(HISTORY)
    }

    /// The folders in which each execution or session has a subfolder that is removed after a retention time.
    #[must_use]
    pub fn retained_folders(&self) -> [PathBuf; 2] {
        [ARTIFACTS, DOWNLOADS].map(|name| self.path.join(name))
    }
}

/// The name of the profile of a key, hashed because a key may hold characters that a file name cannot.
#[must_use]
pub fn profile_of_key(key: &str) -> String {
    format!("key-{}", &blake3::hash(key.as_bytes()).to_hex()[..32])
}

fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StateDirError> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .map(|folder| folder.join("codemode"))
        .or_else(|| Some(absolute("HOME")?.join(".local/state/codemode")))
        .ok_or(StateDirError::NoHome)
}

fn is_ours(name: &OsStr) -> bool {
    FOLDERS.iter().chain(&STORE_FILES).any(|ours| name == *ours)
}

/// Resolves symbolic links and creates missing folders. Every folder on the way, also on the way of a link, must be one
/// in which only this user or the system can replace the next.
fn resolve(path: &Path) -> Result<PathBuf, StateDirError> {
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
            // The folder may exist inside one that cannot be written.
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
        if links > LINKS_MAX || !is_trusted_owner(metadata.uid()) {
            return Err(above(Untrusted::Owner { path: next, uid: metadata.uid() }));
        }
        let target = fs::read_link(&next).map_err(failed("follow", &next))?;
        names(&target).into_iter().rev().for_each(|name| ahead.push_front(name));
    }
    Ok(current)
}

/// Checks that only this user or the system can replace an entry of ours in this folder; returns the problem if not.
fn require_stable(folder: &Path) -> io::Result<Option<Untrusted>> {
    let metadata = fs::metadata(folder)?;
    let (path, uid, mode) = (folder.to_owned(), metadata.uid(), metadata.mode() & 0o7777);
    if !is_trusted_owner(uid) {
        return Ok(Some(Untrusted::Owner { path, uid }));
    }
    // In a folder with the sticky bit, no user can move or remove another user's entries.
    let is_sticky = mode & 0o1000 != 0;
    let by_group = mode & 0o020 != 0 && !is_private_group(metadata.gid());
    let is_open = mode & 0o002 != 0 || by_group;
    Ok((is_open && !is_sticky).then_some(Untrusted::Writable { path, mode }))
}

fn is_trusted_owner(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw() || (uid == overflow_uid() && !has_all_users())
}

/// The owner that the kernel reports for files of users that have no number in this user namespace.
fn overflow_uid() -> u32 {
    let read = fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    read.and_then(|text| text.trim().parse().ok()).unwrap_or(65_534)
}

/// Whether this user namespace maps all users. In a container that maps only some of them, the system's own folders
/// belong to the overflow user.
fn has_all_users() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let fields: Vec<_> = map.split_whitespace().collect();
    fields.is_empty() || fields == ["0", "0", "4294967295"]
}

/// Whether a group has no members but this user and root, like the group that some systems create for each user. Write
/// permission for such a group grants nothing to other users.
fn is_private_group(gid: u32) -> bool {
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
        // The group's members are listed in a database that we cannot read.
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
            default_path(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(*value)))
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
        // Holds only codemode's entries: read permission is removed.
        fs::create_dir(state.hosts()).unwrap();
        permit(&path, 0o755);
        StateDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        // Holds another entry: its permissions may be intended.
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
            // A group that another user belongs to.
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
