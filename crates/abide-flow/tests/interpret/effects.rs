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

/// What a document notes until it is declined.
async fn noted(text: &str) -> Vec<String> {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = Arc::clone(&log);
    let note = move |what: String| {
        written.lock().push(what.clone());
        async move { Ok::<_, Error>(what) }
    };
    let declined = async |(): ()| Err::<(), _>(NonRetryable::new("no money"));
    let actions = Actions::default().with("note", note).with("decline", declined);
    let engine = engine_with(text, actions).await;
    let handle = engine.start("saga", Start::new(&nothing())).await.unwrap();
    assert_eq!(handle.failure().await.code, "STEP_FAILED");
    log.lock().clone()
}

#[tokio::test]
async fn what_was_done_is_undone_in_reverse_when_a_later_step_fails() {
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
    assert_eq!(noted(text).await, ["book hotel", "undo LX-1", "undo book hotel"]);
}

#[tokio::test]
async fn what_was_done_in_branches_is_undone_with_what_each_knew() {
    let text = "
name: saga
steps:
  - id: rooms
    forEach:
      items: [a, b]
      as: room
      concurrency: 1
      steps:
        - {id: book, call: {action: note, input: 'book ${room}'}, compensate: cancel}
        - {id: mark, set: {marked: '${room}'}, compensate: unmark}
  - id: both
    parallel: [[{id: left, set: {l: 1}, compensate: no_left}], [{id: tell, setOutput: {key: k, value: 1}, compensate: no_tell}]]
  - {id: pay, call: {action: decline}}
handlers:
  - {id: cancel, call: {action: note, input: 'cancel ${room}: ${steps.book.output}'}}
  - {id: unmark, call: {action: note, input: 'unmark ${room}'}}
  - {id: no_left, call: {action: note, input: no left}}
  - {id: no_tell, call: {action: note, input: no tell}}
";
    let mut noted = noted(text).await;
    assert_eq!(noted[..2], ["book a", "book b"]);
    // Branches end as they end; their undoing is in the same order.
    noted[2..4].sort();
    let undone =
        ["no left", "no tell", "unmark b", "cancel b: book b", "unmark a", "cancel a: book a"];
    assert_eq!(noted[2..], undone);
}

#[tokio::test]
async fn a_race_a_loop_and_a_wait_can_be_undone_as_a_whole() {
    let text = "
name: saga
steps:
  - {id: first, race: [{id: quick, sleep: 1 second}, {id: slow, sleep: 1 day}], compensate: no_race}
  - {id: hop, race: [{id: short, sleep: 1 second, next: aside}, {id: long, sleep: 1 day}], compensate: no_hop}
  - {id: each, forEach: {items: [1, 2], steps: [{id: x, set: {n: '${item}'}}]}, compensate: no_loop}
  - {id: nap, sleep: 1 minute, compensate: no_nap}
  - {id: child, publish: {type: told}, compensate: no_publish}
  - {id: pay, call: {action: decline}}
handlers:
  - {id: aside, set: {x: 1}}
  - {id: no_race, call: {action: note, input: 'undo ${steps.first.output.winner}'}}
  - {id: no_hop, call: {action: note, input: 'undo ${steps.hop.output.winner}'}}
  - {id: no_loop, call: {action: note, input: 'undo ${steps.each.output.length}'}}
  - {id: no_nap, call: {action: note, input: 'undo nap'}}
  - {id: no_publish, call: {action: note, input: 'undo ${steps.child.output.matchedCount}'}}
";
    let undone = ["undo 0", "undo nap", "undo 2", "undo short", "undo quick"];
    assert_eq!(noted(text).await, undone);
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

#[tokio::test]
async fn a_fixed_delay_is_a_constant_one() {
    for backoff in ["fixed", "constant", "'${input.backoff}'"] {
        let text = format!(
            "{{name: fixed, steps: [{{id: a, call: {{action: refuse, input: no}},
              retry: {{maxAttempts: 2, delay: 1 second, backoff: {backoff}}}}}]}}"
        );
        fails_with(&text, json!({"backoff": "fixed"}), "STEP_RETRY_EXHAUSTED", "2 times").await;
    }
}
