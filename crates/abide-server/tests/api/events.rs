//! Publishing and the event log.

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{Answer, World, answer};

/// Waits for a payment of its order, big enough.
pub(crate) const ORDER: &str = "
name: order
input: {type: object, required: [orderId]}
steps:
  - id: payment
    waitForEvent:
      eventPattern: payment.*
      filterCondition: event.payload.orderId === workflow.context.orderId && event.payload.amount >= 100
      timeout: 1 hour
      timeoutHandlerStepId: remind
  - {id: done, set: {paid: true}}
handlers:
  - {id: remind, set: {reminded: true}}
";

pub(crate) async fn ordered(world: &World, id: &str) -> Value {
    let body = json!({"id": id, "input": {"orderId": id}});
    world.post("/workflows/order/instances?settle=10s", body).await.with(201)
}

async fn send_as(world: &World, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut request = world.request(Method::POST, "/events");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    answer(request.body(body.to_owned())).await
}

fn payment(id: &str, order: &str, amount: u32) -> Value {
    json!({"type": "payment.card", "id": id, "source": "shop", "payload": {"orderId": order, "amount": amount}})
}

#[tokio::test]
async fn a_published_event_reaches_who_waits_and_repeating_it_changes_nothing() {
    let world = World::with(&[ORDER]).await;
    let wait = ordered(&world, "o-1").await["waits"][0]["id"].clone();
    let verdict = world.post("/events", payment("p-1", "o-1", 120)).await.with(202);
    assert_eq!(verdict["eventId"], "p-1");
    assert_eq!((&verdict["matchedCount"], &verdict["startedCount"]), (&json!(1), &json!(0)));
    assert_eq!(verdict["matched"], json!([{"subscriptionId": wait, "instanceId": "o-1"}]));
    assert_eq!(verdict["duplicate"], false);
    let again = world.post("/events", payment("p-1", "o-1", 120)).await.with(202);
    assert_eq!((&again["duplicate"], &again["seq"]), (&json!(true), &verdict["seq"]));
    assert_eq!(again["matched"], verdict["matched"]);
    let result = world.get("/instances/o-1/result?timeout=30s").await.with(200);
    assert_eq!(result["status"], "completed");
    let event = world.get("/events/p-1").await.with(200);
    assert_eq!((&event["type"], &event["source"]), (&json!("payment.card"), &json!("shop")));
    assert_eq!(event["payload"], json!({"orderId": "o-1", "amount": 120}));
    assert_eq!((&event["matched"], &event["matchedCount"]), (&json!(true), &json!(1)));
    assert_eq!(event["verdict"]["matched"], verdict["matched"]);
    assert_eq!(event["takers"][0]["instanceId"], "o-1");
    for moment in [&event["acceptedAt"], &event["time"], &event["takers"][0]["takenAt"]] {
        assert!(moment.as_str().unwrap().ends_with('Z'), "{event}");
    }
}

#[tokio::test]
async fn a_dry_run_tells_and_does_nothing() {
    let world = World::with(&[ORDER]).await;
    ordered(&world, "o-1").await;
    let told = world.post("/events?dryRun=true", payment("p-1", "o-1", 120)).await.with(202);
    assert_eq!(told["matchedCount"], 1);
    assert!(told.get("seq").is_none(), "{told}");
    world.get("/events/p-1").await.refused(404, "EVENT_NOT_FOUND");
    world.get("/instances/o-1/result").await.with(202);
}

