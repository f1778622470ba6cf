//! The user that a browser runs as.
//!
//! An ordinary user's browser runs as that user. Root's runs as a user of its own, who owns the browser's profile and
//! downloads and nothing else: root's Chromium must do without its own sandbox, and a page that breaks out of a renderer has
//! the machine. The way to these folders may lead through some that only root may enter; so the browser gets a mount namespace
//! in which an empty file system stands in the place of the first of them, with the browser's own folders in it where they
//! were. The paths stay the same, and nothing else of root's folder can be seen.

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chownat, open};
use std::{
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{
            fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
            process::CommandExt as _,
        },
    },
    path::{Path, PathBuf},
    process::Command,
};

/// The first number of such a user: above those that are given away by others (systemd takes up to 0x6FFFFFFF for
/// containers, and everything from 0x80000000 on is trouble).
const FIRST: u32 = 0x7000_0000;
/// So many browsers have numbers of their own.
const COUNT: u32 = 0x00ff_ffff;

/// Who a browser is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The user that we are.
    Ours,
    /// A user that no other browser and no person has.
    Own(u32),
}

impl Identity {
    /// A user of its own, the same one each time for a profile of this path.
    pub(crate) fn of_profile(profile: &Path) -> Self {
        let hash = blake3::hash(profile.as_os_str().as_encoded_bytes());
        let number = u32::from_le_bytes(hash.as_bytes()[..4].try_into().unwrap_or_default());
        Self::Own(FIRST + number % COUNT)
    }

    /// Has the command run as this user, and gives these folders to the user. For a thread that does nothing else.
    pub(super) fn assume(self, command: &mut Command, folders: &[PathBuf]) -> io::Result<()> {
        let Self::Own(user) = self else { return Ok(()) };
        folders.iter().try_for_each(|folder| give(folder, user))?;
        open_the_way(folders)?;
        // Other groups are given up with the user.
        command.uid(user).gid(user);
        Ok(())
    }
}

/// Whether what belongs to this user may belong to a browser of ours: it is ours, or that of a user that root gives one.
pub(crate) fn may_be_a_browsers(user: u32) -> bool {
    let own = rustix::process::geteuid();
    user == own.as_raw() || own.is_root() && (FIRST..FIRST + COUNT).contains(&user)
}

/// Gives a folder, and what is in it, to a user. Links are not followed: a browser may have made them.
fn give(path: &Path, user: u32) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.uid() != user || metadata.gid() != user {
        let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
        chownat(rustix::fs::CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    Ok(())
}

/// Makes the folders reachable under their own paths, for this thread and what it starts.
fn open_the_way(folders: &[PathBuf]) -> io::Result<()> {
    let shut = folders.iter().filter_map(|folder| Some((first_shut(folder)?, folder)));
    let shut: Vec<_> = shut.collect();
    if shut.is_empty() {
        return Ok(());
    }
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // What is mounted here stays here.
    mount(NONE, "/", NONE, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NONE)?;
    // Opened before they are covered, and after the namespace was made: only its own can be mounted in it.
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

/// The first folder on the way to this one that others may not enter.
fn first_shut(folder: &Path) -> Option<PathBuf> {
    let mut way: Vec<_> = folder.ancestors().skip(1).collect();
    way.reverse();
    let is_shut = |path: &&Path| fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 == 0);
    way.into_iter().find(is_shut).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn each_profile_has_a_user_of_its_own_and_keeps_it() {
        let of = |path: &str| Identity::of_profile(Path::new(path));
        assert_eq!(of("/a/b"), of("/a/b"));
        assert_ne!(of("/a/b"), of("/a/c"));
        let Identity::Own(user) = of("/a/b") else { panic!("it has none") };
        assert!((FIRST..0x8000_0000).contains(&user));
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
