//! Telling others.

use abide::history::EntryKind;
use abide::prelude::*;
use serde_json::{Value, json};

use crate::harness::{comes_to, engine, fails_with, nothing, run};

const RECEIVER: &str = "
name: receiver
steps:
  - {id: letter, receive: {topic: post}}
  - {id: news, waitForEvent: {eventPattern: news}}
output: ['${steps.letter.output.payload}', '${steps.letter.output.sourceInstanceId}', '${steps.news.output.payload}']
";

#[tokio::test]
async fn messages_and_events_reach_a_child_that_was_started() {
    let text = "
name: sender
steps:
  - {id: start, workflow: {name: receiver, id: '${workflow.id}-r', detached: true}}
  - {id: letter, send: {to: '${steps.start.output.instanceId}', topic: post, payload: dear}}
  - {id: tell, sendEvent: {to: '${steps.start.output.instanceId}', type: news, payload: {n: 1}}}
  - {id: answer, return: {letter: '${steps.letter.output}', tell: '${steps.tell.output}'}}
";
    let engine = engine(&[text, RECEIVER]).start().await;
    let handle = engine.start("sender", Start::new(&nothing()).id("s")).await.unwrap();
    let output = handle.result::<Value>().await.unwrap();
    assert!(output["letter"]["eventId"].is_string(), "{output}");
    let received = engine.get("s-r").result::<Value>().await.unwrap();
    assert_eq!(received, json!(["dear", "s", {"n": 1}]));
    run(&[text, RECEIVER], nothing(), async |_| Ok(())).await.unwrap();
}

#[tokio::test]
async fn sending_to_nobody_fails_and_may_be_handled() {
    let text = "
name: nobody
steps: [{id: letter, send: {to: nobody, topic: post}, onError: lost}]
handlers: [{id: lost, return: '${steps.letter.error.code}'}]
";
    comes_to(text, nothing(), json!("WORKFLOW_NOT_FOUND")).await;
}

#[tokio::test]
async fn a_child_gives_its_output_and_its_failure() {
    let child = "
name: child
input: {type: object, required: [n]}
steps:
  - {id: bad, if: input.n < 0, fail: {code: NEGATIVE, message: too small}}
  - {id: good, return: '${input.n * 2}'}
";
    let text = "
name: parent
steps:
  - {id: run, workflow: {name: child, id: '${workflow.id}-child', input: {n: '${input.n}'}}, onError: sad}
  - {id: answer, return: '${steps.run.output}'}
handlers: [{id: sad, return: '${steps.run.error.message}'}]
";
    let good = run(&[text, child], json!({"n": 4}), async |_| Ok(())).await;
    assert_eq!(good.unwrap(), json!(8));
    let bad = run(&[text, child], json!({"n": -4}), async |_| Ok(())).await.unwrap();
    assert!(bad.as_str().unwrap().contains("too small"), "{bad}");
}

#[tokio::test]
async fn an_unknown_child_fails_the_step() {
    let text = "
name: parent
steps: [{id: run, workflow: {name: no such}}]
";
    fails_with(text, nothing(), "WORKFLOW_TYPE_UNKNOWN", "no such").await;
}

#[tokio::test]
async fn a_document_publishes_and_sees_the_verdict() {
    let text = "
name: publisher
steps: [{id: tell, publish: {type: '${input.type}', payload: {order: '${input.order}'}}}]
";
    let output =
        run(&[text], json!({"order": 7, "type": "order.shipped"}), async |_| Ok(())).await.unwrap();
    assert_eq!((&output["matchedCount"], &output["duplicate"]), (&json!(0), &json!(false)));
    let wrong = json!({"order": 7, "type": "a..b"});
    fails_with(text, wrong, "VALIDATION_ERROR", "a..b").await;
}

#[tokio::test]
async fn outputs_are_set_and_read_by_others() {
    let text = "
name: setter
steps:
  - {id: tell, setOutput: {key: progress-bar, value: '${input.n}'}}
  - {id: other, workflow: {name: reader, input: {from: '${workflow.id}'}}}
output: {set: '${steps.tell.output}', read: '${steps.other.output}'}
";
    let reader = "
name: reader
steps: [{id: read, getOutput: {from: '${input.from}', key: progress-bar, timeout: 1 hour}}]
";
    let output = run(&[text, reader], json!({"n": 5}), async |_| Ok(())).await.unwrap();
    assert_eq!(output, json!({"set": {"progress-bar": 5}, "read": 5}));
    let lonely = "
name: lonely
steps: [{id: read, getOutput: {from: nobody, key: k, timeout: 1 second}}]
";
    fails_with(lonely, nothing(), "EVENT_TIMEOUT", "k").await;
}

#[tokio::test]
async fn an_update_is_told_once_in_the_history() {
    let text = "
name: teller
steps:
  - {id: tell, emit: {name: halfway, data: {percent: 50}}}
  - {id: nap, sleep: 1 minute}
";
    run(&[text], nothing(), async |_| Ok(())).await.unwrap();
    let engine = engine(&[text]).start().await;
    let handle = engine.start("teller", Start::new(&nothing()).id("t")).await.unwrap();
    handle.result::<Value>().await.unwrap();
    let history = engine.engine().get(&InstanceId::new("t").unwrap()).history().await.unwrap();
    let told: Vec<_> =
        history.iter().filter(|recorded| recorded.entry.entry == EntryKind::Update).collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].entry.name.as_deref(), Some("halfway"));
}
