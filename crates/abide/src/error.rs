//! Every error of the library, sorted by what the caller does about it.

use std::borrow::Cow;
use std::time::Duration;

use crate::failure::Failure;
use crate::id::InstanceId;
use crate::status::Status;

/// Any error, as user code may hand it over.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A result with the library's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong.
///
/// The first group is the caller's mistake and stays one; the second passes and may be retried;
/// the third needs an operator; the fourth happens inside an instance and may be handled there.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The call was wrong. Do not retry it as it is.
    /// No instance has this id.
    #[error("no instance {id}")]
    InstanceNotFound {
        /// The id that was asked for.
        id: InstanceId,
    },
    /// No workflow of this name (and version) is registered.
    #[error("no workflow {name:?} is registered; known: {known}")]
    WorkflowUnknown {
        /// The name that was asked for.
        name: String,
        /// The names that are registered.
        known: String,
    },
    /// The id is taken. Use `if_exists(IfExists::Return)` to get the existing instance.
    #[error("instance {id} already exists")]
    AlreadyExists {
        /// The id that is taken.
        id: InstanceId,
    },
    /// The instance has ended and takes no more.
    #[error("instance {id} already {status}")]
    NotRunning {
        /// The instance.
        id: InstanceId,
        /// How it ended.
        status: Status,
    },
    /// The instance is not in a status that allows this.
    #[error("can't {action} instance {id}: it is {status}")]
    InvalidTransition {
        /// The instance.
        id: InstanceId,
        /// Its status.
        status: Status,
        /// What was asked.
        action: &'static str,
    },
    /// The run has no such step.
    #[error("instance {id} has no step {step:?} in run {run}; recorded: {known}")]
    StepNotFound {
        /// The instance.
        id: InstanceId,
        /// Its current run.
        run: u32,
        /// The step that was asked for.
        step: String,
        /// Steps that were recorded.
        known: String,
    },
    /// A value, name or option is not acceptable.
    #[error("invalid {what}: {message}")]
    Invalid {
        /// Which one.
        what: Cow<'static, str>,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The workflow does not take this event, or not with this payload. Nothing was stored.
    #[error("event {event_type:?} is not acceptable: {message}")]
    EventInvalid {
        /// Its type.
        event_type: String,
        /// What is wrong, where, and what would be right.
        message: String,
    },
    /// No subscription has this id.
    #[error("no subscription {id}")]
    SubscriptionNotFound {
        /// The id that was asked for.
        id: String,
    },
    /// The log has no such event, or no longer.
    #[error("no event {id} in the log")]
    EventNotFound {
        /// The id that was asked for.
        id: String,
    },
    /// There is no such trigger or definition.
    #[error("no {what} {name:?}")]
    DefinitionNotFound {
        /// What was asked for.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A payload is over its limit.
    #[error("{what} is {size} bytes, the limit is {limit}")]
    TooLarge {
        /// Which payload.
        what: Cow<'static, str>,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },

    // The call was right, the moment was not. Retry later, with the same id.
    /// Too much is queued (`store.maxQueued`). Nothing was done.
    #[error("{queued} writes are queued, the limit is {limit}; retry later")]
    RateLimited {
        /// How many writes are queued.
        queued: usize,
        /// The limit.
        limit: usize,
    },
    /// The instance keeps as much for later as it may. Nothing was stored.
    #[error(
        "the buffer of instance {id} is full: {entries} entries, {bytes} bytes; the limit is {limit}"
    )]
    BufferFull {
        /// The instance.
        id: InstanceId,
        /// What it keeps.
        entries: usize,
        /// How many bytes that is.
        bytes: usize,
        /// What it may keep.
        limit: String,
    },
    /// The store refused; nothing was changed.
    #[error("store unavailable: {reason}; nothing was changed, retry in {retry_in:?}")]
    StoreUnavailable {
        /// Why.
        reason: String,
        /// When a retry makes sense.
        retry_in: Duration,
    },
    /// The store did not say whether it committed. Retry with the same id.
    #[error("store did not confirm: {reason}; the outcome is unknown, retry with the same id")]
    OutcomeUnknown {
        /// Why.
        reason: String,
    },
    /// The engine is shutting down or was shut down.
    #[error("the engine is shut down")]
    ShutDown,

    // An operator has to look.
    /// Stored data can't be read.
    #[error("the store is corrupt: {what}")]
    Corrupt {
        /// What was found, and where.
        what: String,
    },
    /// The database was written by a newer version of Abide.
    #[error(
        "the database has schema version {found}, this program knows up to {known}; upgrade it"
    )]
    NewerSchema {
        /// The version in the database.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// Another live process owns the database.
    #[error("{path} is in use by another process; stop it or choose another file")]
    StoreInUse {
        /// The database.
        path: String,
    },
    /// The store was closed after an error that leaves its state in doubt. Reopen it.
    #[error("the store closed itself: {reason}; reopen it")]
    StoreClosed {
        /// The error that closed it.
        reason: String,
    },

    // It happened inside an instance. The workflow may handle it.
    /// A step failed and is not retried.
    #[error("step {step:?} failed: {}", .failure.message)]
    StepFailed {
        /// The step.
        step: String,
        /// Its failure (`STEP_FAILED`, `RESULT_TOO_LARGE`, or a code of its own).
        failure: Failure,
    },
    /// A step failed as often as it may.
    #[error("step {step:?} failed {attempts} times, the last time: {message}")]
    StepRetryExhausted {
        /// The step.
        step: String,
        /// How many attempts failed.
        attempts: u32,
        /// The last failure.
        message: String,
    },
    /// A step was interrupted by crashes as often as it may, or runs at most once.
    #[error("step {step:?} was interrupted and is not run again: {message}")]
    StepInterrupted {
        /// The step.
        step: String,
        /// How often, and why it is not run again.
        message: String,
    },
    /// What was waited for did not come in time.
    #[error("Event timeout: {event_type:?} did not come within {timeout_ms} ms")]
    EventTimeout {
        /// The step that waited.
        step: String,
        /// The pattern, name, topic or key it waited for.
        event_type: String,
        /// How long it waited.
        timeout_ms: u64,
        /// Until when.
        timeout_at: Option<String>,
        /// Of a wait for several: how many came, and went back to their place.
        received: Option<u32>,
    },
    /// A child failed or was terminated.
    #[error("child {child} failed: {failure}")]
    ChildFailed {
        /// The child's instance id.
        child: String,
        /// How it failed.
        failure: Failure,
    },
    /// The instance failed; what `handle.result()` answers.
    #[error("instance {id} failed: {failure}")]
    InstanceFailed {
        /// The instance.
        id: InstanceId,
        /// How it failed.
        failure: Failure,
    },
    /// The instance was terminated; what `handle.result()` answers.
    #[error("instance {id} was terminated: {reason}")]
    InstanceTerminated {
        /// The instance.
        id: InstanceId,
        /// The reason that was given.
        reason: String,
    },
    /// The workflow's own failure, with its own code.
    #[error("{0}")]
    Failed(Failure),
    /// A `Cx` was used in a way that can't be replayed.
    #[error("misused Cx: {message}")]
    Misuse {
        /// What was done and what to do instead.
        message: String,
    },
}

