//! What the tests of the store have in common.

#![allow(dead_code, reason = "every test file uses its own part of it")]

pub(crate) mod events;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use abide::history::{Entries, Entry, EntryKind, StepKind};
use abide::store::{Commit, Epoch, Hint, IfExists, Listener, Started, Store};
use abide::{End, InstanceId, InstanceKey, Json, NewChild, NewInstance, Transition};
use abide_sqlite::SqliteStore;

pub(crate) fn id(text: &str) -> InstanceId {
    InstanceId::new(text).unwrap()
}

pub(crate) fn new(text: &str) -> NewInstance {
    NewInstance {
        id: id(text),
        workflow: "checkout".into(),
        version: 1,
        input: Json::encode(&serde_json::json!({ "order": 17 })).unwrap(),
        correlation_id: None,
        tags: vec![],
        start_at: None,
        timeout: None,
        consumes: None,
        trace: None,
        first: None,
    }
}

pub(crate) fn child(text: &str, awaited: bool) -> NewChild {
    NewChild { instance: new(text), step: "ship".into(), awaited }
}

pub(crate) async fn start(store: &SqliteStore, text: &str) -> (InstanceKey, Epoch) {
    match store.start(vec![new(text)], IfExists::Error).await.unwrap()[..] {
        [Started::Running { key, epoch, .. }] => (key, epoch),
        ref other => panic!("{other:?}"),
    }
}

/// A step that is done.
pub(crate) fn step(name: &str) -> Transition {
    let done = Entry::of_step(EntryKind::StepCompleted, &name.into(), StepKind::Step);
    Transition { entries: Entries::of(&[done]), ..Transition::default() }
}

/// The end of a run.
pub(crate) fn end() -> Transition {
    let end = Some(End::Completed(Json::encode("done").unwrap()));
    Transition {
        entries: Entries::of(&[Entry::new(EntryKind::WorkflowCompleted)]),
        end,
        ..step("")
    }
}

pub(crate) fn commit(claim: (InstanceKey, Epoch), transition: Transition) -> Commit {
    let (key, epoch) = claim;
    Commit { key, run: 1, epoch, heard: i64::MAX, transition: Arc::new(transition) }
}

/// The names of the steps in the whole history.
pub(crate) async fn steps(store: &SqliteStore, text: &str) -> Vec<String> {
    let history = store.history(&id(text), 0, usize::MAX).await.unwrap();
    history.into_iter().filter_map(|recorded| recorded.entry.name).map(|n| n.to_string()).collect()
}

/// A listener that passes on what it hears.
pub(crate) struct Ear(pub(crate) Sender<Hint>);

impl Listener for Ear {
    fn hint(&self, hint: Hint) {
        // That something was recorded follows nearly every write.
        if !matches!(hint, Hint::Recorded) {
            drop(self.0.send(hint));
        }
    }
}

pub(crate) async fn listen(store: &SqliteStore) -> Receiver<Hint> {
    let (sender, receiver) = channel();
    store.attach(Arc::new(Ear(sender))).await.unwrap();
    receiver
}
