//! Events, signals and messages to one instance.

use serde_json::{Value, json};

use crate::instances::GREET;
use crate::world::World;

const MAILBOX: &str = "
name: mailbox
events:
  order: {buffer: queue, schema: {type: object, required: [n]}}
steps:
  - {id: order, waitForEvent: {eventPattern: order}}
  - {id: go, waitForSignal: {name: go}}
  - {id: letter, receive: {topic: letters}}
output:
  order: ${steps.order.output.payload.n}
  go: ${steps.go.output.payload}
  letter: ${steps.letter.output.payload}
  from: ${steps.letter.output.sourceInstanceId}
";

async fn mailbox(world: &World, id: &str) {
    let path = "/workflows/mailbox/instances?settle=10s";
    world.post(path, json!({"id": id})).await.with(201);
}

#[tokio::test]
async fn each_kind_meets_its_own_wait() {
    let world = World::with(&[MAILBOX]).await;
    mailbox(&world, "m").await;
    let early = world.post("/instances/m/signals/go", json!({"payload": 1, "id": "s-1"})).await;
    let early = early.with(202);
    assert_eq!(early, json!({"eventId": "s-1", "delivered": 0, "buffered": true}));
    let event = json!({"type": "order", "payload": {"n": 5}});
    let sent = world.post("/instances/m/events?settle=10s", event).await.with(202);
    assert_eq!((&sent["delivered"], &sent["status"]), (&json!(1), &json!("waiting")));
    assert!(sent["eventId"].as_str().unwrap().starts_with("evt_"), "{sent}");
    let letter = json!({"topic": "letters", "payload": "hi", "sourceInstanceId": "other"});
    let sent = world.post("/instances/m/messages?settle=10s", letter).await.with(202);
    assert_eq!(sent["status"], "completed");
    let result = world.get("/instances/m/result").await.with(200);
    assert_eq!(result["output"], json!({"order": 5, "go": 1, "letter": "hi", "from": "other"}));
}

#[tokio::test]
async fn the_same_id_again_is_answered_as_the_first_time() {
    let world = World::with(&[MAILBOX]).await;
    mailbox(&world, "m").await;
    let send = || {
        let event = json!({"type": "order", "payload": {"n": 5}, "id": "e-1"});
        world.post("/instances/m/events", event)
    };
    let first = send().await.with(202);
    assert_eq!(send().await.with(202), first);
    assert_eq!(first, json!({"eventId": "e-1", "delivered": 1, "buffered": false}));
}

#[tokio::test]
async fn what_may_be_seen_later_waits_in_the_buffer() {
    let world = World::with(&[MAILBOX]).await;
    mailbox(&world, "m").await;
    let later = json!({"type": "order", "payload": {"n": 1}, "delay": "1 hour", "id": "d"});
    let sent = world.post("/instances/m/events", later).await.with(202);
    assert_eq!(sent, json!({"eventId": "d", "delivered": 0, "buffered": true}));
    let kept = world.get("/instances/m/buffer").await.with(200);
    let entry = &kept["events"][0];
    assert_eq!(
        (&entry["id"], &entry["kind"], &entry["type"]),
        (&json!("d"), &json!("event"), &json!("order"))
    );
    assert_eq!(entry["payload"], json!({"n": 1}));
    assert!(entry["visibleAt"].as_str().unwrap() > entry["receivedAt"].as_str().unwrap());
    let both = json!({"type": "order", "payload": {"n": 1}, "delay": "1s", "visibleAt": "2030-01-01T00:00:00Z"});
    world.post("/instances/m/events", both).await.refused(400, "VALIDATION_ERROR");
}

#[tokio::test]
async fn a_signal_sent_without_waking_waits_for_a_nudge() {
    let world = World::with(&[MAILBOX]).await;
    mailbox(&world, "m").await;
    let event = json!({"type": "order", "payload": {"n": 5}});
    world.post("/instances/m/events?settle=10s", event).await.with(202);
    let quiet = json!({"payload": 2, "wake": false});
    let sent = world.post("/instances/m/signals/go", quiet).await.with(202);
    assert_eq!((&sent["delivered"], &sent["buffered"]), (&json!(0), &json!(true)));
    world.post("/instances/m/wake", json!({})).await.with(200);
    let letter = json!({"topic": "letters", "payload": "hi"});
    world.post("/instances/m/messages", letter).await.with(202);
    let result = world.get("/instances/m/result?timeout=10s").await.with(200);
    assert_eq!(result["output"]["go"], 2);
}

#[tokio::test]
async fn what_is_not_acceptable_is_refused_and_nothing_kept() {
    let world = World::with(&[MAILBOX, GREET]).await;
    mailbox(&world, "m").await;
    let events = |body: Value| world.post("/instances/m/events", body);
    events(json!({"type": "order", "payload": {}})).await.refused(400, "EVENT_INVALID");
    events(json!({"type": "other", "payload": {}})).await.refused(400, "EVENT_INVALID");
    events(json!({"payload": {}})).await.refused(400, "VALIDATION_ERROR");
    events(json!({"type": "a..b"})).await.refused(400, "VALIDATION_ERROR");
    for delay in [json!("soon"), json!("5"), json!(-5)] {
        let late = json!({"type": "order", "payload": {"n": 1}, "delay": delay});
        events(late).await.refused(400, "VALIDATION_ERROR");
    }
    let large = json!({"type": "order", "payload": {"n": "x".repeat(2 << 20)}});
    events(large).await.refused(413, "PAYLOAD_TOO_LARGE");
    let event = json!({"type": "order", "payload": {"n": 1}});
    world.post("/instances/nobody/events", event.clone()).await.refused(404, "WORKFLOW_NOT_FOUND");
    let kept = world.get("/instances/m/buffer").await.with(200);
    assert_eq!(kept, json!({"events": []}));
    let body = json!({"id": "g", "input": {"name": "x"}});
    world.post("/workflows/greet/instances?settle=10s", body).await.with(201);
    let event = json!({"type": "anything"});
    let message =
        world.post("/instances/g/events", event).await.refused(409, "WORKFLOW_NOT_RUNNING");
    assert!(message.contains("already completed"), "{message}");
    let ignored = json!({"type": "anything", "onTerminal": "ignore"});
    let ignored = world.post("/instances/g/events", ignored).await.with(202);
    assert_eq!((&ignored["delivered"], &ignored["buffered"]), (&json!(0), &json!(false)));
}

#[tokio::test]
async fn a_full_buffer_is_told() {
    let world = World::with(&[MAILBOX]).await;
    mailbox(&world, "m").await;
    for n in 0..2000 {
        let answer = world.post("/instances/m/signals/more", json!({"payload": n})).await;
        if answer.status != 202 {
            answer.refused(429, "BUFFER_FULL");
            return;
        }
    }
    panic!("the buffer never filled");
}
