//! Watching: one instance and all of them.

use abide::history::{EntryKind, Recorded};
use abide::prelude::*;
use abide::{Cursor, Fed, Watch, WatchAll, Watched};
use futures_util::{FutureExt, poll};

use crate::slow::Hold;
use crate::world::{Gate, Ran, World, on_every_store, with};

async fn two_steps(cx: Cx, ran: Ran, (): ()) -> Result<()> {
    cx.step("a", || ran.ok("a", ())).await?;
    cx.wait_for_event::<()>("go").await?;
    cx.step("b", || ran.ok("b", ())).await
}

/// An engine with that workflow, and an instance of it.
async fn started(world: &World) -> (Engine, Handle) {
    let ran = Ran::default();
    let engine = world.engine().workflow("w", with(&ran, two_steps)).start().await.unwrap();
    let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
    (engine, handle)
}

fn told(recorded: &Recorded) -> String {
    let name = recorded.entry.name.as_deref().map_or_else(String::new, |name| format!(" {name}"));
    format!("{} {}{name}", recorded.seq, recorded.entry.entry)
}

async fn next(watch: &mut Watch) -> String {
    match watch.next().await {
        None => "the end".to_owned(),
        Some(Ok(Watched::Recorded(recorded))) => told(&recorded),
        Some(Ok(Watched::Broadcast { name, data })) => format!("{name}: {}", data.as_str()),
        Some(Err(error)) => format!("error {}", error.code()),
    }
}

async fn rest(watch: &mut Watch) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        match next(watch).await {
            end if end == "the end" => return all,
            told => all.push(told),
        }
    }
}

/// The next entry of all instances, with its place.
async fn fed(watch: &mut WatchAll) -> (Cursor, String) {
    match watch.next().await.unwrap().unwrap() {
        Fed::Entry { cursor, id, workflow, recorded, .. } => {
            assert_eq!(&*workflow, "w");
            (cursor, format!("{id} {}", told(&recorded)))
        }
        Fed::Gap { from, to } => (to, format!("gap from {from}")),
    }
}

