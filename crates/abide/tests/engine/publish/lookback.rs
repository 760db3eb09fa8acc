//! What was published before the wait was reached.

use abide::Since;
use abide::prelude::*;
use serde_json::{Value, json};

use crate::world::on_every_store;

async fn late_waiter(cx: Cx, order: u64) -> Result<Value> {
    cx.context().set("order", order)?;
    cx.wait_for_signal::<Value>("go").await?;
    let filter = "event.payload.order === workflow.context.order";
    let first: Event<Value> = cx.wait_for_event("paid").on("paid").filter(filter).await?;
    let second: Event<Value> = cx.wait_for_event("paid").on("paid").filter(filter).await?;
    Ok(json!([first.payload["n"], second.payload["n"]]))
}

async fn since_now(cx: Cx, (): ()) -> Result<u64> {
    cx.wait_for_signal::<Value>("go").await?;
    Ok(cx.wait_for_event::<u64>("n").since(Since::Now).await?.payload)
}

async fn since_a_minute(cx: Cx, (): ()) -> Result<u64> {
    cx.wait_for_signal::<Value>("go").await?;
    let minute = std::time::Duration::from_secs(60);
    Ok(cx.wait_for_event::<u64>("n").since(Since::Before(minute)).await?.payload)
}

async fn looped(cx: Cx, (): ()) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(cx.wait_for_event::<u64>("n").await?.payload);
        cx.sleep("rest", "1 second").await?;
    }
    Ok(all)
}

async fn together(cx: Cx, (): ()) -> Result<(u64, u64)> {
    cx.wait_for_signal::<Value>("go").await?;
    let (a, b) = (cx.wait_for_event::<u64>("a").on("n"), cx.wait_for_event::<u64>("b").on("*"));
    let (a, b) = cx.all((a, b)).await?;
    Ok((a.payload, b.payload))
}

fn paid(order: u64, n: u64) -> Event<Value> {
    Event::new("paid", json!({"order": order, "n": n}))
}

on_every_store! {
    async fn an_event_published_a_moment_too_early_still_counts(world: World) {
        let engine = world.engine().workflow("late", late_waiter).start().await.unwrap();
        engine.publish(paid(1, 0)).await.unwrap();
        let handle = engine.start("late", Start::new(&1)).await.unwrap();
        engine.publish(paid(2, 9)).await.unwrap();
        for n in 1..=3 {
            assert_eq!(engine.publish(paid(1, n)).await.unwrap().matched_count, 0);
        }
        handle.signal("go", &()).await.unwrap();
        // The oldest since its start, and each once.
        assert_eq!(handle.result::<Value>().await.unwrap(), json!([1, 2]));
    }

    async fn a_wait_may_begin_to_listen_when_it_is_reached(world: World) {
        let engine = world.engine().workflow("since_now", since_now).start().await.unwrap();
        let handle = engine.start("since_now", Start::new(&())).await.unwrap();
        engine.publish(Event::new("n", 1)).await.unwrap();
        handle.signal("go", &()).await.unwrap();
        handle.settled().await.unwrap();
        assert_eq!(handle.status().await.unwrap(), Status::Waiting);
        engine.publish(Event::new("n", 2)).await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 2);
    }

    async fn a_wait_may_look_back_a_while_before_it_is_reached(world: World) {
        let engine = world.engine().workflow("minute", since_a_minute).start().await.unwrap();
        let handle = engine.start("minute", Start::new(&())).await.unwrap();
        engine.publish(Event::new("n", 1)).await.unwrap();
        world.clock.advance(std::time::Duration::from_secs(61));
        engine.publish(Event::new("n", 2)).await.unwrap();
        handle.signal("go", &()).await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 2);
    }

    async fn a_loop_sees_every_published_event_once_and_in_order(world: World) {
        let engine = world.engine().workflow("looped", looped).start().await.unwrap();
        let handle = engine.start("looped", Start::new(&())).await.unwrap();
        for n in 1..=3 {
            engine.publish(Event::new("n", n)).await.unwrap();
        }
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<Vec<u64>>().await.unwrap(), [1, 2, 3]);
    }

    async fn waits_reached_together_share_an_early_event(world: World) {
        let engine = world.engine().workflow("together", together).start().await.unwrap();
        let handle = engine.start("together", Start::new(&())).await.unwrap();
        engine.publish(Event::new("n", 5)).await.unwrap();
        handle.signal("go", &()).await.unwrap();
        assert_eq!(handle.result::<(u64, u64)>().await.unwrap(), (5, 5));
    }

    async fn a_restart_looks_back_to_itself_and_may_see_nothing_old(world: World) {
        let engine = world.engine().workflow("since", looped).start().await.unwrap();
        let handle = engine.start("since", Start::new(&())).await.unwrap();
        engine.publish(Event::new("n", 1)).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.restart().await.unwrap();
        world.until(&handle, Status::Waiting).await;
        for n in 2..=4 {
            engine.publish(Event::new("n", n)).await.unwrap();
        }
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<Vec<u64>>().await.unwrap(), [2, 3, 4]);
    }

    async fn what_retention_took_is_not_looked_back_to(world: World) {
        let engine = world.engine().workflow("late", late_waiter);
        let engine = engine
            .configure(|c| c.events_retention = Some(std::time::Duration::from_secs(60)))
            .start()
            .await
            .unwrap();
        let handle = engine.start("late", Start::new(&1)).await.unwrap();
        engine.publish(paid(1, 1)).await.unwrap();
        world.clock.advance(std::time::Duration::from_secs(61));
        engine.publish(paid(1, 2)).await.unwrap();
        engine.publish(paid(1, 3)).await.unwrap();
        engine.prune().await.unwrap();
        handle.signal("go", &()).await.unwrap();
        assert_eq!(handle.result::<Value>().await.unwrap(), json!([2, 3]));
    }
}
