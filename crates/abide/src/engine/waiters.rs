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

/// Somebody who waits. Whoever stops waiting leaves no trace.
pub(super) struct Waiter<'w, K: Eq + Hash, V> {
    waiters: &'w Waiters<K, V>,
    key: K,
    told: oneshot::Receiver<V>,
}

impl<K: Eq + Hash, V> Waiter<'_, K, V> {
    /// What it is told; none when nobody will tell it any more.
    pub(super) async fn told(mut self) -> Option<V> {
        (&mut self.told).await.ok()
    }
}

impl<K: Eq + Hash, V> Drop for Waiter<'_, K, V> {
    fn drop(&mut self) {
        self.told.close();
        // Whoever was told is not among them any more.
        if !self.told.is_terminated() {
            self.waiters.forget_closed(&self.key);
        }
    }
}

impl<K: Eq + Hash, V> Waiters<K, V> {
    fn forget_closed(&self, key: &K) {
        let mut waiters = self.0.lock();
        if let Some(waiting) = waiters.get_mut(key) {
            waiting.retain(|waiter| !waiter.is_closed());
            if waiting.is_empty() {
                waiters.remove(key);
            }
        }
    }

    /// Nobody here will hear of it any more, and whoever waits is told so.
    pub(super) fn forget_all(&self) {
        self.0.lock().clear();
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Waiters<K, V> {
    pub(super) fn add(&self, key: K) -> Waiter<'_, K, V> {
        let (tell, told) = oneshot::channel();
        self.0.lock().entry(key.clone()).or_default().push(tell);
        Waiter { waiters: self, key, told }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_who_waits_is_told_and_nobody_else() {
        let waiters = Waiters::<u8, &str>::default();
        let (one, same, other) = (waiters.add(1), waiters.add(1), waiters.add(2));
        waiters.tell(&1, &"now");
        assert_eq!((one.told().await.unwrap(), same.told().await.unwrap()), ("now", "now"));
        waiters.forget_all();
        assert_eq!(other.told().await, None);
    }

    #[test]
    fn whoever_stops_waiting_leaves_no_trace() {
        let waiters = Waiters::<u8, &str>::default();
        let (leaves, stays) = (waiters.add(1), waiters.add(1));
        drop(leaves);
        assert_eq!(waiters.0.lock()[&1].len(), 1);
        drop(stays);
        assert!(waiters.0.lock().is_empty());
    }
}
