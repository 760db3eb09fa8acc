//! Events that have yet to meet some of the instances that want them, in memory.
//!
//! The rows of `fanouts` say how far each came; whom it has left is found again when the store is
//! opened. Changes are journalled, and taken back with their batch.

use std::collections::BTreeMap;

use abide::{InstanceKey, Published};
use hashbrown::HashMap;

/// All open ones, by the number of their event.
#[derive(Default)]
pub(crate) struct Fanouts {
    open: BTreeMap<i64, Fanout>,
    journal: Vec<Undo>,
}

/// Whom an event has left.
pub(crate) struct Fanout {
    pub(crate) event: Published,
    /// How many waits took it so far.
    pub(crate) met: u64,
    /// Instances by the first wait of each that wants it.
    left: BTreeMap<i64, InstanceKey>,
    /// The same from the other side.
    covers: HashMap<InstanceKey, i64>,
}

impl Fanout {
    pub(crate) fn new(
        event: Published,
        met: u64,
        left: impl IntoIterator<Item = (i64, InstanceKey)>,
    ) -> Self {
        let left: BTreeMap<i64, InstanceKey> = left.into_iter().collect();
        let covers = left.iter().map(|(wait, key)| (*key, *wait)).collect();
        Self { event, met, left, covers }
    }

    fn put(&mut self, wait: i64, key: InstanceKey) {
        self.left.insert(wait, key);
        self.covers.insert(key, wait);
    }
}

/// How to take back one change.
enum Undo {
    Opened(i64),
    Taken { seq: i64, wait: i64, key: InstanceKey },
    Met { seq: i64, before: u64 },
    Closed(i64, Box<Fanout>),
}

impl Fanouts {
    /// Whether everything has met everybody: nothing has to be settled first.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many instances have an event to meet, one for each event.
    pub(crate) fn left(&self) -> usize {
        self.open.values().map(|fanout| fanout.left.len()).sum()
    }

    /// Whether an event still has somebody to meet.
    pub(crate) fn contains(&self, seq: i64) -> bool {
        self.open.contains_key(&seq)
    }

    pub(crate) fn open(&mut self, fanout: Fanout) {
        let seq = fanout.event.seq;
        self.open.insert(seq, fanout);
        self.journal.push(Undo::Opened(seq));
    }

    pub(crate) fn get(&self, seq: i64) -> Option<&Fanout> {
        self.open.get(&seq)
    }

    /// The first event that an instance has to meet before anything else happens to it.
    pub(crate) fn covering(&self, key: InstanceKey) -> Option<i64> {
        let covers = |(_, fanout): &(&i64, &Fanout)| fanout.covers.contains_key(&key);
        self.open.iter().find(covers).map(|(seq, _)| *seq)
    }

    /// The oldest event, and those whom it meets next: the first wait of each, and the instance.
    pub(crate) fn next(&self, at_most: usize) -> Option<(i64, Vec<(i64, InstanceKey)>)> {
        let (seq, fanout) = self.open.first_key_value()?;
        Some((*seq, fanout.left.iter().take(at_most).map(|(w, k)| (*w, *k)).collect()))
    }

    /// An instance meets an event, which is given back, now.
    pub(crate) fn take(&mut self, seq: i64, key: InstanceKey) -> Option<Published> {
        let fanout = self.open.get_mut(&seq)?;
        let wait = fanout.covers.remove(&key)?;
        fanout.left.remove(&wait);
        self.journal.push(Undo::Taken { seq, wait, key });
        Some(fanout.event.clone())
    }

    /// So many more waits took it.
    pub(crate) fn add_met(&mut self, seq: i64, more: u64) {
        if let Some(fanout) = self.open.get_mut(&seq) {
            self.journal.push(Undo::Met { seq, before: fanout.met });
            fanout.met += more;
        }
    }

    /// Nobody is left.
    pub(crate) fn is_done(&self, seq: i64) -> bool {
        self.open.get(&seq).is_none_or(|fanout| fanout.left.is_empty())
    }

    pub(crate) fn close(&mut self, seq: i64) {
        if let Some(fanout) = self.open.remove(&seq) {
            self.journal.push(Undo::Closed(seq, Box::new(fanout)));
        }
    }

    pub(crate) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Takes back everything since a mark, newest first.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        while self.journal.len() > mark {
            match self.journal.pop() {
                Some(Undo::Opened(seq)) => drop(self.open.remove(&seq)),
                Some(Undo::Taken { seq, wait, key }) => {
                    self.open.entry(seq).and_modify(|fanout| fanout.put(wait, key));
                }
                Some(Undo::Met { seq, before }) => {
                    self.open.entry(seq).and_modify(|fanout| fanout.met = before);
                }
                Some(Undo::Closed(seq, fanout)) => drop(self.open.insert(seq, *fanout)),
                None => return,
            }
        }
    }

    /// The batch is durable.
    pub(crate) fn settle(&mut self) {
        self.journal.clear();
    }
}
