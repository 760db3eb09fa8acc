//! Definitions of workflows and the table of those an engine knows.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cx::{Cx, panic_message};
use crate::error::{BoxError, Error, Result};
use crate::event::Buffer;
use crate::failure::Failure;
use crate::json::Json;

/// What a workflow function comes to: its output or how it failed.
pub(crate) type Outcome = Result<Json, Failure>;

/// A workflow that has been called and not yet polled.
pub(crate) type Body = BoxFuture<'static, Outcome>;

type Call = dyn Fn(Cx, &Json) -> Result<Body> + Send + Sync;

/// A named definition: an async function `(Cx, Input) -> Result<Output, Error>`.
///
/// Code between steps must be free of effects and of chance: it runs again on every replay. Put
/// effects into [`Cx::step`], and take time and randomness from [`Cx::now`], [`Cx::random`] and
/// [`Cx::uuid`].
#[derive(Clone)]
pub struct Workflow {
    pub(crate) name: Arc<str>,
    pub(crate) version: u32,
    /// The events it takes; empty means any.
    events: Vec<(Arc<str>, Buffer)>,
    call: Arc<Call>,
}

impl Workflow {
    /// Names a function. Its version is 1 unless [`Workflow::version`] says otherwise.
    pub fn new<F, Fut, I, O, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        F: Fn(Cx, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        I: DeserializeOwned,
        O: Serialize,
        E: Into<BoxError>,
    {
        let call = move |cx: Cx, input: &Json| -> Result<Body> {
            let body = function(cx, input.decode()?);
            Ok(Box::pin(async move {
                match body.await {
                    Ok(output) => Json::encode(&output).map_err(|refused| refused.to_failure()),
                    Err(error) => Err(failure_of(&*error.into())),
                }
            }))
        };
        Self { name: name.into(), version: 1, events: Vec::new(), call: Arc::new(call) }
    }

    /// Declares an event it takes, and what happens to it when nobody waits. Once one is declared,
    /// events that are not are refused with `EVENT_INVALID`.
    #[must_use]
    pub fn event(mut self, event_type: &str, buffer: Buffer) -> Self {
        self.events.push((event_type.into(), buffer));
        self
    }

    /// What happens to an event when nobody waits, and why it is not taken if so.
    pub(crate) fn takes(&self, event_type: &str) -> (Buffer, Option<String>) {
        let declared = self.events.iter().find(|(declared, _)| **declared == *event_type);
        match declared {
            Some((_, buffer)) => (*buffer, None),
            None if self.events.is_empty() => (Buffer::Latest, None),
            None => {
                let known: Vec<_> = self.events.iter().map(|(known, _)| &**known).collect();
                let message = format!(
                    "workflow {:?} does not declare it; declared: {}",
                    self.name,
                    known.join(", ")
                );
                (Buffer::None, Some(message))
            }
        }
    }

    /// Several versions may be registered side by side: new instances take the highest, running
    /// ones stay on the version they began with.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Calls the function. What it does before its first await point happens on the first poll.
    pub(crate) fn call(&self, cx: Cx, input: &Json) -> Result<Body> {
        // The function itself only makes a future, but what reads its input is the user's code too.
        let called = catch_unwind(AssertUnwindSafe(|| (self.call)(cx, input)));
        let called = called.unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            Err(Error::Invalid { what: "input".into(), message })
        });
        called.map_err(|refused| Error::Invalid {
            what: format!("input of workflow {:?}", self.name).into(),
            message: match refused {
                Error::Invalid { message, .. } => message,
                other => other.to_string(),
            },
        })
    }
}

/// The failure that an error of user code is recorded as.
pub(crate) fn failure_of(error: &(dyn std::error::Error + 'static)) -> Failure {
    if let Some(error) = error.downcast_ref::<Error>() {
        return error.to_failure();
    }
    Failure::new("WORKFLOW_FAILED", with_causes(error))
}

/// An error and what caused it, in one line.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Many errors already print their cause.
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

/// The workflows an engine knows, by name and version.
#[derive(Default)]
pub(crate) struct Registry(BTreeMap<Arc<str>, BTreeMap<u32, Workflow>>);

impl Registry {
    pub(crate) fn add(&mut self, workflow: Workflow) {
        let versions = self.0.entry(Arc::clone(&workflow.name)).or_default();
        versions.insert(workflow.version, workflow);
    }

    /// The version that new instances take.
    pub(crate) fn latest(&self, name: &str) -> Result<&Workflow> {
        let versions = self.0.get(name).and_then(BTreeMap::last_key_value);
        versions.map(|(_, workflow)| workflow).ok_or_else(|| self.unknown(name))
    }

    pub(crate) fn get(&self, name: &str, version: u32) -> Option<&Workflow> {
        self.0.get(name)?.get(&version)
    }

    fn unknown(&self, name: &str) -> Error {
        let known: Vec<_> = self.0.keys().map(|name| &**name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Error::WorkflowUnknown { name: name.to_owned(), known }
    }
}
