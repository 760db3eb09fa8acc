//! What is told of workflows: types, fields, order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::Clock;
use abide::prelude::*;
use abide_tracker::{Tracker, TrackerConfig, Types};
use serde_json::{Value, json};

use crate::world::{Gate, World, eventually, in_time, short};

/// Two worlds, one on each store.
async fn worlds() -> [World; 2] {
    [World::memory().await, World::sqlite().await]
}

/// Every event so far, without what differs from run to run.
async fn told(world: &World, tracker: &Tracker) -> Vec<Value> {
    tracker.flush().await;
    let mut events = world.server.events();
    for event in &mut events {
        let event = event.as_object_mut().unwrap();
        for field in ["eventId", "workflowId", "workflowName", "timestamp"] {
            assert!(event.remove(field).is_some_and(|value| value.is_string()), "{field}");
        }
    }
    events
}

async fn told_shortly(world: &World, tracker: &Tracker) -> Vec<String> {
    short(&told(world, tracker).await)
}

#[tokio::test]
async fn steps_retries_and_timeouts_are_told_with_their_fields() {
    in_time(async {
        for world in worlds().await {
            let tracker = world.tracker();
            let tries = Arc::new(AtomicU32::new(0));
            let workflow = Workflow::new("w", move |cx: Cx, _: Value| {
                let tries = Arc::clone(&tries);
                async move {
                    let retry = Retry::times(2).delay("2 seconds").no_jitter();
                    let charge = || async {
                        match tries.fetch_add(1, Ordering::SeqCst) {
                            0 => Err(Error::failed("DECLINED", "no money")),
                            _ => Ok(7),
                        }
                    };
                    let charged = cx.step("charge", charge).retry(retry).timeout("1 minute").await;
                    let _ = cx.now();
                    charged
                }
            });
            let engine = world.engine(workflow, &tracker).await;
            let handle = engine.start("w", Start::new(&json!({"a": [1, null]}))).await.unwrap();
            world.until(&handle, Status::Sleeping).await;
            world.later(&tracker, Duration::from_secs(2)).await;
            assert_eq!(handle.result::<u32>().await.unwrap(), 7);
            let at = "2023-11-14T22:13:22.000Z";
            let (first, second) = ("2023-11-14T22:14:20.000Z", "2023-11-14T22:14:22.000Z");
            let expected = json!([
                {"type": "workflow.started", "input": {"a": [1, null]}},
                {"type": "step.started", "stepName": "charge", "attempt": 1},
                {"type": "timeout.set", "stepName": "charge", "deadline": first, "timeoutMs": 60_000},
                {"type": "step.failed", "stepName": "charge", "attempt": 1, "willRetry": true,
                 "error": {"message": "no money"}},
                {"type": "retry.scheduled", "stepName": "charge", "attempt": 2,
                 "nextAttemptAt": at, "delayMs": 2000},
                {"type": "workflow.paused", "reason": "retry", "resumeAt": at, "stepName": "charge"},
                {"type": "workflow.resumed"},
                {"type": "step.started", "stepName": "charge", "attempt": 2},
                {"type": "timeout.set", "stepName": "charge", "deadline": second, "timeoutMs": 60_000},
                {"type": "step.completed", "stepName": "charge", "attempt": 2, "durationMs": 2000,
                 "cached": false},
                {"type": "workflow.completed", "completedSteps": ["charge"], "durationMs": 2000},
            ]);
            assert_eq!(Value::from(told(&world, &tracker).await), expected);
        }
    })
    .await;
}

#[tokio::test]
async fn a_failed_workflow_names_the_step_its_last_attempt_and_what_was_done() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let workflow = Workflow::new("w", async |cx: Cx, (): ()| -> Result<()> {
            cx.step("a", || async { Ok::<_, Error>(()) }).await?;
            let retry = Retry::times(2).delay("1 second").no_jitter();
            let hang = || std::future::pending::<Result<()>>();
            cx.step("b", hang).retry(retry).timeout("3 seconds").await
        });
        let engine = world.engine(workflow, &tracker).await;
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        // Each time somebody sleeps until something is due at this instance.
        for wait in [3, 1, 3] {
            let due = world.clock.now().after(Duration::from_secs(wait));
            let told = async || {
                let until = world.clock.next_wakeup() <= Some(due);
                until && told(&world, &tracker).await.len() >= 4
            };
            assert!(eventually(told).await);
            world.until(&handle, if wait == 1 { Status::Sleeping } else { Status::Running }).await;
            world.later(&tracker, Duration::from_secs(wait)).await;
        }
        world.until(&handle, Status::Errored).await;
        let events = told(&world, &tracker).await;
        let tail = &events[events.len() - 4..];
        let message = "the attempt took longer than 3s";
        assert_eq!(
            tail[0],
            json!({"type": "timeout.exceeded", "stepName": "b", "timeoutMs": 3000})
        );
        assert_eq!(tail[1]["willRetry"], false);
        assert_eq!(tail[2], json!({"type": "retry.exhausted", "stepName": "b", "attempts": 2}));
        assert_eq!(tail[3]["type"], "workflow.failed");
        assert_eq!(tail[3]["completedSteps"], json!(["a"]));
        let error = &tail[3]["error"];
        assert_eq!((&error["stepName"], &error["attempt"]), (&json!("b"), &json!(2)));
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
    })
    .await;
}

