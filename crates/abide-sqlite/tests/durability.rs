//! What survives, and what is said when something did not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

mod common;

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use abide::store::{Committed, IfExists, Started, Store};
use abide::{Error, InstanceKey, Phase, Status, Timestamp};
use abide_sqlite::SqliteStore;
use common::{commit, end, id, new, start, step, steps};
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    (directory, path)
}

#[tokio::test]
async fn reopening_keeps_everything() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).await.unwrap();
    let mut full = new("a");
    full.tags = vec!["red".into(), "blue".into()];
    full.correlation_id = Some("o-17".into());
    full.timeout = Some(std::time::Duration::from_secs(60));
    store.start(vec![full, new("b")], IfExists::Error).await.unwrap();
    let ended = start(&store, "c").await;
    store.commit(commit(ended, step("charge"))).await.unwrap();
    store.commit(commit(ended, end())).await.unwrap();
    let mut before = Vec::new();
    for name in ["a", "b", "c"] {
        let history = store.history(&id(name), 0, 100).await.unwrap();
        before.push((store.instance(&id(name)).await.unwrap().unwrap(), history));
    }
    drop(store);

    let store = SqliteStore::open(&path).await.unwrap();
    for (instance, history) in before {
        assert_eq!(store.instance(&instance.id).await.unwrap().unwrap(), instance);
        assert_eq!(store.history(&instance.id, 0, 100).await.unwrap(), history);
    }
    let ended = store.instance(&id("c")).await.unwrap().unwrap();
    assert_eq!((ended.status(), ended.next_seq), (Status::Completed, 4));
    let again = store.claim(ended.key).await.unwrap();
    assert!(again.is_none(), "what has ended can't be claimed");
}

#[tokio::test]
async fn unclaimed_after_a_crash_is_runnable_and_goes_on_with_the_next_number() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, step("charge"))).await.unwrap();
    drop(store);

    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.runnable(InstanceKey(0), 10).await.unwrap(), [claim.0]);
    let claimed = store.claim(claim.0).await.unwrap().unwrap();
    assert_eq!((claimed.history.len(), claimed.instance.next_seq), (2, 3));
    assert_eq!(store.runnable(InstanceKey(0), 10).await.unwrap(), []);
    store.commit(commit((claim.0, claimed.epoch), step("ship"))).await.unwrap();
    let history = store.history(&id("a"), 0, 10).await.unwrap();
    assert_eq!(history.iter().map(|recorded| recorded.seq).collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test]
async fn second_owner_is_refused_until_the_first_has_closed() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).await.unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(&refused, Error::StoreInUse { path } if path.ends_with("abide.db")));
    store.close().await.unwrap();
    let refused = store.instance(&id("a")).await.unwrap_err();
    assert!(matches!(refused, Error::StoreClosed { .. }), "{refused}");
    let refused = store.start(vec![new("a")], IfExists::Error).await.unwrap_err();
    assert!(matches!(refused, Error::StoreClosed { .. }), "{refused}");
    SqliteStore::open(&path).await.unwrap();
}

#[tokio::test]
async fn other_programs_may_read_while_the_store_is_open() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).await.unwrap();
    let claim = start(&store, "a").await;
    store.commit(commit(claim, step("charge"))).await.unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    let row: (String, String, i64) = other
        .query_row(
            "SELECT execution_id, step_id, completed_at_epoch_ms FROM execution_step_results",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!((row.0.as_str(), row.1.as_str()), ("a", "charge"));
}

#[tokio::test]
async fn newer_schema_is_refused_by_number() {
    let (_directory, path) = place();
    drop(SqliteStore::open(&path).await.unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(refused, Error::NewerSchema { found: 99, known: 5 }), "{refused}");
}

#[tokio::test]
async fn file_that_lost_its_end_is_corrupt() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).await.unwrap();
    start(&store, "a").await;
    store.close().await.unwrap();
    let whole = fs::metadata(&path).unwrap().len();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(whole - 4096).unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(&refused, Error::Corrupt { what } if what.contains("cut off")), "{refused}");
    OpenOptions::new().write(true).open(&path).unwrap().set_len(50).unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
}

