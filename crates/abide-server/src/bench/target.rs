//! What a figure has to reach. Ratios, where the machine would decide otherwise.

use serde::Serialize;

use super::probe::{Kind, Probe};
use super::subscriber::Mix;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Target {
    /// What is compared.
    pub(crate) of: Compared,
    /// Which side is good.
    pub(crate) bound: Bound,
    /// With what.
    pub(crate) limit: f64,
}

/// What a target is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Compared {
    /// The figure itself.
    Value,
    /// Its ratio to a yardstick.
    Ratio,
}

/// Which side of the limit is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Bound {
    AtLeast,
    AtMost,
}

impl Target {
    /// The target of a figure, if it has one.
    pub(crate) fn of(probe: &Probe, figure: &str) -> Option<Self> {
        use Bound::{AtLeast, AtMost};
        use Compared::{Ratio, Value};
        let (of, bound, limit) = match (probe, figure) {
            // Five steps are six commits, with half as much again for everything else.
            (Probe::Steps { in_flight: 1, .. }, "latencyP50") => (Ratio, AtMost, 1.5 * 6.0),
            (Probe::Steps { in_flight: 64, .. }, "stepsPerSecond") => (Ratio, AtLeast, 0.15),
            (Probe::Steps { in_flight: 256, .. }, "stepsPerSecond") => (Ratio, AtLeast, 0.25),
            (Probe::Steps { in_flight: 1024, .. }, "stepsPerSecond") => (Ratio, AtLeast, 0.35),
            (Probe::Long { .. }, "growth") => (Value, AtMost, 1.3),
            (Probe::Flow { in_flight: 64, .. }, "ofRust") => (Value, AtLeast, 0.6),
            (Probe::Timers { .. }, "latenessP99") => (Value, AtMost, 5.0),
            (Probe::Parked { kind: Kind::Waits, .. }, "bytesEach") => (Value, AtMost, 400.0),
            (Probe::Parked { kind: Kind::Sleepers, .. }, "bytesEach") => (Value, AtMost, 40.0),
            (Probe::Parked { kind: Kind::Residents, .. }, "bytesEach") => (Value, AtMost, 4096.0),
            (Probe::Ready { .. }, "ready") => (Value, AtMost, 300.0),
            // An event is two commits: its arrival and the end. Twice that for everything else.
            (Probe::Events { in_flight: 1, .. }, "latencyP50") => (Ratio, AtMost, 4.0),
            (Probe::Events { in_flight: 64, .. }, "eventsPerSecond") => (Ratio, AtLeast, 0.04),
            (Probe::Among { .. }, "growth") => (Value, AtMost, 1.5),
            (Probe::Wake { .. }, "wakesPerSecond") => (Value, AtLeast, 10_000.0),
            (Probe::Wake { .. }, "peakRss") => (Value, AtMost, 300e6),
            (Probe::Deadlines { .. } | Probe::Fanout { .. }, "slowdown") => (Value, AtMost, 5.0),
            // Scanners have no target: what they cost is why filters should have an equality.
            (Probe::Index { mix: Mix::Keyed, .. }, "publishP50") => (Value, AtMost, 5.0),
            (Probe::Index { mix: Mix::Keyed, .. }, "growth") => (Value, AtMost, 3.0),
            (Probe::Index { .. }, "registration") => (Value, AtMost, 10.0),
            (Probe::Index { mix: Mix::Keyed, .. }, "bytesEach") => (Value, AtMost, 300.0),
            (Probe::Parked { kind: Kind::Subscribers, .. }, "bytesEach") => (Value, AtMost, 300.0),
            (Probe::Http { .. }, "ofEmbedded") => (Value, AtLeast, 0.4),
            (Probe::Delay { .. }, "delayP99") => (Value, AtMost, 20.0),
            (Probe::Readers { .. }, "bytesEach") => (Value, AtMost, 20.0 * 1024.0),
            (Probe::Readers { .. }, "idleRss") => (Value, AtMost, 30e6),
            (Probe::Readers { .. }, "ready") => (Value, AtMost, 300.0),
            (Probe::Tracker { .. }, "ofUntracked") => (Value, AtLeast, 0.95),
            _ => return None,
        };
        Some(Self { of, bound, limit })
    }

    pub(crate) fn is_met(&self, value: f64, ratio: Option<f64>) -> bool {
        let compared = match self.of {
            Compared::Value => value,
            Compared::Ratio => ratio.unwrap_or(f64::NAN),
        };
        // Nothing was measured: NaN meets no target.
        match self.bound {
            Bound::AtLeast => compared >= self.limit,
            Bound::AtMost => compared <= self.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_on_a_ratio_ignores_the_value() {
        let target = Target { of: Compared::Ratio, bound: Bound::AtLeast, limit: 0.25 };
        assert!(target.is_met(0.0, Some(0.25)));
        assert!(!target.is_met(1e9, Some(0.24)));
        assert!(!target.is_met(1e9, None));
    }

    #[test]
    fn nothing_measured_meets_no_target() {
        for bound in [Bound::AtLeast, Bound::AtMost] {
            let target = Target { of: Compared::Value, bound, limit: 1.0 };
            assert!(!target.is_met(f64::NAN, None));
        }
    }
}
