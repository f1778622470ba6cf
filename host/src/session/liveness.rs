//! Tells living hosts and keepers from dead ones. Each process holds a lock on a dedicated file. The kernel releases
//! the lock when the process dies, however it dies, and this is visible in all containers that share the folder. A
//! process id guarantees neither.

use codemode_chromium::{PrivateDir, Untrusted};
use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    ffi::OsStr,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

const SUFFIX: &str = "lock";
/// The suffix of a lock file before it is renamed to its final name.
const SUFFIX_NEW: &str = "new";
/// A file with [`SUFFIX_NEW`] that is older than this was left by a dead process.
const NEW_AGE_MAX: Duration = Duration::from_secs(600);

/// Tells living processes from dead ones.
pub trait Liveness: Send + Sync {
    /// Whether the host or keeper with this name may be alive. Only `false` is certain.
    fn is_alive(&self, process: &str) -> bool;
}

/// The locks of all processes, in a folder.
#[derive(Clone, Debug)]
pub struct ProcessLocks {
    folder: PrivateDir,
}

/// The lock of this process: other processes consider this process alive until this value is dropped.
#[derive(Debug)]
pub struct ProcessLock {
    id: String,
    folder: PrivateDir,
    /// The file, which is locked while it is open.
    _lock: File,
}

impl ProcessLocks {
    /// Opens the locks in this folder, which is created if it is missing.
    ///
    /// # Errors
    /// `IO_ERROR` when the folder cannot be created.
    pub fn open(folder: PathBuf) -> Result<Self, ErrorReport> {
        let made = PrivateDir::make(&folder).map_err(|error| failed("use the folder", &folder, &error))?;
        Ok(Self { folder: made })
    }

    /// Acquires the lock that marks this process as alive. Its name is the id of a host, or the session of a keeper.
    ///
    /// # Errors
    /// `IO_ERROR` when the lock cannot be written.
    pub fn enter(&self, id: &str) -> Result<ProcessLock, ErrorReport> {
        let (name, new) = (lock_name(id), format!("{id}.{SUFFIX_NEW}"));
        let failed = |what, name: &str, error: &io::Error| failed(what, &self.folder.path().join(name), error);
        // Locked under a temporary name first, so that no process finds the file unlocked under its final name.
        let lock = self.folder.open_or_create(&new).map_err(|error| failed("write", &new, &error))?;
        let placed = lock.lock().and_then(|()| self.folder.rename(&new, &self.folder, &name));
        placed.map_err(|error| failed("lock", &name, &error))?;
        Ok(ProcessLock { id: id.to_owned(), folder: self.folder.clone(), _lock: lock })
    }

    /// Removes the lock files that dead processes left.
    pub fn sweep(&self) {
        for name in self.folder.names().unwrap_or_default() {
            let is_left = match Path::new(&name).extension().and_then(OsStr::to_str) {
                Some(SUFFIX) => !self.is_locked(&name),
                // A file that another process is creating now is not locked yet.
                Some(SUFFIX_NEW) => self.is_old(&name) && !self.is_locked(&name),
                _ => false,
            };
            if is_left {
                let _ = self.folder.remove_file(&name);
            }
        }
    }

    /// Tries a shared lock, so that processes that check at the same time do not block each other.
    fn is_locked(&self, name: &OsStr) -> bool {
        match self.folder.read(name) {
            Ok(Some(file)) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Ok(None) => false,
            // A lock on a file that codemode did not create proves nothing.
            Err(error) => Untrusted::of(&error).is_none(),
        }
    }

    fn is_old(&self, name: &OsStr) -> bool {
        let modified = self.folder.metadata(name).and_then(|metadata| metadata.modified());
        modified.is_ok_and(|then| then.elapsed().is_ok_and(|age| age > NEW_AGE_MAX))
    }
}

fn lock_name(id: &str) -> String {
    format!("{id}.{SUFFIX}")
}

impl Liveness for ProcessLocks {
    fn is_alive(&self, process: &str) -> bool {
        self.is_locked(lock_name(process).as_ref())
    }
}

impl ProcessLock {
    /// The name of the process: ASCII letters, digits and `-`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        let _ = self.folder.remove_file(lock_name(&self.id));
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> ErrorReport {
    ErrorReport::new(ErrorCode::IoError, format!("could not {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn a_host_lives_until_it_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let locks = ProcessLocks::open(folder.path().join("hosts")).unwrap();
        let host = locks.enter("h-1").unwrap();
        assert!(locks.is_alive(host.id()) && locks.is_alive("h-1"));
        assert!(!locks.is_alive("h-2"), "one that never was");
        // The lock file of a dead process.
        drop(locks.folder.create(lock_name("h-3")).unwrap());
        assert!(!locks.is_alive("h-3"));
        locks.sweep();
        assert_eq!(locks.folder.names().unwrap(), ["h-1.lock"]);
        assert!(locks.is_alive("h-1"));
        drop(host);
        assert!(!locks.is_alive("h-1") && locks.folder.names().unwrap().is_empty());
    }

    #[test]
    fn a_link_is_no_hosts_lock_and_nothing_is_written_through_it() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let elsewhere = outside.path().join("file");
        fs::write(&elsewhere, "as it was").unwrap();
        let held = File::open(&elsewhere).unwrap();
        held.lock().unwrap();
        let locks = ProcessLocks::open(folder.path().join("hosts")).unwrap();
        for name in ["h-1.lock", "h-2.new"] {
            symlink(&elsewhere, folder.path().join("hosts").join(name)).unwrap();
        }
        assert!(!locks.is_alive("h-1") && locks.enter("h-2").is_err());
        locks.sweep();
        assert_eq!(locks.folder.names().unwrap(), ["h-2.new"]);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "as it was");
        symlink(outside.path(), folder.path().join("linked")).unwrap();
        assert!(ProcessLocks::open(folder.path().join("linked")).is_err());
    }
}
