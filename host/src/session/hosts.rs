//! Which hosts live. Each holds a lock on a file of its own; the kernel lets go of it when the process dies, however it
//! dies, and for all containers that share the folder. A number of a process would prove neither.

use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

const SUFFIX: &str = "lock";
/// Of one that is not yet in its place.
const SUFFIX_NEW: &str = "new";
/// After this time it is what a dead process left.
const NEW_AGE_MAX: Duration = Duration::from_secs(600);

/// Tells living hosts from dead ones.
pub trait Liveness: Send + Sync {
    /// Whether the host may still be alive. Only `false` is certain.
    fn is_alive(&self, host: &str) -> bool;
}

/// The locks in a folder.
#[derive(Clone, Debug)]
pub struct HostLocks {
    folder: PathBuf,
}

/// This process, for as long as it keeps this.
#[derive(Debug)]
pub struct Host {
    id: String,
    path: PathBuf,
    /// Locked while it is open.
    _lock: File,
}

impl HostLocks {
    /// The locks in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// `IO_ERROR` when it cannot be made.
    pub fn open(folder: PathBuf) -> Result<Self, ErrorReport> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| failed("make the folder", &folder, &error))?;
        Ok(Self { folder })
    }

    /// Makes this process known as a host.
    ///
    /// # Errors
    /// `IO_ERROR` when the lock cannot be written.
    pub fn enter(&self, id: &str) -> Result<Host, ErrorReport> {
        let path = self.path(id);
        // Locked under another name first: in its place it is never seen without its lock.
        let new = path.with_extension(SUFFIX_NEW);
        let lock = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
        let lock = lock.map_err(|error| failed("write", &new, &error))?;
        lock.lock().and_then(|()| fs::rename(&new, &path)).map_err(|error| failed("lock", &path, &error))?;
        Ok(Host { id: id.to_owned(), path, _lock: lock })
    }

    /// Removes what dead hosts left.
    pub fn sweep(&self) {
        for path in fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let is_left = match path.extension().and_then(OsStr::to_str) {
                Some(SUFFIX) => !is_locked(&path),
                // One that is just being made is not locked yet.
                Some(SUFFIX_NEW) => is_old(&path) && !is_locked(&path),
                _ => false,
            };
            if is_left {
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(id).with_extension(SUFFIX)
    }
}

impl Liveness for HostLocks {
    fn is_alive(&self, host: &str) -> bool {
        is_locked(&self.path(host))
    }
}

impl Host {
    /// Its name: ASCII letters, digits and `-`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A shared lock is tried, so that those who look do not see each other.
fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|then| then.elapsed().is_ok_and(|age| age > NEW_AGE_MAX))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> ErrorReport {
    ErrorReport::new(ErrorCode::IoError, format!("could not {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_lives_until_it_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let locks = HostLocks::open(folder.path().join("hosts")).unwrap();
        let host = locks.enter("h-1").unwrap();
        assert!(locks.is_alive(host.id()) && locks.is_alive("h-1"));
        assert!(!locks.is_alive("h-2"), "one that never was");
        // As a dead one leaves it.
        fs::write(locks.path("h-3"), "").unwrap();
        assert!(!locks.is_alive("h-3"));
        locks.sweep();
        assert!(locks.is_alive("h-1") && !locks.path("h-3").exists());
        drop(host);
        assert!(!locks.is_alive("h-1") && !locks.path("h-1").exists());
    }
}
