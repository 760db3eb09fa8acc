//! Sends what workflows do to HTTP sinks, in batches.
//!
//! ```no_run
//! use abide::prelude::*;
//! use abide_sqlite::SqliteStore;
//! use abide_tracker::{Tracker, TrackerConfig};
//!
//! # async fn example() -> Result<()> {
//! let tracker = Tracker::new(TrackerConfig::new("https://example.com/events", "token"))?;
//! let engine = Engine::builder(SqliteStore::open("shop.db").await?)
//!     .observe(tracker.clone())
//!     .start()
//!     .await?;
//! // …
//! engine.shutdown().await; // what is left is sent
//! println!("{} sent, {} dropped", tracker.sent(), tracker.dropped());
//! # Ok(())
//! # }
//! ```
//!
//! The history of the instances is the queue:
//!
//! ```text
//!   Store::tail ──▶ Reader (Life, tell) ──▶ Queue ──▶ Batch ──▶ Sink
//!        ▲                                                       │
//!        └── only when there is room ── only one on its way ◀────┘
//! ```
//!
//! A tracker is told that something was recorded and reads it when it has room, so it never slows or fails a
//! workflow, and nothing is there when none is configured. A sink that falls more than 1 000 events behind loses the
//! oldest; a *durable* one loses nothing: it stores how far it has come and goes on there, after an outage or a restart.

mod command;
mod config;
mod counts;
mod course;
mod cursor;
mod event;
mod http;
mod life;
mod lives;
mod otlp;
mod poster;
mod pump;
mod queue;
mod reader;
mod signature;
mod sink;
mod span;
mod tell;
mod tracker;

pub use config::{TrackerConfig, Types};
pub use event::{Other, TrackedError, TrackedEvent, What};
pub use http::HttpSink;
pub use otlp::{OtlpConfig, OtlpSink};
pub use sink::{Batch, Sink, SinkError};
pub use span::Span;
pub use tracker::{BuilderExt, SinkStatus, Tracker};
