//! Sending, waiting and looking, in few words.

use std::sync::Arc;
use std::time::Duration;

use abide::history::EntryKind;
use abide::store::Store;
use abide::{
    Buffer, Delivered, Delivery, Hears, Json, Kind, NewWait, OnTerminal, Park, Phase, Since,
    Timestamp, Transition, Wait, WaitEdit, WaitFilter, WaitStatus,
};
use abide_sqlite::{Options, SqliteStore};
use abide_testkit::ManualClock;

use super::id;

/// A clock that stands at a moment, and a store that asks it.
pub(crate) fn timed() -> (ManualClock, Options) {
    let clock = ManualClock::at(Timestamp(1_000));
    (clock.clone(), SqliteStore::options().clock(Arc::new(clock)))
}

pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) fn sent(kind: Kind, to: &str, name: &str, event_id: &str) -> Delivery {
    Delivery {
        to: id(to),
        kind,
        name: name.into(),
        payload: Some(Json::encode(event_id).unwrap()),
        id: event_id.into(),
        source: None,
        on_terminal: OnTerminal::Error,
        visible_at: None,
        wake: true,
        buffer: if kind == Kind::Event { Buffer::Latest } else { Buffer::Queue },
        trace: None,
        refused: None,
    }
}

pub(crate) fn event(to: &str, name: &str, event_id: &str) -> Delivery {
    sent(Kind::Event, to, name, event_id)
}

pub(crate) fn queued(to: &str, name: &str, event_id: &str) -> Delivery {
    Delivery { buffer: Buffer::Queue, ..event(to, name, event_id) }
}

pub(crate) fn signal(to: &str, name: &str, event_id: &str) -> Delivery {
    sent(Kind::Signal, to, name, event_id)
}

pub(crate) fn answer(event_id: &str, delivered: u32, buffered: bool) -> Delivered {
    Delivered { event_id: event_id.into(), delivered, buffered }
}

/// A wait of a step, whose id is made of its step.
pub(crate) fn waits(step: &str, kind: Kind, pattern: &str, timeout_at: Option<i64>) -> NewWait {
    NewWait {
        id: format!("sub_{step}").into(),
        step: step.into(),
        hears: Hears::Sent { kind, pattern: pattern.into() },
        filter: None,
        race: None,
        count: None,
        since: Since::Start,
        timeout_at: timeout_at.map(Timestamp),
    }
}

pub(crate) fn hears(step: &str, pattern: &str) -> NewWait {
    waits(step, Kind::Event, pattern, None)
}

/// A commit that reaches waits and parks.
pub(crate) fn reaches(waits: Vec<NewWait>) -> Transition {
    let park = Some(Park { phase: Phase::Waiting, wake_at: None, reason: None });
    Transition { park, waits, ..Transition::default() }
}

pub(crate) fn cancels(step: &str) -> Transition {
    Transition { cancels: vec![step.into()], ..Transition::default() }
}

/// What met the wait of a step, or its status.
pub(crate) async fn met(store: &SqliteStore, step: &str) -> String {
    let filter = WaitFilter { step: Some(step.to_owned()), ..WaitFilter::default() };
    let found = store.waits(filter).await.unwrap();
    let [Wait { status, fulfilled_by, .. }] = &found[..] else { panic!("{found:?}") };
    match (status, fulfilled_by) {
        (WaitStatus::Fulfilled, Some(by)) => by.to_string(),
        (status, _) => status.to_string(),
    }
}

/// The ids of what an instance keeps.
pub(crate) async fn kept(store: &SqliteStore, of: &str) -> Vec<String> {
    let buffer = store.buffer(&id(of)).await.unwrap();
    buffer.into_iter().map(|entry| entry.id.to_string()).collect()
}

/// How many entries of a kind are in a history.
pub(crate) async fn count(store: &SqliteStore, of: &str, kind: EntryKind) -> usize {
    let history = store.history(&id(of), 0, usize::MAX).await.unwrap();
    history.into_iter().filter(|recorded| recorded.entry.entry == kind).count()
}

/// The whole history after a number, as words.
pub(crate) async fn story(store: &SqliteStore, of: &str, after: i64) -> Vec<&'static str> {
    let history = store.history(&id(of), after, usize::MAX).await.unwrap();
    history.iter().map(|recorded| recorded.entry.entry.as_str()).collect()
}

/// Another deadline for a wait, or none.
pub(crate) fn deadline(timeout_at: Option<i64>) -> WaitEdit {
    WaitEdit { timeout_at: Some(timeout_at.map(Timestamp)), ..WaitEdit::default() }
}
