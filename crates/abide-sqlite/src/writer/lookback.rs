//! Waits that look for what was published before they were reached.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide::history::EntryKind;
use abide::meeting::of_sent;
use abide::{Buffered, InstanceKey, Since, Timestamp, Wait};
use rusqlite::params;

use super::batch::Batch;
use super::inbox::State;
use super::meet::{Open, Settled, Tale};
use crate::failure::Trouble;
use crate::log;

/// What the log comes to for some waits.
#[derive(Default)]
pub(super) struct LookedBack {
    pub(super) settled: Vec<Settled>,
    /// What came to be held, and was in no buffer before.
    pub(super) held: Vec<Buffered>,
}

/// What a wait may look at, by number.
struct View {
    seqs: BTreeSet<i64>,
    /// The first that is beyond what it may look at.
    beyond: Option<i64>,
}

impl Batch<'_> {
    /// The number of the last published event.
    pub(super) fn last_event(&self) -> i64 {
        self.keys.next_event - 1
    }

    /// The last published event that does not count for a wait which is reached now.
    pub(super) fn since(&self, since: Since, log_from: i64) -> Result<i64, Trouble> {
        match since {
            Since::Start => Ok(log_from),
            Since::Now => Ok(self.last_event()),
            Since::At(moment) => self.last_before(moment),
            Since::Before(time) => self.last_before(earlier(self.now, time)),
        }
    }

    fn last_before(&self, moment: Timestamp) -> Result<i64, Trouble> {
        if let Some(last) = log::last_before(self.connection, moment)? {
            return Ok(last);
        }
        let oldest = log::span(self.connection)?.oldest;
        Ok(oldest.map_or(self.last_event(), |oldest| oldest - 1))
    }

    /// Offers the log to those open waits of an instance that look back, oldest first.
    pub(super) fn look_back(
        &mut self,
        key: InstanceKey,
        open: &mut Open,
        looks: impl Fn(&Wait) -> bool,
    ) -> Result<LookedBack, Trouble> {
        let mut views: BTreeMap<i64, View> = BTreeMap::new();
        let last = self.last_event();
        let looks_back = |wait: &&Wait| wait.since < last && looks(wait);
        for wait in open.waits().iter().filter(looks_back) {
            if let Some(view) = self.view(key, wait)? {
                views.insert(wait.key, view);
            }
        }
        let seqs: BTreeSet<i64> =
            views.values().flat_map(|view| view.seqs.iter().copied().chain(view.beyond)).collect();
        let mut looked = LookedBack::default();
        for seq in seqs {
            let is_beyond =
                |wait: &Wait| views.get(&wait.key).is_some_and(|v| v.beyond == Some(seq));
            for place in 0..open.waits().len() {
                if is_beyond(&open.waits()[place]) {
                    self.cut_short(open, place)?;
                }
            }
            let sees = |wait: &Wait| views.get(&wait.key).is_some_and(|v| v.seqs.contains(&seq));
            if open.waits().iter().any(sees) {
                self.offer_from_log(key, open, seq, sees, &mut looked)?;
            }
        }
        Ok(looked)
    }

    /// What a wait may look at. One without an equality key looks at no more than so many.
    fn view(&self, key: InstanceKey, wait: &Wait) -> Result<Option<View>, Trouble> {
        let entries = wait.entries();
        if entries.is_empty() {
            return Ok(None);
        }
        let has_key = entries.iter().all(|entry| !entry.shape.paths().is_empty());
        let limit = if has_key { usize::MAX } else { self.limits.scanned };
        let mut seqs = self.covered(key, wait, limit.saturating_add(1))?;
        let beyond = if seqs.len() > limit { seqs.pop_last() } else { None };
        Ok(Some(View { seqs, beyond }))
    }

    /// The first events that a wait reaches and the instance did not take.
    fn covered(
        &self,
        key: InstanceKey,
        wait: &Wait,
        limit: usize,
    ) -> Result<BTreeSet<i64>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT seq FROM events e WHERE type = ?1 AND seq > ?2
                AND NOT EXISTS (SELECT 1 FROM inbox WHERE log = e.seq AND instance = ?3)
              ORDER BY seq LIMIT ?4",
        )?;
        let at_most = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut seqs = BTreeSet::new();
        for name in log::types(self.connection, wait.hears.pattern())? {
            let values = params![name, wait.since, key.0, at_most];
            for seq in select.query_map(values, |row| row.get(0))? {
                seqs.insert(seq?);
            }
        }
        while seqs.len() > limit {
            seqs.pop_last();
        }
        Ok(seqs)
    }

    fn offer_from_log(
        &mut self,
        key: InstanceKey,
        open: &mut Open,
        seq: i64,
        sees: impl Fn(&Wait) -> bool,
        looked: &mut LookedBack,
    ) -> Result<(), Trouble> {
        let Some(event) = log::event(self.connection, seq)? else { return Ok(()) };
        let met = open.meet(&event.sent(0), sees, |_| true);
        if met.is_empty() {
            return Ok(());
        }
        let state = State::of(&met);
        let sent = self.take_in(key, &event, state)?;
        self.want(seq)?;
        looked.settled.push(self.settle(open, &sent, &met)?);
        if state.is_buffered() {
            looked.held.push(sent);
        }
        Ok(())
    }

    /// The history of what the log brought and is still held.
    pub(super) fn tell_held(&self, looked: &[Buffered], tale: &mut Tale) -> Result<(), Trouble> {
        for entry in looked {
            if self.is_in(entry.key, State::Held)? {
                tale.push(of_sent(EntryKind::EventBuffered, entry));
            }
        }
        Ok(())
    }

    fn cut_short(&self, open: &mut Open, place: usize) -> Result<(), Trouble> {
        let wait = open.wait_mut(place);
        wait.cut_short = true;
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions SET cut_short = 1 WHERE key = ?1",
        )?;
        update.execute([wait.key])?;
        Ok(())
    }
}

fn earlier(now: Timestamp, by: Duration) -> Timestamp {
    let ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_sub(ms))
}
