//! One execution of a workflow.

use abide::{Instance, Json, StepRecord};
use serde::Serialize;
use utoipa::ToSchema;

use super::{FailureView, Moment, StepView, WaitView};

/// An instance. Steps and waits are told of one, not in lists.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceView {
    #[schema(example = "order-42")]
    id: String,
    workflow: String,
    /// The version it began with.
    version: u32,
    /// Its current run, from 1.
    run: u32,
    /// `completed`, `errored`, `terminated`, `paused`, `queued`, `running`, `waiting` or `sleeping`.
    status: &'static str,
    /// Why it has not begun, while it is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued_reason: Option<String>,
    #[schema(value_type = Value)]
    input: Json,
    /// `workflow.context`.
    #[schema(value_type = Value)]
    context: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    output: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Vec<WaitView>>,
    created_at: Moment,
    updated_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Moment>,
    /// When it will be looked at again at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    wake_at: Option<Moment>,
    /// When it fails with `WORKFLOW_TIMEOUT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_at: Option<Moment>,
}

impl From<Instance> for InstanceView {
    fn from(instance: Instance) -> Self {
        let status = instance.status().as_str();
        Self {
            id: instance.id.as_str().to_owned(),
            workflow: instance.workflow.to_string(),
            version: instance.version,
            run: instance.run,
            status,
            queued_reason: instance.queued_reason,
            context: instance.context.unwrap_or_else(|| instance.input.clone()),
            input: instance.input,
            output: instance.output,
            error: instance.error.map(Into::into),
            correlation_id: instance.correlation_id,
            parent_id: instance.parent.map(|parent| parent.id.as_str().to_owned()),
            tags: instance.tags,
            steps: None,
            waits: None,
            created_at: instance.created_at.into(),
            updated_at: instance.updated_at.into(),
            completed_at: instance.completed_at.map(Into::into),
            wake_at: instance.wake_at.map(Into::into),
            timeout_at: instance.timeout_at.map(Into::into),
        }
    }
}

impl InstanceView {
    /// With the steps and waits of the current run.
    pub(crate) fn in_full(mut self, steps: Vec<StepRecord>, waits: Vec<WaitView>) -> Self {
        self.waits = Some(waits);
        self.steps = Some(steps.into_iter().map(Into::into).collect());
        self
    }
}
