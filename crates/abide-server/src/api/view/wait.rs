//! What an instance waits for: the subscription record.

use abide::expr::{Clause, Outcome};
use abide::{NearMiss, Wait};
use serde::Serialize;
use utoipa::ToSchema;

use super::Moment;

/// A subscription.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitView {
    #[schema(example = "sub_0192f0c4a5b87c0e8d1f2a3b4c5d6e7f")]
    id: String,
    workflow_instance_id: String,
    /// What it hears: `event`, `signal`, `message` or `output`.
    kind: &'static str,
    event_pattern: String,
    /// As somebody wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    filter_condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_at: Option<Moment>,
    /// `active`, `fulfilled`, `expired` or `cancelled`.
    status: &'static str,
    created_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    fulfilled_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fulfilled_by_event_id: Option<String>,
    wait_step_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_handler_step_id: Option<String>,
    /// The run that waits.
    run: u32,
    /// How many events it wants, when it is not just one.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// How many of them came.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<usize>,
    /// Published events that it nearly took while it is active, the newest first.
    near_misses: Vec<NearMissView>,
}

impl WaitView {
    pub(crate) fn new(wait: &Wait) -> Self {
        Self {
            id: wait.id.to_string(),
            workflow_instance_id: wait.instance_id.as_str().to_owned(),
            kind: wait.hears.step_kind().as_str(),
            event_pattern: wait.hears.pattern().to_owned(),
            filter_condition: wait.filter.as_ref().map(|filter| filter.written.to_string()),
            timeout_at: wait.timeout_at.map(Into::into),
            status: wait.status.as_str(),
            created_at: wait.created_at.into(),
            fulfilled_at: wait.fulfilled_at.map(Into::into),
            fulfilled_by_event_id: wait.fulfilled_by.as_deref().map(str::to_owned),
            wait_step_id: wait.step.to_string(),
            timeout_handler_step_id: None,
            run: wait.run,
            count: wait.count.as_ref().map(|count| count.needed),
            held: wait.count.as_ref().map(|count| count.held.len()),
            near_misses: Vec::new(),
        }
    }

    /// With the step that follows when it gives up, if there is one.
    pub(crate) fn with_timeout_handler(mut self, step: Option<String>) -> Self {
        self.timeout_handler_step_id = step;
        self
    }

    /// With what it nearly took.
    pub(crate) fn with_near_misses(mut self, misses: Vec<NearMiss>) -> Self {
        self.near_misses = misses.into_iter().map(Into::into).collect();
        self
    }
}

/// An event that a wait nearly took.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NearMissView {
    event_id: String,
    seq: i64,
    accepted_at: Moment,
    /// Every clause of the filter, with the values it saw.
    clauses: Vec<ClauseView>,
}

impl From<NearMiss> for NearMissView {
    fn from(miss: NearMiss) -> Self {
        let NearMiss { event_id, seq, accepted_at, clauses } = miss;
        let clauses = clauses.iter().map(ClauseView::new).collect();
        Self { event_id: event_id.to_string(), seq, accepted_at: accepted_at.into(), clauses }
    }
}

/// A part of a filter and what it came to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ClauseView {
    /// As it is written.
    #[schema(example = "event.payload.amount >= 100")]
    text: String,
    /// With the values in place of the paths.
    #[schema(example = "90 >= 100")]
    values: String,
    /// `true`, `false`, or absent when it has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    /// The clause, what it saw and what came out, in one line.
    message: String,
}

impl ClauseView {
    pub(crate) fn new(clause: &Clause) -> Self {
        let holds = match clause.outcome {
            Outcome::True => Some(true),
            Outcome::False => Some(false),
            Outcome::Failed(_) => None,
        };
        let Clause { text, values, .. } = clause;
        Self { text: text.clone(), values: values.clone(), holds, message: clause.to_string() }
    }
}
