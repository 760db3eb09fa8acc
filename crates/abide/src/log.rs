//! The event log: what was published, in the order of acceptance.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::event::{Buffer, Buffered, Kind, Place};
use crate::id::InstanceId;
use crate::instance::NewInstance;
use crate::publication::Publication;
use crate::time::Timestamp;
use crate::verdict::{TriggerFailed, Verdict};
use crate::window::Windowing;

/// An event on its way into the log, with what triggers make of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Publish {
    /// The event, with its id and time.
    pub event: Arc<Publication>,
    /// Whom it cancels, in this order.
    pub cancels: Vec<CancelBy>,
    /// What it starts, in this order.
    pub starts: Vec<StartBy>,
    /// Triggers that wanted it and failed.
    pub failed: Vec<TriggerFailed>,
    /// Only tell what would happen.
    pub dry_run: bool,
    /// Why its payload is not acceptable, if so. Checked outside the store, answered in the order of
    /// the rules.
    pub refused: Option<String>,
}

impl Publish {
    /// An event that no trigger wants.
    #[must_use]
    pub fn new(event: Publication) -> Self {
        Self {
            event: Arc::new(event),
            cancels: Vec::new(),
            starts: Vec::new(),
            failed: Vec::new(),
            dry_run: false,
            refused: None,
        }
    }
}

/// A trigger cancels the instances of a workflow that have the same correlation id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelBy {
    /// The trigger.
    pub trigger: Arc<str>,
    /// Instances of this workflow.
    pub workflow: Arc<str>,
    /// With this correlation id.
    pub correlation_id: String,
}

impl CancelBy {
    /// What the instances are told.
    #[must_use]
    pub fn reason(&self, event: &Publication) -> String {
        let id = event.id.as_deref().unwrap_or_default();
        format!("cancelled by trigger {:?}, event {id:?}", self.trigger)
    }
}

/// A trigger starts an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct StartBy {
    /// The trigger.
    pub trigger: Arc<str>,
    /// The instance, without a first transition.
    pub instance: NewInstance,
    /// Whether it may have to wait for others, or join them.
    pub window: Option<Windowing>,
}

/// An event in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Its place.
    pub seq: i64,
    /// When it was accepted: what look-back and retention go by.
    pub accepted_at: Timestamp,
    /// The event.
    pub event: Arc<Publication>,
}

impl Published {
    /// The event as an instance gets it, to be kept under this key.
    #[must_use]
    pub fn sent(&self, key: i64) -> Buffered {
        let event = &*self.event;
        let shared = |text: &Option<String>| text.as_deref().map(Arc::from);
        Buffered {
            key,
            id: event.id.as_deref().unwrap_or_default().into(),
            kind: Kind::Event,
            name: event.event_type.as_str().into(),
            payload: event.payload.clone(),
            received_at: self.accepted_at,
            visible_at: None,
            source: shared(&event.source),
            // Should a wait let it go again, it is not in the way of others of its type.
            buffer: Buffer::Queue,
            trace: event.trace(),
            log: Some(Place {
                seq: self.seq,
                time: event.time,
                subject: shared(&event.subject),
                correlation_id: shared(&event.correlation_id),
            }),
        }
    }
}

/// An event in the log, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// The event.
    pub published: Published,
    /// What was answered when it was accepted.
    pub verdict: Verdict,
    /// Whether anybody wanted it, then or later.
    pub wanted: bool,
}

/// An instance that took a published event, or was started by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Taker {
    /// The instance.
    pub instance_id: InstanceId,
    /// When.
    pub taken_at: Timestamp,
}

/// Which part of the log. Everything given must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter {
    /// With this id.
    pub id: Option<String>,
    /// Whose type matches this pattern.
    pub event_type: Option<String>,
    /// From this source.
    pub source: Option<String>,
    /// That nobody wanted so far.
    pub unwanted: bool,
    /// Accepted at this moment or later.
    pub from: Option<Timestamp>,
    /// Accepted before this moment.
    pub to: Option<Timestamp>,
    /// With a higher number, or with a lower one when the newest come first.
    pub after: Option<i64>,
    /// The newest first.
    pub newest_first: bool,
    /// At most so many.
    pub limit: usize,
}

impl Default for LogFilter {
    fn default() -> Self {
        Self {
            id: None,
            event_type: None,
            source: None,
            unwanted: false,
            from: None,
            to: None,
            after: None,
            newest_first: false,
            limit: 100,
        }
    }
}

impl LogFilter {
    /// Whether an event is wanted: what the SQL of a store must agree with.
    #[must_use]
    pub fn matches(&self, logged: &Logged) -> bool {
        let Published { seq, accepted_at, event } = &logged.published;
        let beyond = |after: i64| if self.newest_first { *seq < after } else { *seq > after };
        self.id.as_ref().is_none_or(|id| event.id.as_ref() == Some(id))
            && self
                .event_type
                .as_ref()
                .is_none_or(|wanted| crate::pattern::matches(wanted, &event.event_type))
            && self.source.as_ref().is_none_or(|source| event.source.as_ref() == Some(source))
            && (!self.unwanted || !logged.wanted)
            && self.from.is_none_or(|from| *accepted_at >= from)
            && self.to.is_none_or(|to| *accepted_at < to)
            && self.after.is_none_or(beyond)
    }
}

/// From where to where the log reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSpan {
    /// The number of the oldest event that is kept, if any is.
    pub oldest: Option<i64>,
    /// The number of the last event that was accepted; 0 when there never was one.
    pub newest: i64,
}

/// How much of the log is kept. What any of these says may go, goes, the oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogRetention {
    /// What was accepted before this moment.
    pub before: Option<Timestamp>,
    /// What is beyond so many bytes of payload.
    pub max_bytes: Option<u64>,
    /// What is beyond so many of one type.
    pub max_per_type: Option<u64>,
}

/// From when on published events count for a wait. Compared with their acceptance, never with the
/// time that an event says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// Since the run of the instance was accepted.
    #[default]
    Start,
    /// From when the wait is reached.
    Now,
    /// Since this moment.
    At(Timestamp),
    /// Since so long before the wait is reached.
    Before(Duration),
}
