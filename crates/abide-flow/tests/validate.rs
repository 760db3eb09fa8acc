//! What `parse` accepts, what it refuses, and what it says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "validate/expressions.rs"]
mod expressions;
#[path = "validate/fields.rs"]
mod fields;
#[path = "validate/hostile.rs"]
mod hostile;
#[path = "validate/jumps.rs"]
mod jumps;
#[path = "validate/model.rs"]
mod model;
#[path = "validate/order.rs"]
mod order;
#[path = "validate/triggers.rs"]
mod triggers;
#[path = "validate/yaml.rs"]
mod yaml;

use abide_flow::{Flow, parse};

/// The document, which has to be fine.
fn fine(text: &str) -> Flow {
    parse(text)
        .unwrap_or_else(|problems| panic!("{}", abide_flow::report("x.yaml", text, &problems)))
}

/// What is said of the document, one line for each problem.
fn problems(text: &str) -> Vec<String> {
    parse(text).map_or_else(|found| found.iter().map(ToString::to_string).collect(), |_| Vec::new())
}

/// Checks that exactly this is said of the document.
#[track_caller]
fn check(text: &str, expect: &[&str]) {
    assert_eq!(problems(text), expect, "{text}");
}

/// A document with these steps.
fn steps(steps: &str) -> String {
    format!("name: w\nsteps:\n{steps}")
}
