//! Sleeps: a row and a time, kept over everything.

use std::time::Duration;

use abide::prelude::*;

use crate::slow::Hold;
use crate::world::{HOUR, SECOND, eventually, failure, on_every_store, told};

async fn nap(cx: Cx, duration: String) -> Result<i64> {
    let start = cx.now();
    cx.sleep("nap", duration).await?;
    Ok(cx.now().0 - start.0)
}

on_every_store! {
    async fn durations_may_be_spelled_in_many_ways(world: World) {
        let engine = world.engine().workflow("nap", nap).start().await.unwrap();
        for (text, ms) in [("2s", 2000), ("1 minute", 60_000), ("1 day 2 hours", 93_600_000), ("PT5M", 300_000), ("1h30m", 5_400_000)] {
            let handle = engine.start("nap", Start::new(text)).await.unwrap();
            world.until(&handle, Status::Sleeping).await;
            let wake_at = handle.instance().await.unwrap().wake_at.unwrap();
            assert_eq!(wake_at, world.now().after(Duration::from_millis(ms)), "{text}");
            world.settle().await;
            world.clock.set(wake_at);
            assert_eq!(handle.result::<u64>().await.unwrap(), ms, "{text}");
        }
    }

    async fn an_invalid_duration_is_a_typed_error_and_costs_nothing(world: World) {
        let engine = world.engine().workflow("nap", nap).start().await.unwrap();
        for text in ["", "5", "-5m", "soon", "5 parsecs"] {
            let handle = engine.start("nap", Start::new(text)).await.unwrap();
            let failed = failure(&handle).await;
            assert_eq!(failed.code, "VALIDATION_ERROR", "{text:?}");
            assert!(failed.message.contains("is not a duration"), "{failed}");
        }
    }

    async fn a_sleep_until_the_past_is_over_at_once(world: World) {
        let engine = world
            .engine()
            .workflow("past", async |cx: Cx, (): ()| -> Result<()> {
                let now = cx.now();
                cx.sleep_until("past", Timestamp(now.0 - 1000)).await?;
                cx.sleep_until("beginning", Timestamp(0)).await?;
                cx.sleep("nothing", 0).await
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("past", Start::new(&())).await.unwrap();
        handle.result::<()>().await.unwrap();
    }

    async fn nobody_wakes_early(world: World) {
        let engine = world.engine().workflow("nap", nap).start().await.unwrap();
        let handle = engine.start("nap", Start::new("1 hour")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR - Duration::from_millis(1));
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Sleeping);
        world.clock.advance(Duration::from_millis(1));
        assert_eq!(handle.result::<i64>().await.unwrap(), 3_600_000);
    }

    async fn sleepers_survive_a_restart_and_wake_at_their_time(world: World) {
        let build = || world.engine().workflow("nap", nap).start();
        let engine = build().await.unwrap();
        let handle = engine.start("nap", Start::new("1 hour").id("i")).await.unwrap();
        let other = engine.start("nap", Start::new("2 hours").id("j")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        world.until(&other, Status::Sleeping).await;
        engine.kill();
        world.clock.advance(HOUR / 2);
        let engine = build().await.unwrap();
        world.settle().await;
        let [handle, other] = [handle, other].map(|old| engine.get(old.id()));
        assert_eq!(handle.status().await.unwrap(), Status::Sleeping);
        world.clock.advance(HOUR / 2);
        assert_eq!(handle.result::<i64>().await.unwrap(), 3_600_000);
        engine.kill();
        // Its time comes while nobody is there.
        world.clock.advance(2 * HOUR);
        let engine = build().await.unwrap();
        assert_eq!(engine.get(other.id()).result::<i64>().await.unwrap(), 3 * 3_600_000);
    }

    async fn sleepers_beyond_the_horizon_are_rows_not_memory(world: World) {
        let engine = world.engine().workflow("nap", nap).start().await.unwrap();
        let mut handles = vec![];
        for _ in 0..10 {
            let starts = (0..100).map(|_| Start::new("1 hour")).collect();
            handles.extend(engine.start_all("nap", starts).await.unwrap());
        }
        world.until(&handles[999], Status::Sleeping).await;
        world.evict(&engine).await;
        world.clock.advance(HOUR);
        for handle in &handles {
            handle.result::<i64>().await.unwrap();
        }
    }

    async fn a_sleep_that_begins_while_timers_are_read_is_not_forgotten(world: World) {
        let slow = world.slow();
        let engine = world.engine_on(&slow.shared()).workflow("nap", nap).start().await.unwrap();
        world.settle().await;
        // The engine reads ahead; meanwhile somebody falls asleep within what it has just read.
        slow.hold(Hold::DueAnswer);
        world.clock.advance(5 * SECOND);
        slow.holds_one().await;
        let handle = engine.start("nap", Start::new("8 seconds")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        slow.release(Hold::DueAnswer);
        world.settle().await;
        world.clock.advance(8 * SECOND);
        let woken = eventually(async || handle.status().await.unwrap().is_terminal()).await;
        assert!(woken, "{}", told(&handle).await);
    }
}
