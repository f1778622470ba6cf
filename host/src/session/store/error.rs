//! The errors of the store, with hints for their readers.

use super::Loss;
use codemode_spec::{ErrorCode, ErrorReport};
use std::path::PathBuf;
use thiserror::Error;

/// Why an operation of the store failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process has locked the store.
    #[error("the session store {path} is locked by another process")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The store cannot be written.
    #[error("the session store {path} cannot be written: {cause}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The disk is full.
    #[error("the disk of the session store {path} is full")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file is no store, or a damaged store.
    #[error("the session store {path} is damaged: {cause}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect.
        cause: String,
    },
    /// A newer codemode wrote the store.
    #[error("the session store {path} was written by a newer codemode")]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// Any other failure.
    #[error("the session store {path} failed: {cause}")]
    Failed {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The number of live sessions is at its bound.
    #[error("{sessions} browser sessions live already, which is the most")]
    TooManySessions {
        /// How many sessions live.
        sessions: usize,
    },
    /// The lease that the operation needs is not held any more.
    #[error("the lease is not held any more")]
    NotHeld(Loss),
}

impl From<StoreError> for ErrorReport {
    fn from(error: StoreError) -> Self {
        let (code, hint) = match &error {
            StoreError::Locked { .. } => {
                (ErrorCode::IoError, "End whatever holds the database open in a transaction, then try again.")
            }
            StoreError::NotWritable { .. } => {
                (ErrorCode::IoError, "Make the state folder writable for this user, or name another with --state-dir.")
            }
            StoreError::Full { .. } => {
                (ErrorCode::IoError, "Free some space, or name another folder with --state-dir.")
            }
            StoreError::Damaged { .. } => (
                ErrorCode::IoError,
                "Nothing was changed. Restore the file from a backup, or move it away to begin anew; browsers that it \
                 names end by themselves.",
            ),
            StoreError::Newer { .. } => {
                (ErrorCode::NotReady, "Use the newer codemode, or name another folder with --state-dir.")
            }
            StoreError::Failed { .. } => (ErrorCode::IoError, ErrorCode::IoError.hint()),
            StoreError::TooManySessions { .. } => (
                ErrorCode::CapacityExceeded,
                "Close one that is not needed: `codemode sessions list`, then `codemode sessions close ID`.",
            ),
            StoreError::NotHeld(loss) => return loss.report(),
        };
        Self::new(code, error.to_string()).with_hint(hint)
    }
}
