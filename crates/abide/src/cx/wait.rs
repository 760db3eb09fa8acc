//! Waiting for what is sent to the instance, and for outputs of others.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::event::{Event, Kind};
use crate::id::InstanceId;
use crate::json::Json;
use crate::log::Since;
use crate::terms::{Terms, Timeout};
use crate::time::Timestamp;

use super::Cx;
use super::asked::Asked;
use super::counted::Counted;
use super::mapping::Mapping;

/// A wait for an event, a signal or a message; see [`Cx::wait_for_event`].
#[must_use = "a wait hears nothing unless awaited"]
pub struct Wait<T> {
    pub(super) waiting: Waiting,
    kind: Kind,
    mapped: Mapping,
    payload: PhantomData<fn() -> T>,
}

/// A wait for an output of another instance; see [`Cx::output_of`].
#[must_use = "a wait hears nothing unless awaited"]
pub struct OutputWait<T> {
    waiting: Waiting,
    value: PhantomData<fn() -> T>,
}

/// What all waits have in common.
pub(super) struct Waiting {
    asked: Asked,
    /// What it wants, or the first thing that is wrong with that.
    pub(super) terms: Result<Terms>,
    /// When it gives up, unless somebody changes that while it waits.
    deadline: Option<Timestamp>,
}

impl Waiting {
    pub(super) fn new(cx: &Cx, name: Result<Arc<str>>, terms: Result<Terms>) -> Self {
        Self { asked: Asked::new(cx, name), terms, deadline: None }
    }

    pub(super) fn poll(&mut self, task: &mut Context<'_>) -> Poll<Result<Json>> {
        let Self { asked, terms, deadline } = self;
        let outcome = asked.poll_value(task, |cx, name| {
            let terms = terms.as_ref().map_err(Clone::clone)?;
            let id = || format!("sub_{}", cx.resident.env.clock.uuid().simple()).into();
            let resident = &cx.resident;
            let declared = &resident.declared;
            let mut state = resident.state.lock();
            let op = state.begin_wait(name, terms, &resident.id, declared, id)?;
            *deadline = state.deadline_of(name, op);
            Ok(op)
        });
        outcome.map_err(|error| self.as_asked(error))
    }

    /// A wait is stored a moment after it was reached, so its record knows a little less than the
    /// timeout that was asked for.
    fn as_asked(&self, mut error: Error) -> Error {
        if let Error::EventTimeout { timeout_ms, timeout_at, .. } = &mut error
            && let Ok(Terms { timeout: Some(Timeout::After(asked)), .. }) = &self.terms
            && self.deadline.map(|at| at.to_string()) == *timeout_at
        {
            *timeout_ms = u64::try_from(asked.as_millis()).unwrap_or(u64::MAX);
        }
        error
    }
}

impl<T> Wait<T> {
    pub(super) fn new(cx: &Cx, step: &str, kind: Kind) -> Self {
        let name = cx.use_name(step);
        let terms = Terms::sent(kind, step).map(|terms| Terms {
            // Signals and messages wait for ever unless told otherwise; events as configured.
            timeout: cx.resident.wait_timeout().filter(|_| kind == Kind::Event).map(Timeout::After),
            ..terms
        });
        Self::with(cx, name, kind, terms)
    }

    pub(super) fn with(cx: &Cx, name: Result<Arc<str>>, kind: Kind, terms: Result<Terms>) -> Self {
        let waiting = Waiting::new(cx, name, terms);
        Self { waiting, kind, mapped: Mapping::default(), payload: PhantomData }
    }

    /// What it hears: an event pattern (`payment.*`), a signal's name or a topic. Without this it is
    /// the name of the step.
    pub fn on(self, pattern: impl AsRef<str>) -> Self {
        let kind = self.kind;
        self.change(|terms| terms.hears(kind, pattern.as_ref()))
    }

    /// Wants only what this is true of: `event.payload.orderId === workflow.context.orderId`. See
    /// `docs/expressions.md`. Everything but `event` is known when the wait is reached, and what
    /// changes after that does not reach it. A filter that fails on an event does not match it.
    pub fn filter(self, filter: &str) -> Self {
        self.change(|terms| terms.filter(filter))
    }

