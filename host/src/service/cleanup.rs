//! Cleanup before the first execution: removes browsers of dead hosts, and files whose retention is over.

use crate::state_dir::StateDir;
use codemode_chromium::PrivateDir;
use codemode_spec::limits::FILES_KEPT_MS;
use std::{
    io,
    path::Path,
    time::{Duration, SystemTime},
};

/// Ends the browsers of dead hosts and removes files that are too old. Failures are logged, and retried at the next
/// start.
pub(super) fn remove_old(state: &StateDir) {
    match codemode_chromium::reap(&state.profiles()) {
        Ok(reaped) if reaped.processes + reaped.profiles > 0 => {
            tracing::info!(reaped.processes, reaped.profiles, "browsers of a dead host were removed");
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "what a dead host left could not be removed"),
    }
    for folder in state.retained_folders() {
        if let Err(error) = remove_old_folders(&folder, SystemTime::now()) {
            tracing::warn!(%error, folder = %folder.display(), "old files could not be removed");
        }
    }
}

fn remove_old_folders(folder: &Path, now: SystemTime) -> io::Result<()> {
    let Some(folder) = PrivateDir::find(folder)? else { return Ok(()) };
    for name in folder.names()? {
        let metadata = folder.metadata(&name)?;
        let age = now.duration_since(metadata.modified()?).unwrap_or_default();
        if age > Duration::from_millis(FILES_KEPT_MS) && metadata.is_dir() {
            folder.remove_folder(&name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn files_go_when_they_are_old() {
        let state = tempfile::tempdir().unwrap();
        let state = StateDir::open(state.path()).unwrap();
        let [folder, _] = state.retained_folders();
        fs::create_dir_all(folder.join("x-1")).unwrap();
        fs::write(folder.join("x-1/result.json"), "{}").unwrap();
        remove_old(&state);
        assert!(folder.join("x-1/result.json").exists(), "it is new");
        remove_old_folders(&folder, SystemTime::now() + Duration::from_millis(FILES_KEPT_MS + 60_000)).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        remove_old_folders(&state.path().join("nowhere"), SystemTime::now()).unwrap();
    }

    #[test]
    fn nothing_is_removed_through_a_link() {
        let (temp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(outside.path().join("old")).unwrap();
        let later = SystemTime::now() + Duration::from_millis(FILES_KEPT_MS + 60_000);
        symlink(outside.path(), temp.path().join("artifacts")).unwrap();
        assert!(remove_old_folders(&temp.path().join("artifacts"), later).is_err());
        fs::create_dir(temp.path().join("downloads")).unwrap();
        symlink(outside.path(), temp.path().join("downloads/x-1")).unwrap();
        remove_old_folders(&temp.path().join("downloads"), later).unwrap();
        assert!(outside.path().join("old").exists());
    }
}
