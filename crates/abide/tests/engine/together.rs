//! Several waits as one: any, all, so many of them, one after the other.

use abide::WaitStatus;
use abide::prelude::*;
use abide_testkit::Fault;

use crate::world::{HOUR, eventually, failure, on_every_store, story, told};

async fn review(cx: Cx, (): ()) -> Result<String> {
    let approved = cx.wait_for_event::<String>("approved").timeout("1 hour");
    let rejected = cx.wait_for_event::<String>("rejected").timeout("2 hours");
    Ok(match cx.any((approved, rejected)).await? {
        OneOf2::First(event) => format!("approved by {}", event.payload),
        OneOf2::Second(event) => format!("rejected by {}", event.payload),
    })
}

/// After a race somebody waits for what its loser waited for.
async fn review_twice(cx: Cx, (): ()) -> Result<Vec<String>> {
    let mut seen = Vec::new();
    for round in 0..2 {
        let cx = cx.scope("round", round);
        let yes = cx.wait_for_event::<String>("yes").on("yes");
        let no = cx.wait_for_event::<String>("no").on("no");
        match cx.any((yes, no)).await? {
            OneOf2::First(event) => seen.push(format!("yes {}", event.payload)),
            OneOf2::Second(event) => seen.push(format!("no {}", event.payload)),
        }
    }
    Ok(seen)
}

async fn three(cx: Cx, (): ()) -> Result<(usize, String)> {
    let waits = ["a", "b", "c"].map(|name| cx.wait_for_event::<String>(name)).into();
    let waits: Vec<_> = waits;
    let (place, event) = cx.any(waits).await?;
    Ok((place, event.payload))
}

async fn both(cx: Cx, (): ()) -> Result<(String, u32)> {
    let name = cx.wait_for_event::<String>("name").timeout("1 hour");
    let age = cx.wait_for_event::<u32>("age").timeout("1 hour");
    let (name, age) = cx.all((name, age)).await?;
    Ok((name.payload, age.payload))
}

async fn quorum(cx: Cx, (): ()) -> Result<Vec<String>> {
    let votes = cx
        .wait_for_event::<serde_json::Value>("votes")
        .on("vote")
        .timeout("1 hour")
        .count(3)
        .distinct_by("event.payload.user")
        .await;
    match votes {
        Ok(votes) => {
            Ok(votes.iter().map(|vote| vote.payload["user"].as_str().unwrap().to_owned()).collect())
        }
        Err(Error::EventTimeout { .. }) => {
            let late: Event<serde_json::Value> = cx.wait_for_event("late").on("vote").await?;
            Ok(vec![format!("late {}", late.payload["user"])])
        }
        Err(other) => Err(other),
    }
}

async fn stream(cx: Cx, wanted: usize) -> Result<Vec<u32>> {
    let mut readings = cx.subscribe::<u32>("reading").filter("event.payload % 2 === 0");
    let mut seen = Vec::new();
    while seen.len() < wanted {
        seen.push(readings.next().await?.payload);
    }
    Ok(seen)
}

fn vote(user: &str) -> serde_json::Value {
    serde_json::json!({ "user": user })
}

