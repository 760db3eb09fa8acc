//! Changed code: versions side by side, patches in place, and what does not fit.

use abide::history::EntryKind;
use abide::prelude::*;

use crate::slow::Hold;
use crate::world::{HOUR, Ran, eventually, on_every_store, story, told, with};

async fn v1(cx: Cx, (): ()) -> Result<String> {
    cx.sleep("rest", "1 hour").await?;
    cx.step("a", || async { Ok::<_, Error>("one".to_owned()) }).await
}

async fn v2(cx: Cx, (): ()) -> Result<String> {
    cx.step("b", || async { Ok::<_, Error>("two".to_owned()) }).await
}

/// The message of the last pause.
async fn why_paused(handle: &Handle) -> String {
    let history = handle.history().await.unwrap();
    let paused = history.iter().rfind(|r| r.entry.entry == EntryKind::WorkflowPaused).unwrap();
    let error = paused.entry.error.clone().unwrap();
    assert_eq!(error.code, "NON_DETERMINISTIC", "{}", told(handle).await);
    error.message
}

on_every_store! {
    async fn running_instances_stay_on_their_version_and_new_ones_take_the_highest(world: World) {
        let engine = world.engine().workflow("w", v1).start().await.unwrap();
        let old = engine.start("w", Start::new(&())).await.unwrap();
        world.until(&old, Status::Sleeping).await;
        engine.kill();
        let both = world.engine().register(Workflow::new("w", v2).version(2)).workflow("w", v1);
        let engine = both.start().await.unwrap();
        let new = engine.start("w", Start::new(&())).await.unwrap();
        assert_eq!(new.result::<String>().await.unwrap(), "two");
        assert_eq!(new.instance().await.unwrap().version, 2);
        world.settle().await;
        world.clock.advance(HOUR);
        let old = engine.get(old.id());
        assert_eq!(old.result::<String>().await.unwrap(), "one");
    }

    async fn one_that_can_not_go_on_rests(world: World) {
        let waits = async |cx: Cx, (): ()| cx.wait_for_signal::<()>("go").await.map(drop);
        let other = async |cx: Cx, (): ()| cx.sleep("go", "1 hour").await;
        let strict = async |_: Cx, _: u32| -> Result<()> { Ok(()) };
        let changed: [(Workflow, Status); 3] = [
            (Workflow::new("w", other), Status::Paused),
            (Workflow::new("w", strict), Status::Paused),
            (Workflow::new("w", other).version(2), Status::Queued),
        ];
        for (nth, (changed, status)) in (1..).zip(changed) {
            let engine = world.engine().workflow("w", waits).start().await.unwrap();
            let handle = engine.start("w", Start::new(&()).id(format!("i{nth}"))).await.unwrap();
            world.until(&handle, Status::Waiting).await;
            engine.kill();
            let engine = world.engine().register(changed).start().await.unwrap();
            let handle = engine.get(handle.id());
            handle.signal("go", &()).await.unwrap();
            assert_eq!(handle.settled().await.unwrap(), status, "{nth}");
            engine.kill();
        }
    }

    async fn a_version_that_is_registered_while_an_instance_is_found_not_to_fit_is_seen(world: World) {
        let waits = async |cx: Cx, (): ()| cx.wait_for_signal::<()>("go").await.map(drop);
        let engine = world.engine().workflow("w", waits).start().await.unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        engine.kill();
        let slow = world.slow();
        let engine = world.engine_on(&slow.shared()).start().await.unwrap();
        slow.hold(Hold::Commit);
        let handle = engine.get(handle.id());
        handle.signal("go", &()).await.unwrap();
        slow.holds_one().await;
        engine.register(Workflow::new("w", waits)).await.unwrap();
        slow.release(Hold::Commit);
        handle.result::<()>().await.unwrap();
    }

    async fn an_unknown_version_is_queued_with_a_reason_until_an_engine_knows_it(world: World) {
        let engine = world.engine().workflow("w", v1).start().await.unwrap();
        let old = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&old, Status::Sleeping).await;
        engine.kill();
        let engine = world.engine().register(Workflow::new("w", v2).version(2)).start().await.unwrap();
        world.settle().await;
        world.clock.advance(HOUR);
        let handle = engine.get(old.id());
        world.until(&handle, Status::Queued).await;
        let reason = handle.instance().await.unwrap().queued_reason.unwrap();
        assert!(reason.contains("version 1") && reason.contains("\"w\""), "{reason}");
        engine.kill();
        let engine = world.engine().workflow("w", v1).start().await.unwrap();
        assert_eq!(engine.get(old.id()).result::<String>().await.unwrap(), "one");
        assert_eq!(engine.get(old.id()).instance().await.unwrap().queued_reason, None);
    }

    async fn a_patch_is_true_for_the_new_and_false_for_those_past_it(world: World) {
        let before = async |cx: Cx, (): ()| -> Result<String> {
            cx.sleep("rest", "1 hour").await?;
            Ok("old".to_owned())
        };
        let after = async |cx: Cx, (): ()| -> Result<String> {
            let first = cx.patched("faster");
            cx.sleep("rest", "1 hour").await?;
            cx.sleep("again", "1 hour").await?;
            assert_eq!(cx.patched("faster"), first, "it changed its mind");
            Ok(if first { "new" } else { "old" }.to_owned())
        };
        let engine = world.engine().workflow("w", before).start().await.unwrap();
        let old = engine.start("w", Start::new(&()).id("old")).await.unwrap();
        world.until(&old, Status::Sleeping).await;
        engine.kill();
        let engine = world.engine().workflow("w", after).start().await.unwrap();
        let new = engine.start("w", Start::new(&()).id("new")).await.unwrap();
        world.until(&new, Status::Sleeping).await;
        let old = engine.get(old.id());
        // Replayed after every rest.
        let ended = async || {
            world.evict(&engine).await;
            world.clock.advance(HOUR);
            let ended = async |handle: &Handle| handle.status().await.unwrap().is_terminal();
            ended(&old).await && ended(&new).await
        };
        assert!(eventually(ended).await, "{}", told(&old).await);
        assert_eq!(old.result::<String>().await.unwrap(), "old");
        assert_eq!(new.result::<String>().await.unwrap(), "new");
        assert!(story(&new).await.contains(&"step.completed patch[faster]".to_owned()));
    }

    async fn changed_code_pauses_the_instance_and_a_corrected_deploy_goes_on(world: World) {
        let ran = Ran::default();
        let right = async |cx: Cx, ran: Ran, (): ()| -> Result<i32> {
            let n = cx.step("charge", || ran.ok("charge", 1)).await?;
            cx.sleep("rest", "1 hour").await?;
            cx.step("ship", || ran.ok("ship", n + 1)).await
        };
        let wrong = async |cx: Cx, ran: Ran, (): ()| -> Result<i32> {
            let n = cx.step("bill", || ran.ok("bill", 1)).await?;
            cx.sleep("rest", "1 hour").await?;
            cx.step("ship", || ran.ok("ship", n + 1)).await
        };
        let engine = world.engine().workflow("w", with(&ran, right)).start().await.unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = world.engine().workflow("w", with(&ran, wrong)).start().await.unwrap();
        world.clock.advance(HOUR);
        let handle = engine.get(handle.id());
        world.until(&handle, Status::Paused).await;
        let message = why_paused(&handle).await;
        assert!(message.contains("\"charge\"") && message.contains("bill"), "{message}");
        // Resumed without a change it says so again, and nothing is lost.
        handle.resume().await.unwrap();
        world.until(&handle, Status::Paused).await;
        engine.kill();
        let engine = world.engine().workflow("w", with(&ran, right)).start().await.unwrap();
        let handle = engine.get(handle.id());
        handle.resume().await.unwrap();
        assert_eq!(handle.result::<i32>().await.unwrap(), 2);
        assert_eq!(ran.order(), ["charge", "ship"]);
    }

    async fn a_step_of_another_kind_pauses_the_instance(world: World) {
        let step = async |cx: Cx, (): ()| -> Result<()> {
            cx.step("x", || async { Ok::<_, Error>(()) }).await?;
            cx.sleep("rest", "1 hour").await
        };
        let sleep = async |cx: Cx, (): ()| -> Result<()> {
            cx.sleep("x", 0).await?;
            cx.sleep("rest", "1 hour").await
        };
        let engine = world.engine().workflow("w", step).start().await.unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = world.engine().workflow("w", sleep).start().await.unwrap();
        world.clock.advance(HOUR);
        let handle = engine.get(handle.id());
        world.until(&handle, Status::Paused).await;
        let message = why_paused(&handle).await;
        assert!(message.contains("as a sleep") && message.contains("as a step"), "{message}");
    }

    async fn a_workflow_that_ends_without_a_recorded_step_pauses(world: World) {
        let long = async |cx: Cx, (): ()| -> Result<i32> {
            cx.sleep("rest", "1 hour").await?;
            Ok(1)
        };
        let engine = world.engine().workflow("w", long).start().await.unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let short = async |_: Cx, (): ()| -> Result<i32> { Ok(2) };
        let engine = world.engine().workflow("w", short).start().await.unwrap();
        world.clock.advance(HOUR);
        let handle = engine.get(handle.id());
        world.until(&handle, Status::Paused).await;
        assert!(why_paused(&handle).await.contains("\"rest\""));
        engine.kill();
        let engine = world.engine().workflow("w", long).start().await.unwrap();
        let handle = engine.get(handle.id());
        handle.resume().await.unwrap();
        assert_eq!(handle.result::<i32>().await.unwrap(), 1);
    }

    async fn an_input_that_no_longer_fits_pauses_the_instance(world: World) {
        let engine = world.engine().workflow("w", v1).start().await.unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let other = async |_: Cx, n: u32| -> Result<u32> { Ok(n) };
        let engine = world.engine().workflow("w", other).start().await.unwrap();
        world.clock.advance(HOUR);
        world.until(&engine.get(handle.id()), Status::Paused).await;
        engine.kill();
        let engine = world.engine().workflow("w", v1).start().await.unwrap();
        let handle = engine.get(handle.id());
        handle.resume().await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "one");
    }
}
