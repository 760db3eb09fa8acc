//! What became of a published event when it was accepted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::InstanceId;
use crate::time::Timestamp;

/// What was waiting for an event at its acceptance, and what came of that. Counts are exact, lists
/// have at most [`Verdict::MAX_LISTED`] items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The id of the event.
    pub event_id: Arc<str>,
    /// Its place in the log; none after a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// How many waits took it.
    pub matched_count: u64,
    /// How many instances it started.
    pub started_count: u64,
    /// How many instances it cancelled.
    pub cancelled_count: u64,
    /// Which waits took it.
    pub matched: Vec<Matched>,
    /// Which instances it started at once.
    pub started: Vec<StartedBy>,
    /// Which instances it cancelled.
    pub cancelled: Vec<CancelledBy>,
    /// Which instances begin later, as the windows of their triggers say.
    pub deferred: Vec<Deferred>,
    /// Triggers that wanted it and failed.
    pub failed: Vec<TriggerFailed>,
    /// Whether the event had come before, and this is what was answered then.
    pub duplicate: bool,
}

impl Verdict {
    /// `verdict.maxListed`: how many items a list has at most.
    pub const MAX_LISTED: usize = 100;

    /// Of an event of which nothing has come so far.
    #[must_use]
    pub fn of(event_id: &str) -> Self {
        Self { event_id: event_id.into(), ..Self::default() }
    }

    /// A wait took it.
    pub fn matches(&mut self, subscription_id: &Arc<str>, instance_id: &InstanceId) {
        self.matched_count += 1;
        let subscription_id = Arc::clone(subscription_id);
        list(&mut self.matched, || Matched { subscription_id, instance_id: instance_id.clone() });
    }

    /// A trigger started an instance.
    pub fn starts(&mut self, trigger: &Arc<str>, instance_id: &InstanceId) {
        self.started_count += 1;
        let trigger = Arc::clone(trigger);
        list(&mut self.started, || StartedBy { trigger, instance_id: instance_id.clone() });
    }

    /// A trigger cancelled an instance.
    pub fn cancels(&mut self, trigger: &Arc<str>, instance_id: &InstanceId) {
        self.cancelled_count += 1;
        let trigger = Arc::clone(trigger);
        list(&mut self.cancelled, || CancelledBy { trigger, instance_id: instance_id.clone() });
    }

    /// An instance begins later.
    pub fn defers(&mut self, trigger: &Arc<str>, instance_id: &InstanceId, until: Timestamp) {
        let trigger = Arc::clone(trigger);
        let deferred = || Deferred { trigger, instance_id: instance_id.clone(), until };
        list(&mut self.deferred, deferred);
    }

    /// Whether anybody wanted the event.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.matched_count + self.started_count + self.cancelled_count > 0
            || !self.deferred.is_empty()
    }
}

fn list<T>(list: &mut Vec<T>, item: impl FnOnce() -> T) {
    if list.len() < Verdict::MAX_LISTED {
        list.push(item());
    }
}

/// A wait that took the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Matched {
    /// The wait.
    pub subscription_id: Arc<str>,
    /// Its instance.
    pub instance_id: InstanceId,
}

/// An instance that a trigger started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedBy {
    /// The trigger.
    pub trigger: Arc<str>,
    /// The instance.
    pub instance_id: InstanceId,
}

/// An instance that a trigger cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledBy {
    /// The trigger.
    pub trigger: Arc<str>,
    /// The instance.
    pub instance_id: InstanceId,
}

/// An instance that begins later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deferred {
    /// The trigger.
    pub trigger: Arc<str>,
    /// The instance.
    pub instance_id: InstanceId,
    /// When it begins, as far as is known now.
    pub until: Timestamp,
}

/// A trigger that wanted the event and failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerFailed {
    /// The trigger.
    pub trigger: Arc<str>,
    /// How.
    pub error: Failure,
}
