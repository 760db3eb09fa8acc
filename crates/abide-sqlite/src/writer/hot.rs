//! Statements that nearly every batch needs: looked up once for all of it.

use rusqlite::{CachedStatement, Connection};

pub(super) struct Hot<'w> {
    /// A row of history: most of what a writer does.
    pub(super) append: CachedStatement<'w>,
    pub(super) insert_instance: CachedStatement<'w>,
    pub(super) insert_wait: CachedStatement<'w>,
    pub(super) insert_key: CachedStatement<'w>,
    pub(super) delete_key: CachedStatement<'w>,
    pub(super) insert_sent: CachedStatement<'w>,
    pub(super) fulfil: CachedStatement<'w>,
    pub(super) wake: CachedStatement<'w>,
    pub(super) end: CachedStatement<'w>,
    pub(super) set_output: CachedStatement<'w>,
}

impl<'w> Hot<'w> {
    pub(super) fn new(connection: &'w Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            append: connection.prepare_cached(
                "INSERT INTO history (id, instance, run, seq, numbered, at, entries)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?,
            insert_instance: connection.prepare_cached(
                "INSERT INTO instances (key, id, workflow, version, run, phase, input, correlation_id,
                 parent_key, parent_id, parent_run, parent_step, parent_awaited, tags,
                 created_at, updated_at, wake_at, queued_reason, timeout_ms, timeout_at,
                 run_seq, log_from)
             VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, ?15, ?16,
                 ?17, ?18, ?19, ?20)
             ON CONFLICT (id) DO NOTHING",
            )?,
            insert_wait: connection.prepare_cached(
                "INSERT INTO workflow_event_subscriptions (key, id, instance, workflow_instance_id,
                 run, kind, event_pattern, output_of, status, timeout_at, created_at,
                 wait_step_id, race, needed, filter_condition, filter_folded, distinct_by,
                 distinct_folded, since)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19)
             ON CONFLICT (id) DO NOTHING",
            )?,
            insert_key: connection.prepare_cached(
                "INSERT INTO subscription_keys (shape, key, wait, instance)
             VALUES (?1, ?2, ?3, ?4)",
            )?,
            delete_key: connection.prepare_cached(
                "DELETE FROM subscription_keys WHERE shape = ?1 AND key = ?2 AND wait = ?3",
            )?,
            insert_sent: connection.prepare_cached(
                "INSERT INTO inbox (key, instance, nth, id, kind, name, payload, size, received_at,
                 visible_at, consumed_at, source, wake, buffer, state, delivered, buffered,
                 place)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18)",
            )?,
            fulfil: connection.prepare_cached(
                "UPDATE workflow_event_subscriptions
                SET status = 'fulfilled', fulfilled_at = ?2, fulfilled_by_event_id = ?3,
                    fulfilled_by_entry = ?4
              WHERE key = ?1",
            )?,
            wake: connection.prepare_cached(
                "UPDATE instances SET phase = 'running', wake_at = NULL, updated_at = ?2
              WHERE key = ?1 AND phase IN ('waiting', 'sleeping')",
            )?,
            end: connection.prepare_cached(
                "UPDATE instances
                SET phase = ?2, output = ?3, error = ?4, completed_at = ?5, updated_at = ?5,
                    wake_at = NULL, paused = 0, queued_reason = NULL,
                    parent_awaited = CASE WHEN parent_key IS NULL THEN NULL ELSE 0 END
              WHERE key = ?1",
            )?,
            set_output: connection.prepare_cached(
                "INSERT INTO outputs (instance, key, value, updated_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (instance, key)
             DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
            )?,
        })
    }
}
