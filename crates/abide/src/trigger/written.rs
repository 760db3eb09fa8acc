//! A trigger as somebody wrote it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;

words! {
    /// What a trigger does.
    TriggerAction, "trigger action", {
        /// Starts an instance.
        Start = "start",
        /// Terminates the instances of its workflow that have the event's correlation id.
        Cancel = "cancel",
    }
}

/// Starts or cancels instances when an event is published. Expressions see `event`.
///
/// ```
/// use abide::Trigger;
/// use serde_json::json;
///
/// let mut trigger = Trigger::start("order", "order.placed");
/// trigger.filter_condition = Some("event.payload.total >= 100".into());
/// trigger.input_mapping = Some(json!({"orderId": "id", "amount": "total"}));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trigger {
    /// The workflow whose instances it starts or cancels.
    pub workflow: String,
    /// The event types that it hears.
    pub event_pattern: String,
    /// What it does.
    #[serde(default = "start")]
    pub action: TriggerAction,
    /// Only events of which this is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_condition: Option<String>,
    /// The input of the instance: plain texts are dotted paths in the payload, `${…}` is an
    /// expression, anything else stands for itself. Without a mapping the input is `{eventId,
    /// eventPattern, eventPayload}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_mapping: Option<Value>,
    /// An expression whose value is the correlation id; without one it is the event's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_key: Option<String>,
    /// Whether it does anything.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Those with a lower one come first; among equals the name decides.
    #[serde(default)]
    pub priority: i32,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Only the last of a burst starts an instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce: Option<Debounce>,
    /// Only so many start in a period; the others wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
    /// Several events start one instance with the array of their inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
}

/// Only the last of a burst starts an instance, once it has been quiet for a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Debounce {
    /// How long it has to be quiet.
    pub period: String,
    /// No later than so long after the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_wait: Option<String>,
    /// An expression; events with different values don't know of each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Only so many start in a period; the others wait for theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Throttle {
    /// How many start in a period.
    pub limit: u32,
    /// How long that is.
    pub period: String,
    /// An expression; events with different values don't know of each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Several events start one instance with the array of their inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Batch {
    /// It starts when there are so many.
    pub max_size: u32,
    /// Or when the first has waited for so long.
    pub period: String,
    /// An expression; events with different values don't know of each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Trigger {
    /// Starts an instance of a workflow with every event of a pattern.
    pub fn start(workflow: impl Into<String>, event_pattern: impl Into<String>) -> Self {
        Self {
            workflow: workflow.into(),
            event_pattern: event_pattern.into(),
            action: TriggerAction::Start,
            filter_condition: None,
            input_mapping: None,
            correlation_key: None,
            enabled: true,
            priority: 0,
            description: None,
            debounce: None,
            throttle: None,
            batch: None,
        }
    }

    /// Cancels the instances of a workflow that have the correlation id of the event.
    pub fn cancel(workflow: impl Into<String>, event_pattern: impl Into<String>) -> Self {
        Self { action: TriggerAction::Cancel, ..Self::start(workflow, event_pattern) }
    }
}

fn start() -> TriggerAction {
    TriggerAction::Start
}

fn yes() -> bool {
    true
}