impl Error {
    /// A failure of the workflow's own making, with a code that operators can look for.
    pub fn failed(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(code, message))
    }

    /// Stored data can't be read.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// The code of the contract.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::InstanceNotFound { .. } => "WORKFLOW_NOT_FOUND",
            Self::WorkflowUnknown { .. } => "WORKFLOW_TYPE_UNKNOWN",
            Self::AlreadyExists { .. } => "WORKFLOW_ALREADY_EXISTS",
            Self::NotRunning { .. } => "WORKFLOW_NOT_RUNNING",
            Self::InvalidTransition { .. } => "INVALID_TRANSITION",
            Self::StepNotFound { .. } => "STEP_NOT_FOUND",
            Self::Invalid { what, .. } => match &**what {
                "filter" | "distinct key" | "correlation key" | "window key" => "FILTER_INVALID",
                "JSON Schema" => "INVALID_SCHEMA",
                "trigger" | "mapping" | "event definition" => "DEFINITION_INVALID",
                _ => "VALIDATION_ERROR",
            },
            Self::Misuse { .. } => "VALIDATION_ERROR",
            Self::EventInvalid { .. } => "EVENT_INVALID",
            Self::SubscriptionNotFound { .. } => "SUBSCRIPTION_NOT_FOUND",
            Self::EventNotFound { .. } => "EVENT_NOT_FOUND",
            Self::DefinitionNotFound { .. } => "DEFINITION_NOT_FOUND",
            Self::EventTimeout { .. } => "EVENT_TIMEOUT",
            Self::BufferFull { .. } => "BUFFER_FULL",
            Self::TooLarge { .. } => "PAYLOAD_TOO_LARGE",
            Self::RateLimited { .. } => "RATE_LIMITED",
            Self::StoreUnavailable { .. }
            | Self::OutcomeUnknown { .. }
            | Self::StoreClosed { .. }
            | Self::StoreInUse { .. }
            | Self::ShutDown => "STORE_UNAVAILABLE",
            Self::Corrupt { .. } | Self::NewerSchema { .. } => "INTERNAL_ERROR",
            Self::StepRetryExhausted { .. } => "STEP_RETRY_EXHAUSTED",
            Self::StepInterrupted { .. } => "STEP_INTERRUPTED",
            Self::InstanceTerminated { .. } => "WORKFLOW_NOT_RUNNING",
            Self::ChildFailed { .. } => "WORKFLOW_FAILED",
            Self::StepFailed { failure, .. }
            | Self::InstanceFailed { failure, .. }
            | Self::Failed(failure) => &failure.code,
        }
    }

    /// Whether the same call, with the same id, may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::BufferFull { .. }
            | Self::StoreUnavailable { .. }
            | Self::OutcomeUnknown { .. }
            | Self::ShutDown => true,
            Self::InstanceNotFound { .. }
            | Self::WorkflowUnknown { .. }
            | Self::AlreadyExists { .. }
            | Self::NotRunning { .. }
            | Self::InvalidTransition { .. }
            | Self::StepNotFound { .. }
            | Self::Invalid { .. }
            | Self::EventInvalid { .. }
            | Self::SubscriptionNotFound { .. }
            | Self::EventNotFound { .. }
            | Self::DefinitionNotFound { .. }
            | Self::EventTimeout { .. }
            | Self::TooLarge { .. }
            | Self::Corrupt { .. }
            | Self::NewerSchema { .. }
            | Self::StoreInUse { .. }
            | Self::StoreClosed { .. }
            | Self::StepFailed { .. }
            | Self::StepRetryExhausted { .. }
            | Self::StepInterrupted { .. }
            | Self::ChildFailed { .. }
            | Self::InstanceFailed { .. }
            | Self::InstanceTerminated { .. }
            | Self::Failed(_)
            | Self::Misuse { .. } => false,
        }
    }

    /// The failure that is recorded when a workflow ends with this error.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        let failure = Failure::new(self.code().to_owned(), self.to_string());
        match self {
            Self::Failed(failure) => failure.clone(),
            Self::StepFailed { step, failure } => failure.clone().in_step(step),
            Self::StepRetryExhausted { step, attempts, message } => {
                let details =
                    serde_json::json!({ "step": step, "attempts": attempts, "last": message });
                failure.in_step(step).with_details(&details)
            }
            Self::StepInterrupted { step, message } => failure
                .in_step(step)
                .with_details(&serde_json::json!({ "step": step, "last": message })),
            Self::EventTimeout { step, event_type, timeout_ms, timeout_at, received } => {
                let mut details = serde_json::json!({
                    "eventType": event_type, "timeoutMs": timeout_ms, "timeoutAt": timeout_at,
                });
                if let Some(received) = received {
                    details["received"] = (*received).into();
                }
                failure.in_step(step).with_details(&details)
            }
            Self::ChildFailed { child, failure: inner } => failure.with_details(
                &serde_json::json!({ "instanceId": child, "code": inner.code, "message": inner.message }),
            ),
            _ => failure,
        }
    }

    /// The error that a recorded failure of a step is seen as.
    #[must_use]
    pub fn from_step(step: &str, failure: Failure) -> Self {
        let step = step.to_owned();
        match &*failure.code {
            "STEP_RETRY_EXHAUSTED" => Self::StepRetryExhausted {
                step,
                attempts: failure.detail("attempts").unwrap_or(0),
                message: failure.detail("last").unwrap_or(failure.message),
            },
            "EVENT_TIMEOUT" => Self::EventTimeout {
                step,
                event_type: failure.detail("eventType").unwrap_or_default(),
                timeout_ms: failure.detail("timeoutMs").unwrap_or_default(),
                timeout_at: failure.detail("timeoutAt"),
                received: failure.detail("received"),
            },
            "STEP_INTERRUPTED" => Self::StepInterrupted {
                step,
                message: failure.detail("last").unwrap_or(failure.message),
            },
            _ => Self::StepFailed { step, failure },
        }
    }
}

