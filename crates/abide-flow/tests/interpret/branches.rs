//! Beside each other, against each other, for every item.

use serde_json::json;

use crate::harness::{comes_to, fails_with, nothing, run};

#[tokio::test]
async fn branches_run_beside_each_other_and_give_their_last_outputs() {
    let text = "
name: parallel
steps:
  - id: both
    parallel:
      - [{id: a, sleep: 1 hour}, {id: b, set: {x: 1}}]
      - [{id: c, set: {y: 2}}]
";
    comes_to(text, nothing(), json!([{"x": 1}, {"y": 2}])).await;
}

#[tokio::test]
async fn every_branch_settles_before_the_first_error_counts() {
    let text = "
name: settle
steps:
  - id: both
    parallel:
      - [{id: bad, call: {action: decline, input: no}}]
      - [{id: nap, sleep: 1 hour}, {id: done, setOutput: {key: done, value: true}}]
";
    let failure = run(&[text], nothing(), async |handle| {
        assert!(handle.until_output::<bool>("done").await?);
        Ok(())
    })
    .await;
    assert_eq!(failure.unwrap_err().code, "STEP_FAILED");
}

#[tokio::test]
async fn phases_are_lists_of_steps_beside_each_other() {
    let text = "
name: phases
steps:
  - [{id: a, set: {x: 1}}, {id: b, set: {y: 2}}]
  - [{id: c, set: {sum: '${steps.a.output.x + steps.b.output.y}'}}]
output: '${workflow.context.sum}'
";
    comes_to(text, nothing(), json!(3)).await;
}

#[tokio::test]
async fn the_first_of_a_race_decides_and_the_others_are_cancelled() {
    let text = "
name: race
steps:
  - {id: first, race: [{id: slow, sleep: 1 hour}, {id: quick, sleep: 1 minute}]}
";
    let output = run(&[text], nothing(), async |_| Ok(())).await.unwrap();
    assert_eq!(output["winner"], json!("quick"));
    assert_eq!(output["output"]["sleepDurationMs"], json!(60_000));
    let fails = "
name: race
steps:
  - {id: first, race: [{id: slow, sleep: 1 hour}, {id: bad, call: {action: decline, input: no}}]}
";
    fails_with(fails, nothing(), "STEP_FAILED", "no").await;
}

#[tokio::test]
async fn an_event_may_win_against_a_sleep() {
    let text = "
name: deadline
steps:
  - {id: first, race: [{id: answer, waitForEvent: {}}, {id: late, sleep: 1 hour}]}
output: '${steps.first.output.winner}'
";
    comes_to(text, nothing(), json!("late")).await;
    let won =
        run(&[text], nothing(), async |handle| handle.send_event("answer", &1).await.map(drop))
            .await;
    assert_eq!(won.unwrap(), json!("answer"));
}

#[tokio::test]
async fn every_item_gets_its_steps_and_the_outputs_stay_in_order() {
    let text = "
name: each
steps:
  - id: all
    forEach:
      items: '${input.items}'
      as: order
      concurrency: 2
      steps:
        - {id: twice, call: {action: double, input: '${order.n}'}}
        - {id: shown, set: {last: '${steps.twice.output + index}'}}
output: '${steps.all.output}'
";
    let input = json!({"items": [{"n": 1}, {"n": 2}, {"n": 3}]});
    comes_to(text, input, json!([{"last": 2}, {"last": 5}, {"last": 8}])).await;
    comes_to(text, json!({"items": []}), json!([])).await;
    fails_with(text, json!({"items": "no"}), "VALIDATION_ERROR", "must be an array").await;
}

#[tokio::test]
async fn a_failing_item_fails_the_loop_after_all_have_settled() {
    let text = "
name: each
steps:
  - id: all
    forEach:
      items: [1, 2, 3]
      steps: [{id: maybe, if: item === 2, call: {action: decline, input: 'not two'}}]
    onError: sad
handlers: [{id: sad, return: '${steps.all.error.message}'}]
";
    let output = run(&[text], nothing(), async |_| Ok(())).await.unwrap();
    assert!(output.as_str().unwrap().contains("not two"), "{output}");
}

#[tokio::test]
async fn steps_that_hold_others_take_no_longer_than_they_may() {
    for kind in [
        "parallel: [[{id: a, sleep: 1 hour}], [{id: b, set: {x: 1}}]]",
        "race: [{id: a, sleep: 1 hour}]",
        "forEach: {items: [1], steps: [{id: a, sleep: 1 hour}]}",
    ] {
        let text = format!("{{name: late, steps: [{{id: all, timeout: 1 minute, {kind}}}]}}");
        let failure = run(&[&text], nothing(), async |_| Ok(())).await.unwrap_err();
        assert_eq!((&*failure.code, failure.step.as_deref()), ("STEP_TIMEOUT", Some("all")));
        let handled = format!(
            "{{name: late, steps: [{{id: all, timeout: 1 minute, onError: told, {kind}}}],
              handlers: [{{id: told, return: '${{steps.all.error.code}}'}}]}}"
        );
        comes_to(&handled, nothing(), json!("STEP_TIMEOUT")).await;
        let in_time = format!("{{name: late, steps: [{{id: all, timeout: 2 hours, {kind}}}]}}");
        assert!(run(&[&in_time], nothing(), async |_| Ok(())).await.is_ok(), "{in_time}");
    }
}
