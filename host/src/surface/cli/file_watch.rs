//! Detects changes of files by polling their metadata.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The identity and version of a file: device, inode, size and modification time; `None` if the file does not exist.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// A set of polled files. A change is reported only after two consecutive polls have seen the same metadata, so that a
/// file is not read while it is still being written.
#[derive(Debug)]
pub(super) struct FileWatch(Vec<File>);

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// The stamp when the file was last read.
    known: Stamp,
    /// The stamp at the last poll.
    seen: Stamp,
}

impl FileWatch {
    /// Watches these files; their current versions count as read.
    pub(super) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(paths.into_iter().map(File::now).collect())
    }

    /// Watches another file; its current version counts as read.
    pub(super) fn add(&mut self, path: Option<PathBuf>) {
        self.0.extend(path.map(File::now));
    }

    /// Replaces the set of files. A file that was watched before keeps its stamps.
    pub(super) fn replace(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut before = std::mem::take(&mut self.0);
        let kept = |path: PathBuf| match before.iter().position(|file| file.path == path) {
            Some(place) => before.swap_remove(place),
            None => File::now(path),
        };
        self.0 = paths.into_iter().map(kept).collect();
    }

    /// Marks the current versions as read; called just before the files are read.
    pub(super) fn mark_read(&mut self) {
        for file in &mut self.0 {
            file.known = stamp(&file.path);
            file.seen = file.known;
        }
    }

    /// Polls: whether a file differs from the version that was read and none has changed since the last poll. If so,
    /// all count as read.
    pub(super) fn poll_changed(&mut self) -> bool {
        let mut changed = false;
        let mut at_rest = true;
        for file in &mut self.0 {
            let now = stamp(&file.path);
            changed |= now != file.known;
            at_rest &= now == file.seen;
            file.seen = now;
        }
        if changed && at_rest {
            self.0.iter_mut().for_each(|file| file.known = file.seen);
        }
        changed && at_rest
    }
}

impl File {
    fn now(path: PathBuf) -> Self {
        let now = stamp(&path);
        Self { path, known: now, seen: now }
    }
}

fn stamp(path: &Path) -> Stamp {
    let about = fs::metadata(path).ok()?;
    Some((about.dev(), about.ino(), about.size(), about.mtime(), about.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_once_and_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        fs::write(&one, "1").unwrap();
        let mut watched = FileWatch::new([one.clone()]);
        watched.add(Some(two.clone()));
        let mut looks = |count: usize| (0..count).map(|_| watched.poll_changed()).collect::<Vec<_>>();
        assert_eq!(looks(2), [false, false]);
        fs::write(&one, "12").unwrap();
        assert_eq!(looks(1), [false], "it may still be written");
        fs::write(&one, "123").unwrap();
        assert_eq!(looks(4), [false, true, false, false]);
        fs::write(&two, "there now").unwrap();
        assert_eq!(looks(3), [false, true, false]);
        fs::remove_file(&one).unwrap();
        assert_eq!(looks(3), [false, true, false]);
        // Replaced by another file, as editors do.
        fs::write(folder.path().join("new"), "there now").unwrap();
        fs::rename(folder.path().join("new"), &two).unwrap();
        assert_eq!(looks(3), [false, true, false]);
        fs::write(&two, "read otherwise").unwrap();
        watched.mark_read();
        assert!(!watched.poll_changed() && !watched.poll_changed());
        watched.replace([one.clone()]);
        fs::write(&two, "not watched").unwrap();
        assert!(!watched.poll_changed() && !watched.poll_changed());
        fs::write(&one, "back").unwrap();
        assert!(!watched.poll_changed() && watched.poll_changed());
    }
}
