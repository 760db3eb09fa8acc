//! How what is sent and what is waited for meet. Pure: stores call it while they hold the instance.
//!
//! Accepting something, reaching a wait, giving up and undoing are each one atomic decision, so a
//! wait is answered exactly once however they race: whichever commits second sees the other.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::envelope::Envelope;
use crate::error::{Error, Result};
use crate::event::{Buffer, Buffered, Delivery, Kind, OnTerminal};
use crate::failure::Failure;
use crate::history::{Entry, EntryKind, StepKind};
use crate::id::InstanceId;
use crate::json::Json;
use crate::status::Status;
use crate::time::Timestamp;
use crate::wait::{Count, Taking, Wait};

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

/// Whom something meets, by place in a list of open waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// It fulfils these: a counted one together with what that holds.
    pub fulfils: Vec<usize>,
    /// These hold it, each with its distinct value, and wait for more.
    pub held_by: Vec<(usize, Option<Arc<str>>)>,
    /// These lost their race to one that it fulfils: with the place of that.
    pub lost: Vec<(usize, usize)>,
}

impl Met {
    /// Whether it meets nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fulfils.is_empty() && self.held_by.is_empty()
    }
}

/// What becomes of something that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It meets open waits.
    Meets(Met),
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
/// `load` is asked only when something has to be kept: what the instance keeps, without what would be
/// replaced by this ([`Fate::Replaces`]).
///
/// # Errors
/// [`Error::NotRunning`], what made the delivery unacceptable, or [`Error::BufferFull`].
pub fn accept<E: From<Error>>(
    delivery: &Delivery,
    status: Status,
    waits: &[Wait],
    limit: BufferLimit,
    now: Timestamp,
    load: impl FnOnce(&Fate) -> Result<BufferLoad, E>,
) -> Result<Fate, E> {
    if status.is_terminal() {
        return match delivery.on_terminal {
            OnTerminal::Ignore => Ok(Fate::Ignored),
            OnTerminal::Error => Err(Error::NotRunning { id: delivery.to.clone(), status }.into()),
        };
    }
    if let Some(message) = &delivery.refused {
        let (event_type, message) = (delivery.name.to_string(), message.clone());
        return Err(Error::EventInvalid { event_type, message }.into());
    }
    let fate = fate(delivery, waits, now);
    let is_kept = match &fate {
        Fate::Meets(met) => met.fulfils.is_empty(),
        Fate::Kept | Fate::Replaces | Fate::Later => true,
        Fate::Dropped | Fate::Ignored => false,
    };
    if is_kept {
        room(delivery, load(&fate)?, limit)?;
    }
    Ok(fate)
}

fn fate(delivery: &Delivery, waits: &[Wait], now: Timestamp) -> Fate {
    if delivery.visible_at.is_some_and(|at| at > now) {
        return Fate::Later;
    }
    // It has no key yet, and none is needed to be looked at.
    let met = if delivery.wake { meet(waits, &kept(delivery, 0, now)) } else { Met::default() };
    match delivery.buffer {
        _ if !met.is_empty() => Fate::Meets(met),
        Buffer::None => Fate::Dropped,
        Buffer::Latest => Fate::Replaces,
        Buffer::Queue => Fate::Kept,
    }
}

/// Whom something meets: an event all that want it, a signal or message the oldest. Of waits that
/// race with each other it fulfils the oldest, and the others lose.
#[must_use]
pub fn meet(waits: &[Wait], sent: &Buffered) -> Met {
    let envelope = Envelope::of(sent);
    let mut met = Met::default();
    let mut won: Vec<(&Arc<str>, usize)> = Vec::new();
    let is_won = |won: &[(&Arc<str>, usize)], wait: &Wait| {
        won.iter().find(|(race, _)| wait.race.as_ref() == Some(*race)).map(|(_, by)| *by)
    };
    for (place, wait) in waits.iter().enumerate() {
        if is_won(&won, wait).is_some() {
            continue;
        }
        match wait.takes(&envelope) {
            None => continue,
            Some(Taking::Held(distinct)) => met.held_by.push((place, distinct)),
            Some(Taking::Last) => {
                met.fulfils.push(place);
                won.extend(wait.race.as_ref().map(|race| (race, place)));
            }
        }
        if sent.kind != Kind::Event {
            break;
        }
    }
    for (place, wait) in waits.iter().enumerate() {
        if let Some(by) = is_won(&won, wait).filter(|by| *by != place) {
            met.held_by.retain(|(holder, _)| *holder != place);
            met.lost.push((place, by));
        }
    }
    met
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
        trace: if entry == EntryKind::EventReceived { sent.trace } else { None },
        ..Entry::new(entry)
    }
}

