//! Deleting what ended long ago.

use abide::{InstanceKey, Timestamp};
use rusqlite::params;

use super::batch::{Batch, Keys};
use crate::failure::Trouble;

/// The longest that a window of a trigger may still count after its last instance has gone: 30 days.
const WINDOW_MS: i64 = 30 * 24 * 60 * 60 * 1000;

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
        let mut windows = self
            .connection
            .prepare_cached("DELETE FROM windows WHERE instance = ?1 AND opened_at < ?2")?;
        for key in &keys {
            windows.execute([*key, self.now.0.saturating_sub(WINDOW_MS)])?;
            self.forget_mail(InstanceKey(*key))?;
            rows.execute([key])?;
            instance.execute([key])?;
        }
        Ok(keys.len())
    }

    /// Deletes waits, everything that was accepted, outputs and chunks. Whoever calls it sees to it that
    /// keys are not used again.
    pub(super) fn forget_mail(&self, key: InstanceKey) -> Result<(), Trouble> {
        for delete in [
            "DELETE FROM held WHERE wait IN (
                 SELECT key FROM workflow_event_subscriptions
                  WHERE workflow_instance_id = (SELECT id FROM instances WHERE key = ?1)
                    AND instance = ?1)",
            "DELETE FROM workflow_event_subscriptions
              WHERE workflow_instance_id = (SELECT id FROM instances WHERE key = ?1)
                AND instance = ?1",
            "DELETE FROM inbox WHERE instance = ?1",
            "DELETE FROM outputs WHERE instance = ?1",
            "DELETE FROM chunks WHERE instance = ?1",
        ] {
            self.connection.prepare_cached(delete)?.execute([key.0])?;
        }
        Ok(())
    }

    /// The highest keys may be among those that go, and must not be used again after a reopening.
    pub(super) fn remember_keys(&self) -> Result<(), Trouble> {
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO meta (name, value)
             VALUES ('next_instance', ?1), ('next_row', ?2), ('next_wait', ?3),
                    ('next_inbox', ?4), ('next_event', ?5), ('next_chunk', ?6)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?;
        let Keys { next_instance, next_row, next_wait, next_inbox, next_event, next_chunk } =
            *self.keys;
        upsert.execute([next_instance, next_row, next_wait, next_inbox, next_event, next_chunk])?;
        Ok(())
    }
}
