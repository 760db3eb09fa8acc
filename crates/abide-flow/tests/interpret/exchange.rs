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

const THREE_LETTERS: &str = "
name: three
steps:
  - {id: a, receive: {topic: post}}
  - {id: b, receive: {topic: post}}
  - {id: c, receive: {topic: post}}
output: ['${steps.a.output.payload}', '${steps.b.output.payload}', '${steps.c.output.payload}']
";

#[tokio::test]
async fn messages_have_ids_and_may_come_later() {
    let text = "
name: sender
steps:
  - {id: start, workflow: {name: three, id: '${workflow.id}-r', detached: true}}
  - {id: at_last, send: {to: '${steps.start.output.instanceId}', topic: post, payload: last, visibleAt: '${input.at}'}}
  - {id: later, send: {to: '${steps.start.output.instanceId}', topic: post, payload: later, delay: 1 hour}}
  - {id: once, send: {to: '${steps.start.output.instanceId}', topic: post, payload: first, id: same}}
  - {id: twice, send: {to: '${steps.start.output.instanceId}', topic: post, payload: again, id: same}}
";
    let engine = engine(&[text, THREE_LETTERS]).start().await;
    let input = json!({"at": "2031-01-01T00:00:00Z"});
    let handle = engine.start("sender", Start::new(&input).id("s")).await.unwrap();
    handle.result::<Value>().await.unwrap();
    let received = engine.get("s-r").result::<Value>().await.unwrap();
    assert_eq!(received, json!(["first", "later", "last"]));
    let someday = json!({"at": "someday"});
    let failure = run(&[text, THREE_LETTERS], someday, async |_| Ok(())).await.unwrap_err();
    assert_eq!(failure.code, "VALIDATION_ERROR", "{failure:?}");
    assert!(failure.message.contains("send.visibleAt"), "{failure:?}");
}

#[tokio::test]
async fn events_have_ids_and_may_come_later() {
    let receiver = "
name: hearer
events: {news: {buffer: queue}}
steps:
  - {id: a, waitForEvent: {eventPattern: news}}
  - {id: b, waitForEvent: {eventPattern: news}}
  - {id: c, waitForEvent: {eventPattern: news}}
output: ['${steps.a.output.payload}', '${steps.b.output.payload}', '${steps.c.output.payload}']
";
    let text = "
name: sender
steps:
  - {id: start, workflow: {name: hearer, id: '${workflow.id}-r', detached: true}}
  - {id: at_last, sendEvent: {to: '${steps.start.output.instanceId}', type: news, payload: last, visibleAt: 1924992000000}}
  - {id: later, sendEvent: {to: '${steps.start.output.instanceId}', type: news, payload: later, delay: 1 hour}}
  - {id: once, sendEvent: {to: '${steps.start.output.instanceId}', type: news, payload: first, id: '${input.id}'}}
  - {id: twice, sendEvent: {to: '${steps.start.output.instanceId}', type: news, payload: again, id: '${input.id}'}}
";
    let engine = engine(&[text, receiver]).start().await;
    let handle = engine.start("sender", Start::new(&json!({"id": "n-1"})).id("s")).await.unwrap();
    handle.result::<Value>().await.unwrap();
    let received = engine.get("s-r").result::<Value>().await.unwrap();
    assert_eq!(received, json!(["first", "later", "last"]));
}

#[tokio::test]
async fn who_sends_to_one_that_has_ended_says_whether_that_is_an_error() {
    let text = "
name: sender
steps:
  - {id: run, workflow: {name: short, id: '${workflow.id}-r'}}
  - {id: ignored, send: {to: '${workflow.id}-r', topic: post, onTerminal: ignore}}
  - {id: ignored_too, sendEvent: {to: '${workflow.id}-r', type: post, onTerminal: ignore}}
  - {id: refused, send: {to: '${workflow.id}-r', topic: post, onTerminal: error}, onError: noted}
  - {id: refused_too, sendEvent: {to: '${workflow.id}-r', type: post}, onError: noted}
handlers: [{id: noted, set: {noted: true}}]
output:
  ignored: ['${steps.ignored.output.delivered}', '${steps.ignored_too.output.buffered}']
  refused: ['${steps.refused.error.code}', '${steps.refused_too.error.code}']
";
    let short = "
name: short
steps: [{id: a, set: {x: 1}}]
";
    let output = run(&[text, short], nothing(), async |_| Ok(())).await.unwrap();
    let refused = "WORKFLOW_NOT_RUNNING";
    assert_eq!(output, json!({"ignored": [0, false], "refused": [refused, refused]}));
}

#[tokio::test]
async fn a_published_event_says_what_it_is_about_and_belongs_to() {
    let text = "
name: publisher
steps:
  - {id: tell, publish: {type: order.shipped, payload: 7, subject: '${input.order}', correlationId: 'c-${input.order}'}}
  - id: hear
    waitForEvent:
      eventPattern: order.shipped
      filterCondition: event.subject === input.order && event.correlationId === 'c-1'
      timeout: 1 hour
output: '${steps.hear.output.payload}'
";
    comes_to(text, json!({"order": "1"}), json!(7)).await;
    fails_with(text, json!({"order": "2"}), "EVENT_TIMEOUT", "order.shipped").await;
}

#[tokio::test]
async fn a_child_whose_input_does_not_fit_fails_the_step() {
    let child = "
name: child
input: {type: object, required: [n]}
steps: [{id: done, return: '${input.n}'}]
";
    let text = "
name: parent
steps:
  - {id: run, workflow: {name: child, input: {m: 1}}, onError: told}
  - {id: aside, workflow: {name: child, input: {m: 1}, detached: true}, onError: told}
handlers: [{id: told, set: {code: '${steps.run.error.code}'}}]
output: '${workflow.context.code} ${steps.aside.error.code}'
";
    let output = run(&[text, child], nothing(), async |_| Ok(())).await;
    assert_eq!(output.unwrap(), json!("VALIDATION_ERROR VALIDATION_ERROR"));
}
