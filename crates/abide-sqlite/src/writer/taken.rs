//! What instances took from the log.
//!
//! It is an entry of the inbox as if it had been sent, and stays there, whatever becomes of it, as
//! the proof that the instance does not take the event again.

use abide::{Buffered, InstanceKey, Json, Published};
use rusqlite::{OptionalExtension, params};

use super::batch::Batch;
use super::inbox::State;
use crate::failure::Trouble;
use crate::{inbox, log};

impl Batch<'_> {
    /// An instance takes a published event.
    pub(super) fn take_in(
        &mut self,
        key: InstanceKey,
        event: &Published,
        state: State,
    ) -> Result<Buffered, Trouble> {
        let sent = event.sent(self.keys.inbox());
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO inbox (key, instance, id, kind, name, payload, size, received_at,
                 visible_at, consumed_at, source, wake, buffer, state, delivered, buffered, log,
                 taken_at, place)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, 1, ?11, ?12, 0, 0, ?13, ?14,
                 ?15)",
        )?;
        let size = sent.payload.as_ref().map_or(0, Json::size);
        insert.execute(params![
            sent.key,
            key.0,
            &*sent.id,
            sent.kind.as_str(),
            &*sent.name,
            sent.payload.as_ref().map(Json::as_str),
            i64::try_from(size).unwrap_or(i64::MAX),
            sent.received_at.0,
            (state == State::Consumed).then_some(self.now.0),
            sent.source.as_deref(),
            sent.buffer.as_str(),
            state.as_str(),
            event.seq,
            self.now.0,
            inbox::said_text(&sent),
        ])?;
        if state.is_buffered() {
            self.claims.note(key, |mail| mail.kept = true);
        }
        self.bytes += size;
        Ok(sent)
    }

    /// Whether an instance has an event, or had it.
    pub(super) fn has_taken(&self, key: InstanceKey, seq: i64) -> Result<bool, Trouble> {
        let mut select = self
            .connection
            .prepare_cached("SELECT 1 FROM inbox WHERE log = ?1 AND instance = ?2")?;
        Ok(select.query_row([seq, key.0], |_| Ok(())).optional()?.is_some())
    }

    /// Somebody wants an event that is in the log.
    pub(super) fn want(&self, seq: i64) -> Result<(), Trouble> {
        let mut update = self
            .connection
            .prepare_cached("UPDATE events SET wanted = 1 WHERE seq = ?1 AND wanted = 0")?;
        update.execute([seq])?;
        Ok(())
    }

    /// The event that a new instance was started by, if the log still has it.
    pub(super) fn started_by(&self, seq: Option<i64>) -> Result<Option<Published>, Trouble> {
        match seq {
            Some(seq) => log::event(self.connection, seq),
            None => Ok(None),
        }
    }
}
