//! The whole conformance suite on the memory store, and its own limits.

use std::sync::Arc;

use abide::meeting::BufferLimit;
use abide::store::Store;
use abide_testkit::fixture::signal;
use abide_testkit::{Lab, ManualClock, MemoryStore};

async fn fresh(clock: ManualClock) -> MemoryStore {
    MemoryStore::new(Arc::new(clock))
}

abide_testkit::store_conformance!(fresh);

async fn limited(entries: usize, bytes: usize, remembered_ids: usize) -> Lab {
    let clock = ManualClock::at(abide::Timestamp(1_700_000_000_000));
    let limit = BufferLimit { entries, bytes };
    let store = MemoryStore::with_limits(Arc::new(clock.clone()), limit, remembered_ids);
    Lab::new(Arc::new(store) as Arc<dyn Store>, clock).await
}

#[tokio::test]
async fn a_buffer_is_as_large_as_it_was_made() {
    let lab = limited(2, 100, 10).await;
    lab.begin("a").await;
    for id in ["m1", "m2"] {
        assert_eq!(lab.accepted(signal("a", "s", id)).await, (0, true));
    }
    assert_eq!(lab.refused(signal("a", "s", "m3")).await, "BUFFER_FULL");
    let lab = limited(100, 7, 10).await;
    lab.begin("a").await;
    assert_eq!(lab.accepted(signal("a", "s", "m1")).await, (0, true));
    assert_eq!(lab.refused(signal("a", "s", "m2")).await, "BUFFER_FULL");
}

#[tokio::test]
async fn an_id_is_forgotten_behind_as_many_others_as_are_remembered() {
    let lab = limited(100, 1000, 2).await;
    lab.begin("a").await;
    for id in ["m1", "m2", "m1", "m3", "m1"] {
        lab.accepted(signal("a", "s", id)).await;
    }
    assert_eq!(lab.buffered("a").await, ["m1", "m2", "m3", "m1"]);
}
