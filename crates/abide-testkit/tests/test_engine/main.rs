//! The test engine tested: what it lets a test do, and what it says when a test is wrong.

#![allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]

mod crash;
mod events;
mod steps;
mod time;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// Runs what must fail its test, and answers with what it said.
async fn failing<T>(test: impl Future<Output = T>) -> String {
    let failed = AssertUnwindSafe(test).catch_unwind().await;
    let said: Box<dyn Any + Send> = failed.err().unwrap();
    said.downcast_ref::<String>().unwrap().clone()
}
