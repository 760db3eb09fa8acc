//! What instances accepted: written, found and moved from state to state.

use std::cmp::Ordering;
use std::sync::Arc;

use abide::history::EntryKind;
use abide::meeting::{BufferLoad, Fate, Met, kept, of_sent};
use abide::{Buffered, Delivered, Delivery, InstanceKey, Json, Kind, Timestamp};
use rusqlite::{OptionalExtension, Row, params};

use super::batch::Batch;
use super::meet::{Tale, since};
use crate::claims::Mail;
use crate::failure::Trouble;
use crate::inbox::{self, select_inbox};

/// Forgotten ids per delivery: more than one, so that a lowered limit is reached in time.
const FORGOTTEN_AT_ONCE: i64 = 8;

/// Where something stands. The words are those of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Delayed,
    Held,
    Consumed,
    Superseded,
    Dropped,
}

impl State {
    /// Where something stands that meets these.
    pub(super) fn of(met: &Met) -> Self {
        if met.fulfils.is_empty() { Self::Held } else { Self::Consumed }
    }

    /// Whether it is kept for later.
    pub(super) fn is_buffered(self) -> bool {
        matches!(self, Self::Pending | Self::Delayed | Self::Held)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delayed => "delayed",
            Self::Held => "held",
            Self::Consumed => "consumed",
            Self::Superseded => "superseded",
            Self::Dropped => "dropped",
        }
    }
}

/// An entry that may meet a wait, without its payload.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) visible_at: Timestamp,
    pub(super) key: i64,
    pub(super) kind: Kind,
    pub(super) name: Arc<str>,
}

impl Candidate {
    pub(super) fn of(entry: &Buffered) -> Self {
        let (key, kind, name) = (entry.key, entry.kind, Arc::clone(&entry.name));
        Self { visible_at: since(entry), key, kind, name }
    }
}

