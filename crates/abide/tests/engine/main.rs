//! What the engine promises, on every store.

mod steps;
mod world;
