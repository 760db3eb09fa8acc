//! Why an HTTP step has no answer, sorted by what is to be done about it.

use std::borrow::Cow;
use std::time::Duration;

use abide::Failure;
use serde_json::{Map, Value, json};

/// Why a call has no good answer. No text in it contains a secret that was read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    // The step is wrong and stays so.
    /// A field of the step can't be sent.
    #[error("invalid {field}: {message}")]
    Invalid {
        /// Which: `url`, `headers.x`.
        field: Cow<'static, str>,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The host may not be reached.
    #[error("{request}: {host:?} may not be reached: {rule}")]
    AddressDenied {
        /// What was asked.
        request: String,
        /// The host, as it was written.
        host: String,
        /// The rule that denies it.
        rule: String,
    },
    /// The server sends the caller elsewhere, where it may not go.
    #[error("{request} was redirected: {message}")]
    RedirectRefused {
        /// What was asked.
        request: String,
        /// Where to, and why not.
        message: String,
    },
    /// The answer is over its limit.
    #[error("{request} answered with more than {limit} bytes")]
    TooLarge {
        /// What was asked.
        request: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The client can't be made.
    #[error("no HTTP client: {message}")]
    Client {
        /// Why.
        message: String,
    },

    // The server said no; its status tells whether that may change.
    /// The status is not 2xx.
    #[error("{request} answered {status}")]
    Status {
        /// What was asked.
        request: String,
        /// The status.
        status: u16,
        /// The beginning of the body, at most 1 KiB.
        body: String,
        /// Where a redirect leads that was not followed.
        location: Option<String>,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },

    // The moment was wrong. Ask again with the same idempotency key.
    /// No answer in time.
    #[error("{request} did not answer within {limit:?}")]
    Timeout {
        /// What was asked.
        request: String,
        /// The time it had.
        limit: Duration,
    },
    /// The connection failed.
    #[error("{request} failed: {message}")]
    Network {
        /// What was asked.
        request: String,
        /// What the network said.
        message: String,
    },
}

impl HttpError {
    pub(crate) fn invalid(field: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), message: message.into() }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Timeout { .. } | Self::Network { .. } => true,
            Self::Status { status, .. } => {
                matches!(status, 408 | 425 | 429) || (500..600).contains(status)
            }
            Self::Invalid { .. }
            | Self::AddressDenied { .. }
            | Self::RedirectRefused { .. }
            | Self::TooLarge { .. }
            | Self::Client { .. } => false,
        }
    }

    /// How long the server asked to be left alone (`Retry-After`).
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The code of the contract.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "VALIDATION_ERROR",
            Self::TooLarge { .. } => "RESULT_TOO_LARGE",
            Self::Timeout { .. } => "STEP_TIMEOUT",
            Self::AddressDenied { .. }
            | Self::RedirectRefused { .. }
            | Self::Client { .. }
            | Self::Status { .. }
            | Self::Network { .. } => "STEP_FAILED",
        }
    }

    /// What is recorded: `{code, message, details}`, for a status `{status, body}`.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let failure = Failure::new(self.code(), self.to_string());
        match self {
            Self::Status { status, body, location, retry_after, .. } => {
                let mut details = Map::from_iter([
                    ("status".to_owned(), json!(status)),
                    ("body".to_owned(), json!(body)),
                ]);
                if let Some(location) = location {
                    details.insert("location".to_owned(), json!(location));
                }
                if let Some(after) = retry_after {
                    details.insert("retryAfterMs".to_owned(), json!(after.as_millis() as u64));
                }
                failure.with_details(&Value::Object(details))
            }
            Self::AddressDenied { host, rule, .. } => {
                failure.with_details(&json!({ "host": host, "rule": rule }))
            }
            Self::TooLarge { limit, .. } => failure.with_details(&json!({ "limit": limit })),
            Self::Timeout { limit, .. } => {
                failure.with_details(&json!({ "timeoutMs": limit.as_millis() as u64 }))
            }
            Self::Invalid { .. }
            | Self::RedirectRefused { .. }
            | Self::Client { .. }
            | Self::Network { .. } => failure,
        }
    }
}
