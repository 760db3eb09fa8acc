//! What the writer has done so far, for benchmarks and tests of batching.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::metrics::{Figures, Histogram, Tally, Totals};

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
#[derive(Debug)]
pub(crate) struct Counters {
    commits: AtomicU64,
    commands: AtomicU64,
    rows: AtomicU64,
    scanned_waits: AtomicU64,
    left_to_meet: AtomicU64,
    looking_back: AtomicU64,
    failed: AtomicU64,
    reads_failed: AtomicU64,
    totals: Totals,
    batches: Histogram,
    durations: Histogram,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            commits: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            scanned_waits: AtomicU64::new(0),
            left_to_meet: AtomicU64::new(0),
            looking_back: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            reads_failed: AtomicU64::new(0),
            totals: Totals::default(),
            batches: Histogram::of_sizes(),
            durations: Histogram::of_times(),
        }
    }
}

impl Counters {
    /// A transaction is durable that had something to store.
    pub(crate) fn stored(&self, commands: u64, took: Duration) {
        self.batches.add(commands);
        self.durations.add_time(took);
    }

    /// A transaction was refused.
    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// A read was refused.
    pub(crate) fn read_failed(&self) {
        self.reads_failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, tally: &Tally) {
        self.totals.add(tally);
    }

    /// With what waits for the writer and for readers.
    pub(crate) fn figures(&self, queued: u64, reads_queued: u64) -> Figures {
        let mut figures = Figures::of(self.totals.read());
        figures.batches = self.batches.read();
        figures.commits = self.durations.read();
        figures.failed = self.failed.load(Ordering::Relaxed);
        figures.reads_failed = self.reads_failed.load(Ordering::Relaxed);
        (figures.queued, figures.reads_queued) = (queued, reads_queued);
        figures.scanned_waits = self.scanned_waits.load(Ordering::Relaxed);
        figures.left_to_meet = self.left_to_meet.load(Ordering::Relaxed);
        figures.looking_back = self.looking_back.load(Ordering::Relaxed);
        figures
    }

    pub(crate) fn count(&self, commits: u64, commands: u64, rows: u64) {
        self.commits.fetch_add(commits, Ordering::Relaxed);
        self.commands.fetch_add(commands, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn note_scanned(&self, waits: u64) {
        self.scanned_waits.store(waits, Ordering::Relaxed);
    }

    /// What the writer has to do without being asked again.
    pub(crate) fn note_left(&self, to_meet: u64, looking_back: u64) {
        self.left_to_meet.store(to_meet, Ordering::Relaxed);
        self.looking_back.store(looking_back, Ordering::Relaxed);
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
