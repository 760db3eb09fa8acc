//! How long a wait lasts, and what is left of it afterwards.

use std::sync::Arc;
use std::time::Duration;

use abide::history::EntryKind;
use abide::prelude::*;
use abide::{Clock, Failure, Json, Timestamp, WaitStatus};
use abide_testkit::ManualClock;
use futures_util::future::BoxFuture;

use crate::world::{HOUR, SECOND, eventually, failure, on_every_store, story};

async fn patient(cx: Cx, (): ()) -> Result<u32> {
    Ok(cx.wait_for_event::<u32>("number").on("n").await?.payload)
}

async fn hour(cx: Cx, (): ()) -> Result<u32> {
    Ok(cx.wait_for_event::<u32>("number").on("n").timeout("1 hour").await?.payload)
}

/// Waits a minute, and then as long as it takes.
async fn twice(cx: Cx, (): ()) -> Result<(u64, u32)> {
    let first = cx.wait_for_event::<u32>("number").on("n").timeout("1 minute").await;
    let Err(Error::EventTimeout { timeout_ms, .. }) = first else {
        return Err(Error::failed("EARLY", "the first wait was met"));
    };
    cx.sleep("nap", "1 minute").await?;
    Ok((timeout_ms, cx.wait_for_event::<u32>("number").on("n").await?.payload))
}

/// The clock of an engine whose store takes 3 ms to store anything.
struct Before(ManualClock);

const COMMIT: Duration = Duration::from_millis(3);

impl Clock for Before {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now().0 - 3)
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        self.0.sleep_until(at.after(COMMIT))
    }

    fn random(&self) -> u64 {
        self.0.random()
    }
}

