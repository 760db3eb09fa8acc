//! The memory store against itself, which shows that the comparison is fair, and against a store
//! that fails once, which shows that it is not blind.

use std::sync::Arc;

use abide_testkit::{Fault, FaultStore, ManualClock, MemoryStore, differential};

fn memory(clock: ManualClock) -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Arc::new(clock)))
}

#[tokio::test]
async fn memory_agrees_with_memory() {
    let fresh = async |clock: ManualClock| MemoryStore::new(Arc::new(clock));
    for seed in 0..50 {
        differential::run(fresh, seed, 200).await;
    }
}

#[tokio::test]
async fn memory_agrees_with_a_store_that_could_fail_but_does_not() {
    for seed in 100..150 {
        differential::run(async |clock| FaultStore::new(memory(clock)), seed, 200).await;
    }
}

#[tokio::test]
#[should_panic(expected = "the stores differ after operation")]
async fn a_single_fault_is_found() {
    let fresh = async |clock| FaultStore::new(memory(clock)).at(40, Fault::FailBefore);
    // Now and then the write that fails would have changed nothing.
    for seed in 0..5 {
        differential::run(fresh, seed, 200).await;
    }
}
