//! Durable, event-driven workflows.

mod duration;
mod error;
mod failure;
pub mod history;
mod id;
mod instance;
mod json;
pub mod lifecycle;
mod listing;
mod status;
pub mod store;
mod time;

pub use duration::{DurationError, IntoDuration, parse as parse_duration};
pub use error::{BoxError, Error, NonRetryable, Result};
pub use failure::Failure;
pub use id::{InstanceId, InstanceKey};
pub use instance::{End, Instance, NewChild, NewInstance, Parent, Park, Transition};
pub use json::Json;
pub use lifecycle::Terminate;
pub use listing::{Filter, Listed, Page};
pub use status::{Phase, Status};
pub use time::{Clock, SystemClock, Timestamp};