#[tokio::test]
async fn cloud_events_are_taken_in_every_mode() {
    let world = World::with(&[]).await;
    let structured = r#"{"specversion": "1.0", "id": "c-1", "source": "/s", "type": "a.b", "data": {"n": 1}, "tenant": "x"}"#;
    let verdict = send_as(
        &world,
        &[("content-type", "application/cloudevents+json; charset=utf-8")],
        structured,
    );
    assert_eq!(verdict.await.with(202)["eventId"], "c-1");
    let binary = [
        ("ce-specversion", "1.0"),
        ("ce-id", "c-2"),
        ("ce-source", "/s"),
        ("ce-type", "a.b"),
        ("content-type", "text/plain"),
    ];
    assert_eq!(send_as(&world, &binary, "hello").await.with(202)["eventId"], "c-2");
    let batch = r#"[{"specversion": "1.0", "id": "c-3", "source": "/s", "type": "a.b"},
                    {"specversion": "1.0", "id": "c-4", "source": "/s", "type": "a.c"}]"#;
    let verdicts =
        send_as(&world, &[("content-type", "application/cloudevents-batch+json")], batch).await;
    let verdicts = verdicts.with(202)["verdicts"].clone();
    assert_eq!((&verdicts[0]["eventId"], &verdicts[1]["eventId"]), (&json!("c-3"), &json!("c-4")));
    let shown = world.get("/events/c-1").await.with(200);
    assert_eq!(
        (&shown["payload"], &shown["extensions"]),
        (&json!({"n": 1}), &json!({"tenant": "x"}))
    );
    let shown = world.get("/events/c-2").await.with(200);
    assert_eq!((&shown["payload"], &shown["form"]), (&json!("hello"), &json!("text")));
    assert_eq!(shown["contentType"], "text/plain");
    let shown = world.get("/events/c-3").await.with(200);
    assert!(shown.get("payload").is_none(), "absent is not null: {shown}");
}

