//! What the expression language promises: tables of examples, a real JavaScript engine as the
//! judge, and properties over random expressions and data.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod evaluate;
mod fold;
mod generate;
mod keys;
mod oracle;
mod properties;
mod refuse;
mod template;
mod world;
