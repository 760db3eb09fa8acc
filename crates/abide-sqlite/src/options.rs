//! How a store is opened.

use std::path::Path;
use std::sync::Arc;

use abide::meeting::BufferLimit;
use abide::{Clock, Result, SystemClock};

use crate::store::SqliteStore;

/// Outside calls that may wait for the writer by default: some seconds of work on a slow disk.
const MAX_QUEUED: usize = 10_000;

/// Ids of what was sent that an instance remembers by default.
const REMEMBERED_IDS: usize = 10_000;

/// Published events that a wait without an equality key looks back to by default.
const LOOKBACK_MAX_SCANNED: usize = 10_000;

/// Instances that a published event meets at once by default: some milliseconds of work.
const FANOUT_CHUNK: usize = 128;

/// Memory for what open waits want, by default: more than a million of them.
const INDEX_MAX_BYTES: usize = 512 << 20;

/// What can be set before a store is opened.
///
/// ```
/// # async fn open() -> abide::Result<()> {
/// let store = abide_sqlite::SqliteStore::options().max_queued(1_000).open("shop.db").await?;
/// # store.close().await }
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) max_queued: usize,
    pub(crate) buffer_limit: BufferLimit,
    pub(crate) remembered_ids: usize,
    pub(crate) lookback_max_scanned: usize,
    pub(crate) fanout_chunk: usize,
    pub(crate) index_max_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            max_queued: MAX_QUEUED,
            buffer_limit: BufferLimit::default(),
            remembered_ids: REMEMBERED_IDS,
            lookback_max_scanned: LOOKBACK_MAX_SCANNED,
            fanout_chunk: FANOUT_CHUNK,
            index_max_bytes: INDEX_MAX_BYTES,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("max_queued", &self.max_queued)
            .field("buffer_limit", &self.buffer_limit)
            .field("remembered_ids", &self.remembered_ids)
            .field("lookback_max_scanned", &self.lookback_max_scanned)
            .field("fanout_chunk", &self.fanout_chunk)
            .field("index_max_bytes", &self.index_max_bytes)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Where moments come from. The machine's clock, unless a test says otherwise.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// How many writes may wait before outside calls (`start`, `control`, `deliver`,
    /// `publish`, `edit_wait`, `put_document`, `remove_document`) are refused with
    /// [`abide::Error::RateLimited`]. Instances' own writes are never refused.
    #[must_use]
    pub fn max_queued(mut self, max_queued: usize) -> Self {
        self.max_queued = max_queued;
        self
    }

    /// How much an instance may keep for later waits before senders are refused with
    /// [`abide::Error::BufferFull`].
    #[must_use]
    pub fn buffer_limit(mut self, buffer_limit: BufferLimit) -> Self {
        self.buffer_limit = buffer_limit;
        self
    }

    /// How many ids of what was sent an instance remembers, to answer the same id again as the
    /// first time. At least the last one.
    #[must_use]
    pub fn remembered_ids(mut self, remembered_ids: usize) -> Self {
        self.remembered_ids = remembered_ids.max(1);
        self
    }

    /// How many published events a wait whose filter has no equality key looks back to at most.
    #[must_use]
    pub fn lookback_max_scanned(mut self, lookback_max_scanned: usize) -> Self {
        self.lookback_max_scanned = lookback_max_scanned;
        self
    }

    /// How many instances a published event meets in the transaction that stores it. The others
    /// follow in pieces, so that a storm does not hold up everybody else.
    #[must_use]
    pub fn fanout_chunk(mut self, fanout_chunk: usize) -> Self {
        self.fanout_chunk = fanout_chunk;
        self
    }

    /// How much memory may be taken by what open waits for events want. When that is more, or this
    /// is zero, published events are matched with the rows of the file.
    #[must_use]
    pub fn index_max_bytes(mut self, index_max_bytes: usize) -> Self {
        self.index_max_bytes = index_max_bytes;
        self
    }

    /// Opens a database, creating it when there is none.
    ///
    /// # Errors
    /// [`abide::Error::StoreInUse`] when another handle or process owns it,
    /// [`abide::Error::Corrupt`] when it is no database or not whole,
    /// [`abide::Error::NewerSchema`] when a newer version wrote it, and
    /// [`abide::Error::StoreUnavailable`] when the file can't be opened.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore> {
        SqliteStore::open_with(self, path.as_ref().to_owned(), None).await
    }

    /// Opens a new database in a temporary directory, which is removed with the last handle.
    ///
    /// # Errors
    /// [`abide::Error::StoreUnavailable`] when there is no room for it.
    pub async fn open_temporary(self) -> Result<SqliteStore> {
        let directory = tempfile::tempdir()
            .map_err(|error| crate::file::unavailable(&std::env::temp_dir(), &error))?;
        let path = directory.path().join("abide.db");
        SqliteStore::open_with(self, path, Some(directory)).await
    }
}
