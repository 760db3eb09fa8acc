//! History, outputs, nodes.

use serde_json::{Value, json};

use crate::instances::APPROVE;
use crate::world::World;

const TELLER: &str = "
name: teller
steps:
  - {id: begin, set: {n: '${input.n}'}}
  - {id: tell, setOutput: {key: answer, value: '${workflow.context.n}'}}
  - {id: hold, waitForEvent: {eventPattern: more}}
  - {id: say, emit: {name: said, data: {ok: true}}}
output: done
";

fn types(page: &Value) -> Vec<&str> {
    let events = page["events"].as_array().unwrap();
    events.iter().map(|entry| entry["type"].as_str().unwrap()).collect()
}

/// A document that asks what time it is, to tell how long it waited.
const PATIENT: &str = "
name: patient
steps:
  - {id: begin, set: {n: 1}}
  - {id: hold, waitForSignal: {name: go}}
output: done
";

#[tokio::test]
async fn only_what_the_document_names_is_a_step() {
    let world = World::with(&[PATIENT]).await;
    world.post("/workflows/patient/instances?settle=10s", json!({"id": "p"})).await.with(201);
    world.post("/instances/p/signals/go?settle=10s", json!({})).await.with(202);
    let shown = world.get("/instances/p").await.with(200);
    let steps: Vec<_> =
        shown["steps"].as_array().unwrap().iter().map(|step| &step["name"]).collect();
    assert_eq!(steps, ["begin", "hold"]);
    let history = world.get("/instances/p/history").await.with(200);
    let last = history["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["completedSteps"], json!(["begin"]));
}

#[tokio::test]
async fn the_history_is_paged_in_order() {
    let world = World::with(&[TELLER]).await;
    let body = json!({"id": "t", "input": {"n": 3}});
    world.post("/workflows/teller/instances?settle=10s", body).await.with(201);
    let sent = json!({"type": "more", "payload": 1, "id": "e-1"});
    world.post("/instances/t/events?settle=10s", sent).await.with(202);
    let whole = world.get("/instances/t/history?limit=1000").await.with(200);
    let all = types(&whole);
    assert_eq!((all[0], *all.last().unwrap()), ("workflow.started", "workflow.completed"));
    for expected in [
        "step.completed",
        "output.set",
        "wait.started",
        "event.received",
        "wait.fulfilled",
        "update",
    ] {
        assert!(all.contains(&expected), "{expected} in {all:?}");
    }
    let events = whole["events"].as_array().unwrap();
    let find = |wanted: &str| events.iter().find(|entry| entry["type"] == wanted).unwrap();
    assert_eq!(find("workflow.started")["input"], json!({"n": 3}));
    assert_eq!(find("workflow.started")["payload"], json!({"n": 3}));
    assert_eq!(
        (&find("update")["name"], &find("update")["payload"]),
        (&json!("said"), &json!({"ok": true}))
    );
    assert_eq!(find("event.received")["name"], "more");
    assert_eq!(find("event.received")["sourceEventId"], "e-1");
    let set: Vec<_> = events.iter().filter(|entry| entry["type"] == "output.set").collect();
    assert!(set.iter().any(|entry| entry["name"] == "answer" && entry["payload"] == 3), "{set:?}");
    let completed = find("workflow.completed");
    assert_eq!(completed["payload"], "done");
    assert_eq!(completed["completedSteps"], json!(["begin"]));
    assert!(completed["durationMs"].is_u64(), "{completed}");
    let mut ids: Vec<&str> =
        events.iter().map(|entry| entry["eventId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), events.len());
    for (nth, entry) in events.iter().enumerate() {
        assert_eq!(entry["seq"], nth + 1);
        assert_eq!((&entry["instanceId"], &entry["workflow"]), (&json!("t"), &json!("teller")));
    }
    let (mut paged, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let page = world.get(format!("/instances/t/history?limit=3&after={after}")).await.with(200);
        paged.extend(page["events"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(&paged, events);
}

#[tokio::test]
async fn outputs_are_read_and_awaited() {
    let world = World::with(&[TELLER]).await;
    let body = json!({"id": "t", "input": {"n": 3}});
    world.post("/workflows/teller/instances", body).await.with(201);
    let found = world.get("/instances/t/outputs/answer?timeout=10s").await.with(200);
    assert_eq!((&found["key"], &found["value"]), (&json!("answer"), &json!(3)));
    assert!(found["updatedAt"].as_str().unwrap().ends_with('Z'), "{found}");
    let all = world.get("/instances/t/outputs").await.with(200);
    let keys: Vec<_> = all["outputs"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(keys, ["answer", "progress"]);
    let progress = &all["outputs"][1]["value"];
    for field in ["currentPhase", "totalPhases", "completedSteps"] {
        assert!(progress[field].is_u64(), "{progress}");
    }
    let message = world.get("/instances/t/outputs/nothing?timeout=1ms").await;
    let message = message.refused(404, "OUTPUT_NOT_FOUND");
    assert!(message.contains("answer"), "{message}");
}

#[tokio::test]
async fn records_of_nobody_are_not_found() {
    let world = World::with(&[APPROVE]).await;
    for path in ["history", "buffer", "outputs", "outputs/x", "outputs/x?timeout=1s"] {
        world.get(format!("/instances/nobody/{path}")).await.refused(404, "WORKFLOW_NOT_FOUND");
    }
    for query in ["limit=0", "limit=1001", "after=x", "before=1"] {
        let path = format!("/instances/nobody/history?{query}");
        world.get(path).await.refused(400, "VALIDATION_ERROR");
    }
}

#[tokio::test]
async fn the_embedded_store_has_one_node() {
    let world = World::with(&[]).await;
    let nodes = world.get("/nodes").await.with(200);
    assert_eq!(nodes["nodes"].as_array().unwrap().len(), 1);
    assert!(nodes["nodes"][0]["id"].as_str().unwrap().starts_with("node_"), "{nodes}");
}
