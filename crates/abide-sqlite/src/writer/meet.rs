//! Where what was sent and what is waited for meet.
//!
//! Whatever a verb finds out about one instance it tells in one row: it changes waits and entries
//! on the way, collects the history in a [`Tale`], and lets that happen at the end.

use std::collections::BTreeSet;

use abide::history::Entry;
use abide::meeting::{Met, fulfilled, lost, meet, output_arrived};
use abide::{Buffered, Error, Hears, InstanceKey, Json, Timestamp, Wait};

use super::batch::Batch;
use super::inbox::{Candidate, State};
use crate::failure::Trouble;
use crate::{inbox, waits};

/// The history of what happens to one instance in one verb.
pub(super) type Tale = Vec<Entry>;

/// The open waits of one instance, oldest first, while a verb changes them.
pub(super) struct Open(Vec<Wait>);

/// What became of waits, each by its key, in order of registration.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) lost: Vec<(i64, Entry)>,
    pub(super) done: Vec<(i64, Entry)>,
}

impl Settled {
    /// Who lost a race hears of it before who won.
    pub(super) fn tell(self, tale: &mut Tale) {
        tale.extend(self.lost.into_iter().chain(self.done).map(|(_, entry)| entry));
    }
}

impl Open {
    pub(super) fn of(waits: Vec<Wait>) -> Self {
        Self(waits)
    }

    pub(super) fn waits(&self) -> &[Wait] {
        &self.0
    }

    pub(super) fn push(&mut self, wait: Wait) {
        self.0.push(wait);
    }

    pub(super) fn wait_mut(&mut self, place: usize) -> &mut Wait {
        &mut self.0[place]
    }

    pub(super) fn place(&self, key: i64) -> Option<usize> {
        self.0.iter().position(|wait| wait.key == key)
    }

    /// Takes out those that are not open any more.
    pub(super) fn close(&mut self, closes: impl Fn(&Wait) -> bool) -> Vec<Wait> {
        self.0.extract_if(.., |wait| closes(wait)).collect()
    }

    /// How many entries all of them could take.
    fn appetite(&self) -> usize {
        let needed = |wait: &Wait| wait.count.as_ref().map_or(1, |count| count.needed.max(1));
        self.0.iter().map(needed).fold(0, |sum, needed| sum.saturating_add(needed as usize))
    }

    /// Whom something meets, of those that may have it. Others may lose a race to these.
    pub(super) fn meet(
        &self,
        sent: &Buffered,
        may_have: impl Fn(&Wait) -> bool,
        may_lose: impl Fn(&Wait) -> bool,
    ) -> Met {
        let wants = |wait: &Wait| may_have(wait) && wait.hears.covers(sent.kind, &sent.name);
        let able: Vec<usize> = (0..self.0.len()).filter(|place| wants(&self.0[*place])).collect();
        let waits: Vec<Wait> = able.iter().map(|place| self.0[*place].clone()).collect();
        let mut met = meet(&waits, sent);
        met.fulfils.iter_mut().for_each(|place| *place = able[*place]);
        met.held_by.iter_mut().for_each(|(place, _)| *place = able[*place]);
        let rivals = |winner: &usize| self.rivals(*winner, &may_lose);
        met.lost = met.fulfils.iter().flat_map(rivals).collect();
        met.lost.sort_unstable();
        met
    }

    /// Those that lose a race to a wait, each with the place of that.
    fn rivals(&self, winner: usize, may_lose: impl Fn(&Wait) -> bool) -> Vec<(usize, usize)> {
        let Some(race) = &self.0[winner].race else { return Vec::new() };
        let loses = |(place, wait): &(usize, &Wait)| {
            *place != winner && wait.race.as_ref() == Some(race) && may_lose(wait)
        };
        self.0.iter().enumerate().filter(loses).map(|(place, _)| (place, winner)).collect()
    }
}

/// From when on something counts as accepted.
pub(super) fn since(sent: &Buffered) -> Timestamp {
    sent.visible_at.unwrap_or(sent.received_at)
}

/// Whether a wait was open when something became visible.
pub(super) fn heard(wait: &Wait, visible_at: Timestamp) -> bool {
    wait.timeout_at.is_none_or(|at| at > visible_at)
}

