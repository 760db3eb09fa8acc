//! Instances that an instance starts: created in the same commit as the step that asks for them.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::history::StepKind;
use crate::id::InstanceId;
use crate::instance::{NewChild, NewInstance};
use crate::json::Json;
use crate::run::{OpId, Resident};

use super::Cx;

/// A child that is awaited; see [`Cx::child`].
///
/// A child that fails or is terminated is [`Error::ChildFailed`].
#[must_use = "a child is not started unless awaited"]
pub struct Child<O> {
    start: Start,
    output: PhantomData<fn() -> O>,
}

/// A child that is only started; awaiting it gives its id.
#[must_use = "a child is not started unless awaited"]
pub struct Detached(Start);

/// What both have in common.
struct Start {
    cx: Cx,
    workflow: Arc<str>,
    input: Result<Json>,
    id: Option<Result<InstanceId>>,
    timeout: Option<Result<Duration>>,
    name: Result<Arc<str>>,
    op: Option<OpId>,
    child: Option<InstanceId>,
}

impl<O> Child<O> {
    pub(super) fn new(cx: &Cx, workflow: &str, input: &impl Serialize) -> Self {
        let start = Start {
            cx: cx.clone(),
            workflow: workflow.into(),
            input: Json::encode(input),
            id: None,
            timeout: None,
            name: cx.use_name(workflow),
            op: None,
            child: None,
        };
        Self { start, output: PhantomData }
    }

    /// The child's id; generated when not given.
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.start.id = Some(InstanceId::new(id));
        self
    }

    /// The child fails with `WORKFLOW_TIMEOUT` when it takes longer.
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.start.timeout = Some(timeout.into_duration().map_err(|refused| Error::Invalid {
            what: "child timeout".into(),
            message: refused.to_string(),
        }));
        self
    }

    /// Starts the child and does not wait for it.
    pub fn detached(self) -> Detached {
        Detached(self.start)
    }
}

impl Start {
    fn begin(&mut self, kind: StepKind) -> Result<OpId> {
        if let Some(op) = self.op {
            return Ok(op);
        }
        let resident: &Resident = &self.cx.resident;
        resident.check_current()?;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        // What was started in an earlier life needs nobody here who could start it.
        let child = if resident.state.lock().is_recorded(name) {
            None
        } else {
            let (step, awaited) = (Arc::clone(name), kind == StepKind::Child);
            Some(NewChild { instance: self.new_instance()?, step, awaited })
        };
        let (op, id) = resident.state.lock().begin_child(name, kind, child);
        self.op = Some(op);
        self.child = id;
        Ok(op)
    }

    fn new_instance(&self) -> Result<NewInstance> {
        let env = &self.cx.resident.env;
        let input = self.input.as_ref().map_err(Clone::clone)?.clone();
        self.cx.check_size("the child's input", &input)?;
        Ok(NewInstance {
            id: match &self.id {
                Some(id) => id.clone()?,
                None => env.generate_id(),
            },
            version: env.registry.latest(&self.workflow)?.version,
            workflow: Arc::clone(&self.workflow),
            input,
            correlation_id: None,
            tags: Vec::new(),
            start_at: None,
            timeout: self.timeout.clone().transpose()?,
            first: None,
        })
    }

    fn poll(&mut self, kind: StepKind, task: &mut Context<'_>) -> Poll<Result<Json>> {
        let op = match self.begin(kind) {
            Ok(op) => op,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let outcome = self.cx.resident.state.lock().poll(op, task.waker());
        let Some(outcome) = outcome else { return Poll::Pending };
        self.op = None;
        Poll::Ready(outcome.map_err(|failure| self.failed(failure)))
    }

    fn failed(&self, failure: Failure) -> Error {
        let child =
            self.child.as_ref().map_or_else(|| self.workflow.to_string(), ToString::to_string);
        Error::ChildFailed { child, failure }
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        if let Some(op) = self.op {
            self.cx.resident.state.lock().dropped(op);
        }
    }
}

impl<O> Unpin for Child<O> {}

impl<O: DeserializeOwned> Future for Child<O> {
    type Output = Result<O>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<O>> {
        self.start.poll(StepKind::Child, task).map(|output| output?.decode())
    }
}

impl Future for Detached {
    type Output = Result<InstanceId>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<InstanceId>> {
        self.0.poll(StepKind::Detached, task).map(|started| {
            started?;
            let unknown = || Error::corrupt("a detached child was recorded without its id");
            self.0.child.clone().ok_or_else(unknown)
        })
    }
}
