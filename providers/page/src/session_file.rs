//! Files that are stored for the next execution of a session key: replaced atomically, and readable by this user only.

use codemode_chromium::PrivateDir;
use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Writes a file. A failure is only logged: the next execution starts without the file.
pub(crate) async fn write(file: PathBuf, bytes: Vec<u8>) {
    let written = tokio::task::spawn_blocking(move || write_now(&file, &bytes)).await;
    if let Ok(Err(error)) = written {
        tracing::warn!(%error, "a file of a session could not be kept");
    }
}

/// The content of the file, at most `bytes_max` bytes of it; `None` if it does not exist or cannot be read.
pub(crate) async fn read(file: PathBuf, bytes_max: usize) -> Option<Vec<u8>> {
    tokio::task::spawn_blocking(move || read_now(&file, bytes_max)).await.ok().flatten()
}

fn write_now(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = (file.parent().unwrap_or(Path::new(".")), file.file_name().unwrap_or_default());
    PrivateDir::make(folder)?.replace(name, bytes)
}

fn read_now(file: &Path, bytes_max: usize) -> Option<Vec<u8>> {
    let opened = PrivateDir::find(file.parent()?).and_then(|folder| match folder {
        Some(folder) => folder.read(file.file_name().unwrap_or_default()),
        None => Ok(None),
    });
    let file = opened.inspect_err(|error| tracing::warn!(%error, "a kept file is not read")).ok()??;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    #[test]
    fn they_are_for_this_user_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cookies/key.json");
        assert_eq!(read_now(&file, 10), None);
        write_now(&file, b"first").unwrap();
        write_now(&file, b"second").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_now(&file, 10).unwrap(), b"second");
        assert_eq!(read_now(&file, 3).unwrap(), b"sec");
    }

    #[test]
    fn they_are_neither_read_nor_written_through_a_link() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let elsewhere = outside.path().join("key.json");
        fs::write(&elsewhere, "[{}]").unwrap();
        let file = folder.path().join("cookies/key.json");
        fs::create_dir(folder.path().join("cookies")).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert_eq!(read_now(&file, 10), None);
        write_now(&file, b"[]").unwrap();
        assert!(!file.is_symlink());
        symlink(outside.path(), folder.path().join("linked")).unwrap();
        let file = folder.path().join("linked/key.json");
        assert!(read_now(&file, 10).is_none() && write_now(&file, b"[]").is_err());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "[{}]");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
