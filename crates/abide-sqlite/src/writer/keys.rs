//! What open waits are found by when an event is published.
//!
//! Each entry of a wait is a row while the wait is open. These rows alone find every wait that may
//! want an event; whether it does, the wait itself says.

use abide::index::Entry;
use abide::publication::{Parsed, Seen};
use abide::{InstanceKey, Published, Wait};
use hashbrown::HashSet;
use rusqlite::{Connection, params};

use super::batch::Batch;
use crate::failure::Trouble;
use crate::log;
use crate::shapes::Shapes;

/// A wait that may want an event, and its instance.
pub(super) type Found = (i64, InstanceKey);

impl Batch<'_> {
    /// From now on the wait is found.
    pub(super) fn key_wait(&mut self, wait: &Wait) -> Result<(), Trouble> {
        let entries = wait.entries();
        if !entries.is_empty() {
            self.caches.waiting.opened(wait);
        }
        self.insert_keys(wait, entries)
    }

    fn insert_keys(&mut self, wait: &Wait, entries: Vec<Entry>) -> Result<(), Trouble> {
        for entry in entries {
            let shape = self.caches.shapes.id(self.connection, &entry.shape)?;
            self.hot.insert_key.execute(params![shape, entry.key, wait.key, wait.instance.0])?;
        }
        Ok(())
    }

    /// From now on it is not. One that was reached a moment ago never was.
    pub(super) fn unkey_wait(&mut self, wait: &Wait) -> Result<(), Trouble> {
        if wait.key >= self.unkeyed_from {
            return Ok(());
        }
        let entries = wait.entries();
        if !entries.is_empty() {
            self.caches.waiting.closed(wait.key);
        }
        self.delete_keys(wait, entries)
    }

    /// From now on it is found by something else.
    pub(super) fn rekey_wait(&mut self, before: &Wait, after: &Wait) -> Result<(), Trouble> {
        self.caches.waiting.edited(before, after);
        self.delete_keys(before, before.entries())?;
        self.insert_keys(after, after.entries())
    }

    fn delete_keys(&mut self, wait: &Wait, entries: Vec<Entry>) -> Result<(), Trouble> {
        for entry in entries {
            if let Some(shape) = self.caches.shapes.known(&entry.shape) {
                self.hot.delete_key.execute(params![shape, entry.key, wait.key])?;
            }
        }
        Ok(())
    }

    /// The waits that may want an event, by key.
    pub(super) fn found_by(&self, event: &Published) -> Result<Vec<Found>, Trouble> {
        if self.caches.waiting.is_complete() {
            return Ok(self.caches.waiting.found(event));
        }
        found(self.connection, &self.caches.shapes, event)
    }
}

/// The waits that may want an event, by key, from rows alone.
pub(super) fn found(
    connection: &Connection,
    shapes: &Shapes,
    event: &Published,
) -> Result<Vec<Found>, Trouble> {
    let (publication, parsed) = (log::timed(event), Parsed::default());
    let seen = Seen::of(&publication, &parsed).numbered(event.seq);
    let mut select = connection.prepare_cached(
        "SELECT wait, instance FROM subscription_keys WHERE shape = ?1 AND key = ?2",
    )?;
    let mut found = Vec::new();
    for (id, shape) in shapes.covering(&publication.event_type) {
        let Some(key) = shape.probe(&seen) else { continue };
        let rows = select
            .query_map(params![id, key], |row| Ok((row.get(0)?, InstanceKey(row.get(1)?))))?;
        for row in rows {
            found.push(row?);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Leaves the first wait of each instance.
pub(super) fn first_of_each(found: &mut Vec<Found>) {
    let mut known = HashSet::new();
    found.retain(|(_, key)| known.insert(*key));
}
