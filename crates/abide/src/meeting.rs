//! How what is sent and what is waited for meet. Pure: stores call it while they hold the instance.
//!
//! Accepting something, reaching a wait, giving up and undoing are each one atomic decision, so a
//! wait is answered exactly once however they race: whichever commits second sees the other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::error::{Error, Result};
use crate::event::{Buffer, Buffered, Delivery, Kind, OnTerminal};
use crate::failure::Failure;
use crate::history::{Entry, EntryKind, StepKind};
use crate::id::InstanceId;
use crate::json::Json;
use crate::status::Status;
use crate::time::Timestamp;
use crate::wait::{Hears, Wait};

/// How much an instance may keep for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimit {
    /// `buffer.max`: entries.
    pub entries: usize,
    /// `buffer.maxBytes`: bytes of payload.
    pub bytes: usize,
}

impl Default for BufferLimit {
    fn default() -> Self {
        Self { entries: 1000, bytes: 16 * 1024 * 1024 }
    }
}

/// What an instance keeps for later right now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferLoad {
    /// Entries, those not yet visible included.
    pub entries: usize,
    /// Bytes of payload.
    pub bytes: usize,
}

/// What becomes of something that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// These waits are fulfilled, by place in the list.
    Fulfils(Vec<usize>),
    /// It is kept for later.
    Kept,
    /// It is kept, and replaces what is kept of its type.
    Replaces,
    /// It is kept until its time and then accepted as if it had just come.
    Later,
    /// Nobody waits and nobody wants it kept.
    Dropped,
    /// The instance has ended and the sender does not mind.
    Ignored,
}

/// Decides what becomes of a delivery that was not seen before. `waits` are the open waits of the
/// instance, oldest first, without those whose deadline has passed: they are expired before.
///
/// # Errors
/// [`Error::NotRunning`], what made the delivery unacceptable, or [`Error::BufferFull`].
pub fn accept(
    delivery: &Delivery,
    status: Status,
    waits: &[Wait],
    load: BufferLoad,
    limit: BufferLimit,
    now: Timestamp,
) -> Result<Fate> {
    if status.is_terminal() {
        return match delivery.on_terminal {
            OnTerminal::Ignore => Ok(Fate::Ignored),
            OnTerminal::Error => Err(Error::NotRunning { id: delivery.to.clone(), status }),
        };
    }
    if let Some(message) = &delivery.refused {
        let (event_type, message) = (delivery.name.to_string(), message.clone());
        return Err(Error::EventInvalid { event_type, message });
    }
    if delivery.visible_at.is_some_and(|at| at > now) {
        return room(delivery, load, limit).map(|()| Fate::Later);
    }
    let met = if delivery.wake { met_by(waits, delivery.kind, &delivery.name) } else { Vec::new() };
    if !met.is_empty() {
        return Ok(Fate::Fulfils(met));
    }
    match delivery.buffer {
        Buffer::None => Ok(Fate::Dropped),
        Buffer::Latest => room(delivery, load, limit).map(|()| Fate::Replaces),
        Buffer::Queue => room(delivery, load, limit).map(|()| Fate::Kept),
    }
}

/// Which waits something meets: an event all that hear it, a signal or message the oldest.
#[must_use]
pub fn met_by(waits: &[Wait], kind: Kind, name: &str) -> Vec<usize> {
    let heard = waits.iter().enumerate().filter(|(_, wait)| wait.hears.is_met_by(kind, name));
    let heard = heard.map(|(place, _)| place);
    match kind {
        Kind::Event => heard.collect(),
        Kind::Signal | Kind::Message => heard.take(1).collect(),
    }
}

fn room(delivery: &Delivery, load: BufferLoad, limit: BufferLimit) -> Result<()> {
    let size = delivery.payload.as_ref().map_or(0, Json::size);
    if load.entries < limit.entries && load.bytes + size <= limit.bytes {
        return Ok(());
    }
    Err(Error::BufferFull {
        id: delivery.to.clone(),
        entries: load.entries,
        bytes: load.bytes,
        limit: format!("{} entries, {} bytes (buffer.max)", limit.entries, limit.bytes),
    })
}

/// Whether a wait's deadline has passed. What was accepted before it wins, what comes after loses,
/// however late anybody looks.
#[must_use]
pub fn has_expired(wait: &Wait, now: Timestamp) -> bool {
    wait.timeout_at.is_some_and(|at| at <= now)
}

