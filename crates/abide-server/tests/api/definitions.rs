//! Event definitions.

use reqwest::Method;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_definition_is_put_listed_enforced_and_removed() {
    let world = World::with(&[]).await;
    let put = |body| world.send(Method::PUT, "/event-definitions/order.placed", body);
    assert_eq!(world.get("/event-definitions").await.with(200), json!({"definitions": []}));
    let schema = json!({"type": "object", "required": ["total"]});
    let first = put(json!({"name": "Order", "payloadSchema": schema})).await.with(200);
    assert_eq!((&first["type"], &first["version"]), (&json!("order.placed"), &json!(1)));
    assert_eq!((&first["name"], &first["status"]), (&json!("Order"), &json!("active")));
    assert_eq!(first["schema"], schema);
    let event = json!({"type": "order.placed", "payload": {}});
    let message = world.post("/events", event.clone()).await.refused(400, "EVENT_INVALID");
    assert!(message.contains("total"), "{message}");
    let second = put(json!({"schema": schema, "status": "draft"})).await.with(200);
    assert_eq!(second["version"], 2);
    world.post("/events", event.clone()).await.with(202);
    assert_eq!(world.get("/event-definitions/order.placed").await.with(200), second);
    assert_eq!(world.get("/event-definitions").await.with(200), json!({"definitions": [second]}));
    put(json!({"schema": schema})).await.with(200);
    let removed = world.send(Method::DELETE, "/event-definitions/order.placed", json!({})).await;
    assert_eq!((removed.status.as_u16(), removed.text.as_str()), (204, ""));
    world.post("/events", event).await.with(202);
    world.get("/event-definitions/order.placed").await.refused(404, "DEFINITION_NOT_FOUND");
    let again = world.send(Method::DELETE, "/event-definitions/order.placed", json!({})).await;
    again.refused(404, "DEFINITION_NOT_FOUND");
}

#[tokio::test]
async fn what_defines_nothing_is_refused_and_says_why() {
    let world = World::with(&[]).await;
    let put = |body| world.send(Method::PUT, "/event-definitions/a", body);
    put(json!({"schema": {"type": "objekt"}})).await.refused(400, "INVALID_SCHEMA");
    put(json!({"shema": {}})).await.refused(400, "DEFINITION_INVALID");
    put(json!([])).await.refused(400, "VALIDATION_ERROR");
    put(json!({"status": "old"})).await.refused(400, "DEFINITION_INVALID");
    let misfit = json!({"schema": {"type": "object"}, "examples": [1]});
    put(misfit).await.refused(400, "DEFINITION_INVALID");
    let nameless = world.send(Method::PUT, "/event-definitions/a..b", json!({})).await;
    nameless.refused(400, "VALIDATION_ERROR");
}
