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

/// An engine with one document and one function that it may call.
async fn engine_with(text: &str, actions: Actions) -> TestEngine {
    let equipment = Arc::new(Equipment::new().unwrap().actions(actions));
    let flow = Arc::new(parse(text).unwrap());
    TestEngine::builder().register(workflow(&flow, 1, &equipment)).start().await
}

#[tokio::test]
async fn delays_grow_no_further_than_said_and_tries_end_after_so_long() {
    let down = async |(): ()| Err::<(), _>("down");
    let text = "
name: down
steps:
  - id: grows
    call: {action: down}
    retry: {maxAttempts: 6, delay: 10 seconds, backoff: exponential, maxDelay: 15 seconds}
    onError: next
  - {id: lasts, call: {action: down}, retry: {maxAttempts: 100, delay: 10 seconds, maxDuration: 35 seconds}}
handlers: [{id: next, set: {x: 1}}]
";
    let engine = engine_with(text, Actions::default().with("down", down)).await;
    let handle = engine.start("down", Start::new(&nothing()).id("d")).await.unwrap();
    handle.failure().await;
    let handle = engine.engine().get(&InstanceId::new("d").unwrap());
    let history = handle.history().await.unwrap();
    let delays: Vec<u64> = history
        .iter()
        .filter(|recorded| recorded.entry.name.as_deref() == Some("grows"))
        .filter_map(|recorded| recorded.entry.delay_ms)
        .collect();
    assert_eq!(delays.len(), 5, "{delays:?}");
    assert!(delays.iter().all(|delay| *delay <= 15_000), "{delays:?}");
    let lasts = handle.steps().await.unwrap().into_iter().find(|step| &*step.name == "lasts");
    let attempts = lasts.unwrap().attempts;
    assert!((2..=5).contains(&attempts), "{attempts}");
}

#[tokio::test]
async fn an_attempt_takes_no_longer_than_its_own_timeout_or_that_of_the_document() {
    let hang = async |(): ()| std::future::pending::<abide::Result<()>>().await;
    for text in [
        "
name: hangs
defaults: {timeout: 5 seconds, retry: {maxAttempts: 1}}
steps: [{id: hang, call: {action: hang}}]
",
        "
name: hangs
defaults: {timeout: 5 days, retry: {maxAttempts: 1}}
steps: [{id: hang, call: {action: hang}, timeout: 5 seconds}]
",
    ] {
        let engine = engine_with(text, Actions::default().with("hang", hang)).await;
        let handle = engine.start("hangs", Start::new(&nothing())).await.unwrap();
        handle.until_step_started("hang").await;
        engine.advance("6 seconds").await;
        let failure = handle.failure().await;
        assert_eq!(failure.code, "STEP_RETRY_EXHAUSTED", "{failure:?}");
        assert!(failure.message.contains("longer than 5s"), "{failure:?}");
    }
}
