//! Events that start and cancel instances.

use std::time::Duration;

use abide::prelude::*;
use abide::{Batch, Debounce, Publication, Throttle};
use serde_json::{Value, json};

use crate::world::{World, on_every_store};

async fn echo(_: Cx, input: Value) -> Result<Value> {
    Ok(input)
}

async fn waits(cx: Cx, _: Value) -> Result<Value> {
    Ok(cx.wait_for_event::<Value>("order.placed").await?.payload)
}

fn placed(id: &str, total: u64) -> Event<Value> {
    Event::new("order.placed", json!({"id": id, "total": total})).id(id).source("shop")
}

async fn outputs(engine: &Engine, workflow: &str) -> Vec<Value> {
    let filter = Filter { workflow: Some(workflow.into()), ..Filter::default() };
    let mut all = engine.list(filter, Page::default()).await.unwrap().instances;
    all.reverse();
    all.into_iter().filter_map(|found| found.output?.decode().ok()).collect()
}

/// Waits until so many instances have ended.
async fn ended(world: &World, engine: &Engine, count: usize) -> Vec<Value> {
    for _ in 0..2_000 {
        let found = outputs(engine, "echo").await;
        if found.len() >= count {
            return found;
        }
        world.settle().await;
    }
    panic!("{} of {count} ended", outputs(engine, "echo").await.len());
}

