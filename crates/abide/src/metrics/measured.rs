//! What an engine measures while it runs.

use super::Histogram;

/// How late things came, in microseconds.
pub(crate) struct Measured {
    pub(crate) timer_lateness: Histogram,
    pub(crate) event_wakes: Histogram,
    pub(crate) timer_wakes: Histogram,
    pub(crate) retry_wakes: Histogram,
}

impl Default for Measured {
    fn default() -> Self {
        Self {
            timer_lateness: Histogram::of_times(),
            event_wakes: Histogram::of_times(),
            timer_wakes: Histogram::of_times(),
            retry_wakes: Histogram::of_times(),
        }
    }
}
