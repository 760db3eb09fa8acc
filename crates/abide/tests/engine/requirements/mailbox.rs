//! What is sent, what became of it, and what never comes back.

use abide::history::EntryKind;
use abide::prelude::*;
use abide::{Kind, WaitStatus};
use serde_json::{Value, json};

use crate::world::{SECOND, on_every_store, story};

async fn one(cx: Cx, (): ()) -> Result<Option<u32>> {
    Ok(cx.wait_for_event::<Option<u32>>("pay").on("paid").await?.payload)
}

async fn two_signals(cx: Cx, (): ()) -> Result<(u32, u32)> {
    let first = cx.wait_for_signal::<u32>("next").await?;
    cx.sleep("nap", "1 minute").await?;
    Ok((first.payload, cx.wait_for_signal::<u32>("next").await?.payload))
}

on_every_store! {
    async fn an_event_may_come_without_a_payload(world: World) {
        let engine = world.engine().workflow("one", one).start().await.unwrap();
        let handle = engine.start("one", Start::new(&())).await.unwrap();
        handle.send(Outgoing::event("paid")).await.unwrap();
        assert_eq!(handle.result::<Option<u32>>().await.unwrap(), None);
        let history = handle.history().await.unwrap();
        let received = history.iter().find(|r| r.entry.entry == EntryKind::EventReceived).unwrap();
        assert_eq!(received.entry.payload, None, "absent is not null");
    }

    async fn a_received_event_is_recorded_with_its_type_payload_and_time(world: World) {
        let engine = world.engine().workflow("one", one).start().await.unwrap();
        let handle = engine.start("one", Start::new(&())).await.unwrap();
        world.clock.advance(SECOND);
        let answer = handle.send_event("paid", &7).await.unwrap();
        assert!(answer.event_id.starts_with("evt_"), "{answer:?}");
        handle.ended().await.unwrap();
        let history = handle.history().await.unwrap();
        let met = history.iter().find(|r| r.entry.entry == EntryKind::WaitFulfilled).unwrap();
        let event: Event<u32> = met.entry.payload.as_ref().unwrap().decode().unwrap();
        assert_eq!((event.event_type.as_str(), event.payload), ("paid", 7));
        assert_eq!((event.received_at, met.at), (world.now(), world.now()));
        let wait = handle.waits().await.unwrap().remove(0);
        assert_eq!((wait.fulfilled_at, wait.fulfilled_by), (Some(world.now()), Some(answer.event_id)));
    }

    async fn an_event_of_policy_none_before_its_wait_is_lost(world: World) {
        let flow = async |cx: Cx, (): ()| -> Result<u32> {
            cx.sleep("nap", "1 minute").await?;
            Ok(cx.wait_for_event::<u32>("paid").await?.payload)
        };
        let workflow = Workflow::new("flow", flow).event::<serde_json::Value>("paid", Buffer::None);
        let engine = world.engine().register(workflow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        let answer = handle.send_event("paid", &1).await.unwrap();
        assert_eq!((answer.delivered, answer.buffered), (0, false));
        assert!(handle.buffer().await.unwrap().is_empty());
        world.settle().await;
        world.clock.advance(60 * SECOND);
        world.until(&handle, Status::Waiting).await;
        assert_eq!(handle.send_event("paid", &2).await.unwrap().delivered, 1);
        assert_eq!(handle.result::<u32>().await.unwrap(), 2);
    }

    async fn waits_in_a_row_take_different_types_in_order(world: World) {
        let flow = async |cx: Cx, (): ()| -> Result<Vec<u32>> {
            let mut got = Vec::new();
            for kind in ["a", "b", "c"] {
                got.push(cx.wait_for_event::<u32>("next").on(kind).await?.payload);
            }
            Ok(got)
        };
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        for (kind, payload) in [("c", 3), ("a", 1), ("b", 2)] {
            handle.send_event(kind, &payload).await.unwrap();
        }
        assert_eq!(handle.result::<Vec<u32>>().await.unwrap(), [1, 2, 3]);
    }

    async fn the_same_wait_name_again_is_another_wait(world: World) {
        let flow = async |cx: Cx, (): ()| -> Result<(u32, u32)> {
            let first = cx.wait_for_event::<u32>("n").await?;
            Ok((first.payload, cx.wait_for_event::<u32>("n").await?.payload))
        };
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        handle.send_event("n", &1).await.unwrap();
        let second = async || handle.waits().await.unwrap().len() == 2;
        assert!(crate::world::eventually(second).await);
        handle.send_event("n#2", &0).await.unwrap();
        handle.send_event("n", &2).await.unwrap();
        assert_eq!(handle.result::<(u32, u32)>().await.unwrap(), (1, 2));
        let waits = handle.waits().await.unwrap();
        assert_eq!(waits.iter().map(|wait| &*wait.step).collect::<Vec<_>>(), ["n", "n#2"]);
    }

    async fn an_ignored_event_leaves_an_ended_instance_as_it_was(world: World) {
        let engine = world.engine().workflow("one", one).start().await.unwrap();
        let handle = engine.start("one", Start::new(&())).await.unwrap();
        handle.send_event("paid", &1).await.unwrap();
        handle.ended().await.unwrap();
        let before = (handle.instance().await.unwrap(), story(&handle).await);
        let late = Outgoing::event("paid").payload(&2).ignore_terminal();
        assert_eq!(handle.send(late).await.unwrap().delivered, 0);
        world.settle().await;
        assert_eq!((handle.instance().await.unwrap(), story(&handle).await), before);
        assert_eq!(handle.result::<Option<u32>>().await.unwrap(), Some(1));
    }

    async fn an_event_six_seconds_later_meets_an_instance_that_left_memory(world: World) {
        let engine = world.engine().workflow("one", one).start().await.unwrap();
        let handle = engine.start("one", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.settle().await;
        world.clock.advance(6 * SECOND);
        assert!(crate::world::eventually(async || engine.resident() == 0).await);
        assert_eq!(handle.send_event("paid", &1).await.unwrap().delivered, 1);
        assert_eq!(handle.result::<Option<u32>>().await.unwrap(), Some(1));
    }

    async fn a_consumed_signal_never_comes_back_after_pause_resume_or_crash(world: World) {
        let build = || world.engine().workflow("two", two_signals).start();
        let engine = build().await.unwrap();
        let handle = engine.start("two", Start::new(&())).await.unwrap();
        handle.signal("next", &1).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.pause().await.unwrap();
        handle.resume().await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(60 * SECOND);
        world.until(&handle, Status::Waiting).await;
        handle.pause().await.unwrap();
        assert!(handle.buffer().await.unwrap().is_empty());
        engine.kill();
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        handle.resume().await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Waiting, "the first is not used again");
        handle.signal("next", &2).await.unwrap();
        assert_eq!(handle.result::<(u32, u32)>().await.unwrap(), (1, 2));
    }

    async fn falsy_payloads_results_and_outputs_are_kept_as_they_are(world: World) {
        let flow = async |cx: Cx, (): ()| -> Result<Vec<Value>> {
            let mut got = Vec::new();
            for n in 0..4 {
                let value = cx.wait_for_signal::<Value>("value").await?.payload;
                let result = cx.step("keep", || async { Ok::<_, Error>(value.clone()) }).await?;
                cx.set_output(&format!("{n}"), &result)?;
                got.push(result);
            }
            Ok(got)
        };
        let falsy = [json!(0), json!(false), json!(""), json!(null)];
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        for value in &falsy {
            handle.signal("value", value).await.unwrap();
        }
        assert_eq!(handle.result::<Vec<Value>>().await.unwrap(), falsy);
        for (key, value) in (0..).zip(&falsy) {
            assert_eq!(handle.output::<Value>(&format!("{key}")).await.unwrap().as_ref(), Some(value));
        }
        let steps = handle.steps().await.unwrap();
        let kept: Vec<_> = steps.iter().filter(|step| step.name.starts_with("keep")).collect();
        assert_eq!(kept.len(), 4);
        assert!(kept.iter().all(|step| step.attempts == 1 && step.output.is_some()), "{kept:?}");
    }

    async fn a_signal_sent_without_waking_lies_in_the_buffer(world: World) {
        let engine = world.engine().workflow("two", two_signals).start().await.unwrap();
        let handle = engine.start("two", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let quiet = Outgoing::signal("next").payload(&1).without_waking();
        let answer = handle.send(quiet).await.unwrap();
        assert_eq!((answer.delivered, answer.buffered), (0, true));
        let [kept] = &handle.buffer().await.unwrap()[..] else { panic!("it is not kept") };
        assert_eq!((kept.kind, &*kept.name, kept.received_at), (Kind::Signal, "next", world.now()));
        assert_eq!(handle.waits().await.unwrap()[0].status, WaitStatus::Active);
    }
}
