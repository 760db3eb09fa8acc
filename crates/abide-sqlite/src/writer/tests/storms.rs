//! Events that more instances want than are met at once.

use std::time::Duration;

use abide::history::EntryKind;
use abide::lifecycle::Control;
use abide::store::Store;
use abide::{
    Buffer, Delivery, InstanceId, Kind, LogFilter, LogRetention, NewWait, OnTerminal, Terminate,
    Timestamp, WaitStatus,
};
use rusqlite::ffi;

use super::publishing::{Shop, met_by, publish, reach, start, wait, wants};
use crate::SqliteStore;

const CHUNK: usize = 10;
const MANY: usize = 60;

fn shop() -> Shop {
    Shop::new(|options| options.fanout_chunk(CHUNK))
}

fn name(n: usize) -> String {
    format!("i{n}")
}

/// Many instances that wait for one thing, and the first of them are met by it.
async fn storm(store: &SqliteStore) {
    for n in 0..MANY {
        start(store, &name(n), Some(wants(&name(n), "paid", None))).await;
    }
    store.rest(true);
    let verdict = publish(store, "paid", "e1", 1).await;
    assert_eq!((verdict.matched_count, verdict.matched.len()), (MANY as u64, CHUNK));
}

async fn all_met_once(shop: &Shop, store: &SqliteStore) {
    for n in 0..MANY {
        assert_eq!(met_by(store, &name(n)).await.as_deref(), Some("e1"), "{n}");
        let history = store.history(&InstanceId::new(name(n)).unwrap(), 0, 100).await.unwrap();
        let met = |entry: &&abide::history::Recorded| entry.entry.entry == EntryKind::WaitFulfilled;
        assert_eq!(history.iter().filter(met).count(), 1, "{n}");
    }
    let taken = "SELECT count(*) FROM inbox WHERE log = 1 AND state = 'consumed'";
    assert_eq!(shop.count(taken), MANY as i64);
    let logged = store.log(LogFilter::default()).await.unwrap();
    assert_eq!(logged[0].verdict.matched_count, MANY as u64);
    assert_eq!(shop.count("SELECT count(*) FROM subscription_keys"), 0);
}

#[tokio::test]
async fn a_storm_meets_the_first_at_once_and_the_others_later() {
    let shop = shop();
    let store = shop.open().await;
    storm(&store).await;
    let met = "SELECT count(*) FROM workflow_event_subscriptions WHERE status = 'fulfilled'";
    assert_eq!(shop.count(met), CHUNK as i64);
    assert_eq!(store.figures().left_to_meet, (MANY - CHUNK) as u64);
    assert_eq!(publish(&store, "paid", "e1", 1).await.matched_count, MANY as u64);
    store.rest(false);
    shop.is_quiet().await;
    all_met_once(&shop, &store).await;
    // Whoever is answered finds the figures as of then.
    publish(&store, "paid", "e1", 1).await;
    assert_eq!(store.figures().left_to_meet, 0);
}

#[tokio::test]
async fn a_storm_goes_on_when_the_store_is_opened_again() {
    let shop = shop();
    let store = shop.open().await;
    storm(&store).await;
    // One of the last is met before its turn.
    let id = InstanceId::new(name(MANY - 2)).unwrap();
    store.control(&id, Control::Wake { at: None }).await.unwrap();
    assert_eq!(met_by(&store, &name(MANY - 2)).await.as_deref(), Some("e1"));
    drop(store);
    assert_eq!(shop.count("SELECT count(*) FROM fanouts"), 1);

    let store = shop.open().await;
    shop.is_quiet().await;
    all_met_once(&shop, &store).await;
}

#[tokio::test]
async fn a_storm_survives_commits_that_fail() {
    let shop = shop();
    let store = shop.open().await;
    storm(&store).await;
    for _ in 0..3 {
        store.fail_next_commit(ffi::SQLITE_FULL);
        store.rest(false);
    }
    shop.is_quiet().await;
    all_met_once(&shop, &store).await;
}

