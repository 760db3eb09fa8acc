//! What starts or cancels instances when an event is published.

mod ready;
mod written;

pub(crate) use ready::{Effects, Ready};
pub use written::{Batch, Debounce, Throttle, Trigger, TriggerAction};
