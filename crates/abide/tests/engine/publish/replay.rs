//! Old events shown to a new trigger.

use abide::prelude::*;
use serde_json::{Value, json};

use crate::world::on_every_store;

async fn echo(_: Cx, input: Value) -> Result<Value> {
    Ok(input)
}

async fn number(_: Cx, input: u64) -> Result<u64> {
    Ok(input)
}

on_every_store! {
    async fn a_new_trigger_is_shown_a_range_of_the_log_dry_and_for_real(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        for n in 0..10 {
            engine.publish(Event::new("order", json!({"n": n})).id(format!("e-{n}"))).await.unwrap();
            engine.publish(Event::new("other", n)).await.unwrap();
        }
        let mut trigger = Trigger::start("echo", "order");
        trigger.filter_condition = Some("event.payload.n >= 3".into());
        trigger.input_mapping = Some(json!("n"));
        engine.put_trigger("t", trigger).await.unwrap();
        let dry = engine.replay("t", 1..=16, true).await.unwrap();
        assert_eq!((dry.heard, dry.started_count), (8, 5));
        assert!(engine.list(Filter::default(), Page::default()).await.unwrap().instances.is_empty());
        let real = engine.replay("t", 1..=16, false).await.unwrap();
        assert_eq!((real.started_count, real.existing), (5, 0));
        let first: Value = engine.get(&real.started[0]).result().await.unwrap();
        assert_eq!(first, json!(3));
        // The same again starts nothing, and the rest is started once.
        let again = engine.replay("t", 1..=i64::MAX, false).await.unwrap();
        assert_eq!((again.started_count, again.existing), (2, 5));
        let unwanted = LogFilter { unwanted: true, event_type: Some("order".into()), ..LogFilter::default() };
        assert_eq!(engine.events(unwanted).await.unwrap().len(), 3);
    }

    async fn an_event_that_can_not_start_is_told_and_the_others_go_on(world: World) {
        let engine = world.engine().workflow("number", number).start().await.unwrap();
        for payload in [json!(1), json!("two"), json!(3)] {
            engine.publish(Event::new("n", payload)).await.unwrap();
        }
        let mut trigger = Trigger::start("number", "n");
        trigger.input_mapping = Some(json!("${event.payload}"));
        engine.put_trigger("t", trigger).await.unwrap();
        let replayed = engine.replay("t", 1..=3, false).await.unwrap();
        assert_eq!((replayed.started_count, replayed.failed.len()), (2, 1));
        let unknown = engine.replay("no such", 1..=3, true).await.unwrap_err();
        assert_eq!(unknown.code(), "DEFINITION_NOT_FOUND");
    }

    async fn a_replayed_cancel_ends_what_runs_now(world: World) {
        async fn waits(cx: Cx, (): ()) -> Result<()> {
            cx.wait_for_event::<Value>("never").await.map(drop)
        }
        let engine = world.engine().workflow("waits", waits).start().await.unwrap();
        engine.publish(Event::new("stop", json!({"key": "k"}))).await.unwrap();
        let handle = engine.start("waits", Start::new(&()).correlation_id("k")).await.unwrap();
        let mut trigger = Trigger::cancel("waits", "stop");
        trigger.correlation_key = Some("event.payload.key".into());
        engine.put_trigger("t", trigger).await.unwrap();
        assert_eq!(engine.replay("t", 1..=1, true).await.unwrap().cancelled, 1);
        assert_eq!(handle.status().await.unwrap(), Status::Waiting);
        assert_eq!(engine.replay("t", 1..=1, false).await.unwrap().cancelled, 1);
        assert_eq!(handle.status().await.unwrap(), Status::Terminated);
    }
}
