//! Whoever watches instances: one task follows the history of all of them and tells who wants to know.
//!
//! ```text
//!   Hint::Recorded ──▶ follow: Store::tail ──▶ ring those who watch the instance ──▶ they read the store
//!                                        └──▶ keep the row for those who watch all ──▶ they read it here
//!                  └──▶ ring observers ──▶ they read Store::tail, each for itself
//! ```
//!
//! While nobody watches there is nothing to do: hints are dropped, nothing is read and nothing kept. A reader
//! is only ever *told to look*, and looks at its own pace, so that a slow one costs nobody anything.

mod all;
mod bell;
mod follow;
mod frames;
mod kept;
mod watch;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::config::Config;
use crate::error::Result;
use crate::id::InstanceId;
use crate::json::Json;
use crate::tail::Tail;

use super::Inner;

pub use all::{Fed, WatchAll};
use bell::Bell;
use follow::Followers;
pub use follow::{Follow, Observer};
pub use frames::Frames;
use kept::Kept;
pub use watch::{Watch, Watched};

/// Rows that are read at once.
const PAGE: usize = 512;

/// How soon to look again after the store refused.
const AGAIN: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Feed {
    /// How many watch. Looked at after every batch of commits, and nothing else is while it is 0.
    watching: AtomicUsize,
    readers: Mutex<Readers>,
    /// Those who only want to be told.
    followers: Followers,
    /// Something was recorded, somebody came, the last one left, or it is all over.
    news: Notify,
}

struct Readers {
    of_instances: HashMap<InstanceId, Vec<Arc<Bell>>>,
    of_all: Vec<Arc<Bell>>,
    kept: Kept,
    stopped: bool,
}

impl Feed {
    pub(super) fn new(config: &Config) -> Arc<Self> {
        let readers = Readers {
            of_instances: HashMap::new(),
            of_all: Vec::new(),
            kept: Kept::new(config),
            stopped: false,
        };
        let readers = Mutex::new(readers);
        let (watching, followers) = (AtomicUsize::new(0), Followers::default());
        Arc::new(Self { watching, readers, followers, news: Notify::new() })
    }

    /// Something was added to the history of some instances.
    pub(super) fn recorded(&self) {
        self.followers.ring();
        if self.is_watched() {
            self.news.notify_one();
        }
    }

    /// Chunks of an instance were stored.
    pub(super) fn streamed(&self, id: &InstanceId) {
        if self.is_watched() {
            self.readers.lock().ring(id, Bell::streamed);
        }
    }

    /// An instance has left memory, and says nothing more.
    pub(super) fn left(&self, id: &InstanceId) {
        if self.is_watched() {
            self.readers.lock().ring(id, Bell::recorded);
        }
    }

    /// Says something to those who watch an instance now, and to nobody else.
    pub(crate) fn say(&self, id: &InstanceId, name: &Arc<str>, data: &Json) {
        if self.is_watched() {
            self.readers.lock().ring(id, |bell| bell.say(name, data));
        }
    }

    /// Nobody will hear of anything any more, and whoever watches is told so.
    pub(super) fn stop(&self) {
        let mut readers = self.readers.lock();
        readers.stopped = true;
        readers.ring_everybody();
        drop(readers);
        self.followers.stop();
        self.news.notify_one();
    }

    fn is_watched(&self) -> bool {
        // A reader looks at the store after it was counted: what it may not be told of, it sees.
        self.watching.load(Ordering::Relaxed) > 0
    }

    fn is_stopped(&self) -> bool {
        self.readers.lock().stopped
    }

    /// Begins to watch an instance, or all of them.
    fn enter(self: &Arc<Self>, id: Option<InstanceId>) -> Place {
        let bell = Arc::new(Bell::default());
        let mut readers = self.readers.lock();
        match &id {
            Some(id) => {
                readers.of_instances.entry(id.clone()).or_default().push(Arc::clone(&bell));
            }
            None => readers.of_all.push(Arc::clone(&bell)),
        }
        drop(readers);
        if self.watching.fetch_add(1, Ordering::SeqCst) == 0 {
            self.news.notify_one();
        }
        Place { feed: Arc::clone(self), id, bell }
    }

    fn leave(&self, id: Option<&InstanceId>, bell: &Arc<Bell>) {
        let mut readers = self.readers.lock();
        let is_other = |other: &Arc<Bell>| !Arc::ptr_eq(other, bell);
        match id {
            None => readers.of_all.retain(is_other),
            Some(id) => {
                if let Some(bells) = readers.of_instances.get_mut(id) {
                    bells.retain(is_other);
                    if bells.is_empty() {
                        readers.of_instances.remove(id);
                    }
                }
            }
        }
        drop(readers);
        if self.watching.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.news.notify_one();
        }
    }

    /// Follows the history while somebody watches.
    async fn follow(&self, inner: &Inner) {
        let mut head = None;
        while self.is_watched() && !self.is_stopped() {
            let wait = match self.read_on(inner, head).await {
                Ok((read, more)) => {
                    head = Some(read);
                    if more {
                        continue;
                    }
                    inner.env.config.sweep_interval
                }
                Err(error) => {
                    tracing::warn!(%error, "the history could not be followed, trying again");
                    AGAIN
                }
            };
            let clock = &inner.env.clock;
            tokio::select! {
                () = self.news.notified() => {}
                // A hint may have been lost.
                () = clock.sleep_until(clock.now().after(wait)) => {}
            }
        }
        let mut readers = self.readers.lock();
        readers.kept.forget();
    }

    /// Reads what came after `head`, or where the history ends. Answers up to where it was read, and whether
    /// there is more.
    async fn read_on(&self, inner: &Inner, head: Option<i64>) -> Result<(i64, bool)> {
        let Some(after) = head else {
            let head = inner.store.tail(i64::MAX, 0).await?.head;
            let mut readers = self.readers.lock();
            readers.kept.begin(head);
            // What was recorded before this and after they came, nobody else tells them.
            readers.ring_everybody();
            return Ok((head, false));
        };
        let Tail { rows, head } = inner.store.tail(after, PAGE).await?;
        let is_full = rows.len() == PAGE;
        let last = rows.last().map(|last| last.row).filter(|_| is_full);
        let head = last.unwrap_or(head).max(after);
        let mut readers = self.readers.lock();
        for row in &rows {
            readers.ring(&row.id, Bell::recorded);
        }
        let is_any = !rows.is_empty();
        let is_wanted = !readers.of_all.is_empty();
        readers.kept.take_in(rows, head, is_wanted);
        if is_any {
            readers.of_all.iter().for_each(|bell| bell.recorded());
        }
        Ok((head, is_full))
    }
}

impl Readers {
    fn ring(&self, id: &InstanceId, how: impl Fn(&Bell)) {
        if let Some(bells) = self.of_instances.get(id) {
            bells.iter().for_each(|bell| how(bell));
        }
    }

    fn ring_everybody(&self) {
        for bell in self.of_instances.values().flatten().chain(&self.of_all) {
            bell.recorded();
            bell.streamed();
        }
    }
}

/// Somebody who watches, until it is dropped.
struct Place {
    feed: Arc<Feed>,
    id: Option<InstanceId>,
    bell: Arc<Bell>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.feed.leave(self.id.as_ref(), &self.bell);
    }
}

/// The task that follows. It rests while nobody watches.
pub(super) async fn serve(engine: Weak<Inner>, feed: Arc<Feed>) {
    while !feed.is_stopped() {
        if feed.is_watched() {
            let Some(inner) = engine.upgrade() else { return };
            feed.follow(&inner).await;
        } else {
            feed.news.notified().await;
        }
    }
}
