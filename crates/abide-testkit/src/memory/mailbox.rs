//! What one instance was sent and what it waits for, and how the two meet.
//!
//! Nothing here touches the instance itself: every change answers with the history entries it is
//! worth, and whoever asked for it records them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use abide::history::{Entry, EntryKind};
use abide::meeting::{
    BufferLoad, Fate, cancelled, expired, fulfilled, has_expired, kept, lost, meet,
};
use abide::{Buffer, Buffered, Delivered, Delivery, Held, Json, Timestamp, Wait, WaitStatus};

use super::mail::{Mail, Place};

#[derive(Clone, Default)]
pub(super) struct Mailbox {
    /// All waits, open or not, in the order in which they were reached.
    pub(super) waits: Vec<Waiter>,
    /// All mail, pending or not, by key.
    mail: BTreeMap<i64, Mail>,
    /// The last answers, newest last: the same id again is answered with the same.
    remembered: VecDeque<Delivered>,
}

/// A wait and what fulfilled it.
#[derive(Clone)]
pub(super) struct Waiter {
    pub(super) wait: Wait,
    /// The mail that fulfilled it.
    pub(super) mail: Option<i64>,
}

impl Waiter {
    pub(super) fn is_open(&self) -> bool {
        self.wait.status == WaitStatus::Active
    }

    pub(super) fn fulfil(&mut self, by: Option<&Buffered>, now: Timestamp) {
        self.wait.status = WaitStatus::Fulfilled;
        self.wait.fulfilled_at = Some(now);
        self.wait.fulfilled_by = by.map(|sent| Arc::clone(&sent.id));
        self.mail = by.map(|sent| sent.key);
    }

    fn hold(&mut self, sent: &Buffered, distinct: Option<Arc<str>>) {
        if let Some(count) = &mut self.wait.count {
            count.held.push(Held { key: sent.key, id: Arc::clone(&sent.id), distinct });
        }
    }

    /// Gives up what it had.
    pub(super) fn let_go(&mut self) -> Vec<i64> {
        let held = self.wait.count.as_mut().map(|count| std::mem::take(&mut count.held));
        let held = held.unwrap_or_default().into_iter().map(|held| held.key);
        held.chain(self.mail.take()).collect()
    }

    pub(super) fn has(&self, mail: i64) -> bool {
        self.mail == Some(mail) || self.holds(mail)
    }

    fn holds(&self, mail: i64) -> bool {
        self.wait.count.iter().flat_map(|count| &count.held).any(|held| held.key == mail)
    }
}

/// What happened to waits, by their keys.
#[derive(Default)]
pub(super) struct Settled {
    lost: BTreeMap<i64, Entry>,
    done: BTreeMap<i64, Entry>,
}

impl Settled {
    pub(super) fn insert(&mut self, wait: &Wait, entry: Entry) {
        self.done.insert(wait.key, entry);
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.lost.extend(other.lost);
        self.done.extend(other.done);
    }

    /// The history of it: who lost a race hears of it before who won.
    pub(super) fn into_row(self) -> Vec<Entry> {
        self.lost.into_values().chain(self.done.into_values()).collect()
    }
}

impl Mailbox {
    /// What is kept for later, by visible time, then acceptance.
    pub(super) fn pending(&self) -> Vec<&Mail> {
        let mut pending: Vec<&Mail> = self.mail.values().filter(|mail| mail.is_pending()).collect();
        pending.sort_by_key(|mail| mail.order());
        pending
    }

    /// The keys of what could be consumed now, in order.
    pub(super) fn visible(&self, now: Timestamp) -> Vec<i64> {
        let visible = self.pending().into_iter().filter(|mail| mail.is_visible(now));
        visible.map(|mail| mail.sent.key).collect()
    }

    pub(super) fn mail(&self, key: i64) -> &Mail {
        &self.mail[&key]
    }

    /// What the instance took of a published event. It is there from the first time on, whatever
    /// became of it, so that nobody takes the event again.
    pub(super) fn taken(&self, seq: i64) -> Option<&Mail> {
        self.mail.values().find(|mail| mail.seq() == Some(seq))
    }

