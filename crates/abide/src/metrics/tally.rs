//! How often each thing happened that the store makes durable.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::history::{Entries, Entry, EntryKind};
use crate::verdict::Verdict;

/// One place per kind of entry, and one for steps that failed for good.
const KINDS: usize = EntryKind::ALL.len() + 1;
const FAILED: usize = KINDS - 1;

/// Besides those, published events: wanted, unwanted, and repeated.
const PLACES: usize = KINDS + 3;
const WANTED: usize = KINDS;
const UNWANTED: usize = KINDS + 1;
const REPEATED: usize = KINDS + 2;

/// The kinds of the entries of one row. Small, because every instance in memory has one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kinds([u16; KINDS]);

impl Default for Kinds {
    fn default() -> Self {
        Self([0; KINDS])
    }
}

impl Kinds {
    pub(crate) fn add(&mut self, entry: &Entry) {
        places(entry, |place| self.0[place] = self.0[place].saturating_add(1));
    }
}

/// Where an entry counts. Results that a restart took over happened before.
fn places(entry: &Entry, mut count: impl FnMut(usize)) {
    if entry.cached {
        return;
    }
    count(entry.entry as usize);
    if entry.entry == EntryKind::StepFailed && !entry.will_retry {
        count(FAILED);
    }
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally([u64; PLACES]);

impl Default for Tally {
    fn default() -> Self {
        Self([0; PLACES])
    }
}

impl Tally {
    /// Counts the entries of a row.
    pub fn add_row(&mut self, entries: &Entries) {
        for (all, count) in self.0.iter_mut().zip(&entries.kinds().0) {
            *all += u64::from(*count);
        }
    }

    /// Counts one entry.
    pub fn add(&mut self, entry: &Entry) {
        places(entry, |place| self.0[place] += 1);
    }

    /// Counts a published event by what was answered, unless that was only a question.
    pub fn add_published(&mut self, verdict: &Verdict) {
        self.0[match verdict {
            Verdict { duplicate: true, .. } => REPEATED,
            wanted if wanted.is_wanted() => WANTED,
            _ => UNWANTED,
        }] += 1;
    }

    /// Entries of a kind; results that a restart took over are left out.
    #[must_use]
    pub fn of(&self, kind: EntryKind) -> u64 {
        self.0[kind as usize]
    }

    /// Steps that failed and were not tried again.
    #[must_use]
    pub fn steps_failed(&self) -> u64 {
        self.0[FAILED]
    }

    /// Published events that somebody wanted when they were accepted.
    #[must_use]
    pub fn published_wanted(&self) -> u64 {
        self.0[WANTED]
    }

    /// Published events that nobody wanted when they were accepted.
    #[must_use]
    pub fn published_unwanted(&self) -> u64 {
        self.0[UNWANTED]
    }

    /// Events that were published again.
    #[must_use]
    pub fn published_again(&self) -> u64 {
        self.0[REPEATED]
    }
}

/// Tallies of a whole life: one adds, anybody reads.
#[derive(Debug)]
pub struct Totals([AtomicU64; PLACES]);

impl Default for Totals {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; PLACES])
    }
}

impl Totals {
    /// Adds what became durable.
    pub fn add(&self, tally: &Tally) {
        for (all, count) in self.0.iter().zip(&tally.0).filter(|(_, count)| **count > 0) {
            all.fetch_add(*count, Ordering::Relaxed);
        }
    }

    /// What was added so far.
    #[must_use]
    pub fn read(&self) -> Tally {
        let mut tally = Tally::default();
        for (count, all) in tally.0.iter_mut().zip(&self.0) {
            *count = all.load(Ordering::Relaxed);
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_like_its_entries_but_for_what_a_restart_took_over() {
        let entries = [
            Entry::new(EntryKind::WorkflowStarted),
            Entry::new(EntryKind::StepFailed),
            Entry { will_retry: true, ..Entry::new(EntryKind::StepFailed) },
            Entry { cached: true, ..Entry::new(EntryKind::StepCompleted) },
            Entry::new(EntryKind::StepCompleted),
        ];
        let (mut by_row, mut one_by_one) = (Tally::default(), Tally::default());
        by_row.add_row(&Entries::of(&entries));
        entries.iter().for_each(|entry| one_by_one.add(entry));
        assert_eq!(by_row, one_by_one);
        let of = |kind| by_row.of(kind);
        assert_eq!((of(EntryKind::StepFailed), of(EntryKind::StepCompleted)), (2, 1));
        assert_eq!(by_row.steps_failed(), 1);

        let totals = Totals::default();
        totals.add(&by_row);
        totals.add(&by_row);
        assert_eq!(totals.read().of(EntryKind::StepFailed), 4);
    }

    #[test]
    fn every_kind_has_a_place_of_its_own() {
        for (place, kind) in EntryKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }
}
