//! Stopping: gracefully, what runs is recorded; at once, it is as a crash.

use abide::prelude::*;

use crate::world::{Gate, HOUR, Ran, SECOND, eventually, on_every_store, with};

async fn two(cx: Cx, (ran, gate): (Ran, Gate), (): ()) -> Result<i32> {
    let first = async {
        ran.mark("a");
        gate.pass().await;
        Ok::<_, Error>(1)
    };
    let mut first = Some(first);
    let a = cx.step("a", || first.take().unwrap()).await?;
    cx.step("b", || ran.ok("b", a + 1)).await
}

on_every_store! {
    async fn a_graceful_shutdown_waits_for_running_steps_and_records_them(world: World) {
        let (ran, gate) = (Ran::default(), Gate::default());
        let build = || world.engine().workflow("two", with(&(ran.clone(), gate.clone()), two)).start();
        let engine = build().await.unwrap();
        let handle = engine.start("two", Start::new(&()).id("i")).await.unwrap();
        gate.reached(1).await;
        let stopping = tokio::spawn({ let engine = engine.clone(); async move { engine.shutdown().await } });
        world.settle().await;
        assert!(!stopping.is_finished(), "it did not wait for the step");
        gate.open();
        stopping.await.unwrap();
        assert_eq!(ran.order(), ["a"], "a step began during the shutdown");
        let steps = handle.steps().await.unwrap();
        assert!(steps[0].output.is_some(), "{steps:?}");
        let engine = build().await.unwrap();
        assert_eq!(engine.get(handle.id()).result::<i32>().await.unwrap(), 2);
        assert_eq!(ran.order(), ["a", "b"]);
    }

    async fn a_shutdown_waits_no_longer_than_its_grace(world: World) {
        let (ran, gate) = (Ran::default(), Gate::default());
        let build = || world.engine().workflow("two", with(&(ran.clone(), gate.clone()), two)).start();
        let engine = build().await.unwrap();
        let handle = engine.start("two", Start::new(&()).id("i")).await.unwrap();
        gate.reached(1).await;
        let stopping = tokio::spawn({ let engine = engine.clone(); async move { engine.shutdown().await } });
        world.settle().await;
        world.clock.advance(10 * SECOND);
        stopping.await.unwrap();
        gate.open();
        let engine = build().await.unwrap();
        assert_eq!(engine.get(handle.id()).result::<i32>().await.unwrap(), 2);
        assert_eq!(ran.order(), ["a", "a", "b"]);
    }

    async fn a_dropped_engine_behaves_like_a_crash(world: World) {
        let (ran, gate) = (Ran::default(), Gate::default());
        let build = || world.engine().workflow("two", with(&(ran.clone(), gate.clone()), two)).start();
        let engine = build().await.unwrap();
        let handle = engine.start("two", Start::new(&()).id("i")).await.unwrap();
        gate.reached(1).await;
        drop(engine);
        gate.open();
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Running, "it went on without its engine");
        let engine = build().await.unwrap();
        assert_eq!(engine.get(handle.id()).result::<i32>().await.unwrap(), 2);
        assert_eq!(ran.order(), ["a", "a", "b"]);
    }

    async fn calls_after_a_shutdown_say_so(world: World) {
        let engine = world
            .engine()
            .workflow("nap", async |cx: Cx, (): ()| -> Result<()> { cx.sleep("nap", "1 hour").await })
            .workflow("quick", async |_: Cx, (): ()| -> Result<i32> { Ok(1) })
            .start()
            .await
            .unwrap();
        let nap = engine.start("nap", Start::new(&())).await.unwrap();
        let quick = engine.start("quick", Start::new(&())).await.unwrap();
        quick.result::<i32>().await.unwrap();
        let waiting = tokio::spawn({ let nap = nap.clone(); async move { nap.result::<()>().await } });
        world.settle().await;
        engine.shutdown().await;
        let refused = engine.start("quick", Start::new(&())).await.err().unwrap();
        assert!(matches!(refused, Error::ShutDown), "{refused:?}");
        assert!(refused.is_retryable());
        assert!(matches!(waiting.await.unwrap(), Err(Error::ShutDown)), "who waited was not told");
        assert!(matches!(nap.result::<()>().await, Err(Error::ShutDown)));
        assert_eq!(quick.result::<i32>().await.unwrap(), 1);
    }

    async fn sleepers_stay_asleep_over_a_shutdown_and_nothing_stays_in_memory(world: World) {
        let build = || world
            .engine()
            .workflow("nap", async |cx: Cx, (): ()| -> Result<()> { cx.sleep("nap", "1 hour").await })
            .start();
        let engine = build().await.unwrap();
        let handle = engine.start("nap", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.shutdown().await;
        assert!(eventually(async || engine.resident() == 0).await);
        world.clock.advance(HOUR);
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Sleeping);
        let engine = build().await.unwrap();
        engine.get(handle.id()).result::<()>().await.unwrap();
    }
}
