//! One workflow that runs all documents.
//!
//! A document is a list of steps and a place in it. Everything durable is the [`abide::Cx`]'s: steps,
//! waits, sleeps and children of a document are ordinary ones, under the ids that the document gives
//! them, so a replay finds its way through the document again by what was recorded.

mod branch;
mod effect;
mod exchange;
mod frame;
mod list;
mod missing;
mod perform;
mod read;
mod snapshot;
mod undo;
mod wait;

use std::sync::Arc;

use abide::{Cx, Error, Failure, Workflow};
use serde_json::Value;

use crate::equipment::Equipment;
use crate::flow::Flow;
use frame::Frame;

pub(crate) use frame::unresolved;
pub(crate) use snapshot::Snapshot;

/// Why a list of steps does not go on.
pub(crate) enum Stop {
    /// The workflow ends with this value.
    Return(Value),
    /// The workflow fails.
    Fail(Error),
}

/// Why a step has no output.
pub(crate) enum Trouble {
    /// The list it stands in does not go on.
    Stop(Stop),
    /// It could not even begin.
    Unready(Failure),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Stop(Stop::Fail(error))
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Unready(failure)
    }
}

/// The workflow of a document, in one of its versions.
#[must_use]
pub fn workflow(flow: &Arc<Flow>, version: u32, equipment: &Arc<Equipment>) -> Workflow {
    let (name, flow_too, equipment) = (flow.name.clone(), Arc::clone(flow), Arc::clone(equipment));
    let run = move |cx: Cx, input: Value| {
        let (flow, equipment) = (Arc::clone(&flow_too), Arc::clone(&equipment));
        async move { run(cx, input, flow, equipment).await }
    };
    let mut workflow = Workflow::new(name, run).version(version);
    if let Some(schema) = &flow.input {
        workflow = workflow.input_schema(schema.clone());
    }
    for event in &flow.events {
        let schema = event.schema.clone().unwrap_or(Value::Bool(true));
        workflow = workflow.event_schema(&event.event_type, event.buffer, schema);
    }
    // Where events are declared, those that its own steps wait for count as declared, too.
    let awaited = if flow.events.is_empty() { Vec::new() } else { flow.awaited() };
    awaited.iter().fold(workflow, |workflow, pattern| workflow.takes(pattern))
}

async fn run(
    cx: Cx,
    input: Value,
    flow: Arc<Flow>,
    equipment: Arc<Equipment>,
) -> Result<Value, Error> {
    let frame = Frame::new(cx, input, Arc::clone(&flow), equipment);
    frame.begin_context()?;
    let last = match list::run(&frame, &flow.steps, true).await {
        Ok(last) => last,
        Err(Stop::Return(value)) => value,
        Err(Stop::Fail(error)) => return Err(error),
    };
    match &flow.output {
        Some(output) => frame.render(output, "output").map_err(Error::Failed),
        None => Ok(last),
    }
}
