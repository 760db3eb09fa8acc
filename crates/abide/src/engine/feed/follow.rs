//! Following everything at one's own pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::engine::Inner;
use crate::error::Result;
use crate::store::Store;
use crate::time::Clock;

use super::Feed;
use super::bell::Bell;

/// Somebody who follows what all instances of an engine do, such as a tracker. It is told that there is
/// something, and reads [`Store::tail`] when it likes: how slow it is, and whether it reads at all, costs no
/// workflow anything.
pub trait Observer: Send + Sync + 'static {
    /// Called once, before the engine runs anything. It should not take long: the engine waits for it.
    ///
    /// # Errors
    /// An engine whose observer can't begin does not start.
    fn begin(&self, follow: Follow) -> BoxFuture<'_, Result<()>>;

    /// The engine was shut down: whatever it did is recorded. What this does has to end by itself, because the
    /// shutdown waits for it. May be called more than once.
    fn finish(&self) -> BoxFuture<'_, ()>;
}

/// The bells of observers. There is nothing to follow for the feed itself: a bell is all they need.
#[derive(Default)]
pub(super) struct Followers {
    count: AtomicUsize,
    bells: Mutex<Vec<Arc<Bell>>>,
    /// Whether the engine is gone. Apart from the bells, so that who waits for nothing else is not woken by them.
    gone: watch::Sender<bool>,
}

impl Followers {
    pub(super) fn ring(&self) {
        // Looked at after every batch of commits: without observers it is all there is.
        if self.count.load(Ordering::Relaxed) > 0 {
            self.bells.lock().iter().for_each(|bell| bell.recorded());
        }
    }

    pub(super) fn stop(&self) {
        self.gone.send_replace(true);
        self.ring();
    }

    fn enter(&self) -> Arc<Bell> {
        let bell = Arc::new(Bell::default());
        self.bells.lock().push(Arc::clone(&bell));
        self.count.fetch_add(1, Ordering::SeqCst);
        bell
    }

    fn leave(&self, bell: &Arc<Bell>) {
        self.bells.lock().retain(|other| !Arc::ptr_eq(other, bell));
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What an [`Observer`] follows an engine by. It does not keep the engine alive.
pub struct Follow {
    feed: Arc<Feed>,
    bell: Arc<Bell>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    sweep: Duration,
    head: i64,
}

impl Follow {
    /// Follows from where the history ends now.
    pub(crate) async fn new(inner: &Inner) -> Result<Self> {
        let feed = Arc::clone(&inner.env.feed);
        let head = inner.store.tail(i64::MAX, 0).await?.head;
        Ok(Self {
            bell: feed.followers.enter(),
            feed,
            store: Arc::clone(&inner.store),
            clock: Arc::clone(&inner.env.clock),
            sweep: inner.env.config.sweep_interval,
            head,
        })
    }

    /// The store of the engine.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The clock of the engine.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The last row of the history before the engine ran anything.
    #[must_use]
    pub fn head(&self) -> i64 {
        self.head
    }

    /// Until something may have been recorded since the last time; false once the engine is gone. It may
    /// be dropped and asked again.
    pub async fn news(&self) -> bool {
        while !*self.feed.followers.gone.borrow() {
            if self.bell.take_recorded() {
                return true;
            }
            tokio::select! {
                () = self.bell.rings() => {}
                // A hint may have been lost.
                () = self.clock.sleep_until(self.clock.now().after(self.sweep)) => return true,
            }
        }
        false
    }

    /// Until the engine is gone, whatever is recorded meanwhile.
    pub async fn gone(&self) {
        // The sender lives as long as the feed.
        let _ = self.feed.followers.gone.subscribe().wait_for(|gone| *gone).await;
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.feed.followers.leave(&self.bell);
    }
}
