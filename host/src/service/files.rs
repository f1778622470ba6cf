//! The files of answers: binary data, and complete results that were truncated in the answer.

use super::{host::Service, running::unknown_execution, startup::blocking};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use codemode_chromium::PrivateDir;
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::ExecutionData,
    limits::{ARTIFACT_BYTES_MAX, DATA_FILES_MAX, FILES_KEPT_MS, KEPT_FILES_MAX},
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};
use utoipa::ToSchema;

/// The number of listed files: those of a result, of console lines, of the script itself, and the complete result.
const FILES_LISTED_MAX: usize = 2 * DATA_FILES_MAX + KEPT_FILES_MAX + 1;

/// The files of an answer that are still stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FilesListed {
    /// The files, sorted by name.
    pub files: Vec<FileSize>,
}

/// A file of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct FileSize {
    /// The name, as [`Service::file`] takes it.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
}

impl Service {
    /// The stored files of an execution's answer; empty for an unknown execution.
    ///
    /// # Errors
    /// `NOT_FOUND` when the text is not a valid execution id; `IO_ERROR` when the folder cannot be read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn files_list(&self, execution: &str) -> Result<FilesListed, ErrorReport> {
        if !is_name(execution) {
            return Err(unknown_execution(execution));
        }
        let folder = self.administration().await?.state.artifacts(execution);
        let failed =
            |error| ErrorReport::new(ErrorCode::IoError, format!("the files of an answer cannot be listed: {error}"));
        let files = blocking(move || list(&folder).map_err(failed)).await?;
        Ok(FilesListed { files })
    }

    /// The bytes of a file of an answer, by the answer's `context.execution_id` and the last component of the file's
    /// path. The answer may be from an earlier process with the same state folder.
    ///
    /// # Errors
    /// `NOT_FOUND` when the file does not exist, or was removed; `IO_ERROR` when it cannot be read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn file(&self, execution: &str, name: &str) -> Result<Vec<u8>, ErrorReport> {
        let missing = || {
            let days = FILES_KEPT_MS / 86_400_000;
            ErrorReport::new(ErrorCode::NotFound, format!("execution {execution:?} has no file {name:?}")).with_hint(
                format!("Files are named in data.files and data.artifact of an answer, and kept for {days} days."),
            )
        };
        if !is_name(execution) || !is_name(name) {
            return Err(missing());
        }
        let folder = self.administration().await?.state.artifacts(execution);
        let file_name = name.to_owned();
        let read = move || {
            let failed = |error| ErrorReport::new(ErrorCode::IoError, format!("{file_name} cannot be read: {error}"));
            read(&folder, &file_name).map_err(failed)
        };
        blocking(read).await?.ok_or_else(missing)
    }

    /// Copies the images and files of an answer into a folder, which is created if it is missing. Files of the same
    /// names are overwritten. Returns the paths.
    ///
    /// # Errors
    /// As [`Self::file`], `INVALID_ARGUMENT` for an image that is not base64, and `IO_ERROR` when the folder is not
    /// writable.
    ///
    /// # Cancellation
    /// May be dropped at any time; some of the files may exist then.
    pub async fn save_files(
        &self,
        execution: &str,
        data: &ExecutionData,
        folder: &Path,
    ) -> Result<Vec<PathBuf>, ErrorReport> {
        let mut saved = Vec::new();
        for (index, image) in data.images.iter().enumerate() {
            let kind = image.mime_type.rsplit('/').next().unwrap_or_default();
            let extension = if kind == "jpeg" { "jpg" } else { kind };
            let broken =
                |error| ErrorReport::new(ErrorCode::InvalidArgument, format!("an image is no base64: {error}"));
            let bytes = BASE64_STANDARD.decode(&image.data).map_err(broken)?;
            saved.push(save(folder, &format!("image-{}.{extension}", index + 1), bytes).await?);
        }
        for file in data.files.iter().map(|file| &file.file).chain(&data.artifact) {
            let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
            let bytes = self.file(execution, &name).await?;
            saved.push(save(folder, &name, bytes).await?);
        }
        Ok(saved)
    }
}

/// Whether a text has the form in which codemode names executions and files, which excludes path traversal.
fn is_name(text: &str) -> bool {
    let of_ours = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    !text.is_empty() && !text.starts_with('.') && text.chars().all(of_ours)
}

fn list(folder: &Path) -> io::Result<Vec<FileSize>> {
    let Some(folder) = PrivateDir::find(folder)? else { return Ok(Vec::new()) };
    let names = folder.names()?.into_iter().take(FILES_LISTED_MAX);
    let size = |name: std::ffi::OsString| {
        Ok(FileSize { bytes: folder.metadata(&name)?.len(), name: name.to_string_lossy().into_owned() })
    };
    let mut files = names.map(size).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

fn read(folder: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let Some(folder) = PrivateDir::find(folder)? else { return Ok(None) };
    let Some(file) = folder.read(name)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(ARTIFACT_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

async fn save(folder: &Path, name: &str, bytes: Vec<u8>) -> Result<PathBuf, ErrorReport> {
    let (folder, path) = (folder.to_owned(), folder.join(name));
    blocking(move || {
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes));
        let failed =
            |error| ErrorReport::new(ErrorCode::IoError, format!("{} cannot be written: {error}", path.display()));
        written.map(|()| path.clone()).map_err(failed)
    })
    .await
}