on_every_store! {
    async fn a_timeout_is_told_as_it_was_asked_for_however_long_storing_took(world: World) {
        let engine = world.engine().clock(Arc::new(Before(world.clock.clone())));
        let engine = engine.workflow("hour", hour).start().await.unwrap();
        let kept = engine.start("hour", Start::new(&())).await.unwrap();
        let edited = engine.start("hour", Start::new(&())).await.unwrap();
        let wait = edited.waits().await.unwrap().remove(0);
        edited.edit_wait(&wait.id, Some(wait.created_at.after(60 * SECOND))).await.unwrap();
        world.settle().await;
        world.clock.advance(HOUR);
        let told = async |handle: &Handle| failure(handle).await.detail::<u64>("timeoutMs");
        assert_eq!(told(&kept).await, Some(3_600_000));
        assert_eq!(told(&edited).await, Some(60_000));
    }

    async fn the_default_timeout_is_a_setting_that_a_wait_overrules(world: World) {
        let two_minutes = 120 * SECOND;
        let engine = world.engine().configure(|c| c.wait_default_timeout = Some(two_minutes));
        let engine = engine.workflow("patient", patient).workflow("hour", hour).start().await.unwrap();
        let by_default = engine.start("patient", Start::new(&())).await.unwrap();
        let own = engine.start("hour", Start::new(&())).await.unwrap();
        let deadline = async |handle: &Handle| handle.waits().await.unwrap()[0].timeout_at;
        assert_eq!(deadline(&by_default).await, Some(world.now().after(two_minutes)));
        assert_eq!(deadline(&own).await, Some(world.now().after(HOUR)));
        world.settle().await;
        world.clock.advance(two_minutes);
        let failed = failure(&by_default).await;
        assert_eq!((&*failed.code, failed.detail::<u64>("timeoutMs")), ("EVENT_TIMEOUT", Some(120_000)));
    }

    async fn a_wait_without_a_timeout_has_no_end(world: World) {
        let engine = world.engine().workflow("patient", patient).start().await.unwrap();
        let handle = engine.start("patient", Start::new(&())).await.unwrap();
        assert_eq!(handle.waits().await.unwrap()[0].timeout_at, None);
        world.evict(&engine).await;
        world.clock.advance(HOUR * 24 * 365);
        world.settle().await;
        assert_eq!(handle.status().await.unwrap(), Status::Waiting);
        handle.send_event("n", &1).await.unwrap();
        assert_eq!(handle.result::<u32>().await.unwrap(), 1);
    }

    async fn what_came_early_counts_whatever_the_timeout(world: World) {
        let flow = async |cx: Cx, (): ()| -> Result<u32> {
            cx.sleep("nap", "1 minute").await?;
            Ok(cx.wait_for_event::<u32>("n").timeout(0_u64).await?.payload)
        };
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let handle = engine.start("flow", Start::new(&())).await.unwrap();
        handle.send_event("n", &1).await.unwrap();
        world.run_to_end(&handle).await;
        assert_eq!(handle.result::<u32>().await.unwrap(), 1);
    }

    async fn a_wait_keeps_its_deadline_over_a_crash(world: World) {
        let build = || world.engine().workflow("hour", hour).start();
        let engine = build().await.unwrap();
        let handle = engine.start("hour", Start::new(&())).await.unwrap();
        let before = handle.waits().await.unwrap();
        engine.kill();
        world.clock.advance(HOUR / 2);
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        world.until(&handle, Status::Waiting).await;
        assert_eq!(handle.waits().await.unwrap(), before, "the same wait, not another");
        world.settle().await;
        world.clock.advance(HOUR / 2);
        assert_eq!(failure(&handle).await.code, "EVENT_TIMEOUT");
    }

    async fn an_evicted_instance_wakes_for_its_deadline(world: World) {
        let engine = world.engine().workflow("hour", hour).start().await.unwrap();
        let handle = engine.start("hour", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.evict(&engine).await;
        world.clock.advance(HOUR);
        assert_eq!(failure(&handle).await.code, "EVENT_TIMEOUT");
        assert_eq!(handle.waits().await.unwrap()[0].status, WaitStatus::Expired);
    }

    async fn a_caught_timeout_leaves_the_next_wait_healthy_also_over_a_crash(world: World) {
        let build = || world.engine().workflow("twice", twice).start();
        let engine = build().await.unwrap();
        let handle = engine.start("twice", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.settle().await;
        world.clock.advance(60 * SECOND);
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        let handle = engine.get(handle.id());
        world.until(&handle, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(60 * SECOND);
        assert!(eventually(async || handle.waits().await.unwrap().len() == 2).await);
        world.until(&handle, Status::Waiting).await;
        assert_eq!(handle.send_event("n", &5).await.unwrap().delivered, 1);
        assert_eq!(handle.result::<(u64, u32)>().await.unwrap(), (60_000, 5));
        let waits = handle.waits().await.unwrap();
        let statuses: Vec<_> = waits.iter().map(|wait| wait.status).collect();
        assert_eq!(statuses, [WaitStatus::Expired, WaitStatus::Fulfilled]);
        let expired = story(&handle).await.iter().filter(|told| told.starts_with("wait.expired")).count();
        assert_eq!(expired, 1, "it expired once, however often it was replayed");
    }

    async fn an_expired_wait_is_recorded_with_its_type_its_time_and_how_long_it_was(world: World) {
        let engine = world.engine().workflow("hour", hour).start().await.unwrap();
        let handle = engine.start("hour", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.settle().await;
        world.clock.advance(HOUR);
        let failed = failure(&handle).await;
        assert!(failed.message.contains("Event timeout"), "{failed}");
        let history = handle.history().await.unwrap();
        let expired = history.iter().find(|r| r.entry.entry == EntryKind::WaitExpired).unwrap();
        let error = expired.entry.error.as_ref().unwrap();
        assert_eq!((expired.entry.name.as_deref(), expired.at), (Some("number"), world.now()));
        assert_eq!(error.detail::<String>("eventType").unwrap(), "n");
        assert_eq!(error.detail::<u64>("timeoutMs"), Some(3_600_000));
    }

    async fn long_waits_hold_no_memory(world: World) {
        let flow = async |cx: Cx, timeout: String| -> Result<u32> {
            Ok(cx.wait_for_event::<u32>("n").timeout(timeout).await?.payload)
        };
        let engine = world.engine().workflow("flow", flow).start().await.unwrap();
        let mut handles = Vec::new();
        for timeout in ["1 minute", "5 minutes", "1 hour", "24 hours"] {
            let handle = engine.start("flow", Start::new(timeout)).await.unwrap();
            world.until(&handle, Status::Waiting).await;
            handles.push(handle);
        }
        world.evict(&engine).await;
        assert_eq!(engine.resident(), 0);
        for handle in handles {
            handle.send_event("n", &1).await.unwrap();
            assert_eq!(handle.result::<u32>().await.unwrap(), 1);
        }
    }
}

#[test]
fn a_timeout_keeps_its_code_and_its_fields_when_it_is_stored_and_read() {
    let (step, event_type) = ("ask".to_owned(), "approval".to_owned());
    let error = Error::EventTimeout {
        step,
        event_type,
        timeout_ms: 120_000,
        timeout_at: None,
        received: None,
    };
    let stored = Json::encode(&error.to_failure()).unwrap();
    let read: Failure = stored.decode().unwrap();
    let restored = Error::from_step("ask", read);
    assert_eq!(restored.code(), "EVENT_TIMEOUT");
    assert_eq!(restored.to_string(), error.to_string());
    let Error::EventTimeout { event_type, timeout_ms, .. } = restored else {
        panic!("{restored:?}")
    };
    assert_eq!((event_type.as_str(), timeout_ms), ("approval", 120_000));
}
