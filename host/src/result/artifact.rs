//! Files for what does not fit into an answer: the whole of a result that was cut, and binary data. Only their owner
//! can read them.

use super::lossless::{Unshown, lossless};
use codemode_chromium::PrivateDir;
use codemode_spec::{Value, limits::ARTIFACT_BYTES_MAX};
use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::Path,
};
use thiserror::Error;

/// The name of the result's file in the execution's folder.
const FILE_NAME: &str = "result.json";

/// Why a file could not be stored.
#[derive(Debug, Error)]
pub(super) enum KeepError {
    /// It has more bytes than an artifact may have.
    #[error("it has more than {} MiB", ARTIFACT_BYTES_MAX >> 20)]
    TooLarge,
    /// The folder or the file could not be written. Its path appears only in the log.
    #[error("its file could not be written ({})", .0.kind())]
    Io(#[from] io::Error),
    /// It could not be converted to JSON.
    #[error(transparent)]
    Unshown(#[from] Unshown),
}

/// The files of one execution. Their folder is created with the first file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files<'f> {
    pub folder: &'f Path,
}

impl Files<'_> {
    /// Writes the result's lossless JSON, and returns the file's path.
    pub fn keep_result(self, result: &Value) -> Result<String, KeepError> {
        self.keep(FILE_NAME, |file| write(result, file))
    }

    /// Writes data under a name chosen by codemode, and returns the file's path.
    pub fn keep_data(self, name: &str, data: &[u8]) -> Result<String, KeepError> {
        self.keep(name, |mut file| Ok(file.write_all(data)?))
    }

    /// Writes a stream under a name chosen by codemode, and returns the file's path and size.
    pub fn keep_read(self, name: &str, content: &mut dyn Read) -> Result<(String, u64), KeepError> {
        let mut bytes = 0;
        let path = self.keep(name, |file| {
            let mut bounded = Bounded { file: BufWriter::new(file), left: ARTIFACT_BYTES_MAX };
            bytes = io::copy(content, &mut bounded).map_err(|error| match bounded.left {
                0 => KeepError::TooLarge,
                _ => error.into(),
            })?;
            Ok(bounded.flush()?)
        })?;
        Ok((path, bytes))
    }

    /// Removes the file with a name chosen by codemode, if it exists.
    pub fn remove(self, name: &str) {
        if let Ok(folder) = PrivateDir::make(self.folder) {
            let _ = folder.remove_file(name);
        }
    }

    fn keep(self, name: &str, write: impl FnOnce(File) -> Result<(), KeepError>) -> Result<String, KeepError> {
        let folder = PrivateDir::make(self.folder)?;
        let path = folder.path().join(name);
        // Remove an existing entry first: it must not be written through.
        folder.remove_file(name)?;
        let file = folder.create(name)?;
        let written = write(file);
        if let Err(why) = &written {
            tracing::warn!(path = %path.display(), error = %why, "not kept");
            // A partial file is useless.
            let _ = folder.remove_file(name);
        }
        written.map(|()| path.display().to_string())
    }
}

fn write(result: &Value, file: File) -> Result<(), KeepError> {
    let mut bounded = Bounded { file: BufWriter::new(file), left: ARTIFACT_BYTES_MAX };
    match serde_json::to_writer(&mut bounded, &lossless(result)?) {
        Ok(()) => Ok(bounded.file.flush()?),
        Err(_) if bounded.left == 0 => Err(KeepError::TooLarge),
        Err(error) => Err(KeepError::Io(error.into())),
    }
}

/// A file writer that fails beyond a number of bytes.
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
