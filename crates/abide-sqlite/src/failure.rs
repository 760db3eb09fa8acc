//! What SQLite's errors are to a caller.
//!
//! A command is *refused* for a reason of the domain, which concerns only itself, or it *failed*
//! because of SQLite, which concerns the whole batch it was in.

use std::time::Duration;

use abide::Error;
use rusqlite::ErrorCode;

/// When a retry makes sense: long enough for a batch to finish, short enough not to be noticed.
const RETRY_IN: Duration = Duration::from_millis(100);

/// Why a command has no result.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The command can't be done; others may.
    Refused(Error),
    /// SQLite did not do it; nothing of its transaction will be.
    Failed(rusqlite::Error),
}

impl Trouble {
    /// Whether the disk or the file is to blame, and not what was asked.
    pub(crate) fn is_of_the_file(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Refused(Error::Corrupt { .. }))
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        if is_unreadable(&error) { Self::Refused(to_caller(&error)) } else { Self::Failed(error) }
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(error) => error,
            Trouble::Failed(error) => to_caller(&error),
        }
    }
}

/// What a caller is told about an error of SQLite after which nothing was changed.
pub(crate) fn to_caller(error: &rusqlite::Error) -> Error {
    let damaged = matches!(code(error), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
    if damaged || is_unreadable(error) {
        return Error::corrupt(error.to_string());
    }
    Error::StoreUnavailable { reason: error.to_string(), retry_in: RETRY_IN }
}

/// Whether a failed `COMMIT` certainly changed nothing. Anything else, above all a failed sync,
/// leaves it open what is on the disk.
pub(crate) fn commit_changed_nothing(error: &rusqlite::Error) -> bool {
    matches!(
        code(error),
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::OutOfMemory)
    )
}

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

/// Whether a row was there but its columns are not what the schema says.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn sqlite(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn a_full_disk_may_be_retried_and_a_damaged_file_may_not() {
        assert!(to_caller(&sqlite(ffi::SQLITE_FULL)).is_retryable());
        assert!(matches!(to_caller(&sqlite(ffi::SQLITE_CORRUPT)), Error::Corrupt { .. }));
        assert!(matches!(to_caller(&sqlite(ffi::SQLITE_NOTADB)), Error::Corrupt { .. }));
    }

    #[test]
    fn a_failed_sync_leaves_the_commit_in_doubt() {
        assert!(commit_changed_nothing(&sqlite(ffi::SQLITE_FULL)));
        assert!(!commit_changed_nothing(&sqlite(ffi::SQLITE_IOERR_FSYNC)));
        assert!(!commit_changed_nothing(&sqlite(ffi::SQLITE_IOERR_WRITE)));
    }
}
