//! Order, conditions, jumps, handlers, ends.

use serde_json::json;

use crate::harness::{comes_to, fails_with, nothing, run};

#[tokio::test]
async fn steps_run_in_order_and_the_last_output_is_that_of_the_workflow() {
    let text = "
name: order
steps:
  - {id: a, set: {x: 1}}
  - {id: b, set: {y: '${workflow.context.x + 1}'}}
";
    comes_to(text, nothing(), json!({"y": 2})).await;
}

#[tokio::test]
async fn the_output_of_a_workflow_is_what_it_says_it_is() {
    let text = "
name: output
steps:
  - {id: a, set: {x: 1}}
output: {sum: '${workflow.context.x + steps.a.output.x}', who: 'order ${input.id}'}
";
    comes_to(text, json!({"id": 7}), json!({"sum": 2, "who": "order 7"})).await;
}

#[tokio::test]
async fn context_is_the_input_or_what_the_document_says() {
    let plain = "
name: plain
steps: [{id: a, return: '${workflow.context}'}]
";
    comes_to(plain, json!({"a": 1}), json!({"a": 1})).await;
    let own = "
name: own
context: {orderId: '${input.order}', n: 3}
steps: [{id: a, return: '${workflow.context}'}]
";
    comes_to(own, json!({"order": "o-1", "x": 1}), json!({"orderId": "o-1", "n": 3})).await;
}

#[tokio::test]
async fn a_condition_that_is_false_skips_the_step_and_its_output_is_null() {
    let text = "
name: skip
steps:
  - {id: a, if: input.go, set: {x: 1}}
  - {id: b, return: '${steps.a.output}'}
";
    comes_to(text, json!({"go": false}), json!(null)).await;
    comes_to(text, json!({"go": true}), json!({"x": 1})).await;
}

#[tokio::test]
async fn next_jumps_and_a_jump_back_runs_the_step_again() {
    let text = "
name: loop
context: {n: 0}
steps:
  - {id: count, set: {n: '${workflow.context.n + 1}'}}
  - id: again
    switch: [{when: workflow.context.n < 3, next: count}]
  - {id: skip, set: {m: 1}, next: end}
  - {id: never, fail: {code: NEVER, message: not reached}, if: 'true'}
  - {id: end, return: '${workflow.context.n}'}
  - {id: unused, set: {z: 1}, next: never}
";
    let text = text
        .replace("  - {id: never, fail: {code: NEVER, message: not reached}, if: 'true'}\n", "");
    let text = text.replace("  - {id: unused, set: {z: 1}, next: never}\n", "");
    comes_to(&text, nothing(), json!(3)).await;
}

#[tokio::test]
async fn a_switch_goes_where_the_first_true_case_says() {
    let text = "
name: switch
steps:
  - id: which
    switch: [{when: input.n > 10, next: many}, {when: input.n > 5, next: some}, {next: few}]
  - {id: many, return: many}
  - {id: some, return: some}
  - {id: few, return: few}
";
    for (n, expect) in [(11, "many"), (6, "some"), (1, "few")] {
        comes_to(text, json!({"n": n}), json!(expect)).await;
    }
}

#[tokio::test]
async fn a_failure_goes_to_its_handler_and_then_on_behind_the_step() {
    let text = "
name: handled
steps:
  - {id: bad, call: {action: decline, input: 'no money'}, onError: mend}
  - {id: after, set: {after: true}}
handlers:
  - {id: mend, set: {why: '${steps.bad.error.code}: ${steps.bad.error.message}'}}
output: '${workflow.context}'
";
    let output = run(&[text], nothing(), async |_| Ok(())).await.unwrap();
    assert_eq!(output["after"], json!(true));
    assert!(output["why"].as_str().unwrap().contains("no money"), "{output}");
}

#[tokio::test]
async fn a_failure_nobody_handles_ends_the_workflow() {
    let text = "
name: unhandled
steps: [{id: bad, call: {action: decline, input: 'no money'}}]
";
    fails_with(text, nothing(), "STEP_FAILED", "no money").await;
}

#[tokio::test]
async fn fail_ends_with_its_code_and_return_with_its_value() {
    let fail = "
name: fail
steps: [{id: stop, fail: {code: OUT_OF_STOCK, message: 'no ${input.what} left'}}]
";
    fails_with(fail, json!({"what": "tea"}), "OUT_OF_STOCK", "no tea left").await;
    let early = "
name: return
steps:
  - {id: a, if: input.early, return: {early: true}}
  - {id: b, set: {x: 1}}
";
    comes_to(early, json!({"early": true}), json!({"early": true})).await;
    comes_to(early, json!({"early": false}), json!({"x": 1})).await;
}

#[tokio::test]
async fn progress_is_told_with_every_top_level_step() {
    let text = "
name: progress
steps:
  - {id: a, set: {x: 1}}
  - {id: b, parallel: [[{id: c, set: {y: 1}}, {id: d, set: {z: 1}}]]}
  - {id: last, set: {w: 1}}
";
    let output = run(&[text], nothing(), async |handle| {
        let told: serde_json::Value = handle.until_output("progress").await?;
        assert_eq!(told["totalPhases"], json!(3));
        Ok(())
    })
    .await;
    output.unwrap();
    let engine = crate::harness::engine(&[text]).start().await;
    let handle = engine.start("progress", abide::Start::new(&nothing())).await.unwrap();
    handle.result::<serde_json::Value>().await.unwrap();
    let told: serde_json::Value = handle.until_output("progress").await.unwrap();
    assert_eq!(told, json!({"currentPhase": 3, "totalPhases": 3, "completedSteps": 3}));
}