/// Ordered by visible time, then acceptance.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.visible_at, self.key).cmp(&(other.visible_at, other.key))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl Batch<'_> {
    /// What there is of the waits and the mail of an instance.
    pub(super) fn mail_of(&self, key: InstanceKey) -> Result<Mail, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT (SELECT count(*) FROM workflow_event_subscriptions
                      WHERE instance = ?1 AND status = 'active'),
                    EXISTS (SELECT 1 FROM inbox WHERE instance = ?1)",
        )?;
        let (open, received): (u32, bool) =
            select.query_row([key.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if !received {
            return Ok(Mail { open, timed: open > 0, ..Mail::default() });
        }
        let mut select = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_pending
                             WHERE instance = ?1 AND state = 'pending')
                 OR EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_delayed
                             WHERE instance = ?1 AND state = 'delayed')
                 OR EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_held
                             WHERE instance = ?1 AND state = 'held')",
        )?;
        let kept = select.query_row([key.0], |row| row.get(0))?;
        let quiet = kept && self.has_quiet(key)?;
        Ok(Mail { open, only: None, timed: open > 0, received, kept, quiet })
    }

    /// What an id was answered the first time, if it is remembered.
    pub(super) fn answered(
        &self,
        key: InstanceKey,
        id: &Arc<str>,
    ) -> Result<Option<Delivered>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT delivered, buffered FROM inbox
              WHERE instance = ?1 AND id = ?2 AND log IS NULL",
        )?;
        let answer = select.query_row(params![key.0, &**id], |row| {
            let event_id = Arc::clone(id);
            Ok(Delivered { event_id, delivered: row.get(0)?, buffered: row.get(1)? })
        });
        Ok(answer.optional()?)
    }

    /// Whether an instance has something that was sent without waking and is still there.
    pub(super) fn has_quiet(&self, key: InstanceKey) -> Result<bool, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_quiet
               WHERE instance = ?1 AND wake = 0 AND (state = 'pending' OR state = 'delayed'))",
        )?;
        Ok(select.query_row([key.0], |row| row.get(0))?)
    }

    /// Whether an entry is where it is thought to be.
    pub(super) fn is_in(&self, entry: i64, state: State) -> Result<bool, Trouble> {
        let mut select =
            self.connection.prepare_cached("SELECT state = ?2 FROM inbox WHERE key = ?1")?;
        let found = select.query_row(params![entry, state.as_str()], |row| row.get(0));
        Ok(found.optional()?.unwrap_or(false))
    }

    /// What was sent without waking and is visible.
    pub(super) fn quiet(&self, key: InstanceKey) -> Result<Vec<Candidate>, Trouble> {
        let found = inbox::all(
            self.connection,
            select_inbox!(
                "INDEXED BY inbox_quiet
                  WHERE instance = ?1 AND wake = 0 AND (state = 'pending' OR state = 'delayed')
                    AND visible_at <= ?2"
            ),
            [key.0, self.now.0],
        )?;
        Ok(found.iter().map(Candidate::of).collect())
    }

    /// What an instance keeps for later, read from indexes alone, without what this delivery
    /// replaces.
    pub(super) fn load(
        &self,
        key: InstanceKey,
        delivery: &Delivery,
        fate: &Fate,
    ) -> Result<BufferLoad, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT count(*), coalesce(sum(size), 0) FROM (
                 SELECT size FROM inbox INDEXED BY inbox_pending
                  WHERE instance = ?1 AND state = 'pending'
                  UNION ALL
                 SELECT size FROM inbox INDEXED BY inbox_delayed
                  WHERE instance = ?1 AND state = 'delayed'
                  UNION ALL
                 SELECT size FROM inbox INDEXED BY inbox_held
                  WHERE instance = ?1 AND state = 'held')",
        )?;
        let mut load = select.query_row([key.0], load_of)?;
        if *fate == Fate::Replaces {
            let mut select = self.connection.prepare_cached(
                "SELECT count(*), coalesce(sum(size), 0) FROM inbox
                  WHERE instance = ?1 AND kind = ?2 AND name = ?3 AND state = 'pending'
                    AND buffer = 'latest'",
            )?;
            let replaced = select
                .query_row(params![key.0, delivery.kind.as_str(), &*delivery.name], load_of)?;
            load.entries = load.entries.saturating_sub(replaced.entries);
            load.bytes = load.bytes.saturating_sub(replaced.bytes);
        }
        Ok(load)
    }

    /// Stores something that was accepted, with the answer it got, and forgets ids that are older
    /// than those to be remembered.
    pub(super) fn insert_sent(
        &mut self,
        key: InstanceKey,
        delivery: &Delivery,
        state: State,
        delivered: u32,
    ) -> Result<Buffered, Trouble> {
        let sent = kept(delivery, self.keys.inbox(), self.now);
        let nth = if self.claims.mail(key).received { self.newest(key)? + 1 } else { 1 };
        self.hot.insert_sent.execute(params![
            sent.key,
            key.0,
            nth,
            &*sent.id,
            sent.kind.as_str(),
            &*sent.name,
            sent.payload.as_ref().map(Json::as_str),
            sent.payload.as_ref().map_or(0, |p| i64::try_from(p.size()).unwrap_or(i64::MAX)),
            sent.received_at.0,
            sent.visible_at.unwrap_or(sent.received_at).0,
            (state == State::Consumed).then_some(self.now.0),
            sent.source.as_deref(),
            delivery.wake,
            sent.buffer.as_str(),
            state.as_str(),
            delivered,
            state.is_buffered(),
            inbox::said_text(&sent),
        ])?;
        let kept = state.is_buffered();
        self.claims.note(key, |mail| {
            mail.received = true;
            mail.kept |= kept;
            mail.quiet |= kept && !delivery.wake;
        });
        self.bytes += sent.payload.as_ref().map_or(0, Json::size);
        self.forget(key, nth)?;
        Ok(sent)
    }

    /// Which of an instance's own the newest is.
    fn newest(&self, key: InstanceKey) -> Result<i64, Trouble> {
        let mut select = self
            .connection
            .prepare_cached("SELECT coalesce(max(nth), 0) FROM inbox WHERE instance = ?1")?;
        Ok(select.query_row([key.0], |row| row.get(0))?)
    }

    /// Deletes a few of the oldest that are done with, when there are more than to be remembered.
    fn forget(&self, key: InstanceKey, newest: i64) -> Result<(), Trouble> {
        let remembered = i64::try_from(self.limits.remembered_ids).unwrap_or(i64::MAX);
        let oldest = newest.saturating_sub(remembered);
        if oldest <= 0 {
            return Ok(());
        }
        let mut delete = self.connection.prepare_cached(
            "DELETE FROM inbox WHERE key IN (
                 SELECT key FROM inbox
                  WHERE instance = ?1 AND nth <= ?2 AND state <> 'pending' AND state <> 'delayed'
                    AND NOT EXISTS (SELECT 1 FROM held h
                          JOIN workflow_event_subscriptions w ON w.key = h.wait
                         WHERE h.entry = inbox.key AND w.status = 'active')
                  ORDER BY nth LIMIT ?3)",
        )?;
        delete.execute(params![key.0, oldest, FORGOTTEN_AT_ONCE])?;
        Ok(())
    }

    /// Moves an entry on. What is consumed says when; what returns no longer does.
    pub(super) fn move_to(&self, entry: i64, state: State) -> Result<(), Trouble> {
        let mut update = self
            .connection
            .prepare_cached("UPDATE inbox SET state = ?2, consumed_at = ?3 WHERE key = ?1")?;
        let consumed_at = (state == State::Consumed).then_some(self.now.0);
        update.execute(params![entry, state.as_str(), consumed_at])?;
        Ok(())
    }

    /// What gives way to something of its type that became visible at a moment, with a key.
    pub(super) fn older(
        &self,
        key: InstanceKey,
        kind: Kind,
        name: &str,
        than: (Timestamp, i64),
    ) -> Result<Vec<Buffered>, Trouble> {
        inbox::all(
            self.connection,
            select_inbox!(
                "WHERE instance = ?1 AND kind = ?2 AND name = ?3 AND state = 'pending'
                   AND buffer = 'latest' AND (visible_at, key) < (?4, ?5)
                 ORDER BY visible_at, key"
            ),
            params![key.0, kind.as_str(), name, than.0.0, than.1],
        )
    }

    /// Makes room for a newer one.
    pub(super) fn supersede(&self, older: &[Buffered], tale: &mut Tale) -> Result<(), Trouble> {
        for entry in older {
            self.move_to(entry.key, State::Superseded)?;
            tale.push(of_sent(EntryKind::EventSuperseded, entry));
        }
        Ok(())
    }

    /// The first entries that a pattern, name or topic covers, at most `limit`, by visible time,
    /// then acceptance.
    pub(super) fn candidates(
        &self,
        key: InstanceKey,
        kind: Kind,
        pattern: &str,
        limit: usize,
    ) -> Result<Vec<Candidate>, Trouble> {
        let is_exact = kind != Kind::Event || !pattern.contains('*');
        let mut select = self.connection.prepare_cached(if is_exact {
            "SELECT visible_at, key, name FROM inbox
                  WHERE instance = ?1 AND kind = ?2 AND name = ?3 AND state = 'pending'
                  UNION ALL
                 SELECT visible_at, key, name FROM inbox
                  WHERE instance = ?1 AND kind = ?2 AND name = ?3 AND state = 'delayed'
                    AND visible_at <= ?4
                  ORDER BY visible_at, key"
        } else {
            "SELECT visible_at, key, name FROM inbox
                  WHERE instance = ?1 AND kind = ?2 AND ?3 <> '' AND state = 'pending'
                  UNION ALL
                 SELECT visible_at, key, name FROM inbox
                  WHERE instance = ?1 AND kind = ?2 AND state = 'delayed' AND visible_at <= ?4
                  ORDER BY visible_at, key"
        })?;
        let mut rows = select.query(params![key.0, kind.as_str(), pattern, self.now.0])?;
        let mut found = Vec::new();
        while found.len() < limit {
            let Some(row) = rows.next()? else { break };
            let name: Arc<str> = row.get(2)?;
            if is_exact || abide::pattern::matches(pattern, &name) {
                let visible_at = Timestamp(row.get(0)?);
                found.push(Candidate { visible_at, key: row.get(1)?, kind, name });
            }
        }
        Ok(found)
    }

    /// Whether something delayed has become visible.
    pub(super) fn has_ripe(&self, key: InstanceKey) -> Result<bool, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM inbox
               WHERE instance = ?1 AND state = 'delayed' AND visible_at <= ?2)",
        )?;
        Ok(select.query_row([key.0, self.now.0], |row| row.get(0))?)
    }

    /// What became visible by now, in order, and whether it wakes.
    pub(super) fn ripe(&self, key: InstanceKey) -> Result<Vec<(Buffered, bool)>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT key, id, kind, name, payload, received_at, visible_at, source, buffer, log,
                    place, wake
               FROM inbox WHERE instance = ?1 AND state = 'delayed' AND visible_at <= ?2
              ORDER BY visible_at, key",
        )?;
        let mut rows = select.query([key.0, self.now.0])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((inbox::buffered(row)?, row.get(11)?));
        }
        Ok(found)
    }

    /// Discards what is buffered: its instance ends. What an open wait holds is for whoever calls
    /// that off.
    pub(super) fn discard(&self, key: InstanceKey, tale: &mut Tale) -> Result<(), Trouble> {
        let left = inbox::buffer(self.connection, key)?;
        let mut update = self.connection.prepare_cached(
            "UPDATE inbox SET state = 'discarded' WHERE key = ?1 AND state <> 'held'",
        )?;
        for entry in &left {
            if update.execute([entry.key])? > 0 {
                tale.push(of_sent(EntryKind::EventDiscarded, entry));
            }
        }
        Ok(())
    }
}

/// Reads how many entries there are, and their size.
fn load_of(row: &Row<'_>) -> rusqlite::Result<BufferLoad> {
    let count = |found: i64| usize::try_from(found).unwrap_or(usize::MAX);
    Ok(BufferLoad { entries: count(row.get(0)?), bytes: count(row.get(1)?) })
}
