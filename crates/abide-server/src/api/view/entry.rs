//! One thing that happened to an instance: in pages, and as the `data` of streams.

use abide::history::{Entry, EntryKind, Recorded};
use abide::{InstanceId, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::{FailureView, Moment};

/// An entry of the history.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryView {
    /// Its number in the history of the instance.
    seq: i64,
    /// Its own id, the same whenever it is told.
    event_id: String,
    /// What happened.
    #[serde(rename = "type")]
    #[schema(example = "step.completed")]
    entry_type: &'static str,
    instance_id: String,
    workflow: String,
    /// The run it belongs to.
    run: u32,
    time: Moment,
    /// The step, event type, signal, topic, output or update.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The step, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    step_name: Option<String>,
    /// What that step is, when it is not a plain one.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// The `traceparent` that it brought along.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    /// Input, result, output, or the value sent or set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    payload: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    input: Option<Json>,
    /// Which attempt, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// Of `step.completed`: kept by a restart from a later step.
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<bool>,
    /// Of `step.failed`: another attempt follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    will_retry: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    child_id: Option<String>,
    /// The event that was received, or that met a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_event_id: Option<String>,
    /// What a wait hears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
    /// Of `workflow.completed` and `workflow.failed`: the steps that were done.
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_steps: Option<Vec<String>>,
}

/// Whom an entry is told about.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) id: &'a InstanceId,
    pub(crate) workflow: &'a str,
}

impl EntryView {
    pub(crate) fn new(told: Told<'_>, recorded: Recorded) -> Self {
        let event_id = recorded.event_id(told.id);
        let Recorded { seq, run, at, entry } = recorded;
        let is_step = entry.entry.as_str().starts_with("step.");
        let started = entry.entry == EntryKind::WorkflowStarted;
        let Entry { name, payload, .. } = &entry;
        let name = name.as_deref().map(str::to_owned);
        Self {
            seq,
            event_id,
            entry_type: entry.entry.as_str(),
            instance_id: told.id.as_str().to_owned(),
            workflow: told.workflow.to_owned(),
            run,
            time: at.into(),
            step_name: name.clone().filter(|_| is_about_a_step(entry.entry)),
            name,
            kind: entry.kind.map(|kind| kind.as_str()),
            input: payload.clone().filter(|_| started),
            trace: entry.trace.map(|trace| trace.to_string()),
            payload: entry.payload,
            attempt: entry.attempt,
            attempts: entry.attempts,
            duration_ms: entry.duration_ms,
            cached: (is_step && entry.entry == EntryKind::StepCompleted).then_some(entry.cached),
            will_retry: (entry.entry == EntryKind::StepFailed).then_some(entry.will_retry),
            next_attempt_at: entry.next_attempt_at.map(Into::into),
            delay_ms: entry.delay_ms,
            resume_at: entry.resume_at.map(Into::into),
            deadline: entry.deadline.map(Into::into),
            timeout_ms: entry.timeout_ms,
            reason: entry.reason,
            child_id: entry.child_id.map(|id| id.as_str().to_owned()),
            source_event_id: entry.event_id.as_deref().map(str::to_owned),
            pattern: entry.pattern.as_deref().map(str::to_owned),
            error: entry.error.map(Into::into),
            completed_steps: None,
        }
    }

    /// With what came before it in its run, because it ends that.
    pub(crate) fn ends<'a>(mut self, run: impl Iterator<Item = &'a Recorded>) -> Self {
        let mut done = Vec::new();
        for earlier in run {
            let began = earlier.entry.entry == EntryKind::WorkflowStarted;
            if began && self.duration_ms.is_none() {
                let took = self.time.0.since(earlier.at).as_millis();
                self.duration_ms = u64::try_from(took).ok();
            }
            let completes = earlier.entry.entry == EntryKind::StepCompleted
                && !earlier.entry.step_kind().is_value();
            done.extend(earlier.entry.name.as_deref().filter(|_| completes).map(str::to_owned));
        }
        self.completed_steps = Some(done);
        self
    }
}

fn is_about_a_step(kind: EntryKind) -> bool {
    let word = kind.as_str();
    ["step.", "retry.", "sleep.", "timeout.", "wait."].iter().any(|part| word.starts_with(part))
}