    /// Takes in a published event.
    pub(super) fn take_in(&mut self, sent: Buffered, place: Place, now: Timestamp) {
        self.mail.insert(sent.key, Mail { sent, came_at: now, wakes: true, place });
    }

    /// Consumes, replaces, drops or discards.
    pub(super) fn remove(&mut self, key: i64) {
        self.put(key, Place::Gone);
    }

    fn put(&mut self, key: i64, place: Place) {
        self.mail.entry(key).and_modify(|mail| mail.place = place);
    }

    /// What is kept, without what this delivery replaces.
    pub(super) fn load(&self, delivery: &Delivery, fate: &Fate) -> BufferLoad {
        let mut pending = self.pending();
        if *fate == Fate::Replaces {
            pending.retain(|mail| {
                let sent = &mail.sent;
                let is_same = (sent.kind, &sent.name) == (delivery.kind, &delivery.name);
                !is_same || mail.place != Place::Kept || sent.buffer != Buffer::Latest
            });
        }
        let size = |mail: &&Mail| mail.sent.payload.as_ref().map_or(0, Json::size);
        BufferLoad { entries: pending.len(), bytes: pending.iter().map(size).sum() }
    }

    pub(super) fn open(&self) -> Vec<Wait> {
        let open = self.waits.iter().filter(|waiter| waiter.is_open());
        open.map(|waiter| waiter.wait.clone()).collect()
    }

    pub(super) fn remembered(&self, id: &str) -> Option<Delivered> {
        self.remembered.iter().find(|answer| *answer.event_id == *id).cloned()
    }

    pub(super) fn remember(&mut self, answer: Delivered, at_most: usize) {
        self.remembered.push_back(answer);
        while self.remembered.len() > at_most {
            self.remembered.pop_front();
        }
    }

