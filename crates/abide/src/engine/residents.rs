//! The instances that are in memory, or on their way there.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::id::InstanceKey;
use crate::run::{News, Resident};

/// Room that is kept even when hardly anybody is there.
const ROOM: usize = 4096;

/// See the module. Whatever is told here reaches the instance, or the caller learns that the
/// instance has to be read from the store first.
#[derive(Default)]
pub(crate) struct Residents {
    slots: Mutex<Slots>,
    /// One left or became quiet, while a shutdown waits for that.
    changed: Notify,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<InstanceKey, Slot>,
    /// Starts that the store has not answered.
    starting: BTreeSet<u64>,
    last_start: u64,
    /// What was told to instances that are not here, while starts were under way: one of those may
    /// be of the instance, and then nobody else must claim it.
    early: Vec<Early>,
}

struct Early {
    key: InstanceKey,
    news: News,
    /// The last start that may be of this instance.
    start: u64,
}

/// A start that the store has not answered; see [`Residents::starting`].
pub(crate) struct Starting(u64);

impl Slots {
    /// A map that shrinks again after a crowd has left.
    fn forget(&mut self, key: InstanceKey) {
        let slots = &mut self.by_key;
        slots.remove(&key);
        if slots.capacity() > ROOM && slots.len() < slots.capacity() / 4 {
            slots.shrink_to(slots.capacity() / 2);
        }
    }

    /// Keeps news for an instance that may be about to be here. False when it can't be.
    fn keep_early(&mut self, key: InstanceKey, news: News) -> bool {
        let Some(start) = self.starting.last().copied() else { return false };
        self.early.push(Early { key, news, start });
        true
    }

    fn mark_loading(&mut self, key: InstanceKey) -> bool {
        match self.by_key.get_mut(&key) {
            Some(Slot::Live(resident)) => resident.tell(News::Tick),
            // It may have been read before there was a reason to look.
            Some(Slot::Loading(kept)) if kept.is_empty() => kept.push(News::Tick),
            Some(Slot::Loading(_)) => {}
            None => {
                self.by_key.insert(key, Slot::Loading(Vec::new()));
                return true;
            }
        }
        false
    }
}

enum Slot {
    /// Being read; what comes meanwhile is kept for it.
    Loading(Vec<News>),
    Live(Arc<Resident>),
}

impl Residents {
    /// A start is about to be asked for. Until it is [`Residents::started`], what is told to an
    /// instance that is not here waits: the store tells of a new instance before it answers.
    pub(crate) fn starting(&self) -> Starting {
        let mut slots = self.slots.lock();
        slots.last_start += 1;
        let start = slots.last_start;
        slots.starting.insert(start);
        Starting(start)
    }

    /// The start was answered and its instances are here. Answers with those that had to wait for
    /// it, are not here, and now have to be loaded.
    #[must_use = "nobody else loads them"]
    pub(crate) fn started(&self, start: &Starting) -> Vec<InstanceKey> {
        let mut slots = self.slots.lock();
        slots.starting.remove(&start.0);
        if slots.early.is_empty() {
            return Vec::new();
        }
        let waited = slots.starting.first().copied().unwrap_or(u64::MAX);
        let ready: Vec<Early> = slots.early.extract_if(.., |early| early.start < waited).collect();
        let wakes = |news: &News| !matches!(news, News::Paused | News::Ended);
        ready
            .into_iter()
            .filter(|early| wakes(&early.news) && slots.mark_loading(early.key))
            .map(|early| early.key)
            .collect()
    }

    /// Tells an instance something. False when it is not in memory, nor about to be.
    pub(crate) fn tell(&self, key: InstanceKey, news: News) -> bool {
        let mut slots = self.slots.lock();
        match slots.by_key.get_mut(&key) {
            Some(Slot::Live(resident)) => resident.tell(news),
            Some(Slot::Loading(kept)) => kept.push(news),
            None => return slots.keep_early(key, news),
        }
        true
    }

