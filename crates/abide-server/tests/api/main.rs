//! Every route and every error code, over a real socket.

#![allow(clippy::unwrap_used, reason = "a test that can't get what it needs has failed")]

mod definitions;
mod events;
mod guard;
mod hostile;
mod instances;
mod pages;
mod subscriptions;
mod triggers;
mod webhooks;
mod world;
