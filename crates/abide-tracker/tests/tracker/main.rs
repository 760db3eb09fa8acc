//! What a tracker promises, against a real HTTP sink.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a broken expectation ends the test that has it, and a test is as long as its story"
)]

mod batches;
mod durable;
mod outages;
mod own_sink;
mod sink;
mod stories;
mod traces;
mod world;