    /// Ticks an instance, or marks it as being loaded; true when the caller has to load it.
    pub(crate) fn tick_or_load(&self, key: InstanceKey) -> bool {
        let mut slots = self.slots.lock();
        if !slots.by_key.contains_key(&key) && slots.keep_early(key, News::Tick) {
            return false;
        }
        slots.mark_loading(key)
    }

    /// The instance is there; it hears what came while it was being read or started.
    pub(crate) fn enter(&self, key: InstanceKey, resident: &Arc<Resident>) {
        let mut slots = self.slots.lock();
        // Before anybody can tell it more, or what came first would be heard last.
        if let Some(Slot::Loading(kept)) = slots.by_key.remove(&key) {
            kept.into_iter().for_each(|news| resident.tell(news));
        }
        if !slots.early.is_empty() {
            let mine = slots.early.extract_if(.., |early| early.key == key);
            mine.for_each(|early| resident.tell(early.news));
        }
        slots.by_key.insert(key, Slot::Live(Arc::clone(resident)));
    }

    /// Loading came to nothing. True when something was told meanwhile, so that somebody must look
    /// again.
    pub(crate) fn give_up_loading(&self, key: InstanceKey) -> bool {
        let mut slots = self.slots.lock();
        match slots.by_key.get(&key) {
            Some(Slot::Loading(kept)) => {
                let told = !kept.is_empty();
                slots.by_key.remove(&key);
                told
            }
            _ => false,
        }
    }

    /// Forgets an instance. True when somebody must look again: its life is not over, or it was
    /// restarted the moment it ended.
    pub(crate) fn leave(&self, key: InstanceKey, resident: &Arc<Resident>, over: bool) -> bool {
        let mut slots = self.slots.lock();
        if !matches!(slots.by_key.get(&key), Some(Slot::Live(known)) if Arc::ptr_eq(known, resident))
        {
            return false;
        }
        slots.forget(key);
        let look_again = !over || resident.is_restarted();
        drop(slots);
        self.quieted();
        look_again
    }

    /// Forgets an instance unless something was told to it that it has not heard: under one lock,
    /// so that nothing falls between.
    pub(crate) fn leave_if_quiet(&self, key: InstanceKey, resident: &Arc<Resident>) -> bool {
        let mut slots = self.slots.lock();
        if resident.has_news() || resident.is_poll_due() {
            return false;
        }
        slots.forget(key);
        true
    }

    /// Whether an instance is in memory and its end is still to come.
    pub(crate) fn is_live(&self, key: InstanceKey) -> bool {
        let slots = self.slots.lock();
        matches!(slots.by_key.get(&key), Some(Slot::Live(resident)) if !resident.has_ended())
    }

    /// Whether an instance is in memory, be it that its end is stored and its task does not know yet.
    pub(crate) fn is_here(&self, key: InstanceKey) -> bool {
        matches!(self.slots.lock().by_key.get(&key), Some(Slot::Live(_)))
    }

    /// Whether an instance is in memory and at work: it will rest or end, and tell.
    pub(crate) fn is_busy(&self, key: InstanceKey) -> bool {
        let slots = self.slots.lock();
        let Some(Slot::Live(resident)) = slots.by_key.get(&key) else { return false };
        !resident.has_ended() && (!resident.is_quiet() || resident.has_news())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Resident>> {
        let slots = self.slots.lock();
        let live = slots.by_key.values().filter_map(|slot| match slot {
            Slot::Live(resident) => Some(Arc::clone(resident)),
            Slot::Loading(_) => None,
        });
        live.collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.lock().by_key.len()
    }

    /// How many are being read from the store.
    pub(crate) fn loading(&self) -> usize {
        let slots = self.slots.lock();
        slots.by_key.values().filter(|slot| matches!(slot, Slot::Loading(_))).count()
    }

    /// Completes when no instance runs a step or has something to commit.
    pub(crate) async fn all_quiet(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Before the look, or a change right after it would be missed.
            changed.as_mut().enable();
            if self.all().iter().all(|resident| resident.is_quiet()) {
                return;
            }
            changed.await;
        }
    }

    /// An instance became quiet.
    pub(crate) fn quieted(&self) {
        self.changed.notify_waiters();
    }
}
