//! Workflows that publish.

use abide::prelude::*;
use serde_json::{Value, json};

use crate::world::on_every_store;

async fn shipper(cx: Cx, order: u64) -> Result<Value> {
    let verdict = cx.publish(Event::new("order.shipped", json!({"order": order}))).await?;
    cx.sleep("rest", "1 second").await?;
    Ok(json!([verdict.matched_count, verdict.event_id]))
}

async fn waiter(cx: Cx, order: u64) -> Result<Value> {
    cx.context().set("order", order)?;
    let filter = "event.payload.order === workflow.context.order";
    let shipped: Event<Value> =
        cx.wait_for_event("shipped").on("order.shipped").filter(filter).await?;
    Ok(json!([shipped.source, shipped.id]))
}

async fn wrong(cx: Cx, (): ()) -> Result<Vec<String>> {
    let undefined = cx.publish(Event::new("defined", json!(1))).await.unwrap_err();
    let no_type = cx.publish(Event::new("a..b", ())).await.unwrap_err();
    Ok(vec![undefined.code().to_owned(), no_type.code().to_owned()])
}

on_every_store! {
    async fn a_workflow_publishes_once_and_sees_its_verdict(world: World) {
        let engine = world
            .engine()
            .workflow("shipper", shipper)
            .workflow("waiter", waiter)
            .start()
            .await
            .unwrap();
        let waiting = engine.start("waiter", Start::new(&7)).await.unwrap();
        world.until(&waiting, Status::Waiting).await;
        let shipping = engine.start("shipper", Start::new(&7).id("s")).await.unwrap();
        assert_eq!(waiting.result::<Value>().await.unwrap(), json!(["s", "1:publish order.shipped"]));
        // A crash before its end replays it, and it finds what it published.
        world.until(&shipping, Status::Sleeping).await;
        engine.kill();
        let engine = world
            .engine()
            .workflow("shipper", shipper)
            .workflow("waiter", waiter)
            .start()
            .await
            .unwrap();
        let shipping = engine.get(shipping.id());
        world.run_to_end(&shipping).await;
        let seen: Value = shipping.result().await.unwrap();
        assert_eq!(seen, json!([1, "1:publish order.shipped"]));
        assert_eq!(engine.events(LogFilter::default()).await.unwrap().len(), 1);
    }

    async fn what_a_workflow_publishes_wrongly_is_an_error_it_may_handle(world: World) {
        let engine = world.engine().workflow("wrong", wrong).start().await.unwrap();
        let schema = EventDefinition::of(json!({"type": "string"}));
        engine.define_event("defined", schema).await.unwrap();
        let handle = engine.start("wrong", Start::new(&())).await.unwrap();
        let codes: Vec<String> = handle.result().await.unwrap();
        assert_eq!(codes, ["EVENT_INVALID", "VALIDATION_ERROR"]);
    }

    async fn a_workflow_that_publishes_starts_others_by_trigger(world: World) {
        let engine = world
            .engine()
            .workflow("shipper", shipper)
            .workflow("waiter", waiter)
            .start()
            .await
            .unwrap();
        let mut trigger = Trigger::start("waiter", "order.shipped");
        trigger.input_mapping = Some(json!("order"));
        engine.put_trigger("t", trigger).await.unwrap();
        let shipping = engine.start("shipper", Start::new(&7).id("s")).await.unwrap();
        let started = "t~s~1:publish=20order.shipped";
        world.until_there(&engine, started, Status::Waiting).await;
        world.run_to_end(&shipping).await;
    }
}
