//! What is sent to an instance from outside.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::declaration::{Declarations, Taken};
use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::event::{Buffer, Delivered, Delivery, Kind, OnTerminal};
use crate::id::InstanceId;
use crate::json::Json;
use crate::pattern;
use crate::time::Timestamp;
use crate::trace;
use crate::workflow::Workflow;

use super::Inner;

/// An event, a signal or a message on its way to an instance; see [`crate::Handle::send`].
#[derive(Clone, Debug)]
#[must_use = "pass it to Handle::send"]
pub struct Outgoing {
    kind: Kind,
    name: Arc<str>,
    payload: Result<Option<Json>>,
    id: Option<Arc<str>>,
    on_terminal: OnTerminal,
    visible: Result<Visible>,
    wake: bool,
    source: Option<InstanceId>,
}

#[derive(Clone, Copy, Debug)]
enum Visible {
    Now,
    At(Timestamp),
    After(Duration),
}

impl Outgoing {
    /// An event of this type, without a payload so far.
    pub fn event(event_type: &str) -> Self {
        Self::new(Kind::Event, event_type)
    }

    /// A signal of this name.
    pub fn signal(name: &str) -> Self {
        Self::new(Kind::Signal, name)
    }

    /// A message on this topic.
    pub fn message(topic: &str) -> Self {
        Self::new(Kind::Message, topic)
    }

    fn new(kind: Kind, name: &str) -> Self {
        Self {
            kind,
            name: name.into(),
            payload: Ok(None),
            id: None,
            on_terminal: OnTerminal::Error,
            visible: Ok(Visible::Now),
            wake: true,
            source: None,
        }
    }

    /// Its type, name or topic.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// With this payload. None at all is not the same as `null`.
    pub fn payload<T: Serialize + ?Sized>(mut self, payload: &T) -> Self {
        self.payload = Json::encode(payload).map(Some);
        self
    }

    /// With this id: sent again, it is answered as the first time. Generated when not given.
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.into());
        self
    }

    /// An instance that has ended is no error.
    pub fn ignore_terminal(mut self) -> Self {
        self.on_terminal = OnTerminal::Ignore;
        self
    }

    /// Not to be seen before this moment.
    pub fn visible_at(mut self, at: Timestamp) -> Self {
        self.visible = Ok(Visible::At(at));
        self
    }

    /// Not to be seen for so long.
    pub fn delay(mut self, delay: impl IntoDuration) -> Self {
        self.visible = match delay.into_duration() {
            Ok(delay) => Ok(Visible::After(delay)),
            Err(refused) => {
                Err(Error::Invalid { what: "delay".into(), message: refused.to_string() })
            }
        };
        self
    }

    /// Stored without resuming a wait that is open.
    pub fn without_waking(mut self) -> Self {
        self.wake = false;
        self
    }

    /// On behalf of this instance.
    pub fn from_instance(mut self, source: InstanceId) -> Self {
        self.source = Some(source);
        self
    }

    fn delivery(
        self,
        inner: &Inner,
        to: &InstanceId,
        workflow: Option<&Workflow>,
    ) -> Result<Delivery> {
        pattern::check(&self.name)?;
        let payload = self.payload?;
        let limit = inner.env.config.payload_max;
        if let Some(size) = payload.as_ref().map(Json::size).filter(|size| *size > limit) {
            return Err(Error::TooLarge { what: "the payload".into(), size, limit });
        }
        let clock = &inner.env.clock;
        let nothing = Declarations::default();
        let declared = workflow.map_or(&nothing, |known| &known.declared);
        let (taken, refused) = match declared.take(self.kind, &self.name, payload) {
            Ok(taken) => (taken, None),
            Err(refused) => (Taken { payload: None, buffer: Buffer::None }, Some(refused)),
        };
        Ok(Delivery {
            to: to.clone(),
            kind: self.kind,
            payload: taken.payload,
            id: self.id.unwrap_or_else(|| format!("evt_{}", clock.uuid().simple()).into()),
            source: self.source.map(|id| id.as_str().into()),
            on_terminal: self.on_terminal,
            visible_at: match self.visible? {
                Visible::Now => None,
                Visible::At(at) => Some(at),
                Visible::After(delay) => Some(clock.now().after(delay)),
            },
            wake: self.wake,
            buffer: taken.buffer,
            trace: trace::current(),
            refused,
            name: self.name,
        })
    }
}

/// Sends to an instance, by the declarations of its workflow.
pub(super) async fn send(inner: &Inner, to: &InstanceId, outgoing: Outgoing) -> Result<Delivered> {
    let registry = &inner.env.registry;
    // What an instance runs never changes, so this need not be one transaction with the delivery;
    // and where nothing is declared it need not be known.
    let instance = if registry.declares() { inner.store.instance(to).await? } else { None };
    let workflow = instance.and_then(|found| registry.get(&found.workflow, found.version));
    let delivery = outgoing.delivery(inner, to, workflow.as_deref())?;
    inner.store.deliver(delivery).await
}
