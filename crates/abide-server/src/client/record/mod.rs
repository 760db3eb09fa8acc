//! The server's records, as far as people are shown them.

mod clause;
mod instance;
mod step;
mod verdict;
mod wait;

pub(super) use clause::{Clause, NearMiss};
pub(super) use instance::{Instance, InstanceList, is_good_end};
pub(super) use step::Step;
pub(super) use verdict::Verdict;
pub(super) use wait::{Wait, WaitList};
