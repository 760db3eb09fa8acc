//! Events that name no instance find those that want them.

mod definitions;
mod explain;
mod lookback;
mod replay;
mod triggers;
mod waits;
mod workflow;
