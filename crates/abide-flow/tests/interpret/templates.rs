//! What has no value.

use serde_json::json;

use crate::harness::{comes_to, fails_with, nothing};

#[tokio::test]
async fn an_undefined_template_fails_the_step_at_once_and_lists_all() {
    let text = "
name: undefined
steps: [{id: a, set: {x: '${input.no}', y: {z: 'and ${input.nothing}'}}}]
";
    let says = "Failed to resolve input: `input.no` at `set.x`";
    fails_with(text, nothing(), "VALIDATION_ERROR", says).await;
    let both = "
name: undefined
steps: [{id: a, call: {action: echo, input: {x: '${input.no}', y: ['${input.nothing}']}}}]
";
    let says = "`input.no` at `call.input.x`, `input.nothing` at `call.input.y.0`";
    fails_with(both, nothing(), "VALIDATION_ERROR", says).await;
}

#[tokio::test]
async fn an_undefined_template_may_be_allowed_or_handled() {
    let allowed = "
name: allowed
steps: [{id: a, set: {x: '${input.no ?? null}'}}]
";
    comes_to(allowed, nothing(), json!({"x": null})).await;
    let handled = "
name: handled
steps: [{id: a, set: {x: '${input.no}'}, onError: b}]
handlers: [{id: b, return: '${steps.a.error.code}'}]
";
    comes_to(handled, nothing(), json!("VALIDATION_ERROR")).await;
}

#[tokio::test]
async fn in_conditions_undefined_is_just_not_true() {
    let text = "
name: condition
steps:
  - {id: a, if: input.no.such.thing > 3, set: {x: 1}}
  - {id: b, return: '${steps.a.output}'}
";
    comes_to(text, nothing(), json!(null)).await;
}
