//! Everything to test Abide with, and what is built on it.
//!
//! - [`TestEngine`]: tests of workflows, with time that jumps, steps that are replaced and crashes
//!   at every write.
//! - [`MemoryStore`]: the executable specification of [`abide::store::Store`].
//! - [`ManualClock`]: time that moves only when a test moves it.
//! - [`FaultStore`]: a store that fails and dies where a test says.
//! - [`store_conformance!`]: the rules of every store, one test per sentence.
//! - [`differential`]: random operations on which every store must agree.
//! - [`simulator`]: the whole engine under schedules made up from a seed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "this is test support: a broken expectation ends the test that has it"
)]

mod clock;
pub mod conformance;
pub mod differential;
mod fault;
pub mod fixture;
mod lab;
mod listener;
mod memory;
pub mod simulator;
mod test_engine;

pub use clock::ManualClock;
pub use fault::{Fault, FaultStore};
pub use lab::{Lab, Runner, Seen, in_words};
pub use listener::Recorder;
pub use memory::MemoryStore;
pub use test_engine::{
    CrashPoint, CrashReport, StepRuns, TestEngine, TestEngineBuilder, TestHandle,
};
