//! When batches go out, and in what form.

use std::collections::BTreeSet;
use std::time::Duration;

use abide::Clock;
use abide::prelude::*;
use abide_tracker::{BuilderExt, Tracker, TrackerConfig};
use serde_json::Value;

use crate::world::{Gate, World, eventually, in_time, run_steps, short, steps, text};

const SECOND: Duration = Duration::from_secs(1);

/// A workflow that says nothing after its start, until the gate opens.
fn silent(gate: &Gate) -> Workflow {
    let gate = gate.clone();
    Workflow::new("silent", move |_: Cx, (): ()| {
        let gate = gate.clone();
        async move { gate.pass().await }
    })
}

#[tokio::test]
async fn a_request_has_the_token_and_events_with_what_every_event_has() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 1).await;
        let requests = world.server.came(1).await;
        assert_eq!(requests[0].line, "POST /events HTTP/1.1");
        assert_eq!(requests[0].header("content-type"), Some("application/json"));
        assert_eq!(requests[0].header("authorization"), Some("Bearer secret-token"));
        assert_eq!(requests[0].header("webhook-signature"), None);
        let body: Value = serde_json::from_str(&requests[0].body).unwrap();
        assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["events"]);
        let mut ids = BTreeSet::new();
        for event in &requests[0].events {
            assert!(ids.insert(text(event, "eventId").to_owned()), "{event}");
            assert_eq!(text(event, "timestamp"), "2023-11-14T22:13:20.000Z");
            assert!(text(event, "workflowId").starts_with("wf_"));
            assert_eq!(text(event, "workflowName"), "steps");
        }
    })
    .await;
}

#[tokio::test]
async fn a_hundred_and_twenty_events_are_batches_of_fifty_fifty_and_twenty() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        run_steps(&engine, 59).await;
        world.server.came(3).await;
        assert!(eventually(async || tracker.sent() == 120).await);
        assert_eq!(world.server.sizes(), [50, 50, 20]);
        let events = world.server.events();
        assert_eq!(text(&events[0], "type"), "workflow.started");
        assert_eq!(text(&events[119], "type"), "workflow.completed");
        for (nth, pair) in events[1..119].chunks(2).enumerate() {
            let name = if nth == 0 { "step".to_owned() } else { format!("step#{}", nth + 1) };
            assert_eq!(
                short(pair),
                [format!("step.started {name}"), format!("step.completed {name}")]
            );
        }
        assert_eq!((tracker.pending_count().await, tracker.dropped()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn a_single_event_goes_out_a_second_after_it_came() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let engine = world.engine(silent(&Gate::closed()), &tracker).await;
        let began = world.clock.now();
        engine.start("silent", Start::new(&())).await.unwrap();
        world.pass(SECOND).await;
        let requests = world.server.came(1).await;
        assert_eq!(requests[0].at, began.after(SECOND));
        assert_eq!(short(&requests[0].events), ["workflow.started"]);
    })
    .await;
}

#[tokio::test]
async fn time_counts_from_the_first_event_of_a_batch() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let engine = world.engine(silent(&Gate::closed()), &tracker).await;
        let began = world.clock.now();
        engine.start("silent", Start::new(&())).await.unwrap();
        let waits = async || world.clock.next_wakeup() == Some(began.after(SECOND));
        assert!(eventually(waits).await);
        world.clock.advance(Duration::from_millis(600));
        engine.start("silent", Start::new(&())).await.unwrap();
        assert_eq!(tracker.pending_count().await, 2);
        world.clock.advance(Duration::from_millis(400));
        let requests = world.server.came(1).await;
        assert_eq!((requests[0].at, requests[0].events.len()), (began.after(SECOND), 2));
    })
    .await;
}

#[tokio::test]
async fn a_flush_sends_the_open_batch_and_an_empty_one_is_never_sent() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let engine = world.engine(silent(&Gate::closed()), &tracker).await;
        tracker.flush().await;
        assert_eq!(world.server.sizes(), [0; 0]);
        engine.start("silent", Start::new(&())).await.unwrap();
        tracker.flush().await;
        assert_eq!((world.server.sizes(), tracker.sent()), (vec![1], 1));
        tracker.flush().await;
        engine.start("silent", Start::new(&())).await.unwrap();
        assert_eq!(tracker.pending_count().await, 1, "the flush before does not count for it");
        assert_eq!(world.server.sizes(), [1]);
    })
    .await;
}

#[tokio::test]
async fn every_end_of_a_slice_is_a_flush() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let workflow = Workflow::new("w", async |cx: Cx, (): ()| -> Result<()> {
            cx.sleep("nap", "1 minute").await?;
            Err(Error::failed("BROKEN", "it broke"))
        });
        let engine = world.engine(workflow, &tracker).await;
        let handle = engine.start("w", Start::new(&())).await.unwrap();
        world.server.came(1).await;
        world.until(&handle, Status::Sleeping).await;
        world.later(&tracker, Duration::from_secs(60)).await;
        let requests = world.server.came(2).await;
        let told = ["workflow.started", "sleep.started", "workflow.paused nap sleep"];
        assert_eq!(short(&requests[0].events), told);
        let told = ["workflow.resumed", "sleep.completed", "workflow.failed"];
        assert_eq!(short(&requests[1].events), told);
        let second = engine.start("w", Start::new(&())).await.unwrap();
        world.server.came(3).await;
        second.terminate(Terminate::because("enough")).await.unwrap();
        let requests = world.server.came(4).await;
        assert_eq!(short(&requests[3].events), ["workflow.terminated enough"]);
    })
    .await;
}

#[tokio::test]
async fn several_sinks_are_each_told_everything() {
    in_time(async {
        let world = World::memory().await;
        let other = crate::sink::HttpServer::start(&world.clock).await;
        let small = TrackerConfig { max_size: 2, ..TrackerConfig::new(other.url(), "t") };
        let engine = world
            .builder()
            .register(steps())
            .tracker(world.config())
            .unwrap()
            .tracker(small)
            .unwrap()
            .start()
            .await
            .unwrap();
        run_steps(&engine, 3).await;
        engine.shutdown().await;
        assert_eq!((world.server.sizes(), other.sizes()), (vec![8], vec![2, 2, 2, 2]));
        assert_eq!(world.server.events(), other.events());
    })
    .await;
}

#[tokio::test]
async fn a_tracker_follows_one_engine() {
    in_time(async {
        let world = World::memory().await;
        let tracker = world.tracker();
        let engine = world.engine(steps(), &tracker).await;
        engine.shutdown().await;
        let again = world.builder().observe(tracker.clone()).start().await;
        assert!(again.err().unwrap().to_string().contains("one engine"));
        assert!(Tracker::new(TrackerConfig::new("nowhere", "t")).is_err());
    })
    .await;
}
