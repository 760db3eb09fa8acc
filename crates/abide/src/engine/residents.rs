//! The instances that are in memory, or on their way there.

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
    slots: Mutex<HashMap<InstanceKey, Slot>>,
    /// One left or became quiet, while a shutdown waits for that.
    changed: Notify,
}

/// A map that shrinks again after a crowd has left.
fn forget(slots: &mut HashMap<InstanceKey, Slot>, key: InstanceKey) {
    slots.remove(&key);
    if slots.capacity() > ROOM && slots.len() < slots.capacity() / 4 {
        slots.shrink_to(slots.capacity() / 2);
    }
}

enum Slot {
    /// Being read; what comes meanwhile is kept for it.
    Loading(Vec<News>),
    Live(Arc<Resident>),
}

impl Residents {
    /// Tells an instance something. False when it is not in memory.
    pub(crate) fn tell(&self, key: InstanceKey, news: News) -> bool {
        match self.slots.lock().get_mut(&key) {
            Some(Slot::Live(resident)) => resident.tell(news),
            Some(Slot::Loading(kept)) => kept.push(news),
            None => return false,
        }
        true
    }

    /// Ticks an instance, or marks it as being loaded; true when the caller has to load it.
    pub(crate) fn tick_or_load(&self, key: InstanceKey) -> bool {
        let mut slots = self.slots.lock();
        match slots.get_mut(&key) {
            Some(Slot::Live(resident)) => resident.tell(News::Tick),
            // It will look at the time by itself when it is there.
            Some(Slot::Loading(_)) => {}
            None => {
                slots.insert(key, Slot::Loading(Vec::new()));
                return true;
            }
        }
        false
    }

    /// A new instance is there. False when something reached it before, so that it is being read:
    /// whoever reads it knows all that came and runs it, or each would hear a part.
    pub(crate) fn enter_new(&self, key: InstanceKey, resident: &Arc<Resident>) -> bool {
        let mut slots = self.slots.lock();
        if slots.contains_key(&key) {
            return false;
        }
        slots.insert(key, Slot::Live(Arc::clone(resident)));
        true
    }

    /// The instance is there; it hears what came while it was being read.
    pub(crate) fn enter(&self, key: InstanceKey, resident: &Arc<Resident>) {
        let mut slots = self.slots.lock();
        // Before anybody can tell it more, or what came first would be heard last.
        if let Some(Slot::Loading(kept)) = slots.remove(&key) {
            for news in kept {
                resident.tell(news);
            }
        }
        slots.insert(key, Slot::Live(Arc::clone(resident)));
    }

    /// Loading came to nothing. True when something was told meanwhile, so that somebody must look
    /// again.
    pub(crate) fn give_up_loading(&self, key: InstanceKey) -> bool {
        let mut slots = self.slots.lock();
        match slots.get(&key) {
            Some(Slot::Loading(kept)) => {
                let told = !kept.is_empty();
                slots.remove(&key);
                told
            }
            _ => false,
        }
    }

    /// Forgets an instance. True when somebody must look again: its life is not over, or it was
    /// restarted the moment it ended.
    pub(crate) fn leave(&self, key: InstanceKey, resident: &Arc<Resident>, over: bool) -> bool {
        let mut slots = self.slots.lock();
        if !matches!(slots.get(&key), Some(Slot::Live(known)) if Arc::ptr_eq(known, resident)) {
            return false;
        }
        forget(&mut slots, key);
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
        forget(&mut slots, key);
        true
    }

    /// Whether an instance is in memory and its end is still to come.
    pub(crate) fn is_live(&self, key: InstanceKey) -> bool {
        let slots = self.slots.lock();
        matches!(slots.get(&key), Some(Slot::Live(resident)) if !resident.has_ended())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Resident>> {
        let slots = self.slots.lock();
        let live = slots.values().filter_map(|slot| match slot {
            Slot::Live(resident) => Some(Arc::clone(resident)),
            Slot::Loading(_) => None,
        });
        live.collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.lock().len()
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