#[tokio::test]
async fn waits_pause_a_workflow_and_have_timeouts_too() {
    in_time(async {
        for world in worlds().await {
            let tracker = world.tracker();
            let workflow = Workflow::new("w", async |cx: Cx, (): ()| -> Result<()> {
                cx.wait_for_event::<()>("go").await?;
                let late = cx.wait_for_event::<()>("late").timeout("1 minute").await;
                assert!(matches!(late, Err(Error::EventTimeout { .. })));
                cx.wait_for_event::<()>("early").await.map(drop)
            });
            let engine = world.engine(workflow, &tracker).await;
            let handle = engine.start("w", Start::new(&())).await.unwrap();
            world.until(&handle, Status::Waiting).await;
            handle.send_event("early", &()).await.unwrap();
            handle.send_event("go", &()).await.unwrap();
            let waits = async || handle.waits().await.unwrap().len() == 2;
            assert!(eventually(waits).await);
            world.until(&handle, Status::Waiting).await;
            world.later(&tracker, Duration::from_secs(60)).await;
            handle.result::<()>().await.unwrap();
            let at = "2023-11-14T22:14:20.000Z";
            let expected = json!([
                {"type": "workflow.started", "input": null},
                {"type": "workflow.paused", "reason": "event", "stepName": "go"},
                {"type": "workflow.resumed"},
                {"type": "timeout.set", "stepName": "late", "deadline": at, "timeoutMs": 60_000},
                {"type": "workflow.paused", "reason": "event", "resumeAt": at, "stepName": "late"},
                {"type": "workflow.resumed"},
                {"type": "timeout.exceeded", "stepName": "late", "timeoutMs": 60_000},
                {"type": "workflow.completed", "completedSteps": [], "durationMs": 60_000},
            ]);
            assert_eq!(Value::from(told(&world, &tracker).await), expected);
        }
    })
    .await;
}

#[tokio::test]
async fn a_sleep_is_told_and_a_pause_by_hand_during_it() {
    in_time(async {
        let world = World::sqlite().await;
        let tracker = world.tracker();
        let workflow = Workflow::new("w", async |cx: Cx, (): ()| -> Result<()> {
            cx.sleep("nap", "1 minute").await
        });
        let engine = world.engine(workflow, &tracker).await;
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        handle.pause().await.unwrap();
        handle.resume().await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        world.later(&tracker, Duration::from_secs(60)).await;
        handle.result::<()>().await.unwrap();
        let at = "2023-11-14T22:14:20.000Z";
        let asleep =
            json!({"type": "workflow.paused", "reason": "sleep", "resumeAt": at, "stepName": "nap"});
        let expected = json!([
            {"type": "workflow.started", "input": null},
            {"type": "sleep.started", "durationMs": 60_000, "resumeAt": at},
            asleep,
            {"type": "workflow.paused", "reason": "manual"},
            {"type": "workflow.resumed"},
            asleep,
            {"type": "workflow.resumed"},
            {"type": "sleep.completed", "durationMs": 60_000},
            {"type": "workflow.completed", "completedSteps": [], "durationMs": 60_000},
        ]);
        assert_eq!(Value::from(told(&world, &tracker).await), expected);
    })
    .await;
}

