//! Sinks: shown, paused, resumed, told again.

use std::sync::Arc;

use abide::{Cx, Result};
use abide_tracker::{Batch, Sink, SinkError, Tracker, TrackerConfig};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::world::World;

/// Counts what it is given.
#[derive(Clone)]
struct Counts(Arc<watch::Sender<usize>>);

impl Sink for Counts {
    fn send(&self, batch: Arc<Batch>) -> BoxFuture<'_, std::result::Result<(), SinkError>> {
        self.0.send_modify(|count| *count += batch.events.len());
        async { Ok(()) }.boxed()
    }

    fn address(&self) -> String {
        "https://example.com/".to_owned()
    }
}

impl Counts {
    async fn reaches(&self, count: usize) {
        drop(self.0.subscribe().wait_for(|counted| *counted >= count).await.unwrap());
    }
}

async fn nothing(_: Cx, (): ()) -> Result<()> {
    Ok(())
}

/// A server with a durable sink and one that is not.
async fn tracked() -> (World, Counts) {
    let counts = Counts(Arc::new(watch::Sender::new(0)));
    let durable =
        TrackerConfig { name: "kept".into(), durable: true, ..TrackerConfig::new("", "") };
    let kept = Tracker::with_sink(durable, counts.clone());
    let other = Tracker::with_sink(TrackerConfig::new("", ""), counts.clone());
    let observed = (kept.clone(), other.clone());
    let world = World::observed(
        move |builder| builder.workflow("w", nothing).observe(observed.0).observe(observed.1),
        move |settings| settings.sinks = vec![kept, other],
    )
    .await;
    (world, counts)
}

async fn kept(world: &World) -> Value {
    world.get("/sinks").await.with(200)["sinks"][0].clone()
}

#[tokio::test]
async fn sinks_are_listed_with_how_they_are_doing() {
    let (world, counts) = tracked().await;
    world.post("/workflows/w/instances?settle=30s", json!({})).await.with(201);
    counts.reaches(4).await;
    while kept(&world).await["lag"] != 0 {
        tokio::task::yield_now().await;
    }
    let listed = world.get("/sinks").await.with(200);
    let kept = json!({
        "name": "kept", "url": "https://example.com/", "status": "active", "durable": true,
        "sent": 2, "dropped": 0, "pending": 0, "lag": 0,
    });
    assert_eq!(listed["sinks"][0], kept);
    assert_eq!(listed["sinks"][1]["name"], "tracker");
    assert_eq!(listed["sinks"][1].get("lag"), None);
}

#[tokio::test]
async fn a_durable_sink_is_paused_resumed_and_told_again() {
    let (world, counts) = tracked().await;
    let paused = world.post("/sinks/kept/pause", json!({})).await.with(200);
    assert_eq!(paused["status"], "paused");
    world.post("/workflows/w/instances?settle=30s", json!({})).await.with(201);
    counts.reaches(2).await;
    assert!(kept(&world).await["lag"].as_i64().unwrap() > 0);
    assert_eq!(kept(&world).await["sent"], 0);
    let resumed = world.post("/sinks/kept/resume", json!({})).await.with(200);
    assert_eq!(resumed["status"], "active");
    counts.reaches(4).await;
    world.post("/sinks/kept/replay", json!({"fromSeq": 0})).await.with(200);
    counts.reaches(6).await;
}

#[tokio::test]
async fn what_can_not_be_done_to_a_sink_says_why() {
    let (world, _) = tracked().await;
    for action in ["pause", "resume", "replay"] {
        let body = json!({"fromSeq": 1});
        let body = if action == "replay" { body } else { json!({}) };
        let unknown = world.post(format!("/sinks/nobody/{action}"), body.clone()).await;
        assert!(unknown.refused(404, "DEFINITION_NOT_FOUND").contains("nobody"));
        let volatile = world.post(format!("/sinks/tracker/{action}"), body).await;
        assert!(volatile.refused(409, "INVALID_TRANSITION").contains("not durable"));
    }
    let wrong = world.post("/sinks/kept/replay", json!({"fromSeq": -1})).await;
    wrong.refused(400, "VALIDATION_ERROR");
}

#[tokio::test]
async fn a_replay_from_behind_the_end_is_refused_because_it_would_leave_things_out() {
    let (world, counts) = tracked().await;
    world.post("/workflows/w/instances?settle=30s", json!({})).await.with(201);
    counts.reaches(4).await;
    let head = world.app.engine().store().tail(i64::MAX, 0).await.unwrap().head;
    let beyond = world.post("/sinks/kept/replay", json!({"fromSeq": head + 2})).await;
    let said = beyond.refused(400, "VALIDATION_ERROR");
    assert!(said.contains(&format!("row {head}")), "{said}");
    world.post("/sinks/kept/replay", json!({"fromSeq": head + 1})).await.with(200);
    world.post("/workflows/w/instances?settle=30s", json!({})).await.with(201);
    counts.reaches(8).await;
}