impl Batch<'_> {
    /// The open waits of an instance, oldest first. Nobody looks for what is known not to be there.
    pub(super) fn open_at(&self, key: InstanceKey) -> Result<Vec<Wait>, Trouble> {
        let mail = self.claims.mail(key);
        match (mail.open, &mail.only) {
            (0, _) => Ok(Vec::new()),
            (_, Some(only)) => Ok(vec![Wait::clone(only)]),
            (_, None) => waits::open(self.connection, key),
        }
    }

    /// Lets those waits that may have it meet an entry that is there. What meets one is consumed,
    /// or held until there is enough of it.
    pub(super) fn offer(
        &mut self,
        open: &mut Open,
        entry: &Buffered,
        may_have: impl Fn(&Wait) -> bool,
        may_lose: impl Fn(&Wait) -> bool,
    ) -> Result<Option<Settled>, Trouble> {
        let met = open.meet(entry, may_have, may_lose);
        if met.is_empty() {
            return Ok(None);
        }
        self.move_to(entry.key, State::of(&met))?;
        self.settle(open, entry, &met).map(Some)
    }

    /// Those that something meets are fulfilled or hold it; who lost to them is cancelled before.
    pub(super) fn settle(
        &mut self,
        open: &mut Open,
        by: &Buffered,
        met: &Met,
    ) -> Result<Settled, Trouble> {
        let mut settled = Settled { lost: self.lose(open, &met.lost)?, done: Vec::new() };
        for place in &met.fulfils {
            let wait = &open.0[*place];
            let held = self.consume_held(wait)?;
            self.close_fulfilled(wait, Some(by))?;
            settled.done.push((wait.key, fulfilled(wait, &held, by)));
        }
        for (place, distinct) in &met.held_by {
            self.hold(&mut open.0[*place], by, distinct.as_ref())?;
        }
        open.forget(&settled);
        Ok(settled)
    }

    /// An output meets a wait; those that race with it lose.
    pub(super) fn meet_output(
        &mut self,
        open: &mut Open,
        place: usize,
        value: &Json,
    ) -> Result<Settled, Trouble> {
        let lost = self.lose(open, &open.rivals(place, |_| true))?;
        let wait = &open.0[place];
        self.close_fulfilled(wait, None)?;
        let settled = Settled { lost, done: vec![(wait.key, output_arrived(wait, value))] };
        open.forget(&settled);
        Ok(settled)
    }

    fn lose(
        &mut self,
        open: &Open,
        losers: &[(usize, usize)],
    ) -> Result<Vec<(i64, Entry)>, Trouble> {
        let mut told = Vec::new();
        for (place, winner) in losers {
            let wait = &open.0[*place];
            self.call_off(wait)?;
            told.push((wait.key, lost(wait, &open.0[*winner])));
        }
        Ok(told)
    }

    /// Offers entries that are there, in order.
    pub(super) fn offer_all(
        &mut self,
        open: &mut Open,
        candidates: &BTreeSet<Candidate>,
        may_have: impl Fn(&Wait, &Candidate) -> bool,
        may_lose: impl Fn(&Wait, &Candidate) -> bool,
    ) -> Result<Vec<Settled>, Trouble> {
        let mut all = Vec::new();
        for candidate in candidates {
            let Candidate { kind, name, key, .. } = candidate;
            // What nobody hears is not worth its payload.
            if !open
                .0
                .iter()
                .any(|wait| wait.hears.covers(*kind, name) && may_have(wait, candidate))
            {
                continue;
            }
            let gone = || Error::corrupt(format!("inbox entry {key} vanished"));
            let entry = inbox::entry(self.connection, *key)?.ok_or_else(gone)?;
            let (has, loses) =
                (|w: &Wait| may_have(w, candidate), |w: &Wait| may_lose(w, candidate));
            all.extend(self.offer(open, &entry, has, loses)?);
        }
        Ok(all)
    }

    /// What some of the open waits could meet, in order. An entry before the one that a wait gets
    /// went to another one; but a filter and a distinct value may leave out any number of them.
    pub(super) fn heard_by(
        &self,
        key: InstanceKey,
        open: &Open,
        looks: impl Fn(&Wait) -> bool,
    ) -> Result<BTreeSet<Candidate>, Trouble> {
        let mut found = BTreeSet::new();
        let at_most = open.appetite();
        for wait in open.0.iter().filter(|wait| looks(wait)) {
            // What came from the log may lie before what it looks back to.
            let is_picky = wait.filter.is_some()
                || wait.since > 0
                || wait.count.as_ref().is_some_and(|count| count.distinct_by.is_some());
            if let Hears::Sent { kind, pattern } = &wait.hears {
                let at_most = if is_picky { usize::MAX } else { at_most };
                found.extend(self.candidates(key, *kind, pattern, at_most)?);
            }
        }
        Ok(found)
    }
}

impl Open {
    fn forget(&mut self, settled: &Settled) {
        let is_closed =
            |key: i64| settled.lost.iter().chain(&settled.done).any(|(closed, _)| *closed == key);
        self.0.retain(|wait| !is_closed(wait.key));
    }
}
