//! Sleeps, events, signals, messages, outputs of others.

use abide::Publication;
use abide::prelude::*;
use abide_testkit::TestHandle;
use serde_json::{Value, json};

use crate::harness::{comes_to, engine, fails_with, nothing, run};

#[tokio::test]
async fn a_sleep_says_how_long_it_took() {
    let text = "
name: sleep
steps: [{id: nap, sleep: 2 minutes}]
";
    comes_to(text, nothing(), json!({"slept": true, "sleepDurationMs": 120_000})).await;
    let template = "
name: sleep
steps: [{id: nap, sleep: '${input.ms}'}]
";
    comes_to(template, json!({"ms": 1500}), json!({"slept": true, "sleepDurationMs": 1500})).await;
    fails_with(template, json!({"ms": "soon"}), "VALIDATION_ERROR", "soon").await;
}

#[tokio::test]
async fn a_sleep_until_a_moment_that_has_passed_is_short() {
    let text = "
name: until
steps: [{id: nap, sleepUntil: '2001-01-01T00:00:00Z'}]
";
    comes_to(text, nothing(), json!({"slept": true, "sleepDurationMs": 0})).await;
}

const PAYMENT: &str = "
name: payment
context: {orderId: '${input.orderId}', expectedAmount: '${input.amount}'}
steps:
  - id: wait_for_payment
    waitForEvent:
      eventPattern: payment.received
      filterCondition: event.payload.orderId === workflow.context.orderId && event.payload.amount >= workflow.context.expectedAmount
      timeout: 24 hours
      eventPayloadMapping: {paymentId: id, paymentMethod: method.type, label: 'for ${workflow.context.orderId}', missing: no.such, fixed: 7}
output: '${workflow.context}'
";

#[tokio::test]
async fn an_event_is_filtered_mapped_and_shown() {
    let payment = json!({"orderId": "o-1", "amount": 120, "id": "p-1", "method": {"type": "visa"}});
    let output = run(&[PAYMENT], json!({"orderId": "o-1", "amount": 100}), async |handle| {
        handle.send_event("payment.received", &json!({"orderId": "o-1", "amount": 90})).await?;
        handle.send_event("payment.received", &payment).await?;
        Ok(())
    })
    .await;
    let expect = json!({
        "orderId": "o-1", "expectedAmount": 100, "paymentId": "p-1", "paymentMethod": "visa",
        "label": "for o-1", "missing": null, "fixed": 7,
    });
    assert_eq!(output.unwrap(), expect);
}

#[tokio::test]
async fn a_published_event_finds_the_instance() {
    let engine = engine(&[PAYMENT]).start().await;
    let start = Start::new(&json!({"orderId": "o-7", "amount": 10}));
    let handle = engine.start("payment", start).await.unwrap();
    handle.until_wait("wait_for_payment").await;
    let payload = Json::encode(&json!({"orderId": "o-7", "amount": 10, "id": "p"})).unwrap();
    let event = Publication { payload: Some(payload), ..Publication::new("payment.received") };
    assert_eq!(engine.engine().publish(event).await.unwrap().matched_count, 1);
    assert_eq!(handle.result::<Value>().await.unwrap()["paymentId"], json!("p"));
}

use abide::Json;

#[tokio::test]
async fn the_output_of_a_wait_is_the_event() {
    let text = "
name: wait
steps: [{id: approval, waitForEvent: {}}]
";
    let output = run(&[text], nothing(), async |handle| {
        handle.send_event("approval", &json!({"ok": true})).await.map(drop)
    })
    .await;
    let output = output.unwrap();
    assert_eq!((&output["type"], &output["payload"]), (&json!("approval"), &json!({"ok": true})));
    assert!(output["id"].is_string() && output["time"].is_string(), "{output}");
}

