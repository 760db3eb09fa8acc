//! What became of a published event when it was accepted.

use abide::{Deferred, InstanceId, Matched, TriggerFailed, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

use super::{FailureView, Moment};

/// What was waiting for an event at its acceptance, and what came of that. Counts are exact, lists
/// have at most 100 items.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerdictView {
    event_id: String,
    /// Its place in the log; none after a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<i64>,
    /// How many waits took it.
    matched_count: u64,
    /// How many instances it started.
    started_count: u64,
    /// How many instances it cancelled.
    cancelled_count: u64,
    matched: Vec<MatchedView>,
    started: Vec<TriggeredView>,
    cancelled: Vec<TriggeredView>,
    /// Instances that begin later, as the windows of their triggers say.
    deferred: Vec<DeferredView>,
    /// Triggers that wanted it and failed.
    failed: Vec<TriggerFailedView>,
    /// Whether the event had come before, and this is what was answered then.
    duplicate: bool,
}

impl From<Verdict> for VerdictView {
    fn from(verdict: Verdict) -> Self {
        let triggered = |trigger: &str, instance_id: &InstanceId| TriggeredView {
            trigger: trigger.to_owned(),
            instance_id: instance_id.as_str().to_owned(),
        };
        let started = verdict.started.iter();
        let cancelled = verdict.cancelled.iter();
        Self {
            event_id: verdict.event_id.to_string(),
            seq: verdict.seq,
            matched_count: verdict.matched_count,
            started_count: verdict.started_count,
            cancelled_count: verdict.cancelled_count,
            matched: verdict.matched.into_iter().map(Into::into).collect(),
            started: started.map(|one| triggered(&one.trigger, &one.instance_id)).collect(),
            cancelled: cancelled.map(|one| triggered(&one.trigger, &one.instance_id)).collect(),
            deferred: verdict.deferred.into_iter().map(Into::into).collect(),
            failed: verdict.failed.into_iter().map(Into::into).collect(),
            duplicate: verdict.duplicate,
        }
    }
}

/// A wait that took the event.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MatchedView {
    subscription_id: String,
    instance_id: String,
}

impl From<Matched> for MatchedView {
    fn from(matched: Matched) -> Self {
        let instance_id = matched.instance_id.as_str().to_owned();
        Self { subscription_id: matched.subscription_id.to_string(), instance_id }
    }
}

/// An instance that a trigger started or cancelled.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TriggeredView {
    trigger: String,
    instance_id: String,
}

/// An instance that begins later.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeferredView {
    trigger: String,
    instance_id: String,
    /// When it begins, as far as is known now.
    until: Moment,
}

impl From<Deferred> for DeferredView {
    fn from(deferred: Deferred) -> Self {
        let Deferred { trigger, instance_id, until } = deferred;
        let (trigger, instance_id) = (trigger.to_string(), instance_id.as_str().to_owned());
        Self { trigger, instance_id, until: until.into() }
    }
}

/// A trigger that wanted the event and failed.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TriggerFailedView {
    trigger: String,
    error: FailureView,
}

impl From<TriggerFailed> for TriggerFailedView {
    fn from(failed: TriggerFailed) -> Self {
        Self { trigger: failed.trigger.to_string(), error: failed.error.into() }
    }
}
