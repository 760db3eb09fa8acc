//! Windows of triggers: several events that start one instance, or not all at once. Pure: stores call
//! it while they hold the window.
//!
//! What has to wait is a queued instance; until it begins, later events may join it. So a window needs
//! no machinery of its own to survive a crash, and can be seen and terminated as any instance.

use std::sync::Arc;
use std::time::Duration;

use crate::time::Timestamp;

/// The window that an event falls into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windowing {
    /// Events of one trigger with different keys don't know of each other.
    pub key: Arc<str>,
    /// What holds for those with the same.
    pub rule: WindowRule,
}

/// How events with one key hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// Only the last of a burst starts an instance, once it has been quiet for so long.
    Debounce {
        /// For so long.
        period: Duration,
        /// But no later than so long after the first of them.
        max_wait: Option<Duration>,
    },
    /// At most so many start in a period; the others wait for the next.
    Throttle {
        /// So many.
        limit: u32,
        /// In so long.
        period: Duration,
    },
    /// So many together start one instance, with the array of their inputs; or as many as came in a
    /// period.
    Batch {
        /// So many.
        max_size: u32,
        /// Within so long after the first.
        period: Duration,
    },
}

impl WindowRule {
    /// Whether the input of an instance is an array, of which each event brings one item.
    #[must_use]
    pub fn collects(&self) -> bool {
        matches!(self, Self::Batch { .. })
    }
}

/// What is kept of a window between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When the first of those came that are still counted.
    pub opened_at: Timestamp,
    /// How many came since.
    pub count: u32,
}

/// Where an event falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Whether it joins the instance of the window, and starts none.
    pub joins: bool,
    /// When the instance begins; `None` at once.
    pub begins_at: Option<Timestamp>,
    /// What to keep of the window.
    pub window: Window,
}

/// Places an event that came `now`. `is_open` says whether the instance of the window still waits
/// to begin.
#[must_use]
pub fn place(rule: &WindowRule, window: Option<Window>, is_open: bool, now: Timestamp) -> Placed {
    let open = window.filter(|_| is_open);
    let first = Window { opened_at: now, count: 1 };
    let next = |window: Window| Window { count: window.count.saturating_add(1), ..window };
    match *rule {
        WindowRule::Debounce { period, max_wait } => {
            let kept = open.map_or(first, next);
            let latest = max_wait.map(|most| kept.opened_at.after(most));
            let quiet = now.after(period);
            let at = latest.map_or(quiet, |latest| quiet.min(latest));
            Placed { joins: open.is_some(), begins_at: Some(at), window: kept }
        }
        WindowRule::Batch { max_size, period } => {
            let open = open.filter(|open| open.count < max_size);
            let kept = open.map_or(first, next);
            let is_full = kept.count >= max_size;
            let at = if is_full { now } else { kept.opened_at.after(period) };
            Placed { joins: open.is_some(), begins_at: Some(at), window: kept }
        }
        WindowRule::Throttle { limit, period } => throttle(limit.max(1), period, window, now),
    }
}

/// The nth of a window begins in its nth-by-limit period. A window whose periods are all over is
/// forgotten.
fn throttle(limit: u32, period: Duration, window: Option<Window>, now: Timestamp) -> Placed {
    let begins =
        |opened_at: Timestamp, periods: u32| opened_at.after(period.saturating_mul(periods));
    let current = window.filter(|w| now < begins(w.opened_at, w.count.div_ceil(limit)));
    let Some(window) = current else {
        let window = Window { opened_at: now, count: 1 };
        return Placed { joins: false, begins_at: None, window };
    };
    let at = begins(window.opened_at, window.count / limit);
    Placed {
        joins: false,
        begins_at: (at > now).then_some(at),
        window: Window { count: window.count.saturating_add(1), ..window },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(10);

    fn at(ms: i64) -> Timestamp {
        Timestamp(ms)
    }

    /// Places events at these moments; answers with when each begins and whether it joined.
    fn run(rule: WindowRule, moments: &[i64]) -> Vec<(i64, bool)> {
        let (mut window, mut begins) = (None, None::<Timestamp>);
        let place_next = |now: &i64| {
            let is_open = begins.is_some_and(|begins| begins > at(*now));
            let placed = place(&rule, window, is_open, at(*now));
            window = Some(placed.window);
            begins = placed.begins_at;
            (placed.begins_at.unwrap_or(at(*now)).0, placed.joins)
        };
        moments.iter().map(place_next).collect()
    }

    #[test]
    fn a_burst_is_debounced_to_its_last() {
        let rule = WindowRule::Debounce { period: PERIOD, max_wait: None };
        assert_eq!(run(rule, &[0, 5, 12, 30]), [(10, false), (15, true), (22, true), (40, false)]);
    }

    #[test]
    fn a_debounce_does_not_wait_for_ever() {
        let max_wait = Some(Duration::from_millis(15));
        let rule = WindowRule::Debounce { period: PERIOD, max_wait };
        assert_eq!(run(rule, &[0, 8, 14, 16]), [(10, false), (15, true), (15, true), (26, false)]);
    }

    #[test]
    fn a_batch_begins_when_it_is_full_or_its_time_is_over() {
        let rule = WindowRule::Batch { max_size: 3, period: PERIOD };
        let expect = [(10, false), (10, true), (2, true), (13, false), (30, false)];
        assert_eq!(run(rule, &[0, 1, 2, 3, 20]), expect);
    }

    #[test]
    fn a_throttle_gives_each_its_period() {
        let rule = WindowRule::Throttle { limit: 2, period: PERIOD };
        let begins: Vec<i64> =
            run(rule, &[0, 1, 2, 3, 4, 25, 26, 60]).into_iter().map(|(at, _)| at).collect();
        assert_eq!(begins, [0, 1, 10, 10, 20, 25, 30, 60]);
    }
}
