//! Private folders: folders that only this user can write, accessed through an open handle.
//!
//! Entries are accessed by their name relative to the open folder, never by a full path, and never through a link: a
//! link that another user created before the folder was private, or that a browser created in its own profile, cannot
//! redirect any access.

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, renameat, statat, unlinkat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, Write as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{ffi::OsStringExt as _, fs::DirBuilderExt as _},
    },
    path::{Component, Path, PathBuf},
    sync::Arc,
};
use thiserror::Error;

/// The permission bits that must not be set: write access for the group or for all users.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The suffix of a temporary file that has not been renamed to its final name yet.
const SUFFIX_NEW: &str = "new";

/// Why a folder or file is not trusted to be under this user's sole control. This is the inner error of an
/// [`io::Error`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Untrusted {
    /// The entry is a link.
    #[error("{} is a link", .0.display())]
    Link(PathBuf),
    /// The entry is not a folder.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The entry is not a regular file.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The file has another hard link, which may be anywhere.
    #[error("{} has a second name (a hard link)", .0.display())]
    HardLink(PathBuf),
    /// The file or folder belongs to another user.
    #[error("{} belongs to another user (uid {uid})", path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The owner's uid.
        uid: u32,
    },
    /// Other users can change the file or folder.
    #[error("{} can be written by other users (mode {mode:o})", path.display())]
    Writable {
        /// The file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

impl From<Untrusted> for io::Error {
    fn from(why: Untrusted) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, why)
    }
}

impl Untrusted {
    /// The [`Untrusted`] inside an error, if there is one.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// A folder that belongs to this user and that no other user can write to. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PrivateDir {
    handle: Arc<OwnedFd>,
    path: PathBuf,
}

impl PrivateDir {
    /// Opens the folder at a path. A missing folder and its missing parents are created, accessible to this user alone.
    ///
    /// # Errors
    /// When the folder cannot be created or opened, or with an [`Untrusted`].
    pub fn make(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        Self::checked(open(&path, FOLDER, Mode::empty()), path)
    }

