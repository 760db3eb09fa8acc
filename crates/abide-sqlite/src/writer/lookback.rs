//! Waits that look for what was published before they were reached.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide::history::EntryKind;
use abide::meeting::{has_expired, of_sent};
use abide::{Buffered, Hears, InstanceKey, Kind, Since, Timestamp, Wait, WaitStatus};
use rusqlite::OptionalExtension;

use super::batch::Batch;
use super::inbox::State;
use super::meet::{Open, Settled, Tale};
use super::view::View;
use crate::failure::Trouble;
use crate::log;
use crate::waits::{self, select_waits};

/// Events that a wait looks at in the transaction that reaches it.
pub(super) const AT_ONCE: usize = 1000;

/// What the log comes to for some waits.
#[derive(Default)]
pub(super) struct LookedBack {
    pub(super) settled: Vec<Settled>,
    /// What came to be held, and was in no buffer before.
    pub(super) held: Vec<Buffered>,
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

    /// Offers the log to those open waits of an instance that look back, oldest first. What is too
    /// much to be looked at now is left for later.
    pub(super) fn look_back(
        &mut self,
        key: InstanceKey,
        open: &mut Open,
        looks: impl Fn(&Wait) -> bool,
    ) -> Result<LookedBack, Trouble> {
        let mut views: BTreeMap<i64, View> = BTreeMap::new();
        let last = self.last_event();
        let looks_back = |wait: &&Wait| {
            let hears_events = matches!(wait.hears, Hears::Sent { kind: Kind::Event, .. });
            hears_events && wait.since < last && looks(wait)
        };
        for wait in open.waits().iter().filter(looks_back) {
            views.insert(wait.key, self.view(key, wait, wait.since, AT_ONCE)?);
        }
        let looked = self.offer_views(key, open, &views)?;
        for (wait, view) in &views {
            if let Some(done) = view.more_after.filter(|_| open.place(*wait).is_some()) {
                self.look_later(*wait, done)?;
            }
        }
        Ok(looked)
    }

    /// Offers what waits look at, oldest first.
    fn offer_views(
        &mut self,
        key: InstanceKey,
        open: &mut Open,
        views: &BTreeMap<i64, View>,
    ) -> Result<LookedBack, Trouble> {
        let all = views.values().flat_map(|view| view.seqs.iter().copied().chain(view.beyond));
        let all: BTreeSet<i64> = all.collect();
        let mut looked = LookedBack::default();
        for seq in all {
            let of = |wait: &Wait| views.get(&wait.key);
            for place in 0..open.waits().len() {
                if of(&open.waits()[place]).is_some_and(|view| view.beyond == Some(seq)) {
                    self.cut_short(open, place)?;
                }
            }
            let sees = |wait: &Wait| of(wait).is_some_and(|view| view.seqs.contains(&seq));
            if open.waits().iter().any(sees) {
                self.offer_from_log(key, open, seq, sees, &mut looked)?;
            }
        }
        Ok(looked)
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

    fn look_later(&mut self, wait: i64, done: i64) -> Result<(), Trouble> {
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO lookbacks (wait, done) VALUES (?1, ?2)
             ON CONFLICT (wait) DO UPDATE SET done = excluded.done",
        )?;
        upsert.execute([wait, done])?;
        self.caches.lookbacks.add(wait);
        Ok(())
    }

    /// A wait has looked at everything, or need not any more.
    pub(super) fn stop_looking(&mut self, wait: i64) -> Result<(), Trouble> {
        if self.caches.lookbacks.contains(wait) {
            self.caches.lookbacks.remove(wait);
            let mut delete =
                self.connection.prepare_cached("DELETE FROM lookbacks WHERE wait = ?1")?;
            delete.execute([wait])?;
        }
        Ok(())
    }

    /// A wait looks at some more of what it could not look at when it was reached. Answers whether
    /// it has done so.
    pub(super) fn look_on(&mut self, wait: i64, at_once: usize) -> Result<bool, Trouble> {
        let mut select =
            self.connection.prepare_cached("SELECT done FROM lookbacks WHERE wait = ?1")?;
        let done: Option<i64> = select.query_row([wait], |row| row.get(0)).optional()?;
        let mut found = waits::all(self.connection, select_waits!("WHERE key = ?1"), [wait])?;
        let open = found.pop().filter(|wait| wait.status == WaitStatus::Active);
        let (Some(done), Some(wait)) = (done, open) else {
            self.stop_looking(wait)?;
            return Ok(true);
        };
        self.settle_first(wait.instance)?;
        let mut open = Open::of(waits::open(self.connection, wait.instance)?);
        let view = self.view(wait.instance, &wait, done, at_once)?;
        let more_after = view.more_after;
        let views = BTreeMap::from([(wait.key, view)]);
        let looked = self.offer_views(wait.instance, &mut open, &views)?;
        let mut tale = Tale::new();
        looked.settled.into_iter().for_each(|settled| settled.tell(&mut tale));
        self.tell_held(&looked.held, &mut tale)?;
        self.happen(wait.instance, tale)?;
        match more_after.filter(|_| open.place(wait.key).is_some()) {
            Some(done) => self.look_later(wait.key, done).map(|()| false),
            None => self.stop_looking(wait.key).map(|()| true),
        }
    }

    /// Waits that are about to give up look at everything first: what was accepted before their
    /// deadline wins.
    pub(super) fn look_before_giving_up(
        &mut self,
        key: InstanceKey,
        open: &mut Open,
    ) -> Result<(), Trouble> {
        let now = self.now;
        let is_late =
            |wait: &&Wait| has_expired(wait, now) && self.caches.lookbacks.contains(wait.key);
        let late: Vec<i64> = open.waits().iter().filter(is_late).map(|wait| wait.key).collect();
        if late.is_empty() {
            return Ok(());
        }
        for wait in late {
            while !self.look_on(wait, AT_ONCE)? {}
        }
        *open = Open::of(waits::open(self.connection, key)?);
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