#[tokio::test]
async fn what_is_no_event_is_refused_and_says_why() {
    let world = World::with(&[]).await;
    let json = [("content-type", "application/json")];
    let structured = [("content-type", "application/cloudevents+json")];
    for (headers, body) in [
        (json, "{}"),
        (json, "[]"),
        (json, "{\"type\": \"a\""),
        (json, r#"{"type": "a..b"}"#),
        (json, r#"{"type": "a", "pyload": 1}"#),
        (json, r#"{"type": "a", "payload": 1e999}"#),
        (structured, r#"{"specversion": "1.0", "type": "a"}"#),
        (structured, r#"{"specversion": "0.3", "id": "1", "source": "s", "type": "a"}"#),
    ] {
        let message = send_as(&world, &headers, body).await.refused(400, "EVENT_INVALID");
        assert!(!message.is_empty());
    }
    let deep = format!(r#"{{"type": "a", "payload": {}1{}}}"#, "[".repeat(200), "]".repeat(200));
    send_as(&world, &json, &deep).await.refused(400, "EVENT_INVALID");
    let refused = send_as(&world, &json, "{}").await;
    assert_eq!(refused.with(400)["error"]["details"], json!({"attribute": "type"}));
    send_as(&world, &[], "").await.refused(400, "EVENT_INVALID");
    for media in ["application/xml", "application/cloudevents+avro", "application/yaml"] {
        let refused = send_as(&world, &[("content-type", media)], r#"{"type": "a"}"#).await;
        refused.refused(415, "VALIDATION_ERROR");
    }
    world.post("/events?dry=true", json!({"type": "a"})).await.refused(400, "VALIDATION_ERROR");
    let large = json!({"type": "a", "payload": "x".repeat(1024 * 1024 + 1)});
    world.post("/events", large).await.refused(413, "PAYLOAD_TOO_LARGE");
    let larger = json!({"type": "a", "payload": "x".repeat(5 * 1024 * 1024)});
    world.post("/events", larger).await.refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(world.get("/events").await.with(200), json!({"events": []}));
}

#[tokio::test]
async fn a_batch_says_which_event_was_refused_and_what_was_taken() {
    let world = World::with(&[]).await;
    let schema = json!({"schema": {"type": "object", "required": ["n"]}});
    world.send(Method::PUT, "/event-definitions/a.b", schema).await.with(200);
    let event = |id: &str, data: Value| json!({"specversion": "1.0", "id": id, "source": "/s", "type": "a.b", "data": data});
    let batch = json!([event("1", json!({"n": 1})), event("2", json!({}))]);
    let headers = [("content-type", "application/cloudevents-batch+json")];
    let refused = send_as(&world, &headers, &batch.to_string()).await;
    let message = refused.refused(400, "EVENT_INVALID");
    assert!(message.starts_with("event 1 of the batch"), "{message}");
    assert_eq!(refused.json()["error"]["details"]["place"], 1);
    world.get("/events/1").await.with(200);
    world.get("/events/2").await.refused(404, "EVENT_NOT_FOUND");
    let malformed = json!([event("3", json!({"n": 1})), {"specversion": "1.0"}]);
    send_as(&world, &headers, &malformed.to_string()).await.refused(400, "EVENT_INVALID");
    world.get("/events/3").await.refused(404, "EVENT_NOT_FOUND");
}

#[tokio::test]
async fn the_log_is_paged_filtered_and_read_from_both_ends() {
    let world = World::with(&[ORDER]).await;
    ordered(&world, "o-1").await;
    for n in 0..3 {
        let body = json!({"type": "a.b", "id": format!("e-{n}"), "source": format!("s{}", n % 2)});
        world.post("/events", body).await.with(202);
    }
    world.post("/events", payment("p-1", "o-1", 120)).await.with(202);
    let ids = |listed: &Value| -> Vec<String> {
        let listed = listed["events"].as_array().unwrap().clone();
        listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = world.get("/events?limit=3").await.with(200);
    assert_eq!(ids(&first), ["e-0", "e-1", "e-2"]);
    assert!(first["events"][0].get("verdict").is_none(), "{first}");
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = world.get(format!("/events?limit=3&after={cursor}")).await.with(200);
    assert_eq!((ids(&rest), rest.get("nextCursor")), (vec!["p-1".to_owned()], None));
    for (query, expect) in [
        ("type=a.*", vec!["e-0", "e-1", "e-2"]),
        ("source=s1", vec!["e-1"]),
        ("unmatched=true&order=desc", vec!["e-2", "e-1", "e-0"]),
        ("order=desc&limit=1", vec!["p-1"]),
        ("from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z", vec![]),
    ] {
        let listed = world.get(format!("/events?{query}")).await.with(200);
        assert_eq!(ids(&listed), expect, "{query}");
    }
    for wrong in ["limit=0", "after=x", "order=up", "unmatched=maybe", "from=now", "kind=a"] {
        world.get(format!("/events?{wrong}")).await.refused(400, "VALIDATION_ERROR");
    }
}

#[tokio::test]
async fn an_explanation_names_the_clause_that_was_false() {
    let world = World::with(&[ORDER]).await;
    ordered(&world, "o-1").await;
    world.post("/events", payment("p-1", "o-1", 90)).await.with(202);
    let explained = world.get("/events/p-1/explain?instance=o-1").await.with(200);
    assert_eq!((&explained["instanceId"], &explained["matched"]), (&json!("o-1"), &json!(false)));
    let why = &explained["explanations"][0];
    assert_eq!(
        (&why["why"], &why["subscription"]["waitStepId"]),
        (&json!("filterFalse"), &json!("payment"))
    );
    let holds: Vec<&Value> =
        why["clauses"].as_array().unwrap().iter().map(|c| &c["holds"]).collect();
    assert_eq!(holds, [&json!(true), &json!(false)], "{why}");
    assert!(why["clauses"][1]["message"].as_str().unwrap().contains("90"), "{why}");
    let without = world.get("/events/p-1/explain").await.with(200);
    assert_eq!((&without["matched"], &without["takers"]), (&json!(false), &json!([])));
    assert_eq!(without["verdict"]["matchedCount"], 0);
    assert!(without.get("explanations").is_none(), "{without}");
    world.get("/events/p-2/explain").await.refused(404, "EVENT_NOT_FOUND");
    world.get("/events/p-1/explain?instance=x").await.refused(404, "WORKFLOW_NOT_FOUND");
    world.get("/events/p-1/explain?who=x").await.refused(400, "VALIDATION_ERROR");
}
