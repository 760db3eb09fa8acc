//! Waits that want only some of what they hear, and what they put into the context.

use abide::prelude::*;
use serde_json::{Value, json};

use crate::world::{failure, on_every_store};

#[derive(serde::Deserialize, serde::Serialize)]
struct Order {
    #[serde(rename = "orderId")]
    order_id: u64,
    #[serde(rename = "expectedAmount")]
    expected_amount: u64,
}

/// The filter exactly as users of content-based subscriptions write it.
const PAID: &str = "event.payload.orderId === workflow.context.orderId \
                    && event.payload.amount >= workflow.context.expectedAmount";

async fn payment(cx: Cx, _order: Order) -> Result<u64> {
    let paid: Event<Value> =
        cx.wait_for_event("paid").on("payment.*").filter(PAID).timeout("1 hour").await?;
    Ok(paid.payload["amount"].as_u64().unwrap_or(0))
}

async fn filtered(cx: Cx, filter: String) -> Result<()> {
    cx.wait_for_event::<Value>("e").filter(&filter).await?;
    Ok(())
}

async fn changed(cx: Cx, (): ()) -> Result<u64> {
    cx.context().set("floor", 10)?;
    let wait = cx.wait_for_event::<u64>("bid").filter("event.payload > workflow.context.floor");
    let mut wait = Box::pin(wait);
    futures_util::select! {
        bid = futures_util::FutureExt::fuse(&mut wait) => return Ok(bid?.payload),
        nap = futures_util::FutureExt::fuse(cx.sleep("nap", "1 minute")) => nap?,
    }
    cx.context().set("floor", 100)?;
    Ok(wait.await?.payload)
}

async fn mapped(cx: Cx, (): ()) -> Result<Value> {
    cx.wait_for_event::<Value>("paid")
        .map("paymentMethod", "method.type")
        .map("second", "lines.1.sku")
        .map("missing", "no.such.path")
        .await?;
    cx.sleep("nap", "1 minute").await?;
    let context = cx.context();
    Ok(json!([
        context.get::<Value>("paymentMethod")?,
        context.get::<Value>("second")?,
        context.get::<Value>("missing")?,
    ]))
}

on_every_store! {
    async fn a_filter_picks_the_event_of_this_instance(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let order = Order { order_id: 42, expected_amount: 100 };
        let handle = engine.start("payment", Start::new(&order)).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        for (event_type, order, amount) in
            [("payment.card", 41, 100), ("payment.card", 42, 99), ("payment.card.late", 42, 100)]
        {
            let payload = json!({"orderId": order, "amount": amount});
            let answer = handle.send_event(event_type, &payload).await.unwrap();
            assert_eq!((answer.delivered, answer.buffered), (0, true));
        }
        let payload = json!({"orderId": 42, "amount": 120});
        assert_eq!(handle.send_event("payment.card", &payload).await.unwrap().delivered, 1);
        assert_eq!(handle.result::<u64>().await.unwrap(), 120);
        let filter = handle.waits().await.unwrap().remove(0).filter.unwrap();
        assert_eq!(&*filter.written, PAID);
        assert!(filter.folded.to_string().contains("42"), "{}", filter.folded);
    }

    async fn an_early_event_is_met_by_the_first_filter_that_wants_it(world: World) {
        let engine = world.engine().workflow("payment", payment).start().await.unwrap();
        let order = Order { order_id: 7, expected_amount: 1 };
        let later = world.now().after(crate::world::SECOND);
        let handle =
            engine.start("payment", Start::new(&order).start_at(later)).await.unwrap();
        let payload = json!({"orderId": 7, "amount": 5});
        assert!(handle.send_event("payment.card", &payload).await.unwrap().buffered);
        world.clock.advance(crate::world::SECOND);
        assert_eq!(handle.result::<u64>().await.unwrap(), 5);
    }

    async fn a_filter_that_is_none_fails_the_wait_with_its_place(world: World) {
        let engine = world.engine().workflow("filtered", filtered).start().await.unwrap();
        for (filter, says) in [
            ("event.payload. === 1", "column 16"),
            ("evnt.payload === 1", "event"),
            ("steps.charge.output === 1", "steps"),
        ] {
            let handle = engine.start("filtered", Start::new(filter)).await.unwrap();
            let failure = failure(&handle).await;
            assert_eq!(failure.code, "FILTER_INVALID");
            assert!(failure.message.contains(says), "{failure:?}");
            assert!(handle.waits().await.unwrap().is_empty());
        }
    }

    async fn what_changes_after_the_wait_is_reached_does_not_reach_it(world: World) {
        let engine = world.engine().workflow("changed", changed).start().await.unwrap();
        let handle = engine.start("changed", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.clock.advance(crate::world::HOUR);
        let napped = crate::world::eventually(async || {
            handle.steps().await.unwrap().iter().any(|step| {
                &*step.name == "nap" && step.status == abide::StepStatus::Completed
            })
        });
        assert!(napped.await);
        world.evict(&engine).await;
        assert_eq!(handle.send_event("bid", &50).await.unwrap().delivered, 1);
        assert_eq!(handle.result::<u64>().await.unwrap(), 50);
    }

    async fn parts_of_the_payload_go_into_the_context_and_stay_there_across_a_replay(world: World) {
        let engine = world.engine().workflow("mapped", mapped).start().await.unwrap();
        let handle = engine.start("mapped", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let payload = json!({"method": {"type": "card"}, "lines": [{"sku": "a"}, {"sku": "b"}]});
        handle.send_event("paid", &payload).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        let context: Value = handle.instance().await.unwrap().context.unwrap().decode().unwrap();
        assert_eq!(context["paymentMethod"], "card");
        world.evict(&engine).await;
        world.clock.advance(crate::world::HOUR);
        assert_eq!(handle.result::<Value>().await.unwrap(), json!(["card", "b", null]));
    }
}