#[tokio::test]
async fn file_that_is_no_database_is_corrupt_and_left_alone() {
    let (_directory, path) = place();
    let garbage = "just some notes\n".repeat(1000);
    fs::write(&path, &garbage).unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), garbage);
}

#[tokio::test]
async fn damaged_rows_are_corrupt_and_concern_nobody_else() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let (damaged, epoch) = start(&store, "damaged").await;
    let healthy = start(&store, "healthy").await;
    let sql = format!("UPDATE history SET entries = '[{{' WHERE instance = {}", damaged.0);
    store.execute_for_test(&sql).await.unwrap();
    assert_eq!(store.figures().reads_failed, 0);
    let refused = store.history(&id("damaged"), 0, 10).await.unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    assert_eq!(store.figures().reads_failed, 1);
    store.release(damaged, epoch);
    let refused = store.claim(damaged).await.unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");

    let sql = format!("UPDATE instances SET input = '{{' WHERE key = {}", damaged.0);
    store.execute_for_test(&sql).await.unwrap();
    let refused = store.claim(damaged).await.unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    assert_eq!(store.commit(commit(healthy, step("a"))).await.unwrap(), Committed::Stored);
}

#[tokio::test]
async fn full_disk_refuses_without_losing_and_works_again_with_room() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claim = start(&store, "a").await;
    let large = || {
        let mut large = step("large");
        large.context = Some(abide::Json::encode(&"x".repeat(100_000)).unwrap());
        large
    };
    store.execute_for_test("PRAGMA max_page_count = 40").await.unwrap();
    let mut acknowledged = 0;
    let refused = loop {
        match store.commit(commit(claim, step(&"s".repeat(10_000)))).await {
            Ok(committed) => assert_eq!(committed, Committed::Stored),
            Err(refused) => break refused,
        }
        acknowledged += 1;
    };
    assert!(matches!(refused, Error::StoreUnavailable { .. }), "{refused}");
    assert!(refused.is_retryable());
    let refused = store.commit(commit(claim, large())).await.unwrap_err();
    assert!(matches!(refused, Error::StoreUnavailable { .. }), "{refused}");
    let refused = store.start(vec![new(&"b".repeat(255))], IfExists::Error).await;
    let started = usize::from(refused.is_ok());
    assert_eq!(steps(&store, "a").await.len(), acknowledged);

    store.execute_for_test("PRAGMA max_page_count = 100000").await.unwrap();
    assert_eq!(store.commit(commit(claim, large())).await.unwrap(), Committed::Stored);
    let instance = store.instance(&id("a")).await.unwrap().unwrap();
    assert!(instance.context.is_some());
    assert_eq!(instance.next_seq, 3 + i64::try_from(acknowledged).unwrap());
    let last = start(&store, "c").await.0;
    assert_eq!(last, InstanceKey(2 + i64::try_from(started).unwrap()), "no key was used up");
}

#[tokio::test]
async fn keys_are_not_used_again_after_pruning() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).await.unwrap();
    let kept = start(&store, "kept").await.0;
    let claim = start(&store, "pruned").await;
    store.commit(commit(claim, end())).await.unwrap();
    assert_eq!(store.prune(Timestamp(0), 10).await.unwrap(), 0);
    assert_eq!(store.prune(Timestamp::MAX, 10).await.unwrap(), 1);
    assert!(store.instance(&id("pruned")).await.unwrap().is_none());
    drop(store);

    let store = SqliteStore::open(&path).await.unwrap();
    let again = store.start(vec![new("pruned")], IfExists::Error).await.unwrap();
    assert!(matches!(again[..], [Started::Running { key, .. }] if key > claim.0));
    let kept_instance = store.instance(&id("kept")).await.unwrap().unwrap();
    assert_eq!((kept_instance.key, kept_instance.phase), (kept, Phase::Running));
    assert_eq!(store.history(&id("pruned"), 0, 10).await.unwrap().len(), 1);
}
