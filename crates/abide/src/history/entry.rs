//! One thing that happened.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{EntryKind, StepKind};
use crate::failure::Failure;
use crate::id::InstanceId;
use crate::json::Json;
use crate::time::Timestamp;
use crate::trace::Trace;

/// One thing that happened. Only the fields of its kind are set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// What happened.
    #[serde(rename = "type")]
    pub entry: EntryKind,
    /// The step it happened to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// What that step is; left out for [`StepKind::Step`], which most are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<StepKind>,
    /// Which attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How many attempts there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// How long it took or shall take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The result was kept by a restart from a later step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// The failed attempt will be followed by another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub will_retry: bool,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// How long the next attempt waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// When a sleep ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<Timestamp>,
    /// When a timeout passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The timeout that was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Why it was paused, terminated or restarted, or to what a wait lost its race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The child that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_id: Option<InstanceId>,
    /// The event it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<Arc<str>>,
    /// What a wait hears: a pattern, name, topic or key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Arc<str>>,
    /// The trace that it brought along; see [`crate::trace`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Input, result or output. None at all is not the same as `null`.
    #[serde(
        default,
        deserialize_with = "crate::json::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub payload: Option<Json>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

impl Entry {
    /// An entry with nothing but its kind.
    #[must_use]
    pub fn new(entry: EntryKind) -> Self {
        Self {
            entry,
            name: None,
            kind: None,
            attempt: None,
            attempts: None,
            duration_ms: None,
            cached: false,
            will_retry: false,
            next_attempt_at: None,
            delay_ms: None,
            resume_at: None,
            deadline: None,
            timeout_ms: None,
            reason: None,
            child_id: None,
            event_id: None,
            pattern: None,
            trace: None,
            payload: None,
            error: None,
        }
    }

    /// An entry about a step.
    #[must_use]
    pub fn of_step(entry: EntryKind, name: &Arc<str>, kind: StepKind) -> Self {
        let kind = (kind != StepKind::Step).then_some(kind);
        Self { name: Some(Arc::clone(name)), kind, ..Self::new(entry) }
    }

    /// The mark that the runner saw it.
    pub(crate) fn seen(&self) -> Self {
        Self { name: self.name.clone(), ..Self::new(EntryKind::Seen) }
    }

    /// What its step is.
    #[must_use]
    pub fn step_kind(&self) -> StepKind {
        self.kind.unwrap_or(StepKind::Step)
    }

    /// The step it is about, if it is about one.
    #[must_use]
    pub(crate) fn step(&self) -> Option<&Arc<str>> {
        match self.entry {
            EntryKind::WaitStarted
            | EntryKind::WaitFulfilled
            | EntryKind::WaitExpired
            | EntryKind::WaitCancelled
            | EntryKind::StepStarted
            | EntryKind::StepCompleted
            | EntryKind::StepFailed
            | EntryKind::StepCancelled
            | EntryKind::RetryScheduled
            | EntryKind::RetryExhausted
            | EntryKind::SleepStarted
            | EntryKind::SleepCompleted => self.name.as_ref(),
            EntryKind::EventReceived
            | EntryKind::EventBuffered
            | EntryKind::EventSuperseded
            | EntryKind::EventDiscarded
            | EntryKind::OutputSet
            | EntryKind::Update
            | EntryKind::MessageSent
            | EntryKind::TimeoutSet
            | EntryKind::TimeoutExceeded
            | EntryKind::WorkflowStarted
            | EntryKind::WorkflowCompleted
            | EntryKind::WorkflowFailed
            | EntryKind::WorkflowPaused
            | EntryKind::WorkflowResumed
            | EntryKind::WorkflowTerminating
            | EntryKind::WorkflowTerminated
            | EntryKind::WorkflowRestarted
            | EntryKind::WorkflowContinued
            | EntryKind::WorkflowStuck
            | EntryKind::Seen => None,
        }
    }

    /// Whether whoever runs the instance has to see it, when it is the store that records it: it
    /// settles a step, takes it out of a race, or asks for something.
    #[must_use]
    pub fn arrives(&self) -> bool {
        match self.entry {
            EntryKind::WorkflowTerminating => true,
            EntryKind::WaitCancelled => self.reason.is_some(),
            _ => self.outcome().is_some(),
        }
    }

    /// The outcome of its step, when this entry settles it.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Json, Failure>> {
        match self.entry {
            EntryKind::StepCompleted | EntryKind::SleepCompleted | EntryKind::WaitFulfilled => {
                Some(Ok(self.payload.clone().unwrap_or_else(Json::null)))
            }
            EntryKind::WaitExpired => {
                let unknown = || Failure::new("EVENT_TIMEOUT", "no reason was recorded");
                Some(Err(self.error.clone().unwrap_or_else(unknown)))
            }
            EntryKind::StepFailed if !self.will_retry => {
                let unknown = || Failure::new("STEP_FAILED", "no reason was recorded");
                Some(Err(self.error.clone().unwrap_or_else(unknown)))
            }
            _ => None,
        }
    }
}
