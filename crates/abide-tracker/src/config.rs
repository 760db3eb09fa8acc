//! What a user sets about one sink.

use std::fmt;
use std::time::Duration;

use abide::{Error, Result};
use serde::{Deserialize, Serialize};
use url::Url;

/// Where to send what happened, and how. Only [`url`](Self::url) and [`access_token`](Self::access_token) have no default.
///
/// ```
/// use abide_tracker::TrackerConfig;
///
/// let config = TrackerConfig { max_size: 100, ..TrackerConfig::new("https://example.com/events", "token") };
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TrackerConfig {
    /// What the sink is called, in logs and by operators. A durable sink is known again by it.
    pub name: String,
    /// `url`: where batches are posted.
    pub url: String,
    /// `accessToken`: sent as `Authorization: Bearer …`.
    pub access_token: String,
    /// `types`: what is sent.
    pub types: Types,
    /// `batch.maxSize`: a batch of so many events goes out at once.
    pub max_size: usize,
    /// `batch.maxWaitMs`: a smaller one goes out so long after its first event.
    pub max_wait: Duration,
    /// `retry.maxAttempts`: how often a batch is sent *again* before it is dropped: 3 are at most 4 requests. A durable sink
    /// never drops one.
    pub retry_max_attempts: u32,
    /// `retry.initialDelayMs`: before the first retry; each further delay is twice the one before.
    pub retry_initial_delay: Duration,
    /// `retry.maxDelayMs`: the longest delay.
    pub retry_max_delay: Duration,
    /// `timeoutMs`: how long one request may take.
    pub timeout: Duration,
    /// `shutdownTimeoutMs`: how long a shutdown sends what is left.
    pub shutdown_timeout: Duration,
    /// `durable`: every event at least once, over restarts and outages.
    pub durable: bool,
    /// `signingSecret`: batches are signed with it as Standard Webhooks says: `whsec_` and base64.
    pub signing_secret: Option<String>,
}

/// What a sink is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Types {
    /// The types of `workflow.*`, `step.*`, `retry.*`, `sleep.*` and `timeout.*` that [`crate::What`] has fields of its own for.
    #[default]
    Default,
    /// Everything that is recorded.
    All,
    /// Runs and attempts of steps as spans of traces, each once it is over, and nothing else.
    #[serde(skip)]
    Spans,
}

impl TrackerConfig {
    /// A sink with defaults for everything else.
    pub fn new(url: impl Into<String>, access_token: impl Into<String>) -> Self {
        Self {
            name: "tracker".to_owned(),
            url: url.into(),
            access_token: access_token.into(),
            types: Types::Default,
            max_size: 50,
            max_wait: Duration::from_millis(1000),
            retry_max_attempts: 3,
            retry_initial_delay: Duration::from_millis(100),
            retry_max_delay: Duration::from_millis(5000),
            timeout: Duration::from_millis(10_000),
            shutdown_timeout: Duration::from_millis(5000),
            durable: false,
            signing_secret: None,
        }
    }

    /// Its address, if everything is as it must be.
    pub(crate) fn check(&self) -> Result<Url> {
        let wrong = |what: &str, message: String| {
            Err(Error::Invalid { what: format!("{what} of sink {:?}", self.name).into(), message })
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(is_word) {
            return wrong("name", "it must be 1 to 64 letters, digits, -, _ or .".to_owned());
        }
        if self.access_token.is_empty() || self.access_token.chars().any(char::is_control) {
            return wrong("accessToken", "it must be a text without control characters".to_owned());
        }
        if self.max_size == 0 || self.max_size > crate::queue::MAX_EVENTS {
            let most = crate::queue::MAX_EVENTS;
            return wrong("batch.maxSize", format!("it must be 1 to {most}"));
        }
        match Url::parse(&self.url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
            Ok(_) => wrong("url", "it must begin with http:// or https://".to_owned()),
            Err(refused) => wrong("url", refused.to_string()),
        }
    }

    /// How long to wait before the nth retry, from 1.
    pub(crate) fn delay(&self, nth: u32) -> Duration {
        let times = 2_u32.saturating_pow(nth.saturating_sub(1));
        self.retry_initial_delay.saturating_mul(times).min(self.retry_max_delay)
    }
}

/// Secrets are not shown.
impl fmt::Debug for TrackerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, types, durable, .. } = self;
        f.debug_struct("TrackerConfig")
            .field("name", name)
            .field("types", types)
            .field("durable", durable)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_documentation() {
        let config = TrackerConfig::new("http://localhost/", "t");
        let ms = |duration: Duration| duration.as_millis();
        assert_eq!((config.max_size, ms(config.max_wait)), (50, 1000));
        assert_eq!((config.retry_max_attempts, ms(config.timeout)), (3, 10_000));
        assert_eq!((ms(config.retry_initial_delay), ms(config.retry_max_delay)), (100, 5000));
        assert!(config.check().is_ok());
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let config = TrackerConfig::new("http://localhost/", "t");
        let delays: Vec<_> = (1..=8).map(|nth| config.delay(nth).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(config.delay(u32::MAX).as_millis(), 5000);
    }

    #[test]
    fn what_can_not_work_is_refused_and_secrets_are_not_shown() {
        let good = TrackerConfig::new("https://user:pass@example.com/x", "hush");
        let wrong = [
            TrackerConfig { url: "ftp://example.com".into(), ..good.clone() },
            TrackerConfig { url: "nowhere".into(), ..good.clone() },
            TrackerConfig { access_token: String::new(), ..good.clone() },
            TrackerConfig { access_token: "a\nb".into(), ..good.clone() },
            TrackerConfig { max_size: 0, ..good.clone() },
            TrackerConfig { max_size: 1001, ..good.clone() },
            TrackerConfig { name: "a b".into(), ..good.clone() },
        ];
        for config in wrong {
            let refused = config.check().unwrap_err();
            assert!(refused.to_string().contains("sink"), "{refused}");
        }
        let shown = format!("{good:?}");
        assert!(!shown.contains("hush") && !shown.contains("pass"), "{shown}");
    }
}
