//! Callers who wait to be told something about an instance.

use std::hash::Hash;

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Those who wait, by what they wait for.
pub(super) struct Waiters<K, V>(Mutex<HashMap<K, Vec<oneshot::Sender<V>>>>);

impl<K, V> Default for Waiters<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Waiters<K, V> {
    pub(super) fn add(&self, key: K) -> oneshot::Receiver<V> {
        let (tell, told) = oneshot::channel();
        let mut waiters = self.0.lock();
        let waiting = waiters.entry(key).or_default();
        // Whoever stopped waiting leaves no trace.
        waiting.retain(|waiter| !waiter.is_closed());
        waiting.push(tell);
        told
    }

    pub(super) fn tell(&self, key: &K, what: &V) {
        let waiting = {
            let mut waiters = self.0.lock();
            if waiters.is_empty() {
                return;
            }
            waiters.remove(key)
        };
        for waiter in waiting.into_iter().flatten() {
            // A waiter that is gone no longer wants to know.
            let _ = waiter.send(what.clone());
        }
    }

    /// Nobody here will hear of it any more, and whoever waits is told so.
    pub(super) fn forget_all(&self) {
        self.0.lock().clear();
    }

    pub(super) fn forget_closed(&self, key: &K) {
        let mut waiters = self.0.lock();
        if let Some(waiting) = waiters.get_mut(key) {
            waiting.retain(|waiter| !waiter.is_closed());
            if waiting.is_empty() {
                waiters.remove(key);
            }
        }
    }
}
