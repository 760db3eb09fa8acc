//! The whole conformance suite on the memory store.

use std::sync::Arc;

use abide_testkit::{ManualClock, MemoryStore};

async fn fresh(clock: ManualClock) -> MemoryStore {
    MemoryStore::new(Arc::new(clock))
}

abide_testkit::store_conformance!(fresh);
