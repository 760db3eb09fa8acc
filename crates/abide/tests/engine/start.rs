//! Starting: once per id, all or none, now or later, and never half.

use abide::prelude::*;
use abide::{Json, Phase};
use abide_testkit::Fault;

use futures_util::join;

use crate::slow::Hold;
use crate::world::{
    Gate, HOUR, Ran, SECOND, eventually, failure, on_every_store, story, told, with,
};

async fn echo(_: Cx, input: u64) -> Result<u64> {
    Ok(input)
}

/// Hears of something (that no signal is there) in the commit that creates it.
async fn looks_and_works(cx: Cx, ran: Ran, (): ()) -> Result<u32> {
    let look = cx.try_signal::<u32>("signal");
    let work = cx.step("work", || ran.ok("work", 1)).retry(Retry::never());
    let (found, worked) = join!(look, work);
    Ok(found?.map_or(0, |signal| signal.payload) + worked?)
}

on_every_store! {
    async fn what_is_heard_before_the_start_is_answered_has_nobody_else_run_it(world: World) {
        let ran = Ran::default();
        let engine = world.engine().workflow("looks", with(&ran, looks_and_works));
        let engine = engine.start().await.unwrap();
        for _ in 0..20 {
            let handle = engine.start("looks", Start::new(&())).await.unwrap();
            assert_eq!(handle.result::<u32>().await.unwrap(), 1);
        }
        assert_eq!(ran.times("work"), 20);
    }

    async fn an_id_starts_once(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let first = engine.start("echo", Start::new(&1).id("i")).await.unwrap();
        let refused = engine.start("echo", Start::new(&2).id("i")).await.err().unwrap();
        assert!(matches!(&refused, Error::AlreadyExists { id } if id == first.id()), "{refused:?}");
        assert_eq!(refused.code(), "WORKFLOW_ALREADY_EXISTS");
        let again = engine.start("echo", Start::new(&2).id("i").if_exists(IfExists::Return)).await.unwrap();
        assert_eq!(again.result::<u64>().await.unwrap(), 1);
        assert_eq!(first.result::<u64>().await.unwrap(), 1);
    }

    async fn a_generated_id_is_unique_and_known_by_its_prefix(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let a = engine.start("echo", Start::new(&1)).await.unwrap();
        let b = engine.start("echo", Start::new(&1)).await.unwrap();
        assert_ne!(a.id(), b.id());
        assert!(a.id().as_str().starts_with("wf_"));
    }

    async fn bad_starts_are_typed_errors_and_leave_nothing(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let code = async |workflow: &str, start: Start| {
            engine.start(workflow, start).await.err().unwrap().code().to_owned()
        };
        assert_eq!(code("nobody", Start::new(&1)).await, "WORKFLOW_TYPE_UNKNOWN");
        assert_eq!(code("echo", Start::new("text")).await, "VALIDATION_ERROR");
        assert_eq!(code("echo", Start::new(&f64::NAN)).await, "VALIDATION_ERROR");
        assert_eq!(code("echo", Start::new(&1).id("")).await, "VALIDATION_ERROR");
        assert_eq!(code("echo", Start::new(&1).id("x".repeat(256))).await, "VALIDATION_ERROR");
        assert_eq!(code("echo", Start::new(&1).timeout("soon")).await, "VALIDATION_ERROR");
        assert_eq!(code("echo", Start::new(&"x".repeat(2 << 20))).await, "PAYLOAD_TOO_LARGE");
        let later = Start::new("text").start_at(world.now().after(HOUR));
        assert_eq!(code("echo", later).await, "VALIDATION_ERROR");
        let all = engine.list(Filter::default(), Page::default()).await.unwrap();
        assert!(all.instances.is_empty(), "{all:?}");
    }

    async fn an_unknown_instance_is_not_found_whatever_is_asked(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let nobody = engine.get(&InstanceId::new("nobody").unwrap());
        let refused = [
            nobody.status().await.err(),
            nobody.result::<u64>().await.err(),
            nobody.ended().await.err(),
            nobody.pause().await.err(),
            nobody.resume().await.err(),
            nobody.restart().await.err(),
            nobody.restart_from("a").await.err(),
            nobody.terminate(Terminate::default()).await.err(),
            nobody.history().await.err(),
            nobody.steps().await.err(),
        ];
        for refused in refused {
            assert!(matches!(refused, Some(Error::InstanceNotFound { .. })), "{refused:?}");
        }
    }

    async fn a_batch_starts_as_a_whole_or_not_at_all(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let starts = |ids: &[&str]| ids.iter().map(|id| Start::new(&7).id(id)).collect::<Vec<_>>();
        let handles = engine.start_all("echo", starts(&["a", "b"])).await.unwrap();
        for handle in &handles {
            assert_eq!(handle.result::<u64>().await.unwrap(), 7);
        }
        for ids in [["c", "a"], ["d", "d"]] {
            let refused = engine.start_all("echo", starts(&ids)).await.err().unwrap();
            assert_eq!(refused.code(), "WORKFLOW_ALREADY_EXISTS");
        }
        let bad = vec![Start::new(&1).id("e"), Start::new("text").id("f")];
        assert_eq!(engine.start_all("echo", bad).await.err().unwrap().code(), "VALIDATION_ERROR");
        let listed = engine.list(Filter::default(), Page::default()).await.unwrap();
        assert_eq!(listed.instances.len(), 2);
        assert!(engine.start_all("echo", vec![]).await.unwrap().is_empty());
    }

    async fn a_batch_of_more_than_a_hundred_is_refused(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let starts = |n| (0..n).map(|_| Start::new(&1)).collect::<Vec<_>>();
        assert_eq!(engine.start_all("echo", starts(100)).await.unwrap().len(), 100);
        let refused = engine.start_all("echo", starts(101)).await.err().unwrap();
        assert_eq!(refused.code(), "VALIDATION_ERROR");
        let page = Page { limit: 1000, before: None };
        let listed = engine.list(Filter::default(), page).await.unwrap();
        assert_eq!(listed.instances.len(), 100);
    }

    async fn a_later_start_is_queued_until_its_time(world: World) {
        let build = || world.engine().workflow("echo", echo).start();
        let engine = build().await.unwrap();
        let at = world.now().after(HOUR);
        let start = |id: &str| Start::new(&5).id(id).start_at(at).timeout("1 minute");
        let near = engine.start("echo", start("a")).await.unwrap();
        let restarted = engine.start("echo", start("b")).await.unwrap();
        let instance = near.instance().await.unwrap();
        assert_eq!((instance.status(), instance.wake_at), (Status::Queued, Some(at)));
        assert!(instance.queued_reason.is_some_and(|reason| reason.contains("start")));
        assert!(eventually(async || engine.resident() == 0).await);
        assert_eq!(story(&near).await.len(), 0);
        world.clock.advance(HOUR - SECOND);
        world.settle().await;
        assert_eq!(near.status().await.unwrap(), Status::Queued);
        engine.kill();
        let engine = build().await.unwrap();
        world.clock.advance(SECOND);
        assert_eq!(engine.get(near.id()).result::<u64>().await.unwrap(), 5);
        assert_eq!(engine.get(restarted.id()).result::<u64>().await.unwrap(), 5);
        assert_eq!(story(&near).await, ["workflow.started", "workflow.completed"]);
    }

    async fn a_start_in_the_past_begins_now(world: World) {
        let engine = world.engine().workflow("echo", echo).start().await.unwrap();
        let start = Start::new(&5).start_at(Timestamp(1));
        assert_eq!(engine.start("echo", start).await.unwrap().result::<u64>().await.unwrap(), 5);
    }

    async fn an_instance_that_takes_too_long_fails(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("nap", async |cx: Cx, (): ()| -> Result<()> { cx.sleep("nap", "1 day").await })
            .workflow("work", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<()> {
                cx.step("work", || gate.clone().ok(())).await
            }))
            .start()
            .await
            .unwrap();
        let start = || Start::new(&()).timeout("1 hour");
        let nap = engine.start("nap", start()).await.unwrap();
        let evicted = engine.start("nap", start()).await.unwrap();
        let work = engine.start("work", start()).await.unwrap();
        gate.reached(1).await;
        world.until(&nap, Status::Sleeping).await;
        world.until(&evicted, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR - SECOND);
        world.settle().await;
        assert_eq!(nap.status().await.unwrap(), Status::Sleeping);
        world.clock.advance(SECOND);
        for handle in [nap, evicted, work] {
            assert_eq!(failure(&handle).await.code, "WORKFLOW_TIMEOUT");
        }
    }

    async fn a_start_whose_outcome_is_unknown_runs_if_it_was_stored(world: World) {
        let ran = Ran::default();
        let faults = world.faults().at(1, Fault::FailAfter).at(3, Fault::FailBefore);
        let engine = world
            .engine_with(&faults)
            .workflow("w", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<u64> {
                cx.step("a", || ran.ok("a", 1)).await
            }))
            .start()
            .await
            .unwrap();
        let unknown = engine.start("w", Start::new(&()).id("i")).await.err().unwrap();
        assert!(matches!(unknown, Error::OutcomeUnknown { .. }), "{unknown:?}");
        let again = Start::new(&()).id("i").if_exists(IfExists::Return);
        let handle = engine.start("w", again).await.unwrap();
        let instance = world.run_to_end(&handle).await;
        assert_eq!(instance.phase, Phase::Completed, "{}", told(&handle).await);
        assert_eq!(instance.output, Some(Json::encode(&1).unwrap()));
        assert_eq!(ran.times("a"), 1);
    }

    async fn a_start_that_the_store_refused_is_not_there(world: World) {
        let faults = world.faults().at(1, Fault::FailBefore);
        let engine = world.engine_with(&faults).workflow("echo", echo).start().await.unwrap();
        let refused = engine.start("echo", Start::new(&1).id("i")).await.err().unwrap();
        assert!(matches!(refused, Error::StoreUnavailable { .. }) && refused.is_retryable());
        let handle = engine.start("echo", Start::new(&1).id("i")).await.unwrap();
        assert_eq!(handle.result::<u64>().await.unwrap(), 1);
    }

    async fn who_stops_waiting_for_a_start_does_not_stop_the_instance(world: World) {
        let slow = world.slow();
        let engine = world.engine_on(&slow.shared()).workflow("echo", echo).start().await.unwrap();
        slow.hold(Hold::Start);
        let starting = tokio::spawn({
            let engine = engine.clone();
            async move { engine.start("echo", Start::new(&3).id("i")).await.map(drop) }
        });
        slow.holds_one().await;
        starting.abort();
        assert!(starting.await.is_err());
        slow.release(Hold::Start);
        let handle = engine.get(&InstanceId::new("i").unwrap());
        assert!(eventually(async || handle.status().await.is_ok()).await);
        assert_eq!(handle.result::<u64>().await.unwrap(), 3);
    }

    async fn a_result_asked_for_the_moment_it_is_there_is_told(world: World) {
        let slow = world.slow();
        let engine = world
            .engine_on(&slow.shared())
            .workflow("step", async |cx: Cx, (): ()| -> Result<u64> {
                cx.step("a", || async { Ok::<_, Error>(1) }).await
            })
            .start()
            .await
            .unwrap();
        // The end is stored and told, but the one who ran it has not heard.
        slow.hold(Hold::CommitAnswer);
        let handle = engine.start("step", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Completed).await;
        world.settle().await;
        assert_eq!(handle.result::<u64>().await.unwrap(), 1);
        slow.release(Hold::CommitAnswer);
    }

    async fn what_reaches_an_instance_before_its_start_is_answered_is_not_lost(world: World) {
        let slow = world.slow();
        let both = async |cx: Cx, (): ()| -> Result<(u32, u32)> {
            let (a, b) = (cx.wait_for_signal::<u32>("a"), cx.wait_for_signal::<u32>("b"));
            let (a, b) = tokio::join!(a, b);
            Ok((a?.payload, b?.payload))
        };
        let engine = world.engine_on(&slow.shared()).workflow("both", both).start().await.unwrap();
        slow.hold(Hold::StartAnswer);
        slow.hold(Hold::ClaimAnswer);
        let starting = tokio::spawn({
            let engine = engine.clone();
            async move { engine.start("both", Start::new(&()).id("both")).await }
        });
        let handle = engine.get(&InstanceId::new("both").unwrap());
        assert!(eventually(async || handle.status().await.is_ok()).await);
        // It is not in memory yet, so it is read because of the first signal.
        handle.signal("a", &1).await.unwrap();
        world.settle().await;
        slow.hold(Hold::Commit);
        slow.release(Hold::StartAnswer);
        let handle = starting.await.unwrap().unwrap();
        world.settle().await;
        handle.signal("b", &2).await.unwrap();
        slow.release(Hold::ClaimAnswer);
        world.settle().await;
        slow.release(Hold::Commit);
        assert_eq!(handle.result::<(u32, u32)>().await.unwrap(), (1, 2));
    }
}
