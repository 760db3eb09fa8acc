//! Triggers.

use reqwest::Method;
use serde_json::{Value, json};

use crate::instances::{APPROVE, GREET};
use crate::world::World;

async fn put(world: &World, name: &str, body: Value) -> crate::world::Answer {
    world.send(Method::PUT, format!("/triggers/{name}"), body).await
}

#[tokio::test]
async fn a_trigger_starts_instances_until_it_is_removed() {
    let world = World::with(&[GREET]).await;
    let body = json!({"workflow": "greet", "eventPattern": "user.*", "inputMapping": {"name": "who"},
        "filterCondition": "event.payload.who !== 'nobody'"});
    let first = put(&world, "welcome", body).await.with(200);
    assert_eq!((&first["name"], &first["version"]), (&json!("welcome"), &json!(1)));
    assert_eq!((&first["action"], &first["enabled"]), (&json!("start"), &json!(true)));
    assert_eq!(world.get("/triggers/welcome").await.with(200), first);
    assert_eq!(world.get("/triggers").await.with(200), json!({"triggers": [first]}));
    let publish =
        |who: &str| world.post("/events", json!({"type": "user.new", "payload": {"who": who}}));
    let verdict = publish("Ada").await.with(202);
    assert_eq!(
        (&verdict["startedCount"], &verdict["started"][0]["trigger"]),
        (&json!(1), &json!("welcome"))
    );
    let id = verdict["started"][0]["instanceId"].as_str().unwrap();
    let result = world.get(format!("/instances/{id}/result?timeout=30s")).await.with(200);
    assert_eq!(result["output"], "hello Ada");
    assert_eq!(publish("nobody").await.with(202)["startedCount"], 0);
    let removed = world.send(Method::DELETE, "/triggers/welcome", json!({})).await;
    assert_eq!(removed.status.as_u16(), 204);
    assert_eq!(publish("Ada").await.with(202)["startedCount"], 0);
    world.get("/triggers/welcome").await.refused(404, "DEFINITION_NOT_FOUND");
    world
        .send(Method::DELETE, "/triggers/welcome", json!({}))
        .await
        .refused(404, "DEFINITION_NOT_FOUND");
}

#[tokio::test]
async fn the_id_that_a_trigger_gives_may_stand_in_an_address_as_it_is() {
    let world = World::with(&[GREET]).await;
    let body = json!({"workflow": "greet", "eventPattern": "user.new"});
    put(&world, "greet:user.new", body).await.with(200);
    let mut ids = std::collections::HashSet::new();
    for (source, id) in [("https://shop/a b", "é?#%"), ("https:", "~shop/a b~é?#%"), ("s", "1=2F")]
    {
        let event = json!({"type": "user.new", "source": source, "id": id});
        let verdict = world.post("/events", event).await.with(202);
        let started = verdict["started"][0]["instanceId"].as_str().unwrap();
        assert_eq!(world.get(format!("/instances/{started}")).await.with(200)["id"], started);
        assert!(ids.insert(started.to_owned()), "{started}");
    }
}

#[tokio::test]
async fn a_debounced_trigger_says_when_it_begins() {
    let world = World::with(&[GREET]).await;
    let body =
        json!({"workflow": "greet", "eventPattern": "user.new", "debounce": {"period": "1 hour"}});
    put(&world, "late", body).await.with(200);
    let verdict = world.post("/events", json!({"type": "user.new"})).await.with(202);
    let until = verdict["deferred"][0]["until"].as_str().unwrap();
    assert!(until.ends_with('Z'), "{verdict}");
}

#[tokio::test]
async fn a_cancelling_trigger_ends_what_has_the_correlation_id() {
    let world = World::with(&[APPROVE]).await;
    let body = json!({"id": "a-1", "input": {"amount": 1}, "correlationId": "c-1"});
    world.post("/workflows/approve/instances?settle=10s", body).await.with(201);
    put(
        &world,
        "stop",
        json!({"workflow": "approve", "eventPattern": "order.dropped", "action": "cancel"}),
    )
    .await
    .with(200);
    let event = json!({"type": "order.dropped", "correlationId": "c-1"});
    let verdict = world.post("/events", event).await.with(202);
    assert_eq!(verdict["cancelled"], json!([{"trigger": "stop", "instanceId": "a-1"}]));
    let result = world.get("/instances/a-1/result?timeout=30s").await.with(200);
    assert_eq!(result["status"], "terminated");
}

#[tokio::test]
async fn a_replay_shows_old_events_once() {
    let world = World::with(&[GREET]).await;
    for who in ["Ada", "Bob"] {
        let event = json!({"type": "user.new", "payload": {"who": who}});
        world.post("/events", event).await.with(202);
    }
    let body =
        json!({"workflow": "greet", "eventPattern": "user.new", "inputMapping": {"name": "who"}});
    put(&world, "welcome", body).await.with(200);
    let replay = |body| world.post("/triggers/welcome/replay", body);
    let told = replay(json!({"fromSeq": 1, "toSeq": 100, "dryRun": true})).await.with(200);
    assert_eq!(
        (&told["heard"], &told["startedCount"], &told["dryRun"]),
        (&json!(2), &json!(2), &json!(true))
    );
    let done = replay(json!({"fromSeq": 1, "toSeq": 100})).await.with(200);
    assert_eq!((&done["startedCount"], done["started"].as_array().unwrap().len()), (&json!(2), 2));
    let again = replay(json!({"fromSeq": 1, "toSeq": 100})).await.with(200);
    assert_eq!((&again["startedCount"], &again["existing"]), (&json!(0), &json!(2)));
    for wrong in [
        json!({}),
        json!({"fromSeq": 2, "toSeq": 1}),
        json!({"fromSeq": 1, "toSeq": 2, "dry": true}),
    ] {
        replay(wrong).await.refused(400, "VALIDATION_ERROR");
    }
    let nobody = world.post("/triggers/nobody/replay", json!({"fromSeq": 1, "toSeq": 2})).await;
    nobody.refused(404, "DEFINITION_NOT_FOUND");
}

#[tokio::test]
async fn what_is_no_trigger_is_refused_and_says_why() {
    let world = World::with(&[GREET]).await;
    let with = |more: Value| {
        let mut body = json!({"workflow": "greet", "eventPattern": "a"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        put(&world, "t", body)
    };
    with(json!({"workflow": "greed"})).await.refused(400, "WORKFLOW_TYPE_UNKNOWN");
    with(json!({"filterCondition": "event.("})).await.refused(400, "FILTER_INVALID");
    with(json!({"correlationKey": "1 +"})).await.refused(400, "FILTER_INVALID");
    with(json!({"inputMapping": {"a": "${event.("}})).await.refused(400, "DEFINITION_INVALID");
    with(json!({"debounce": {"period": "soon"}})).await.refused(400, "DEFINITION_INVALID");
    with(json!({"action": "stop"})).await.refused(400, "DEFINITION_INVALID");
    with(json!({"pattern": "a"})).await.refused(400, "DEFINITION_INVALID");
    put(&world, "t", json!({"workflow": "greet"})).await.refused(400, "DEFINITION_INVALID");
    assert_eq!(world.get("/triggers").await.with(200), json!({"triggers": []}));
}
