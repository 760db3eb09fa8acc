//! Storms: events that more instances want than one transaction should meet.
//!
//! The first are met in the transaction that stores the event; the others follow in pieces, with or
//! between what else is written. For an instance that is still to be met the event comes first, as
//! of the moment of its acceptance: whatever else is about to happen to it settles that before.

use abide::{InstanceKey, Published, Verdict};
use rusqlite::{Connection, params};

use super::batch::Batch;
use super::keys::{self, Found};
use crate::failure::Trouble;
use crate::fanouts::{Fanout, Fanouts};
use crate::log;
use crate::shapes::Shapes;

impl Batch<'_> {
    /// Leaves instances to be met later. They are counted as if all of them will take the event;
    /// the verdict is corrected at the end.
    pub(super) fn open_fanout(
        &mut self,
        event: &Published,
        done: i64,
        left: &[Found],
        waits: u64,
        verdict: &mut Verdict,
    ) -> Result<(), Trouble> {
        let upto = self.keys.next_wait - 1;
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO fanouts (seq, done, upto, met) VALUES (?1, ?2, ?3, ?4)")?;
        let met = verdict.matched_count;
        insert.execute(params![event.seq, done, upto, stored(met)])?;
        self.caches.fanouts.open(Fanout::new(event.clone(), met, left.iter().copied()));
        verdict.matched_count += waits;
        Ok(())
    }

    /// Has an instance meet the events that come before whatever is about to happen to it.
    pub(super) fn settle_first(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        while let Some(seq) = self.caches.fanouts.covering(key) {
            self.fan_out_to(seq, key)?;
            let met = self.caches.fanouts.get(seq).map_or(0, |fanout| fanout.met);
            let mut update =
                self.connection.prepare_cached("UPDATE fanouts SET met = ?2 WHERE seq = ?1")?;
            update.execute([seq, stored(met)])?;
        }
        Ok(())
    }

    /// Has the oldest event meet some more instances. Answers with how many.
    pub(super) fn fan_out(&mut self, at_most: usize) -> Result<usize, Trouble> {
        let Some((seq, next)) = self.caches.fanouts.next(at_most) else { return Ok(0) };
        for (_, key) in &next {
            self.fan_out_to(seq, *key)?;
        }
        let met = self.caches.fanouts.get(seq).map_or(0, |fanout| fanout.met);
        if self.caches.fanouts.is_done(seq) {
            return self.close_fanout(seq, met).map(|()| next.len());
        }
        let done = next.last().map(|(wait, _)| *wait);
        let mut update = self.connection.prepare_cached(
            "UPDATE fanouts SET done = coalesce(?2, done), met = ?3 WHERE seq = ?1",
        )?;
        update.execute(params![seq, done, stored(met)])?;
        Ok(next.len())
    }

    fn close_fanout(&mut self, seq: i64, met: u64) -> Result<(), Trouble> {
        self.caches.fanouts.close(seq);
        self.connection.prepare_cached("DELETE FROM fanouts WHERE seq = ?1")?.execute([seq])?;
        let mut correct = self.connection.prepare_cached(
            "UPDATE events
                SET verdict = json_set(verdict, '$.matchedCount', ?2),
                    wanted = ?2 > 0 OR verdict ->> '$.startedCount' > 0
                        OR verdict ->> '$.cancelledCount' > 0
                        OR json_array_length(verdict, '$.deferred') > 0
                        OR EXISTS (SELECT 1 FROM inbox WHERE log = ?1)
              WHERE seq = ?1",
        )?;
        correct.execute([seq, stored(met)])?;
        Ok(())
    }

    fn fan_out_to(&mut self, seq: i64, key: InstanceKey) -> Result<(), Trouble> {
        let Some(event) = self.caches.fanouts.take(seq, key) else { return Ok(()) };
        // A deadline that passed meanwhile is later than the event.
        let now = std::mem::replace(&mut self.now, event.accepted_at);
        let mut verdict = Verdict::default();
        // It may have been met before the store was opened.
        let met = match self.has_taken(key, seq) {
            Ok(false) => self.meet_one(key, &event, &mut verdict),
            Ok(true) => Ok(()),
            Err(trouble) => Err(trouble),
        };
        self.now = now;
        met?;
        self.caches.fanouts.add_met(seq, verdict.matched_count);
        Ok(())
    }
}

/// Finds again whom the events of open fan-outs have left.
pub(super) fn read(connection: &Connection, shapes: &Shapes) -> Result<Fanouts, Trouble> {
    let mut fanouts = Fanouts::default();
    let mut select = connection.prepare("SELECT seq, done, upto, met FROM fanouts ORDER BY seq")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, done, upto): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Some(event) = log::event(connection, seq)? else { continue };
        let mut found = keys::found(connection, shapes, &event)?;
        found.retain(|(wait, _)| (done + 1..=upto).contains(wait));
        keys::first_of_each(&mut found);
        let met = u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
        fanouts.open(Fanout::new(event, met, found));
    }
    fanouts.settle();
    Ok(fanouts)
}

fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
