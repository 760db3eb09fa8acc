//! One execution of a workflow, as the store keeps it.

use std::sync::Arc;
use std::time::Duration;

use crate::chunk::NewChunk;
use crate::event::{Delivery, Kind};
use crate::failure::Failure;
use crate::history::Entries;
use crate::id::{InstanceId, InstanceKey};
use crate::json::Json;
use crate::log::Publish;
use crate::status::{Phase, Status};
use crate::time::Timestamp;
use crate::trace::Trace;
use crate::wait::NewWait;

/// A stored instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The store's own name for it.
    pub key: InstanceKey,
    /// Its id.
    pub id: InstanceId,
    /// The workflow it runs.
    pub workflow: Arc<str>,
    /// The version it began with.
    pub version: u32,
    /// Its current run, from 1.
    pub run: u32,
    /// What it is doing underneath a pause.
    pub phase: Phase,
    /// Whether it is paused.
    pub paused: bool,
    /// Why it has not begun, while it is queued.
    pub queued_reason: Option<String>,
    /// The input of the current run.
    pub input: Json,
    /// `workflow.context`, when it is no longer just the input.
    pub context: Option<Json>,
    /// The result, once completed.
    pub output: Option<Json>,
    /// How it failed or why it was terminated.
    pub error: Option<Failure>,
    /// What ties it to events and other instances.
    pub correlation_id: Option<String>,
    /// The instance that started it as its child.
    pub parent: Option<Parent>,
    /// Labels to find it by.
    pub tags: Vec<String>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When something last happened to it.
    pub updated_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// When it shall be looked at again at the latest.
    pub wake_at: Option<Timestamp>,
    /// How long a run may take, restarts beginning anew.
    pub timeout: Option<Duration>,
    /// When it fails with `WORKFLOW_TIMEOUT`.
    pub timeout_at: Option<Timestamp>,
    /// The number of the first history entry of the current run.
    pub run_seq: i64,
    /// The number the next history entry will have.
    pub next_seq: i64,
    /// The last published event before the run was accepted: what came after may be looked back to.
    pub log_from: i64,
}

impl Instance {
    /// Its status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.phase.status(self.paused)
    }
}

/// The tie of a child to the instance that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The parent.
    pub key: InstanceKey,
    /// The parent's id.
    pub id: InstanceId,
    /// The parent's run that started it: a restarted parent no longer waits for it.
    pub run: u32,
    /// The parent's step.
    pub step: Arc<str>,
    /// Whether the parent still waits for the end.
    pub awaited: bool,
}

/// An instance to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct NewInstance {
    /// Its id, chosen before the first try so that a retry is harmless.
    pub id: InstanceId,
    /// The workflow.
    pub workflow: Arc<str>,
    /// Its version.
    pub version: u32,
    /// Its input.
    pub input: Json,
    /// What ties it to events and other instances.
    pub correlation_id: Option<String>,
    /// Labels to find it by.
    pub tags: Vec<String>,
    /// Not to begin before.
    pub start_at: Option<Timestamp>,
    /// Fails with `WORKFLOW_TIMEOUT` this long after it was accepted.
    pub timeout: Option<Duration>,
    /// The published event that it was started by, and has consumed.
    pub consumes: Option<i64>,
    /// The trace it belongs to; see [`crate::trace`].
    pub trace: Option<Trace>,
    /// What the function did when it was polled ahead of this commit.
    pub first: Option<Transition>,
}

/// A child to be created with its parent's transition.
#[derive(Clone, Debug, PartialEq)]
pub struct NewChild {
    /// The child.
    pub instance: NewInstance,
    /// The parent's step.
    pub step: Arc<str>,
    /// Whether the parent waits for its end.
    pub awaited: bool,
}

/// Everything one instance wants to have happened in one commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// What goes into the history.
    pub entries: Entries,
    /// The last chunks of streaming steps that completed.
    pub chunks: Vec<NewChunk>,
    /// What it does from now on, when that changed.
    pub park: Option<Park>,
    /// Whether it pauses itself, because it can't go on without an operator.
    pub pause: bool,
    /// The new `workflow.context`, when it changed.
    pub context: Option<Json>,
    /// Steps whose waits were dropped before the workflow saw their outcome.
    pub cancels: Vec<Arc<str>>,
    /// Outputs to set, in order.
    pub outputs: Vec<(Arc<str>, Json)>,
    /// Messages to send, in order.
    pub sends: Vec<NewSend>,
    /// Events to publish, in order.
    pub publishes: Vec<NewPublish>,
    /// Looks for something already there.
    pub takes: Vec<NewTake>,
    /// Waits that were reached, in order.
    pub waits: Vec<NewWait>,
    /// Children to start.
    pub children: Vec<NewChild>,
    /// How the run ended.
    pub end: Option<End>,
}

impl Transition {
    /// Whether there is nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && self.chunks.is_empty()
            && self.park.is_none()
            && !self.pause
            && self.context.is_none()
            && self.cancels.is_empty()
            && self.outputs.is_empty()
            && self.sends.is_empty()
            && self.publishes.is_empty()
            && self.takes.is_empty()
            && self.waits.is_empty()
            && self.children.is_empty()
            && self.end.is_none()
    }
}

/// A message that a workflow sends.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSend {
    /// The step that sends it.
    pub step: Arc<str>,
    /// The message.
    pub delivery: Delivery,
}

/// An event that a workflow publishes.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPublish {
    /// The step that publishes it.
    pub step: Arc<str>,
    /// The event.
    pub publish: Publish,
}

/// A look for something already there.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTake {
    /// The step that looks.
    pub step: Arc<str>,
    /// What it takes.
    pub kind: Kind,
    /// Of which type, name or topic.
    pub pattern: Arc<str>,
}

/// A value that an instance publishes for the outside to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its key.
    pub key: Arc<str>,
    /// Its value.
    pub value: Json,
    /// When it was set last.
    pub updated_at: Timestamp,
}

/// What an instance does from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Park {
    /// Running, waiting, sleeping or queued.
    pub phase: Phase,
    /// When it wants to be woken at the latest.
    pub wake_at: Option<Timestamp>,
    /// Why it is queued.
    pub reason: Option<String>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// With a result.
    Completed(Json),
    /// With a failure.
    Errored(Failure),
    /// From outside, after compensation; with the reason.
    Terminated(Failure),
    /// By handing over to a next run with this input.
    Continued(Json),
}
