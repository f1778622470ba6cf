//! Failures of SQLite.

use crate::session::store::StoreError;
use rusqlite::ErrorCode as SqlCode;
use std::path::Path;

/// A failure of SQLite, as the store tells it.
pub(super) fn told(path: &Path, error: &rusqlite::Error) -> StoreError {
    let (path, cause) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(SqlCode::DatabaseBusy | SqlCode::DatabaseLocked) => StoreError::Locked { path },
        Some(SqlCode::ReadOnly | SqlCode::CannotOpen | SqlCode::PermissionDenied) => {
            StoreError::NotWritable { path, cause }
        }
        Some(SqlCode::DiskFull) => StoreError::Full { path },
        Some(SqlCode::DatabaseCorrupt | SqlCode::NotADatabase) => StoreError::Damaged { path, cause },
        _ => StoreError::Failed { path, cause },
    }
}
