//! Waiting for several of a kind.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::event::Event;
use crate::json::Json;

use super::wait::{Waiting, event};

/// A wait for so many events, signals or messages; see [`super::Wait::count`].
///
/// What comes is held, not consumed, until the last of them did: if the wait gives up or is dropped
/// before that, they return to where they were, and [`crate::Error::EventTimeout`] says how many there
/// were.
#[must_use = "a wait hears nothing unless awaited"]
pub struct Counted<T> {
    waiting: Waiting,
    payload: PhantomData<fn() -> T>,
}

impl<T> Counted<T> {
    pub(super) fn new(waiting: Waiting) -> Self {
        Self { waiting, payload: PhantomData }
    }

    /// Counts only one of each value of this: `event.payload.user`. Others with the same are no match.
    pub fn distinct_by(mut self, key: &str) -> Self {
        self.waiting.terms = self.waiting.terms.and_then(|terms| terms.distinct_by(key));
        self
    }
}

impl<T> Unpin for Counted<T> {}

impl<T: DeserializeOwned> Future for Counted<T> {
    type Output = Result<Vec<Event<T>>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        self.waiting.poll(task).map(|received| {
            let all: Vec<Json> = received?.decode()?;
            all.iter().map(event).collect()
        })
    }
}
