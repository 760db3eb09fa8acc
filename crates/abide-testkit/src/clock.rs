//! Time that moves only when a test moves it.
//!
//! A sleeper counts as pending from the moment it was asked for, polled or not, so that
//! [`ManualClock::next_wakeup`] never misses one that is about to be awaited.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use abide::{Clock, Timestamp};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

/// A clock in the hands of the test. Clones share the time and the random numbers.
#[derive(Clone, Debug)]
pub struct ManualClock {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    now: Timestamp,
    random: fastrand::Rng,
    /// By moment, then by order of asking; the waker comes with the first poll.
    sleepers: BTreeMap<(Timestamp, u64), Option<Waker>>,
    last_sleeper: u64,
}

impl ManualClock {
    /// A clock that stands at a moment.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        let random = fastrand::Rng::with_seed(0);
        let shared = Shared { now, random, sleepers: BTreeMap::new(), last_sleeper: 0 };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Begins the random numbers anew from a seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.shared.lock().random = fastrand::Rng::with_seed(seed);
        self
    }

    /// Moves time forward and wakes whoever slept until then.
    pub fn advance(&self, by: Duration) {
        let to = self.now().after(by);
        self.set(to);
    }

    /// Moves time to a moment and wakes whoever slept until then. A moment in the past is ignored,
    /// because a clock never goes backwards.
    pub fn set(&self, to: Timestamp) {
        let mut shared = self.shared.lock();
        shared.now = shared.now.max(to);
        let first_later = (Timestamp(shared.now.0.saturating_add(1)), 0);
        let later = shared.sleepers.split_off(&first_later);
        let reached = std::mem::replace(&mut shared.sleepers, later);
        // A woken task may ask for the time at once.
        drop(shared);
        reached.into_values().flatten().for_each(Waker::wake);
    }

    /// The earliest moment somebody sleeps until.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        self.shared.lock().sleepers.keys().next().map(|(at, _)| *at)
    }

    /// Moves time to the earliest moment somebody sleeps until; false when nobody sleeps.
    pub fn advance_to_next(&self) -> bool {
        let next = self.next_wakeup();
        next.into_iter().for_each(|at| self.set(at));
        next.is_some()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.shared.lock().now
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let mut shared = self.shared.lock();
        shared.last_sleeper += 1;
        let place = (at, shared.last_sleeper);
        if at > shared.now {
            shared.sleepers.insert(place, None);
        }
        Box::pin(Sleep { clock: self.clone(), place })
    }

    fn random(&self) -> u64 {
        self.shared.lock().random.u64(..)
    }
}

struct Sleep {
    clock: ManualClock,
    place: (Timestamp, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.clock.shared.lock();
        if shared.now >= self.place.0 {
            return Poll::Ready(());
        }
        shared.sleepers.insert(self.place, Some(cx.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.shared.lock().sleepers.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp(ms)
    }

    #[test]
    fn a_sleep_completes_when_its_time_is_reached_and_not_before() {
        let clock = ManualClock::at(at(100));
        let mut sleep = clock.sleep_until(at(150));
        clock.advance(Duration::from_millis(49));
        assert_eq!((&mut sleep).now_or_never(), None);
        clock.advance(Duration::from_millis(1));
        assert_eq!(sleep.now_or_never(), Some(()));
    }

    #[tokio::test]
    async fn a_sleeping_task_is_woken_by_moving_the_clock() {
        let clock = ManualClock::at(at(0));
        let sleeper = tokio::spawn(clock.sleep_until(at(5)));
        tokio::task::yield_now().await;
        assert!(clock.advance_to_next());
        sleeper.await.unwrap();
        assert_eq!(clock.now(), at(5));
    }

    #[test]
    fn the_next_wakeup_is_the_earliest_and_forgets_who_gave_up() {
        let clock = ManualClock::at(at(0));
        let (late, early) = (clock.sleep_until(at(9)), clock.sleep_until(at(3)));
        assert_eq!(clock.next_wakeup(), Some(at(3)));
        drop(early);
        assert_eq!(clock.next_wakeup(), Some(at(9)));
        assert!(clock.advance_to_next());
        assert_eq!((clock.now(), clock.next_wakeup()), (at(9), None));
        assert!(!clock.advance_to_next());
        drop(late);
    }

    #[test]
    fn a_moment_already_reached_is_no_sleep() {
        let clock = ManualClock::at(at(7));
        let sleep = clock.sleep_until(at(7));
        assert_eq!(clock.next_wakeup(), None);
        assert_eq!(sleep.now_or_never(), Some(()));
    }

    #[test]
    fn time_never_goes_backwards() {
        let clock = ManualClock::at(at(7));
        clock.set(at(3));
        assert_eq!(clock.now(), at(7));
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let clock = ManualClock::at(at(0)).with_seed(seed);
            [clock.random(), clock.random()]
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }
}