    /// Opens the folder at a path, if it exists.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn find(path: &Path) -> io::Result<Option<Self>> {
        let path = std::path::absolute(path)?;
        found(Self::checked(open(&path, FOLDER, Mode::empty()), path))
    }

    /// Opens a folder in this folder, creating it if it is missing.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = plain(name.as_ref())?;
        match mkdirat(&self.handle, name, Mode::RWXU) {
            Err(error) if error != Errno::EXIST => return Err(error.into()),
            _ => {}
        }
        Self::checked(openat(&self.handle, name, FOLDER, Mode::empty()), self.path.join(name))
    }

    /// Opens a folder in this folder, if it exists.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn find_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Self>> {
        let name = plain(name.as_ref())?;
        found(Self::checked(openat(&self.handle, name, FOLDER, Mode::empty()), self.path.join(name)))
    }

    /// Opens a folder in this folder, creating it if it is missing. An existing folder may belong to another user,
    /// namely a browser's dedicated user.
    ///
    /// # Errors
    /// When the folder cannot be created, or the entry is a link or not a folder.
    pub fn make_folder_of_any(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = plain(name.as_ref())?;
        match mkdirat(&self.handle, name, Mode::RWXU) {
            Err(error) if error != Errno::EXIST => return Err(error.into()),
            _ => {}
        }
        self.open_folder_of_any(name)
    }

    /// As [`Self::make_folder_of_any`], but opens only an existing folder.
    ///
    /// # Errors
    /// As [`Self::make_folder_of_any`].
    pub fn find_folder_of_any(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Self>> {
        found(self.open_folder_of_any(plain(name.as_ref())?))
    }

    fn open_folder_of_any(&self, name: &OsStr) -> io::Result<Self> {
        let path = self.path.join(name);
        let handle = openat(&self.handle, name, FOLDER, Mode::empty()).map_err(|error| not_opened(error, &path))?;
        Ok(Self { handle: Arc::new(handle), path })
    }

    fn checked(opened: Result<OwnedFd, Errno>, path: PathBuf) -> io::Result<Self> {
        let handle = opened.map_err(|error| not_opened(error, &path))?;
        require_ours(&fstat(&handle)?, &path)?;
        Ok(Self { handle: Arc::new(handle), path })
    }

    /// The folder's path, for messages and for programs that accept only paths.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A short path to an entry, however long the folder's path is: the path of a socket must have less than 108 bytes.
    /// Valid in this process while the folder is held open.
    #[must_use]
    pub fn short_path(&self, name: impl AsRef<Path>) -> PathBuf {
        Path::new("/proc/self/fd").join(self.handle.as_raw_fd().to_string()).join(name)
    }

    /// Sets mode 0700: no other user can read, write or enter the folder.
    ///
    /// # Errors
    /// When the folder's permissions cannot be changed.
    pub fn tighten(&self) -> io::Result<()> {
        Ok(rustix::fs::fchmod(&self.handle, Mode::RWXU)?)
    }

    /// The folder's permissions.
    ///
    /// # Errors
    /// When the folder's metadata cannot be read.
    pub fn mode(&self) -> io::Result<u32> {
        Ok(permissions(&fstat(&self.handle)?))
    }

    /// The names of the folder's entries.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = Dir::read_from(&self.handle)?;
        let name = |entry: rustix::fs::DirEntry| OsString::from_vec(entry.file_name().to_bytes().to_vec());
        let names = entries.map(|entry| entry.map(name).map_err(io::Error::from));
        names.filter(|name| !matches!(name, Ok(name) if name == "." || name == "..")).collect()
    }

    /// Opens a file for reading, if it exists.
    ///
    /// # Errors
    /// When the file cannot be opened, or with an [`Untrusted`].
    pub fn read(&self, name: impl AsRef<OsStr>) -> io::Result<Option<File>> {
        found(self.open(name.as_ref(), OFlags::RDONLY))
    }

    /// Opens a file for reading and appending, if it exists.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn append(&self, name: impl AsRef<OsStr>) -> io::Result<Option<File>> {
        found(self.open(name.as_ref(), OFlags::RDWR | OFlags::APPEND))
    }

    /// Creates a file for reading and appending, which must not exist yet.
    ///
    /// # Errors
    /// `AlreadyExists` if an entry has that name, a link included.
    pub fn create(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open(name.as_ref(), OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens a file for reading and writing, creating it if it is missing; existing content is retained.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn open_or_create(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open(name.as_ref(), OFlags::RDWR | OFlags::CREATE)
    }

    /// Writes a file atomically, replacing the entry that has the name.
    ///
    /// # Errors
    /// When the file cannot be written; the existing entry is then retained.
    pub fn replace(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> io::Result<()> {
        let name = plain(name.as_ref())?;
        // The temporary name is random, so that no other writer uses it, and starts with the final name.
        let unique = RandomState::new().build_hasher().finish();
        let new = Path::new(name).with_extension(format!("{unique:016x}.{SUFFIX_NEW}"));
        let mut file = self.create(&new)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let placed = written.and_then(|()| self.rename(&new, self, name));
        placed.inspect_err(|_| drop(self.remove_file(&new)))
    }

    /// Moves an entry into a folder under a new name, replacing an existing entry.
    ///
    /// # Errors
    /// When the entry cannot be moved.
    pub fn rename(&self, name: impl AsRef<OsStr>, to: &Self, new: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&self.handle, plain(name.as_ref())?, &to.handle, plain(new.as_ref())?)?)
    }

    /// Removes a file; for a link, removes the link itself.
    ///
    /// # Errors
    /// When the entry exists and cannot be removed.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&self.handle, plain(name.as_ref())?, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Removes a folder if it is empty.
    ///
    /// # Errors
    /// When the folder exists and is not empty, or cannot be removed.
    pub fn remove_empty_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&self.handle, plain(name.as_ref())?, AtFlags::REMOVEDIR) {
            Err(error) if error != Errno::NOENT => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Removes a folder and everything in it; links, at any depth, are removed but not followed.
    ///
    /// # Errors
    /// When a part of the folder cannot be removed.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match fs::remove_dir_all(self.short_path(plain(name.as_ref())?)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// The metadata of an entry; for a link, those of the link itself.
    ///
    /// # Errors
    /// When the entry does not exist, or its metadata cannot be read.
    pub fn metadata(&self, name: impl AsRef<OsStr>) -> io::Result<fs::Metadata> {
        fs::symlink_metadata(self.short_path(plain(name.as_ref())?))
    }

    /// Checks that an entry is missing or a regular file under this user's sole control. The file is not opened:
    /// closing it would release the locks that this process holds on it.
    ///
    /// # Errors
    /// With an [`Untrusted`].
    pub fn require_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = plain(name.as_ref())?;
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => require_file(&stat, &self.path.join(name)),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let name = plain(name)?;
        let path = self.path.join(name);
        // Non-blocking: opening a named pipe in place of a file could wait forever for a process at its other end.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR);
        let file = opened.map_err(|error| not_opened(error, &path))?;
        require_file(&fstat(&file)?, &path)?;
        Ok(file.into())
    }
}