on_every_store! {
    async fn the_first_event_decides_and_the_others_are_cancelled_with_it(world: World) {
        let engine = world.engine().workflow("review", review).start().await.unwrap();
        let handle = engine.start("review", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        handle.send_event("rejected", "ann").await.unwrap();
        assert_eq!(handle.result::<String>().await.unwrap(), "rejected by ann");
        let told = story(&handle).await;
        let cancelled = told.iter().filter(|line| *line == "wait.cancelled approved").count();
        assert_eq!(cancelled, 1, "{told:?}");
        let waits = handle.waits().await.unwrap();
        let standing: Vec<_> = waits.iter().map(|wait| wait.status).collect();
        assert_eq!(standing, [WaitStatus::Cancelled, WaitStatus::Fulfilled]);
    }

    async fn a_loser_leaves_the_next_event_to_whoever_waits_next(world: World) {
        let engine = world.engine().workflow("twice", review_twice).start().await.unwrap();
        let handle = engine.start("twice", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        handle.send_event("yes", "1").await.unwrap();
        handle.send_event("no", "2").await.unwrap();
        assert_eq!(handle.result::<Vec<String>>().await.unwrap(), ["yes 1", "no 2"]);
    }

    async fn a_race_is_decided_across_eviction(world: World) {
        let engine = world.engine().workflow("twice", review_twice).start().await.unwrap();
        let handle = engine.start("twice", Start::new(&())).await.unwrap();
        for (event, payload) in [("no", "1"), ("yes", "2")] {
            world.until(&handle, Status::Waiting).await;
            world.evict(&engine).await;
            handle.send_event(event, payload).await.unwrap();
        }
        assert_eq!(handle.result::<Vec<String>>().await.unwrap(), ["no 1", "yes 2"]);
    }

    async fn any_of_a_list_says_which(world: World) {
        let engine = world.engine().workflow("three", three).start().await.unwrap();
        let handle = engine.start("three", Start::new(&())).await.unwrap();
        handle.send_event("b", "x").await.unwrap();
        assert_eq!(handle.result::<(usize, String)>().await.unwrap(), (1, "x".to_owned()));
    }

    async fn one_that_gives_up_leaves_the_others_and_the_last_ends_it(world: World) {
        let engine = world.engine().workflow("review", review).start().await.unwrap();
        let met = engine.start("review", Start::new(&())).await.unwrap();
        let never = engine.start("review", Start::new(&())).await.unwrap();
        world.until(&met, Status::Waiting).await;
        world.until(&never, Status::Waiting).await;
        world.clock.advance(HOUR);
        let expired = eventually(async || {
            story(&met).await.contains(&"wait.expired approved".to_owned())
        });
        assert!(expired.await, "{}", told(&met).await);
        met.send_event("rejected", "bob").await.unwrap();
        assert_eq!(met.result::<String>().await.unwrap(), "rejected by bob");
        world.until(&never, Status::Waiting).await;
        world.clock.advance(HOUR);
        assert_eq!(failure(&never).await.code, "EVENT_TIMEOUT");
    }

    async fn all_of_them_in_any_order(world: World) {
        let engine = world.engine().workflow("both", both).start().await.unwrap();
        let handle = engine.start("both", Start::new(&())).await.unwrap();
        handle.send_event("age", &7).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        world.evict(&engine).await;
        handle.send_event("name", "ann").await.unwrap();
        assert_eq!(handle.result::<(String, u32)>().await.unwrap(), ("ann".to_owned(), 7));
    }

    async fn so_many_with_a_distinct_key(world: World) {
        let engine = world.engine().workflow("quorum", quorum).start().await.unwrap();
        let handle = engine.start("quorum", Start::new(&())).await.unwrap();
        for user in ["ann", "ann", "bob"] {
            let answer = handle.send_event("vote", &vote(user)).await.unwrap();
            assert_eq!((answer.delivered, answer.buffered), (0, true), "{user}");
        }
        world.until(&handle, Status::Waiting).await;
        world.evict(&engine).await;
        assert_eq!(handle.send_event("vote", &vote("cid")).await.unwrap().delivered, 1);
        assert_eq!(handle.result::<Vec<String>>().await.unwrap(), ["ann", "bob", "cid"]);
    }

    async fn too_few_go_back_and_the_timeout_says_how_many(world: World) {
        let engine = world.engine().workflow("quorum", quorum).start().await.unwrap();
        let handle = engine.start("quorum", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Waiting).await;
        for user in ["ann", "bob"] {
            handle.send_event("vote", &vote(user)).await.unwrap();
        }
        world.clock.advance(HOUR);
        assert_eq!(handle.result::<Vec<String>>().await.unwrap(), ["late \"bob\""]);
        let history = handle.history().await.unwrap();
        let expired = history.iter().find(|r| r.entry.error.is_some()).unwrap();
        let details = expired.entry.error.as_ref().unwrap().details.as_ref().unwrap();
        assert_eq!(details.decode::<serde_json::Value>().unwrap()["received"], 2);
    }

    async fn a_subscription_gives_one_after_the_other_each_once(world: World) {
        let workflow =
            Workflow::new("stream", stream).event::<u32>("reading", Buffer::Queue);
        let engine = world.engine().register(workflow).start().await.unwrap();
        let handle = engine.start("stream", Start::new(&5)).await.unwrap();
        for reading in 0_u32..12 {
            let sent = Outgoing::event("reading").payload(&reading).ignore_terminal();
            handle.send(sent).await.unwrap();
        }
        assert_eq!(handle.result::<Vec<u32>>().await.unwrap(), [0, 2, 4, 6, 8]);
        let steps = handle.steps().await.unwrap();
        let names: Vec<_> = steps.iter().map(|step| &*step.name).collect();
        assert_eq!(names[..3], ["reading", "reading#2", "reading#3"]);
    }

    async fn a_count_that_is_none_fails_the_wait(world: World) {
        async fn none(cx: Cx, count: u32) -> Result<()> {
            cx.wait_for_event::<()>("e").count(count).await?;
            Ok(())
        }
        let engine = world.engine().workflow("none", none).start().await.unwrap();
        for count in [0, 100_000] {
            let handle = engine.start("none", Start::new(&count)).await.unwrap();
            assert_eq!(failure(&handle).await.code, "VALIDATION_ERROR");
        }
    }

    async fn a_race_a_count_and_a_stream_survive_a_crash_after_every_write(world: World) {
        for after in 1..60 {
            let faults = world.faults().at(after, Fault::CrashAfter);
            let id = |name: &str| InstanceId::new(format!("{name}-{after}")).unwrap();
            let build = |faults: &abide_testkit::FaultStore| {
                world
                    .engine_with(faults)
                    .workflow("twice", review_twice)
                    .workflow("quorum", quorum)
                    .register(Workflow::new("stream", stream).event::<u32>("reading", Buffer::Queue))
            };
            let drive = async |engine: &Engine| -> Result<()> {
                let start = |name: &str| Start::new(&()).id(id(name).as_str()).if_exists(IfExists::Return);
                let twice = engine.start("twice", start("twice")).await?;
                let quorum = engine.start("quorum", start("quorum")).await?;
                let stream = Start::new(&3).id(id("stream").as_str()).if_exists(IfExists::Return);
                let stream = engine.start("stream", stream).await?;
                for (n, event) in ["no", "yes"].into_iter().enumerate() {
                    let sent = Outgoing::event(event).payload(event).id(&format!("r{n}"));
                    twice.send(sent.ignore_terminal()).await?;
                }
                for user in ["ann", "bob", "bob", "cid"] {
                    let sent = Outgoing::event("vote").payload(&vote(user)).id(user);
                    quorum.send(sent.ignore_terminal()).await?;
                }
                for n in 0_u32..6 {
                    let sent = Outgoing::event("reading").payload(&n).id(&n.to_string());
                    stream.send(sent.ignore_terminal()).await?;
                }
                assert_eq!(twice.result::<Vec<String>>().await?.len(), 2);
                assert_eq!(quorum.result::<Vec<String>>().await?, ["ann", "bob", "cid"]);
                assert_eq!(stream.result::<Vec<u32>>().await?, [0, 2, 4]);
                Ok(())
            };
            let engine = build(&faults).start().await.unwrap();
            let is_done = tokio::select! {
                biased;
                () = faults.crashed() => false,
                done = Box::pin(drive(&engine)) => done.is_ok(),
            };
            if is_done {
                assert!(after > 10, "it took only {after} writes");
                return;
            }
            engine.kill();
            let engine = build(&world.faults()).start().await.unwrap();
            drive(&engine).await.unwrap();
        }
        panic!("it has no end");
    }
}
