//! Whether files have changed, as their metadata tells.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What tells a file from what it was: device, inode, size and the time of the last write; none where there is no file.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// Files that are looked at now and then. A file that is being written is not taken for one that has changed: a change
/// counts when two looks have seen the same.
#[derive(Debug)]
pub(super) struct Watched(Vec<File>);

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// As it was when it was read last.
    known: Stamp,
    /// As the last look has seen it.
    seen: Stamp,
}

impl Watched {
    /// These files, as they are now.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(paths.into_iter().map(File::now).collect())
    }

    /// One more, as it is now.
    pub(super) fn also(&mut self, path: Option<PathBuf>) {
        self.0.extend(path.map(File::now));
    }

    /// Only these from now on; those that were watched before are as they were.
    pub(super) fn only(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut before = std::mem::take(&mut self.0);
        let kept = |path: PathBuf| match before.iter().position(|file| file.path == path) {
            Some(place) => before.swap_remove(place),
            None => File::now(path),
        };
        self.0 = paths.into_iter().map(kept).collect();
    }

    /// Takes all as they are now for known: they are about to be read.
    pub(super) fn look(&mut self) {
        for file in &mut self.0 {
            file.known = stamp(&file.path);
            file.seen = file.known;
        }
    }

    /// Whether one is another than when all were read last, and has not changed since the last look; then all count as read.
    pub(super) fn have_changed(&mut self) -> bool {
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
        let mut watched = Watched::of([one.clone()]);
        watched.also(Some(two.clone()));
        let mut looks = |count: usize| (0..count).map(|_| watched.have_changed()).collect::<Vec<_>>();
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
        watched.look();
        assert!(!watched.have_changed() && !watched.have_changed());
        watched.only([one.clone()]);
        fs::write(&two, "not watched").unwrap();
        assert!(!watched.have_changed() && !watched.have_changed());
        fs::write(&one, "back").unwrap();
        assert!(!watched.have_changed() && watched.have_changed());
    }
}