#[tokio::test]
async fn what_a_storm_has_yet_to_meet_hears_of_it_before_anything_else() {
    let shop = shop();
    let store = shop.open().await;
    storm(&store).await;
    let last = name(MANY - 1);
    let delivery = Delivery {
        to: InstanceId::new(&last).unwrap(),
        kind: Kind::Event,
        name: "paid".into(),
        payload: None,
        id: "addressed".into(),
        source: None,
        on_terminal: OnTerminal::Error,
        visible_at: None,
        wake: true,
        buffer: Buffer::Latest,
        trace: None,
        refused: None,
    };
    let delivered = store.deliver(delivery).await.unwrap();
    assert_eq!((delivered.delivered, delivered.buffered), (0, true));
    assert_eq!(met_by(&store, &last).await.as_deref(), Some("e1"));

    let before = name(MANY - 2);
    let ended = Control::Terminate(Terminate::because("enough"));
    store.control(&InstanceId::new(&before).unwrap(), ended).await.unwrap();
    assert_eq!(met_by(&store, &before).await.as_deref(), Some("e1"));

    // All that are left want the second one, too, but each has met the first by then.
    publish(&store, "paid", "e2", 2).await;
    store.rest(false);
    shop.is_quiet().await;
    for n in 0..MANY {
        assert_eq!(met_by(&store, &name(n)).await.as_deref(), Some("e1"), "{n}");
    }
    let logged = store.log(LogFilter::default()).await.unwrap();
    let matched: Vec<u64> = logged.iter().map(|logged| logged.verdict.matched_count).collect();
    assert_eq!(matched, [MANY as u64, 0]);
}

#[tokio::test]
async fn a_deadline_after_the_event_loses_to_a_storm() {
    let shop = shop();
    let store = shop.open().await;
    let mut keys = Vec::new();
    for n in 0..MANY {
        let timeout_at = Some(Timestamp(1_050));
        let wait = NewWait { timeout_at, ..wants(&name(n), "paid", None) };
        keys.push(start(&store, &name(n), Some(wait)).await.0);
    }
    store.rest(true);
    publish(&store, "paid", "e1", 1).await;
    shop.clock.advance(Duration::from_millis(100));
    store.fall_due(keys).await.unwrap();
    all_met_once(&shop, &store).await;
    assert_eq!(wait(&store, &name(MANY - 1)).await.fulfilled_at, Some(Timestamp(1_000)));
}

#[tokio::test]
async fn a_commit_of_an_instance_that_a_storm_has_yet_to_meet_comes_after_it() {
    let shop = shop();
    let store = shop.open().await;
    let claim = start(&store, "a", None).await;
    reach(&store, claim, wants("first", "go", None)).await;
    storm(&store).await;
    let claims = start(&store, "late", Some(wants("late", "go", None))).await;
    reach(&store, claims, wants("after", "paid", None)).await;
    // It was reached after the event was accepted, by one that was accepted after it, too.
    assert_eq!(wait(&store, "after").await.status, WaitStatus::Active);
    store.rest(false);
    shop.is_quiet().await;
    assert_eq!(wait(&store, "after").await.status, WaitStatus::Active);
    all_met(&store).await;
}

async fn all_met(store: &SqliteStore) {
    for n in 0..MANY {
        assert_eq!(met_by(store, &name(n)).await.as_deref(), Some("e1"), "{n}");
    }
}

#[tokio::test]
async fn an_event_that_has_somebody_left_to_meet_is_kept() {
    let shop = shop();
    let store = shop.open().await;
    storm(&store).await;
    let all = LogRetention { max_bytes: Some(0), ..LogRetention::default() };
    assert_eq!(store.prune_log(all, 100).await.unwrap(), 0);
    store.rest(false);
    shop.is_quiet().await;
    assert_eq!(store.prune_log(all, 100).await.unwrap(), 1);
    all_met(&store).await;
}
