//! The user as which a browser runs.
//!
//! An ordinary user's browser runs as that user. Root's browser runs as a dedicated user, who owns the browser's
//! profile and downloads and nothing else: as root, Chromium would have to run without its own sandbox, and a page that
//! escapes from a renderer would control the machine. The path to these folders may contain folders that only root may
//! enter, so the browser gets a mount namespace in which an empty file system covers the first such folder, with the
//! browser's own folders mounted inside at their original paths. The paths stay the same, and nothing else in root's
//! folder is visible.

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, open, openat, statat};
use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::{
            ffi::OsStrExt as _,
            fs::{DirBuilderExt as _, PermissionsExt as _},
            process::CommandExt as _,
        },
    },
    path::{Path, PathBuf},
    process::Command,
};

/// The first uid of dedicated users, above the ranges that other software allocates: systemd assigns container uids up
/// to 0x6FFFFFFF, and uids from 0x80000000 on cause problems.
const FIRST: u32 = 0x7000_0000;
/// The number of dedicated uids.
const COUNT: u32 = 0x00ff_ffff;

/// The user as which a browser runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The user of this process.
    Ours,
    /// A dedicated user, which no person and no other browser uses.
    Own(u32),
}

impl Identity {
    /// The dedicated user of a profile, derived from its path and so the same each time.
    pub(crate) fn of_profile(profile: &Path) -> Self {
        let hash = blake3::hash(profile.as_os_str().as_encoded_bytes());
        let number = u32::from_le_bytes(hash.as_bytes()[..4].try_into().unwrap_or_default());
        Self::Own(FIRST + number % COUNT)
    }

    /// Makes the command run as this user, and transfers the ownership of these folders to the user. Changes the
    /// calling thread's mounts: for a thread that does nothing else.
    pub(super) fn assume(self, command: &mut Command, folders: &[PathBuf]) -> io::Result<()> {
        let Self::Own(user) = self else { return Ok(()) };
        folders.iter().try_for_each(|folder| give(folder, user))?;
        open_the_way(folders)?;
        // Changing the user also drops the supplementary groups.
        command.uid(user).gid(user);
        Ok(())
    }
}

/// Whether a file with this owner may belong to one of codemode's browsers: the owner is this user or, for root, a
/// dedicated user.
pub(crate) fn may_be_a_browsers(user: u32) -> bool {
    let own = rustix::process::geteuid();
    user == own.as_raw() || own.is_root() && (FIRST..FIRST + COUNT).contains(&user)
}

/// Transfers a folder and its content to a user. The content is reached through open folders and never through a link:
/// a process that an earlier browser left behind may change it meanwhile.
fn give(path: &Path, user: u32) -> io::Result<()> {
    give_entry(rustix::fs::CWD, path.as_os_str(), user)
}

fn give_entry(folder: BorrowedFd<'_>, name: &OsStr, user: u32) -> io::Result<()> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let owner = (stat.st_uid != user || stat.st_gid != user).then(|| (Uid::from_raw(user), Gid::from_raw(user)));
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        if let Some((uid, gid)) = owner {
            chownat(folder, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = openat(folder, name, flags, Mode::empty())?;
    if let Some((uid, gid)) = owner {
        fchown(&inner, Some(uid), Some(gid))?;
    }
    for entry in Dir::read_from(&inner)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            give_entry(inner.as_fd(), name, user)?;
        }
    }
    Ok(())
}

/// Makes the folders reachable at their own paths, for this thread and the processes that it starts.
fn open_the_way(folders: &[PathBuf]) -> io::Result<()> {
    let shut = folders.iter().filter_map(|folder| Some((first_shut(folder)?, folder)));
    let shut: Vec<_> = shut.collect();
    if shut.is_empty() {
        return Ok(());
    }
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Mounts in this namespace do not propagate to the parent namespace.
    mount(NONE, "/", NONE, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NONE)?;
    // Opened before they are covered, and after the namespace was created, because only mounts of the same namespace
    // can be bind-mounted.
    let opened = shut.into_iter().map(|(shut, folder)| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok((shut, folder, open(folder, flags, Mode::empty())?))
    });
    let opened: Vec<(PathBuf, &PathBuf, OwnedFd)> = opened.collect::<io::Result<_>>()?;
    let mut covered: Vec<&Path> = Vec::new();
    for (shut, folder, opened) in &opened {
        if !covered.contains(&shut.as_path()) {
            let flags = MsFlags::MS_NODEV | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
            mount(Some("codemode"), shut, Some("tmpfs"), flags, Some("mode=0711,size=64k,nr_inodes=256"))?;
            covered.push(shut);
        }
        fs::DirBuilder::new().recursive(true).mode(0o711).create(folder)?;
        let opened = format!("/proc/self/fd/{}", opened.as_raw_fd());
        mount(Some(opened.as_str()), folder.as_path(), NONE, MsFlags::MS_BIND, NONE)?;
    }
    Ok(())
}

/// The first ancestor of a folder that other users may not enter.
fn first_shut(folder: &Path) -> Option<PathBuf> {
    let mut way: Vec<_> = folder.ancestors().skip(1).collect();
    way.reverse();
    let is_shut = |path: &&Path| fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 == 0);
    way.into_iter().find(is_shut).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs::Permissions,
        os::unix::fs::{MetadataExt as _, symlink},
    };

    #[test]
    fn each_profile_has_a_user_of_its_own_and_keeps_it() {
        let of = |path: &str| Identity::of_profile(Path::new(path));
        assert_eq!(of("/a/b"), of("/a/b"));
        assert_ne!(of("/a/b"), of("/a/c"));
        let Identity::Own(user) = of("/a/b") else { panic!("it has none") };
        assert!((FIRST..0x8000_0000).contains(&user));
    }

    #[test]
    fn nothing_behind_a_link_is_given_away() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (profile, outside) = (folder.path().join("profile"), folder.path().join("outside"));
        for folder in [profile.join("inner"), outside.join("inner")] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
        }
        symlink(&outside, profile.join("link")).unwrap();
        symlink(outside.join("inner/file"), profile.join("inner/link")).unwrap();
        give(&profile, FIRST).unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        for given in ["", "inner", "inner/file", "inner/link", "link"] {
            assert_eq!(owner(&profile.join(given)), FIRST, "{given}");
        }
        for other in ["", "inner", "inner/file"] {
            assert_eq!(owner(&outside.join(other)), 0, "{other}");
        }
        symlink(&outside, folder.path().join("swapped")).unwrap();
        give(&folder.path().join("swapped"), FIRST).unwrap();
        assert_eq!(owner(&outside), 0, "a link in the place of a profile");
    }

    #[test]
    fn the_first_shut_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("open/shut/inner");
        fs::create_dir_all(&inner).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(folder.path(), 0o711);
        set(&folder.path().join("open"), 0o711);
        set(&folder.path().join("open/shut"), 0o700);
        assert_eq!(first_shut(&inner), Some(folder.path().join("open/shut")));
        set(&folder.path().join("open/shut"), 0o711);
        assert_eq!(first_shut(&inner), None, "the last one is the browser's own");
    }
}
