//! The binary as a user meets it.

#![allow(clippy::unwrap_used, reason = "a test that can't get what it needs has failed")]
#![allow(clippy::panic, reason = "a test fails by panicking")]

mod commands;
mod config;
mod dev;
mod guide;
mod http;
mod lines;
mod log;
mod log_secrets;
mod program;
mod receiver;
mod retry;
mod serve;
mod server;
mod sinks;
#[cfg(target_os = "linux")]
mod terminal;
mod token;
mod tools;
mod traces;
mod tracker;
mod watch;
