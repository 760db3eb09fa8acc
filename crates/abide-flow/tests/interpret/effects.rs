//! Functions of the program, retries, timeouts, undoing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use abide::prelude::*;
use abide_flow::{Actions, Equipment, parse, workflow};
use abide_testkit::TestEngine;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::{comes_to, fails_with, nothing};

#[tokio::test]
async fn a_function_of_the_program_is_called_with_its_input() {
    let text = "
name: call
steps: [{id: twice, call: {action: double, input: '${input.n}'}}]
";
    comes_to(text, json!({"n": 21}), json!(42)).await;
    fails_with(text, json!({"n": "x"}), "STEP_FAILED", "double").await;
    fails_with(&text.replace("double", "halve"), json!({"n": 1}), "STEP_FAILED", "no action").await;
}

#[tokio::test]
async fn a_failed_step_is_tried_as_often_as_it_says() {
    let tries = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&tries);
    let flaky = move |(): ()| {
        let nth = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move { if nth < 4 { Err("down") } else { Ok(nth) } }
    };
    let equipment =
        Arc::new(Equipment::new().unwrap().actions(Actions::default().with("flaky", flaky)));
    let text = "
name: flaky
defaults: {retry: {maxAttempts: 2}}
steps:
  - {id: patient, call: {action: flaky}, retry: {maxAttempts: 5, delay: 10 seconds, backoff: linear}}
";
    let flow = Arc::new(parse(text).unwrap());
    let engine = TestEngine::builder().register(workflow(&flow, 1, &equipment)).start().await;
    let began = engine.now();
    let handle = engine.start("flaky", Start::new(&nothing())).await.unwrap();
    assert_eq!(handle.result::<u32>().await.unwrap(), 4);
    // Ten, twenty and thirty seconds, a little more or less.
    assert!(engine.now().since(began).as_secs() > 50);
    tries.store(0, Ordering::SeqCst);
    let hasty = text.replace(", retry: {maxAttempts: 5, delay: 10 seconds, backoff: linear}", "");
    let flow = Arc::new(parse(&hasty).unwrap());
    let engine = TestEngine::builder().register(workflow(&flow, 1, &equipment)).start().await;
    let handle = engine.start("flaky", Start::new(&nothing())).await.unwrap();
    assert_eq!(handle.failure().await.code, "STEP_RETRY_EXHAUSTED");
    assert_eq!(tries.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_was_done_is_undone_in_reverse_when_a_later_step_fails() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = Arc::clone(&log);
    let note = move |what: String| {
        written.lock().push(what.clone());
        async move { Ok::<_, Error>(what) }
    };
    let declined = async |(): ()| Err::<(), _>(NonRetryable::new("no money"));
    let actions = Actions::default().with("note", note).with("decline", declined);
    let equipment = Arc::new(Equipment::new().unwrap().actions(actions));
    let text = "
name: saga
steps:
  - {id: hotel, call: {action: note, input: book hotel}, compensate: no_hotel}
  - {id: context, set: {flight: LX-1}, compensate: no_flight}
  - {id: pay, call: {action: decline}}
handlers:
  - {id: no_hotel, call: {action: note, input: 'undo ${steps.hotel.output}'}}
  - {id: no_flight, call: {action: note, input: 'undo ${steps.context.output.flight}'}}
";
    let flow = Arc::new(parse(text).unwrap());
    let engine = TestEngine::builder().register(workflow(&flow, 1, &equipment)).start().await;
    let handle = engine.start("saga", Start::new(&nothing())).await.unwrap();
    assert_eq!(handle.failure().await.code, "STEP_FAILED");
    assert_eq!(*log.lock(), ["book hotel", "undo LX-1", "undo book hotel"]);
}

#[tokio::test]
async fn a_set_step_fills_the_context_and_shows_what_it_set() {
    let text = "
name: set
steps:
  - {id: a, set: {x: 1, list: [1, '${input.n}'], deep: {y: '${input.n}'}}}
output: {set: '${steps.a.output}', context: '${workflow.context.deep.y}'}
";
    let expect = json!({"set": {"x": 1, "list": [1, 7], "deep": {"y": 7}}, "context": 7});
    comes_to(text, json!({"n": 7}), expect).await;
}

#[tokio::test]
async fn a_tool_without_configuration_says_so() {
    let text = "
name: tool
steps: [{id: use, tool: {}}]
";
    fails_with(text, Value::Null, "VALIDATION_ERROR", "Tool step missing tool configuration").await;
}

/// A server that answers every request with what it got, as JSON; the body of a failing one is its
/// status.
async fn echo_server() -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 16 * 1024];
            let read = socket.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let status =
                if request.starts_with("GET /missing") { "404 Not Found" } else { "200 OK" };
            let answer = json!({ "request": request }).to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            let _ = socket.write_all(format!("{head}{answer}").as_bytes()).await;
        }
    });
    base
}

#[tokio::test]
async fn a_url_is_called_with_a_key_and_its_answer_is_the_output() {
    let base = echo_server().await;
    let text = "
name: http
steps:
  - {id: reserve, http: {method: POST, url: '${input.base}/reserve', body: {order: '${input.order}'}}}
output: {status: '${steps.reserve.output.status}', request: '${steps.reserve.output.body.request}'}
";
    let flow = Arc::new(parse(text).unwrap());
    let equipment = Arc::new(Equipment::new().unwrap());
    let store: Arc<dyn abide::store::Store> = Arc::new(abide_testkit::MemoryStore::default());
    let engine = Engine::on(store).register(workflow(&flow, 1, &equipment)).start().await.unwrap();
    let input = json!({"base": base, "order": 7});
    let handle = engine.start("http", Start::new(&input).id("h")).await.unwrap();
    let output: Value = handle.result().await.unwrap();
    assert_eq!(output["status"], json!(200));
    let request = output["request"].as_str().unwrap();
    assert!(request.starts_with("POST /reserve"), "{request}");
    assert!(request.contains(r#"{"order":7}"#), "{request}");
    assert!(request.contains("idempotency-key: h/1/reserve"), "{request}");
}

#[tokio::test]
async fn an_answer_that_is_none_fails_the_step_without_another_try() {
    let base = echo_server().await;
    let text = "
name: http
steps: [{id: look, http: {url: '${input.base}/missing'}, onError: sad}]
handlers: [{id: sad, return: '${steps.look.error.details.status}'}]
";
    let flow = Arc::new(parse(text).unwrap());
    let equipment = Arc::new(Equipment::new().unwrap());
    let store: Arc<dyn abide::store::Store> = Arc::new(abide_testkit::MemoryStore::default());
    let engine = Engine::on(store).register(workflow(&flow, 1, &equipment)).start().await.unwrap();
    let handle = engine.start("http", Start::new(&json!({"base": base}))).await.unwrap();
    assert_eq!(handle.result::<Value>().await.unwrap(), json!(404));
    let look =
        handle.steps().await.unwrap().into_iter().find(|step| &*step.name == "look").unwrap();
    assert_eq!(look.attempts, 1);
}
