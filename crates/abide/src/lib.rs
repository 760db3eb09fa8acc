//! Durable, event-driven workflows.
//!
//! A workflow is an ordinary async function. Each step's result is stored before anything depends on
//! it, so a crash, a deploy or a month of waiting costs nothing: the process starts again and the
//! workflow goes on as if nothing had happened.
//!
//! ```
//! use abide::prelude::*;
//! use abide_sqlite::SqliteStore;
//!
//! async fn greet(cx: Cx, name: String) -> Result<String> {
//!     let greeting = cx.step("compose", || async { Ok::<_, Error>(format!("hello, {name}")) }).await?;
//!     let answer: Event<String> = cx.wait_for_event("answer").timeout("1 day").await?;
//!     Ok(format!("{greeting}: {}", answer.payload))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! let engine = Engine::builder(SqliteStore::open_temporary().await?)
//!     .workflow("greet", greet)
//!     .start()
//!     .await?;
//! let handle = engine.start("greet", Start::new("world").id("greeting-1")).await?;
//! handle.send_event("answer", "hi").await?;
//! assert_eq!(handle.result::<String>().await?, "hello, world: hi");
//! # Ok(())
//! # }
//! ```
//!
//! - [`Cx`] is what a workflow does: steps, sleeps, waits, children, recorded time and randomness.
//! - [`Engine`] runs workflows on a [`store::Store`]; a [`Handle`] is one instance from outside.
//! - Code between steps must be free of effects and of chance: it runs again on every replay.

mod chunk;
pub mod cloud_event;
mod config;
mod context;
mod cx;
mod declaration;
mod definition;
mod document;
mod duration;
mod engine;
mod entry_id;
mod envelope;
mod error;
mod event;
pub mod expr;
mod failure;
pub mod history;
mod id;
pub mod index;
mod instance;
mod json;
pub mod lifecycle;
mod listing;
mod log;
mod mapping;
pub mod meeting;
pub mod metrics;
pub mod pattern;
pub mod publication;
mod replacement;
mod retry;
mod run;
mod schema;
mod sip_hash;
mod status;
mod steps;
pub mod store;
mod tail;
mod terms;
mod time;
pub mod trace;
mod trigger;
mod verdict;
mod wait;
pub mod window;
mod workflow;

pub use chunk::{Append, Chunk, ChunkFilter, Frame, FrameKind, NewChunk, StreamPosition};
pub use config::Config;
pub use context::Context;
pub use cx::{
    AllOf, AnyOf, Child, Counted, Cx, Detached, Message, OneOf2, OneOf3, OneOf4, OutputWait,
    Publishing, Sleep, Step, StreamStep, Subscription, Take, Wait as EventWait, Waits,
};
pub use definition::{DefinitionStatus, EventDefinition};
pub use document::{Document, DocumentKind};
pub use duration::{DurationError, IntoDuration, parse as parse_duration};
pub use engine::{
    Builder, Engine, Explanation, Fed, Follow, Frames, Handle, IntoPublication, Kept, NearMiss,
    Observer, Outgoing, Replayed, Start, Watch, WatchAll, Watched, Why,
};
pub use error::{BoxError, Error, NonRetryable, Result};
pub use event::{Buffer, Buffered, Delivered, Delivery, Event, Kind, OnTerminal, Place};
pub use failure::Failure;
pub use id::{InstanceId, InstanceKey};
pub use instance::{
    End, Instance, NewChild, NewInstance, NewPublish, NewSend, NewTake, Output, Parent, Park,
    Transition,
};
pub use json::Json;
pub use lifecycle::Terminate;
pub use listing::{Filter, Listed, Page, WaitFilter};
pub use log::{
    CancelBy, LogFilter, LogRetention, LogSpan, Logged, Publish, Published, Since, StartBy, Taker,
};
pub use mapping::at_path;
pub use publication::Publication;
pub use replacement::StepCall;
pub use retry::{Backoff, Retry};
pub use schema::check_schema;
pub use status::{Phase, Status};
pub use steps::{FailedAttempt, StepRecord, StepStatus};
pub use store::IfExists;
pub use tail::{Cursor, Tail, TailRow};
pub use time::{Clock, SystemClock, Timestamp};
pub use trigger::{Batch, Debounce, Throttle, Trigger, TriggerAction};
pub use verdict::{CancelledBy, Deferred, Matched, StartedBy, TriggerFailed, Verdict};
pub use wait::{Count, Folding, Hears, Held, NewWait, Wait, WaitEdit, WaitStatus};
pub use workflow::Workflow;

/// What a program that uses Abide usually needs.
pub mod prelude {
    pub use crate::{
        Backoff, Buffer, Cx, Engine, Error, Event, EventDefinition, Filter, Handle, IfExists,
        InstanceId, LogFilter, NonRetryable, OneOf2, OneOf3, OneOf4, Outgoing, Page, Publication,
        Result, Retry, Since, Start, Status, Terminate, Timestamp, Trigger, Verdict, Workflow,
    };
}
