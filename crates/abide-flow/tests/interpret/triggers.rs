//! What starts and cancels instances of documents.

use abide::prelude::*;
use abide::{Filter, Page, Verdict};
use abide_flow::Flows;
use abide_testkit::TestEngine;
use serde_json::{Value, json};

use crate::harness::equipment;

async fn with(text: &str) -> TestEngine {
    let engine = TestEngine::builder().start().await;
    Flows::new(engine.engine().clone(), equipment()).register(text).await.unwrap();
    engine
}

async fn publish(engine: &TestEngine, event_type: &str, payload: Value) -> Verdict {
    engine.engine().publish(Event::new(event_type, payload)).await.unwrap()
}

/// The outputs of all instances that have completed, sorted.
async fn outputs(engine: &TestEngine) -> Vec<String> {
    let listed = engine.engine().list(Filter::default(), Page::default()).await.unwrap();
    let outputs = listed.instances.iter().filter_map(|instance| instance.output.as_ref());
    let mut outputs: Vec<_> = outputs.map(|output| output.as_str().to_owned()).collect();
    outputs.sort();
    outputs
}

#[tokio::test]
async fn an_event_starts_what_its_filter_lets_in_and_another_cancels_it() {
    let engine = with(
        "
name: order
description: An order from its placing on.
$schema: yaml.schema.json
triggers:
  - eventPattern: order.placed
    description: What the shop sells.
    filterCondition: event.payload.total > 10
    correlationKey: event.payload.id
    inputMapping: {id: id, by: shop.name, kind: '${event.type}', paid: false}
  - {eventPattern: order.changed, enabled: false}
  - {eventPattern: order.cancelled, action: cancel, correlationKey: event.payload.id}
steps: [{id: paid, waitForSignal: {name: paid}}]
",
    )
    .await;
    let small = json!({"id": "o-1", "total": 5});
    assert_eq!(publish(&engine, "order.placed", small).await.started_count, 0);
    assert_eq!(publish(&engine, "order.changed", json!({"id": "o-1"})).await.started_count, 0);
    let large = json!({"id": "o-2", "total": 50});
    let verdict = publish(&engine, "order.placed", large).await;
    assert_eq!(verdict.started_count, 1, "{verdict:?}");
    let handle = engine.engine().get(&verdict.started[0].instance_id);
    let instance = handle.instance().await.unwrap();
    let input: Value = instance.input.decode().unwrap();
    assert_eq!(input, json!({"id": "o-2", "by": null, "kind": "order.placed", "paid": false}));
    assert_eq!(instance.correlation_id.as_deref(), Some("o-2"));
    let other = publish(&engine, "order.cancelled", json!({"id": "o-3"})).await;
    assert_eq!(other.cancelled_count, 0);
    let verdict = publish(&engine, "order.cancelled", json!({"id": "o-2"})).await;
    assert_eq!(verdict.cancelled_count, 1);
    assert_eq!(handle.status().await.unwrap(), Status::Terminated);
}

#[tokio::test]
async fn triggers_come_in_the_order_of_their_priority() {
    let engine = with(
        "
name: order
triggers:
  - {eventPattern: order.placed, priority: 5}
  - {eventPattern: order.*, priority: 1}
steps: [{id: paid, waitForSignal: {name: paid}}]
",
    )
    .await;
    let verdict = publish(&engine, "order.placed", json!({})).await;
    let names: Vec<_> = verdict.started.iter().map(|started| &*started.trigger).collect();
    assert_eq!(names, ["order:order.*", "order:order.placed"]);
}

#[tokio::test]
async fn a_trigger_that_can_not_make_its_key_is_told_and_starts_nothing() {
    let engine = with(
        "
name: order
triggers: [{eventPattern: order.placed, correlationKey: event.payload.id.trim()}]
steps: [{id: paid, waitForSignal: {name: paid}}]
",
    )
    .await;
    let verdict = publish(&engine, "order.placed", json!({"id": 7})).await;
    assert_eq!((verdict.started_count, verdict.failed.len()), (0, 1), "{verdict:?}");
    assert_eq!(publish(&engine, "order.placed", json!({"id": "o-1"})).await.started_count, 1);
}

#[tokio::test]
async fn the_last_of_a_burst_starts_one_instance_for_each_key() {
    let engine = with(
        "
name: typed
triggers:
  - eventPattern: typed
    inputMapping: {text: text}
    debounce: {period: 10 seconds, maxWait: 1 minute, key: event.payload.user}
steps: [{id: a, return: '${input.text}'}]
",
    )
    .await;
    for (user, text) in [("ann", "h"), ("bob", "x"), ("ann", "hi")] {
        let verdict = publish(&engine, "typed", json!({"user": user, "text": text})).await;
        assert_eq!(verdict.started_count, 0);
    }
    engine.advance("11 seconds").await;
    assert_eq!(outputs(&engine).await, [r#""hi""#, r#""x""#]);
    // Somebody who never stops is heard after a minute.
    for nth in 0..14 {
        publish(&engine, "typed", json!({"user": "cid", "text": nth})).await;
        engine.advance("5 seconds").await;
    }
    assert_eq!(outputs(&engine).await.len(), 3);
}

#[tokio::test]
async fn only_so_many_start_in_a_period_for_each_key() {
    let engine = with(
        "
name: calm
triggers:
  - eventPattern: rang
    inputMapping: {text: text}
    throttle: {limit: 1, period: 1 minute, key: event.payload.user}
steps: [{id: a, return: '${input.text}'}]
",
    )
    .await;
    for (user, text) in [("ann", "1"), ("ann", "2"), ("bob", "3")] {
        publish(&engine, "rang", json!({"user": user, "text": text})).await;
    }
    engine.settle().await;
    assert_eq!(outputs(&engine).await, [r#""1""#, r#""3""#]);
    engine.advance("61 seconds").await;
    assert_eq!(outputs(&engine).await, [r#""1""#, r#""2""#, r#""3""#]);
}

#[tokio::test]
async fn several_events_start_one_instance_when_there_are_enough_or_it_is_time() {
    let engine = with(
        "
name: together
triggers:
  - eventPattern: item
    inputMapping: '${event.payload.n}'
    batch: {maxSize: 2, period: 1 minute, key: event.payload.user}
steps: [{id: a, return: '${input}'}]
",
    )
    .await;
    for (user, n) in [("ann", 1), ("bob", 2), ("ann", 3)] {
        publish(&engine, "item", json!({"user": user, "n": n})).await;
    }
    engine.settle().await;
    assert_eq!(outputs(&engine).await, ["[1,3]"]);
    engine.advance("61 seconds").await;
    assert_eq!(outputs(&engine).await, ["[1,3]", "[2]"]);
}

#[tokio::test]
async fn an_event_that_makes_no_fitting_input_fails_its_trigger() {
    let engine = with(
        "
name: order
input: {type: object, required: [id], properties: {id: {type: string}}}
triggers: [{eventPattern: order.placed, inputMapping: {id: number}}]
steps: [{id: done, return: '${input.id}'}]
",
    )
    .await;
    let verdict = publish(&engine, "order.placed", json!({"number": 7})).await;
    assert_eq!((verdict.started_count, verdict.failed.len()), (0, 1), "{verdict:?}");
    assert_eq!(verdict.failed[0].error.code, "VALIDATION_ERROR");
    assert_eq!(publish(&engine, "order.placed", json!({"number": "7"})).await.started_count, 1);
}
