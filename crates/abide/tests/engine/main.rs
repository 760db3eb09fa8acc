//! What the engine promises, on every store.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a broken expectation ends the test that has it, and a test is as long as its story"
)]

mod children;
mod combine;
mod compensation;
mod crash;
mod events;
mod feeds;
mod filters;
mod lifecycle;
mod observers;
mod publish;
mod races;
mod replay;
mod requirements;
mod residency;
mod restart;
mod retries;
mod schemas;
mod shutdown;
mod sleep;
mod slow;
mod start;
mod steps;
mod store_lost;
mod streams;
mod together;
mod values;
mod versions;
mod world;
