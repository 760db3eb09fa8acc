//! Registering, reading and checking documents.

use reqwest::Method;
use serde_json::json;

use crate::instances::GREET;
use crate::world::{Answer, World, answer};

async fn put(world: &World, name: &str, media: &str, text: &str) -> Answer {
    let request = world.request(Method::PUT, &format!("/workflows/{name}"));
    answer(request.header("content-type", media).body(text.to_owned())).await
}

#[tokio::test]
async fn a_change_makes_the_next_version_and_the_same_again_does_not() {
    let world = World::with(&[]).await;
    let new = put(&world, "greet", "application/yaml", GREET).await.with(201);
    assert_eq!(new, json!({"name": "greet", "version": 1, "changed": true}));
    let same = put(&world, "greet", "text/yaml; charset=utf-8", GREET).await.with(200);
    assert_eq!(same, json!({"name": "greet", "version": 1, "changed": false}));
    let other = GREET.replace("hello", "good day");
    let next = put(&world, "greet", "application/x-yaml", &other).await.with(200);
    assert_eq!(next, json!({"name": "greet", "version": 2, "changed": true}));
    let listed = world.get("/workflows").await.with(200);
    assert_eq!(listed, json!({"workflows": [{"name": "greet", "version": 2, "versions": [1, 2]}]}));
    let latest = world.get("/workflows/greet").await.with(200);
    assert_eq!((&latest["version"], &latest["document"]), (&json!(2), &json!(other)));
    let first = world.get("/workflows/greet?version=1").await.with(200);
    assert_eq!(first["document"], GREET);
    let none = world.get("/workflows/greet?version=3").await.refused(404, "DEFINITION_NOT_FOUND");
    assert!(none.contains("no version 3") && none.contains("[1, 2]"), "{none}");
    let yaml = world.request(Method::GET, "/workflows/greet").header("accept", "application/yaml");
    assert_eq!(answer(yaml).await.text, other);
}

#[tokio::test]
async fn a_document_may_be_json() {
    let world = World::with(&[]).await;
    let document =
        json!({"name": "j", "input": {"type": "object"}, "steps": [{"id": "a", "return": 1}]});
    world.send(Method::PUT, "/workflows/j", document).await.with(201);
    let run = world.post("/workflows/j/instances?settle=10s", json!({"input": {}})).await.with(201);
    assert_eq!((&run["status"], &run["output"]), (&json!("completed"), &json!(1)));
    assert_eq!(world.get("/workflows/j").await.with(200)["input"], json!({"type": "object"}));
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_document_is_told_at_once() {
    let world = World::with(&[]).await;
    let wrong = "name: w\nsteps:\n  - {id: a, slep: 1 minute}\n  - {id: a, sleep: soon}\n";
    let answer = put(&world, "w", "application/yaml", wrong).await;
    let message = answer.refused(400, "DEFINITION_INVALID");
    assert!(message.contains("slep") && message.contains(":3:"), "{message}");
    let problems = answer.json()["error"]["details"]["problems"].as_array().unwrap().len();
    assert!(problems >= 2, "{}", answer.text);
    let message = put(&world, "other", "application/yaml", GREET).await;
    let message = message.refused(400, "DEFINITION_INVALID");
    assert!(message.contains("greet") && message.contains("other"), "{message}");
    put(&world, "greet", "text/plain", GREET).await.refused(415, "VALIDATION_ERROR");
    assert_eq!(world.get("/workflows").await.with(200), json!({"workflows": []}));
    world.get("/workflows/greet").await.refused(404, "DEFINITION_NOT_FOUND");
    let not_text = world.request(Method::PUT, "/workflows/x").header("content-type", "text/yaml");
    answer_bytes(not_text, vec![0xff, 0xfe]).await.refused(400, "VALIDATION_ERROR");
}

async fn answer_bytes(request: reqwest::RequestBuilder, bytes: Vec<u8>) -> Answer {
    answer(request.body(bytes)).await
}

#[tokio::test]
async fn a_document_is_checked_without_being_registered() {
    let world = World::with(&[]).await;
    let validate = |text: &str| {
        let request = world.request(Method::POST, "/workflows/validate");
        answer(request.header("content-type", "application/yaml").body(text.to_owned()))
    };
    let good = validate(GREET).await.with(200);
    assert_eq!(good, json!({"valid": true, "problems": [], "report": ""}));
    let bad = validate("name: x\nstep: []\n").await.with(200);
    assert_eq!(bad["valid"], false);
    assert!(bad["report"].as_str().unwrap().contains("steps"), "{bad}");
    assert_eq!(world.get("/workflows").await.with(200), json!({"workflows": []}));
}

#[tokio::test]
async fn what_is_no_route_is_told_so() {
    let world = World::with(&[]).await;
    world.get("/nothing").await.refused(404, "NOT_FOUND");
    world.send(Method::DELETE, "/nodes", json!({})).await.refused(405, "METHOD_NOT_ALLOWED");
}
