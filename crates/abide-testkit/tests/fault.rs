//! What a faulty store does to its callers, and what it leaves behind.

use std::sync::Arc;

use abide::lifecycle::Control;
use abide::store::{Answer, IfExists, Started, Store};
use abide::{DocumentKind, Error, LogFilter, LogRetention, Result, WaitEdit, WaitFilter};
use abide_testkit::fixture::{Does, does, event, id, instance, json, published};
use abide_testkit::{Fault, FaultStore, MemoryStore, Recorder};
use futures_util::FutureExt;

fn on(disk: &MemoryStore) -> FaultStore {
    FaultStore::new(Arc::new(disk.clone()))
}

/// Starts an instance that ends at once, so that a hint follows.
fn start(store: &dyn Store, name: &str) -> Answer<Vec<Started>> {
    let mut new = instance(name);
    new.first = Some(does().completes(1));
    store.start(vec![new], IfExists::Error)
}

fn exists(disk: &MemoryStore, name: &str) -> bool {
    let answer = disk.instance(&id(name)).now_or_never();
    matches!(answer, Some(Ok(Some(_))))
}

fn is_unavailable<T>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::StoreUnavailable { .. }))
}

#[tokio::test]
async fn a_failure_before_the_write_leaves_nothing_and_passes() {
    let disk = MemoryStore::default();
    let store = on(&disk).at(2, Fault::FailBefore);
    start(&store, "a").await.unwrap();
    assert!(is_unavailable(&start(&store, "b").await));
    assert!(!exists(&disk, "b"));
    start(&store, "b").await.unwrap();
    assert!(exists(&disk, "b"));
}

#[tokio::test]
async fn every_answered_write_is_told_and_no_look() {
    let store = on(&MemoryStore::default()).at(1, Fault::FailBefore);
    let changes = store.changes();
    drop(start(&store, "a").await);
    start(&store, "a").await.unwrap();
    store.instance(&id("a")).await.unwrap();
    assert_eq!(*changes.borrow(), 2);
}

#[tokio::test]
async fn a_failure_after_the_write_is_an_unknown_outcome() {
    let disk = MemoryStore::default();
    let store = on(&disk).at(1, Fault::FailAfter);
    let heard = Recorder::new();
    store.attach(heard.clone()).await.unwrap();
    let answer = start(&store, "a").await;
    assert!(matches!(answer, Err(Error::OutcomeUnknown { .. })), "{answer:?}");
    assert!(exists(&disk, "a"));
    assert_eq!(heard.take().len(), 1, "the process lives and hears");
}

#[tokio::test]
async fn after_a_crash_nobody_is_answered_and_nothing_is_heard() {
    for (fault, written) in [(Fault::CrashBefore, false), (Fault::CrashAfter, true)] {
        let disk = MemoryStore::default();
        let store = on(&disk).at(1, fault);
        let heard = Recorder::new();
        store.attach(heard.clone()).await.unwrap();
        let crashed = store.crashed();
        assert!(start(&store, "a").now_or_never().is_none());
        crashed.await;
        assert_eq!(exists(&disk, "a"), written);
        assert!(start(&store, "b").now_or_never().is_none());
        assert!(store.instance(&id("a")).now_or_never().is_none());
        assert!(store.attach(heard.clone()).now_or_never().is_none());
        start(&disk, "c").await.unwrap();
        assert!(heard.take().is_empty() && !exists(&disk, "b"));
    }
}

#[tokio::test]
async fn the_next_life_finds_what_was_written() {
    let disk = MemoryStore::default();
    let first = on(&disk).at(2, Fault::CrashAfter);
    start(&first, "a").await.unwrap();
    drop(start(&first, "b"));
    let second = on(&disk);
    second.attach(Recorder::new()).await.unwrap();
    assert!(second.instance(&id("b")).await.unwrap().is_some());
    assert_eq!((first.writes(), second.writes()), (2, 0));
}

#[tokio::test]
async fn a_call_under_way_during_a_crash_is_not_answered() {
    let disk = MemoryStore::default();
    let store = on(&disk).at(2, Fault::CrashBefore);
    let under_way = start(&store, "a");
    drop(start(&store, "b"));
    assert!(under_way.now_or_never().is_none());
    assert!(exists(&disk, "a"));
}

#[tokio::test]
async fn only_writes_are_counted() {
    let store = on(&MemoryStore::default());
    let Started::Running { key, .. } = start(&store, "a").await.unwrap()[0] else { panic!() };
    drop(store.claim(key).await);
    drop(store.instance(&id("a")).await);
    drop(store.runnable(key, 1).await);
    assert_eq!(store.writes(), 1);
    drop(store.control(&id("a"), Control::Pause).await);
    drop(store.prune(abide::Timestamp(0), 1).await);
    assert_eq!(store.writes(), 3);
    drop(store.waits(WaitFilter::default()).await);
    drop(store.buffer(&id("a")).await);
    drop(store.outputs(&id("a")).await);
    assert_eq!(store.writes(), 3);
    drop(store.deliver(event("a", "e", "m1")).await);
    drop(store.fall_due(vec![key]).await);
    drop(store.edit_wait("sub_w", WaitEdit::default()).await);
    assert_eq!(store.writes(), 6);
    let kind = DocumentKind::Trigger;
    drop(store.log(LogFilter::default()).await);
    drop(store.log_span().await);
    drop(store.takers(1).await);
    drop(store.overheard("sub_w", 1).await);
    drop(store.documents(kind).await);
    drop(store.document(kind, "t", None).await);
    assert_eq!(store.writes(), 6);
    drop(store.publish(published("e", "m1")).await);
    drop(store.prune_log(LogRetention::default(), 1).await);
    drop(store.put_document(kind, "t", json(1)).await);
    drop(store.remove_document(kind, "t").await);
    assert_eq!(store.writes(), 10);
}

#[tokio::test]
async fn random_faults_are_the_same_for_the_same_seed() {
    let failures = async |seed| {
        let store = on(&MemoryStore::default()).sometimes(seed, 300, &[Fault::FailBefore]);
        let mut failures = Vec::new();
        for n in 0..50 {
            failures.push(is_unavailable(&start(&store, &format!("i{n}")).await));
        }
        failures
    };
    let one = failures(1).await;
    assert_eq!(one, failures(1).await);
    assert_ne!(one, failures(2).await);
    let count = one.iter().filter(|failed| **failed).count();
    assert!((1..50).contains(&count), "{count} of 50");
}

#[test]
fn without_a_crash_nobody_is_told_of_one() {
    let store = on(&MemoryStore::default()).at(5, Fault::CrashBefore);
    assert!(store.crashed().now_or_never().is_none());
}