on_every_store! {
    async fn an_event_starts_an_instance_with_the_mapped_input(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let mut trigger = Trigger::start("echo", "order.*");
        trigger.filter_condition = Some("event.payload.total >= 100".into());
        trigger.input_mapping =
            Some(json!({"order": "id", "label": "Order ${event.payload.id}", "none": "no.such", "n": 1}));
        engine.put_trigger("orders", trigger).await.unwrap();
        assert_eq!(engine.publish(placed("o-1", 50)).await.unwrap().started_count, 0);
        let verdict = engine.publish(placed("o-2", 200)).await.unwrap();
        assert_eq!(verdict.started_count, 1);
        let handle = engine.get(&verdict.started[0].instance_id);
        let input: Value = handle.result().await.unwrap();
        assert_eq!(input, json!({"order": "o-2", "label": "Order o-2", "none": null, "n": 1}));
    }

    async fn without_a_mapping_the_input_is_the_event(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        engine.put_trigger("t", Trigger::start("echo", "order.placed")).await.unwrap();
        let verdict = engine.publish(placed("o-1", 50)).await.unwrap();
        let input: Value = engine.get(&verdict.started[0].instance_id).result().await.unwrap();
        let expect = json!({
            "eventId": "o-1", "eventPattern": "order.placed", "eventPayload": {"id": "o-1", "total": 50}
        });
        assert_eq!(input, expect);
    }

    async fn the_same_event_starts_one_instance_however_often_it_comes(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        engine.put_trigger("t", Trigger::start("echo", "order.placed")).await.unwrap();
        engine.publish(placed("o-1", 50)).await.unwrap();
        assert!(engine.publish(placed("o-1", 50)).await.unwrap().duplicate);
        assert_eq!(ended(&world, &engine, 1).await.len(), 1);
        assert_eq!(engine.list(Filter::default(), Page::default()).await.unwrap().instances.len(), 1);
    }

    async fn an_instance_does_not_wait_on_the_event_that_started_it(world: World) {
        let engine = world.engine().workflow("waits", waits).start().await.unwrap();
        engine.put_trigger("t", Trigger::start("waits", "order.placed")).await.unwrap();
        let verdict = engine.publish(placed("o-1", 50)).await.unwrap();
        assert_eq!(verdict.matched_count, 0);
        let handle = engine.get(&verdict.started[0].instance_id);
        world.until(&handle, Status::Waiting).await;
        let verdict = engine.publish(placed("o-2", 60)).await.unwrap();
        assert_eq!((verdict.matched_count, verdict.started_count), (1, 1));
        assert_eq!(handle.result::<Value>().await.unwrap()["id"], "o-2");
    }

    async fn a_cancel_trigger_ends_the_instances_with_its_correlation(world: World) {
        let engine = world.engine().workflow("waits", waits).start().await.unwrap();
        let mut cancel = Trigger::cancel("waits", "order.cancelled");
        cancel.correlation_key = Some("event.payload.order".into());
        engine.put_trigger("cancel", cancel).await.unwrap();
        let start = |id: &str| Start::new(&Value::Null).id(format!("w-{id}")).correlation_id(id);
        let one = engine.start("waits", start("1")).await.unwrap();
        let other = engine.start("waits", start("2")).await.unwrap();
        let verdict =
            engine.publish(Event::new("order.cancelled", json!({"order": "1"}))).await.unwrap();
        assert_eq!((verdict.cancelled_count, verdict.cancelled[0].instance_id.as_str()), (1, "w-1"));
        assert_eq!(one.status().await.unwrap(), Status::Terminated);
        assert_eq!(other.status().await.unwrap(), Status::Waiting);
        let lacks = engine.publish(Event::new("order.cancelled", json!({}))).await.unwrap();
        assert_eq!((lacks.cancelled_count, lacks.failed.len()), (0, 1));
    }

    async fn one_failing_trigger_does_not_stop_the_others(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let mut broken = Trigger::start("echo", "order.placed");
        broken.input_mapping = Some(json!({"x": "${event.payload.no.such}"}));
        engine.put_trigger("a-broken", broken).await.unwrap();
        engine.put_trigger("b", Trigger::start("echo", "order.placed")).await.unwrap();
        let verdict = engine.publish(placed("o-1", 1)).await.unwrap();
        assert_eq!((verdict.started_count, verdict.failed.len()), (1, 1));
        assert_eq!(&*verdict.failed[0].trigger, "a-broken");
    }

    async fn triggers_start_by_priority_then_name(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        for (name, priority) in [("c", 0), ("b", 0), ("a", 5), ("d", -1)] {
            let trigger = Trigger { priority, ..Trigger::start("echo", "order.placed") };
            engine.put_trigger(name, trigger).await.unwrap();
        }
        let off = Trigger { enabled: false, ..Trigger::start("echo", "order.placed") };
        engine.put_trigger("off", off).await.unwrap();
        let verdict = engine.publish(placed("o-1", 1)).await.unwrap();
        let order: Vec<&str> = verdict.started.iter().map(|started| &*started.trigger).collect();
        assert_eq!(order, ["d", "b", "c", "a"]);
    }

    async fn the_correlation_of_the_event_is_that_of_the_instance(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        engine.put_trigger("t", Trigger::start("echo", "a")).await.unwrap();
        let event = Publication { correlation_id: Some("c-1".into()), ..Publication::new("a") };
        let verdict = engine.publish(event).await.unwrap();
        let started = engine.get(&verdict.started[0].instance_id).instance().await.unwrap();
        assert_eq!(started.correlation_id.as_deref(), Some("c-1"));
    }

    async fn triggers_hold_after_a_restart_of_the_engine_and_can_be_removed(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        engine.put_trigger("t", Trigger::start("echo", "a")).await.unwrap();
        engine.kill();
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        assert_eq!(engine.publish(Event::new("a", ())).await.unwrap().started_count, 1);
        assert_eq!(engine.triggers().await.unwrap()[0].version, 1);
        engine.remove_trigger("t").await.unwrap();
        assert_eq!(engine.publish(Event::new("a", ())).await.unwrap().started_count, 0);
        assert_eq!(engine.remove_trigger("t").await.unwrap_err().code(), "DEFINITION_NOT_FOUND");
    }

    async fn a_wrong_trigger_is_refused_with_what_is_wrong(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let good = || Trigger::start("echo", "a");
        let filter = Trigger { filter_condition: Some("event.payload.".into()), ..good() };
        let mapping = Trigger { input_mapping: Some(json!({"a": "${evnt.x}"})), ..good() };
        let pattern = Trigger { event_pattern: "a..b".into(), ..good() };
        let workflow = Trigger { workflow: "no such".into(), ..good() };
        let soon = Debounce { period: "soon".into(), max_wait: None, key: None };
        let period = Trigger { debounce: Some(soon), ..good() };
        let cases = [
            (filter, "FILTER_INVALID"),
            (mapping, "DEFINITION_INVALID"),
            (pattern, "VALIDATION_ERROR"),
            (workflow, "WORKFLOW_TYPE_UNKNOWN"),
            (period, "DEFINITION_INVALID"),
        ];
        for (trigger, code) in cases {
            let refused = engine.put_trigger("t", trigger).await.unwrap_err();
            assert_eq!(refused.code(), code, "{refused}");
        }
        assert!(engine.triggers().await.unwrap().is_empty());
    }

    async fn a_debounced_burst_starts_one_instance_with_the_last_event(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let key = Some("event.payload.id".to_owned());
        let debounce = Debounce { period: "10 seconds".into(), max_wait: None, key };
        let mut trigger = Trigger { debounce: Some(debounce), ..Trigger::start("echo", "order.placed") };
        trigger.input_mapping = Some(json!("total"));
        engine.put_trigger("t", trigger).await.unwrap();
        let order = |total: u64| Event::new("order.placed", json!({"id": "o", "total": total}));
        for total in 1..=3 {
            let verdict = engine.publish(order(total)).await.unwrap();
            assert_eq!((verdict.started_count, verdict.deferred.len()), (0, 1));
            assert_eq!(verdict.deferred[0].until, world.now().after(Duration::from_secs(10)));
            world.clock.advance(Duration::from_secs(5));
        }
        assert!(outputs(&engine, "echo").await.is_empty());
        world.clock.advance(Duration::from_secs(5));
        assert_eq!(ended(&world, &engine, 1).await, [json!(3)]);
    }

    async fn a_throttle_starts_so_many_in_a_period_and_the_others_later(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let throttle = Throttle { limit: 2, period: "1 minute".into(), key: None };
        let mut trigger = Trigger { throttle: Some(throttle), ..Trigger::start("echo", "order.placed") };
        trigger.input_mapping = Some(json!("total"));
        engine.put_trigger("t", trigger).await.unwrap();
        let mut deferred = 0;
        for total in 1..=3 {
            let verdict = engine.publish(placed(&total.to_string(), total)).await.unwrap();
            deferred += verdict.deferred.len();
        }
        assert_eq!(deferred, 1);
        assert_eq!(ended(&world, &engine, 2).await, [json!(1), json!(2)]);
        world.clock.advance(Duration::from_secs(60));
        assert_eq!(ended(&world, &engine, 3).await.len(), 3);
    }

    async fn a_batch_starts_one_instance_with_all_inputs(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let batch = Batch { max_size: 3, period: "1 minute".into(), key: None };
        let mut trigger = Trigger { batch: Some(batch), ..Trigger::start("echo", "order.placed") };
        trigger.input_mapping = Some(json!("total"));
        engine.put_trigger("t", trigger).await.unwrap();
        for total in 1..=4 {
            engine.publish(placed(&total.to_string(), total)).await.unwrap();
        }
        assert_eq!(ended(&world, &engine, 1).await, [json!([1, 2, 3])]);
        world.clock.advance(Duration::from_secs(60));
        assert_eq!(ended(&world, &engine, 2).await[1], json!([4]));
    }
}
