//! What became of events so far.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// Written by the task of a tracker, read by whoever asks.
#[derive(Default)]
pub(crate) struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
    paused: AtomicBool,
    last_error: Mutex<Option<String>>,
}

impl Counts {
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::SeqCst)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    pub(crate) fn last_error(&self) -> Option<String> {
        self.last_error.lock().clone()
    }

    pub(crate) fn add_sent(&self, events: usize) {
        self.sent.fetch_add(count(events), Ordering::SeqCst);
        *self.last_error.lock() = None;
    }

    pub(crate) fn add_dropped(&self, events: usize) {
        self.dropped.fetch_add(count(events), Ordering::SeqCst);
    }

    pub(crate) fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::SeqCst);
    }

    pub(crate) fn failed(&self, error: String) {
        *self.last_error.lock() = Some(error);
    }
}

fn count(events: usize) -> u64 {
    u64::try_from(events).unwrap_or(u64::MAX)
}
