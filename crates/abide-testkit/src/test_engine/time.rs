//! Time that jumps to the next timer when nothing else is left to happen.
//!
//! Whether anything is left is read from the store. An instance that runs, or that an event or the
//! end of a child has set running, is `running` there; one whose timer has come is due there until
//! it has moved on. So when nobody is due and, after that, nobody runs, only time or the test itself
//! can make anything happen; and every change is a write, which is told.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use abide::store::{Due, Store};
use abide::{Clock, Filter, InstanceKey, Page, Status, Timestamp};
use tokio::sync::watch;

use super::Inner;
use crate::ManualClock;

/// Jumps after which a test that still waits waits for ever.
const MAX_JUMPS: u64 = 100_000;

/// Turns that everybody else gets before time moves: what the test awaits may look through other
/// tasks at what was written.
const TURNS: usize = 16;

/// The clock, and who may move it.
pub(super) struct VirtualTime {
    pub(super) clock: ManualClock,
    frozen: AtomicBool,
    /// How long, in real time, something may run without a single write before the test fails.
    patience: Duration,
    jumps: AtomicU64,
}

impl VirtualTime {
    pub(super) fn new(clock: ManualClock, frozen: bool, patience: Duration) -> Self {
        Self { clock, frozen: AtomicBool::new(frozen), patience, jumps: AtomicU64::new(0) }
    }

    pub(super) fn set_frozen(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::SeqCst);
    }

    fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::SeqCst)
    }
}

impl Inner {
    /// Awaits something, moving the clock when nothing else is left to happen.
    pub(super) async fn drive<T>(&self, what: &str, awaited: impl Future<Output = T>) -> T {
        tokio::select! {
            // First: what has come must be seen before time moves on.
            biased;
            awaited = awaited => awaited,
            never = self.pass_time(what) => match never {},
        }
    }

    /// Waits until something can be seen, looking after every write.
    pub(super) async fn until<T>(&self, what: &str, mut seen: impl AsyncFnMut() -> Option<T>) -> T {
        let looking = async {
            let mut changes = self.store.changes();
            loop {
                changes.mark_unchanged();
                if let Some(found) = seen().await {
                    return found;
                }
                // The store, which tells of changes, lives as long as this does.
                let _change = changes.changed().await;
            }
        };
        self.drive(what, looking).await
    }

    async fn pass_time(&self, what: &str) -> std::convert::Infallible {
        let before = self.time.jumps.load(Ordering::SeqCst);
        loop {
            self.settle().await;
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            // The test itself may have done something in one of those turns.
            if !self.is_settled().await {
                continue;
            }
            match self.next_due().await {
                Some(next) if !self.time.is_frozen() => self.time.clock.set(next),
                next => panic!("{}", self.stuck(what, next).await),
            }
            if self.time.jumps.fetch_add(1, Ordering::SeqCst) - before > MAX_JUMPS {
                panic!("{}", self.endless(what, MAX_JUMPS).await);
            }
        }
    }

    /// Until nothing runs. The clock stands still.
    pub(super) async fn settle(&self) {
        let mut changes = self.store.changes();
        loop {
            changes.mark_unchanged();
            if self.is_settled().await {
                return;
            }
            self.next_change(&mut changes).await;
        }
    }

    /// Moves time by hand, stopping at every moment at which something falls due.
    pub(super) async fn advance_to(&self, to: Timestamp) {
        loop {
            self.give_turns().await;
            let next = self.next_due().await.filter(|next| *next <= to);
            self.time.clock.set(next.unwrap_or(to));
            if next.is_none() {
                break;
            }
            self.until_not_due().await;
        }
        self.give_turns().await;
    }

    /// Lets everything happen that can, but does not wait for a step that just runs: when nothing
    /// was written for many turns, nothing but that is left.
    async fn give_turns(&self) {
        let mut changes = self.store.changes();
        let mut quiet_turns = 0;
        while quiet_turns < TURNS * TURNS && !self.is_settled().await {
            tokio::task::yield_now().await;
            let changed = changes.has_changed().unwrap_or(false);
            changes.mark_unchanged();
            quiet_turns = if changed { 0 } else { quiet_turns + 1 };
        }
    }

    /// Until whatever fell due by now has moved on.
    async fn until_not_due(&self) {
        let mut changes = self.store.changes();
        loop {
            changes.mark_unchanged();
            if !self.is_anybody_due().await {
                return;
            }
            self.next_change(&mut changes).await;
        }
    }

    /// Waits for the next write, within reason.
    async fn next_change(&self, changes: &mut watch::Receiver<u64>) {
        let patience = self.time.patience;
        if tokio::time::timeout(patience, changes.changed()).await.is_err() {
            panic!("{}", self.still_running(patience).await);
        }
    }

    async fn is_settled(&self) -> bool {
        // In this order: who is no longer due may be running by now.
        !self.is_anybody_due().await && !self.is_anybody_running().await
    }

    async fn is_anybody_due(&self) -> bool {
        let until = Timestamp(self.time.clock.now().0.saturating_add(1));
        let due = self.store.due(Due::FIRST, until, usize::MAX).await.unwrap();
        if due.is_empty() {
            return false;
        }
        // Nobody runs a paused one, so that its timer may have come long ago.
        let paused = Filter { status: vec![Status::Paused], ..Filter::default() };
        let all = Page { limit: usize::MAX, ..Page::default() };
        let paused = self.store.instances(paused, all).await.unwrap().instances;
        due.iter().any(|due| paused.iter().all(|paused| paused.key != due.key))
    }

    async fn is_anybody_running(&self) -> bool {
        let running = Filter { status: vec![Status::Running], ..Filter::default() };
        let first = Page { limit: 1, ..Page::default() };
        !self.store.instances(running, first).await.unwrap().instances.is_empty()
    }

    /// The next moment to come at which an instance wants to be woken.
    async fn next_due(&self) -> Option<Timestamp> {
        let now = Due { at: self.time.clock.now(), key: InstanceKey(i64::MAX) };
        let due = self.store.due(now, Timestamp::MAX, 1).await.unwrap();
        due.first().map(|due| due.at)
    }
}
