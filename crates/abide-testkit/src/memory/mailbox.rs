//! What one instance was sent and what it waits for, and how the two meet.
//!
//! Nothing here touches the instance itself: every change answers with the history entries it is
//! worth, and whoever asked for it records them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use abide::history::{Entry, EntryKind};
use abide::meeting::{BufferLoad, Fate, cancelled, expired, fulfilled, has_expired, kept, met_by};
use abide::{Buffer, Buffered, Delivered, Delivery, Json, Timestamp, Wait, WaitStatus};

use super::mail::{Mail, Place};

#[derive(Clone, Default)]
pub(super) struct Mailbox {
    /// All waits, open or not, in the order in which they were reached.
    pub(super) waits: Vec<Held>,
    /// All mail, pending or not, by key.
    mail: BTreeMap<i64, Mail>,
    /// The last answers, newest last: the same id again is answered with the same.
    remembered: VecDeque<Delivered>,
}

/// A wait and what it holds.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) wait: Wait,
    /// The mail that fulfilled it.
    pub(super) mail: Option<i64>,
}

impl Held {
    pub(super) fn is_open(&self) -> bool {
        self.wait.status == WaitStatus::Active
    }

    pub(super) fn fulfil(&mut self, by: Option<&Buffered>, now: Timestamp) {
        self.wait.status = WaitStatus::Fulfilled;
        self.wait.fulfilled_at = Some(now);
        self.wait.fulfilled_by = by.map(|sent| Arc::clone(&sent.id));
        self.mail = by.map(|sent| sent.key);
    }
}

/// What happened to waits, by their keys.
pub(super) type Settled = BTreeMap<i64, Entry>;

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

    /// Consumes, replaces, drops or discards.
    pub(super) fn remove(&mut self, key: i64) {
        self.mail.entry(key).and_modify(|mail| mail.place = Place::Gone);
    }

    fn put(&mut self, key: i64) {
        self.mail.entry(key).and_modify(|mail| mail.place = Place::Kept);
    }

    pub(super) fn load(&self) -> BufferLoad {
        let pending = self.pending();
        let size = |mail: &&Mail| mail.sent.payload.as_ref().map_or(0, Json::size);
        BufferLoad { entries: pending.len(), bytes: pending.iter().map(size).sum() }
    }

    pub(super) fn open(&self) -> Vec<Wait> {
        let open = self.waits.iter().filter(|held| held.is_open());
        open.map(|held| held.wait.clone()).collect()
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
        let deadlines = self.waits.iter().filter(|held| held.is_open());
        let deadlines = deadlines.filter_map(|held| held.wait.timeout_at);
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
            Fate::Kept | Fate::Replaces | Fate::Fulfils(_) => Place::Kept,
            Fate::Dropped | Fate::Ignored => Place::Gone,
        };
        let mail = Mail { sent: kept(delivery, key, now), wakes: delivery.wake, place };
        let mut row = vec![mail.entry(EntryKind::EventReceived)];
        let buffered = mail.entry(EntryKind::EventBuffered);
        self.mail.insert(key, mail);
        match fate {
            Fate::Fulfils(_) => row.extend(self.offer(key, now, |_| true).into_values()),
            Fate::Replaces => row.extend(self.supersede(key)),
            Fate::Kept | Fate::Later | Fate::Dropped | Fate::Ignored => {}
        }
        if self.mail(key).is_pending() {
            row.push(buffered);
        }
        row
    }

    /// Offers mail to those open waits that may have it. What meets one is consumed.
    pub(super) fn offer(
        &mut self,
        key: i64,
        now: Timestamp,
        may_have: impl Fn(&Wait) -> bool,
    ) -> Settled {
        let sent = self.mail(key).sent.clone();
        let mut open: Vec<&mut Held> =
            self.waits.iter_mut().filter(|held| held.is_open() && may_have(&held.wait)).collect();
        let waits: Vec<Wait> = open.iter().map(|held| held.wait.clone()).collect();
        let mut settled = Settled::new();
        for place in met_by(&waits, sent.kind, &sent.name) {
            open[place].fulfil(Some(&sent), now);
            settled.insert(waits[place].key, fulfilled(&waits[place], &sent));
        }
        if !settled.is_empty() {
            self.remove(key);
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
            let late = |wait: &Wait| has_expired(wait, now) && !has_expired(wait, since);
            row.extend(self.offer(key, now, late).into_values());
        }
        row.extend(self.expire(now));
        row
    }

    /// Accepts delayed mail as if it had come at its time.
    fn accept_in_its_time(&mut self, key: i64, now: Timestamp) -> Vec<Entry> {
        self.put(key);
        let mail = self.mail(key);
        let (since, wakes, policy) = (mail.since(), mail.wakes, mail.sent.buffer);
        let met = self.offer(key, now, |wait| wakes && !has_expired(wait, since));
        match policy {
            _ if !met.is_empty() => met.into_values().collect(),
            Buffer::Latest => self.supersede(key),
            Buffer::Queue => vec![],
            Buffer::None => {
                self.remove(key);
                vec![]
            }
        }
    }

    /// Gives up what is past its deadline, the earliest deadline first.
    fn expire(&mut self, now: Timestamp) -> Vec<Entry> {
        let late = |held: &&mut Held| held.is_open() && has_expired(&held.wait, now);
        let mut late: Vec<&mut Held> = self.waits.iter_mut().filter(late).collect();
        late.sort_by_key(|held| (held.wait.timeout_at, held.wait.key));
        for held in &mut late {
            held.wait.status = WaitStatus::Expired;
        }
        late.iter().map(|held| expired(&held.wait)).collect()
    }

    /// Cancels the waits of these steps. What one of them had and no other wait keeps is back in
    /// its place, unless a newer one is there: answers with its keys, and the history of it.
    pub(super) fn cancel(&mut self, steps: &[Arc<str>], run: u32) -> (Vec<i64>, Vec<Entry>) {
        let mut freed = Vec::new();
        for held in self.waits.iter_mut().filter(|held| held.wait.run == run) {
            let undone = held.wait.status == WaitStatus::Fulfilled;
            if steps.contains(&held.wait.step) && (held.is_open() || undone) {
                freed.extend(held.mail.take());
                held.wait.status = WaitStatus::Cancelled;
                (held.wait.fulfilled_at, held.wait.fulfilled_by) = (None, None);
            }
        }
        freed.retain(|key| self.waits.iter().all(|held| held.mail != Some(*key)));
        freed.iter().for_each(|key| self.put(*key));
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

    /// Cancels every open wait, but those of some steps: their run is over.
    pub(super) fn close(&mut self, but: &[Arc<str>]) -> Vec<Entry> {
        let closes = |held: &&mut Held| held.is_open() && !but.contains(&held.wait.step);
        let mut row = Vec::new();
        for held in self.waits.iter_mut().filter(closes) {
            held.wait.status = WaitStatus::Cancelled;
            row.push(cancelled(&held.wait));
        }
        row
    }

    /// Discards whatever is pending.
    pub(super) fn discard(&mut self) -> Vec<Entry> {
        let pending: Vec<i64> = self.pending().iter().map(|mail| mail.sent.key).collect();
        self.remove_all(&pending, EntryKind::EventDiscarded)
    }
}
