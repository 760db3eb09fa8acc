//! How long work on this thread takes, by the clock and by the time that it had a processor.

use std::time::{Duration, Instant};

/// The kernel counts in ticks: less than a few of these by its count means nothing.
const COARSE: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stopwatch {
    clock: Duration,
    busy: Duration,
}

impl Stopwatch {
    /// Adds how long this takes.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (clock, before) = (Instant::now(), busy());
        let done = work();
        self.busy += busy().saturating_sub(before);
        self.clock += clock.elapsed();
        done
    }

    /// On a machine that is not idle the clock says more about others.
    pub(crate) fn total(self) -> Duration {
        if self.busy < COARSE { self.clock } else { self.busy }
    }
}

/// Zero where there is no `/proc`.
fn busy() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_told_by_the_clock_and_much_by_the_processor() {
        let (clock, busy) = (Duration::from_millis(60), Duration::from_millis(50));
        assert_eq!(Stopwatch { clock, busy }.total(), clock);
        assert_eq!(Stopwatch { clock: clock * 10, busy: busy * 10 }.total(), busy * 10);
    }
}
