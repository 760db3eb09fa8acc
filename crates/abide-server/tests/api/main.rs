//! Every route and every error code, over a real socket.

#![allow(clippy::unwrap_used, reason = "a test that can't get what it needs has failed")]

mod bulk;
mod control;
mod definitions;
mod events;
mod instances;
mod records;
mod sends;
mod subscriptions;
mod triggers;
mod workflows;
mod world;
