//! What would not end, and what is too much.

use abide::prelude::*;
use serde_json::{Value, json};

use crate::harness::{engine, nothing};

#[tokio::test]
async fn a_circle_without_anything_recorded_ends_with_a_limit() {
    let text = "
name: circle
steps:
  - {id: a, switch: [{next: b}]}
  - {id: b, switch: [{next: a}]}
";
    let engine = engine(&[text]).start().await;
    let handle = engine.start("circle", Start::new(&nothing())).await.unwrap();
    assert_eq!(handle.failure().await.code, "LIMIT_EXCEEDED");
}

#[tokio::test]
async fn a_circle_of_steps_ends_with_the_limit_of_a_run() {
    let text = "
name: circle
steps: [{id: a, set: {x: 1}, next: a}]
";
    let engine = engine(&[text]).configure(|c| c.run_max_steps = 50).start().await;
    let handle = engine.start("circle", Start::new(&nothing())).await.unwrap();
    assert_eq!(handle.failure().await.code, "LIMIT_EXCEEDED");
}

#[tokio::test]
async fn an_input_that_does_not_fit_its_schema_is_refused() {
    let text = "
name: strict
input: {type: object, required: [orderId], properties: {orderId: {type: string}, n: {default: 3}}}
steps: [{id: a, return: '${input.n}'}]
";
    let engine = engine(&[text]).start().await;
    let refused = engine.start("strict", Start::new(&json!({"orderId": 7}))).await.err().unwrap();
    assert_eq!(refused.code(), "VALIDATION_ERROR");
    assert!(refused.to_string().contains("/orderId"), "{refused}");
    let handle = engine.start("strict", Start::new(&json!({"orderId": "o"}))).await.unwrap();
    assert_eq!(handle.result::<Value>().await.unwrap(), json!(3));
}
