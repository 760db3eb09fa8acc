//! URLs and tools that documents call, on a server on loopback.

use abide::Failure;
use abide::prelude::*;
use serde_json::{Value, json};

use crate::harness::engine;
use crate::loopback::{Asked, Loopback, mcp};

/// Tells what it was asked; some places are missing, moved or of tools.
fn service(asked: &Asked) -> (u16, Value) {
    match &*asked.path {
        "/missing" => (404, json!({"reason": "never was"})),
        "/moved" => (307, json!("/there")),
        "/mcp" if asked.headers["x-key"] != "k" => (401, Value::Null),
        "/mcp" => mcp(asked, |name, arguments| json!({"tool": name, "got": arguments})),
        "/text" => (200, json!("word by word")),
        _ => {
            let Asked { method, path, headers, body } = asked;
            (200, json!({"method": method, "path": path, "headers": headers, "body": body}))
        }
    }
}

/// What a document comes to, and what the server was asked meanwhile.
async fn run(text: &str, input: Value) -> (Result<Value, Failure>, Vec<String>) {
    let server = Loopback::start(service).await;
    let engine = engine(&[text]).start().await;
    let mut input = input;
    input["base"] = json!(server.base);
    let handle = engine.start("w", Start::new(&input).id("h")).await.unwrap();
    let came_to = match handle.result::<Value>().await {
        Ok(output) => Ok(output),
        Err(_) => Err(handle.failure().await),
    };
    (came_to, server.asked())
}

#[tokio::test]
async fn a_url_is_called_with_everything_that_the_step_says() {
    let text = "
name: w
steps:
  - id: reserve
    http:
      method: '${input.how}'
      url: '${input.base}/reserve'
      query: {a: 1, b: 'x y'}
      headers: {X-Key: '${input.order}'}
      body: {order: '${input.order}'}
output: {status: '${steps.reserve.output.status}', seen: '${steps.reserve.output.body}', type: '${steps.reserve.output.headers[\"content-type\"]}'}
";
    let (output, _) = run(text, json!({"order": "o-1", "how": "PUT"})).await;
    let output = output.unwrap();
    assert_eq!((&output["status"], &output["type"]), (&json!(200), &json!("application/json")));
    let seen = &output["seen"];
    assert_eq!(seen["method"], "PUT");
    assert_eq!(seen["path"], "/reserve?a=1&b=x+y");
    assert_eq!(seen["body"], json!({"order": "o-1"}));
    assert_eq!(seen["headers"]["x-key"], "o-1");
    assert_eq!(seen["headers"]["idempotency-key"], "h/1/reserve");
}

#[tokio::test]
async fn an_answer_that_is_none_fails_the_step_without_another_try() {
    let text = "
name: w
steps: [{id: look, http: {url: '${input.base}/missing'}, onError: sad}]
handlers: [{id: sad, return: '${steps.look.error.details.status}'}]
";
    let (output, asked) = run(text, json!({})).await;
    assert_eq!(output.unwrap(), json!(404));
    assert_eq!(asked, ["GET /missing"]);
}

#[tokio::test]
async fn redirects_are_followed_only_as_often_as_said() {
    let text = "
name: w
steps: [{id: go, http: {url: '${input.base}/moved', followRedirects: 1}}]
output: '${steps.go.output.body.path}'
";
    let (output, asked) = run(text, json!({})).await;
    assert_eq!(output.unwrap(), json!("/there"));
    assert_eq!(asked, ["GET /moved", "GET /there"]);
    let (output, asked) = run(&text.replace(", followRedirects: 1", ""), json!({})).await;
    assert_eq!(output.unwrap_err().code, "STEP_FAILED");
    assert_eq!(asked, ["GET /moved"]);
}

#[tokio::test]
async fn who_is_told_when_to_come_back_does_not_come_sooner() {
    let text = "
name: w
steps: [{id: ask, http: {url: '${input.base}'}, retry: {maxAttempts: 2, delay: 1 second}}]
";
    let patient = text.replace("1 second", "1 second, maxDelay: 10 seconds");
    for (text, expect) in [(text, 90_000), (&patient, 10_000)] {
        let server = Loopback::start(|_| (429, json!(90))).await;
        let engine = engine(&[text]).start().await;
        let input = json!({"base": server.base});
        let handle = engine.start("w", Start::new(&input).id("h")).await.unwrap();
        assert_eq!(handle.failure().await.code, "STEP_RETRY_EXHAUSTED");
        let handle = engine.engine().get(&InstanceId::new("h").unwrap());
        let history = handle.history().await.unwrap();
        let delays: Vec<_> = history.iter().filter_map(|told| told.entry.delay_ms).collect();
        assert_eq!(delays, [expect]);
    }
}

#[tokio::test]
async fn a_stream_has_the_whole_text_as_its_body() {
    let text = "
name: w
steps: [{id: read, http: {url: '${input.base}/text', stream: true}}]
output: '${steps.read.output.body}'
";
    assert_eq!(run(text, json!({})).await.0.unwrap(), json!("word by word"));
}

#[tokio::test]
async fn a_tool_is_called_with_its_arguments_and_headers() {
    let text = "
name: w
steps:
  - {id: use, tool: {server: '${input.base}/mcp', name: '${input.tool}', arguments: {n: 1}, headers: {X-Key: k}}}
";
    let (output, _) = run(text, json!({"tool": "count"})).await;
    assert_eq!(output.unwrap(), json!({"tool": "count", "got": {"n": 1}}));
    let (refused, _) = run(&text.replace("X-Key: k", "X-Key: no"), json!({"tool": "count"})).await;
    let failure = refused.unwrap_err();
    assert!(failure.message.contains("401"), "{failure:?}");
}
