//! Durable, event-driven workflows.

mod config;
mod context;
mod cx;
mod duration;
mod engine;
mod error;
mod event;
pub mod expr;
mod failure;
pub mod history;
mod id;
mod instance;
mod json;
pub mod lifecycle;
mod listing;
pub mod meeting;
pub mod pattern;
mod retry;
mod run;
mod status;
mod steps;
pub mod store;
mod time;
mod wait;
mod workflow;

pub use config::Config;
pub use context::Context;
pub use cx::{Child, Cx, Detached, Message, OutputWait, Sleep, Step, Take, Wait as EventWait};
pub use duration::{DurationError, IntoDuration, parse as parse_duration};
pub use engine::{Builder, Engine, Handle, Outgoing, Start};
pub use error::{BoxError, Error, NonRetryable, Result};
pub use event::{Buffer, Buffered, Delivered, Delivery, Event, Kind, OnTerminal};
pub use failure::Failure;
pub use id::{InstanceId, InstanceKey};
pub use instance::{
    End, Instance, NewChild, NewInstance, NewSend, NewTake, Output, Parent, Park, Transition,
};
pub use json::Json;
pub use lifecycle::Terminate;
pub use listing::{Filter, Listed, Page, WaitFilter};
pub use retry::{Backoff, Retry};
pub use status::{Phase, Status};
pub use steps::{FailedAttempt, StepRecord, StepStatus};
pub use store::IfExists;
pub use time::{Clock, SystemClock, Timestamp};
pub use wait::{Hears, NewWait, Wait, WaitStatus};
pub use workflow::Workflow;

/// What a program that uses Abide usually needs.
pub mod prelude {
    pub use crate::{
        Backoff, Buffer, Cx, Engine, Error, Event, Filter, Handle, IfExists, InstanceId,
        NonRetryable, Outgoing, Page, Result, Retry, Start, Status, Terminate, Timestamp, Workflow,
    };
}
