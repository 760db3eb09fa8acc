//! Children: started with their parent's step, seen by it once, whatever happens to either.

use std::sync::Arc;

use abide::prelude::*;
use abide::store::Store;
use abide_testkit::Fault;
use futures_util::future::try_join_all;

use crate::slow::{Hold, SlowStore};
use crate::world::{Gate, HOUR, Ran, eventually, failure, on_every_store, story, told, with};

async fn double(cx: Cx, n: u64) -> Result<u64> {
    cx.step("double", || async { Ok::<_, Error>(n * 2) }).await
}

async fn nap(cx: Cx, n: u64) -> Result<u64> {
    cx.sleep("nap", "1 hour").await?;
    Ok(n)
}

async fn broken(cx: Cx, (): ()) -> Result<()> {
    let failed = || async { Err::<(), _>(NonRetryable::new("out of stock")) };
    cx.step("fail", failed).await
}

on_every_store! {
    async fn an_awaited_child_gives_its_result_to_the_parent(world: World) {
        let engine = world
            .engine()
            .workflow("double", double)
            .workflow("parent", async |cx: Cx, n: u64| -> Result<u64> {
                Ok(1 + cx.child::<u64>("double", n).id("the-child").await?)
            })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&4)).await.unwrap();
        assert_eq!(parent.result::<u64>().await.unwrap(), 9);
        let child = engine.get(&InstanceId::new("the-child").unwrap()).instance().await.unwrap();
        let of = child.parent.unwrap();
        assert_eq!((&of.id, &*of.step), (parent.id(), "double"));
        let children = Filter { parent: Some(parent.id().clone()), ..Filter::default() };
        assert_eq!(engine.list(children, Page::default()).await.unwrap().instances.len(), 1);
        let step = &parent.steps().await.unwrap()[0];
        assert_eq!(step.child_id.as_ref(), Some(&child.id));
    }

    async fn a_waiting_parent_shows_as_waiting(world: World) {
        let engine = world
            .engine()
            .workflow("nap", nap)
            .workflow("parent", async |cx: Cx, (): ()| -> Result<u64> { cx.child("nap", 7).id("c").await })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        world.until(&parent, Status::Waiting).await;
        world.until_there(&engine, "c", Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR);
        assert_eq!(parent.result::<u64>().await.unwrap(), 7);
    }

    async fn a_failed_or_terminated_child_is_an_error_the_parent_may_handle(world: World) {
        let engine = world
            .engine()
            .workflow("broken", broken)
            .workflow("nap", nap)
            .workflow("parent", async |cx: Cx, (): ()| -> Result<[String; 2]> {
                let codes = [
                    cx.child::<()>("broken", ()).await.unwrap_err(),
                    cx.child::<u64>("nap", 1).id("napping").await.unwrap_err(),
                ];
                Ok(codes.map(|error| match error {
                    Error::ChildFailed { child, failure } => format!("{child} {}", failure.code),
                    other => other.to_string(),
                }))
            })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        let napping = world.until_there(&engine, "napping", Status::Sleeping).await;
        napping.terminate(Terminate::because("enough")).await.unwrap();
        let [failed, terminated] = parent.result::<[String; 2]>().await.unwrap();
        assert!(failed.ends_with(" STEP_FAILED"), "{failed}");
        assert_eq!(terminated, "napping WORKFLOW_TERMINATED");
    }

    async fn an_unhandled_child_failure_fails_the_parent_and_names_the_child(world: World) {
        let engine = world
            .engine()
            .workflow("broken", broken)
            .workflow("parent", async |cx: Cx, (): ()| -> Result<()> {
                cx.child("broken", ()).id("c").await
            })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        let failed = failure(&parent).await;
        assert_eq!(failed.detail::<String>("instanceId").as_deref(), Some("c"));
        assert!(failed.message.contains("out of stock"), "{failed}");
    }

    async fn a_detached_child_goes_on_alone(world: World) {
        let engine = world
            .engine()
            .workflow("nap", nap)
            .workflow("parent", async |cx: Cx, (): ()| -> Result<InstanceId> {
                cx.child::<u64>("nap", 5).detached().await
            })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        let child = engine.get(&parent.result::<InstanceId>().await.unwrap());
        world.until(&child, Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR);
        assert_eq!(child.result::<u64>().await.unwrap(), 5);
    }

    async fn a_child_id_that_is_taken_is_an_error_to_the_parent(world: World) {
        let engine = world
            .engine()
            .workflow("double", double)
            .workflow("parent", async |cx: Cx, detached: bool| -> Result<u64> {
                let child = cx.child::<u64>("double", 1).id("taken");
                if detached { child.detached().await.map(|_| 0) } else { child.await }
            })
            .start()
            .await
            .unwrap();
        engine.start("double", Start::new(&1).id("taken")).await.unwrap();
        for detached in [false, true] {
            let parent = engine.start("parent", Start::new(&detached)).await.unwrap();
            let failed = failure(&parent).await;
            assert_eq!(failed.detail::<String>("code").as_deref(), Some("WORKFLOW_ALREADY_EXISTS"));
        }
    }

    async fn an_unknown_child_workflow_is_an_error_to_the_parent(world: World) {
        let engine = world
            .engine()
            .workflow("parent", async |cx: Cx, (): ()| -> Result<()> { cx.child("nobody", ()).await })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        assert_eq!(failure(&parent).await.code, "WORKFLOW_TYPE_UNKNOWN");
    }

    async fn a_recorded_child_is_seen_again_by_an_engine_that_no_longer_knows_its_workflow(world: World) {
        let parent = async |cx: Cx, (): ()| -> Result<u64> {
            let doubled = cx.child::<u64>("double", 2).await?;
            cx.sleep("rest", "1 hour").await?;
            Ok(doubled)
        };
        let engine = world.engine().workflow("double", double).workflow("parent", parent);
        let engine = engine.start().await.unwrap();
        let handle = engine.start("parent", Start::new(&()).id("p")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        engine.kill();
        let engine = world.engine().workflow("parent", parent).start().await.unwrap();
        world.clock.advance(HOUR);
        assert_eq!(engine.get(handle.id()).result::<u64>().await.unwrap(), 4);
    }

    async fn grandchildren_answer_their_parents(world: World) {
        let engine = world
            .engine()
            .workflow("tree", async |cx: Cx, depth: u64| -> Result<u64> {
                if depth == 0 {
                    return Ok(1);
                }
                let left = cx.child::<u64>("tree", depth - 1);
                let right = cx.child::<u64>("tree", depth - 1);
                let (left, right) = tokio::join!(left, right);
                Ok(left? + right?)
            })
            .start()
            .await
            .unwrap();
        let root = engine.start("tree", Start::new(&4)).await.unwrap();
        assert_eq!(root.result::<u64>().await.unwrap(), 16);
    }

    async fn two_hundred_children_in_parallel_all_answer(world: World) {
        let engine = world
            .engine()
            .workflow("nap", nap)
            .workflow("parent", async |cx: Cx, (): ()| -> Result<u64> {
                let naps = (0..200).map(|n| cx.child::<u64>("nap", n));
                Ok(try_join_all(naps).await?.iter().sum())
            })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        let all_nap = Filter { status: vec![Status::Sleeping], ..Filter::default() };
        let page = Page { limit: 1000, before: None };
        let asleep = async || engine.list(all_nap.clone(), page).await.unwrap().instances.len() == 200;
        assert!(eventually(asleep).await);
        // Everybody out of memory: the parent is read again while its children end one by one.
        world.evict(&engine).await;
        world.clock.advance(HOUR);
        let ended = eventually(async || parent.status().await.unwrap().is_terminal()).await;
        assert!(ended, "{:?}", parent.instance().await);
        assert_eq!(parent.result::<u64>().await.unwrap(), (0..200).sum::<u64>());
    }

    async fn a_child_that_ends_while_its_parent_is_being_read_is_seen(world: World) {
        let slow = world.slow();
        let engine = world
            .engine_on(&slow.shared())
            .workflow("nap", async |cx: Cx, at: i64| -> Result<i64> {
                cx.sleep_until("nap", Timestamp(at)).await?;
                Ok(at)
            })
            .workflow("parent", async |cx: Cx, at: [i64; 2]| -> Result<(i64, i64)> {
                let (a, b) = tokio::join!(
                    cx.child("nap", at[0]).id("a"),
                    cx.child("nap", at[1]).id("b"),
                );
                Ok((a?, b?))
            })
            .start()
            .await
            .unwrap();
        let at = [world.now().after(HOUR).0, world.now().after(2 * HOUR).0];
        let parent = engine.start("parent", Start::new(&at)).await.unwrap();
        world.until_there(&engine, "a", Status::Sleeping).await;
        world.until_there(&engine, "b", Status::Sleeping).await;
        world.settle().await;
        world.evict(&engine).await;
        world.clock.set(Timestamp(at[0]));
        let a = engine.get(&InstanceId::new("a").unwrap());
        // The parent is claimed and read because of `a`, but that answer is withheld.
        assert!(eventually(async || {
            if a.status().await.unwrap() == Status::Running { slow.hold(Hold::ClaimAnswer); }
            a.status().await.unwrap().is_terminal()
        }).await);
        world.settle().await;
        slow.release(Hold::ClaimAnswer);
        // Whichever way the reads fell, `b` ends and the parent sees both.
        world.settle().await;
        world.clock.set(Timestamp(at[1]));
        let ended = eventually(async || parent.status().await.unwrap().is_terminal()).await;
        assert!(ended, "{}", told(&parent).await);
        assert_eq!(parent.result::<(i64, i64)>().await.unwrap(), (at[0], at[1]));
    }

    async fn what_a_parent_did_after_its_child_ended_replays_in_that_order(world: World) {
        let ran = Ran::default();
        let build = || world
            .engine()
            .workflow("nap", nap)
            .workflow("parent", with(&ran, async |cx: Cx, ran: Ran, (): ()| -> Result<u64> {
                let n = cx.child::<u64>("nap", 3).await?;
                let n = cx.step("after", || ran.ok("after", n + 1)).await?;
                cx.sleep("rest", "1 hour").await?;
                cx.step("last", || ran.ok("last", n + 1)).await
            }))
            .start();
        let engine = build().await.unwrap();
        let parent = engine.start("parent", Start::new(&()).id("p")).await.unwrap();
        world.until(&parent, Status::Waiting).await;
        world.evict(&engine).await;
        world.clock.advance(HOUR);
        world.until(&parent, Status::Sleeping).await;
        engine.kill();
        let engine = build().await.unwrap();
        let parent = engine.get(parent.id());
        world.settle().await;
        world.clock.advance(HOUR);
        let ends = [Status::Completed, Status::Paused];
        let ended = async || ends.contains(&parent.status().await.unwrap());
        assert!(eventually(ended).await, "{}", told(&parent).await);
        assert_eq!(parent.status().await.unwrap(), Status::Completed, "{}", told(&parent).await);
        assert_eq!(parent.result::<u64>().await.unwrap(), 5);
        assert_eq!(ran.order(), ["after", "last"]);
    }

    async fn a_child_that_ended_just_before_its_parents_commit_survives_a_crash(world: World) {
        let gates = [Gate::default(), Gate::default()];
        let build = |store: Arc<dyn Store>| world.engine_on(&store)
            .workflow("child", with(&gates[0], async |cx: Cx, gate: Gate, (): ()| -> Result<u64> {
                cx.step("c", || gate.clone().ok(4)).await
            }))
            .workflow("parent", with(&gates[1], async |cx: Cx, gate: Gate, (): ()| -> Result<(u64, u64)> {
                let (child, step) = tokio::join!(
                    cx.child::<u64>("child", ()).id("c"),
                    cx.step("p", || gate.clone().ok(7)),
                );
                Ok((child?, step?))
            }))
            .start();
        // The start, two commits of the child, and the parent's word that it waits are written.
        let faults = world.faults().at(5, Fault::CrashBefore);
        let slow = SlowStore::new(Arc::new(faults.clone()));
        let engine = build(slow.shared()).await.unwrap();
        let handle = engine.start("parent", Start::new(&()).id("p")).await.unwrap();
        gates[0].reached(1).await;
        gates[1].reached(1).await;
        slow.hold(Hold::CommitOf(handle.instance().await.unwrap().key));
        gates[1].open();
        slow.holds_one().await;
        gates[0].open();
        world.until(&engine.get(&InstanceId::new("c").unwrap()), Status::Completed).await;
        slow.release(Hold::CommitOf(handle.instance().await.unwrap().key));
        faults.crashed().await;
        engine.kill();
        let engine = build(Arc::clone(&world.store)).await.unwrap();
        let parent = engine.get(handle.id());
        let ended = eventually(async || parent.status().await.unwrap().is_terminal()).await;
        assert!(ended, "{}", told(&parent).await);
        assert_eq!(parent.result::<(u64, u64)>().await.unwrap(), (4, 7));
    }

    async fn a_dropped_child_future_stops_the_waiting_not_the_child(world: World) {
        let engine = world
            .engine()
            .workflow("nap", nap)
            .workflow("parent", async |cx: Cx, (): ()| -> Result<&'static str> {
                tokio::select! {
                    _ = cx.child::<u64>("nap", 1).id("c") => Ok("child"),
                    slept = cx.sleep("patience", "1 minute") => slept.map(|()| "patience"),
                }
            })
            .start()
            .await
            .unwrap();
        let parent = engine.start("parent", Start::new(&())).await.unwrap();
        world.until(&parent, Status::Waiting).await;
        let child = world.until_there(&engine, "c", Status::Sleeping).await;
        world.settle().await;
        world.clock.advance(HOUR / 60);
        assert_eq!(parent.result::<String>().await.unwrap(), "patience");
        assert!(story(&parent).await.contains(&"step.cancelled nap".to_owned()));
        world.settle().await;
        world.clock.advance(HOUR);
        assert_eq!(child.result::<u64>().await.unwrap(), 1);
    }
}
