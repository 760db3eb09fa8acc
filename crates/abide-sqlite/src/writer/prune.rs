//! Deleting what ended long ago.

use abide::Timestamp;
use rusqlite::params;

use super::batch::Batch;
use crate::failure::Trouble;

impl Batch<'_> {
    pub(super) fn prune(
        &mut self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT key FROM instances WHERE completed_at < ?1
              ORDER BY completed_at, key LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let keys: Vec<i64> = select
            .query_map(params![ended_before.0, limit], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        if keys.is_empty() {
            return Ok(0);
        }
        self.remember_keys()?;
        let mut rows = self.connection.prepare_cached("DELETE FROM history WHERE instance = ?1")?;
        let mut instance =
            self.connection.prepare_cached("DELETE FROM instances WHERE key = ?1")?;
        for key in &keys {
            rows.execute([key])?;
            instance.execute([key])?;
        }
        Ok(keys.len())
    }

    /// The highest keys may be among those that go, and must not be used again after a reopening.
    fn remember_keys(&self) -> Result<(), Trouble> {
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO meta (name, value) VALUES ('next_instance', ?1), ('next_row', ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?;
        upsert.execute([self.keys.next_instance, self.keys.next_row])?;
        Ok(())
    }
}
