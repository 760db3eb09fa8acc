//! Whether instances of one version of a document could go on with another.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

use std::sync::Arc;

use abide::prelude::*;
use abide_flow::{Equipment, Fit, Misfit, parse, report, workflow};
use abide_testkit::TestEngine;
use serde_json::json;

fn read(text: &str) -> abide_flow::Flow {
    parse(text).unwrap_or_else(|problems| panic!("{}", report("test", text, &problems)))
}

/// Runs a document until it rests and holds its steps against another.
async fn misfits(before: &str, after: &str) -> Vec<Misfit> {
    let (before, after) = (Arc::new(read(before)), read(after));
    let equipment = Arc::new(Equipment::new().unwrap());
    let engine = TestEngine::builder().register(workflow(&before, 1, &equipment)).start().await;
    let handle = engine.start(&before.name, Start::new(&json!({}))).await.unwrap();
    handle.settled().await.unwrap();
    let steps = handle.steps().await.unwrap();
    Fit::between(&before, &after).misfits(&steps)
}

fn misfit(step: &str, kind: &'static str, becomes: Option<&'static str>, is_open: bool) -> Misfit {
    Misfit { step: step.to_owned(), kind, becomes, is_open }
}

const LOOP: &str = "
name: w
steps:
  - id: each
    forEach: {items: [1, 2], steps: [{id: a, set: {x: 1}, next: b}, {id: b, sleep: 1 day}]}
";

#[tokio::test]
async fn what_is_still_there_fits_however_much_was_added() {
    let after = "
name: w
steps:
  - {id: first, set: {y: 1}}
  - id: each
    forEach: {items: [1], as: n, steps: [{id: a, set: {z: 1}}, {id: b, sleep: 2 days}, {id: c, set: {x: 1}}]}
";
    assert_eq!(misfits(LOOP, after).await, []);
}

#[tokio::test]
async fn a_step_that_left_its_loop_is_missing_and_counted_once_for_all_items() {
    let after = "name: w\nsteps: [{id: a, set: {x: 1}}, {id: b, sleep: 1 day}]\n";
    let expect = [misfit("each[].a", "set", None, false), misfit("each[].b", "sleep", None, true)];
    assert_eq!(misfits(LOOP, after).await, expect);
}

#[tokio::test]
async fn a_handler_is_found_wherever_it_runs() {
    let before = "
name: w
steps:
  - id: each
    forEach:
      items: [1]
      steps:
        - {id: a, fail: {code: OOPS}, onError: mend}
        - {id: rest, sleep: 1 day}
handlers: [{id: mend, set: {mended: true}}]
";
    assert_eq!(misfits(before, before).await, []);
    let after = before.replace("set: {mended: true}", "publish: {type: mended}");
    let expect = [misfit("each[].mend", "set", Some("publish"), false)];
    assert_eq!(misfits(before, &after).await, expect);
}

#[tokio::test]
async fn what_the_engine_notes_beside_the_steps_does_not_count() {
    let before = "
name: w
steps:
  - {id: note, set: {x: 1}, compensate: forget}
  - {id: ask, waitForSignal: {name: go}}
handlers: [{id: forget, http: {url: 'http://127.0.0.1:9'}}]
";
    assert_eq!(misfits(before, before).await, []);
    let after = "name: w\nsteps: [{id: ask, waitForSignal: {name: go}}]\n";
    assert_eq!(misfits(before, after).await, [misfit("note", "set", None, false)]);
}
