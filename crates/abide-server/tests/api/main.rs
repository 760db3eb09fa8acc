//! Every route and every error code, over a real socket.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't get what it needs has failed"
)]

mod bulk;
mod control;
mod definitions;
mod events;
mod examples;
mod gauges;
mod guard;
mod hostile;
mod instances;
mod metrics;
mod pages;
mod reader;
mod records;
mod sends;
mod sinks;
mod streams;
mod subscriptions;
mod trace;
mod triggers;
mod webhooks;
mod workflows;
mod world;
