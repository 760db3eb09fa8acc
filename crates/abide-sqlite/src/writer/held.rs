//! What counted waits hold, and what waits give back.

use std::sync::Arc;

use abide::history::EntryKind;
use abide::meeting::of_sent;
use abide::{Buffer, Buffered, Error, Held, InstanceKey, Wait};
use rusqlite::params;

use super::batch::Batch;
use super::inbox::State;
use super::meet::{Open, Tale, heard, since};
use crate::failure::Trouble;
use crate::inbox::{self, select_inbox};

impl Batch<'_> {
    /// A counted wait holds something until more comes.
    pub(super) fn hold(
        &self,
        wait: &mut Wait,
        sent: &Buffered,
        distinct: Option<&Arc<str>>,
    ) -> Result<(), Trouble> {
        let key = wait.key;
        let Some(count) = &mut wait.count else { return Ok(()) };
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO held (wait, nth, entry, id, distinct_value) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let nth = i64::try_from(count.held.len()).unwrap_or(i64::MAX);
        insert.execute(params![key, nth, sent.key, &*sent.id, distinct.map(|value| &**value)])?;
        let (id, distinct) = (Arc::clone(&sent.id), distinct.cloned());
        count.held.push(Held { key: sent.key, id, distinct });
        Ok(())
    }

    /// What a wait holds is consumed: it is met. Answers with it, in order.
    pub(super) fn consume_held(&self, wait: &Wait) -> Result<Vec<Buffered>, Trouble> {
        let mut entries = Vec::new();
        for held in wait.count.iter().flat_map(|count| &count.held) {
            let gone = || Error::corrupt(format!("held inbox entry {} vanished", held.key));
            entries.push(inbox::entry(self.connection, held.key)?.ok_or_else(gone)?);
        }
        if !entries.is_empty() {
            let mut update = self.connection.prepare_cached(
                "UPDATE inbox SET state = 'consumed', consumed_at = ?2
                  WHERE key IN (SELECT entry FROM held WHERE wait = ?1) AND state = 'held'",
            )?;
            update.execute([wait.key, self.now.0])?;
        }
        Ok(entries)
    }

    /// A wait that is no longer open lets go of what it held, or had held when it was met. Answers
    /// with the keys of that.
    pub(super) fn release(&self, wait: &Wait) -> Result<Vec<i64>, Trouble> {
        let held: Vec<i64> =
            wait.count.iter().flat_map(|count| &count.held).map(|held| held.key).collect();
        if !held.is_empty() {
            self.connection
                .prepare_cached("DELETE FROM held WHERE wait = ?1")?
                .execute([wait.key])?;
        }
        Ok(held)
    }

    /// Gives back what waits let go and no other one has, each to its place in the buffer, unless a
    /// newer one has taken that. Answers with what is back, in order.
    pub(super) fn give_back(
        &mut self,
        key: InstanceKey,
        mut freed: Vec<i64>,
        tale: &mut Tale,
    ) -> Result<Vec<Buffered>, Trouble> {
        let Some(head) = self.head(key)?.filter(|_| !freed.is_empty()) else {
            return Ok(Vec::new());
        };
        freed.sort_unstable();
        freed.dedup();
        let mut back = Vec::new();
        for entry in freed {
            match self.claimed_by_others(key, head.run, entry)? {
                Some(State::Held) => self.move_to(entry, State::Held)?,
                Some(_) => {}
                None => back.append(&mut inbox::all(
                    self.connection,
                    select_inbox!("WHERE key = ?1 AND (state = 'held' OR state = 'consumed')"),
                    [entry],
                )?),
            }
        }
        back.sort_by_key(|entry| (since(entry), entry.key));
        back.iter().try_for_each(|entry| self.move_to(entry.key, State::Pending))?;
        let mut returned = Vec::new();
        for entry in back {
            if entry.buffer == Buffer::Latest && self.has_newer(key, &entry)? {
                self.move_to(entry.key, State::Superseded)?;
                tale.push(of_sent(EntryKind::EventSuperseded, &entry));
            } else {
                tale.push(of_sent(EntryKind::EventBuffered, &entry));
                returned.push(entry);
            }
        }
        if !returned.is_empty() {
            // Some of it may have been sent without waking.
            self.claims.note(key, |mail| (mail.kept, mail.quiet) = (true, true));
        }
        Ok(returned)
    }

    /// What something is to the waits that are left: consumed by one of this run that was met, held
    /// by one that is open, or nothing.
    fn claimed_by_others(
        &self,
        key: InstanceKey,
        run: u32,
        entry: i64,
    ) -> Result<Option<State>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM workflow_event_subscriptions
                      WHERE workflow_instance_id = (SELECT id FROM instances WHERE key = ?1)
                        AND run = ?2 AND status = 'fulfilled'
                        AND fulfilled_by_entry = ?3)
                 OR EXISTS (SELECT 1 FROM held h
                      JOIN workflow_event_subscriptions w ON w.key = h.wait
                     WHERE h.entry = ?3 AND w.run = ?2 AND w.status = 'fulfilled'),
                    EXISTS (SELECT 1 FROM held h
                      JOIN workflow_event_subscriptions w ON w.key = h.wait
                     WHERE h.entry = ?3 AND w.status = 'active')",
        )?;
        let (is_consumed, is_held) =
            select.query_row(params![key.0, run, entry], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(match (is_consumed, is_held) {
            (true, _) => Some(State::Consumed),
            (false, true) => Some(State::Held),
            (false, false) => None,
        })
    }

    fn has_newer(&self, key: InstanceKey, entry: &Buffered) -> Result<bool, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM inbox
               WHERE instance = ?1 AND kind = ?2 AND name = ?3 AND state = 'pending'
                 AND (visible_at, key) > (?4, ?5))",
        )?;
        let values = params![key.0, entry.kind.as_str(), &*entry.name, since(entry).0, entry.key];
        Ok(select.query_row(values, |row| row.get(0))?)
    }

    /// Gives back what waits let go, and offers it to those that were open when it became visible.
    pub(super) fn return_to(
        &mut self,
        key: InstanceKey,
        open: &mut Open,
        freed: Vec<i64>,
        tale: &mut Tale,
    ) -> Result<(), Trouble> {
        for entry in self.give_back(key, freed, tale)? {
            let may_have = |wait: &Wait| heard(wait, since(&entry));
            let offered = self.offer(open, &entry, may_have, |_| true)?;
            offered.into_iter().for_each(|settled| settled.tell(tale));
        }
        Ok(())
    }
}
