//! What streaming steps are apart from being read: groups, limits, results, retries.

use std::sync::Arc;
use std::time::Duration;

use abide::history::StepKind;
use abide::prelude::*;
use abide::store::Store;
use abide::{ChunkFilter, StepStatus};
use futures_util::stream;
use serde::{Deserialize, Serialize};

use super::{Tap, at_once, next, rest, talk, talking};
use crate::world::{eventually, failure, on_every_store, story, with};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Token {
    text: String,
    weight: f64,
}

async fn sizes(store: &Arc<dyn Store>, handle: &Handle) -> Vec<usize> {
    let all = ChunkFilter::All { after: 0 };
    let chunks = store.chunks(handle.id(), all, 1000).await.unwrap();
    chunks.iter().map(|chunk| chunk.bytes.len()).collect()
}

on_every_store! {
    async fn a_streaming_step_is_a_step_of_its_own_kind_with_the_whole_text_as_its_result(world: World) {
        let tap = Tap::default();
        tap.gives(&["a", "b"]);
        let (_engine, handle) = talking(&world, &tap).await;
        assert_eq!(handle.result::<String>().await.unwrap(), "ab");
        let step = handle.steps().await.unwrap().remove(0);
        assert_eq!((step.kind, step.status, step.attempts), (StepKind::Stream, StepStatus::Completed, 1));
        assert_eq!(step.output.unwrap().decode::<String>().unwrap(), "ab");
        let told = ["workflow.started", "step.started talk", "step.completed talk", "workflow.completed"];
        assert_eq!(story(&handle).await, told);
    }

    async fn pieces_gather_for_a_while_and_are_stored_as_one(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let engine = world.engine().workflow("talk", with(&tap, talk)).start().await.unwrap();
        let handle = engine.start("talk", Start::new(&())).await.unwrap();
        let mut frames = handle.step_stream("talk", None);
        pipe.give("a");
        pipe.give("b");
        world.settle().await;
        pipe.give("c");
        world.settle().await;
        assert!(sizes(&world.store, &handle).await.is_empty(), "nothing before its time");
        world.clock.advance(Duration::from_millis(20));
        assert_eq!(next(&mut frames).await, "talk 1.0 abc");
        pipe.give("d");
        drop(pipe);
        assert_eq!(rest(&mut frames).await, ["talk 1.1 d", "talk 1 done"]);
        assert_eq!(sizes(&world.store, &handle).await, [3, 1], "the last rides with the result");
    }

    async fn a_group_that_is_full_is_stored_at_once_and_none_is_larger(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let engine = world
            .engine()
            .configure(|c| c.stream_group_bytes = 10)
            .workflow("talk", with(&tap, talk))
            .start()
            .await
            .unwrap();
        let handle = engine.start("talk", Start::new(&())).await.unwrap();
        let mut frames = handle.step_stream("talk", None);
        pipe.give("0123456789");
        assert_eq!(next(&mut frames).await, "talk 1.0 0123456789");
        pipe.give(&"é".repeat(12));
        drop(pipe);
        assert_eq!(handle.result::<String>().await.unwrap(), format!("0123456789{}", "é".repeat(12)));
        assert_eq!(sizes(&world.store, &handle).await, [10, 10, 10, 4]);
        let shown = rest(&mut frames).await;
        assert_eq!(shown, ["talk 1.1 ééééé", "talk 1.2 ééééé", "talk 1.3 éé", "talk 1 done"]);
    }

    async fn a_character_that_comes_in_two_pieces_is_shown_whole(world: World) {
        let tap = Tap::default();
        let pipe = tap.pipe();
        let (_engine, handle) = talking(&world, &tap).await;
        let mut frames = handle.step_stream("talk", None);
        let euro = "€".as_bytes();
        pipe.give_bytes(&[b"1", &euro[..2]].concat());
        assert_eq!(next(&mut frames).await, "talk 1.0 1");
        pipe.give_bytes(&euro[2..]);
        assert_eq!(next(&mut frames).await, "talk 1.1 €");
        drop(pipe);
        assert_eq!(handle.result::<String>().await.unwrap(), "1€");
    }

    async fn what_is_not_utf_8_fails_the_step_and_is_not_tried_again(world: World) {
        for bytes in [&b"ab\xff"[..], &b"ab\xe2\x82"[..]] {
            let tap = Tap::default();
            tap.pipe().give_bytes(bytes);
            let engine = at_once(&world).workflow("talk", with(&tap, talk)).start().await.unwrap();
            let handle = engine.start("talk", Start::new(&())).await.unwrap();
            let failed = failure(&handle).await;
            assert_eq!((&*failed.code, tap.opened()), ("STEP_FAILED", 1), "{failed}");
            assert!(failed.message.contains("not UTF-8 at byte 2"), "{failed}");
            engine.kill();
        }
    }

    async fn what_streams_too_much_fails_the_step_and_is_not_tried_again(world: World) {
        let tap = Tap::default();
        tap.gives(&["12345", "678901"]);
        let engine = at_once(&world)
            .configure(|c| c.stream_max_bytes = 10)
            .workflow("talk", with(&tap, talk))
            .start()
            .await
            .unwrap();
        let handle = engine.start("talk", Start::new(&())).await.unwrap();
        let failed = failure(&handle).await;
        assert_eq!((&*failed.code, tap.opened()), ("RESULT_TOO_LARGE", 1), "{failed}");
        assert!(failed.message.contains("stream.maxBytes"), "{failed}");
    }

    async fn a_streamed_result_may_be_larger_than_other_payloads(world: World) {
        let tap = Tap::default();
        let text = "x".repeat(100);
        tap.gives(&[&text]);
        let engine = at_once(&world)
            .configure(|c| c.payload_max = 50)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, (): ()| -> Result<usize> {
                Ok(cx.stream_step("talk", || tap.clone().open()).await?.len())
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        assert_eq!(handle.result::<usize>().await.unwrap(), 100);
    }

    async fn items_are_shown_as_lines_and_come_back_as_they_were(world: World) {
        let engine = at_once(&world)
            .workflow("w", async |cx: Cx, (): ()| -> Result<Vec<Token>> {
                let token = |text: &str, weight| Ok::<_, Error>(Token { text: text.to_owned(), weight });
                let tokens = || async { Ok::<_, Error>(stream::iter([token("a\nb", 0.5), token("c", 1.0)])) };
                cx.stream_items("tokens", tokens).await
            })
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let tokens: Vec<Token> = handle.result().await.unwrap();
        assert_eq!(tokens, [Token { text: "a\nb".into(), weight: 0.5 }, Token { text: "c".into(), weight: 1.0 }]);
        let shown: String = rest(&mut handle.step_stream("tokens", None)).await.concat();
        assert!(shown.contains("{\"text\":\"a\\nb\",\"weight\":0.5}\n"), "{shown}");
    }

    async fn an_attempt_that_streams_too_long_is_dropped_and_tried_again(world: World) {
        let tap = Tap::default();
        let first = tap.pipe();
        tap.gives(&["quick"]);
        let engine = at_once(&world)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, (): ()| -> Result<String> {
                let retry = Retry::times(2).delay(1).no_jitter();
                cx.stream_step("talk", || tap.clone().open()).timeout("10s").retry(retry).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let mut frames = handle.step_stream("talk", None);
        first.give("slow");
        next(&mut frames).await;
        world.clock.advance(Duration::from_secs(10));
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(Duration::from_secs(1));
        assert_eq!(rest(&mut frames).await, ["talk 2 rollback", "talk 2.0 quick", "talk 2 done"]);
        let step = handle.steps().await.unwrap().remove(0);
        assert_eq!(step.retries[0].error.as_ref().unwrap().code, "STEP_TIMEOUT");
    }

    async fn a_streaming_step_is_undone_like_any_other(world: World) {
        let tap = Tap::default();
        tap.gives(&["text"]);
        let engine = at_once(&world)
            .workflow("w", with(&tap, async |cx: Cx, tap: Tap, (): ()| -> Result<()> {
                let undone = tap.ran.clone();
                cx.stream_step("talk", || tap.clone().open())
                    .compensate(move |text: String| undone.ok(&format!("undo {text}"), ()))
                    .await?;
                Err(Error::failed("ENOUGH", "enough"))
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        assert_eq!(failure(&handle).await.code, "ENOUGH");
        assert_eq!(tap.ran.times("undo text"), 1);
    }

    async fn the_source_is_read_no_further_ahead_than_a_group(world: World) {
        let slow = world.slow();
        let tap = Tap::default();
        let pulled = tap.ran.clone();
        let flow = async |cx: Cx, tap: Tap, (): ()| -> Result<usize> {
            let pieces = || {
                let ran = tap.ran.clone();
                let pieces = stream::iter(0..100).map_mark(ran);
                async move { Ok::<_, Error>(pieces) }
            };
            Ok(cx.stream_step("talk", pieces).await?.len())
        };
        slow.hold(crate::slow::Hold::Append);
        let engine = world
            .engine_on(&(Arc::new(slow.clone()) as Arc<dyn Store>))
            .configure(|c| c.stream_group_bytes = 10)
            .workflow("w", with(&tap, flow))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        slow.holds_one().await;
        world.settle().await;
        assert_eq!(pulled.times("piece"), 20, "one group on its way, one that gathers");
        slow.release(crate::slow::Hold::Append);
        assert_eq!(handle.result::<usize>().await.unwrap(), 100);
        assert!(eventually(async || pulled.times("piece") == 100).await);
    }
}

/// One byte for every item, counted when it is pulled.
trait MapMark {
    fn map_mark(
        self,
        ran: crate::world::Ran,
    ) -> impl stream::Stream<Item = Result<&'static str>> + Send;
}

impl<S: stream::Stream<Item = i32> + Send> MapMark for S {
    fn map_mark(
        self,
        ran: crate::world::Ran,
    ) -> impl stream::Stream<Item = Result<&'static str>> + Send {
        stream::StreamExt::map(self, move |_| {
            ran.mark("piece");
            Ok("x")
        })
    }
}
