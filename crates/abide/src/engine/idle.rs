//! Parked instances that stay in memory for a while, and those that wait for something foreign.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::config::Config;
use crate::id::InstanceKey;
use crate::run::{News, Resident};
use crate::time::{Clock, Timestamp};

use super::Inner;

/// Room that is kept even when hardly anybody is parked.
const ROOM: usize = 4096;

/// See the module. First in, first out: the longest parked go first.
pub(crate) struct Idle {
    clock: Arc<dyn Clock>,
    keep: Duration,
    budget: usize,
    stuck_after: Duration,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    parked: VecDeque<Parked>,
    /// Bytes of what is parked.
    bytes: usize,
    stuck: VecDeque<Parked>,
}

struct Parked {
    key: InstanceKey,
    at: Timestamp,
    /// The rest it is about: an instance that moved on since has a later one.
    rest: u64,
    size: usize,
    resident: Weak<Resident>,
}

impl Idle {
    pub(crate) fn new(clock: Arc<dyn Clock>, config: &Config) -> Self {
        Self {
            clock,
            keep: config.residency_idle,
            budget: config.residency_budget,
            stuck_after: config.stuck_after,
            queues: Mutex::new(Queues::default()),
        }
    }

    /// An instance parked. One that nothing but time can wake, and not soon, gains nothing by
    /// staying and is let go; so are the longest parked when they are over budget.
    pub(crate) fn parked(
        &self,
        key: InstanceKey,
        resident: &Arc<Resident>,
        size: usize,
        sleeps_until: Option<Timestamp>,
    ) {
        let Some(rest) = resident.begin_rest() else { return };
        let at = self.clock.now();
        if sleeps_until.is_some_and(|until| until > at.after(self.keep)) {
            resident.tell(News::Evict);
            return;
        }
        let mut queues = self.queues.lock();
        queues.bytes += size;
        queues.parked.push_back(Parked { key, at, rest, size, resident: Arc::downgrade(resident) });
        while queues.bytes > self.budget
            && let Some(oldest) = queues.parked.pop_front()
        {
            queues.bytes -= oldest.size;
            evict(&oldest);
        }
    }

    /// An instance waits for something only its own code knows about.
    pub(crate) fn stuck(&self, key: InstanceKey, resident: &Arc<Resident>) {
        let Some(rest) = resident.begin_rest() else { return };
        let at = self.clock.now();
        let parked = Parked { key, at, rest, size: 0, resident: Arc::downgrade(resident) };
        self.queues.lock().stuck.push_back(parked);
    }

    /// Lets go of those that were parked long enough; answers when to look again.
    fn sweep(&self) -> Timestamp {
        let now = self.clock.now();
        let mut queues = self.queues.lock();
        while let Some(oldest) = queues.parked.front()
            && oldest.at.after(self.keep) <= now
            && let Some(oldest) = queues.parked.pop_front()
        {
            queues.bytes -= oldest.size;
            evict(&oldest);
        }
        // A queue keeps its room by itself; after a crowd has left it is not needed.
        if queues.parked.len() < queues.parked.capacity() / 4 {
            queues.parked.shrink_to(ROOM);
        }
        while let Some(oldest) = queues.stuck.front()
            && oldest.at.after(self.stuck_after) <= now
            && let Some(oldest) = queues.stuck.pop_front()
        {
            report_stuck(&oldest, self.stuck_after);
        }
        let parked = queues.parked.front().map(|parked| parked.at.after(self.keep));
        let stuck = queues.stuck.front().map(|stuck| stuck.at.after(self.stuck_after));
        // What parks from now on is due no sooner than this.
        let fresh = now.after(self.keep.min(self.stuck_after).max(Duration::from_millis(10)));
        parked.into_iter().chain(stuck).min().unwrap_or(fresh).min(fresh)
    }
}

fn evict(parked: &Parked) {
    if let Some(resident) = parked.resident.upgrade()
        && resident.is_resting(parked.rest)
    {
        resident.tell(News::Evict);
    }
}

fn report_stuck(stuck: &Parked, after: Duration) {
    if let Some(resident) = stuck.resident.upgrade()
        && resident.is_resting(stuck.rest)
    {
        tracing::warn!(
            instance = %resident.id, key = stuck.key.0, ?after,
            "the workflow waits for something that is not a Cx future; it can't be parked"
        );
        resident.tell(News::Stuck);
    }
}

pub(super) async fn serve(engine: Weak<Inner>) {
    loop {
        let next = {
            let Some(inner) = engine.upgrade() else { return };
            if inner.is_killed() {
                return;
            }
            let next = inner.idle.sweep();
            inner.env.clock.sleep_until(next)
        };
        next.await;
    }
}
