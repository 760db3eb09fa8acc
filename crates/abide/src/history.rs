//! The ordered record of everything that happened to an instance.
//!
//! One commit of one instance adds one *row* of entries, encoded once by whoever made them and
//! passed through the store untouched. The store numbers the entries; the numbers never reset.
//!
//! The order of completions in the history is the order in which the workflow saw them, so replay
//! reveals them in that order. Completions that the store itself recorded (a child ended) may be
//! written before or after something the runner saw first; a [`EntryKind::Seen`] mark, which has no
//! number and is not shown outside, says where the runner saw it.

mod entries;
mod entry;
mod kind;

use crate::time::Timestamp;

pub use entries::{Entries, decode_row};
pub use entry::Entry;
pub use kind::{EntryKind, StepKind};

/// An entry as the store numbered it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its number in the history of the instance. Marks carry the number before them.
    pub seq: i64,
    /// The run it belongs to.
    pub run: u32,
    /// When the store accepted it.
    pub at: Timestamp,
    /// What happened.
    pub entry: Entry,
}

/// The entries that settle the steps of a run, in the order in which the workflow saw them: those
/// of the runner where they stand, those of the store where they were marked as seen, and last the
/// ones nobody saw yet.
#[must_use]
pub fn completions(history: &[Recorded]) -> Vec<&Recorded> {
    let (mut seen, mut unseen) = seen_and_unseen(history);
    seen.append(&mut unseen);
    seen
}

/// The same, with the ones nobody saw yet apart.
pub(crate) fn seen_and_unseen(history: &[Recorded]) -> (Vec<&Recorded>, Vec<&Recorded>) {
    let mut order = Vec::new();
    let mut unseen: Vec<&Recorded> = Vec::new();
    for recorded in history {
        let entry = &recorded.entry;
        if entry.entry == EntryKind::Seen {
            if let Some(at) = unseen.iter().position(|found| found.entry.name == entry.name) {
                order.push(unseen.remove(at));
            }
        } else if entry.entry == EntryKind::WorkflowTerminating
            || (entry.outcome().is_some() && entry.step_kind().completed_by_store())
        {
            unseen.push(recorded);
        } else if entry.outcome().is_some() {
            order.push(recorded);
        }
    }
    (order, unseen)
}
