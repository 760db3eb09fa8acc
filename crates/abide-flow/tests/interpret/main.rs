//! What documents do, each of them again with a crash before and after every write.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a broken expectation ends the test that has it"
)]

mod branches;
mod control;
mod documents;
mod effects;
mod exchange;
mod harness;
mod limits;
#[path = "../loopback/mod.rs"]
mod loopback;
mod outside;
mod templates;
mod triggers;
mod waits;
