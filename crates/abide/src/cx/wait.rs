//! Waiting for what is sent to the instance, and for outputs of others.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::duration::IntoDuration;
use crate::error::{Error, Result};
use crate::event::{Event, Kind};
use crate::id::InstanceId;
use crate::json::Json;
use crate::pattern;
use crate::time::Timestamp;
use crate::wait::Hears;

use super::Cx;
use super::asked::Asked;

/// A wait for an event, a signal or a message; see [`Cx::wait_for_event`].
#[must_use = "a wait hears nothing unless awaited"]
pub struct Wait<T> {
    waiting: Waiting,
    kind: Kind,
    payload: PhantomData<fn() -> T>,
}

/// A wait for an output of another instance; see [`Cx::output_of`].
#[must_use = "a wait hears nothing unless awaited"]
pub struct OutputWait<T> {
    waiting: Waiting,
    value: PhantomData<fn() -> T>,
}

/// What both have in common.
struct Waiting {
    asked: Asked,
    hears: Result<Hears>,
    timeout: Result<Option<Timeout>>,
}

#[derive(Clone, Copy)]
enum Timeout {
    After(Duration),
    At(Timestamp),
}

impl Waiting {
    fn new(
        cx: &Cx,
        name: Result<Arc<str>>,
        hears: Result<Hears>,
        timeout: Option<Duration>,
    ) -> Self {
        Self { asked: Asked::new(cx, name), hears, timeout: Ok(timeout.map(Timeout::After)) }
    }

    fn timeout(&mut self, timeout: impl IntoDuration) {
        self.timeout = match timeout.into_duration() {
            Ok(timeout) => Ok(Some(Timeout::After(timeout))),
            Err(refused) => {
                Err(Error::Invalid { what: "wait timeout".into(), message: refused.to_string() })
            }
        };
    }

    fn poll(&mut self, task: &mut Context<'_>) -> Poll<Result<Json>> {
        let Self { asked, hears, timeout } = self;
        asked.poll_value(task, |cx, name| {
            let hears = hears.as_ref().map_err(Clone::clone)?;
            let timeout = timeout.clone()?;
            let at = |now: Timestamp| {
                timeout.map(|timeout| match timeout {
                    Timeout::After(duration) => now.after(duration),
                    Timeout::At(at) => at,
                })
            };
            let id = || format!("sub_{}", cx.resident.env.clock.uuid().simple()).into();
            Ok(cx.resident.state.lock().begin_wait(name, hears, at, id))
        })
    }
}

impl<T> Wait<T> {
    pub(super) fn new(cx: &Cx, step: &str, kind: Kind) -> Self {
        // Signals and messages wait for ever unless told otherwise; events as configured.
        let default = cx.resident.env.config.wait_default_timeout;
        let timeout = default.filter(|_| kind == Kind::Event);
        let hears = hears(kind, step);
        Self {
            waiting: Waiting::new(cx, cx.use_name(step), hears, timeout),
            kind,
            payload: PhantomData,
        }
    }

    /// What it hears: an event pattern (`payment.*`), a signal's name or a topic. Without this it is
    /// the name of the step.
    pub fn on(mut self, pattern: impl AsRef<str>) -> Self {
        self.waiting.hears = hears(self.kind, pattern.as_ref());
        self
    }

    /// Gives up after so long, with [`Error::EventTimeout`].
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.waiting.timeout(timeout);
        self
    }

    /// Gives up at this moment, with [`Error::EventTimeout`].
    pub fn timeout_at(mut self, at: Timestamp) -> Self {
        self.waiting.timeout = Ok(Some(Timeout::At(at)));
        self
    }
}

fn hears(kind: Kind, pattern: &str) -> Result<Hears> {
    pattern::check(pattern)?;
    Ok(Hears::Sent { kind, pattern: pattern.into() })
}

impl<T> Unpin for Wait<T> {}

impl<T: DeserializeOwned> Future for Wait<T> {
    type Output = Result<Event<T>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        self.waiting.poll(task).map(|received| event(&received?))
    }
}

impl<T> OutputWait<T> {
    pub(super) fn new(cx: &Cx, of: &InstanceId, key: &str) -> Self {
        let name = cx.use_name(&format!("output {key}"));
        let hears = Hears::Output { of: of.clone(), key: key.into() };
        Self { waiting: Waiting::new(cx, name, Ok(hears), None), value: PhantomData }
    }

    /// Gives up after so long, with [`Error::EventTimeout`].
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.waiting.timeout(timeout);
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
    time: Timestamp,
}

/// Reads an event. A type that can't be absent reads an absent payload as it would read `null`.
pub(super) fn event<T: DeserializeOwned>(received: &Json) -> Result<Event<T>> {
    let Received { id, event_type, payload, source, time } = received.decode()?;
    let payload = payload.unwrap_or_else(Json::null).decode()?;
    Ok(Event { id, event_type, payload, source, received_at: time })
}
