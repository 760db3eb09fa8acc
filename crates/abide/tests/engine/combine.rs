//! `join!`, `select!` and friends over `Cx` futures: the same winner, live and replayed.

use abide::StepStatus;
use abide::prelude::*;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::world::{Gate, Ran, SECOND, failure, on_every_store, story, with};

on_every_store! {
    async fn joined_steps_run_at_the_same_time(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("join", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<i32> {
                let (a, b, c) = tokio::join!(
                    cx.step("a", || gate.clone().ok(1)),
                    cx.step("b", || gate.clone().ok(2)),
                    cx.step("c", || gate.clone().ok(3)),
                );
                Ok(a? + b? + c?)
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("join", Start::new(&())).await.unwrap();
        gate.reached(3).await;
        gate.open();
        assert_eq!(handle.result::<i32>().await.unwrap(), 6);
    }

    async fn parallel_sleeps_each_take_their_own_time(world: World) {
        let engine = world
            .engine()
            .workflow("rest", async |cx: Cx, (): ()| -> Result<Vec<i64>> {
                let start = cx.now();
                let nap = async |name: &str, seconds: u64| -> Result<i64> {
                    cx.sleep(name, seconds * 1000).await?;
                    Ok(cx.now().0 - start.0)
                };
                let (a, b, c) = tokio::join!(nap("a", 3), nap("b", 1), nap("c", 2));
                Ok(vec![a?, b?, c?])
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("rest", Start::new(&())).await.unwrap();
        for _ in 0..3 {
            world.until(&handle, Status::Sleeping).await;
            world.settle().await;
            world.clock.advance(SECOND);
            world.settle().await;
        }
        assert_eq!(handle.result::<Vec<i64>>().await.unwrap(), [3000, 1000, 2000]);
    }

    async fn the_loser_of_a_select_is_cancelled_and_its_name_used_anew(world: World) {
        let (gate, ran) = (Gate::default(), Ran::default());
        let build = || world
            .engine()
            .workflow("race", with(&(gate.clone(), ran.clone()), async |cx: Cx, (gate, ran): (Gate, Ran), (): ()| -> Result<String> {
                let first = tokio::select! {
                    slow = cx.step("work", || gate.clone().ok("slow".to_owned())) => slow?,
                    slept = cx.sleep("patience", "1 second") => { slept?; "patience".to_owned() }
                };
                let second = cx.step("work", || ran.ok("again", "again".to_owned())).await?;
                cx.sleep("rest", "1 second").await?;
                Ok(format!("{first} {second}"))
            }))
            .start();
        let engine = build().await.unwrap();
        let handle = engine.start("race", Start::new(&()).id("r")).await.unwrap();
        gate.reached(1).await;
        world.settle().await;
        world.clock.advance(SECOND);
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<String>().await.unwrap(), "patience again");
        let steps = handle.steps().await.unwrap();
        let of = |name: &str| steps.iter().find(|step| &*step.name == name).unwrap();
        assert_eq!(of("work").status, StepStatus::Cancelled);
        assert_eq!(of("work#2").status, StepStatus::Completed);
        assert_eq!((gate.arrived(), ran.times("again")), (1, 1));
    }

    async fn a_cancelled_sleep_does_not_wake_anybody(world: World) {
        let engine = world
            .engine()
            .workflow("race", async |cx: Cx, (): ()| -> Result<()> {
                tokio::select! {
                    _ = cx.sleep("long", "1 hour") => {}
                    _ = cx.sleep("short", "1 second") => {}
                }
                cx.sleep("rest", "1 day").await
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("race", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(SECOND);
        world.settle().await;
        let instance = handle.instance().await.unwrap();
        let day = SECOND * 24 * 3600;
        assert_eq!(instance.wake_at, Some(world.now().after(day)));
        assert!(story(&handle).await.contains(&"step.cancelled long".to_owned()));
    }

    async fn futures_unordered_gives_results_as_they_come(world: World) {
        let engine = world
            .engine()
            .workflow("many", async |cx: Cx, (): ()| -> Result<Vec<u64>> {
                let mut naps: FuturesUnordered<_> = [3_u64, 1, 2]
                    .into_iter()
                    .map(|n| {
                        let cx = cx.scope("nap", n);
                        async move {
                            cx.sleep("s", n * 1000).await?;
                            cx.step("wake", || async { Ok::<_, Error>(n) }).await
                        }
                    })
                    .collect();
                let mut order = vec![];
                while let Some(n) = naps.next().await {
                    order.push(n?);
                }
                Ok(order)
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("many", Start::new(&())).await.unwrap();
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<Vec<u64>>().await.unwrap(), [1, 2, 3]);
    }

    async fn steps_that_finish_together_are_seen_in_one_fixed_order(world: World) {
        let gate = Gate::default();
        let build = || world
            .engine()
            .workflow("tie", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<Vec<u64>> {
                let mut ties: FuturesUnordered<_> = (0..8_u64)
                    .map(|n| cx.step("tie", { let gate = gate.clone(); move || gate.clone().ok(n) }))
                    .collect();
                let mut order = vec![];
                while let Some(n) = ties.next().await {
                    order.push(n?);
                }
                let seen = cx.step("seen", || std::future::ready(Ok::<_, Error>(order.clone()))).await?;
                cx.sleep("rest", "1 second").await?;
                assert_eq!(seen, order, "replay saw another order");
                Ok(order)
            }))
            .start();
        let engine = build().await.unwrap();
        let handle = engine.start("tie", Start::new(&()).id("t")).await.unwrap();
        gate.reached(8).await;
        gate.open();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<Vec<u64>>().await.unwrap().len(), 8);
    }

    async fn a_cx_future_on_another_task_is_an_error(world: World) {
        let engine = world
            .engine()
            .workflow("spawn", async |cx: Cx, (): ()| -> Result<()> {
                let other = cx.clone();
                let elsewhere = tokio::spawn(async move { other.sleep("nap", 1000).await });
                elsewhere.await.unwrap()
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("spawn", Start::new(&())).await.unwrap();
        let failed = failure(&handle).await;
        assert!(failed.message.contains("polled outside its workflow"), "{failed}");
    }

    async fn nested_races_and_joins_come_to_the_same_result_after_a_crash(world: World) {
        let ran = Ran::default();
        let build = || world
            .engine()
            .workflow("nested", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<(i32, i32)> {
                let race = async {
                    tokio::select! {
                        a = async { cx.sleep("s1", "1 hour").await?; cx.step("a", || ran.ok("a", 1)).await } => a,
                        b = async { cx.sleep("s2", "1 second").await?; cx.step("b", || ran.ok("b", 2)).await } => b,
                    }
                };
                let line = async {
                    cx.sleep("s3", "1500").await.unwrap_err();
                    cx.sleep("s4", 1500).await?;
                    cx.step("c", || ran.ok("c", 3)).await
                };
                let (race, line) = tokio::join!(race, line);
                cx.sleep("rest", "1 second").await?;
                Ok((race?, line?))
            }))
            .start();
        let engine = build().await.unwrap();
        let mut handle = engine.start("nested", Start::new(&()).id("n")).await.unwrap();
        let mut engines = vec![engine];
        for _ in 0..5 {
            world.settle().await;
            world.clock.advance(SECOND / 2);
            world.settle().await;
            engines.pop().unwrap().kill();
            engines.push(build().await.unwrap());
            handle = engines[0].get(handle.id());
            world.settle().await;
        }
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<(i32, i32)>().await.unwrap(), (2, 3));
        assert_eq!((ran.times("a"), ran.times("b"), ran.times("c")), (0, 1, 1));
    }
}
