//! What executions leave: browsers of dead hosts, and files that were kept for a while.

use codemode_spec::limits::FILES_KEPT_MS;
use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

/// Folders of the state folder in which each execution or session has one of its own.
const FOLDERS: [&str; 2] = ["artifacts", "downloads"];

/// Ends and removes what nobody needs any more. What cannot be removed now is not this host's business: the next one
/// tries again.
pub(super) fn remove(state_dir: &Path) {
    match codemode_chromium::reap(&state_dir.join(codemode_cdp::PROFILES)) {
        Ok(reaped) if reaped.processes + reaped.profiles > 0 => {
            tracing::info!(reaped.processes, reaped.profiles, "browsers of a dead host were removed");
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "what a dead host left could not be removed"),
    }
    for folder in FOLDERS.map(|name| state_dir.join(name)) {
        if let Err(error) = remove_old(&folder, SystemTime::now()) {
            tracing::warn!(%error, folder = %folder.display(), "old files could not be removed");
        }
    }
}

fn remove_old(folder: &Path, now: SystemTime) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let age = now.duration_since(entry.metadata()?.modified()?).unwrap_or_default();
        if age > Duration::from_millis(FILES_KEPT_MS) && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_when_they_are_old() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("artifacts");
        fs::create_dir_all(folder.join("x-1")).unwrap();
        fs::write(folder.join("x-1/result.json"), "{}").unwrap();
        remove(state.path());
        assert!(folder.join("x-1/result.json").exists(), "it is new");
        remove_old(&folder, SystemTime::now() + Duration::from_millis(FILES_KEPT_MS + 60_000)).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        remove_old(&state.path().join("nowhere"), SystemTime::now()).unwrap();
    }
}