#[tokio::test]
async fn a_timeout_goes_to_its_handler_which_may_wait_again() {
    let text = "
name: reminder
context: {reminded: 0}
steps:
  - id: answer
    waitForEvent: {eventPattern: answer.*, timeout: 1 hour, timeoutHandlerStepId: remind}
    onError: never
  - {id: done, return: {reminded: '${workflow.context.reminded}', answer: '${steps.answer.output.payload}'}}
handlers:
  - {id: remind, set: {reminded: '${workflow.context.reminded + 1}', why: '${steps.answer.error.details.eventType}'}, next: answer}
  - {id: never, fail: {code: NEVER, message: the timeout handler wins}}
";
    let output = run(&[text], nothing(), async |handle| {
        handle.until_wait("answer#3").await;
        handle.send_event("answer.yes", &json!("yes")).await.map(drop)
    })
    .await;
    assert_eq!(output.unwrap(), json!({"reminded": 2, "answer": "yes"}));
}

#[tokio::test]
async fn a_timeout_nobody_handles_ends_with_its_code() {
    let text = "
name: timeout
steps: [{id: answer, waitForEvent: {timeout: 1 hour}}]
";
    fails_with(text, nothing(), "EVENT_TIMEOUT", "answer").await;
    let default = "
name: timeout
defaults: {waitTimeout: 1 minute}
steps: [{id: answer, waitForEvent: {}, onError: late}]
handlers: [{id: late, return: '${steps.answer.error.details.timeoutMs}'}]
";
    comes_to(default, nothing(), json!(60_000)).await;
}

#[tokio::test]
async fn several_patterns_are_heard_by_one_wait() {
    let text = "
name: either
steps: [{id: either, waitForEvent: {eventPattern: [yes, no.*]}}]
";
    let output =
        run(&[text], nothing(), async |handle| handle.send_event("no.never", &1).await.map(drop))
            .await;
    assert_eq!(output.unwrap()["type"], json!("no.never"));
}

#[tokio::test]
async fn so_many_with_a_distinct_key_are_an_array() {
    let text = "
name: quorum
steps: [{id: votes, waitForEvent: {eventPattern: vote, count: 2, distinctBy: event.payload.user}}]
output: '${steps.votes.output}'
";
    let output = run(&[text], nothing(), async |handle| {
        handle.until_wait("votes").await;
        for user in ["ann", "ann", "bob"] {
            handle.send_event("vote", &json!({"user": user})).await?;
        }
        Ok(())
    })
    .await;
    let users: Vec<Value> = output
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(|vote| vote["payload"]["user"].clone())
        .collect();
    assert_eq!(users, [json!("ann"), json!("bob")]);
}

#[tokio::test]
async fn a_filter_knows_steps_and_loop_variables() {
    let text = "
name: known
steps:
  - {id: made, set: {key: k-1}}
  - id: each
    forEach:
      items: [1, 2]
      steps:
        - {id: hit, waitForEvent: {eventPattern: hit, filterCondition: event.payload.n === item && event.payload.key === steps.made.output.key}}
output: '${steps.each.output}'
";
    let output = run(&[text], nothing(), async |handle| {
        handle.until_wait("each[1].hit").await;
        for n in [2, 1] {
            handle.send_event("hit", &json!({"n": n, "key": "k-1"})).await?;
        }
        Ok(())
    })
    .await;
    let output = output.unwrap();
    assert_eq!((&output[0]["payload"]["n"], &output[1]["payload"]["n"]), (&json!(1), &json!(2)));
}

#[tokio::test]
async fn a_signal_and_a_message_show_what_they_were() {
    let text = "
name: mail
steps:
  - {id: go, waitForSignal: {name: go, timeout: 1 hour}}
  - {id: letter, receive: {topic: post}}
output: {signal: '${steps.go.output}', message: '${steps.letter.output}'}
";
    let output = run(&[text], nothing(), async |handle| {
        handle.signal("go", &json!({"n": 1})).await?;
        handle.message("post", &json!("dear")).await.map(drop)
    })
    .await;
    let output = output.unwrap();
    assert_eq!(output["signal"]["signalName"], json!("go"));
    assert_eq!(output["signal"]["payload"], json!({"n": 1}));
    assert!(
        output["signal"]["receivedAt"].is_string() && output["signal"]["waitDurationMs"].is_u64()
    );
    assert_eq!(output["message"]["topic"], json!("post"));
    assert_eq!(output["message"]["payload"], json!("dear"));
}

