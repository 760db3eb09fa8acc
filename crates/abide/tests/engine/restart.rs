//! Restarts: whole or from a step, from any status.

use abide::history::EntryKind;
use abide::prelude::*;

use crate::world::{HOUR, Ran, eventually, on_every_store, story, told, with};

async fn three(cx: Cx, ran: Ran, then: String) -> Result<u64> {
    let now = cx.now();
    let a = cx.step("a", || ran.ok("a", now.0)).await?;
    assert_eq!(a, now.0, "a kept step has the time it was made with");
    cx.step("b", || ran.ok("b", ())).await?;
    cx.step("b", || ran.ok("b#2", ())).await?;
    match &*then {
        "fail" if ran.times("b#2") == 1 => return Err(Error::failed("NO", "no")),
        "sleep" => cx.sleep("rest", "1 hour").await?,
        _ => {}
    }
    cx.step("c", || ran.ok("c", u64::from(cx.run()))).await
}

on_every_store! {
    async fn a_whole_restart_begins_anew_from_any_status(world: World) {
        for then in ["complete", "fail", "sleep", "pause", "terminate", "evict"] {
            let ran = Ran::default();
            let engine = world.engine().workflow("w", with(&ran, three)).start().await.unwrap();
            let input = if ["complete", "fail"].contains(&then) { then } else { "sleep" };
            let handle = engine.start("w", Start::new(input)).await.unwrap();
            match then {
                "complete" | "fail" => drop(handle.ended().await.unwrap()),
                _ => world.until(&handle, Status::Sleeping).await,
            }
            match then {
                "pause" => drop(handle.pause().await.unwrap()),
                "terminate" => drop(handle.terminate(Terminate::default()).await.unwrap()),
                "evict" => world.evict(&engine).await,
                _ => {}
            }
            let instance = handle.restart().await.unwrap();
            assert_eq!((instance.run, instance.output, instance.error), (2, None, None));
            assert!(eventually(async || ran.times("b#2") == 2).await, "{then}: {}", told(&handle).await);
            if input == "sleep" {
                world.until(&handle, Status::Sleeping).await;
                world.settle().await;
                world.clock.advance(HOUR);
            }
            assert_eq!(handle.result::<u64>().await.unwrap(), 2, "{then}");
            assert_eq!((ran.times("a"), ran.times("b")), (2, 2));
            assert_eq!(handle.steps().await.unwrap().len(), if input == "sleep" { 6 } else { 5 });
            engine.kill();
        }
    }

    async fn a_restart_from_a_step_keeps_what_was_before_it(world: World) {
        for (step, kept) in [("a", 0), ("b", 1), ("b#2", 2), ("c", 3)] {
            let ran = Ran::default();
            let engine = world.engine().workflow("w", with(&ran, three)).start().await.unwrap();
            let handle = engine.start("w", Start::new("complete")).await.unwrap();
            assert_eq!(handle.result::<u64>().await.unwrap(), 1);
            world.clock.advance(HOUR);
            handle.restart_from(step).await.unwrap();
            assert_eq!(handle.result::<u64>().await.unwrap(), 2);
            let again = ["a", "b", "b#2", "c"].map(|name| ran.times(name));
            let expected = [0, 1, 2, 3].map(|n| if n < kept { 1 } else { 2 });
            assert_eq!(again, expected, "from {step}");
            let history = handle.history().await.unwrap();
            let restarted = history.iter().find(|r| r.entry.entry == EntryKind::WorkflowRestarted).unwrap();
            assert_eq!((restarted.run, restarted.entry.name.as_deref()), (2, Some(step)));
            let cached = handle.steps().await.unwrap().iter().filter(|s| s.cached).count();
            assert_eq!(cached, kept + 1, "the time and {kept} steps are kept");
            engine.kill();
        }
    }

    async fn a_restart_from_a_step_survives_crashes_and_further_restarts(world: World) {
        let ran = Ran::default();
        let build = || world.engine().workflow("w", with(&ran, three)).start();
        let engine = build().await.unwrap();
        let handle = engine.start("w", Start::new("sleep").id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.restart_from("b#2").await.unwrap();
        assert!(eventually(async || ran.times("b#2") == 2).await);
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        handle.restart_from("b").await.unwrap();
        assert!(eventually(async || ran.times("b#2") == 3).await);
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR);
        assert_eq!(handle.result::<u64>().await.unwrap(), 3);
        assert_eq!((ran.times("a"), ran.times("b"), ran.times("c")), (1, 2, 1));
    }

    async fn a_restart_from_an_unknown_step_changes_nothing(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("w", with(&ran, three)).start().await.unwrap();
        let handle = engine.start("w", Start::new("complete")).await.unwrap();
        handle.result::<u64>().await.unwrap();
        let before = story(&handle).await;
        let refused = handle.restart_from("z").await.unwrap_err();
        assert_eq!(refused.code(), "STEP_NOT_FOUND");
        assert!(refused.to_string().contains("b#2"), "{refused}");
        assert_eq!((handle.status().await.unwrap(), story(&handle).await), (Status::Completed, before));
    }

    async fn a_restart_right_after_a_termination_is_not_lost(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("w", with(&ran, three)).start().await.unwrap();
        let handle = engine.start("w", Start::new("sleep")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.terminate(Terminate::default()).await.unwrap();
        handle.restart().await.unwrap();
        assert!(eventually(async || ran.times("b#2") == 2).await, "{}", told(&handle).await);
    }

    async fn a_restarted_parent_does_not_hear_of_its_former_child(world: World) {
        let engine = world
            .engine()
            .workflow("nap", async |cx: Cx, run: u32| -> Result<u32> {
                cx.sleep("nap", "1 hour").await?;
                Ok(run)
            })
            .workflow("parent", async |cx: Cx, (): ()| -> Result<u32> { cx.child("nap", cx.run()).id(format!("c{}", cx.run())).await })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        world.until_there(&engine, "c1", Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR / 2);
        parent.restart().await.unwrap();
        world.until_there(&engine, "c2", Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR / 2);
        world.until_there(&engine, "c1", Status::Completed).await;
        world.settle().await;
        assert_eq!(parent.status().await.unwrap(), Status::Waiting);
        world.clock.advance(HOUR / 2);
        assert_eq!(parent.result::<u32>().await.unwrap(), 2);
    }
}
