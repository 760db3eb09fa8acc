//! Pausing, resuming, ending, beginning anew.

use serde_json::{Value, json};

use crate::instances::{APPROVE, GREET};
use crate::world::World;

const TWO_STEPS: &str = "
name: two
steps:
  - {id: first, set: {a: '${input.n}'}}
  - {id: second, set: {b: '${workflow.context.a}'}}
output: ${workflow.context.b}
";

async fn waiting(world: &World, id: &str) {
    let body = json!({"id": id, "input": {"amount": 1}});
    let started = world.post("/workflows/approve/instances?settle=10s", body).await.with(201);
    assert_eq!(started["status"], "waiting");
}

#[tokio::test]
async fn a_paused_instance_keeps_what_comes_and_goes_on_when_resumed() {
    let world = World::with(&[APPROVE]).await;
    waiting(&world, "a").await;
    let paused = world.post("/instances/a/pause", json!({})).await.with(200);
    assert_eq!(paused["status"], "paused");
    world.post("/instances/a/pause", json!({})).await.refused(409, "INVALID_TRANSITION");
    let sent = json!({"type": "approval", "payload": "yes"});
    world.post("/instances/a/events", sent).await.with(202);
    assert_eq!(world.get("/instances/a").await.with(200)["status"], "paused");
    let resumed = world.post("/instances/a/resume?settle=10s", json!({})).await.with(200);
    assert_eq!((&resumed["status"], &resumed["output"]), (&json!("completed"), &json!("yes")));
    world.post("/instances/a/resume", json!({})).await.refused(409, "INVALID_TRANSITION");
}

#[tokio::test]
async fn a_terminated_instance_says_why() {
    let world = World::with(&[APPROVE]).await;
    waiting(&world, "a").await;
    let body = json!({"reason": "not needed", "compensate": false, "cascade": false});
    let ended = world.post("/instances/a/terminate", body).await.with(200);
    assert_eq!(ended["status"], "terminated");
    assert_eq!(ended["error"]["message"], "not needed");
    assert_eq!(ended["waits"][0]["status"], "cancelled");
    world.post("/instances/a/terminate", Value::Null).await.refused(400, "VALIDATION_ERROR");
    world.post("/instances/a/terminate", json!({})).await.refused(409, "INVALID_TRANSITION");
    let result = world.get("/instances/a/result").await.with(200);
    assert_eq!(result["status"], "terminated");
}

#[tokio::test]
async fn a_restart_begins_anew_or_at_a_step() {
    let world = World::with(&[TWO_STEPS]).await;
    let body = json!({"id": "r", "input": {"n": 7}});
    world.post("/workflows/two/instances?settle=10s", body).await.with(201);
    let again = world.post("/instances/r/restart", json!({})).await.with(200);
    assert_eq!(again["run"], 2);
    world.get("/instances/r/result?timeout=10s").await.with(200);
    let from = json!({"fromStep": "second"});
    world.post("/instances/r/restart", from).await.with(200);
    let result = world.get("/instances/r/result?timeout=10s").await.with(200);
    assert_eq!(result["output"], 7);
    let shown = world.get("/instances/r").await.with(200);
    assert_eq!((&shown["run"], &shown["steps"][0]["cached"]), (&json!(3), &json!(true)));
    let nowhere = json!({"fromStep": "third"});
    let message = world.post("/instances/r/restart", nowhere).await.refused(404, "STEP_NOT_FOUND");
    assert!(message.contains("second"), "{message}");
}

#[tokio::test]
async fn a_wake_is_for_instances_that_live() {
    let world = World::with(&[APPROVE, GREET]).await;
    waiting(&world, "a").await;
    world.post("/instances/a/wake", json!({})).await.with(200);
    world.post("/instances/a/wake", json!({"delayMs": 5})).await.with(200);
    world.post("/instances/a/wake", json!({"delayMs": -5})).await.refused(400, "VALIDATION_ERROR");
    let body = json!({"id": "g", "input": {"name": "x"}});
    world.post("/workflows/greet/instances?settle=10s", body).await.with(201);
    world.post("/instances/g/wake", json!({})).await.refused(409, "INVALID_TRANSITION");
}

#[tokio::test]
async fn nobody_can_be_controlled_who_is_not_there() {
    let world = World::with(&[]).await;
    for action in ["pause", "resume", "terminate", "restart", "wake"] {
        let answer = world.post(format!("/instances/nobody/{action}"), json!({})).await;
        answer.refused(404, "WORKFLOW_NOT_FOUND");
        let answer = world.post(format!("/instances/nobody/{action}"), json!({"colour": 1})).await;
        let message = answer.refused(400, "VALIDATION_ERROR");
        assert!(message.contains("colour"), "{message}");
    }
}