    /// Lets the filter and the distinct key know a value beside the event and the instance, by this
    /// name. Say it before them.
    pub fn known(self, name: &str, value: Arc<serde_json::Value>) -> Self {
        self.change(|mut terms| {
            terms.known.push((name.into(), value));
            Ok(terms)
        })
    }

    /// Gives up after so long, with [`crate::Error::EventTimeout`].
    pub fn timeout(self, timeout: impl IntoDuration) -> Self {
        self.change(|terms| terms.timeout(timeout))
    }

    /// Gives up at this moment, with [`crate::Error::EventTimeout`].
    pub fn timeout_at(self, at: Timestamp) -> Self {
        self.change(|terms| Ok(Terms { timeout: Some(Timeout::At(at)), ..terms }))
    }

    /// From when on published events count; without this, since the run of the instance was
    /// accepted. So what was published a moment too early is not missed.
    pub fn since(self, since: Since) -> Self {
        self.change(|terms| Ok(Terms { since, ..terms }))
    }

    /// Writes a part of the payload into `workflow.context` once it has come: under `variable`, what
    /// is at the dotted path, or `null` when nothing is there.
    pub fn map(mut self, variable: &str, path: &str) -> Self {
        self.mapped.add(variable, path);
        self
    }

    /// Waits for so many of them; see [`Counted`].
    pub fn count(self, needed: u32) -> Counted<T> {
        Counted::new(self.change(|terms| terms.count(needed)).waiting)
    }

    /// In a race with others: the first that is met cancels the rest in the same commit.
    pub(super) fn race(self, race: Option<&Arc<str>>) -> Self {
        self.change(|terms| Ok(Terms { race: race.cloned(), ..terms }))
    }

    /// The name of its step, if it has one.
    pub(super) fn step(&self) -> Option<&Arc<str>> {
        self.waiting.asked.name()
    }

    fn change(mut self, change: impl FnOnce(Terms) -> Result<Terms>) -> Self {
        self.waiting.terms = self.waiting.terms.and_then(change);
        self
    }
}

impl<T> Unpin for Wait<T> {}

impl<T: DeserializeOwned> Future for Wait<T> {
    type Output = Result<Event<T>>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { waiting, mapped, .. } = self.get_mut();
        waiting.poll(task).map(|received| {
            let received = received?;
            mapped.apply(&waiting.asked.cx, &received)?;
            event(&received)
        })
    }
}

impl<T> OutputWait<T> {
    pub(super) fn new(cx: &Cx, of: &InstanceId, key: &str) -> Self {
        let name = cx.use_name(&format!("output {key}"));
        let terms = Terms::output(of, key);
        Self { waiting: Waiting::new(cx, name, Ok(terms)), value: PhantomData }
    }

    /// Gives up after so long, with [`crate::Error::EventTimeout`].
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.waiting.terms = self.waiting.terms.and_then(|terms| terms.timeout(timeout));
        self
    }
}

impl<T> Unpin for OutputWait<T> {}

impl<T: DeserializeOwned> Future for OutputWait<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        self.waiting.poll(task).map(|value| value?.decode())
    }
}

/// An event as it is stored: an absent payload is not the same as `null`.
#[derive(Deserialize)]
struct Received {
    id: String,
    #[serde(rename = "type")]
    event_type: String,
    #[serde(default)]
    payload: Option<Json>,
    #[serde(default)]
    source: Option<String>,
    #[serde(with = "crate::time::iso")]
    time: Timestamp,
}

/// Reads an event. A type that can't be absent reads an absent payload as it would read `null`.
pub(super) fn event<T: DeserializeOwned>(received: &Json) -> Result<Event<T>> {
    let Received { id, event_type, payload, source, time } = received.decode()?;
    let payload = payload.unwrap_or_else(Json::null).decode()?;
    Ok(Event { id, event_type, payload, source, received_at: time })
}
