//! Events that come before anybody waits for them, or after.

use std::collections::BTreeMap;

use abide::history::{EntryKind, StepKind};
use abide::prelude::*;
use abide::{Buffered, StepStatus, WaitStatus};
use serde::{Deserialize, Serialize};

use crate::world::{HOUR, Ran, SECOND, on_every_store, story, with};

/// Sleeps, then greets with the event it was sent.
async fn greeting(cx: Cx, name: String) -> Result<(String, String)> {
    cx.sleep("nap", "1 minute").await?;
    let message: Event<String> = cx.wait_for_event("message").timeout("1 hour").await?;
    Ok((message.payload, format!("hello, {name}")))
}

async fn kept(handle: &Handle) -> Vec<Buffered> {
    handle.buffer().await.unwrap()
}

on_every_store! {
    async fn an_early_event_changes_neither_status_nor_wake_up_of_what_lives(world: World) {
        let other = async |cx: Cx, (): ()| -> Result<()> {
            cx.wait_for_event::<()>("other").timeout("1 hour").await?;
            Ok(())
        };
        let engine = world.engine().workflow("greeting", greeting).workflow("other", other);
        let engine = engine.start().await.unwrap();
        let sleeping = engine.start("greeting", Start::new("a")).await.unwrap();
        world.until(&sleeping, Status::Sleeping).await;
        let paused = engine.start("greeting", Start::new("b")).await.unwrap();
        world.until(&paused, Status::Sleeping).await;
        paused.pause().await.unwrap();
        let later = Start::new("c").start_at(world.now().after(60 * SECOND));
        let queued = engine.start("greeting", later).await.unwrap();
        let waiting = engine.start("other", Start::new(&())).await.unwrap();
        world.until(&waiting, Status::Waiting).await;
        world.settle().await;
        for handle in [sleeping, paused, queued, waiting] {
            let before = handle.instance().await.unwrap();
            let answer = handle.send_event("message", "hi").await.unwrap();
            assert_eq!((answer.delivered, answer.buffered), (0, true), "{}", before.status());
            world.settle().await;
            let after = handle.instance().await.unwrap();
            assert_eq!((after.status(), after.wake_at), (before.status(), before.wake_at));
            assert_eq!(kept(&handle).await.len(), 1, "{}", before.status());
        }
    }

    async fn a_second_early_event_replaces_payload_and_time(world: World) {
        let engine = world.engine().workflow("greeting", greeting).start().await.unwrap();
        let handle = engine.start("greeting", Start::new("you")).await.unwrap();
        handle.send_event("message", "first").await.unwrap();
        world.clock.advance(SECOND);
        handle.send_event("message", "second").await.unwrap();
        let [only] = &kept(&handle).await[..] else { panic!("{:?}", kept(&handle).await) };
        let payload: String = only.payload.as_ref().unwrap().decode().unwrap();
        assert_eq!((payload.as_str(), only.received_at), ("second", world.now()));
        world.run_to_end(&handle).await;
        let told: (String, String) = handle.result().await.unwrap();
        assert_eq!(told, ("second".into(), "hello, you".into()));
    }

    async fn an_early_event_completes_its_wait_without_suspending(world: World) {
        let engine = world.engine().workflow("greeting", greeting).start().await.unwrap();
        let handle = engine.start("greeting", Start::new("you")).await.unwrap();
        let answer = handle.send_event("message", "hi").await.unwrap();
        world.run_to_end(&handle).await;
        let steps = handle.steps().await.unwrap();
        let met = steps.iter().find(|step| &*step.name == "message").unwrap();
        assert_eq!((met.kind, met.status, met.attempts), (StepKind::Event, StepStatus::Completed, 0));
        assert_eq!(met.completed_at, Some(met.started_at), "it never waited");
        let wait = handle.waits().await.unwrap().remove(0);
        assert_eq!((wait.status, wait.fulfilled_by), (WaitStatus::Fulfilled, Some(answer.event_id)));
        assert!(kept(&handle).await.is_empty());
        let told = story(&handle).await;
        let started = told.iter().position(|told| told == "wait.started message").unwrap();
        assert_eq!(told[started + 1], "wait.fulfilled message", "{told:?}");
    }

    async fn a_met_wait_gives_the_same_event_on_every_replay(world: World) {
        async fn flow(cx: Cx, ran: Ran, (): ()) -> Result<(String, Timestamp)> {
            let got: Event<u32> = cx.wait_for_event("number").await?;
            ran.mark(&format!("{} {} {}", got.id, got.payload, got.received_at));
            cx.sleep("nap", "1 hour").await?;
            Ok((got.id, got.received_at))
        }
        let ran = Ran::default();
        let build = || world.engine().workflow("flow", with(&ran, flow)).start();
        let engine = build().await.unwrap();
        let handle = engine.start("flow", Start::new(&()).id("flow")).await.unwrap();
        handle.send(Outgoing::event("number").id("n").payload(&7)).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        let accepted = handle.history().await.unwrap();
        let accepted = accepted.iter().find(|r| r.entry.entry == EntryKind::EventReceived).unwrap().at;
        world.settle().await;
        world.clock.advance(HOUR);
        assert_eq!(handle.result::<(String, Timestamp)>().await.unwrap(), ("n".into(), accepted));
        let counts = ran.counts();
        assert_eq!(counts.keys().collect::<Vec<_>>(), [&format!("n 7 {accepted}")]);
        assert!(counts.values().all(|times| *times >= 2), "it was replayed: {counts:?}");
    }

    async fn an_event_after_its_wait_is_kept_unused_and_discarded_at_the_end(world: World) {
        let flow = async |cx: Cx, (): ()| -> Result<u32> {
            let first: Event<u32> = cx.wait_for_event("number").await?;
            cx.sleep("nap", "1 minute").await?;
            Ok(first.payload)
        };
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        handle.send_event("number", &1).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        assert!(handle.send_event("number", &2).await.unwrap().buffered);
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<u32>().await.unwrap(), 1);
        assert!(kept(&handle).await.is_empty());
        assert!(story(&handle).await.contains(&"event.discarded number".to_owned()));
    }

    async fn an_early_payload_reads_back_equal_whatever_its_type(world: World) {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        struct Rich {
            big: u64,
            negative: i64,
            at: Timestamp,
            link: String,
            map: BTreeMap<String, Vec<Option<bool>>>,
        }
        let flow = async |cx: Cx, (): ()| -> Result<Rich> {
            cx.sleep("nap", "1 minute").await?;
            Ok(cx.wait_for_event::<Rich>("rich").await?.payload)
        };
        let rich = Rich {
            big: u64::MAX,
            negative: i64::MIN,
            at: world.now(),
            link: "https://example.com/ü?a=\"1\"".into(),
            map: BTreeMap::from([("k".into(), vec![Some(false), None])]),
        };
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        handle.send_event("rich", &rich).await.unwrap();
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<Rich>().await.unwrap(), rich);
    }
}