#[tokio::test]
async fn a_signal_that_does_not_come_is_a_timeout() {
    let text = "
name: signal
steps: [{id: go, waitForSignal: {name: go, timeout: 5 seconds}}]
";
    fails_with(text, nothing(), "EVENT_TIMEOUT", "5000").await;
}

#[tokio::test]
async fn declared_events_are_checked_and_waits_declare_theirs() {
    let text = "
name: declared
events:
  approval: {schema: {type: object, properties: {approved: {type: boolean}}, required: [approved]}, buffer: latest}
steps:
  - {id: approval, waitForEvent: {eventPattern: approval}}
  - {id: extra, waitForEvent: {eventPattern: extra.*}}
output: '${steps.approval.output.payload.approved}'
";
    let engine = engine(&[text]).start().await;
    let handle = engine.start("declared", Start::new(&nothing())).await.unwrap();
    let refused = handle.send_event("approval", &json!({"approved": "yes"})).await.unwrap_err();
    assert_eq!(refused.code(), "EVENT_INVALID");
    assert_eq!(handle.send_event("other", &1).await.unwrap_err().code(), "EVENT_INVALID");
    handle.send_event("extra.one", &1).await.unwrap();
    handle.send_event("approval", &json!({"approved": true})).await.unwrap();
    assert_eq!(handle.result::<Value>().await.unwrap(), json!(true));
}

#[tokio::test]
async fn a_wait_may_call_its_pattern_type_and_end_at_a_moment() {
    let text = "
name: until
steps: [{id: pay, waitForEvent: {type: paid, timeoutAt: '${input.until}'}}]
output: '${steps.pay.output.payload}'
";
    let until = json!({"until": "2031-01-01T00:00:00Z"});
    let pay = async |handle: TestHandle| handle.send_event("paid", &json!(7)).await.map(drop);
    assert_eq!(run(&[text], until.clone(), pay).await.unwrap(), json!(7));
    let late = run(&[text], until, async |_| Ok(())).await.unwrap_err();
    assert_eq!(late.code, "EVENT_TIMEOUT");
    let details: Value = late.details.unwrap().decode().unwrap();
    assert_eq!(details["timeoutAt"], json!("2031-01-01T00:00:00.000Z"));
    fails_with(text, json!({"until": "someday"}), "VALIDATION_ERROR", "timeoutAt").await;
}

#[tokio::test]
async fn a_wait_that_says_nothing_takes_the_timeout_of_its_step() {
    for kind in [
        "waitForEvent: {}",
        "waitForEvent: {eventPattern: [answer, refusal]}",
        "waitForSignal: {name: answer}",
        "receive: {topic: answer}",
        "getOutput: {from: nobody, key: answer}",
    ] {
        let text =
            format!("{{name: patience, steps: [{{id: answer, timeout: 1 minute, {kind}}}]}}");
        fails_with(&text, nothing(), "EVENT_TIMEOUT", "within 60000 ms").await;
    }
    let own = "
name: patience
steps: [{id: answer, timeout: 1 minute, waitForEvent: {timeout: 2 minutes}}]
";
    fails_with(own, nothing(), "EVENT_TIMEOUT", "within 120000 ms").await;
}

#[tokio::test]
async fn a_wait_that_can_not_begin_has_its_own_name() {
    for kind in [
        "waitForEvent: {timeout: '${input.no}'}",
        "waitForEvent: {count: '${input.no}'}",
        "waitForEvent: {since: '${input.no}'}",
        "workflow: {name: unready, id: '${input.no}'}",
        "sendEvent: {to: x, type: y, delay: '${input.no}'}",
    ] {
        let text = format!("{{name: unready, steps: [{{id: answer, {kind}}}]}}");
        let failure = run(&[&text], nothing(), async |_| Ok(())).await.unwrap_err();
        assert_eq!((&*failure.code, failure.step.as_deref()), ("VALIDATION_ERROR", Some("answer")));
    }
}
