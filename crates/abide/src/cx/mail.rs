//! Looking without waiting, and sending to other instances.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::event::{Buffer, Delivered, Delivery, Event, Kind, OnTerminal};
use crate::id::InstanceId;
use crate::json::Json;
use crate::pattern;
use crate::run::OpId;
use crate::time::Timestamp;
use crate::trace;

use super::asked::Asked;
use super::{Cx, wait};

/// A look for a signal or a message that is already there; see [`Cx::try_signal`].
#[must_use = "a look does nothing unless awaited"]
pub struct Take<T> {
    asked: Asked,
    kind: Kind,
    pattern: Arc<str>,
    payload: PhantomData<fn() -> T>,
}

impl<T> Take<T> {
    pub(super) fn new(cx: &Cx, step: &str, kind: Kind) -> Self {
        let asked = Asked::new(cx, cx.use_name(step));
        Self { asked, kind, pattern: step.into(), payload: PhantomData }
    }

    /// The signal's name or the topic. Without this it is the name of the step.
    pub fn on(mut self, pattern: impl AsRef<str>) -> Self {
        self.pattern = pattern.as_ref().into();
        self
    }
}

impl<T> Unpin for Take<T> {}

impl<T: DeserializeOwned> Future for Take<T> {
    type Output = Result<Option<Event<T>>>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { asked, kind, pattern, .. } = self.get_mut();
        let found = asked.poll_value(task, |cx, name| {
            Ok(cx.resident.state.lock().begin_take(name, *kind, pattern))
        });
        found.map(|found| {
            let found = found?;
            if found.as_str() == "null" { Ok(None) } else { wait::event(&found).map(Some) }
        })
    }
}

/// A message or an event to another instance; see [`Cx::send`] and [`Cx::send_event`].
#[must_use = "a message is not sent unless awaited"]
pub struct Message {
    asked: Asked,
    letter: Letter,
}

/// What the message says and to whom.
struct Letter {
    to: InstanceId,
    kind: Kind,
    topic: Arc<str>,
    payload: Result<Json>,
    id: Option<Arc<str>>,
    on_terminal: OnTerminal,
    visible_at: Option<Timestamp>,
}

impl Message {
    pub(super) fn new(
        cx: &Cx,
        to: &InstanceId,
        kind: Kind,
        topic: &str,
        payload: &impl Serialize,
    ) -> Self {
        let asked = Asked::new(cx, cx.use_name(&format!("send {topic}")));
        let (to, topic, payload) = (to.clone(), topic.into(), Json::encode(payload));
        let letter = Letter {
            to,
            kind,
            topic,
            payload,
            id: None,
            on_terminal: OnTerminal::Error,
            visible_at: None,
        };
        Self { asked, letter }
    }

    /// With this id in place of that of the step: the receiver takes the same id once.
    pub fn id(mut self, id: &str) -> Self {
        self.letter.id = Some(id.into());
        self
    }

    /// What to answer when the receiver has ended.
    pub fn on_terminal(mut self, on_terminal: OnTerminal) -> Self {
        self.letter.on_terminal = on_terminal;
        self
    }

    /// Not to be seen before this moment.
    pub fn visible_at(mut self, at: Timestamp) -> Self {
        self.letter.visible_at = Some(at);
        self
    }
}

impl Letter {
    fn begin(&self, cx: &Cx, name: &Arc<str>) -> Result<OpId> {
        pattern::check(&self.topic)?;
        let payload = self.payload.as_ref().map_err(Clone::clone)?;
        cx.check_size("the message", payload)?;
        let sender = &cx.resident;
        let delivery = || Delivery {
            to: self.to.clone(),
            kind: self.kind,
            name: Arc::clone(&self.topic),
            payload: Some(payload.clone()),
            // The same message of the same step, however often it is tried.
            id: self
                .id
                .clone()
                .unwrap_or_else(|| format!("{}/{}/{name}", sender.id, sender.run).into()),
            source: Some(sender.id.as_str().into()),
            on_terminal: self.on_terminal,
            visible_at: self.visible_at,
            wake: true,
            trace: trace::current(),
            buffer: if self.kind == Kind::Event { Buffer::Latest } else { Buffer::Queue },
            refused: None,
        };
        Ok(sender.state.lock().begin_send(name, delivery))
    }
}

impl Future for Message {
    type Output = Result<Delivered>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { asked, letter } = self.get_mut();
        let answer = asked.poll_value(task, |cx, name| letter.begin(cx, name));
        answer.map(|answer| answer?.decode())
    }
}
