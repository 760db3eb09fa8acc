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
use crate::run::OpId;

use super::Cx;
use super::asked::Asked;

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
    asked: Asked,
    request: Request,
    child: Option<InstanceId>,
}

/// The child that is wanted.
struct Request {
    workflow: Arc<str>,
    input: Result<Json>,
    id: Option<Result<InstanceId>>,
    timeout: Option<Result<Duration>>,
}

impl<O> Child<O> {
    pub(super) fn new(cx: &Cx, workflow: &str, input: &impl Serialize) -> Self {
        let request = Request {
            workflow: workflow.into(),
            input: Json::encode(input),
            id: None,
            timeout: None,
        };
        let start = Start { asked: Asked::new(cx, cx.use_name(workflow)), request, child: None };
        Self { start, output: PhantomData }
    }

    /// The child's id; generated when not given.
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.start.request.id = Some(InstanceId::new(id));
        self
    }

    /// The child fails with `WORKFLOW_TIMEOUT` when it takes longer.
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.start.request.timeout = Some(timeout.into_duration().map_err(|refused| {
            Error::Invalid { what: "child timeout".into(), message: refused.to_string() }
        }));
        self
    }

    /// Starts the child and does not wait for it.
    pub fn detached(self) -> Detached {
        Detached(self.start)
    }
}

impl Start {
    fn poll(&mut self, kind: StepKind, task: &mut Context<'_>) -> Poll<Result<Json>> {
        let Self { asked, request, child } = self;
        let outcome = asked.poll(task, |cx, name| {
            let (op, id) = request.begin(cx, name, kind)?;
            *child = id;
            Ok(op)
        });
        outcome.map(|outcome| outcome?.map_err(|failure| self.failed(failure)))
    }

    fn failed(&self, failure: Failure) -> Error {
        let child = self.child.as_ref().map(ToString::to_string);
        let child = child.unwrap_or_else(|| self.request.workflow.to_string());
        Error::ChildFailed { child, failure }
    }
}

impl Request {
    fn begin(
        &self,
        cx: &Cx,
        name: &Arc<str>,
        kind: StepKind,
    ) -> Result<(OpId, Option<InstanceId>)> {
        // What was started in an earlier life needs nobody here who could start it.
        let child = if cx.resident.state.lock().is_recorded(name) {
            None
        } else {
            let (step, awaited) = (Arc::clone(name), kind == StepKind::Child);
            let trace = cx.resident.trace_of(name, 1);
            let instance = NewInstance { trace, ..self.new_instance(cx)? };
            Some(NewChild { instance, step, awaited })
        };
        Ok(cx.resident.state.lock().begin_child(name, kind, child))
    }

    fn new_instance(&self, cx: &Cx) -> Result<NewInstance> {
        let env = &cx.resident.env;
        let input = self.input.as_ref().map_err(Clone::clone)?.clone();
        cx.check_size("the child's input", &input)?;
        let workflow = env.registry.latest(&self.workflow)?;
        let input = workflow.admit(input)?;
        Ok(NewInstance {
            id: match &self.id {
                Some(id) => id.clone()?,
                None => env.generate_id(),
            },
            version: workflow.version,
            workflow: Arc::clone(&self.workflow),
            input,
            correlation_id: None,
            tags: Vec::new(),
            start_at: None,
            timeout: self.timeout.clone().transpose()?,
            consumes: None,
            trace: None,
            first: None,
        })
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
