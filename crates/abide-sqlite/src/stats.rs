//! What the writer has done so far, for benchmarks and tests of batching.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that were committed and had something to store.
    pub commits: u64,
    /// Commands that were part of committed transactions.
    pub commands: u64,
    /// History rows that were stored.
    pub rows: u64,
    /// Open waits whose filter has to be evaluated on every event that their pattern covers, as far
    /// as the index in memory knows.
    pub scanned_waits: u64,
}

/// The counters behind [`Stats`]: written by the writer, read by anyone.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    commands: AtomicU64,
    rows: AtomicU64,
    scanned_waits: AtomicU64,
}

impl Counters {
    pub(crate) fn count(&self, commits: u64, commands: u64, rows: u64) {
        self.commits.fetch_add(commits, Ordering::Relaxed);
        self.commands.fetch_add(commands, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn note_scanned(&self, waits: u64) {
        self.scanned_waits.store(waits, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Stats {
        Stats {
            commits: self.commits.load(Ordering::Relaxed),
            commands: self.commands.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            scanned_waits: self.scanned_waits.load(Ordering::Relaxed),
        }
    }
}
