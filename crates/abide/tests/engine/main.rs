//! What the engine promises, on every store.

mod children;
mod combine;
mod compensation;
mod crash;
mod lifecycle;
mod replay;
mod residency;
mod restart;
mod retries;
mod shutdown;
mod sleep;
mod slow;
mod start;
mod steps;
mod values;
mod versions;
mod world;
