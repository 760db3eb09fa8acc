//! Where batches go.

use std::fmt;
use std::sync::Arc;

use abide::Timestamp;
use futures_util::future::BoxFuture;

use crate::event::TrackedEvent;

/// Takes batches of events. [`crate::HttpSink`] posts them; a program may bring its own.
pub trait Sink: Send + Sync + 'static {
    /// Takes a batch, the next one only after this one. An error has it sent again later. It may be dropped when it takes
    /// longer than `timeoutMs`, and its batch sent again.
    fn send(&self, batch: Arc<Batch>) -> BoxFuture<'_, Result<(), SinkError>>;

    /// Where it sends to, for operators: without anything secret.
    fn address(&self) -> String {
        String::new()
    }
}

/// Some events in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Never empty.
    pub events: Vec<TrackedEvent>,
    /// When it is sent.
    pub at: Timestamp,
}

/// Why a batch was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SinkError(String);

impl SinkError {
    /// For a person.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}
