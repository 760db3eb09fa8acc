//! Traces: taken from requests, kept in the history, passed on by steps.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::world::{Answer, World, answer};

/// Calls, waits, calls again, has a child that calls, and publishes.
const CALLS: &str = "
name: calls
steps:
  - {id: before, http: {url: '${input.base}/before'}}
  - {id: ask, waitForEvent: {eventPattern: go}}
  - {id: after, http: {url: '${input.base}/after'}}
  - {id: below, workflow: {name: child, input: {base: '${input.base}'}}}
  - {id: tell, publish: {type: told, payload: {base: '${input.base}'}}}
";

const CHILD: &str = "
name: child
triggers: [{eventPattern: told, inputMapping: {base: base}}]
steps:
  - {id: call, http: {url: '${input.base}/child'}}
";

fn traceparent(nth: u8) -> String {
    format!("00-4bf92f3577b34da6a3ce929d0e0e473{nth}-00f067aa0ba902b7-01")
}

type Calls = mpsc::UnboundedReceiver<(String, Option<String>)>;

/// A service, and what it was called with: path and trace.
async fn service() -> (String, Calls) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (tell, called) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(stream);
            let (mut path, mut trace, mut line) = (String::new(), None, String::new());
            while stream.read_line(&mut line).await.unwrap() > 2 {
                if path.is_empty() {
                    line.split(' ').nth(1).unwrap().clone_into(&mut path);
                }
                trace = trace.or(line.strip_prefix("traceparent: ").map(|t| t.trim().to_owned()));
                line.clear();
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            tell.send((path, trace)).unwrap();
        }
    });
    (base, called)
}

/// The next call; whoever waits so long has failed.
async fn next(calls: &mut Calls) -> Option<(String, Option<String>)> {
    tokio::time::timeout(Duration::from_secs(10), calls.recv()).await.unwrap()
}

async fn post(world: &World, path: &str, trace: &str, body: Value) -> Answer {
    let request = world.request(Method::POST, path).header("content-type", "application/json");
    answer(request.header("traceparent", trace).body(body.to_string())).await
}

fn called(path: &str, nth: u8) -> Option<(String, Option<String>)> {
    Some((path.to_owned(), Some(traceparent(nth))))
}

#[tokio::test]
async fn a_trace_goes_from_requests_through_steps_waits_children_and_events() {
    let world = World::with(&[CALLS, CHILD]).await;
    let (base, mut calls) = service().await;
    let body = json!({"id": "c", "input": {"base": base}});
    post(&world, "/workflows/calls/instances?settle=10s", &traceparent(1), body).await.with(201);
    assert_eq!(next(&mut calls).await, called("/before", 1));

    let go = json!({"type": "go"});
    post(&world, "/instances/c/events", &traceparent(2), go).await.with(202);
    assert_eq!(next(&mut calls).await, called("/after", 2));
    assert_eq!(next(&mut calls).await, called("/child", 2));
    assert_eq!(next(&mut calls).await, called("/child", 2), "by the trigger");
    world.get("/instances/c/result?timeout=30s").await.with(200);
    let history = world.get("/instances/c/history").await.with(200);
    let kept = |entry: &&Value| entry["trace"].is_string();
    let kept: Vec<_> = history["events"].as_array().unwrap().iter().filter(kept).collect();
    let kept: Vec<_> = kept.iter().map(|e| (e["type"].as_str().unwrap(), &e["trace"])).collect();
    let (first, second) = (json!(traceparent(1)), json!(traceparent(2)));
    assert_eq!(
        kept,
        [("workflow.started", &first), ("event.received", &second), ("wait.fulfilled", &second)]
    );
}

#[tokio::test]
async fn a_trace_survives_a_restart_and_a_published_event_brings_its_own() {
    let world = World::with(&[CALLS, CHILD]).await;
    let (base, mut calls) = service().await;
    for (id, nth) in [("a", 1), ("b", 2)] {
        let body = json!({"id": id, "input": {"base": base}});
        let start = "/workflows/calls/instances?settle=10s";
        post(&world, start, &traceparent(nth), body).await.with(201);
        assert_eq!(next(&mut calls).await, called("/before", nth));
    }
    // Without a trace of its own, the event leaves its instance in the one that it has.
    world.app.engine().shutdown().await;
    let world = world.restarted().await;
    for document in [CALLS, CHILD] {
        world.app.flows().register(document).await.unwrap();
    }
    world.post("/instances/a/events", json!({"type": "go"})).await.with(202);
    assert_eq!(next(&mut calls).await, called("/after", 1));
    world.get("/instances/a/result?timeout=30s").await.with(200);
    assert_eq!(next(&mut calls).await, called("/child", 1));
    assert_eq!(next(&mut calls).await, called("/child", 1));

    post(&world, "/events", &traceparent(3), json!({"type": "go"})).await.with(202);
    assert_eq!(next(&mut calls).await, called("/after", 3));
    world.get("/instances/b/result?timeout=30s").await.with(200);
}

#[tokio::test]
async fn what_is_no_trace_is_not_passed_on() {
    let world = World::with(&[CALLS, CHILD]).await;
    let (base, mut calls) = service().await;
    let body = json!({"input": {"base": base}});
    post(&world, "/workflows/calls/instances", "00-nonsense", body).await.with(201);
    assert_eq!(next(&mut calls).await, Some(("/before".to_owned(), None)));
}
