//! Steps: recorded once, named, bounded, replayed without running again.

use abide::prelude::*;
use abide::{Json, StepStatus};
use serde_json::json;

use crate::slow::Hold;
use crate::world::{Gate, HOUR, Ran, eventually, failure, on_every_store, story, with};

on_every_store! {
    async fn a_workflow_of_steps_completes_with_its_result(world: World) {
        let engine = world
            .engine()
            .workflow("sum", async |cx: Cx, input: (i32, i32)| -> Result<i32> {
                let a = cx.step("a", || async { Ok::<_, Error>(input.0) }).await?;
                let b = cx.step("b", || async { Ok::<_, Error>(a + input.1) }).await?;
                Ok(b)
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("sum", Start::new(&(1, 2))).await.unwrap();
        assert_eq!(handle.result::<i32>().await.unwrap(), 3);
        assert_eq!(
            story(&handle).await,
            [
                "workflow.started",
                "step.started a",
                "step.completed a",
                "step.started b",
                "step.completed b",
                "workflow.completed"
            ]
        );
    }

    async fn n_sequential_steps_cost_n_plus_one_commits(world: World) {
        let faults = world.faults();
        let engine = world
            .engine_with(&faults)
            .workflow("count", async |cx: Cx, steps: u32| -> Result<u32> {
                let mut sum = 0;
                for _ in 0..steps {
                    sum += cx.step("one", || async { Ok::<_, Error>(1) }).await?;
                }
                Ok(sum)
            })
            .start()
            .await
            .unwrap();
        for steps in [0, 1, 7] {
            let before = faults.writes();
            let handle = engine.start("count", Start::new(&steps)).await.unwrap();
            assert_eq!(handle.result::<u32>().await.unwrap(), steps);
            assert_eq!(faults.writes() - before, steps as usize + 1);
        }
    }

    async fn the_same_name_again_is_another_step(world: World) {
        let engine = world
            .engine()
            .workflow("loop", async |cx: Cx, (): ()| -> Result<Vec<i32>> {
                let mut seen = vec![];
                for n in 0..3 {
                    seen.push(cx.step("visit", || async move { Ok::<_, Error>(n) }).await?);
                }
                Ok(seen)
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("loop", Start::new(&())).await.unwrap();
        assert_eq!(handle.result::<Vec<i32>>().await.unwrap(), [0, 1, 2]);
        let steps = handle.steps().await.unwrap();
        let names: Vec<_> = steps.iter().map(|step| &*step.name).collect();
        assert_eq!(names, ["visit", "visit#2", "visit#3"]);
        assert!(steps.iter().all(|step| step.status == StepStatus::Completed));
    }

    async fn the_name_is_taken_when_the_step_is_made_not_when_it_is_polled(world: World) {
        let engine = world
            .engine()
            .workflow("late", async |cx: Cx, (): ()| -> Result<(i32, i32)> {
                let first = cx.step("s", || async { Ok::<_, Error>(1) });
                let second = cx.step("s", || async { Ok::<_, Error>(2) });
                let second = second.await?;
                Ok((first.await?, second))
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("late", Start::new(&())).await.unwrap();
        assert_eq!(handle.result::<(i32, i32)>().await.unwrap(), (1, 2));
        let steps = handle.steps().await.unwrap();
        let output = |name: &str| steps.iter().find(|step| &*step.name == name).unwrap().output.clone();
        assert_eq!(output("s"), Some(Json::encode(&1).unwrap()));
        assert_eq!(output("s#2"), Some(Json::encode(&2).unwrap()));
    }

    async fn a_scope_is_part_of_the_name(world: World) {
        let engine = world
            .engine()
            .workflow("scoped", async |cx: Cx, (): ()| -> Result<()> {
                let item = cx.scope("item", 3);
                item.step("charge", || async { Ok::<_, Error>(()) }).await?;
                item.step("charge", || async { Ok::<_, Error>(()) }).await?;
                item.scope("part", "x").sleep("rest", 0).await?;
                cx.step("charge", || async { Ok::<_, Error>(()) }).await
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("scoped", Start::new(&())).await.unwrap();
        handle.result::<()>().await.unwrap();
        let steps = handle.steps().await.unwrap();
        let names: Vec<_> = steps.iter().map(|step| &*step.name).collect();
        assert_eq!(names, ["item[3].charge", "item[3].charge#2", "item[3].part[x].rest", "charge"]);
    }

    async fn a_bad_name_is_a_typed_error(world: World) {
        let engine = world
            .engine()
            .workflow("named", async |cx: Cx, name: String| -> Result<()> {
                cx.step(&name, || async { Ok::<_, Error>(()) }).await
            })
            .workflow("scoped", async |cx: Cx, name: String| -> Result<()> {
                cx.scope(&name, 1).step("s", || async { Ok::<_, Error>(()) }).await
            })
            .start()
            .await
            .unwrap();
        for workflow in ["named", "scoped"] {
            for name in ["", "a#2", "a[", "]", &"x".repeat(256)] {
                let handle = engine.start(workflow, Start::new(name)).await.unwrap();
                let failure = failure(&handle).await;
                assert_eq!(failure.code, "VALIDATION_ERROR", "{workflow} {name:?}");
                assert!(failure.message.contains("name"), "{failure}");
            }
        }
    }

    async fn what_json_would_alter_fails_the_step_and_is_not_retried(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("nan", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<f64> {
                cx.step("divide", || ran.ok("divide", f64::NAN)).await
            }))
            .workflow("output", async |_: Cx, (): ()| -> Result<f64> { Ok(f64::INFINITY) })
            .start()
            .await
            .unwrap();
        let handle = engine.start("nan", Start::new(&())).await.unwrap();
        let failed = failure(&handle).await;
        assert_eq!((&*failed.code, failed.step.as_deref()), ("VALIDATION_ERROR", Some("divide")));
        assert_eq!(ran.times("divide"), 1);
        let handle = engine.start("output", Start::new(&())).await.unwrap();
        assert_eq!(failure(&handle).await.code, "VALIDATION_ERROR");
    }

    async fn a_result_over_the_limit_is_an_error_and_not_retried(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .configure(|c| c.payload_max = 100)
            .workflow("large", with(&ran, async |cx: Cx, ran: Ran, size: usize| -> Result<usize> {
                let text: String = cx.step("make", || ran.ok("make", "x".repeat(size))).await?;
                Ok(text.len())
            }))
            .workflow("output", async |_: Cx, size: usize| -> Result<String> { Ok("x".repeat(size)) })
            .start()
            .await
            .unwrap();
        let fits = engine.start("large", Start::new(&98)).await.unwrap();
        assert_eq!(fits.result::<usize>().await.unwrap(), 98);
        let large = engine.start("large", Start::new(&99)).await.unwrap();
        let failed = failure(&large).await;
        assert_eq!((&*failed.code, failed.step.as_deref()), ("RESULT_TOO_LARGE", Some("make")));
        assert_eq!(failed.detail::<usize>("limit"), Some(100));
        assert_eq!(ran.times("make"), 2);
        let output = engine.start("output", Start::new(&99)).await.unwrap();
        assert_eq!(failure(&output).await.code, "RESULT_TOO_LARGE");
        let refused = engine.start("output", Start::new(&"x".repeat(99))).await.err().unwrap();
        assert_eq!(refused.code(), "PAYLOAD_TOO_LARGE");
    }

    async fn a_run_with_too_many_steps_fails_whatever_the_workflow_does_about_it(world: World) {
        let engine = world
            .engine()
            .configure(|c| c.run_max_steps = 5)
            .workflow("endless", async |cx: Cx, (): ()| -> Result<()> {
                loop {
                    let _ignored = cx.step("again", || async { Ok::<_, Error>(()) }).await;
                }
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("endless", Start::new(&())).await.unwrap();
        let failed = failure(&handle).await;
        assert_eq!(failed.code, "LIMIT_EXCEEDED");
        assert_eq!(failed.details, Some(Json::encode(&json!({"limit": "run.maxSteps", "max": 5})).unwrap()));
        assert_eq!(handle.steps().await.unwrap().len(), 5);
    }

    async fn a_run_with_too_many_bytes_fails_also_across_replays(world: World) {
        let engine = world
            .engine()
            .configure(|c| c.instance_max_bytes = 1000)
            .workflow("hoard", async |cx: Cx, (): ()| -> Result<()> {
                loop {
                    cx.step("keep", || async { Ok::<_, Error>("x".repeat(100)) }).await?;
                    cx.sleep("rest", "1 minute").await?;
                }
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("hoard", Start::new(&())).await.unwrap();
        for _ in 0..9 {
            world.until(&handle, Status::Sleeping).await;
            world.evict(&engine).await;
            let rests = handle.history().await.unwrap().len();
            world.clock.advance(HOUR / 60);
            let moved = eventually(async || handle.history().await.unwrap().len() > rests).await;
            assert!(moved);
        }
        assert_eq!(failure(&handle).await.code, "LIMIT_EXCEEDED");
    }

    async fn a_step_may_borrow_from_its_workflow(world: World) {
        let engine = world
            .engine()
            .workflow("borrow", async |cx: Cx, names: Vec<String>| -> Result<usize> {
                let mut total = 0;
                for name in &names {
                    total += cx.step("measure", || async { Ok::<_, Error>(name.len()) }).await?;
                }
                Ok(total)
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("borrow", Start::new(&["ab", "c"])).await.unwrap();
        assert_eq!(handle.result::<usize>().await.unwrap(), 3);
    }

    async fn nothing_begins_before_its_record_is_durable(world: World) {
        let (ran, slow) = (Ran::default(), world.slow());
        let engine = world
            .engine_on(&slow.shared())
            .workflow("two", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<i32> {
                let a = cx.step("a", || ran.ok("a", 1)).await?;
                cx.step("b", || ran.ok("b", a + 1)).await
            }))
            .start()
            .await
            .unwrap();
        slow.hold(Hold::Start);
        let starting = tokio::spawn({
            let engine = engine.clone();
            async move { engine.start("two", Start::new(&())).await.unwrap() }
        });
        slow.holds_one().await;
        world.settle().await;
        assert_eq!(ran.times("a"), 0, "a step ran before its instance was stored");
        slow.hold(Hold::Commit);
        slow.release(Hold::Start);
        let handle = starting.await.unwrap();
        slow.holds_one().await;
        world.settle().await;
        assert_eq!((ran.times("a"), ran.times("b")), (1, 0), "b ran ahead of the result of a");
        slow.release(Hold::Commit);
        assert_eq!(handle.result::<i32>().await.unwrap(), 2);
    }

    async fn a_recorded_step_does_not_run_again_when_replayed(world: World) {
        let ran = Ran::default();
        let build = || world.engine().workflow("nap", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<i32> {
            let a = cx.step("a", || ran.ok("a", 1)).await?;
            let failed = cx.step("b", || ran.fail("b")).retry(Retry::never()).await;
            cx.sleep("nap", "1 hour").await?;
            let Err(Error::StepRetryExhausted { step, attempts: 1, .. }) = failed else {
                return Err(Error::failed("WRONG", format!("{failed:?}")));
            };
            cx.step("c", || ran.ok("c", a + step.len() as i32)).await
        })).start();
        let engine = build().await.unwrap();
        let handle = engine.start("nap", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        world.clock.advance(HOUR);
        let handle = engine.get(handle.id());
        assert_eq!(handle.result::<i32>().await.unwrap(), 2);
        assert_eq!(ran.order(), ["a", "b", "c"]);
    }

    async fn a_step_inside_a_step_is_an_error(world: World) {
        let engine = world
            .engine()
            .workflow("nested", async |cx: Cx, (): ()| -> Result<()> {
                let inner = cx.clone();
                cx.step("outer", || {
                    let inner = inner.clone();
                    async move { inner.step("inner", || async { Ok::<_, Error>(()) }).await }
                })
                .retry(Retry::never())
                .await
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("nested", Start::new(&())).await.unwrap();
        assert!(failure(&handle).await.message.contains("misused Cx"));
        assert_eq!(handle.steps().await.unwrap().len(), 1);
    }

    async fn a_running_step_shows_as_running(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("slow", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<i32> {
                cx.step("wait", || gate.clone().ok(1)).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("slow", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        assert_eq!(handle.status().await.unwrap(), Status::Running);
        assert_eq!(handle.steps().await.unwrap()[0].status, StepStatus::Running);
        gate.open();
        assert_eq!(handle.result::<i32>().await.unwrap(), 1);
    }
}
