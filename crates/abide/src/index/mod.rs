//! Finds the subscriptions that want an event, without asking each of them.
//!
//! ```text
//!   subscription: pattern + folded filter ──entries──▶ (shape, key, residue)…
//!                                                          ║  equal key text
//!   event: type + fields ──shapes covering the type──▶ (shape, key)
//! ```
//!
//! A [`Shape`] is a pattern and the paths whose values have to be equal. Shapes are few, however
//! many subscriptions there are: one per kind of wait that somebody wrote. An event is looked up once
//! per shape that covers its type, by the text of its own values at those paths; what is found there
//! has only its residue left to be evaluated. So the cost of publishing depends on what matches, and
//! not on what waits.
//!
//! Stores keep [`Entry`]s as rows and are right from these alone. [`Index`] holds the same in memory.
//! Nothing here does I/O.

mod arena;
mod entry;
mod fingerprint;
mod memory;
mod patterns;
mod postings;
mod residues;
mod shape;

pub use entry::{Entry, entries};
pub use memory::{Finding, Index, Registered};
pub use patterns::Patterns;
pub use shape::Shape;