/// A wait was met: by this, and before that by what it `held`.
#[must_use]
pub fn fulfilled(wait: &Wait, held: &[Buffered], by: &Buffered) -> Entry {
    let payload = if wait.count.is_some() {
        let all: Vec<Received<'_>> = held.iter().chain([by]).map(Received::of).collect();
        Json::encode(&all)
    } else {
        Json::encode(&Received::of(by))
    };
    Entry {
        event_id: Some(Arc::clone(&by.id)),
        trace: by.trace,
        payload: payload.ok(),
        ..Entry::of_step(EntryKind::WaitFulfilled, &wait.step, by.kind.wait())
    }
}

/// A look found this, or nothing.
#[must_use]
pub fn taken(step: &Arc<str>, found: Option<&Buffered>) -> Entry {
    Entry {
        event_id: found.map(|found| Arc::clone(&found.id)),
        payload: found.and_then(|found| Json::encode(&Received::of(found)).ok()),
        ..Entry::of_step(EntryKind::StepCompleted, step, StepKind::Take)
    }
}

/// What was sent, as its receiver sees it. An absent payload is not the same as `null`.
#[derive(Serialize)]
struct Received<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(with = "crate::time::iso")]
    time: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a Json>,
}

impl<'a> Received<'a> {
    fn of(sent: &'a Buffered) -> Self {
        let Buffered { id, name, source, payload, .. } = sent;
        let (source, payload) = (source.as_deref(), payload.as_ref());
        Self { id, name, source, time: sent.time(), payload }
    }
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
    Entry {
        error: Some(timed_out(wait)),
        ..Entry::of_step(EntryKind::WaitExpired, &wait.step, wait.hears.step_kind())
    }
}

fn timed_out(wait: &Wait) -> Failure {
    let Wait { step, hears, created_at, timeout_at, count, .. } = wait;
    let timeout = timeout_at.unwrap_or(*created_at).since(*created_at);
    let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    let pattern = hears.pattern();
    let mut message = format!("Event timeout: {pattern:?} did not come within {ms} ms");
    let mut details = json!({
        "eventType": pattern,
        "timeoutMs": ms,
        "timeoutAt": timeout_at.map(|at| at.to_string()),
    });
    if let Some(Count { needed, held, .. }) = count {
        message = format!("{message}: {} of {needed} did", held.len());
        details["received"] = json!(held.len());
    }
    Failure::new("EVENT_TIMEOUT", message).in_step(step).with_details(&details)
}

/// A wait was cancelled by the end of its run.
#[must_use]
pub fn cancelled(wait: &Wait) -> Entry {
    Entry::of_step(EntryKind::WaitCancelled, &wait.step, wait.hears.step_kind())
}

/// A wait was cancelled because another one of its race was met. It arrives, before that one does.
#[must_use]
pub fn lost(wait: &Wait, to: &Wait) -> Entry {
    Entry { reason: Some(format!("{:?} was met first", to.step)), ..cancelled(wait) }
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
        trace: delivery.trace,
        log: None,
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

/// What an event that a workflow published came to: the entry that settles its step.
#[must_use]
pub fn published(step: &Arc<str>, answer: &Result<crate::verdict::Verdict>) -> Entry {
    match answer {
        Ok(verdict) => Entry {
            event_id: Some(Arc::clone(&verdict.event_id)),
            payload: Json::encode(verdict).ok(),
            ..Entry::of_step(EntryKind::StepCompleted, step, StepKind::Publish)
        },
        Err(refused) => Entry {
            error: Some(refused.to_failure()),
            ..Entry::of_step(EntryKind::StepFailed, step, StepKind::Publish)
        },
    }
}
