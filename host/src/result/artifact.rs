//! The whole of a result that was cut, in a file that only its owner reads.

use super::lossless::{Unshown, lossless};
use codemode_chromium::PrivateDir;
use codemode_spec::{Value, limits::ARTIFACT_BYTES_MAX};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};
use thiserror::Error;

/// The file's name in the execution's folder.
const FILE_NAME: &str = "result.json";

/// Why a result was not kept.
#[derive(Debug, Error)]
pub(super) enum KeepError {
    /// It has more bytes than an artifact may have.
    #[error("it has more than {} MiB", ARTIFACT_BYTES_MAX >> 20)]
    TooLarge,
    /// The folder or the file could not be written. The path stays in the log.
    #[error("its file could not be written ({})", .0.kind())]
    Io(#[from] io::Error),
    /// It could not be made JSON.
    #[error(transparent)]
    Unshown(#[from] Unshown),
}

/// Writes the result's lossless JSON to a file in the folder, and says where.
pub(super) fn keep(result: &Value, folder: &Path) -> Result<String, KeepError> {
    let folder = PrivateDir::make(folder)?;
    let path = folder.path().join(FILE_NAME);
    // What is there is not ours to write to.
    folder.remove_file(FILE_NAME)?;
    let file = folder.create(FILE_NAME)?;
    let written = write(result, file);
    if let Err(why) = &written {
        tracing::warn!(path = %path.display(), error = %why, "result not kept");
        // A part of a result is not a result.
        let _ = folder.remove_file(FILE_NAME);
    }
    written.map(|()| path.display().to_string())
}

fn write(result: &Value, file: File) -> Result<(), KeepError> {
    let mut bounded = Bounded { file: BufWriter::new(file), left: ARTIFACT_BYTES_MAX };
    match serde_json::to_writer(&mut bounded, &lossless(result)?) {
        Ok(()) => Ok(bounded.file.flush()?),
        Err(_) if bounded.left == 0 => Err(KeepError::TooLarge),
        Err(error) => Err(KeepError::Io(error.into())),
    }
}

/// A file that takes so many bytes and no more.
struct Bounded {
    file: BufWriter<File>,
    left: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            self.left = 0;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.file.write(bytes)?;
        self.left -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
