//! Looking without waiting, and sending to other instances.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::event::{Buffer, Delivered, Delivery, Event, Kind, OnTerminal};
use crate::id::InstanceId;
use crate::json::Json;
use crate::run::OpId;

use super::{Cx, wait};

/// A look for a signal or a message that is already there; see [`Cx::try_signal`].
#[must_use = "a look does nothing unless awaited"]
pub struct Take<T> {
    cx: Cx,
    name: Result<Arc<str>>,
    kind: Kind,
    pattern: Arc<str>,
    op: Option<OpId>,
    payload: PhantomData<fn() -> T>,
}

impl<T> Take<T> {
    pub(super) fn new(cx: &Cx, step: &str, kind: Kind) -> Self {
        let (name, pattern) = (cx.use_name(step), step.into());
        Self { cx: cx.clone(), name, kind, pattern, op: None, payload: PhantomData }
    }

    /// The signal's name or the topic. Without this it is the name of the step.
    pub fn on(mut self, pattern: impl AsRef<str>) -> Self {
        self.pattern = pattern.as_ref().into();
        self
    }

    fn begin(&mut self) -> Result<OpId> {
        if let Some(op) = self.op {
            return Ok(op);
        }
        self.cx.resident.check_current()?;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        let op = self.cx.resident.state.lock().begin_take(name, self.kind, &self.pattern);
        self.op = Some(op);
        Ok(op)
    }
}

impl<T> Unpin for Take<T> {}

impl<T: DeserializeOwned> Future for Take<T> {
    type Output = Result<Option<Event<T>>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let op = match self.begin() {
            Ok(op) => op,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let outcome = self.cx.resident.state.lock().poll(op, task.waker());
        let Some(outcome) = outcome else { return Poll::Pending };
        self.op = None;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        let found = outcome.map_err(|failure| Error::from_step(name, failure))?;
        if found.as_str() == "null" {
            return Poll::Ready(Ok(None));
        }
        Poll::Ready(wait::event(&found).map(Some))
    }
}

impl<T> Drop for Take<T> {
    fn drop(&mut self) {
        if let Some(op) = self.op {
            self.cx.resident.state.lock().dropped(op);
        }
    }
}

/// A message to another instance; see [`Cx::send`].
#[must_use = "a message is not sent unless awaited"]
pub struct Message {
    cx: Cx,
    name: Result<Arc<str>>,
    to: InstanceId,
    topic: Arc<str>,
    payload: Result<Json>,
    op: Option<OpId>,
}

impl Message {
    pub(super) fn new(cx: &Cx, to: &InstanceId, topic: &str, payload: &impl Serialize) -> Self {
        let name = cx.use_name(&format!("send {topic}"));
        let payload = Json::encode(payload);
        Self { cx: cx.clone(), name, to: to.clone(), topic: topic.into(), payload, op: None }
    }

    fn begin(&mut self) -> Result<OpId> {
        if let Some(op) = self.op {
            return Ok(op);
        }
        let resident = &self.cx.resident;
        resident.check_current()?;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        let payload = self.payload.as_ref().map_err(Clone::clone)?;
        self.cx.check_size("the message", payload)?;
        let delivery = || Delivery {
            to: self.to.clone(),
            kind: Kind::Message,
            name: Arc::clone(&self.topic),
            payload: Some(payload.clone()),
            // The same message of the same step, however often it is tried.
            id: format!("{}/{}/{name}", resident.id, resident.run).into(),
            source: Some(resident.id.clone()),
            on_terminal: OnTerminal::Error,
            visible_at: None,
            wake: true,
            buffer: Buffer::Queue,
            refused: None,
        };
        let op = resident.state.lock().begin_send(name, delivery);
        self.op = Some(op);
        Ok(op)
    }
}

impl Future for Message {
    type Output = Result<Delivered>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let op = match self.begin() {
            Ok(op) => op,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let outcome = self.cx.resident.state.lock().poll(op, task.waker());
        let Some(outcome) = outcome else { return Poll::Pending };
        self.op = None;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        let answer = outcome.map_err(|failure| Error::from_step(name, failure))?;
        Poll::Ready(answer.decode())
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(op) = self.op {
            self.cx.resident.state.lock().dropped(op);
        }
    }
}
