//! Retries: how often, when, and what an interruption counts for.

use std::time::Duration;

use abide::StepStatus;
use abide::history::EntryKind;
use abide::prelude::*;

use crate::world::{
    Gate, HOUR, Ran, SECOND, eventually, failure, on_every_store, story, told, with,
};

async fn broken(cx: Cx, ran: Ran, (): ()) -> Result<()> {
    cx.step("s", || ran.fail("s")).await
}

on_every_store! {
    async fn a_step_is_tried_three_times_by_default_a_second_and_two_apart(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("w", with(&ran, broken)).start().await.unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        for (failed, delay) in [(1, 1000), (2, 2000)] {
            assert!(eventually(async || ran.times("s") == failed).await);
            world.until(&handle, Status::Sleeping).await;
            let wake_at = handle.instance().await.unwrap().wake_at.unwrap();
            let rest = wake_at.0 - world.now().0;
            assert!((delay * 9 / 10..=delay * 11 / 10).contains(&rest), "{rest} ms");
            world.settle().await;
            world.clock.set(Timestamp(wake_at.0 - 1));
            world.settle().await;
            assert_eq!(ran.times("s"), failed, "it was tried too early");
            world.clock.set(wake_at);
        }
        let failed = failure(&handle).await;
        assert_eq!((&*failed.code, failed.step.as_deref()), ("STEP_RETRY_EXHAUSTED", Some("s")));
        assert_eq!(failed.detail::<u32>("attempts"), Some(3));
        let step = &handle.steps().await.unwrap()[0];
        assert_eq!((step.attempts, step.retries.len(), step.status), (3, 2, StepStatus::Failed));
    }

    async fn a_step_that_must_not_be_retried_fails_at_once(world: World) {
        let engine = world
            .engine()
            .workflow("w", async |cx: Cx, (): ()| -> Result<()> {
                let declined = || async { Err::<(), _>(NonRetryable::new("card declined")) };
                cx.step("charge", declined).await
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let failed = failure(&handle).await;
        assert_eq!((&*failed.code, &*failed.message), ("STEP_FAILED", "card declined"));
        assert_eq!(handle.steps().await.unwrap()[0].attempts, 1);
    }

    async fn an_attempt_that_takes_too_long_is_dropped_and_tried_again(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<i32> {
                let retry = Retry::times(2).delay("1s").no_jitter();
                cx.step("slow", || gate.clone().ok(1)).timeout("10s").retry(retry).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        world.clock.advance(10 * SECOND);
        world.until(&handle, Status::Sleeping).await;
        let step = handle.steps().await.unwrap().remove(0);
        assert_eq!(step.retries[0].error.as_ref().unwrap().code, "STEP_TIMEOUT");
        world.settle().await;
        world.clock.advance(SECOND);
        gate.reached(2).await;
        gate.open();
        assert_eq!(handle.result::<i32>().await.unwrap(), 1);
    }

    async fn a_panic_in_a_step_is_a_failed_attempt(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("w", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<i32> {
                cx.step("s", || {
                    ran.mark("s");
                    let times = ran.times("s");
                    assert!(times != 1, "in the closure");
                    async move {
                        assert!(times != 2, "in the future");
                        Ok::<_, Error>(1)
                    }
                })
                .await
            }))
            .workflow("workflow", async |_: Cx, (): ()| -> Result<()> { panic!("on its own") })
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<i32>().await.unwrap(), 1);
        let errors: Vec<_> = handle.steps().await.unwrap()[0].retries.iter().map(|r| r.error.clone().unwrap().message).collect();
        assert_eq!(errors, ["panicked: in the closure", "panicked: in the future"]);
        let handle = engine.start("workflow", Start::new(&())).await.unwrap();
        let failed = failure(&handle).await;
        assert_eq!((&*failed.code, &*failed.message), ("WORKFLOW_PANICKED", "panicked: on its own"));
    }

    async fn a_retry_keeps_its_time_over_a_crash(world: World) {
        let ran = Ran::default();
        let flow = async |cx: Cx, ran: Ran, (): ()| -> Result<()> {
            cx.step("s", || ran.fail("s")).retry(Retry::times(2).delay("1 hour").no_jitter().max_delay("1 hour")).await
        };
        let build = || world.engine().workflow("w", with(&ran, flow)).start();
        let engine = build().await.unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        let wake_at = handle.instance().await.unwrap().wake_at.unwrap();
        assert_eq!(wake_at, world.now().after(HOUR));
        engine.kill();
        world.clock.advance(HOUR / 2);
        let engine = build().await.unwrap();
        world.settle().await;
        assert_eq!(ran.times("s"), 1);
        world.clock.set(wake_at);
        let failed = failure(&engine.get(handle.id())).await;
        assert_eq!(failed.detail::<u32>("attempts"), Some(2));
        assert_eq!(ran.times("s"), 2);
    }

    async fn an_exhausted_step_may_pause_and_begins_a_new_round_when_resumed(world: World) {
        for crash in [false, true] {
            let ran = Ran::default();
            let flow = async |cx: Cx, ran: Ran, (): ()| -> Result<i32> {
                let retry = Retry::times(3).delay("1s").max_duration("2s").no_jitter().pause_when_exhausted();
                cx.step("s", || {
                    ran.mark("s");
                    let works = ran.times("s") == 6;
                    async move { if works { Ok(1) } else { Err(Error::failed("DOWN", "down")) } }
                })
                .retry(retry)
                .await
            };
            let build = || world.engine().workflow("w", with(&ran, flow)).start();
            let mut engine = build().await.unwrap();
            let id = format!("crash {crash}");
            let mut handle = engine.start("w", Start::new(&()).id(&id)).await.unwrap();
            for tries in 1..3 {
                assert!(eventually(async || ran.times("s") == tries).await);
                world.until(&handle, Status::Sleeping).await;
                world.settle().await;
                world.clock.advance(SECOND);
            }
            world.until(&handle, Status::Paused).await;
            assert_eq!(ran.times("s"), 3);
            let history = handle.history().await.unwrap();
            let paused = history.iter().find(|r| r.entry.entry == EntryKind::WorkflowPaused).unwrap();
            assert_eq!(paused.entry.error.as_ref().unwrap().code, "STEP_RETRY_EXHAUSTED");
            // An operator takes his time.
            world.clock.advance(HOUR);
            if crash {
                engine.kill();
                engine = build().await.unwrap();
                handle = engine.get(handle.id());
            }
            handle.resume().await.unwrap();
            world.until(&handle, Status::Sleeping).await;
            if crash {
                engine.kill();
                engine = build().await.unwrap();
                handle = engine.get(handle.id());
            }
            for tries in 4..6 {
                assert!(eventually(async || ran.times("s") == tries).await);
                world.until(&handle, Status::Sleeping).await;
                world.settle().await;
                world.clock.advance(SECOND);
            }
            assert_eq!(handle.result::<i32>().await.unwrap(), 1, "crash {crash}");
            assert_eq!(ran.times("s"), 6);
            engine.kill();
        }
    }

    async fn when_one_step_is_exhausted_the_others_of_a_join_finish(world: World) {
        let (ran, gate) = (Ran::default(), Gate::default());
        let engine = world
            .engine()
            .workflow("w", with(&(ran.clone(), gate.clone()), async |cx: Cx, (ran, gate): (Ran, Gate), (): ()| -> Result<i32> {
                let retry = Retry::times(1).pause_when_exhausted();
                let (broken, slow) = tokio::join!(
                    cx.step("broken", || {
                        ran.mark("broken");
                        let works = ran.times("broken") > 1;
                        async move { if works { Ok(1) } else { Err(Error::failed("DOWN", "down")) } }
                    })
                    .retry(retry),
                    cx.step("slow", || gate.clone().ok(2)).retry(Retry::never()),
                );
                Ok(broken? + slow?)
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Paused).await;
        world.settle().await;
        gate.open();
        let finished = async || story(&handle).await.contains(&"step.completed slow".to_owned());
        assert!(eventually(finished).await, "{}", told(&handle).await);
        handle.resume().await.unwrap();
        assert_eq!(handle.result::<i32>().await.unwrap(), 3);
        assert_eq!(gate.arrived(), 1);
    }

    async fn a_step_that_runs_at_most_once_is_not_run_again_after_a_crash(world: World) {
        let gate = Gate::default();
        let flow = async |cx: Cx, gate: Gate, (): ()| -> Result<String> {
            let once = cx.step("once", || gate.clone().ok(1)).retry(Retry::never()).await;
            Ok(once.unwrap_err().code().to_owned())
        };
        let build = || world.engine().workflow("w", with(&gate, flow)).start();
        let engine = build().await.unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        gate.reached(1).await;
        engine.kill();
        let engine = build().await.unwrap();
        let code = engine.get(handle.id()).result::<String>().await.unwrap();
        assert_eq!((&*code, gate.arrived()), ("STEP_INTERRUPTED", 1));
    }

    async fn interruptions_do_not_use_up_attempts_but_five_in_a_row_end_the_step(world: World) {
        let gate = Gate::default();
        let flow = async |cx: Cx, gate: Gate, (): ()| -> Result<i32> {
            cx.step("s", || gate.clone().ok(1)).retry(Retry::times(2)).await
        };
        let build = || world.engine().workflow("w", with(&gate, flow)).start();
        let mut engine = build().await.unwrap();
        let patient = engine.start("w", Start::new(&()).id("patient")).await.unwrap();
        for n in 1..=4 {
            gate.reached(n).await;
            engine.kill();
            engine = build().await.unwrap();
        }
        gate.reached(5).await;
        engine.kill();
        let engine = build().await.unwrap();
        let failed = failure(&engine.get(patient.id())).await;
        assert_eq!(failed.code, "STEP_INTERRUPTED");
        assert_eq!(gate.arrived(), 5);
    }

    async fn a_step_interrupted_four_times_still_has_all_its_attempts(world: World) {
        let (ran, gate) = (Ran::default(), Gate::default());
        let flow = async |cx: Cx, (ran, gate): (Ran, Gate), (): ()| -> Result<()> {
            let retry = Retry::times(2).delay(Duration::from_millis(10));
            cx.step("s", || {
                let (ran, gate) = (ran.clone(), gate.clone());
                async move {
                    gate.pass().await;
                    ran.fail("s").await
                }
            })
            .retry(retry)
            .await
        };
        let build = || world.engine().workflow("w", with(&(ran.clone(), gate.clone()), flow)).start();
        let mut engine = build().await.unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        for n in 1..=4 {
            gate.reached(n).await;
            engine.kill();
            engine = build().await.unwrap();
        }
        gate.reached(5).await;
        gate.open();
        let handle = engine.get(handle.id());
        world.run_to_end(&handle).await;
        let failed = failure(&handle).await;
        assert_eq!(failed.detail::<u32>("attempts"), Some(2));
        assert_eq!(ran.times("s"), 2);
    }
}
