//! Coming back, other attempts, other runs.

use std::time::Duration;

use abide::history::EntryKind;
use abide::prelude::*;
use abide::{ChunkFilter, StepStatus, StreamPosition, Terminate};

use super::{Tap, at_once, next, rest, talk, talking};
use crate::slow::Hold;
use crate::world::{SECOND, eventually, on_every_store, with};

fn position(text: &str) -> Option<StreamPosition> {
    Some(text.parse().unwrap())
}

on_every_store! {
    async fn whoever_comes_back_with_a_position_gets_exactly_the_rest(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let (_engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        for piece in ["a", "b", "c"] {
            pipe.give(piece);
            next(&mut frames).await;
        }
        let mut again = handle.step_stream("talk", position("1.0"));
        assert_eq!(next(&mut again).await, "talk 1.1 b");
        drop(pipe);
        handle.result::<String>().await.unwrap();
        assert_eq!(rest(&mut again).await, ["talk 1.2 c", "talk 1 done"]);
        let after_the_end = rest(&mut handle.step_stream("talk", position("1.1"))).await;
        assert_eq!(after_the_end, ["talk 1.2 c", "talk 1 done"]);
        assert_eq!(rest(&mut handle.step_stream("talk", position("1.2"))).await, ["talk 1 done"]);
    }

    async fn a_retry_is_announced_and_attempts_are_never_mixed(world: World) {
        let tap = Tap::default();
        let (first, second) = (tap.pipe(), tap.pipe());
        let (_engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        let mut all = handle.streams();
        first.give("wrong");
        assert_eq!(next(&mut frames).await, "talk 1.0 wrong");
        assert_eq!(next(&mut all).await, "talk 1.0 wrong");
        first.fail();
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(SECOND);
        assert_eq!(next(&mut frames).await, "talk 2 rollback");
        second.give("right");
        drop(second);
        let expected = ["talk 2.0 right", "talk 2 done"];
        assert_eq!(rest(&mut frames).await, expected);
        assert_eq!(next(&mut all).await, "talk 2 rollback");
        assert_eq!(rest(&mut all).await, expected);
        assert_eq!(rest(&mut handle.step_stream("talk", None)).await, expected);
        let back = rest(&mut handle.step_stream("talk", position("1.0"))).await;
        assert_eq!(back, ["talk 2 rollback", "talk 2.0 right", "talk 2 done"]);
        assert_eq!(handle.result::<String>().await.unwrap(), "right");
    }

    async fn an_attempt_that_gives_nothing_voids_the_one_before(world: World) {
        let tap = Tap::default();
        let first = tap.pipe();
        tap.gives(&[]);
        let (_engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        first.give("wrong");
        next(&mut frames).await;
        first.fail();
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(SECOND);
        assert_eq!(handle.result::<String>().await.unwrap(), "");
        assert_eq!(rest(&mut frames).await, ["talk 2 rollback", "talk 2 done"]);
        assert_eq!(rest(&mut handle.step_stream("talk", None)).await, ["talk 2 done"]);
    }

    async fn a_step_that_fails_for_good_says_so(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let engine = at_once(&world)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, (): ()| -> Result<String> {
                cx.stream_step("talk", || tap.clone().open()).retry(Retry::never()).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let mut frames = handle.step_stream("talk", None);
        pipe.give("half");
        next(&mut frames).await;
        pipe.fail();
        assert_eq!(rest(&mut frames).await, ["talk 1 failed STEP_RETRY_EXHAUSTED"]);
        let late = rest(&mut handle.streams()).await;
        assert_eq!(late, ["talk 1.0 half", "talk 1 failed STEP_RETRY_EXHAUSTED"]);
    }

    async fn a_crash_in_mid_stream_leaves_no_checkpoint_and_the_next_attempt_begins_anew(world: World) {
        let tap = Tap::default();
        let (first, second) = (tap.pipe(), tap.pipe());
        let (engine, handle) = talking(&world, &tap).await;
        first.give("half");
        assert_eq!(next(&mut handle.step_stream("talk", None)).await, "talk 1.0 half");
        engine.kill();
        let history = handle.history().await.unwrap();
        assert!(history.iter().all(|told| told.entry.entry != EntryKind::StepCompleted));
        assert_eq!(handle.steps().await.unwrap()[0].status, StepStatus::Running);

        let engine = at_once(&world).workflow("talk", with(&tap, talk)).start().await.unwrap();
        let handle = engine.get(handle.id());
        let mut frames = handle.step_stream("talk", position("1.0"));
        assert_eq!(next(&mut frames).await, "talk 2 rollback");
        second.give("whole");
        drop(second);
        assert_eq!(rest(&mut frames).await, ["talk 2.0 whole", "talk 2 done"]);
        assert_eq!(handle.result::<String>().await.unwrap(), "whole");
        let failed = &handle.steps().await.unwrap()[0].retries;
        assert_eq!(failed[0].error.as_ref().unwrap().code, "STEP_INTERRUPTED");
    }

    async fn replay_never_calls_the_source_again(world: World) {
        let tap = Tap::default();
        tap.gives(&["once"]);
        let flow = async |cx: Cx, tap: Tap, (): ()| -> Result<String> {
            let text = cx.stream_step("talk", || tap.clone().open()).await?;
            cx.wait_for_event::<()>("go").await?;
            Ok(text)
        };
        let engine = at_once(&world).workflow("w", with(&tap, flow)).start().await.unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        engine.kill();
        let engine = at_once(&world).workflow("w", with(&tap, flow)).start().await.unwrap();
        let handle = engine.get(handle.id());
        handle.send_event("go", &()).await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "once");
        assert_eq!(tap.opened(), 1);
        assert_eq!(rest(&mut handle.streams()).await, ["talk 1.0 once", "talk 1 done"]);
    }

    async fn a_whole_restart_takes_what_was_streamed_with_it(world: World) {
        let tap = Tap::default();
        tap.gives(&["old"]);
        let (_engine, handle) = talking(&world, &tap).await;
        handle.result::<String>().await.unwrap();
        tap.gives(&["new"]);
        handle.restart().await.unwrap();
        world.until(&handle, Status::Completed).await;
        assert_eq!(handle.result::<String>().await.unwrap(), "new");
        let expected = ["talk 2.1.0 new", "talk 1 done"];
        assert_eq!(rest(&mut handle.step_stream("talk", None)).await, expected);
        let back = rest(&mut handle.step_stream("talk", position("1.0"))).await;
        assert_eq!(back, ["talk 1 rollback", "talk 2.1.0 new", "talk 1 done"]);
    }

    async fn a_restart_from_a_later_step_keeps_what_was_streamed(world: World) {
        let tap = Tap::default();
        tap.gives(&["kept"]);
        tap.gives(&["first"]);
        let flow = async |cx: Cx, tap: Tap, (): ()| -> Result<String> {
            let one = cx.stream_step("one", || tap.clone().open()).await?;
            Ok(one + &cx.stream_step("two", || tap.clone().open()).await?)
        };
        let engine = at_once(&world).workflow("w", with(&tap, flow)).start().await.unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "keptfirst");
        tap.gives(&["second"]);
        handle.restart_from("two").await.unwrap();
        world.until(&handle, Status::Completed).await;
        assert_eq!(handle.result::<String>().await.unwrap(), "keptsecond");
        let one = rest(&mut handle.step_stream("one", None)).await;
        assert_eq!(one, ["one 1.0 kept", "one 1 done"]);
        let back = rest(&mut handle.step_stream("one", position("1.0"))).await;
        assert_eq!(back, ["one 1 done"]);
        let two = rest(&mut handle.step_stream("two", None)).await;
        assert_eq!(two, ["two 2.1.0 second", "two 1 done"]);
        let mut all = rest(&mut handle.streams()).await;
        all.sort();
        assert_eq!(all, ["one 1 done", "one 1.0 kept", "two 1 done", "two 2.1.0 second"]);
    }

    async fn the_next_run_of_an_instance_streams_in_places_of_its_own(world: World) {
        let tap = Tap::default();
        tap.gives(&["one"]);
        tap.gives(&["two"]);
        let engine = at_once(&world)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, last: bool| -> Result<String> {
                let text = cx.stream_step("talk", || tap.clone().open()).await?;
                if last { Ok(text) } else { cx.continue_as_new(true).await }
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&false)).await.unwrap();
        world.until(&handle, Status::Completed).await;
        let all = rest(&mut handle.step_stream("talk", None)).await;
        assert_eq!(all, ["talk 2.1.0 two", "talk 1 done"]);
    }

    async fn a_reader_who_knows_the_end_of_one_run_and_sees_chunks_of_the_next_reads_that_one(world: World) {
        let (slow, tap) = (world.slow(), Tap::default());
        tap.gives(&["one"]);
        let pipe = tap.pipe();
        let engine = world
            .engine_on(&slow.shared())
            .configure(|c| c.stream_group_interval = Duration::ZERO)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, last: bool| -> Result<String> {
                let text = cx.stream_step("talk", || tap.clone().open()).await?;
                if last {
                    return Ok(text);
                }
                cx.wait_for_event::<()>("go").await?;
                cx.continue_as_new(true).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&false)).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        slow.hold(Hold::Chunks);
        let (mut one, mut all) = (handle.step_stream("talk", None), handle.streams());
        let reading = tokio::spawn(async move { tokio::join!(rest(&mut one), rest(&mut all)) });
        slow.holds(2).await;
        handle.send_event("go", &()).await.unwrap();
        pipe.give("tw");
        let of_the_next_run = async || {
            let filter = ChunkFilter::All { after: 0 };
            let stored = world.store.chunks(handle.id(), filter, 9).await.unwrap();
            stored.iter().any(|chunk| chunk.position.run == 2)
        };
        assert!(eventually(of_the_next_run).await);
        slow.release(Hold::Chunks);
        world.settle().await;
        pipe.give("o");
        drop(pipe);
        let (one, all) = reading.await.unwrap();
        assert_eq!(one, ["talk 2.1.0 tw", "talk 2.1.1 o", "talk 1 done"]);
        assert_eq!(all, one);
    }

    async fn an_instance_that_is_terminated_in_mid_stream_ends_its_streams(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let (_engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        let mut all = handle.streams();
        pipe.give("half");
        next(&mut frames).await;
        handle.terminate(Terminate::because("enough")).await.unwrap();
        assert_eq!(rest(&mut frames).await, ["talk 1 failed STEP_CANCELLED"]);
        assert_eq!(rest(&mut all).await, ["talk 1.0 half", "talk 1 failed STEP_CANCELLED"]);
    }

    async fn a_step_that_is_dropped_ends_its_stream(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let engine = at_once(&world)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, (): ()| -> Result<()> {
                tokio::select! {
                    text = cx.stream_step("talk", || tap.clone().open()) => text.map(drop),
                    event = cx.wait_for_event::<()>("stop") => event.map(drop),
                }
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let mut frames = handle.step_stream("talk", None);
        pipe.give("half");
        next(&mut frames).await;
        handle.send_event("stop", &()).await.unwrap();
        assert_eq!(rest(&mut frames).await, ["talk 1 failed STEP_CANCELLED"]);
    }
}