/// The flags for opening a folder.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Maps an error of opening. For a link the kernel reports `ELOOP` or `ENOTDIR`.
fn not_opened(error: Errno, path: &Path) -> io::Error {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    match error {
        Errno::LOOP => Untrusted::Link(path.to_owned()).into(),
        Errno::NOTDIR if is_link() => Untrusted::Link(path.to_owned()).into(),
        Errno::NOTDIR => Untrusted::NotAFolder(path.to_owned()).into(),
        Errno::NXIO => Untrusted::NotAFile(path.to_owned()).into(),
        other => other.into(),
    }
}

fn found<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Checks that a name is a single path component, which cannot lead out of the folder.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no name in a folder")),
    }
}

fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

fn require_ours(stat: &Stat, path: &Path) -> io::Result<()> {
    let (path, mode, uid) = (path.to_owned(), permissions(stat), stat.st_uid);
    if uid != rustix::process::geteuid().as_raw() {
        return Err(Untrusted::Owner { path, uid }.into());
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(Untrusted::Writable { path, mode }.into());
    }
    Ok(())
}

fn require_file(stat: &Stat, path: &Path) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Untrusted::Link(path.to_owned()).into()),
        _ => return Err(Untrusted::NotAFile(path.to_owned()).into()),
    }
    // A count of zero is fine: the file was removed a moment ago.
    if stat.st_nlink > 1 {
        return Err(Untrusted::HardLink(path.to_owned()).into());
    }
    require_ours(stat, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn why(error: io::Error) -> Untrusted {
        Untrusted::of(&error).unwrap_or_else(|| panic!("{error:?}")).clone()
    }

    fn permit(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn nothing_is_reached_through_a_link_or_under_a_second_name() {
        let outside = tempfile::tempdir().unwrap();
        let inside = tempfile::tempdir().unwrap();
        let folder = PrivateDir::make(inside.path()).unwrap();
        let (secret, link) = (outside.path().join("secret"), inside.path().join("link"));
        fs::write(&secret, "as it was").unwrap();
        symlink(&secret, &link).unwrap();
        assert_eq!(why(folder.read("link").unwrap_err()), Untrusted::Link(link.clone()));
        assert_eq!(why(folder.append("link").unwrap_err()), Untrusted::Link(link.clone()));
        assert_eq!(why(folder.open_or_create("link").unwrap_err()), Untrusted::Link(link.clone()));
        assert_eq!(why(folder.require_file("link").unwrap_err()), Untrusted::Link(link.clone()));
        assert_eq!(folder.create("link").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        // Opening a link to a missing file does not create that file.
        symlink(outside.path().join("new"), inside.path().join("dangling")).unwrap();
        assert!(folder.open_or_create("dangling").is_err() && !outside.path().join("new").exists());
        folder.replace("link", b"new").unwrap();
        assert_eq!((fs::read(&secret).unwrap(), fs::read(&link).unwrap()), (b"as it was".to_vec(), b"new".to_vec()));

        fs::hard_link(&secret, inside.path().join("hard")).unwrap();
        assert_eq!(why(folder.append("hard").unwrap_err()), Untrusted::HardLink(inside.path().join("hard")));

        let away = inside.path().join("away");
        symlink(outside.path(), &away).unwrap();
        for opened in [folder.folder("away"), folder.make_folder_of_any("away"), PrivateDir::make(&away)] {
            assert_eq!(why(opened.unwrap_err()), Untrusted::Link(away.clone()));
        }
        assert_eq!(why(folder.find_folder("away").unwrap_err()), Untrusted::Link(away.clone()));
        assert_eq!(why(PrivateDir::find(&away).unwrap_err()), Untrusted::Link(away.clone()));
        folder.remove_folder("away").unwrap();
        assert!(!away.is_symlink() && secret.exists(), "the link goes, and not what it leads to");
        for name in ["", ".", "..", "a/b", "/etc/passwd", "a/"] {
            assert_eq!(folder.read(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn what_others_can_write_or_own_is_not_believed() {
        let temp = tempfile::tempdir().unwrap();
        let folder = PrivateDir::make(&temp.path().join("a/b")).unwrap();
        assert_eq!(folder.mode().unwrap(), 0o700);
        drop(folder.create("file").unwrap());
        let file = folder.path().join("file");
        permit(&file, 0o620);
        assert_eq!(why(folder.read("file").unwrap_err()), Untrusted::Writable { path: file, mode: 0o620 });
        assert!(folder.folder("file").is_err() && folder.read("missing").unwrap().is_none());
        permit(folder.path(), 0o770);
        let path = folder.path().to_owned();
        assert_eq!(why(PrivateDir::make(&path).unwrap_err()), Untrusted::Writable { path, mode: 0o770 });
        // An ordinary user cannot create another user's folder, so it uses one of root's.
        let (foreign, uid) = match rustix::process::geteuid().is_root() {
            true => (temp.path().join("foreign"), 65_534),
            false => ("/usr".into(), 0),
        };
        if uid != 0 {
            fs::create_dir(&foreign).unwrap();
            std::os::unix::fs::chown(&foreign, Some(uid), None).unwrap();
        }
        assert_eq!(why(PrivateDir::make(&foreign).unwrap_err()), Untrusted::Owner { path: foreign, uid });
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        let folder = PrivateDir::make(temp.path()).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, temp.path().join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let pipe = temp.path().join("pipe");
        assert_eq!(why(folder.read("pipe").unwrap_err()), Untrusted::NotAFile(pipe.clone()));
        assert_eq!(why(folder.append("pipe").unwrap_err()), Untrusted::NotAFile(pipe));
    }

    #[test]
    fn what_is_made_is_found_again_and_its_short_path_leads_there() {
        let temp = tempfile::tempdir().unwrap();
        let folder = PrivateDir::make(temp.path()).unwrap();
        folder.replace("key-1.json", b"[]").unwrap();
        drop(folder.folder("sub").unwrap());
        let mut names = folder.names().unwrap();
        names.sort();
        assert_eq!(names, ["key-1.json", "sub"]);
        assert_eq!(fs::read(folder.short_path("key-1.json")).unwrap(), b"[]");
        assert_eq!(permissions(&rustix::fs::stat(folder.short_path("key-1.json")).unwrap()), 0o600);
        folder.remove_empty_folder("sub").unwrap();
        folder.remove_file("key-1.json").unwrap();
        folder.remove_file("key-1.json").unwrap();
        assert_eq!(folder.names().unwrap(), [""; 0]);
    }
}
