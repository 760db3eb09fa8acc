//! Documents in a store: versions, triggers, restarts.

use std::sync::Arc;

use abide::prelude::*;
use abide::store::Store;
use abide_flow::{Flows, RegisterError};
use abide_testkit::MemoryStore;
use serde_json::{Value, json};

use crate::harness::equipment;

const FIRST: &str = "
name: order
triggers: [{eventPattern: order.placed, inputMapping: {orderId: id}}]
steps:
  - {id: go, waitForSignal: {name: go}}
  - {id: answer, return: 'first ${input.orderId}'}
";

async fn engine(store: &Arc<dyn Store>) -> (Engine, Flows) {
    let equipment = equipment();
    let builder = Flows::load(&**store, Engine::on(Arc::clone(store)), &equipment).await.unwrap();
    let engine = builder.start().await.unwrap();
    (engine.clone(), Flows::new(engine, equipment))
}

#[tokio::test]
async fn a_changed_document_is_the_next_version_and_running_instances_keep_theirs() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (engine, flows) = engine(&store).await;
    let first = flows.register(FIRST).await.unwrap();
    assert_eq!((first.version, first.changed), (1, true));
    let input = json!({"orderId": "o-1"});
    let old = engine.start("order", Start::new(&input).id("old")).await.unwrap();
    let again = flows.register(FIRST).await.unwrap();
    assert_eq!((again.version, again.changed), (1, false));
    let second = flows.register(&FIRST.replace("first", "second")).await.unwrap();
    assert_eq!((second.version, second.changed), (2, true));
    let new = engine.start("order", Start::new(&input).id("new")).await.unwrap();
    // Another life knows both versions.
    old.settled().await.unwrap();
    new.settled().await.unwrap();
    engine.kill();
    let (engine, flows) = self::engine(&store).await;
    assert_eq!(flows.text("order", Some(1)).await.unwrap().1, FIRST);
    for (id, expect) in [("old", "first o-1"), ("new", "second o-1")] {
        let handle = engine.get(&InstanceId::new(id).unwrap());
        handle.signal("go", &()).await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), expect);
    }
}

#[tokio::test]
async fn the_triggers_of_a_document_follow_it() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (engine, flows) = engine(&store).await;
    flows.register(FIRST).await.unwrap();
    let placed = |id: &str| Event::new("order.placed", json!({"id": id}));
    let verdict = engine.publish(placed("o-1")).await.unwrap();
    assert_eq!(&*verdict.started[0].trigger, "order:order.placed");
    let started = engine.get(&verdict.started[0].instance_id);
    started.signal("go", &()).await.unwrap();
    assert_eq!(started.result::<String>().await.unwrap(), "first o-1");
    flows.register(&FIRST.replace("order.placed", "order.paid")).await.unwrap();
    assert_eq!(engine.publish(placed("o-2")).await.unwrap().started_count, 0);
    assert_eq!(engine.triggers().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_wrong_document_is_refused_whole_and_nothing_is_stored() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (engine, flows) = engine(&store).await;
    let wrong = "
name: wrong
stepz: []
steps: [{id: a, slep: 1 hour}, {id: b, set: {x: 1}, next: nowhere}]
";
    let RegisterError::Invalid { problems, .. } = flows.register(wrong).await.unwrap_err() else {
        panic!("another error");
    };
    assert!(problems.len() >= 3, "{problems:?}");
    let unknown = engine.start("wrong", Start::new(&Value::Null)).await.err().unwrap();
    assert_eq!(unknown.code(), "WORKFLOW_TYPE_UNKNOWN");
}
