//! What the stores of sealed files have in common: the lock of their writers, and the errors of their files.

use codemode_chromium::{PrivateDir, Untrusted};
use codemode_spec::{ErrorCode, ErrorReport};
use std::{fs::File, io};

/// The file that writers lock.
const LOCK: &str = "lock";

/// The sealed files of a folder in the state folder.
pub(crate) struct SealedFiles {
    /// What they hold, in the plural.
    pub content: &'static str,
    /// The name of the folder.
    pub folder: &'static str,
}

impl SealedFiles {
    /// The error for a file that cannot be read.
    pub(crate) fn unreadable(&self, error: &io::Error) -> ErrorReport {
        self.failed("read", error)
    }

    /// The error for a file that cannot be written.
    pub(crate) fn unwritable(&self, error: &io::Error) -> ErrorReport {
        self.failed("written", error)
    }

    fn failed(&self, what: &str, error: &io::Error) -> ErrorReport {
        let Self { content, folder } = self;
        tracing::warn!(%error, "the {content} cannot be {what}");
        let why = Untrusted::of(error).map_or_else(
            || error.kind().to_string(),
            |_| "a file or folder of theirs is not this user's alone, or is a link".to_owned(),
        );
        ErrorReport::new(ErrorCode::IoError, format!("the {content} cannot be {what}: {why}")).with_hint(format!(
            "Look at the folder `{folder}` of the state folder: it and its files belong to this user alone."
        ))
    }
}

/// Locks a folder for a writer, until the file is dropped. Blocks while another writer holds the lock.
pub(crate) fn lock(folder: &PrivateDir) -> io::Result<File> {
    let file = folder.open_or_create(LOCK)?;
    file.lock()?;
    Ok(file)
}

/// The error for sealed data that cannot be used. Retrying does not help: only a person can repair it.
pub(crate) fn not_ready(message: String) -> ErrorReport {
    ErrorReport { retryable: false, ..ErrorReport::new(ErrorCode::NotReady, message) }
}
