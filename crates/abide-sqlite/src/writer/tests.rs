//! Tests of what only the writer itself can provoke.

use abide::history::{Entries, Entry, EntryKind};
use abide::store::{Commit, Committed, IfExists, Started, Store};
use abide::{
    Buffer, Delivery, Error, Hears, InstanceId, Json, Kind, NewInstance, NewWait, OnTerminal, Park,
    Phase, Since, Transition,
};
use rusqlite::ffi;

use crate::SqliteStore;

mod lookbacks;
mod pieces;
mod publishing;
mod storms;

fn new(id: &str) -> NewInstance {
    NewInstance {
        id: InstanceId::new(id).unwrap(),
        workflow: "w".into(),
        version: 1,
        input: Json::null(),
        correlation_id: None,
        tags: vec![],
        start_at: None,
        timeout: None,
        consumes: None,
        trace: None,
        first: None,
    }
}

#[test]
fn batches_wait_to_grow_only_where_syncs_take_the_time() {
    let ms = std::time::Duration::from_millis;
    assert_eq!(super::patience(ms(3), ms(4)), ms(0));
    assert_eq!(super::patience(ms(1), ms(3)), ms(3) / 4);
    assert_eq!(super::patience(ms(1), ms(900)), super::MAX_PATIENCE);
}

#[tokio::test]
async fn a_commit_in_doubt_closes_the_store_until_it_is_reopened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.start(vec![new("before")], IfExists::Error).await.unwrap();
    store.fail_next_commit(ffi::SQLITE_IOERR_FSYNC);
    let unknown = store.start(vec![new("in doubt")], IfExists::Error).await.unwrap_err();
    assert!(matches!(unknown, Error::OutcomeUnknown { .. }), "{unknown}");
    let closed = store.start(vec![new("after")], IfExists::Error).await.unwrap_err();
    assert!(matches!(closed, Error::StoreClosed { .. }), "{closed}");
    let closed = store.instance(&new("before").id).await.unwrap_err();
    assert!(matches!(closed, Error::StoreClosed { .. }), "{closed}");
    drop(store);

    let store = SqliteStore::open(&path).await.unwrap();
    assert!(store.instance(&new("before").id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_commit_that_changed_nothing_gives_claims_and_keys_back() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let started = store.start(vec![new("a")], IfExists::Error).await.unwrap();
    let [Started::Running { key, epoch, .. }] = started[..] else { panic!("{started:?}") };
    let end = || {
        let end = Some(abide::End::Completed(Json::null()));
        let transition = Transition { end, ..Transition::default() };
        store.commit(Commit { key, run: 1, epoch, heard: i64::MAX, transition: transition.into() })
    };
    store.fail_next_commit(ffi::SQLITE_FULL);
    let refused = end().await.unwrap_err();
    assert!(matches!(refused, Error::StoreUnavailable { .. }), "{refused}");
    store.fail_next_commit(ffi::SQLITE_FULL);
    assert!(store.start(vec![new("b")], IfExists::Error).await.is_err());
    assert_eq!(store.figures().failed, 2);

    assert_eq!(end().await.unwrap(), Committed::Stored, "the claim was given back");
    let started = store.start(vec![new("b")], IfExists::Error).await.unwrap();
    assert!(matches!(started[..], [Started::Running { key: next, .. }] if next.0 == key.0 + 1));
}

#[tokio::test]
async fn what_a_failed_commit_found_quietly_is_found_by_the_next() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let wait = NewWait {
        id: "sub_w".into(),
        step: "w".into(),
        hears: Hears::Sent { kind: Kind::Signal, pattern: "go".into() },
        filter: None,
        race: None,
        count: None,
        since: Since::Start,
        timeout_at: None,
    };
    let first = Some(Transition { waits: vec![wait], ..Transition::default() });
    let started =
        store.start(vec![NewInstance { first, ..new("a") }], IfExists::Error).await.unwrap();
    let [Started::Running { key, epoch, .. }] = started[..] else { panic!("{started:?}") };
    let quiet = Delivery {
        to: new("a").id,
        kind: Kind::Signal,
        name: "go".into(),
        payload: None,
        id: "s".into(),
        source: None,
        on_terminal: OnTerminal::Error,
        visible_at: None,
        wake: false,
        buffer: Buffer::Queue,
        trace: None,
        refused: None,
    };
    store.deliver(quiet).await.unwrap();
    let step = || {
        let entries = Entries::of(&[Entry::new(EntryKind::StepCompleted)]);
        let transition = Transition { entries, ..Transition::default() };
        store.commit(Commit { key, run: 1, epoch, heard: i64::MAX, transition: transition.into() })
    };
    store.fail_next_commit(ffi::SQLITE_FULL);
    assert!(step().await.is_err());
    assert_eq!(store.buffer(&new("a").id).await.unwrap().len(), 1);
    step().await.unwrap();
    assert_eq!(store.buffer(&new("a").id).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_between_failing_commits_is_there_and_nothing_else() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let all = (0..8).map(|n| new(&format!("i{n}"))).collect();
    let started = store.start(all, IfExists::Error).await.unwrap();
    let tasks = started.into_iter().enumerate().map(|(n, started)| {
        let Started::Running { key, epoch, .. } = started else { panic!("{started:?}") };
        let store = store.clone();
        tokio::spawn(async move {
            let mut acknowledged = 0;
            for step in 0..50 {
                if step % 7 == n {
                    store.fail_next_commit(ffi::SQLITE_FULL);
                }
                let entry = Entry::new(EntryKind::StepCompleted);
                let park = Park { phase: Phase::Waiting, wake_at: None, reason: None };
                let transition = Transition {
                    entries: Entries::of(&[entry]),
                    park: (step % 2 == 0).then_some(park),
                    ..Transition::default()
                };
                let commit =
                    Commit { key, run: 1, epoch, heard: i64::MAX, transition: transition.into() };
                match store.commit(commit).await {
                    Ok(committed) => acknowledged += i64::from(committed == Committed::Stored),
                    Err(refused) => assert!(refused.is_retryable(), "{refused}"),
                }
            }
            (format!("i{n}"), acknowledged)
        })
    });
    let mut refused = 0;
    for task in tasks.collect::<Vec<_>>() {
        let (id, acknowledged) = task.await.unwrap();
        let id = InstanceId::new(id).unwrap();
        let history = store.history(&id, 0, usize::MAX).await.unwrap();
        let numbers: Vec<_> = history.iter().map(|recorded| recorded.seq).collect();
        assert_eq!(numbers, (1..=acknowledged + 1).collect::<Vec<_>>(), "{id}");
        refused += 50 - acknowledged;
    }
    assert!(refused > 0, "no commit failed");
}
