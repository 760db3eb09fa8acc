//! A durable stream of events.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::duration::IntoDuration;
use crate::error::Result;
use crate::event::{Event, Kind};
use crate::terms::Terms;

use super::{Cx, Wait};

/// Events one after the other, each exactly once; see [`Cx::subscribe`].
#[must_use = "a subscription hears nothing unless asked for the next"]
pub struct Subscription<T> {
    cx: Cx,
    step: String,
    terms: Result<Terms>,
    payload: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Subscription<T> {
    pub(super) fn new(cx: &Cx, step: &str) -> Self {
        let terms = Terms::sent(Kind::Event, step);
        Self { cx: cx.clone(), step: step.to_owned(), terms, payload: PhantomData }
    }

    /// The event pattern. Without this it is the name of the step.
    pub fn on(mut self, pattern: &str) -> Self {
        self.terms = self.terms.and_then(|terms| terms.hears(Kind::Event, pattern));
        self
    }

    /// Wants only what this is true of; see [`Wait::filter`].
    pub fn filter(mut self, filter: &str) -> Self {
        self.terms = self.terms.and_then(|terms| terms.filter(filter));
        self
    }

    /// How long to wait for each; without this, for ever.
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.terms = self.terms.and_then(|terms| terms.timeout(timeout));
        self
    }

    /// The next one: the step `name`, then `name#2`, and so on.
    ///
    /// # Errors
    /// [`crate::Error::EventTimeout`] when it does not come in time, or what is wrong with the
    /// pattern, filter or timeout.
    pub async fn next(&mut self) -> Result<Event<T>> {
        let name = self.cx.use_name(&self.step);
        Wait::with(&self.cx, name, Kind::Event, self.terms.clone()).await
    }
}
