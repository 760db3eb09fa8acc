//! What the store tells the engine.

use std::sync::{Arc, Weak};

use crate::run::News;
use crate::store::{Hint, Listener};

use super::Inner;
use super::feed::Feed;

/// Hears the store's hints. Weak, because the store may outlive the engine.
pub(super) struct Ear {
    pub(super) engine: Weak<Inner>,
    /// Asked first: it is told something after every batch of commits, and mostly nobody watches.
    pub(super) feed: Arc<Feed>,
}

impl Listener for Ear {
    fn hint(&self, hint: Hint) {
        match &hint {
            Hint::Recorded => return self.feed.recorded(),
            Hint::Streamed(id) => return self.feed.streamed(id),
            _ => {}
        }
        let Some(inner) = self.engine.upgrade() else { return };
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
            Hint::OutputSet(id, output) => {
                inner.output_waiters.tell(&(id, output.key), &output.value);
            }
            Hint::Paused(key) => {
                inner.residents.tell(key, News::Paused);
            }
            Hint::Restarted(key) => {
                // Whoever runs it lets go, and then has it read again.
                if !inner.residents.tell(key, News::Restarted) {
                    inner.wake(key);
                }
            }
            Hint::Recorded | Hint::Streamed(_) => {}
            Hint::Closed(reason) => inner.lose_store(reason),
            Hint::Ended(ended) => {
                inner.residents.tell(ended.key, News::Ended);
                inner.settling.tell(&ended.id, &ended.status);
                inner.waiters.tell(&ended.id, &ended);
            }
        }
    }
}
