//! What is sent to an instance: events, signals and messages.
//!
//! Three kinds that never meet: a wait hears only its own. An event is heard by every open wait that
//! matches; a signal or a message by exactly one, the oldest.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::history::StepKind;
use crate::id::InstanceId;
use crate::json::Json;
use crate::status::words;
use crate::time::Timestamp;
use crate::trace::Trace;

words! {
    /// What was sent.
    Kind, "kind", {
        /// By type, to every wait that matches.
        Event = "event",
        /// By name, to one wait; always queued.
        Signal = "signal",
        /// By topic, from an instance or from outside, to one wait; always queued.
        Message = "message",
    }
}

impl Kind {
    /// The kind of step that waits for it.
    #[must_use]
    pub fn wait(self) -> StepKind {
        match self {
            Self::Event => StepKind::Event,
            Self::Signal => StepKind::Signal,
            Self::Message => StepKind::Message,
        }
    }
}

words! {
    /// What happens to an event that nobody waits for.
    Buffer, "buffer policy", {
        /// The newest of its type is kept; it replaces the one before.
        Latest = "latest",
        /// All are kept, first in, first out.
        Queue = "queue",
        /// It is dropped.
        None = "none",
    }
}

/// What to answer for an instance that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTerminal {
    /// [`crate::Error::NotRunning`].
    #[default]
    Error,
    /// Accepted, and nothing comes of it.
    Ignore,
}

/// Something on its way to an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The instance.
    pub to: InstanceId,
    /// What it is.
    pub kind: Kind,
    /// Its type, name or topic.
    pub name: Arc<str>,
    /// Its payload; absent is not the same as `null`.
    pub payload: Option<Json>,
    /// Its id, chosen before the first try. The same id again to the same instance is answered as
    /// the first time.
    pub id: Arc<str>,
    /// The instance that sent it.
    pub source: Option<Arc<str>>,
    /// What to answer for an instance that has ended.
    pub on_terminal: OnTerminal,
    /// Not to be seen before.
    pub visible_at: Option<Timestamp>,
    /// Whether it may resume a wait that is open; if not, it is looked at when the instance next
    /// runs for another reason.
    pub wake: bool,
    /// What happens to it when nobody waits.
    pub buffer: Buffer,
    /// The trace it belongs to; see [`crate::trace`].
    pub trace: Option<Trace>,
    /// Why its type or payload is not acceptable, if so. Checked outside the store, answered in the
    /// order of the rules.
    pub refused: Option<String>,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    /// The id of what was sent.
    pub event_id: Arc<str>,
    /// How many waits it fulfilled.
    pub delivered: u32,
    /// Whether it was kept for a later wait.
    pub buffered: bool,
}

/// An event, signal or message as a workflow receives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event<T> {
    /// Its id.
    pub id: String,
    /// Its type, name or topic.
    #[serde(rename = "type")]
    pub event_type: String,
    /// Its payload. An absent one reads as `None` when `T` is an `Option`.
    pub payload: T,
    /// The instance that sent it, or the source of a published event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was accepted; of a published event, when it happened.
    #[serde(rename = "time", with = "crate::time::iso")]
    pub received_at: Timestamp,
}

/// What an instance accepted and has not consumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffered {
    /// Its place in the order of acceptance, over all instances of a store.
    pub key: i64,
    /// Its id.
    pub id: Arc<str>,
    /// What it is.
    pub kind: Kind,
    /// Its type, name or topic.
    pub name: Arc<str>,
    /// Its payload.
    pub payload: Option<Json>,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// Not to be seen before.
    pub visible_at: Option<Timestamp>,
    /// The instance that sent it, or the source of a published event.
    pub source: Option<Arc<str>>,
    /// What happens to it when a newer one comes.
    pub buffer: Buffer,
    /// The trace it belongs to; see [`crate::trace`].
    pub trace: Option<Trace>,
    /// Where it stands in the event log, if it was published.
    pub log: Option<Place>,
}

/// The place of a published event in the log, and what only published events say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub seq: i64,
    /// When it happened, as its source says.
    pub time: Option<Timestamp>,
    /// What it is about.
    pub subject: Option<Arc<str>>,
    /// What it belongs to.
    pub correlation_id: Option<Arc<str>>,
}

impl<T> Event<T> {
    /// An event to be published; its id and time are chosen then.
    pub fn new(event_type: impl Into<String>, payload: T) -> Self {
        let (id, event_type, received_at) = (String::new(), event_type.into(), Timestamp(0));
        Self { id, event_type, payload, source: None, received_at }
    }

    /// With this id: published again from the same source, it is the same event.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// From this source.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl Buffered {
    /// When it happened, or was accepted if nobody says.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.log.as_ref().and_then(|place| place.time).unwrap_or(self.received_at)
    }
}
