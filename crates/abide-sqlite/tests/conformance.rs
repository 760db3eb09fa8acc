//! The whole conformance suite on SQLite, and random operations that must agree with memory.

#![allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]

use std::sync::Arc;

use abide_sqlite::SqliteStore;
use abide_testkit::{ManualClock, differential};

async fn fresh(clock: ManualClock) -> SqliteStore {
    SqliteStore::options().clock(Arc::new(clock)).open_temporary().await.unwrap()
}

abide_testkit::store_conformance!(fresh);

#[tokio::test]
async fn random_operations_agree_with_memory_after_every_one() {
    for seed in 0..60 {
        differential::run(fresh, seed, 200).await;
    }
}

/// Published events find waits by the rows of the file.
async fn without_index(clock: ManualClock) -> SqliteStore {
    let options = SqliteStore::options().clock(Arc::new(clock)).index_max_bytes(0);
    options.open_temporary().await.unwrap()
}

#[tokio::test]
async fn random_operations_agree_with_memory_without_an_index() {
    for seed in 1_000..1_020 {
        differential::run(without_index, seed, 200).await;
    }
}
