//! Time, randomness and the one place both come from.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// A moment in unix milliseconds. It prints as ISO-8601 UTC with milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Later than every moment that can be reached.
    pub const MAX: Self = Self(i64::MAX);

    /// This moment moved forward; stops at [`Timestamp::MAX`] rather than wrapping.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(ms))
    }

    /// This moment moved back.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(ms))
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Reads RFC 3339, such as `2024-02-29T12:30:45Z`.
impl std::str::FromStr for Timestamp {
    type Err = crate::Error;

    fn from_str(text: &str) -> crate::Result<Self> {
        crate::publication::parse_time(text).map_err(|refused| crate::Error::Invalid {
            what: "time".into(),
            message: refused.to_string(),
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A delay may lead beyond what can be written; the last moment that can be is as good.
        let bound = if self.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let at = jiff::Timestamp::from_millisecond(self.0).unwrap_or(bound);
        write!(f, "{at:.3}")
    }
}

/// `#[serde(with = "iso")]`: a moment as people and other programs read it. Files from before have
/// milliseconds in its place, and read back too.
pub(crate) mod iso {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Timestamp;

    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written<'a> {
            Milliseconds(i64),
            Text(#[serde(borrow)] Cow<'a, str>),
        }
        match Written::deserialize(from)? {
            Written::Milliseconds(ms) => Ok(Timestamp(ms)),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// Where every moment, delay and random number comes from, so that tests replace all of them.
pub trait Clock: Send + Sync + 'static {
    /// The present moment. Never goes backwards.
    fn now(&self) -> Timestamp;
    /// Completes once [`Clock::now`] has reached `at`.
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;
    /// 64 random bits.
    fn random(&self) -> u64;

    /// A fresh UUIDv7: time-ordered, so that new rows land at the end of an index.
    fn uuid(&self) -> uuid::Uuid {
        let mut bytes = [0_u8; 10];
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&self.random().to_le_bytes());
        low.copy_from_slice(&self.random().to_le_bytes()[..2]);
        let ms = u64::try_from(self.now().0).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(ms, &bytes).into_uuid()
    }
}

/// The machine's clock and random numbers.
#[derive(Debug, Default)]
pub struct SystemClock {
    /// The latest moment handed out: the wall clock may be set back, a decision may not.
    latest: AtomicI64,
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ms = i64::try_from(wall.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.latest.fetch_max(ms, Ordering::Relaxed).max(ms))
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let wait = at.since(self.now());
        Box::pin(tokio::time::sleep(wait))
    }

    fn random(&self) -> u64 {
        fastrand::u64(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_iso_8601_with_milliseconds() {
        assert_eq!(Timestamp(1_700_000_000_120).to_string(), "2023-11-14T22:13:20.120Z");
    }

    #[test]
    fn prints_the_last_moment_there_is_for_what_lies_beyond() {
        assert!(Timestamp::MAX.to_string().starts_with("9999-12-3"));
        assert!(Timestamp(i64::MIN).to_string().starts_with("-009999"));
    }

    #[test]
    fn reads_what_it_prints_and_refuses_what_has_no_offset() {
        let at = Timestamp(1_700_000_000_120);
        assert_eq!(at.to_string().parse::<Timestamp>().unwrap(), at);
        assert_eq!("2023-11-14T23:13:20.12+01:00".parse::<Timestamp>().unwrap(), at);
        let refused = "2023-11-14T22:13:20".parse::<Timestamp>().unwrap_err().to_string();
        assert!(refused.contains("RFC 3339"), "{refused}");
    }

    #[test]
    fn later_ids_sort_after_earlier_ones() {
        let clock = SystemClock::default();
        let first = clock.uuid();
        let start = clock.now();
        while clock.now() == start {
            std::thread::yield_now();
        }
        assert!(first.to_string() < clock.uuid().to_string());
    }
}
