//! How often and when a failed step is tried again.

use std::time::Duration;

use crate::duration::{DurationError, IntoDuration};
use crate::error::{Error, Result};

/// How the delay grows from one failed attempt to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    /// Always the same.
    Constant,
    /// Once, twice, three times the delay.
    Linear,
    /// Doubled each time.
    Exponential,
}

/// The longest delay that a policy makes by itself.
const LONGEST: Duration = Duration::from_secs(60);

/// The longest delay that a failure may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(5 * 60);

/// A retry policy. `Retry::default()` tries 3 times in all, 1 s and 2 s apart, with ±10 % jitter.
///
/// A failure may ask for more: with `retryAfterMs` in its details ([`crate::Failure::with_details`]), as those of
/// HTTP calls that were answered with `Retry-After`, the next try comes no sooner, up to [`Retry::max_delay`] or 5 minutes.
#[derive(Clone, Debug)]
pub struct Retry {
    /// All tries, the first included.
    max_attempts: u32,
    delay: Duration,
    /// Unset until chosen: a delay given alone is constant, the default grows.
    backoff: Option<Backoff>,
    /// Unset until chosen: what a failure asks for may be longer than what a policy makes.
    max_delay: Option<Duration>,
    jitter: bool,
    max_duration: Option<Duration>,
    pause_when_exhausted: bool,
    /// The first unreadable duration; reported when the step is awaited.
    invalid: Option<DurationError>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            delay: Duration::from_secs(1),
            backoff: Some(Backoff::Exponential),
            max_delay: None,
            jitter: true,
            max_duration: None,
            pause_when_exhausted: false,
            invalid: None,
        }
    }
}

impl Retry {
    /// At most so many tries in all. A step that may be tried once only is also not run again
    /// after a crash: it runs at most once.
    #[must_use]
    pub fn times(max_attempts: u32) -> Self {
        Self { max_attempts: max_attempts.max(1), ..Self::default() }
    }

    /// Runs at most once, whatever happens.
    #[must_use]
    pub fn never() -> Self {
        Self::times(1)
    }

    /// The delay after the first failure; constant unless [`Retry::backoff`] says otherwise.
    #[must_use]
    pub fn delay(mut self, delay: impl IntoDuration) -> Self {
        if let Some(delay) = self.read(delay) {
            self.delay = delay;
            self.backoff = None;
        }
        self
    }

    /// How the delay grows.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }

    /// No delay is longer than this; 60 s unless said otherwise.
    #[must_use]
    pub fn max_delay(mut self, max_delay: impl IntoDuration) -> Self {
        if let Some(max_delay) = self.read(max_delay) {
            self.max_delay = Some(max_delay);
        }
        self
    }

    /// No attempt begins later than this after the first one.
    #[must_use]
    pub fn max_duration(mut self, max_duration: impl IntoDuration) -> Self {
        self.max_duration = self.read(max_duration);
        self
    }

    /// Keeps the delays exact.
    #[must_use]
    pub fn no_jitter(mut self) -> Self {
        self.jitter = false;
        self
    }

    /// Pauses the instance instead of failing the step, so that an operator can mend what is
    /// broken and resume; the step then begins a new round of attempts.
    #[must_use]
    pub fn pause_when_exhausted(mut self) -> Self {
        self.pause_when_exhausted = true;
        self
    }

    fn read(&mut self, duration: impl IntoDuration) -> Option<Duration> {
        duration.into_duration().map_err(|refused| self.invalid.get_or_insert(refused).clone()).ok()
    }

    pub(crate) fn check(&self) -> Result<()> {
        match &self.invalid {
            None => Ok(()),
            Some(refused) => {
                Err(Error::Invalid { what: "retry".into(), message: refused.to_string() })
            }
        }
    }

    pub(crate) fn runs_at_most_once(&self) -> bool {
        self.max_attempts == 1
    }

    pub(crate) fn pauses_when_exhausted(&self) -> bool {
        self.pause_when_exhausted
    }

    /// How long to wait after the `failed`th failure, which may have `asked` for a time, or `None` when
    /// no attempt is left.
    pub(crate) fn next(
        &self,
        failed: u32,
        elapsed: Duration,
        asked: Option<Duration>,
        random: u64,
    ) -> Option<Duration> {
        if failed >= self.max_attempts {
            return None;
        }
        let factor = match self.backoff.unwrap_or(Backoff::Constant) {
            Backoff::Constant => 1,
            Backoff::Linear => failed,
            Backoff::Exponential => 2_u32.saturating_pow(failed.saturating_sub(1)),
        };
        let longest = self.max_delay.unwrap_or(LONGEST);
        let mut delay = self.delay.saturating_mul(factor).min(longest);
        if self.jitter {
            // ±10 %: a random 0..=200 per mille on top of 900.
            delay = delay * u32::try_from(900 + random % 201).unwrap_or(1000) / 1000;
            delay = delay.min(longest);
        }
        if let Some(asked) = asked {
            delay = delay.max(asked.min(self.max_delay.unwrap_or(LONGEST_ASKED)));
        }
        let too_late = self.max_duration.is_some_and(|max| elapsed + delay > max);
        (!too_late).then_some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(retry: &Retry) -> Vec<u128> {
        let retry = retry.clone().no_jitter();
        (1..).map_while(|n| retry.next(n, Duration::ZERO, None, 0)).map(|d| d.as_millis()).collect()
    }

    #[test]
    fn the_default_tries_three_times_doubling() {
        assert_eq!(delays(&Retry::default()), [1000, 2000]);
    }

    #[test]
    fn a_delay_alone_is_constant_and_max_delay_caps() {
        assert_eq!(delays(&Retry::times(4).delay("2s")), [2000, 2000, 2000]);
        let linear = Retry::times(4).delay("2s").backoff(Backoff::Linear);
        assert_eq!(delays(&linear.max_delay("5s")), [2000, 4000, 5000]);
    }

    #[test]
    fn max_duration_ends_it_early() {
        let retry = Retry::times(10).delay("1s").max_duration("3s").no_jitter();
        assert!(retry.next(1, Duration::from_secs(2), None, 0).is_some());
        assert!(retry.next(1, Duration::from_millis(2001), None, 0).is_none());
    }

    #[test]
    fn a_failure_may_ask_for_more_but_not_for_anything() {
        let retry = Retry::times(3).delay("10s").no_jitter();
        let after = |retry: &Retry, asked| {
            retry.next(1, Duration::ZERO, Some(Duration::from_secs(asked)), 0).map(|d| d.as_secs())
        };
        assert_eq!(after(&retry, 2), Some(10));
        assert_eq!(after(&retry, 120), Some(120));
        assert_eq!(after(&retry, 86_400), Some(300));
        assert_eq!(after(&retry.clone().max_delay("20s"), 120), Some(20));
        assert_eq!(after(&retry.max_duration("1m"), 120), None);
    }

    #[test]
    fn jitter_lifts_no_delay_over_the_longest() {
        let retry = Retry::times(2).delay("1s").max_delay("1s");
        let longest =
            (0..500).filter_map(|random| retry.next(1, Duration::ZERO, None, random)).max();
        assert_eq!(longest, Some(Duration::from_secs(1)));
    }

    #[test]
    fn jitter_stays_within_ten_percent() {
        let retry = Retry::times(2).delay("1s");
        for random in 0..500 {
            let delay = retry.next(1, Duration::ZERO, None, random).unwrap().as_millis();
            assert!((900..=1100).contains(&delay), "{delay}");
        }
    }

    #[test]
    fn an_unreadable_delay_is_reported() {
        assert!(Retry::times(2).delay("soon").check().is_err());
    }
}
