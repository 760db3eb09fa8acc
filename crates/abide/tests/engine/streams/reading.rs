//! Readers: early, late, slow, gone, wrong.

use std::time::Duration;

use abide::prelude::*;

use super::{Tap, at_once, next, rest, talk, talking};
use crate::slow::Hold;
use crate::world::{Ran, on_every_store, with};

on_every_store! {
    async fn first_bytes_reach_the_reader_before_the_step_ends(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let (_engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        pipe.give("hello ");
        assert_eq!(next(&mut frames).await, "talk 1.0 hello ");
        assert_eq!(handle.status().await.unwrap(), Status::Running);
        pipe.give("world");
        drop(pipe);
        let mut all = rest(&mut frames).await;
        assert_eq!(all.pop().unwrap(), "talk 1 done");
        assert_eq!(all, ["talk 1.1 world"]);
        assert_eq!(handle.result::<String>().await.unwrap(), "hello world");
    }

    async fn a_reader_that_leaves_leaves_the_checkpoint_whole(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let (_engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        pipe.give("some ");
        next(&mut frames).await;
        drop(frames);
        pipe.give("more");
        drop(pipe);
        assert_eq!(handle.result::<String>().await.unwrap(), "some more");
    }

    async fn nobody_has_to_read(world: World) {
        let tap = Tap::default();
        tap.gives(&["a", "b", "c"]);
        let (_engine, handle) = talking(&world, &tap).await;
        assert_eq!(handle.result::<String>().await.unwrap(), "abc");
    }

    async fn a_late_reader_gets_everything_and_then_done(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let (_engine, handle) = talking(&world, &tap).await;
        let mut early = handle.step_stream("talk", None);
        for piece in ["a", "b"] {
            pipe.give(piece);
            next(&mut early).await;
        }
        drop(pipe);
        handle.result::<String>().await.unwrap();
        let all = rest(&mut handle.step_stream("talk", None)).await;
        assert_eq!(all, ["talk 1.0 a", "talk 1.1 b", "talk 1 done"]);
        assert_eq!(rest(&mut handle.streams()).await, all);
    }

    async fn a_reader_may_come_before_the_step_has_begun(world: World) {
        let tap = Tap::default();
        tap.gives(&["late"]);
        let engine = at_once(&world)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, (): ()| -> Result<String> {
                cx.wait_for_event::<()>("go").await?;
                cx.stream_step("talk", || tap.clone().open()).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let mut frames = handle.step_stream("talk", None);
        let mut all = handle.streams();
        world.until(&handle, Status::Waiting).await;
        handle.send_event("go", &()).await.unwrap();
        assert_eq!(rest(&mut frames).await, ["talk 1.0 late", "talk 1 done"]);
        assert_eq!(rest(&mut all).await, ["talk 1.0 late", "talk 1 done"]);
    }

    async fn a_reader_that_sees_the_end_before_it_is_told_gets_all_the_same(world: World) {
        let (slow, tap) = (world.slow(), Tap::default());
        let pipe = tap.pipe();
        let engine = world
            .engine_on(&slow.shared())
            .configure(|c| c.stream_group_interval = Duration::ZERO)
            .workflow("talk", with(&tap, talk))
            .start()
            .await
            .unwrap();
        let handle = engine.start("talk", Start::new(&())).await.unwrap();
        pipe.give("a");
        assert_eq!(next(&mut handle.step_stream("talk", None)).await, "talk 1.0 a");
        slow.hold(Hold::Tail);
        let (mut one, mut all) = (handle.step_stream("talk", None), handle.streams());
        assert_eq!(next(&mut one).await, "talk 1.0 a");
        assert_eq!(next(&mut all).await, "talk 1.0 a");
        drop(pipe);
        handle.result::<String>().await.unwrap();
        assert_eq!(rest(&mut one).await, ["talk 1 done"]);
        assert_eq!(rest(&mut all).await, ["talk 1 done"]);
    }

    async fn a_slow_reader_is_served_from_the_store_and_holds_up_nobody(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let (_engine, handle) = talking(&world, &tap).await;
        let mut slow = handle.step_stream("talk", None);
        let mut fast = handle.step_stream("talk", None);
        let mut expected = Vec::new();
        for n in 0..40 {
            pipe.give(&format!("{n} "));
            let frame = next(&mut fast).await;
            assert_eq!(frame, format!("talk 1.{n} {n} "));
            expected.push(frame);
        }
        drop(pipe);
        handle.result::<String>().await.unwrap();
        expected.push("talk 1 done".to_owned());
        assert_eq!(rest(&mut slow).await, expected);
    }

    async fn what_does_not_exist_is_named(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .workflow("w", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<()> {
                cx.step("plain", || ran.ok("plain", ())).await
            }))
            .start()
            .await
            .unwrap();
        let nobody = engine.get(&InstanceId::new("nobody").unwrap());
        let refused = nobody.step_stream("s", None).next().await.unwrap().unwrap_err();
        assert_eq!(refused.code(), "WORKFLOW_NOT_FOUND");
        let refused = nobody.streams().next().await.unwrap().unwrap_err();
        assert_eq!(refused.code(), "WORKFLOW_NOT_FOUND");
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let refused = handle.step_stream("none", None).next().await.unwrap().unwrap_err();
        assert_eq!(refused.code(), "STEP_NOT_FOUND");
        assert!(refused.to_string().contains("recorded: plain"), "{refused}");
        let refused = handle.step_stream("plain", None).next().await.unwrap().unwrap_err();
        assert!(refused.to_string().contains("not a streaming step"), "{refused}");
        assert!(rest(&mut handle.streams()).await.is_empty(), "it has none, and has ended");
    }

    async fn streaming_steps_are_read_together_as_they_come(world: World) {
        let (left, right) = (Tap::default(), Tap::default());
        let (a, b) = (left.pipe(), right.pipe());
        let taps = (left, right);
        let engine = at_once(&world)
            .workflow("w", with(&taps, async |cx: Cx, (left, right): (Tap, Tap), (): ()| -> Result<String> {
                let (left, right) = tokio::join!(
                    cx.stream_step("left", || left.clone().open()),
                    cx.stream_step("right", || right.clone().open())
                );
                Ok(left? + &right?)
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let mut frames = handle.streams();
        a.give("1");
        assert_eq!(next(&mut frames).await, "left 1.0 1");
        b.give("2");
        assert_eq!(next(&mut frames).await, "right 1.0 2");
        a.give("3");
        assert_eq!(next(&mut frames).await, "left 1.1 3");
        drop(a);
        assert_eq!(next(&mut frames).await, "left 1 done");
        b.give("4");
        assert_eq!(next(&mut frames).await, "right 1.1 4");
        drop(b);
        assert_eq!(rest(&mut frames).await, ["right 1 done"]);
        assert_eq!(handle.result::<String>().await.unwrap(), "1324");
    }

    async fn readers_are_told_when_the_engine_stops(world: World) {
        let tap = Tap::default();
        let _pipe = tap.pipe();
        let (engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        let told = async { frames.next().await.unwrap().unwrap_err() };
        let kill = async {
            world.settle().await;
            engine.kill();
        };
        let (refused, ()) = tokio::join!(told, kill);
        assert!(matches!(refused, Error::ShutDown), "{refused}");
        assert!(frames.next().await.is_none());
    }
}
