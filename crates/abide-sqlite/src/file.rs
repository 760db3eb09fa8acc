//! The database file: who owns it, whether it is whole, and how it is opened.
//!
//! Ownership is an operating-system lock on `FILE.lock`. SQLite's own exclusive mode would keep
//! other processes from reading; this way anyone may look while one process writes, and the lock
//! goes when its process does, however it dies.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use abide::{Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::failure::to_caller;
use crate::schema;

/// Frames in the WAL before they are moved into the database: 64 MiB. The move stalls the writer
/// for two syncs, so it should be rare; a longer WAL makes reads and recovery slower.
const CHECKPOINT_PAGES: i64 = 16_000;

/// How large a WAL file may stay after a burst has passed.
const WAL_KEPT_BYTES: i64 = 80 << 20;

/// How long to wait for another process that holds a lock of SQLite's.
const BUSY: Duration = Duration::from_secs(5);

/// Statements kept compiled per connection: more than the crate has.
const STATEMENTS: usize = 128;

/// The right to write a database, held as long as this value lives.
#[derive(Debug)]
pub(crate) struct Ownership {
    _lock: File,
}

/// Takes the ownership of a database, or says that someone else has it.
pub(crate) fn own(path: &Path) -> Result<Ownership> {
    let lock_path = beside(path, ".lock");
    let lock = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&lock_path)
        .map_err(|error| unavailable(&lock_path, &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(Ownership { _lock: lock }),
        Err(TryLockError::WouldBlock) => {
            Err(Error::StoreInUse { path: path.display().to_string() })
        }
        Err(TryLockError::Error(error)) => Err(unavailable(&lock_path, &error)),
    }
}

/// Opens the one connection that writes, with the newest schema.
pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    check_whole(path)?;
    let mut connection = Connection::open(path).map_err(|error| to_caller(&error))?;
    let mode = tune_writer(&connection).map_err(|error| to_caller(&error))?;
    if mode != "wal" {
        let reason = format!("{} can't use a WAL, its journal is {mode}", path.display());
        return Err(Error::StoreUnavailable { reason, retry_in: BUSY });
    }
    schema::migrate(&mut connection, schema::MIGRATIONS)?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        keep_statements(&connection)?;
        connection.pragma_update(None, "cache_size", -8 * 1024)?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| to_caller(&error))
}

/// Prepared once, used for ever: without the stability guarantee SQLite plans a query anew whenever
/// a bound value might suit another index.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Sets what lasts as long as the connection; answers with the journal mode, which SQLite only
/// changes where the file system allows it.
fn tune_writer(connection: &Connection) -> rusqlite::Result<String> {
    connection.busy_timeout(BUSY)?;
    keep_statements(connection)?;
    let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    // FULL syncs the WAL with every commit: acknowledged means durable, also after power loss.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT_BYTES, |_| Ok(()))?;
    Ok(mode)
}

/// Refuses a file that is no database or lost its end. SQLite itself would notice only when it
/// happens to read a page that is gone.
pub(crate) fn check_whole(path: &Path) -> Result<()> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unavailable(path, &error)),
    };
    let size = file.metadata().map_err(|error| unavailable(path, &error))?.len();
    if size == 0 {
        return Ok(());
    }
    let shown = path.display();
    let mut header = [0_u8; 100];
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(Error::corrupt(format!("{shown} ends within the header of a database")));
        }
        Err(error) => return Err(unavailable(path, &error)),
    }
    if header[..16] != *b"SQLite format 3\0" {
        return Err(Error::corrupt(format!("{shown} is not a SQLite database")));
    }
    let expected = size_by_header(&header);
    // With frames in the WAL the file may be behind its header: SQLite completes it from there.
    if size < expected && !has_wal(path) {
        return Err(Error::corrupt(format!(
            "{shown} is cut off: it has {size} bytes and should have {expected}"
        )));
    }
    Ok(())
}

/// The size the header claims: page size (offset 16, 1 meaning 65536) times page count (offset
/// 28), which counts only if the file was last written by a program that maintains it (offsets 24
/// and 92 agree).
fn size_by_header(header: &[u8; 100]) -> u64 {
    let word = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    if word(24) != word(92) {
        return 0;
    }
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    page_size * u64::from(word(28))
}

fn has_wal(path: &Path) -> bool {
    beside(path, "-wal").metadata().is_ok_and(|wal| wal.len() > 0)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

pub(crate) fn unavailable(path: &Path, error: &io::Error) -> Error {
    Error::StoreUnavailable {
        reason: format!("{}: {error}", path.display()),
        retry_in: Duration::from_secs(1),
    }
}
