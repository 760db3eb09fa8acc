//! Compensation: what was done is undone in reverse, however the instance comes to its end.

use abide::prelude::*;

use crate::world::{Gate, HOUR, Ran, SECOND, eventually, failure, on_every_store, told, with};

/// Books three things, each undone by name, then does what the test asks.
async fn trip(cx: Cx, ran: Ran, then: String) -> Result<()> {
    for name in ["flight", "hotel", "car"] {
        let (book, undo) = (ran.clone(), ran.clone());
        cx.step(name, move || book.ok(name, name.to_owned()))
            .compensate(move |booked: String| undo.ok(&format!("undo {booked}"), ()))
            .await?;
    }
    match &*then {
        "fail" => Err(Error::failed("NO_VISA", "no visa")),
        "panic" => panic!("lost the tickets"),
        "sleep" => cx.sleep("stay", "1 day").await,
        _ => Ok(()),
    }
}

const UNDONE: [&str; 6] = ["flight", "hotel", "car", "undo car", "undo hotel", "undo flight"];

on_every_store! {
    async fn a_failed_workflow_undoes_its_steps_in_reverse_order(world: World) {
        for (then, code) in [("fail", "NO_VISA"), ("panic", "WORKFLOW_PANICKED")] {
            let ran = Ran::default();
            let engine = world.engine().workflow("trip", with(&ran, trip)).start().await.unwrap();
            let handle = engine.start("trip", Start::new(then)).await.unwrap();
            assert_eq!(failure(&handle).await.code, code);
            assert_eq!(ran.order(), UNDONE);
            let steps = handle.steps().await.unwrap();
            assert_eq!(&*steps[3].name, "compensate car");
        }
    }

    async fn a_completed_workflow_undoes_nothing(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("trip", with(&ran, trip)).start().await.unwrap();
        let handle = engine.start("trip", Start::new("enjoy")).await.unwrap();
        handle.result::<()>().await.unwrap();
        assert_eq!(ran.order(), UNDONE[..3]);
    }

    async fn termination_undoes_only_when_asked(world: World) {
        for evicted in [false, true] {
            let ran = Ran::default();
            let engine = world.engine().workflow("trip", with(&ran, trip)).start().await.unwrap();
            let plain = engine.start("trip", Start::new("sleep")).await.unwrap();
            world.until(&plain, Status::Sleeping).await;
            plain.terminate(Terminate::because("storm")).await.unwrap();
            assert_eq!(plain.status().await.unwrap(), Status::Terminated);
            assert_eq!(ran.order(), UNDONE[..3]);

            let ran = Ran::default();
            let engine = world.engine().workflow("trip", with(&ran, trip)).start().await.unwrap();
            let asked = engine.start("trip", Start::new("sleep")).await.unwrap();
            world.until(&asked, Status::Sleeping).await;
            if evicted {
                world.evict(&engine).await;
            }
            asked.terminate(Terminate::because("storm").compensate()).await.unwrap();
            let ended = asked.ended().await.unwrap();
            assert_eq!(ended.status, Status::Terminated);
            assert_eq!(ended.error.unwrap().message, "storm");
            assert_eq!(ran.order(), UNDONE);
        }
    }

    async fn a_paused_instance_compensates_when_terminated_so(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("trip", with(&ran, trip)).start().await.unwrap();
        let handle = engine.start("trip", Start::new("sleep")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.pause().await.unwrap();
        handle.terminate(Terminate::because("storm").compensate()).await.unwrap();
        assert_eq!(handle.ended().await.unwrap().status, Status::Terminated);
        assert_eq!(ran.order(), UNDONE);
    }

    async fn compensation_goes_on_after_a_crash_where_it_stopped(world: World) {
        for how in ["fail", "terminate", "timeout"] {
            let (ran, gate) = (Ran::default(), Gate::default());
            let flow = async |cx: Cx, (ran, gate): (Ran, Gate), how: String| -> Result<()> {
                let undo = |name: &'static str| {
                    let (ran, gate) = (ran.clone(), gate.clone());
                    move |(): ()| {
                        let (ran, gate) = (ran.clone(), gate.clone());
                        async move {
                            ran.mark(name);
                            if name == "undo b" { gate.pass().await; }
                            Ok::<_, Error>(())
                        }
                    }
                };
                cx.step("a", || ran.ok("a", ())).compensate(undo("undo a")).await?;
                cx.step("b", || ran.ok("b", ())).compensate(undo("undo b")).await?;
                cx.step("c", || ran.ok("c", ())).compensate(undo("undo c")).await?;
                if how != "fail" {
                    cx.sleep("rest", "1 day").await?;
                }
                Err(Error::failed("ENOUGH", "enough"))
            };
            let build = || world.engine().workflow("w", with(&(ran.clone(), gate.clone()), flow)).start();
            let engine = build().await.unwrap();
            let handle = engine.start("w", Start::new(how).id(how).timeout("1 hour")).await.unwrap();
            if how != "fail" {
                world.until(&handle, Status::Sleeping).await;
                world.evict(&engine).await;
            }
            match how {
                "terminate" => drop(handle.terminate(Terminate::because("x").compensate()).await.unwrap()),
                "timeout" => world.clock.advance(HOUR),
                _ => {}
            }
            gate.reached(1).await;
            engine.kill();
            let engine = build().await.unwrap();
            gate.reached(2).await;
            gate.open();
            let handle = engine.get(handle.id());
            let ended = handle.ended().await.unwrap();
            let code = ended.error.unwrap().code;
            let expected = match how {
                "terminate" => "WORKFLOW_TERMINATED",
                "timeout" => "WORKFLOW_TIMEOUT",
                _ => "ENOUGH",
            };
            assert_eq!(code, expected, "{}", told(&handle).await);
            assert_eq!(ran.order(), ["a", "b", "c", "undo c", "undo b", "undo b", "undo a"], "{how}");
        }
    }

    async fn a_failing_compensation_does_not_keep_the_others_from_running(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("w", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<()> {
                for name in ["a", "b", "c"] {
                    let undo = ran.clone();
                    cx.step(name, || ran.ok(name, ()))
                        .compensate(move |()| if name == "b" { undo.fail("undo b") } else { undo.ok("undo", ()) })
                        .await?;
                }
                Err(Error::failed("ENOUGH", "enough"))
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        world.run_to_end(&handle).await;
        let failed = failure(&handle).await;
        assert_eq!(failed.code, "COMPENSATION_FAILED");
        assert!(failed.message.contains("undo b is broken"), "{failed}");
        assert_eq!((ran.times("undo"), ran.times("undo b")), (2, 3));
    }

    async fn a_timeout_compensates_and_the_deadline_is_no_longer_a_wake_up(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("w", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<()> {
                let undo = ran.clone();
                cx.step("a", || ran.ok("a", ())).compensate(move |()| undo.fail("undo a")).await?;
                cx.sleep("rest", "1 day").await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&()).timeout("1 hour")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.terminate(Terminate::because("storm").compensate()).await.unwrap();
        assert!(eventually(async || ran.times("undo a") == 1).await);
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        // The delay before the second try, not the deadline that no longer matters.
        let wake_at = handle.instance().await.unwrap().wake_at.unwrap();
        assert!(wake_at < world.now().after(2 * SECOND), "{wake_at}");
        world.clock.advance(HOUR);
        assert!(eventually(async || ran.times("undo a") == 2).await);
        world.until(&handle, Status::Sleeping).await;
        let wake_at = handle.instance().await.unwrap().wake_at.unwrap();
        assert!(wake_at > world.now(), "it wakes all the time because of a deadline in the past");
        world.run_to_end(&handle).await;
        assert_eq!(ran.times("undo a"), 3);
    }

    async fn a_run_over_its_limits_is_undone_all_the_same(world: World) {
        let flow = async |cx: Cx, ran: Ran, (): ()| -> Result<()> {
            for _ in 0..10 {
                let undo = ran.clone();
                cx.step("a", || ran.ok("a", "x".repeat(50)))
                    .compensate(move |_: String| undo.ok("undo", ()))
                    .await?;
            }
            Ok(())
        };
        for what in ["steps", "bytes"] {
            let ran = Ran::default();
            let engine = world
                .engine()
                .configure(|c| match what {
                    "steps" => c.run_max_steps = 4,
                    _ => c.instance_max_bytes = 200,
                })
                .workflow("w", with(&ran, flow))
                .start()
                .await
                .unwrap();
            let handle = engine.start("w", Start::new(&())).await.unwrap();
            assert_eq!(failure(&handle).await.code, "LIMIT_EXCEEDED");
            assert_eq!(ran.times("undo"), 4, "{what}: {}", told(&handle).await);
        }
    }

    async fn a_step_that_was_done_but_not_seen_is_undone_with_the_rest(world: World) {
        let (ran, gate) = (Ran::default(), Gate::default());
        let engine = world
            .engine()
            .workflow("w", with(&(ran.clone(), gate.clone()), async |cx: Cx, (ran, gate): (Ran, Gate), (): ()| -> Result<()> {
                let undo = ran.clone();
                let fails = cx.step("a", || {
                    let gate = gate.clone();
                    async move { gate.pass().await; Err::<(), _>(NonRetryable::new("no")) }
                });
                let done = cx.step("b", || gate.clone().ok(())).compensate(move |()| undo.ok("undo b", ()));
                futures_util::future::try_join(fails, done).await.map(|_| ())
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(2).await;
        gate.open();
        assert_eq!(failure(&handle).await.code, "STEP_FAILED");
        assert_eq!(ran.order(), ["undo b"], "{}", told(&handle).await);
    }

    async fn a_step_with_the_longest_name_can_be_undone(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("w", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<()> {
                let (cx, undo) = (cx.scope("part", 1), ran.clone());
                cx.step(&"x".repeat(255), || ran.ok("x", ()))
                    .compensate(move |()| undo.ok("undo", ()))
                    .await?;
                Err(Error::failed("ENOUGH", "enough"))
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        assert_eq!(failure(&handle).await.code, "ENOUGH");
        assert_eq!(ran.times("undo"), 1);
    }
}