    /// The next moment at which something falls due, which may have passed.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let later = self.mail.values().filter(|mail| mail.place == Place::Later);
        let deadlines = self.waits.iter().filter(|waiter| waiter.is_open());
        let deadlines = deadlines.filter_map(|waiter| waiter.wait.timeout_at);
        later.map(Mail::since).chain(deadlines).min()
    }

    /// Takes a delivery in, with the fate that was decided for it.
    pub(super) fn accept(
        &mut self,
        delivery: &Delivery,
        fate: &Fate,
        key: i64,
        now: Timestamp,
    ) -> Vec<Entry> {
        let place = match fate {
            Fate::Later => Place::Later,
            Fate::Kept | Fate::Replaces | Fate::Meets(_) => Place::Kept,
            Fate::Dropped | Fate::Ignored => Place::Gone,
        };
        let sent = kept(delivery, key, now);
        let mail = Mail { sent, came_at: now, wakes: delivery.wake, place };
        let mut row = vec![mail.entry(EntryKind::EventReceived)];
        let buffered = mail.entry(EntryKind::EventBuffered);
        self.mail.insert(key, mail);
        match fate {
            Fate::Meets(_) => row.extend(self.offer(key, now, |_| true, |_| true).into_row()),
            Fate::Replaces => row.extend(self.supersede(key)),
            Fate::Kept | Fate::Later | Fate::Dropped | Fate::Ignored => {}
        }
        if self.mail(key).is_pending() {
            row.push(buffered);
        }
        row
    }

    /// Offers mail to those open waits that may have it. What meets one is consumed, or held until
    /// there is enough of it. Others may lose a race to those that are met.
    pub(super) fn offer(
        &mut self,
        key: i64,
        now: Timestamp,
        may_have: impl Fn(&Wait) -> bool,
        may_lose: impl Fn(&Wait) -> bool,
    ) -> Settled {
        let sent = self.mail(key).sent.clone();
        let mut settled = Settled::default();
        let open: Vec<usize> = (0..self.waits.len())
            .filter(|place| {
                let waiter = &self.waits[*place];
                waiter.is_open() && may_have(&waiter.wait)
            })
            .collect();
        let waits: Vec<Wait> = open.iter().map(|place| self.waits[*place].wait.clone()).collect();
        let met = meet(&waits, &sent);
        for place in &met.fulfils {
            settled.extend(self.lose_to(&waits[*place], &may_lose));
        }
        for (place, distinct) in met.held_by {
            self.waits[open[place]].hold(&sent, distinct);
            self.put(key, Place::Held);
        }
        for place in met.fulfils {
            let wait = &waits[place];
            let held = wait.count.iter().flat_map(|count| &count.held).map(|held| held.key);
            let held: Vec<i64> = held.collect();
            let before: Vec<Buffered> =
                held.iter().map(|held| self.mail(*held).sent.clone()).collect();
            held.iter().for_each(|held| self.remove(*held));
            self.remove(key);
            self.waits[open[place]].fulfil(Some(&sent), now);
            settled.insert(wait, fulfilled(wait, &before, &sent));
        }
        settled
    }

    /// Cancels those that race with a wait which is met.
    pub(super) fn lose_to(&mut self, winner: &Wait, may_lose: impl Fn(&Wait) -> bool) -> Settled {
        let mut settled = Settled::default();
        let rivals = self.waits.iter_mut().filter(|waiter| {
            let Waiter { wait, .. } = waiter;
            waiter.is_open() && wait.key != winner.key && wait.race == winner.race && may_lose(wait)
        });
        for rival in rivals.filter(|_| winner.race.is_some()) {
            rival.wait.status = WaitStatus::Cancelled;
            settled.lost.insert(rival.wait.key, lost(&rival.wait, winner));
        }
        settled
    }

    /// Removes everything that gives way to this mail.
    fn supersede(&mut self, by: i64) -> Vec<Entry> {
        let newer = self.mail(by);
        let old: Vec<i64> = self
            .pending()
            .into_iter()
            .filter(|mail| mail.gives_way_to(newer))
            .map(|mail| mail.sent.key)
            .collect();
        self.remove_all(&old, EntryKind::EventSuperseded)
    }

    fn remove_all(&mut self, keys: &[i64], why: EntryKind) -> Vec<Entry> {
        keys.iter().for_each(|key| self.remove(*key));
        keys.iter().map(|key| self.mail(*key).entry(why)).collect()
    }

    /// Decides what fell due by now: mail whose time came, then waits whose deadline passed.
    pub(super) fn fall_due(&mut self, now: Timestamp) -> Vec<Entry> {
        let mut row = Vec::new();
        for key in self.visible(now) {
            if self.mail(key).place == Place::Later {
                row.extend(self.accept_in_its_time(key, now));
            }
        }
        // What came in time without waking anybody still counts.
        for key in self.visible(now) {
            let since = self.mail(key).since();
            // Who had given up by then expires; it does not lose.
            let heard = |wait: &Wait| !has_expired(wait, since);
            let late = |wait: &Wait| has_expired(wait, now) && heard(wait);
            row.extend(self.offer(key, now, late, heard).into_row());
        }
        let (freed, gave_up) = self.expire(now);
        row.extend(gave_up);
        row.extend(self.return_all(freed, now));
        row
    }

    /// Gives back what waits let go, and offers it to those that were open when it became visible.
    pub(super) fn return_all(&mut self, freed: Vec<i64>, now: Timestamp) -> Vec<Entry> {
        let (returned, mut row) = self.give_back(freed);
        for key in returned {
            let since = self.mail(key).since();
            let heard = |wait: &Wait| !has_expired(wait, since);
            row.extend(self.offer(key, now, heard, |_| true).into_row());
        }
        row
    }

    /// Accepts delayed mail as if it had come at its time.
    fn accept_in_its_time(&mut self, key: i64, now: Timestamp) -> Vec<Entry> {
        self.put(key, Place::Kept);
        let mail = self.mail(key);
        let (since, wakes, policy) = (mail.since(), mail.wakes, mail.sent.buffer);
        let heard = |wait: &Wait| !has_expired(wait, since);
        let met = self.offer(key, now, |wait| wakes && heard(wait), heard).into_row();
        match policy {
            _ if self.mail(key).place != Place::Kept => met,
            Buffer::Latest => self.supersede(key),
            Buffer::Queue => vec![],
            Buffer::None => {
                self.remove(key);
                vec![]
            }
        }
    }

    /// Gives up what is past its deadline, the earliest deadline first. Answers with what these
    /// held, and the history of it.
    fn expire(&mut self, now: Timestamp) -> (Vec<i64>, Vec<Entry>) {
        let late = |waiter: &&mut Waiter| waiter.is_open() && has_expired(&waiter.wait, now);
        let mut late: Vec<&mut Waiter> = self.waits.iter_mut().filter(late).collect();
        late.sort_by_key(|waiter| (waiter.wait.timeout_at, waiter.wait.key));
        let (mut freed, mut row) = (Vec::new(), Vec::new());
        for waiter in late {
            row.push(expired(&waiter.wait));
            waiter.wait.status = WaitStatus::Expired;
            freed.extend(waiter.let_go());
        }
        (freed, row)
    }

    /// Cancels the waits of these steps, open or met. Answers with what they gave back, and the
    /// history of it.
    pub(super) fn cancel(&mut self, steps: &[Arc<str>], run: u32) -> (Vec<i64>, Vec<Entry>) {
        let mut freed = Vec::new();
        for waiter in self.waits.iter_mut().filter(|waiter| waiter.wait.run == run) {
            let undone = waiter.wait.status == WaitStatus::Fulfilled;
            if steps.contains(&waiter.wait.step) && (waiter.is_open() || undone) {
                freed.extend(waiter.let_go());
                waiter.wait.status = WaitStatus::Cancelled;
                (waiter.wait.fulfilled_at, waiter.wait.fulfilled_by) = (None, None);
            }
        }
        self.give_back(freed)
    }

    /// Puts back what waits let go and no other one has, unless a newer one is there. Answers with
    /// what is back, and the history of it.
    fn give_back(&mut self, mut freed: Vec<i64>) -> (Vec<i64>, Vec<Entry>) {
        let has = |status: WaitStatus, key: i64| {
            self.waits.iter().any(|waiter| waiter.wait.status == status && waiter.has(key))
        };
        let kept = |key: i64| {
            if has(WaitStatus::Fulfilled, key) {
                Place::Gone
            } else if has(WaitStatus::Active, key) {
                Place::Held
            } else {
                Place::Kept
            }
        };
        let places: Vec<Place> = freed.iter().map(|key| kept(*key)).collect();
        freed.iter().zip(places).for_each(|(key, place)| self.put(*key, place));
        freed.retain(|key| self.mail(*key).place == Place::Kept);
        freed.sort_by_key(|key| self.mail(*key).order());
        freed.dedup();
        let (mut returned, mut row) = (Vec::new(), Vec::new());
        for key in freed {
            let mail = self.mail(key);
            if self.pending().iter().any(|newer| mail.gives_way_to(newer)) {
                row.push(mail.entry(EntryKind::EventSuperseded));
                self.remove(key);
            } else {
                row.push(mail.entry(EntryKind::EventBuffered));
                returned.push(key);
            }
        }
        (returned, row)
    }

    /// Cancels every open wait, but those of some steps: their run is over. What they held is back.
    pub(super) fn close(&mut self, but: &[Arc<str>]) -> Vec<Entry> {
        let closes = |waiter: &&mut Waiter| waiter.is_open() && !but.contains(&waiter.wait.step);
        let (mut freed, mut row) = (Vec::new(), Vec::new());
        for waiter in self.waits.iter_mut().filter(closes) {
            waiter.wait.status = WaitStatus::Cancelled;
            row.push(cancelled(&waiter.wait));
            freed.extend(waiter.let_go());
        }
        row.extend(self.give_back(freed).1);
        row
    }

    /// Discards whatever is pending. What an open wait holds is for whoever cancels that.
    pub(super) fn discard(&mut self) -> Vec<Entry> {
        let is_held = |mail: &&Mail| mail.place == Place::Held;
        let pending = self.pending().into_iter().filter(|mail| !is_held(mail));
        let pending: Vec<i64> = pending.map(|mail| mail.sent.key).collect();
        self.remove_all(&pending, EntryKind::EventDiscarded)
    }
}
