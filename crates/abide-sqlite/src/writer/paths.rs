//! The events of the log by what they have at the paths that waits look at.

use abide::index::Shape;
use abide::publication::{Parsed, Seen};
use abide::{InstanceKey, Published};
use rusqlite::{OptionalExtension, params};

use super::batch::Batch;
use crate::failure::Trouble;
use crate::log::{self, select_events};
use crate::paths::{Indexed, MAX_PATHS};

impl Batch<'_> {
    /// A new event can be looked up from now on.
    pub(super) fn index_event(&self, event: &Published) -> Result<(), Trouble> {
        for indexed in self.caches.paths.of(&event.event.event_type) {
            self.insert_event_key(indexed, event)?;
        }
        Ok(())
    }

    fn insert_event_key(&self, indexed: &Indexed, event: &Published) -> Result<(), Trouble> {
        let Some(key) = key_at(&indexed.shape, event) else { return Ok(()) };
        let mut insert = self.connection.prepare_cached(
            "INSERT OR IGNORE INTO event_keys (path, key, seq) VALUES (?1, ?2, ?3)",
        )?;
        insert.execute(params![indexed.id, key, event.seq])?;
        Ok(())
    }

    /// An event can't be looked up any more.
    pub(super) fn unindex_event(&self, event: &Published) -> Result<(), Trouble> {
        let mut delete = self
            .connection
            .prepare_cached("DELETE FROM event_keys WHERE path = ?1 AND key = ?2 AND seq = ?3")?;
        for indexed in self.caches.paths.of(&event.event.event_type) {
            if let Some(key) = key_at(&indexed.shape, event) {
                delete.execute(params![indexed.id, key, event.seq])?;
            }
        }
        Ok(())
    }

    /// Nothing is left of a type, and so of its paths.
    pub(super) fn forget_paths(&mut self, event_type: &str) -> Result<(), Trouble> {
        if self.caches.paths.of(event_type).is_empty() {
            return Ok(());
        }
        self.caches.paths.forget(event_type);
        let mut delete =
            self.connection.prepare_cached("DELETE FROM event_paths WHERE type = ?1")?;
        delete.execute([event_type])?;
        Ok(())
    }

    /// From now on the events of a type are looked up by these paths, too, if there is room for
    /// that. Those that are few are looked at right away.
    pub(super) fn ensure_path(
        &mut self,
        event_type: &str,
        shape: &Shape,
        few: usize,
    ) -> Result<(), Trouble> {
        let known = self.caches.paths.of(event_type);
        if known.len() >= MAX_PATHS || self.caches.paths.find(event_type, shape.paths()).is_some() {
            return Ok(());
        }
        let shape = Shape::new(event_type, shape.paths().iter().cloned());
        let indexed = self.caches.paths.add(shape, self.last_event());
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO event_paths (id, type, paths, done, upto) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let text = indexed.shape.paths_text();
        insert.execute(params![indexed.id, event_type, text, indexed.done, indexed.upto])?;
        let mut count =
            self.connection.prepare_cached("SELECT events FROM event_types WHERE type = ?1")?;
        let events: Option<i64> = count.query_row([event_type], |row| row.get(0)).optional()?;
        if events.is_some_and(|events| usize::try_from(events).is_ok_and(|n| n <= few)) {
            self.index_more(&indexed, few)?;
        }
        Ok(())
    }

    /// Looks at some more of the events that were there before. Answers with how many.
    pub(super) fn index_more(
        &mut self,
        indexed: &Indexed,
        at_most: usize,
    ) -> Result<usize, Trouble> {
        let limit = i64::try_from(at_most).unwrap_or(i64::MAX);
        let event_type = indexed.shape.pattern();
        let events = log::all(
            self.connection,
            select_events!("WHERE type = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4"),
            params![event_type, indexed.done, indexed.upto, limit],
        )?;
        for event in &events {
            self.insert_event_key(indexed, event)?;
        }
        let rest = events.last().filter(|_| events.len() == at_most);
        let done = rest.map_or(indexed.upto, |last| last.seq);
        self.caches.paths.advance(indexed, done);
        let mut update =
            self.connection.prepare_cached("UPDATE event_paths SET done = ?2 WHERE id = ?1")?;
        update.execute([indexed.id, done])?;
        Ok(events.len())
    }

    /// The first events after a number that have a key and that an instance did not take.
    pub(super) fn looked_up(
        &self,
        (path, key): (i64, &str),
        after: i64,
        by: InstanceKey,
        at_most: i64,
    ) -> Result<Vec<i64>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT seq FROM event_keys k WHERE path = ?1 AND key = ?2 AND seq > ?3
                AND NOT EXISTS (SELECT 1 FROM inbox WHERE log = k.seq AND instance = ?4)
              ORDER BY seq LIMIT ?5",
        )?;
        let found = select.query_map(params![path, key, after, by.0, at_most], |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

/// What an event has at the paths of a shape.
fn key_at(shape: &Shape, event: &Published) -> Option<String> {
    let (publication, parsed) = (log::timed(event), Parsed::default());
    shape.probe(&Seen::of(&publication, &parsed).numbered(event.seq))
}
