//! What is in memory, for how long, and what it costs to come back.

use abide::prelude::*;

use crate::world::{Gate, HOUR, Ran, SECOND, eventually, on_every_store, story, with};

async fn naps(cx: Cx, ran: Ran, times: u32) -> Result<()> {
    ran.mark("entered");
    for _ in 0..times {
        cx.sleep("nap", "1 second").await?;
    }
    cx.wait_for_signal::<()>("long").await.map(|_| ())
}

on_every_store! {
    async fn a_parked_instance_is_woken_without_replay(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("naps", with(&ran, naps)).start().await.unwrap();
        let handle = engine.start("naps", Start::new(&3)).await.unwrap();
        for n in 1..=3 {
            world.settle().await;
            world.clock.advance(SECOND);
            let done = async || {
                let story = story(&handle).await;
                story.iter().filter(|entry| entry.starts_with("sleep.completed")).count() == n
            };
            assert!(eventually(done).await);
        }
        assert_eq!((ran.times("entered"), engine.resident()), (1, 1));
    }

    async fn a_parked_instance_leaves_memory_and_is_replayed_when_woken(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("naps", with(&ran, naps)).start().await.unwrap();
        let handle = engine.start("naps", Start::new(&0)).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.settle().await;
        world.clock.advance(4 * SECOND);
        world.settle().await;
        assert_eq!(engine.resident(), 1);
        world.clock.advance(SECOND);
        assert!(eventually(async || engine.resident() == 0).await);
        handle.signal("long", &()).await.unwrap();
        handle.result::<()>().await.unwrap();
        assert_eq!(ran.times("entered"), 2);
    }

    async fn who_asks_whether_it_rests_while_it_leaves_memory_is_told(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("naps", with(&ran, naps)).start().await.unwrap();
        let handle = engine.start("naps", Start::new(&0)).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.settle().await;
        world.clock.advance(5 * SECOND);
        // Tasks run in the order in which they are woken: first whoever tells the instance to leave, then who
        // asks, then the instance.
        let asks = tokio::spawn(async move { handle.settled().await.unwrap() });
        assert_eq!(asks.await.unwrap(), Status::Waiting);
        assert_eq!(engine.resident(), 0);
    }

    async fn what_only_time_can_wake_leaves_memory_at_once_unless_it_wakes_soon(world: World) {
        let engine = world
            .engine()
            .workflow("nap", async |cx: Cx, ms: u64| -> Result<()> { cx.sleep("nap", ms).await })
            .start()
            .await
            .unwrap();
        let soon = engine.start("nap", Start::new(&5000)).await.unwrap();
        let late = engine.start("nap", Start::new(&5001)).await.unwrap();
        world.until(&soon, Status::Sleeping).await;
        world.until(&late, Status::Sleeping).await;
        assert!(eventually(async || engine.resident() == 1).await);
        world.settle().await;
        world.clock.advance(6 * SECOND);
        soon.result::<()>().await.unwrap();
        late.result::<()>().await.unwrap();
    }

    async fn over_budget_the_longest_parked_go_first(world: World) {
        let ran = Ran::default();
        let build = world.engine().configure(|c| c.residency_budget = 5000);
        let engine = build.workflow("naps", with(&ran, naps)).start().await.unwrap();
        let mut handles = vec![];
        for _ in 0..10 {
            let handle = engine.start("naps", Start::new(&0)).await.unwrap();
            world.until(&handle, Status::Waiting).await;
            world.settle().await;
            handles.push(handle);
        }
        let kept = engine.resident();
        assert!((1..10).contains(&kept), "{kept} stay");
        // The youngest is still there: it is woken without being entered again.
        handles[9].pause().await.unwrap();
        handles[9].resume().await.unwrap();
        world.settle().await;
        assert_eq!(ran.times("entered"), 10);
        handles[0].pause().await.unwrap();
        handles[0].resume().await.unwrap();
        assert!(eventually(async || ran.times("entered") == 11).await);
    }

    async fn a_foreign_future_stays_in_memory_and_is_reported_stuck(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<i32> {
                cx.step("a", || async { Ok::<_, Error>(()) }).await?;
                gate.pass().await;
                Ok(1)
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        world.settle().await;
        world.clock.advance(20 * SECOND);
        world.settle().await;
        assert_eq!(engine.resident(), 1);
        assert_eq!(handle.status().await.unwrap(), Status::Running);
        assert!(!story(&handle).await.contains(&"workflow.stuck".to_owned()));
        world.clock.advance(11 * SECOND);
        let reported = async || story(&handle).await.contains(&"workflow.stuck".to_owned());
        assert!(eventually(reported).await);
        world.clock.advance(HOUR);
        world.settle().await;
        assert_eq!(engine.resident(), 1);
        gate.open();
        assert_eq!(handle.result::<i32>().await.unwrap(), 1);
    }

    async fn a_running_step_is_never_evicted(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<i32> {
                let (slow, _) = tokio::join!(cx.step("a", || gate.clone().ok(1)), cx.sleep("s", "1 day"));
                slow
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        world.settle().await;
        world.clock.advance(HOUR);
        world.settle().await;
        assert_eq!((engine.resident(), gate.arrived()), (1, 1));
        assert!(!story(&handle).await.contains(&"workflow.stuck".to_owned()));
        gate.open();
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(24 * HOUR);
        assert_eq!(handle.result::<i32>().await.unwrap(), 1);
    }

    async fn an_ended_instance_leaves_memory_at_once(world: World) {
        let engine = world
            .engine()
            .workflow("w", async |cx: Cx, (): ()| -> Result<i32> {
                cx.step("a", || async { Ok::<_, Error>(1) }).await
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        handle.result::<i32>().await.unwrap();
        assert!(eventually(async || engine.resident() == 0).await);
    }
}
