//! What open waits are found by when an event is published.
//!
//! Each entry of a wait is a row while the wait is open. These rows alone find every wait that may
//! want an event; whether it does, the wait itself says.

use abide::publication::{Parsed, Seen};
use abide::{InstanceKey, Published, Wait};
use rusqlite::params;

use super::batch::Batch;
use crate::failure::Trouble;
use crate::log;

/// A wait that may want an event, and its instance.
pub(super) type Found = (i64, InstanceKey);

impl Batch<'_> {
    /// From now on the wait is found.
    pub(super) fn key_wait(&mut self, wait: &Wait) -> Result<(), Trouble> {
        for entry in wait.entries() {
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
        for entry in wait.entries() {
            if let Some(shape) = self.caches.shapes.known(&entry.shape) {
                self.hot.delete_key.execute(params![shape, entry.key, wait.key])?;
            }
        }
        Ok(())
    }

    /// The waits that may want an event, by key.
    pub(super) fn found_by(&self, event: &Published) -> Result<Vec<Found>, Trouble> {
        let (publication, parsed) = (log::timed(event), Parsed::default());
        let seen = Seen::of(&publication, &parsed).numbered(event.seq);
        let mut select = self.connection.prepare_cached(
            "SELECT wait, instance FROM subscription_keys WHERE shape = ?1 AND key = ?2",
        )?;
        let mut found = Vec::new();
        for (id, shape) in self.caches.shapes.covering(&publication.event_type) {
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
}