#[tokio::test]
async fn a_workflow_does_not_rest_while_another_branch_runs() {
    in_time(async {
        let world = World::memory().await;
        let (tracker, gate) = (world.tracker(), Gate::closed());
        let open = gate.clone();
        let workflow = Workflow::new("w", move |cx: Cx, (): ()| {
            let gate = gate.clone();
            async move {
                let nap = cx.sleep("nap", "1 minute");
                let work = cx.step("work", || gate.clone().pass());
                let (slept, worked) = tokio::join!(nap, work);
                slept.and(worked)
            }
        });
        let engine = world.engine(workflow, &tracker).await;
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        let began = ["workflow.started", "sleep.started", "step.started work"];
        assert_eq!(told_shortly(&world, &tracker).await, began);
        open.open();
        world.until(&handle, Status::Sleeping).await;
        let rests = ["step.completed work", "workflow.paused nap sleep"];
        assert_eq!(told_shortly(&world, &tracker).await[3..], rests);
        world.later(&tracker, Duration::from_secs(60)).await;
        handle.result::<()>().await.unwrap();
        let ends = ["workflow.resumed", "sleep.completed", "workflow.completed"];
        assert_eq!(told_shortly(&world, &tracker).await[5..], ends);
    })
    .await;
}

#[tokio::test]
async fn what_a_restart_keeps_is_cached_and_replay_tells_nothing() {
    in_time(async {
        let world = World::sqlite().await;
        let tracker = world.tracker();
        let workflow = || {
            Workflow::new("w", async |cx: Cx, (): ()| -> Result<()> {
                cx.step("a", || async { Ok::<_, Error>(()) }).await?;
                cx.sleep("nap", "1 minute").await?;
                cx.step("b", || async { Ok::<_, Error>(()) }).await
            })
        };
        let engine = world.engine(workflow(), &tracker).await;
        let handle = engine.start("w", Start::new(&()).id("i")).await.unwrap();
        world.until(&handle, Status::Sleeping).await;
        let asleep = told_shortly(&world, &tracker).await;
        engine.shutdown().await;
        // Another process replays it.
        let tracker = world.tracker();
        let engine = world.engine(workflow(), &tracker).await;
        world.later(&tracker, Duration::from_secs(60)).await;
        let handle = engine.get(handle.id());
        handle.result::<()>().await.unwrap();
        let all = told(&world, &tracker).await;
        let ended = [
            "workflow.resumed",
            "sleep.completed",
            "step.started b",
            "step.completed b",
            "workflow.completed",
        ];
        assert_eq!(short(&all)[asleep.len()..], ended);
        let last = all.last().unwrap();
        assert_eq!(last["completedSteps"], json!(["a", "b"]), "also what another process did");

        handle.restart_from("b").await.unwrap();
        world.until(&handle, Status::Completed).await;
        let again = told(&world, &tracker).await.split_off(all.len());
        let told = [
            "workflow.started",
            "step.completed a",
            "step.started b",
            "step.completed b",
            "workflow.completed",
        ];
        assert_eq!(short(&again), told);
        assert_eq!((&again[1]["cached"], &again[3]["cached"]), (&json!(true), &json!(false)));
        assert_eq!(again[4]["completedSteps"], json!(["a", "b"]));
    })
    .await;
}

#[tokio::test]
async fn children_rest_their_parent_and_the_rest_is_told_on_request() {
    in_time(async {
        let world = World::memory().await;
        let config = TrackerConfig { types: Types::All, ..world.config() };
        let tracker = Tracker::new(config).unwrap();
        let parent = Workflow::new("parent", async |cx: Cx, (): ()| -> Result<()> {
            cx.emit("progress", 0.5)?;
            cx.child::<()>("child", ()).id("c").await
        });
        let child = Workflow::new("child", async |cx: Cx, (): ()| -> Result<()> {
            cx.wait_for_event::<()>("go").await.map(drop)
        });
        let engine = world.builder().register(parent).register(child).observe(tracker.clone());
        let engine = engine.start().await.unwrap();
        let handle = engine.start("parent", Start::new(&()).id("p")).await.unwrap();
        let child = engine.get(&InstanceId::new("c").unwrap());
        let waits = async || child.status().await.is_ok_and(|status| status == Status::Waiting);
        assert!(eventually(waits).await);
        world.later(&tracker, Duration::from_millis(30)).await;
        child.send_event("go", &()).await.unwrap();
        handle.result::<()>().await.unwrap();
        tracker.flush().await;
        let of = |id: &str| {
            let events = world.server.events().into_iter();
            let events: Vec<Value> = events.filter(|event| event["workflowId"] == id).collect();
            events
        };
        let told = [
            "workflow.started",
            "update",
            "step.started child",
            "workflow.paused child child",
            "workflow.resumed",
            "step.completed child",
            "workflow.completed",
        ];
        assert_eq!(short(&of("p")), told);
        assert_eq!(of("p")[5]["durationMs"], 30);
        let told = [
            "workflow.started",
            "wait.started",
            "workflow.paused go event",
            "event.received",
            "workflow.resumed",
            "wait.fulfilled",
            "workflow.completed",
        ];
        assert_eq!(short(&of("c")), told);
    })
    .await;
}
