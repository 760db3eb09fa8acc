//! Reads what was recorded, in order, as the events that a sink is told.

use std::sync::Arc;

use abide::history::Recorded;
use abide::store::Store;
use abide::{InstanceKey, Result, Tail, TailRow};
use hashbrown::HashMap;

use crate::config::Types;
use crate::event::TrackedEvent;
use crate::life::may_rest;
use crate::lives::Lives;
use crate::tell::tell;

/// Rows that are read at once.
const PAGE: usize = 128;

/// See the module.
pub(crate) struct Reader {
    store: Arc<dyn Store>,
    types: Types,
    /// The last row that was read.
    after: i64,
    lives: Lives,
}

/// An event and the row it is of.
pub(crate) struct Told {
    pub(crate) event: TrackedEvent,
    pub(crate) row: i64,
}

/// A part of what was recorded.
pub(crate) struct Part {
    pub(crate) told: Vec<Told>,
    /// Up to which row everything is told with it.
    pub(crate) through: i64,
    /// Whether there may be more.
    pub(crate) is_more: bool,
}

impl Reader {
    pub(crate) fn new(store: Arc<dyn Store>, types: Types, after: i64) -> Self {
        Self { store, types, after, lives: Lives::default() }
    }

    /// Goes to another row.
    pub(crate) fn go_to(&mut self, after: i64) {
        self.after = after;
        self.lives.forget();
    }

    /// What comes next. A part that could not be read as a whole is read again.
    pub(crate) async fn next(&mut self) -> Result<Part> {
        let Tail { rows, head } = self.store.tail(self.after, PAGE).await?;
        let is_more = rows.len() == PAGE;
        let told = self.told(&rows, is_more).await;
        if told.is_err() {
            self.lives.forget();
        }
        let last = rows.last().map(|last| last.row).filter(|_| is_more);
        let through = last.unwrap_or(head).max(self.after);
        let told = told?;
        self.after = through;
        Ok(Part { told, through, is_more })
    }

    async fn told(&mut self, rows: &[TailRow], is_more: bool) -> Result<Vec<Told>> {
        let following = following(rows);
        let mut told = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let mut life = self.lives.before(&*self.store, row).await?;
            let read;
            let next = match following[index] {
                Some(next) => Some(&rows[next].recorded[..]),
                None if is_more && row.recorded.iter().any(may_rest) => {
                    read = self.after_row(row).await?;
                    Some(&read[..])
                }
                None => None,
            };
            let events = tell(&mut life, row, next, self.types);
            self.lives.keep(row.key, life);
            told.extend(events.into_iter().map(|event| Told { event, row: row.row }));
        }
        Ok(told)
    }

    /// What an instance recorded right after a row, when that is not among those that were read.
    async fn after_row(&self, row: &TailRow) -> Result<Vec<Recorded>> {
        let Some(last) = row.recorded.last() else { return Ok(Vec::new()) };
        self.store.history(&row.id, last.seq, 4).await
    }
}

/// For each row the next one of the same instance.
fn following(rows: &[TailRow]) -> Vec<Option<usize>> {
    let mut next: HashMap<InstanceKey, usize> = HashMap::new();
    let mut following = vec![None; rows.len()];
    for (index, row) in rows.iter().enumerate().rev() {
        following[index] = next.insert(row.key, index);
    }
    following
}
