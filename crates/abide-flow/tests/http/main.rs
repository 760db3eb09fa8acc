//! HTTP calls, streams, secrets and tools, against servers on loopback.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation ends the test")]

mod address;
mod call;
mod secret;
mod stream;
mod support;
mod tls;
mod tool;
