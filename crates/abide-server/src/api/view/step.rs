//! One step of a run.

use abide::{FailedAttempt, Json, StepRecord};
use serde::Serialize;
use utoipa::ToSchema;

use super::{FailureView, Moment};

/// A step of the current run.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepView {
    /// Its name, `name#n` from the second use on.
    name: String,
    /// What it is: `step`, `sleep`, `event`, `child`, …
    kind: &'static str,
    /// `running`, `sleeping`, `waiting`, `completed`, `failed` or `cancelled`.
    status: &'static str,
    /// How many attempts began; 0 for a wait that was met early.
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    output: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
    started_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Moment>,
    /// When its rest is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    wake_at: Option<Moment>,
    /// Attempts that were followed by another.
    retries: Vec<RetryView>,
    /// The child it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    child_id: Option<String>,
    /// Whether a restart kept it from an earlier run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cached: bool,
}

/// An attempt that was followed by another.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryView {
    /// Which attempt, from 1.
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
    at: Moment,
}

impl From<StepRecord> for StepView {
    fn from(step: StepRecord) -> Self {
        Self {
            name: step.name.to_string(),
            kind: step.kind.as_str(),
            status: step.status.as_str(),
            attempts: step.attempts,
            output: step.output,
            error: step.error.map(Into::into),
            started_at: step.started_at.into(),
            completed_at: step.completed_at.map(Into::into),
            wake_at: step.wake_at.map(Into::into),
            retries: step.retries.into_iter().map(Into::into).collect(),
            child_id: step.child_id.map(|id| id.as_str().to_owned()),
            cached: step.cached,
        }
    }
}

impl From<FailedAttempt> for RetryView {
    fn from(failed: FailedAttempt) -> Self {
        let FailedAttempt { attempt, error, at } = failed;
        Self { attempt, error: error.map(Into::into), at: at.into() }
    }
}
