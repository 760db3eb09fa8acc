//! One event as a sink is told it.

use std::sync::Arc;

use abide::{InstanceId, Json, Timestamp};
use serde::{Serialize, Serializer};

use crate::span::Span;

/// Something that happened, with what every event has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrackedEvent {
    /// The same whenever it is told.
    pub event_id: String,
    /// When it was recorded.
    #[serde(serialize_with = "iso")]
    pub timestamp: Timestamp,
    /// The instance.
    pub workflow_id: InstanceId,
    /// Its workflow.
    pub workflow_name: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

impl TrackedEvent {
    /// About how many bytes it takes, because it is held until it is sent.
    pub(crate) fn size(&self) -> usize {
        const REST: usize = 256;
        let payload = match &self.what {
            What::WorkflowStarted { input } => input.size(),
            What::WorkflowCompleted { completed_steps, .. }
            | What::WorkflowFailed { completed_steps, .. }
            | What::WorkflowTerminated { completed_steps, .. } => {
                completed_steps.iter().map(|name| name.len() + 3).sum()
            }
            What::Other(other) => other.payload.as_ref().map_or(0, Json::size),
            _ => 0,
        };
        REST + payload
    }

    /// Whether the instance does nothing more for now.
    pub(crate) fn ends_slice(&self) -> bool {
        matches!(
            self.what,
            What::WorkflowCompleted { .. }
                | What::WorkflowFailed { .. }
                | What::WorkflowTerminated { .. }
                | What::WorkflowPaused { .. }
        )
    }
}

/// What happened, by type, with the fields of each.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum What {
    /// A run began.
    #[serde(rename = "workflow.started")]
    WorkflowStarted {
        /// Its input.
        input: Json,
    },
    /// It returned.
    #[serde(rename = "workflow.completed")]
    WorkflowCompleted {
        /// The steps of the run, in order of completion.
        completed_steps: Vec<Arc<str>>,
        /// How long the run took.
        duration_ms: u64,
    },
    /// It failed.
    #[serde(rename = "workflow.failed")]
    WorkflowFailed {
        /// Why.
        error: TrackedError,
        /// The steps that were done.
        completed_steps: Vec<Arc<str>>,
    },
    /// It rests, or was paused.
    #[serde(rename = "workflow.paused")]
    WorkflowPaused {
        /// `sleep`, `retry`, `event`, `child`, `manual`, or why the engine paused it.
        reason: String,
        /// When it goes on by itself, if it does.
        #[serde(serialize_with = "maybe_iso", skip_serializing_if = "Option::is_none")]
        resume_at: Option<Timestamp>,
        /// The step that it rests in.
        #[serde(skip_serializing_if = "Option::is_none")]
        step_name: Option<Arc<str>>,
    },
    /// It goes on.
    #[serde(rename = "workflow.resumed")]
    WorkflowResumed {},
    /// It was ended from outside.
    #[serde(rename = "workflow.terminated")]
    WorkflowTerminated {
        /// Why, if anybody said.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The steps that were done.
        completed_steps: Vec<Arc<str>>,
        /// How long the run took.
        duration_ms: u64,
    },
    /// An attempt began.
    #[serde(rename = "step.started")]
    StepStarted {
        /// The step.
        step_name: Arc<str>,
        /// From 1.
        attempt: u32,
    },
    /// A step has its result.
    #[serde(rename = "step.completed")]
    StepCompleted {
        /// The step.
        step_name: Arc<str>,
        /// From 1.
        attempt: u32,
        /// How long it took, with its failed attempts.
        duration_ms: u64,
        /// Kept by a restart from a later step.
        cached: bool,
    },
    /// An attempt failed.
    #[serde(rename = "step.failed")]
    StepFailed {
        /// The step.
        step_name: Arc<str>,
        /// From 1.
        attempt: u32,
        /// Why.
        error: TrackedError,
        /// Whether another attempt follows.
        will_retry: bool,
    },
    /// The next attempt has its time.
    #[serde(rename = "retry.scheduled")]
    RetryScheduled {
        /// The step.
        step_name: Arc<str>,
        /// The attempt that will be.
        attempt: u32,
        /// When.
        #[serde(serialize_with = "iso")]
        next_attempt_at: Timestamp,
        /// In how long.
        delay_ms: u64,
    },
    /// No attempt is left.
    #[serde(rename = "retry.exhausted")]
    RetryExhausted {
        /// The step.
        step_name: Arc<str>,
        /// How many there were.
        attempts: u32,
    },
    /// A sleep began.
    #[serde(rename = "sleep.started")]
    SleepStarted {
        /// How long it shall be.
        duration_ms: u64,
        /// When it ends.
        #[serde(serialize_with = "iso")]
        resume_at: Timestamp,
    },
    /// A sleep is over.
    #[serde(rename = "sleep.completed")]
    SleepCompleted {
        /// How long it was.
        duration_ms: u64,
    },
    /// An attempt or a wait has a deadline.
    #[serde(rename = "timeout.set")]
    TimeoutSet {
        /// The step.
        step_name: Arc<str>,
        /// When it passes.
        #[serde(serialize_with = "iso")]
        deadline: Timestamp,
        /// In how long.
        timeout_ms: u64,
    },
    /// A deadline passed.
    #[serde(rename = "timeout.exceeded")]
    TimeoutExceeded {
        /// The step.
        step_name: Arc<str>,
        /// How long it was.
        timeout_ms: u64,
    },
    /// A run or an attempt is over ([`crate::Types::Spans`]).
    #[serde(rename = "span")]
    Span(Box<Span>),
    /// Anything else that is recorded ([`crate::Types::All`]).
    #[serde(untagged)]
    Other(Other),
}

/// How something failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrackedError {
    /// What went wrong, for a person.
    pub message: String,
    /// The step that a workflow failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_name: Option<String>,
    /// The last attempt of that step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// An entry of the history that has no form of its own here.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Other {
    /// Its type, such as `wait.started`.
    #[serde(rename = "type")]
    pub entry_type: &'static str,
    /// The step, event type, signal, topic, output or update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// What kind of step it is about, if not a plain one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The value that was sent, set or told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a wait hears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Arc<str>>,
    /// When it gives up.
    #[serde(serialize_with = "maybe_iso", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The event that was received, or that met a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_event_id: Option<Arc<str>>,
    /// The child it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_id: Option<InstanceId>,
    /// How it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TrackedError>,
}

pub(crate) fn iso<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

fn maybe_iso<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serializer.collect_str(at),
        None => serializer.serialize_none(),
    }
}
