//! Open waits that have not looked at everything they look back to, in memory. The rows say how far
//! each came.
//!
//! Changes are journalled, and taken back with their batch.

use std::collections::BTreeSet;

use abide::Result;
use rusqlite::Connection;

use crate::failure::Trouble;

/// All of them, by key.
#[derive(Default)]
pub(crate) struct Lookbacks {
    pending: BTreeSet<i64>,
    /// What changed, and whether it was there before.
    journal: Vec<(i64, bool)>,
}

impl Lookbacks {
    pub(crate) fn read(connection: &Connection) -> Result<Self, Trouble> {
        let mut select = connection.prepare("SELECT wait FROM lookbacks")?;
        let pending = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(Self { pending, journal: Vec::new() })
    }

    /// The oldest.
    pub(crate) fn first(&self) -> Option<i64> {
        self.pending.first().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn contains(&self, wait: i64) -> bool {
        self.pending.contains(&wait)
    }

    pub(crate) fn add(&mut self, wait: i64) {
        if self.pending.insert(wait) {
            self.journal.push((wait, false));
        }
    }

    pub(crate) fn remove(&mut self, wait: i64) {
        if self.pending.remove(&wait) {
            self.journal.push((wait, true));
        }
    }

    pub(crate) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Takes back everything since a mark, newest first.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        for (wait, was_there) in self.journal.drain(mark..).rev() {
            if was_there {
                self.pending.insert(wait);
            } else {
                self.pending.remove(&wait);
            }
        }
    }

    /// The batch is durable.
    pub(crate) fn settle(&mut self) {
        self.journal.clear();
    }
}
