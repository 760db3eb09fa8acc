//! Percentiles by exact sorting: a histogram would round exactly where the targets are.

use std::time::Duration;

/// Values of one kind, sorted.
#[derive(Debug)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Self(sorted)
    }

    pub(crate) fn of_ms(durations: impl IntoIterator<Item = Duration>) -> Self {
        Self::new(durations.into_iter().map(|took| took.as_secs_f64() * 1000.0))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest value that at least `percent` of all values do not exceed (nearest rank).
    /// NaN when there are none.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or(f64::NAN)
    }

    /// The middle value, or the mean of the two middle ones.
    pub(crate) fn median(&self) -> f64 {
        let half = self.0.len() / 2;
        match (self.0.len() % 2, self.0.get(half)) {
            (_, None) => f64::NAN,
            (1, Some(middle)) => *middle,
            (_, Some(upper)) => f64::midpoint(self.0[half - 1], *upper),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let samples = Samples::new((1..=100).rev().map(f64::from));
        assert_eq!(samples.percentile(50).to_bits(), 50_f64.to_bits());
        assert_eq!(samples.percentile(99).to_bits(), 99_f64.to_bits());
        assert_eq!(samples.percentile(100).to_bits(), 100_f64.to_bits());
        assert_eq!(Samples::new([7.0]).percentile(99).to_bits(), 7_f64.to_bits());
    }

    #[test]
    fn a_rare_outlier_is_seen_by_p99_only_when_it_is_one_in_a_hundred() {
        let with = |outliers: usize| {
            let calm = std::iter::repeat_n(1.0, 200 - outliers);
            Samples::new(calm.chain(std::iter::repeat_n(9.0, outliers))).percentile(99)
        };
        assert!(with(2) < 2.0);
        assert!(with(3) > 8.0);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(Samples::new([4.0, 1.0, 3.0, 2.0]).median().to_bits(), 2.5_f64.to_bits());
        assert_eq!(Samples::new([3.0, 1.0, 2.0]).median().to_bits(), 2_f64.to_bits());
        assert!(Samples::new([]).median().is_nan());
    }
}
