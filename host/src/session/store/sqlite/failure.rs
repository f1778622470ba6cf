//! Maps errors of SQLite to errors of the store.

use crate::session::store::StoreError;
use rusqlite::ErrorCode as SqlCode;
use std::path::Path;

/// The store error for an error of SQLite.
pub(super) fn store_error(path: &Path, error: &rusqlite::Error) -> StoreError {
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
