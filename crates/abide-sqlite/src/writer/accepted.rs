//! Events as they go into the log.

use abide::{Error, Json, Published, Verdict};
use rusqlite::params;

use super::batch::Batch;
use crate::failure::Trouble;

impl Batch<'_> {
    /// Stores an event with its verdict, and makes it findable.
    pub(super) fn insert_event(
        &mut self,
        whole: &Published,
        verdict: &Verdict,
    ) -> Result<(), Trouble> {
        let Published { seq, accepted_at, event } = whole;
        let size = event.payload.as_ref().map_or(0, Json::size);
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let told = serde_json::to_string(verdict).map_err(|refused| Error::Invalid {
            what: "verdict".into(),
            message: refused.to_string(),
        })?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO events (seq, id, source, type, payload, time, subject, correlation_id,
                 attributes, accepted_at, size, verdict, wanted)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?;
        insert.execute(params![
            seq,
            event.id.as_deref().unwrap_or_default(),
            event.source,
            event.event_type,
            event.payload.as_ref().map(Json::as_str),
            event.time.map(|time| time.0),
            event.subject,
            event.correlation_id,
            event.attributes()?.as_ref().map(Json::as_str),
            accepted_at.0,
            size,
            told,
            verdict.is_wanted(),
        ])?;
        let mut count = self.connection.prepare_cached(
            "INSERT INTO event_types (type, events, bytes) VALUES (?1, 1, ?2)
             ON CONFLICT (type) DO UPDATE SET events = events + 1, bytes = bytes + ?2",
        )?;
        count.execute(params![event.event_type, size])?;
        self.index_event(whole)?;
        self.bytes += event.payload.as_ref().map_or(0, Json::size) + told.len();
        Ok(())
    }
}
