//! Deleting what was published long ago, or is too much.

use std::collections::BTreeSet;

use abide::{LogRetention, Published, Timestamp};
use rusqlite::params;

use super::batch::Batch;
use crate::failure::Trouble;
use crate::log;

/// How long a wait that was met may be called off unseen: a day.
const UNDONE_WITHIN_MS: i64 = 24 * 60 * 60 * 1000;

impl Batch<'_> {
    /// Deletes events that may go, the oldest first.
    pub(super) fn prune_log(
        &mut self,
        retention: LogRetention,
        limit: usize,
    ) -> Result<usize, Trouble> {
        let LogRetention { before, max_bytes, max_per_type } = retention;
        let mut gone = BTreeSet::new();
        if let Some(before) = before {
            gone.extend(self.accepted_before(before, limit)?);
        }
        if let Some(most) = max_bytes {
            gone.extend(self.beyond_bytes(most, limit)?);
        }
        if let Some(most) = max_per_type {
            gone.extend(self.beyond_of_type(most, limit)?);
        }
        // What somebody has yet to meet stays.
        gone.retain(|seq| !self.caches.fanouts.contains(*seq));
        let gone: Vec<i64> = gone.into_iter().take(limit).collect();
        if gone.is_empty() {
            return Ok(0);
        }
        self.remember_keys()?;
        for seq in &gone {
            if let Some(event) = log::event(self.connection, *seq)? {
                self.delete_event(&event)?;
            }
        }
        Ok(gone.len())
    }

    fn accepted_before(&self, before: Timestamp, limit: usize) -> Result<Vec<i64>, Trouble> {
        let last = log::last_before(self.connection, before)?.unwrap_or(i64::MIN);
        let mut select = self.connection.prepare_cached(
            "SELECT seq FROM events WHERE seq <= ?1 AND accepted_at < ?2 ORDER BY seq LIMIT ?3",
        )?;
        let found = select.query_map([last, before.0, as_limit(limit)], |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Those that have more than so many bytes in themselves and what is newer.
    fn beyond_bytes(&self, most: u64, limit: usize) -> Result<Vec<i64>, Trouble> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut total: i64 = self
            .connection
            .prepare_cached("SELECT coalesce(sum(bytes), 0) FROM event_types")?
            .query_row([], |row| row.get(0))?;
        let mut select =
            self.connection.prepare_cached("SELECT seq, size FROM events ORDER BY seq LIMIT ?1")?;
        let mut rows = select.query([as_limit(limit)])?;
        let mut gone = Vec::new();
        while total > most
            && let Some(row) = rows.next()?
        {
            gone.push(row.get(0)?);
            total -= row.get::<_, i64>(1)?;
        }
        Ok(gone)
    }

    fn beyond_of_type(&self, most: u64, limit: usize) -> Result<Vec<i64>, Trouble> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut types = self
            .connection
            .prepare_cached("SELECT type, events - ?1 FROM event_types WHERE events > ?1")?;
        let mut oldest = self
            .connection
            .prepare_cached("SELECT seq FROM events WHERE type = ?1 ORDER BY seq LIMIT ?2")?;
        let mut rows = types.query([most])?;
        let mut gone = Vec::new();
        while let Some(row) = rows.next()? {
            let (name, surplus): (String, i64) = (row.get(0)?, row.get(1)?);
            let found =
                oldest.query_map(params![name, surplus.min(as_limit(limit))], |row| row.get(0))?;
            for seq in found {
                gone.push(seq?);
            }
        }
        Ok(gone)
    }

    /// Nobody can take again what is gone, so that no proof is needed. It is kept for as long as a
    /// wait may be called off before its instance saw that it was met.
    fn forget_takers(&self, seq: i64) -> Result<(), Trouble> {
        let mut delete = self.connection.prepare_cached(
            "DELETE FROM inbox WHERE log = ?1 AND state = 'consumed' AND taken_at < ?2",
        )?;
        delete.execute([seq, self.now.0.saturating_sub(UNDONE_WITHIN_MS)])?;
        Ok(())
    }

    fn delete_event(&mut self, event: &Published) -> Result<(), Trouble> {
        self.unindex_event(event)?;
        self.forget_takers(event.seq)?;
        let mut delete = self.connection.prepare_cached("DELETE FROM events WHERE seq = ?1")?;
        delete.execute([event.seq])?;
        let size = event.event.payload.as_ref().map_or(0, abide::Json::size);
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let mut count = self.connection.prepare_cached(
            "UPDATE event_types SET events = events - 1, bytes = bytes - ?2 WHERE type = ?1",
        )?;
        count.execute(params![event.event.event_type, size])?;
        let mut forget = self
            .connection
            .prepare_cached("DELETE FROM event_types WHERE type = ?1 AND events <= 0")?;
        if forget.execute([&event.event.event_type])? > 0 {
            self.forget_paths(&event.event.event_type)?;
        }
        Ok(())
    }
}

fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