/// An error that must not be retried, whatever the step's retry policy says.
///
/// ```
/// # fn parse() -> Result<(), abide::BoxError> {
/// let declined = abide::NonRetryable::new("card declined");
/// # Err(declined.into()) }
/// # assert!(parse().is_err());
/// ```
#[derive(Debug)]
pub struct NonRetryable(BoxError);

impl NonRetryable {
    /// Wraps an error.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }

    /// What it wraps.
    #[must_use]
    pub fn inner(&self) -> &(dyn std::error::Error + 'static) {
        &*self.0
    }

    /// Whether an error is, or was caused by, one that must not be retried.
    #[must_use]
    pub fn is_in(error: &(dyn std::error::Error + 'static)) -> bool {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if error.is::<Self>() {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl std::fmt::Display for NonRetryable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for NonRetryable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_must_not_be_retried_is_found_behind_others() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] NonRetryable);
        assert!(NonRetryable::is_in(&Outer(NonRetryable::new("declined"))));
        assert!(!NonRetryable::is_in(&std::io::Error::other("timeout")));
    }

    #[test]
    fn an_exhausted_step_survives_being_stored() {
        let error =
            Error::StepRetryExhausted { step: "charge".into(), attempts: 3, message: "no".into() };
        let back = Error::from_step("charge", error.to_failure());
        assert!(matches!(back, Error::StepRetryExhausted { attempts: 3, .. }), "{back:?}");
        assert_eq!(back.to_string(), error.to_string());
    }

    #[test]
    fn a_counted_wait_that_gave_up_keeps_saying_how_many_came() {
        let details = serde_json::json!({
            "eventType": "vote", "timeoutMs": 1000, "timeoutAt": null, "received": 2,
        });
        let stored = Failure::new("EVENT_TIMEOUT", "too few").with_details(&details);
        let seen = Error::from_step("votes", stored);
        assert_eq!(seen.to_failure().detail::<u32>("received"), Some(2), "{seen:?}");
    }
}
