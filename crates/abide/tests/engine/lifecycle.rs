//! Pause, resume, terminate, continue, list and prune.

use abide::prelude::*;

use crate::world::{Gate, HOUR, Ran, SECOND, eventually, on_every_store, story, told, with};

async fn nap(cx: Cx, ran: Ran, (): ()) -> Result<i32> {
    cx.sleep("nap", "1 hour").await?;
    cx.step("after", || ran.ok("after", 1)).await
}

on_every_store! {
    async fn a_pause_lets_the_running_attempt_finish_and_begins_nothing(world: World) {
        let (ran, gate) = (Ran::default(), Gate::default());
        let engine = world
            .engine()
            .workflow("w", with(&(ran.clone(), gate.clone()), async |cx: Cx, (ran, gate): (Ran, Gate), (): ()| -> Result<i32> {
                let a = cx.step("a", || gate.clone().ok(1)).await?;
                ran.mark("seen");
                cx.step("b", || ran.ok("b", a + 1)).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        assert_eq!(handle.pause().await.unwrap().status(), Status::Paused);
        gate.open();
        let recorded = async || story(&handle).await.contains(&"step.completed a".to_owned());
        assert!(eventually(recorded).await);
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Paused);
        assert!(ran.order().is_empty(), "the workflow went on while paused");
        handle.resume().await.unwrap();
        assert_eq!(handle.result::<i32>().await.unwrap(), 2);
        assert_eq!(ran.order(), ["seen", "b"]);
    }

    async fn a_pause_is_refused_when_paused_or_over_and_so_is_a_resume(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("nap", with(&ran, nap)).start().await.unwrap();
        let handle = engine.start("nap", Start::new(&())).await.unwrap();
        let code = |result: Result<abide::Instance>| result.unwrap_err().code().to_owned();
        assert_eq!(code(handle.resume().await), "INVALID_TRANSITION");
        handle.pause().await.unwrap();
        assert_eq!(code(handle.pause().await), "INVALID_TRANSITION");
        handle.terminate(Terminate::default()).await.unwrap();
        assert_eq!(code(handle.pause().await), "INVALID_TRANSITION");
        assert_eq!(code(handle.resume().await), "INVALID_TRANSITION");
        assert_eq!(code(handle.terminate(Terminate::default()).await), "INVALID_TRANSITION");
    }

    async fn a_sleep_that_is_over_while_paused_is_seen_on_resume(world: World) {
        for (n, how) in ["resident", "evicted", "restarted"].into_iter().enumerate() {
            let ran = Ran::default();
            let build = || world.engine().workflow("nap", with(&ran, nap)).start();
            let mut engine = build().await.unwrap();
            let mut handle = engine.start("nap", Start::new(&())).await.unwrap();
            world.until(&handle, Status::Sleeping).await;
            handle.pause().await.unwrap();
            match n {
                1 => world.evict(&engine).await,
                2 => {
                    engine.kill();
                    engine = build().await.unwrap();
                    handle = engine.get(handle.id());
                }
                _ => world.settle().await,
            }
            world.clock.advance(2 * HOUR);
            world.settle().await;
            assert_eq!((handle.status().await.unwrap(), ran.times("after")), (Status::Paused, 0), "{how}");
            handle.resume().await.unwrap();
            assert_eq!(handle.result::<i32>().await.unwrap(), 1, "{how}");
            engine.kill();
        }
    }

    async fn a_sleep_resumed_early_goes_on_sleeping_to_its_time(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("nap", with(&ran, nap)).start().await.unwrap();
        let handle = engine.start("nap", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        let wake_at = handle.instance().await.unwrap().wake_at;
        handle.pause().await.unwrap();
        world.clock.advance(HOUR / 2);
        handle.resume().await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        assert_eq!(handle.instance().await.unwrap().wake_at, wake_at);
        world.settle().await;
        world.clock.advance(HOUR / 2);
        assert_eq!(handle.result::<i32>().await.unwrap(), 1);
    }

    async fn pausing_a_parent_does_not_pause_its_children(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("nap", with(&ran, nap))
            .workflow("parent", async |cx: Cx, (): ()| -> Result<i32> { cx.child("nap", ()).id("c").await })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        world.until(&parent, Status::Waiting).await;
        let child = world.until_there(&engine, "c", Status::Sleeping).await;
        parent.pause().await.unwrap();
        world.settle().await;
        world.clock.advance(HOUR);
        assert_eq!(child.result::<i32>().await.unwrap(), 1);
        world.settle().await;
        assert_eq!(parent.status().await.unwrap(), Status::Paused);
        parent.resume().await.unwrap();
        assert_eq!(parent.result::<i32>().await.unwrap(), 1);
    }

    async fn a_termination_stops_a_running_step_and_nothing_more_is_recorded(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<i32> {
                cx.step("a", || gate.clone().ok(1)).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        let ended = handle.terminate(Terminate::because("enough")).await.unwrap();
        assert_eq!(ended.status(), Status::Terminated);
        gate.open();
        let error = handle.result::<i32>().await.unwrap_err();
        assert!(matches!(&error, Error::InstanceTerminated { reason, .. } if reason == "enough"));
        world.settle().await;
        assert_eq!(story(&handle).await, ["workflow.started", "step.started a", "workflow.terminated"]);
        assert!(eventually(async || engine.resident() == 0).await);
    }

    async fn a_termination_reaches_the_children_unless_told_otherwise(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("nap", with(&ran, nap))
            .workflow("parent", async |cx: Cx, child: String| -> Result<i32> { cx.child("nap", ()).id(child).await })
            .start()
            .await
            .unwrap();
        for (id, how, status) in [
            ("a", Terminate::because("x"), Status::Terminated),
            ("b", Terminate::because("x").leave_children(), Status::Sleeping),
        ] {
            let parent = engine.start("parent", Start::new(id)).await.unwrap();
            world.until(&parent, Status::Waiting).await;
            let child = world.until_there(&engine, id, Status::Sleeping).await;
            parent.terminate(how).await.unwrap();
            world.settle().await;
            assert_eq!(child.status().await.unwrap(), status);
        }
    }

    async fn continue_as_new_goes_on_in_a_run_of_its_own(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("count", with(&ran, async |cx: Cx, ran: Ran, n: u32| -> Result<(u32, u32)> {
                cx.step("tick", || ran.ok("tick", ())).await?;
                if n > 0 { cx.continue_as_new(n - 1).await } else { Ok((n, cx.run())) }
            }))
            .workflow("parent", async |cx: Cx, (): ()| -> Result<(u32, u32)> { cx.child("count", 2).await })
            .start()
            .await
            .unwrap();
        let handle = engine.start("count", Start::new(&50)).await.unwrap();
        assert_eq!(handle.result::<(u32, u32)>().await.unwrap(), (0, 51));
        assert_eq!(ran.times("tick"), 51);
        let instance = handle.instance().await.unwrap();
        assert_eq!((instance.run, instance.input.as_str()), (51, "0"));
        assert_eq!(handle.steps().await.unwrap().len(), 1);
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        assert_eq!(parent.result::<(u32, u32)>().await.unwrap(), (0, 3));
    }

    async fn a_workflow_may_continue_on_its_first_poll(world: World) {
        let engine = world
            .engine()
            .workflow("count", async |cx: Cx, n: u32| -> Result<u32> {
                if n > 0 { cx.continue_as_new(n - 1).await } else { Ok(cx.run()) }
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("count", Start::new(&20)).await.unwrap();
        assert_eq!(handle.result::<u32>().await.unwrap(), 21, "{}", told(&handle).await);
    }

    async fn instances_are_listed_by_filter_and_page_newest_first(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("nap", with(&ran, nap))
            .workflow("echo", async |_: Cx, n: u32| -> Result<u32> { Ok(n) })
            .start()
            .await
            .unwrap();
        for n in 0..5 {
            let start = Start::new(&n).id(format!("e{n}")).correlation_id(format!("c{n}"));
            engine.start("echo", start.tag("all").tag(if n % 2 == 0 { "even" } else { "odd" })).await.unwrap();
        }
        let nap = engine.start("nap", Start::new(&()).id("n")).await.unwrap();
        world.until(&nap, Status::Sleeping).await;
        let ids = async |filter: Filter| -> Vec<String> {
            let listed = engine.list(filter, Page::default()).await.unwrap();
            listed.instances.iter().map(|found| found.id.to_string()).collect()
        };
        let any = Filter::default;
        assert_eq!(ids(any()).await, ["n", "e4", "e3", "e2", "e1", "e0"]);
        assert_eq!(ids(Filter { workflow: Some("nap".into()), ..any() }).await, ["n"]);
        assert_eq!(ids(Filter { status: vec![Status::Sleeping], ..any() }).await, ["n"]);
        assert_eq!(ids(Filter { tag: Some("odd".into()), ..any() }).await, ["e3", "e1"]);
        assert_eq!(ids(Filter { correlation_id: Some("c2".into()), ..any() }).await, ["e2"]);
        assert_eq!(ids(Filter { id_prefix: Some("e".into()), ..any() }).await.len(), 5);
        let mut page = Page { limit: 4, before: None };
        let first = engine.list(any(), page).await.unwrap();
        page.before = first.next;
        let second = engine.list(any(), page).await.unwrap();
        assert_eq!((first.instances.len(), second.instances.len(), second.next), (4, 2, None));
    }

    async fn ended_instances_are_pruned_after_their_retention_and_the_id_is_free(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .configure(|c| {
                c.instances_retention = Some(HOUR);
                c.prune_batch = 3;
                c.prune_interval = 1000 * HOUR;
            })
            .workflow("nap", with(&ran, async |cx: Cx, _: Ran, (): ()| -> Result<()> { cx.sleep("nap", "30 days").await }))
            .workflow("echo", async |_: Cx, n: u32| -> Result<u32> { Ok(n) })
            .start()
            .await
            .unwrap();
        let starts = (0..10).map(|n| Start::new(&n).id(format!("e{n}"))).collect();
        engine.start_all("echo", starts).await.unwrap();
        engine.start("nap", Start::new(&()).id("n")).await.unwrap();
        assert_eq!(engine.prune().await.unwrap(), 0);
        world.clock.advance(HOUR + SECOND);
        engine.start("echo", Start::new(&1).id("young")).await.unwrap();
        assert_eq!(engine.prune().await.unwrap(), 10);
        let left = engine.list(Filter::default(), Page::default()).await.unwrap().instances;
        assert_eq!(left.len(), 2);
        let again = engine.start("echo", Start::new(&9).id("e1")).await.unwrap();
        assert_eq!(again.result::<u32>().await.unwrap(), 9);
        assert_eq!(again.history().await.unwrap().len(), 2);
    }
}
