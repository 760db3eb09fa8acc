//! Durable, event-driven workflows.

mod config;
mod context;
mod cx;
mod duration;
mod engine;
mod error;
pub mod expr;
mod failure;
pub mod history;
mod id;
mod instance;
mod json;
pub mod lifecycle;
mod listing;
mod retry;
mod run;
mod status;
mod steps;
pub mod store;
mod time;
mod workflow;

pub use config::Config;
pub use context::Context;
pub use cx::{Child, Cx, Detached, Sleep, Step};
pub use duration::{DurationError, IntoDuration, parse as parse_duration};
pub use engine::{Builder, Engine, Handle, Start};
pub use error::{BoxError, Error, NonRetryable, Result};
pub use failure::Failure;
pub use id::{InstanceId, InstanceKey};
pub use instance::{End, Instance, NewChild, NewInstance, Parent, Park, Transition};
pub use json::Json;
pub use lifecycle::Terminate;
pub use listing::{Filter, Listed, Page};
pub use retry::{Backoff, Retry};
pub use status::{Phase, Status};
pub use steps::{FailedAttempt, StepRecord, StepStatus};
pub use store::IfExists;
pub use time::{Clock, SystemClock, Timestamp};
pub use workflow::Workflow;

/// What a program that uses Abide usually needs.
pub mod prelude {
    pub use crate::{
        Backoff, Cx, Engine, Error, Filter, Handle, IfExists, InstanceId, NonRetryable, Page,
        Result, Retry, Start, Status, Terminate, Timestamp, Workflow,
    };
}
