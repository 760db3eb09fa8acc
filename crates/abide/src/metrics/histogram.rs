//! How often something was how large.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Buckets, besides the last for whatever is larger.
const MOST: usize = 16;

/// From a tenth of a millisecond to a minute, in microseconds.
const TIMES: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 5_000_000, 15_000_000, 60_000_000,
];

const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/// Counts in fixed buckets. Anybody may add at any time.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    counts: [AtomicU64; MOST + 1],
    sum: AtomicU64,
}

impl Histogram {
    const fn new(bounds: &'static [u64]) -> Self {
        assert!(bounds.len() <= MOST, "there is a count for every bound");
        Self { bounds, counts: [const { AtomicU64::new(0) }; MOST + 1], sum: AtomicU64::new(0) }
    }

    /// Of times, in microseconds.
    #[must_use]
    pub const fn of_times() -> Self {
        Self::new(TIMES)
    }

    /// Of numbers of things.
    #[must_use]
    pub const fn of_sizes() -> Self {
        Self::new(SIZES)
    }

    /// Adds a size.
    pub fn add(&self, size: u64) {
        let place = self.bounds.partition_point(|bound| *bound < size);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(size, Ordering::Relaxed);
    }

    /// Adds a time.
    pub fn add_time(&self, took: Duration) {
        self.add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// What was added so far.
    #[must_use]
    pub fn read(&self) -> Distribution {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        Distribution {
            bounds: self.bounds,
            counts: counts.take(self.bounds.len() + 1).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// What a [`Histogram`] counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    bounds: &'static [u64],
    counts: Vec<u64>,
    /// All sizes together.
    pub sum: u64,
}

impl Distribution {
    /// How many were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many were not larger than each bound, the smallest first.
    pub fn up_to(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let running = self.counts.iter().scan(0, |all, count| {
            *all += count;
            Some(*all)
        });
        self.bounds.iter().copied().zip(running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_what_is_larger_than_all_is_only_counted() {
        let sizes = Histogram::of_sizes();
        for size in [0, 1, 2, 3, 4_096, 4_097] {
            sizes.add(size);
        }
        let read = sizes.read();
        let up_to: Vec<(u64, u64)> = read.up_to().collect();
        assert_eq!(up_to[..3], [(1, 2), (2, 3), (4, 4)]);
        assert_eq!(up_to.last(), Some(&(4_096, 5)));
        assert_eq!((read.count(), read.sum), (6, 8_199));
    }

    #[test]
    fn times_are_in_microseconds() {
        let times = Histogram::of_times();
        times.add_time(Duration::from_millis(2));
        assert_eq!(times.read().sum, 2_000);
        assert_eq!(times.read().up_to().find(|(_, count)| *count == 1), Some((2_500, 1)));
    }
}
