//! What the store tells the engine.

use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::id::InstanceId;
use crate::instance::Output;
use crate::json::Json;
use crate::run::News;
use crate::store::{Ended, Hint, Listener};

use super::Inner;

/// Hears the store's hints. Weak, because the store may outlive the engine.
pub(super) struct Ear(pub(super) Weak<Inner>);

impl Listener for Ear {
    fn hint(&self, hint: Hint) {
        let Some(inner) = self.0.upgrade() else { return };
        match hint {
            Hint::Runnable(key) => {
                if !inner.residents.tell(key, News::Resumed) {
                    inner.wake(key);
                }
            }
            Hint::Arrived(key, recorded) => {
                if !inner.residents.tell(key, News::Arrived(recorded)) {
                    inner.wake(key);
                }
            }
            Hint::Due(due) => inner.timers.schedule(due.at, due.key, false),
            Hint::OutputSet(id, output) => inner.output_waiters.tell(id, &output),
            Hint::Paused(key) => {
                inner.residents.tell(key, News::Paused);
            }
            Hint::Restarted(key) => {
                // Whoever runs it lets go, and then has it read again.
                if !inner.residents.tell(key, News::Restarted) {
                    inner.wake(key);
                }
            }
            Hint::Ended(ended) => {
                inner.residents.tell(ended.key, News::Ended);
                inner.waiters.tell(&ended);
            }
        }
    }
}

/// Those who wait for an output of an instance.
#[derive(Default)]
pub(super) struct OutputWaiters(Mutex<HashMap<OutputKey, Vec<oneshot::Sender<Json>>>>);

/// An instance and the key of one of its outputs.
type OutputKey = (InstanceId, Arc<str>);

impl OutputWaiters {
    pub(super) fn add(&self, id: &InstanceId, key: &str) -> oneshot::Receiver<Json> {
        let (tell, told) = oneshot::channel();
        let mut waiters = self.0.lock();
        let waiting = waiters.entry((id.clone(), key.into())).or_default();
        waiting.retain(|waiter| !waiter.is_closed());
        waiting.push(tell);
        told
    }

    fn tell(&self, id: InstanceId, output: &Output) {
        let waiting = self.0.lock().remove(&(id, Arc::clone(&output.key)));
        for waiter in waiting.into_iter().flatten() {
            // A waiter that is gone no longer wants to know.
            let _ = waiter.send(output.value.clone());
        }
    }
}

/// Those who wait for an instance to end.
#[derive(Default)]
pub(super) struct Waiters(Mutex<HashMap<InstanceId, Vec<oneshot::Sender<Ended>>>>);

impl Waiters {
    pub(super) fn add(&self, id: &InstanceId) -> oneshot::Receiver<Ended> {
        let (tell, told) = oneshot::channel();
        let mut waiters = self.0.lock();
        let waiting = waiters.entry_ref(id).or_default();
        // Whoever stopped waiting leaves no trace.
        waiting.retain(|waiter| !waiter.is_closed());
        waiting.push(tell);
        told
    }

    fn tell(&self, ended: &Ended) {
        let waiting = self.0.lock().remove(&ended.id);
        for waiter in waiting.into_iter().flatten() {
            // A waiter that is gone no longer wants to know.
            let _ = waiter.send(ended.clone());
        }
    }

    /// Nobody here will hear of an end any more, and whoever waits for one is told so.
    pub(super) fn forget_all(&self) {
        self.0.lock().clear();
    }

    pub(super) fn forget_closed(&self, id: &InstanceId) {
        let mut waiters = self.0.lock();
        if let Some(waiting) = waiters.get_mut(id) {
            waiting.retain(|waiter| !waiter.is_closed());
            if waiting.is_empty() {
                waiters.remove(id);
            }
        }
    }
}
