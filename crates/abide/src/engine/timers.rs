//! Wake-ups: the near ones in memory, the rest only in the store.

use std::collections::BTreeSet;
use std::sync::Weak;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::id::InstanceKey;
use crate::store::Due;
use crate::time::Timestamp;

use super::Inner;

/// Wake-ups read from the store at once: bounds memory when very many are due together.
const PAGE: usize = 4096;

/// Instances decided about in one transaction: what bounds how long the steps of others wait when very
/// many fall due together.
const DECIDED_AT_ONCE: usize = 8;

/// See the module. Waking an instance too early or twice is harmless: it looks at the time itself.
pub(crate) struct Timers {
    near: Mutex<Near>,
    horizon: Duration,
    /// `sweep.interval`: how often everything is read anew, because a hint may have been lost.
    sweep: Duration,
    changed: Notify,
}

struct Near {
    due: BTreeSet<Due>,
    /// Everything the store has up to here is in `due` or was woken.
    read_to: Due,
    /// Up to here the store is being read: what is written meanwhile may be missing in the answer,
    /// so whoever writes it schedules it.
    reading_to: Due,
    /// When to read from the beginning again.
    sweep_at: Timestamp,
    stopped: bool,
}

impl Timers {
    pub(crate) fn new(horizon: Duration, sweep: Duration) -> Self {
        let (read_to, reading_to) = (Due::FIRST, Due::FIRST);
        let sweep_at = Timestamp(i64::MIN);
        let near = Near { due: BTreeSet::new(), read_to, reading_to, sweep_at, stopped: false };
        Self { near: Mutex::new(near), horizon, sweep, changed: Notify::new() }
    }

    /// Has an instance woken at a moment. One that is parked is also in the store, and need not be
    /// in memory before its time comes near.
    pub(crate) fn schedule(&self, at: Timestamp, key: InstanceKey, only_here: bool) {
        let mut near = self.near.lock();
        let due = Due { at, key };
        if !only_here && due > near.reading_to {
            return;
        }
        near.due.insert(due);
        if near.due.first() == Some(&due) {
            drop(near);
            self.changed.notify_one();
        }
    }

    pub(crate) fn stop(&self) {
        self.near.lock().stopped = true;
        self.changed.notify_one();
    }

    /// How many are in memory.
    pub(crate) fn count(&self) -> usize {
        self.near.lock().due.len()
    }

    fn take_due(&self, now: Timestamp) -> Vec<Due> {
        let mut near = self.near.lock();
        let later =
            near.due.split_off(&Due { at: Timestamp(now.0 + 1), key: InstanceKey(i64::MIN) });
        std::mem::replace(&mut near.due, later).into_iter().collect()
    }

    /// Begins to read up to a moment; answers where the last read ended, or with the beginning when
    /// it is time to look for what a lost hint left out.
    fn read_on(&self, now: Timestamp, until: Timestamp) -> Due {
        let mut near = self.near.lock();
        if now >= near.sweep_at {
            near.sweep_at = now.after(self.sweep);
            near.read_to = Due::FIRST;
        }
        near.reading_to = Due { at: until, key: InstanceKey(i64::MIN) }.max(near.read_to);
        near.read_to
    }

    /// Takes in a page of the store; true when there may be more before `until`.
    fn add(&self, page: &[Due], until: Timestamp) -> bool {
        let mut near = self.near.lock();
        near.due.extend(page);
        let full = page.len() == PAGE;
        near.read_to = match page.last() {
            Some(last) if full => *last,
            // Rows before `until` that come later are scheduled by whoever writes them.
            _ => Due { at: until, key: InstanceKey(i64::MIN) },
        };
        full
    }
}

/// Wakes instances when they are due, and reads ahead in the store.
pub(super) async fn serve(engine: Weak<Inner>) {
    let mut read_ahead_at = Timestamp(i64::MIN);
    loop {
        let Some(inner) = engine.upgrade() else { return };
        if inner.timers.near.lock().stopped {
            return;
        }
        let now = inner.env.clock.now();
        let due = inner.timers.take_due(now);
        for due in due.chunks(DECIDED_AT_ONCE) {
            fall_due(&inner, due, now).await;
        }
        if now >= read_ahead_at {
            read_ahead_at = now.after(read_ahead(&inner, now).await);
        }
        let next = inner.timers.near.lock().due.first().map(|due| due.at);
        let until = next.unwrap_or(read_ahead_at).min(read_ahead_at);
        let clock = std::sync::Arc::clone(&inner.env.clock);
        tokio::select! {
            () = inner.timers.changed.notified() => {}
            () = clock.sleep_until(until) => {}
        }
    }
}

/// Has the store decide what fell due at these instances, then looks at each of them.
async fn fall_due(inner: &Inner, due: &[Due], now: Timestamp) {
    let keys: Vec<InstanceKey> = due.iter().map(|due| due.key).collect();
    if let Err(error) = inner.store.fall_due(keys.clone()).await {
        tracing::warn!(%error, "what fell due could not be decided, trying again");
        for key in keys {
            inner.timers.schedule(now.after(Duration::from_secs(1)), key, true);
        }
        return;
    }
    let decided_at = inner.env.clock.now();
    for due in due {
        inner.env.measured.timer_lateness.add_time(decided_at.since(due.at));
        inner.wake(due.key);
    }
}

/// Reads what falls due within the horizon, a page at a time; answers when to read again.
async fn read_ahead(inner: &Inner, now: Timestamp) -> Duration {
    let until = now.after(inner.timers.horizon);
    match inner.store.due(inner.timers.read_on(now, until), until, PAGE).await {
        Ok(page) if inner.timers.add(&page, until) => Duration::ZERO,
        Ok(_) => (inner.timers.horizon / 2).min(inner.timers.sweep),
        Err(error) => {
            tracing::warn!(%error, "timers could not be read, trying again");
            Duration::from_secs(1).min(inner.timers.horizon / 2)
        }
    }
}