/// The history of what happens to what was sent. `entry` is one of the `event.*` kinds.
#[must_use]
pub fn of_sent(entry: EntryKind, sent: &Buffered) -> Entry {
    Entry {
        name: Some(Arc::clone(&sent.name)),
        kind: (sent.kind != Kind::Event).then(|| sent.kind.wait()),
        event_id: Some(Arc::clone(&sent.id)),
        payload: if entry == EntryKind::EventReceived { sent.payload.clone() } else { None },
        ..Entry::new(entry)
    }
}

/// A wait was met.
#[must_use]
pub fn fulfilled(wait: &Wait, by: &Buffered) -> Entry {
    let mut event = serde_json::Map::new();
    event.insert("id".into(), json!(by.id));
    event.insert("type".into(), json!(by.name));
    if let Some(source) = &by.source {
        event.insert("source".into(), json!(source));
    }
    event.insert("time".into(), json!(by.received_at));
    Entry {
        event_id: Some(Arc::clone(&by.id)),
        payload: with_payload(&event, by.payload.as_ref()),
        ..Entry::of_step(EntryKind::WaitFulfilled, &wait.step, by.kind.wait())
    }
}

/// The event as its receiver sees it, with the payload's own text.
fn with_payload(
    event: &serde_json::Map<String, serde_json::Value>,
    payload: Option<&Json>,
) -> Option<Json> {
    let mut text = serde_json::to_string(event).ok()?;
    if let Some(payload) = payload {
        text.pop();
        text.push_str(",\"payload\":");
        text.push_str(payload.as_str());
        text.push('}');
    }
    Json::from_stored(text).ok()
}

/// A wait for an output of another instance was met.
#[must_use]
pub fn output_arrived(wait: &Wait, value: &Json) -> Entry {
    Entry {
        payload: Some(value.clone()),
        ..Entry::of_step(EntryKind::WaitFulfilled, &wait.step, StepKind::Output)
    }
}

/// A wait gave up.
#[must_use]
pub fn expired(wait: &Wait) -> Entry {
    let kind = match &wait.hears {
        Hears::Sent { kind, .. } => kind.wait(),
        Hears::Output { .. } => StepKind::Output,
    };
    let timeout = wait.timeout_at.unwrap_or(wait.created_at).since(wait.created_at);
    let error = timed_out(&wait.step, wait.hears.pattern(), timeout, wait.timeout_at);
    Entry { error: Some(error), ..Entry::of_step(EntryKind::WaitExpired, &wait.step, kind) }
}

fn timed_out(step: &str, pattern: &str, timeout: Duration, at: Option<Timestamp>) -> Failure {
    let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    Failure::new("EVENT_TIMEOUT", format!("Event timeout: {pattern:?} did not come within {ms} ms"))
        .in_step(step)
        .with_details(&json!({
            "eventType": pattern,
            "timeoutMs": ms,
            "timeoutAt": at.map(|at| at.to_string()),
        }))
}

/// A wait was cancelled by the end of its run.
#[must_use]
pub fn cancelled(wait: &Wait) -> Entry {
    let kind = match &wait.hears {
        Hears::Sent { kind, .. } => kind.wait(),
        Hears::Output { .. } => StepKind::Output,
    };
    Entry::of_step(EntryKind::WaitCancelled, &wait.step, kind)
}

/// What a delivery looks like once it is kept.
#[must_use]
pub fn kept(delivery: &Delivery, key: i64, now: Timestamp) -> Buffered {
    Buffered {
        key,
        id: Arc::clone(&delivery.id),
        kind: delivery.kind,
        name: Arc::clone(&delivery.name),
        payload: delivery.payload.clone(),
        received_at: now,
        visible_at: delivery.visible_at.filter(|at| *at > now),
        source: delivery.source.clone(),
        buffer: delivery.buffer,
    }
}

/// What a message that a workflow sent came to: the entry that settles its step.
#[must_use]
pub fn sent(step: &Arc<str>, to: &InstanceId, answer: &Result<crate::event::Delivered>) -> Entry {
    match answer {
        Ok(delivered) => Entry {
            payload: Json::encode(delivered).ok(),
            child_id: Some(to.clone()),
            ..Entry::of_step(EntryKind::StepCompleted, step, StepKind::Send)
        },
        Err(refused) => Entry {
            error: Some(refused.to_failure()),
            ..Entry::of_step(EntryKind::StepFailed, step, StepKind::Send)
        },
    }
}
