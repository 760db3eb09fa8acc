//! The conversations in the headers of `examples/flows`, held over HTTP.

use std::path::PathBuf;

use axum::Router;
use axum::body::Body;
use axum::extract::Json;
use axum::routing::{delete, post};
use futures_util::stream;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::world::{Answer, World, answer};

fn text_of(name: &str) -> String {
    let file = format!("{}/../../examples/flows/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(PathBuf::from(file)).unwrap()
}

/// One `curl` of a header.
#[derive(Debug)]
struct Curl {
    /// Without `/v1`.
    path: String,
    body: Option<Value>,
}

/// The first conversation of a header by `curl`, up to where it asks for the result.
fn conversation(name: &str) -> Vec<Curl> {
    let text = text_of(name).replace("\\\n#", "");
    let lines = text.lines().filter_map(|line| line.strip_prefix("#   curl "));
    let mut said = Vec::new();
    for line in lines {
        let (_, rest) = line.split_once("http://127.0.0.1:7878/v1").unwrap();
        let path = rest.split([' ', '\'']).next().unwrap().to_owned();
        let body = line.split_once("-d '").map(|(_, body)| body.trim_end().trim_end_matches('\''));
        let body = body.map(|body| serde_json::from_str(body).unwrap());
        let asks = path.contains("/result");
        said.push(Curl { path, body });
        if asks {
            break;
        }
    }
    said
}

/// Everything that the examples call.
async fn outside() -> String {
    async fn reservation() -> Json<Value> {
        Json(json!({"id": "r-1"}))
    }
    async fn think(Json(asked): Json<Value>) -> Json<Value> {
        let tool = json!({"name": "refund", "arguments": {"order": "o-1"}, "acts": true});
        Json(match asked["turn"].as_i64() {
            Some(1) => json!({ "tool": tool }),
            _ => json!({"answer": "refunded"}),
        })
    }
    async fn mcp(Json(asked): Json<Value>) -> Json<Value> {
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"},
            }),
            Some("tools/call") => json!({"content": [], "structuredContent": {"refunded": true}}),
            _ => json!({}),
        };
        Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
    }
    async fn write() -> Body {
        let pieces = ["Owls ", "see ", "at night."].map(Ok::<_, std::convert::Infallible>);
        Body::from_stream(stream::iter(pieces))
    }
    let shop = Router::new()
        .route("/reservations", post(reservation))
        .route("/payments", post(async || Json(json!({"id": "p-1"}))))
        .route("/shipments", post(async || Json(json!({"tracking": "t-1"}))))
        .route("/reservations/{id}", delete(async || Json(json!({}))))
        .route("/payments/{id}", delete(async || Json(json!({}))))
        .route("/think", post(think))
        .route("/mcp", post(mcp))
        .route("/write", post(write))
        .route("/articles", post(async || Json(json!({"id": "a-1"}))));
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", socket.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(socket, shop).await.unwrap() });
    base
}

/// Holds the conversation of an example and answers with what its last request was answered.
async fn hold(world: &World, name: &str, added: Value) -> Answer {
    let mut last = None;
    for Curl { path, body } in conversation(name) {
        last = Some(match body {
            Some(mut body) => {
                let input = body.get_mut("input").and_then(Value::as_object_mut);
                if let (Some(input), Some(added)) = (input, added.as_object()) {
                    input.extend(added.clone());
                }
                let answer = world.post(&path, body).await;
                assert!(answer.status.is_success(), "{name}: {path}: {}", answer.text);
                answer
            }
            None if path.contains("/outputs/") => {
                let awaited = world.get(format!("{path}?timeout=30s")).await;
                awaited.with(200);
                awaited
            }
            None => world.get(path).await,
        });
    }
    last.unwrap()
}

async fn with_examples() -> World {
    let names = ["agent", "approval", "fanout", "payment", "saga", "streaming", "worker"];
    let world = World::with(&[]).await;
    for name in names {
        let request = world.request(Method::PUT, &format!("/workflows/{name}"));
        let request = request.header("content-type", "application/yaml").body(text_of(name));
        answer(request).await.with(201);
    }
    world
}

#[tokio::test]
async fn the_examples_that_need_nobody_come_to_their_end() {
    let world = with_examples().await;
    let approved = hold(&world, "approval", json!({})).await.with(200);
    assert_eq!(approved["output"], json!({"approved": true, "escalated": false, "reminders": 0}));
    let paid = hold(&world, "payment", json!({})).await.with(200);
    assert_eq!(paid["output"], json!({"paid": 120, "method": "visa"}));
    let gathered = hold(&world, "fanout", json!({})).await.with(200);
    assert_eq!(gathered["status"], "completed", "{gathered}");
    // Somebody whom the worker can answer.
    let asker = json!({"id": "w-asker", "input": {"document": "x"}});
    world.post("/workflows/approval/instances", asker).await.with(201);
    let worked = hold(&world, "worker", json!({"to": "w-asker"})).await.with(200);
    assert_eq!(worked["status"], "completed", "{worked}");
    let kept = world.get("/instances/w-asker/buffer").await.with(200);
    assert_eq!(kept["events"][0]["type"], "done");
}

#[tokio::test]
async fn the_examples_that_call_others_come_to_their_end() {
    let (world, base) = (with_examples().await, outside().await);
    let saga = hold(&world, "saga", json!({ "base": base })).await.with(200);
    assert_eq!(saga["status"], "completed", "{saga}");
    let others = json!({"model": format!("{base}/think"), "tools": format!("{base}/mcp")});
    let agent = hold(&world, "agent", others).await.with(200);
    assert_eq!(agent["status"], "completed", "{agent}");
}

#[tokio::test]
async fn the_text_of_the_streaming_example_is_read_as_it_comes() {
    let (world, base) = (with_examples().await, outside().await);
    let [start, read, ..] = &conversation("streaming")[..] else { panic!("no conversation") };
    let mut body = start.body.clone().unwrap();
    body["input"]["writer"] = json!(format!("{base}/write"));
    body["input"]["archive"] = json!(format!("{base}/articles"));
    world.post(&start.path, body).await.with(201);
    assert_eq!(world.get(&read.path).await.text, "Owls see at night.");
}