on_every_store! {
    async fn a_watch_gives_the_past_then_the_present_and_ends_with_the_instance(world: World) {
        let (_engine, handle) = started(&world).await;
        world.until(&handle, Status::Waiting).await;
        let mut watch = handle.watch(0);
        for expected in ["1 workflow.started", "2 step.started a", "3 step.completed a", "4 wait.started go"] {
            assert_eq!(next(&mut watch).await, expected);
        }
        handle.send_event("go", &()).await.unwrap();
        let live = [
            "5 event.received go",
            "6 wait.fulfilled go",
            "7 step.started b",
            "8 step.completed b",
            "9 workflow.completed",
        ];
        assert_eq!(rest(&mut watch).await, live);
        assert_eq!(rest(&mut handle.watch(0)).await.len(), 9, "late, and all of it");
    }

    async fn whoever_comes_back_with_a_number_sees_exactly_the_rest(world: World) {
        let (_engine, handle) = started(&world).await;
        world.until(&handle, Status::Waiting).await;
        let mut watch = handle.watch(3);
        assert_eq!(next(&mut watch).await, "4 wait.started go");
        handle.send_event("go", &()).await.unwrap();
        assert_eq!(rest(&mut watch).await.first().unwrap(), "5 event.received go");
        for after in 0..=9 {
            let again = rest(&mut handle.watch(after)).await;
            assert_eq!(again.len(), 9 - usize::try_from(after).unwrap(), "{again:?}");
        }
    }

    async fn five_hundred_updates_of_one_moment_arrive_once_and_in_order(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<()> {
                cx.step("gate", || gate.clone().ok(())).await?;
                for n in 0..500 {
                    cx.emit("tick", n)?;
                }
                Ok(())
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        let mut watches = [handle.watch(0), handle.watch(0), handle.watch(2)];
        gate.open();
        for watch in &mut watches {
            let mut numbers = Vec::new();
            while let Some(watched) = watch.next().await {
                let Watched::Recorded(Recorded { entry, .. }) = watched.unwrap() else { continue };
                if entry.entry == EntryKind::Update {
                    numbers.push(entry.payload.unwrap().decode::<u32>().unwrap());
                }
            }
            assert_eq!(numbers, (0..500).collect::<Vec<_>>());
        }
    }

    async fn a_watch_of_nobody_is_refused_and_one_that_was_dropped_costs_nothing(world: World) {
        let (engine, handle) = started(&world).await;
        let mut nobody = engine.get(&InstanceId::new("nobody").unwrap()).watch(0);
        assert_eq!(next(&mut nobody).await, "error WORKFLOW_NOT_FOUND");
        assert_eq!(next(&mut nobody).await, "the end");
        let mut watch = handle.watch(0);
        next(&mut watch).await;
        drop(watch);
        handle.send_event("go", &()).await.unwrap();
        handle.result::<()>().await.unwrap();
    }

    async fn those_who_watch_are_told_when_the_engine_stops(world: World) {
        let (engine, handle) = started(&world).await;
        world.until(&handle, Status::Waiting).await;
        let (mut watch, mut all) = (handle.watch(4), engine.watch_all(None));
        let wait = async { (next(&mut watch).await, all.next().await.unwrap().unwrap_err()) };
        let kill = async {
            world.settle().await;
            engine.kill();
        };
        let ((one, all), ()) = tokio::join!(wait, kill);
        assert_eq!((one.as_str(), all.code()), ("error STORE_UNAVAILABLE", "STORE_UNAVAILABLE"));
        assert_eq!(next(&mut handle.watch(0)).await, "error STORE_UNAVAILABLE");
    }

    async fn a_watch_goes_on_through_a_restart(world: World) {
        let (_engine, handle) = started(&world).await;
        world.until(&handle, Status::Waiting).await;
        let mut watch = handle.watch(4);
        handle.restart().await.unwrap();
        world.until(&handle, Status::Waiting).await;
        handle.send_event("go", &()).await.unwrap();
        let all = rest(&mut watch).await;
        assert_eq!((all[0].as_str(), all.len()), ("5 workflow.restarted", 10), "{all:?}");
    }

    async fn a_watch_ends_however_the_instance_does(world: World) {
        let engine = world
            .engine()
            .workflow("w", async |cx: Cx, fails: bool| -> Result<()> {
                cx.wait_for_event::<()>("go").await?;
                if fails { Err(Error::failed("BROKEN", "broken")) } else { Ok(()) }
            })
            .start()
            .await
            .unwrap();
        for (fails, end) in [(true, "workflow.failed"), (false, "workflow.completed"), (false, "workflow.terminated")] {
            let handle = engine.start("w", Start::new(&fails)).await.unwrap();
            world.until(&handle, Status::Waiting).await;
            let mut watch = handle.watch(0);
            next(&mut watch).await;
            match end {
                "workflow.terminated" => drop(handle.terminate(Terminate::default()).await.unwrap()),
                _ => drop(handle.send_event("go", &()).await.unwrap()),
            }
            let last = rest(&mut watch).await.pop().unwrap();
            assert!(last.ends_with(end), "{last}");
        }
    }

    async fn an_update_can_be_waited_for(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<()> {
                cx.step("gate", || gate.clone().ok(())).await?;
                cx.emit("progress", 50)?;
                cx.emit("progress", 100)?;
                cx.step("last", async || Ok::<_, Error>(())).await
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let (early, ()) = tokio::join!(handle.wait_for_update::<u32>("progress"), async {
            gate.reached(1).await;
            gate.open();
        });
        assert_eq!(early.unwrap(), 50);
        assert_eq!(handle.wait_for_update::<u32>("progress").await.unwrap(), 50, "a late one");
        let refused = handle.wait_for_update::<u32>("none").await.unwrap_err();
        assert!(matches!(refused, Error::NotRunning { status: Status::Completed, .. }), "{refused}");
    }

    async fn a_replay_broadcasts_nothing(world: World) {
        let gate = Gate::default();
        let ran = Ran::default();
        let state = (gate.clone(), ran.clone());
        let flow = async |cx: Cx, (gate, ran): (Gate, Ran), (): ()| -> Result<()> {
            cx.step("gate", || gate.clone().ok(())).await?;
            cx.broadcast("typing", "now")?;
            cx.step("a", || ran.ok("a", ())).await?;
            cx.wait_for_event::<()>("go").await.map(drop)
        };
        let engine = world.engine().workflow("w", with(&state, flow)).start().await.unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        gate.open();
        world.until(&handle, Status::Waiting).await;
        engine.kill();
        let engine = world.engine().workflow("w", with(&state, flow)).start().await.unwrap();
        let handle = engine.get(handle.id());
        let mut later = handle.watch(0);
        handle.send_event("go", &()).await.unwrap();
        handle.result::<()>().await.unwrap();
        assert!(rest(&mut later).await.iter().all(|told| !told.starts_with("typing")), "replay is silent");
    }

    async fn a_broadcast_is_heard_by_those_who_are_there_and_recorded_nowhere(world: World) {
        let gate = Gate::default();
        let engine = world
            .engine()
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<()> {
                cx.step("gate", || gate.clone().ok(())).await?;
                cx.broadcast("typing", "now")?;
                cx.wait_for_event::<()>("go").await.map(drop)
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        let mut watch = handle.watch(2);
        gate.open();
        let mut heard = vec![next(&mut watch).await, next(&mut watch).await, next(&mut watch).await];
        heard.sort();
        assert_eq!(heard, ["3 step.completed gate", "4 wait.started go", "typing: \"now\""]);
        assert!(handle.history().await.unwrap().iter().all(|r| r.entry.entry != EntryKind::Update));
    }

    async fn last_words_are_heard_also_by_who_sees_the_end_before_them(world: World) {
        let (slow, gate) = (world.slow(), Gate::default());
        let engine = world
            .engine_on(&slow.shared())
            .workflow("w", with(&gate, async |cx: Cx, gate: Gate, (): ()| -> Result<()> {
                cx.step("gate", || gate.clone().ok(())).await?;
                cx.broadcast("goodbye", "now")
            }))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        gate.reached(1).await;
        let mut watch = handle.watch(2);
        slow.hold(Hold::CommitAnswer);
        gate.open();
        assert_eq!(next(&mut watch).await, "3 step.completed gate");
        assert_eq!(next(&mut watch).await, "4 workflow.completed");
        let rest = rest(&mut watch);
        tokio::pin!(rest);
        for _ in 0..100 {
            assert!(poll!(&mut rest).is_pending(), "it has not spoken");
            world.settle().await;
        }
        slow.release(Hold::CommitAnswer);
        assert_eq!(rest.await, ["goodbye: \"now\""]);
    }

    async fn all_instances_are_fed_in_the_order_of_commits_each_entry_once(world: World) {
        let (engine, first) = started(&world).await;
        world.until(&first, Status::Waiting).await;
        let mut all = engine.watch_all(None);
        let (poll, second) = tokio::join!(fed(&mut all), async {
            world.settle().await;
            engine.start("w", Start::new(&()).id("j")).await.unwrap()
        });
        assert_eq!(poll.1, "j 1 workflow.started", "from now on");
        first.send_event("go", &()).await.unwrap();
        first.result::<()>().await.unwrap();
        second.send_event("go", &()).await.unwrap();
        second.result::<()>().await.unwrap();
        let (mut cursors, mut heard) = (vec![poll.0], vec![poll.1]);
        for _ in 0..13 {
            let (cursor, told) = fed(&mut all).await;
            cursors.push(cursor);
            heard.push(told);
        }
        assert!(cursors.is_sorted());
        let of = |id: &str| heard.iter().filter(|told| told.starts_with(id)).count();
        assert_eq!((of("i"), of("j")), (5, 9), "{heard:#?}");
        for (at, cursor) in cursors.iter().enumerate() {
            let cursor: Cursor = cursor.to_string().parse().unwrap();
            let mut back = engine.watch_all(Some(cursor));
            for expected in &heard[at + 1..] {
                assert_eq!(&fed(&mut back).await.1, expected);
            }
        }
    }

    async fn whoever_comes_back_in_the_middle_of_the_last_row_gets_the_rest_of_it(world: World) {
        let (engine, handle) = started(&world).await;
        world.until(&handle, Status::Waiting).await;
        // Nobody watched: the feed begins behind the row that the reader has a part of.
        let last = world.store.tail(0, 9).await.unwrap().rows.pop().unwrap();
        assert_eq!(last.recorded.len(), 2);
        let mut back = engine.watch_all(Some(Cursor { row: last.row, index: 0 }));
        assert_eq!(fed(&mut back).await.1, "i 4 wait.started go");
        handle.send_event("go", &()).await.unwrap();
        assert_eq!(fed(&mut back).await.1, "i 5 event.received go");
        let whole = Cursor { row: last.row, index: 1 };
        assert_eq!(fed(&mut engine.watch_all(Some(whole))).await.1, "i 5 event.received go");
    }

    async fn what_happens_after_the_head_is_given_however_late_it_is_read(world: World) {
        let (engine, first) = started(&world).await;
        world.until(&first, Status::Waiting).await;
        let mut all = engine.watch_all(Some(engine.feed_head().await.unwrap()));
        let second = engine.start("w", Start::new(&()).id("j")).await.unwrap();
        world.until(&second, Status::Waiting).await;
        assert_eq!(fed(&mut all).await.1, "j 1 workflow.started");
    }

    async fn who_is_too_slow_to_watch_all_gets_a_gap_and_goes_on(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .configure(|c| c.feed_keep = 4)
            .workflow("w", with(&ran, two_steps))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        let mut slow = engine.watch_all(None);
        let mut watch = handle.watch(4);
        let begun = tokio::join!(fed(&mut slow), async {
            world.settle().await;
            handle.send_event("go", &()).await.unwrap();
        });
        assert_eq!(begun.0.1, "i 5 event.received go");
        rest(&mut watch).await;
        for id in ["j", "k", "l"] {
            let other = engine.start("w", Start::new(&()).id(id)).await.unwrap();
            world.until(&other, Status::Waiting).await;
        }
        world.settle().await;
        let mut heard = Vec::new();
        loop {
            let (_, told) = fed(&mut slow).await;
            let is_last = told.starts_with("l 4");
            heard.push(told);
            if is_last {
                break;
            }
        }
        let gaps = heard.iter().filter(|told| told.starts_with("gap")).count();
        assert_eq!(gaps, 1, "{heard:?}");
        assert!(heard.last().unwrap().contains("wait.started go"), "{heard:?}");
    }

    async fn who_comes_back_too_late_or_from_elsewhere_gets_a_gap(world: World) {
        let ran = Ran::default();
        let engine = world
            .engine()
            .configure(|c| c.feed_look_back = 0)
            .workflow("w", with(&ran, two_steps))
            .start()
            .await
            .unwrap();
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        for (cursor, gap) in [("1.0", "gap from 1.0"), ("99.4", "gap from 99.4")] {
            let mut back = engine.watch_all(Some(cursor.parse().unwrap()));
            assert_eq!(fed(&mut back).await.1, gap);
            let id = format!("after-{}", &cursor[..1]);
            let start = engine.start("w", Start::new(&()).id(&id));
            let (next, other) = tokio::join!(fed(&mut back), start);
            world.until(&other.unwrap(), Status::Waiting).await;
            assert_eq!(next.1, format!("{id} 1 workflow.started"));
        }
    }
}

#[tokio::test]
async fn who_watches_all_is_given_what_happens_after_the_first_look() {
    let world = World::memory();
    let (engine, first) = started(&world).await;
    world.until(&first, Status::Waiting).await;
    let mut all = engine.watch_all(None);
    assert!(all.next().now_or_never().is_none());
    engine.start("w", Start::new(&()).id("j")).await.unwrap();
    assert_eq!(fed(&mut all).await.1, "j 1 workflow.started");
}

#[tokio::test]
async fn values_of_broadcasts_are_checked_like_others() {
    let world = World::memory();
    let engine = world
        .engine()
        .configure(|c| c.payload_max = 8)
        .workflow("w", async |cx: Cx, (): ()| -> Result<bool> {
            Ok(cx.broadcast("x", f64::NAN).is_err()
                && cx.broadcast("x", "too long a text").is_err())
        })
        .start()
        .await
        .unwrap();
    let handle = engine.start("w", Start::new(&())).await.unwrap();
    assert!(handle.result::<bool>().await.unwrap());
}
