//! A reading held against the yardsticks and its target.

use serde::Serialize;

use super::probe::Probe;
use super::reading::{Reading, Unit};
use super::samples::Samples;
use super::target::{Bound, Compared, Target};
use super::yardstick::Yardsticks;

/// See the module.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<Against>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Judged>,
}

/// A figure as a multiple of a yardstick.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Against {
    pub(crate) ratio: f64,
    pub(crate) ratio_of: &'static str,
}

/// A target and whether it was met.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Judged {
    #[serde(flatten)]
    pub(crate) target: Target,
    pub(crate) met: bool,
}

impl Figure {
    pub(crate) fn new(reading: Reading, probe: &Probe, yardsticks: &Yardsticks) -> Self {
        let Reading { name, value, unit } = reading;
        let against = |ratio, ratio_of| Some(Against { ratio, ratio_of });
        let against = match unit {
            Unit::PerSecond => against(value / yardsticks.rows_per_second, "rowsPerSecond"),
            Unit::CommitsPerSecond => {
                against(value * yardsticks.commit_p50_ms / 1000.0, "commitsPerSecond")
            }
            Unit::Ms => against(value / yardsticks.commit_p50_ms, "commitP50Ms"),
            Unit::Micros | Unit::CpuMicros | Unit::Bytes | Unit::Number => None,
        };
        let target = Target::of(probe, &name).map(|target| Judged { target, met: false });
        Self { name, value, unit, against, target }.judged()
    }

    /// The median of the same figure of several repetitions. Ratios are those of each repetition
    /// to its own yardsticks, so that a machine that slows down slows both.
    pub(crate) fn median(repeated: &[&Self]) -> Option<Self> {
        let mut median = (*repeated.first()?).clone();
        median.value = Samples::new(repeated.iter().map(|figure| figure.value)).median();
        if let Some(against) = &mut median.against {
            let ratios = repeated.iter().filter_map(|figure| figure.against.map(|a| a.ratio));
            against.ratio = Samples::new(ratios).median();
        }
        Some(median.judged())
    }

    fn judged(mut self) -> Self {
        let ratio = self.against.map(|against| against.ratio);
        if let Some(judged) = &mut self.target {
            judged.met = judged.target.is_met(self.value, ratio);
        }
        self
    }

    /// The value for people.
    pub(crate) fn shown(&self) -> String {
        match self.unit {
            Unit::PerSecond | Unit::CommitsPerSecond => {
                format!("{} /s", thousands(self.value))
            }
            Unit::Ms => format!("{:.2} ms", self.value),
            Unit::Micros => format!("{:.2} µs", self.value),
            Unit::CpuMicros => format!("{:.1} µs", self.value),
            Unit::Bytes if self.value >= 1e6 => {
                format!("{:.1} MiB", self.value / 1024.0 / 1024.0)
            }
            Unit::Bytes => format!("{} B", thousands(self.value)),
            Unit::Number => format!("{:.2}", self.value),
        }
    }

    /// The ratio for people.
    pub(crate) fn shown_ratio(&self) -> String {
        let Some(Against { ratio, ratio_of }) = self.against else { return String::new() };
        match ratio_of {
            "rowsPerSecond" => format!("{:.1} % of rows/s", ratio * 100.0),
            "commitsPerSecond" => format!("{:.1} % of commits/s", ratio * 100.0),
            _ => format!("{ratio:.1} × commit"),
        }
    }

    /// The target for people.
    pub(crate) fn shown_target(&self) -> String {
        let Some(Judged { target, .. }) = self.target else { return String::new() };
        let sign = match target.bound {
            Bound::AtLeast => "≥",
            Bound::AtMost => "≤",
        };
        let limit = target.limit;
        match (target.of, self.unit) {
            (Compared::Ratio, Unit::Ms) => format!("{sign} {limit} × commit"),
            (Compared::Ratio, _) => format!("{sign} {:.0} %", limit * 100.0),
            (Compared::Value, Unit::Ms) => format!("{sign} {limit} ms"),
            (Compared::Value, Unit::Micros) => format!("{sign} {limit} µs"),
            (Compared::Value, Unit::Bytes) if limit >= 1e6 => {
                format!("{sign} {:.0} MB", limit / 1e6)
            }
            (Compared::Value, Unit::Bytes) => format!("{sign} {limit} B"),
            (Compared::Value, Unit::PerSecond) => format!("{sign} {} /s", thousands(limit)),
            (Compared::Value, _) => format!("{sign} {limit}"),
        }
    }

    /// Whether the target was met, for people.
    pub(crate) fn shown_mark(&self) -> &'static str {
        match self.target {
            None => "",
            Some(Judged { met: true, .. }) => "ok",
            Some(Judged { met: false, .. }) => "MISS",
        }
    }
}

/// `12 345`, rounded.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digit.is_ascii_digit() {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::probe::Extent;

    const YARDSTICKS: Yardsticks = Yardsticks { commit_p50_ms: 0.5, rows_per_second: 100_000.0 };

    fn steps(per_second: f64) -> Figure {
        let extent = Extent::Instances { warm_up: 0, measured: 1 };
        let probe = Probe::Steps { in_flight: 256, extent };
        Figure::new(
            Reading::new("stepsPerSecond", per_second, Unit::PerSecond),
            &probe,
            &YARDSTICKS,
        )
    }

    #[test]
    fn a_figure_is_held_against_its_yardstick_and_target() {
        let figure = steps(24_000.0);
        assert_eq!(figure.shown(), "24 000 /s");
        assert_eq!(figure.shown_ratio(), "24.0 % of rows/s");
        assert_eq!((figure.shown_target().as_str(), figure.shown_mark()), ("≥ 25 %", "MISS"));
        assert_eq!(steps(25_000.0).shown_mark(), "ok");
    }

    #[test]
    fn large_targets_are_shown_in_large_units() {
        let target = |name, unit| {
            let probe = Probe::Wake { count: 1 };
            Figure::new(Reading::new(name, 299e6, unit), &probe, &YARDSTICKS).shown_target()
        };
        assert_eq!(target("peakRss", Unit::Bytes), "≤ 300 MB");
        assert_eq!(target("wakesPerSecond", Unit::PerSecond), "≥ 10 000 /s");
    }

    #[test]
    fn the_median_is_judged_anew() {
        let each = [steps(10_000.0), steps(30_000.0), steps(26_000.0)];
        let median = Figure::median(&each.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((median.shown().as_str(), median.shown_mark()), ("26 000 /s", "ok"));
    }

    #[test]
    fn digits_are_grouped_from_the_right() {
        assert_eq!(thousands(7.2), "7");
        assert_eq!(thousands(1_234_567.0), "1 234 567");
    }
}
