//! Definitions of workflows and the table of those an engine knows.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cx::{Cx, panic_message};
use crate::declaration::Declarations;
use crate::duration::IntoDuration;
use crate::error::{BoxError, Error, Result};
use crate::event::{Buffer, Kind};
use crate::failure::Failure;
use crate::json::Json;
use crate::pattern;
use crate::schema::Schema;

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
    pub(crate) declared: Declarations,
    /// How long its waits for events last when they don't say.
    pub(crate) wait_timeout: Option<Duration>,
    /// What its input has to look like.
    input: Option<Arc<Schema>>,
    /// What is wrong with what was said about it; reported when an engine starts with it.
    invalid: Option<Error>,
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
        Self {
            name: name.into(),
            version: 1,
            declared: Declarations::default(),
            wait_timeout: None,
            input: None,
            invalid: None,
            call: Arc::new(call),
        }
    }

    /// Declares an event it takes: its payload is a `T`, and this is what happens to it when nobody
    /// waits. Once one is declared, events that are not are refused with `EVENT_INVALID`, as are
    /// payloads that are no `T`. Defaults of `T` (`#[serde(default)]`) are filled in before it is
    /// stored. [`serde_json::Value`] takes any payload.
    #[must_use]
    pub fn event<T: JsonSchema>(self, event_type: &str, buffer: Buffer) -> Self {
        self.declare(Kind::Event, event_type, buffer, Schema::of::<T>())
    }

    /// The same with a JSON Schema instead of a type.
    #[must_use]
    pub fn event_schema(self, event_type: &str, buffer: Buffer, schema: Value) -> Self {
        self.declare(Kind::Event, event_type, buffer, Schema::new(schema))
    }

    /// Declares that the payload of a signal is a `T`. Signals need not be declared.
    #[must_use]
    pub fn signal<T: JsonSchema>(self, name: &str) -> Self {
        self.declare(Kind::Signal, name, Buffer::Queue, Schema::of::<T>())
    }

    /// Declares that the payload of a message on a topic is a `T`, when it is sent from outside
    /// ([`crate::Handle::send`]). What a workflow sends is not looked at.
    #[must_use]
    pub fn message<T: JsonSchema>(self, topic: &str) -> Self {
        self.declare(Kind::Message, topic, Buffer::Queue, Schema::of::<T>())
    }

    /// Waits for events give up after so long when they don't say; otherwise
    /// [`crate::Config::wait_default_timeout`] holds.
    #[must_use]
    pub fn wait_timeout(mut self, timeout: impl IntoDuration) -> Self {
        match timeout.into_duration() {
            Ok(timeout) => self.wait_timeout = Some(timeout),
            Err(refused) => self.is_invalid("wait timeout", &refused.to_string()),
        }
        self
    }

    fn declare(mut self, kind: Kind, name: &str, buffer: Buffer, schema: Result<Schema>) -> Self {
        match pattern::check(name).and(schema) {
            Ok(schema) => self.declared.add(kind, name, buffer, Some(schema)),
            Err(refused) => self.is_invalid(&format!("{kind} {name:?}"), &refused.to_string()),
        }
        self
    }

    /// What is wrong with it, if anything.
    pub(crate) fn check(&self) -> Result<()> {
        self.invalid.clone().map_or(Ok(()), Err)
    }

    fn is_invalid(&mut self, what: &str, message: &str) {
        let what = format!("{what} of workflow {:?}", self.name).into();
        self.invalid.get_or_insert(Error::Invalid { what, message: message.to_owned() });
    }

    /// Its input has to fit this JSON Schema, whose defaults are filled in; otherwise a start is refused.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        match Schema::new(schema) {
            Ok(schema) => self.input = Some(Arc::new(schema)),
            Err(refused) => self.is_invalid("input schema", &refused.to_string()),
        }
        self
    }

    /// Takes events that match a pattern with any payload, beside those that are declared.
    #[must_use]
    pub fn takes(mut self, pattern: &str) -> Self {
        match pattern::check(pattern) {
            Ok(()) => self.declared.open(pattern),
            Err(refused) => self.is_invalid(&format!("event {pattern:?}"), &refused.to_string()),
        }
        self
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
        let called = catch_unwind(AssertUnwindSafe(|| {
            let admitted = self.admit(input)?;
            (self.call)(cx, admitted.as_ref().unwrap_or(input))
        }));
        let called = called.unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            Err(Error::Invalid { what: "input".into(), message })
        });
        called.map_err(|refused| match refused {
            Error::Invalid { message, .. } => self.refuses(message),
            other => self.refuses(other.to_string()),
        })
    }

    /// What an input is once its schema is through with it: with defaults filled in.
    pub(crate) fn admit(&self, input: &Json) -> Result<Option<Json>> {
        let admitted = self.input.as_ref().map(|schema| schema.admit(Some(input)));
        Ok(admitted.transpose().map_err(|message| self.refuses(message))?.flatten())
    }

    fn refuses(&self, message: String) -> Error {
        Error::Invalid { what: format!("input of workflow {:?}", self.name).into(), message }
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
pub(crate) struct Registry {
    all: RwLock<BTreeMap<Arc<str>, Versions>>,
    /// Whether any of them ever said something about what it takes: asked with every send.
    declares: AtomicBool,
}

type Versions = BTreeMap<u32, Arc<Workflow>>;

impl Registry {
    pub(crate) fn add(&self, workflow: Workflow) {
        self.declares.fetch_or(!workflow.declared.is_empty(), Ordering::Release);
        let mut all = self.all.write();
        let versions = all.entry(Arc::clone(&workflow.name)).or_default();
        versions.insert(workflow.version, Arc::new(workflow));
    }

    /// The version that new instances take.
    pub(crate) fn latest(&self, name: &str) -> Result<Arc<Workflow>> {
        let all = self.all.read();
        let latest = all.get(name).and_then(BTreeMap::last_key_value);
        let latest = latest.map(|(_, workflow)| Arc::clone(workflow));
        drop(all);
        latest.ok_or_else(|| self.unknown(name))
    }

    pub(crate) fn get(&self, name: &str, version: u32) -> Option<Arc<Workflow>> {
        self.all.read().get(name)?.get(&version).cloned()
    }

    /// Every name with its versions, oldest first.
    pub(crate) fn names(&self) -> Vec<(Arc<str>, Vec<u32>)> {
        let all = self.all.read();
        let versions = |versions: &Versions| versions.keys().copied().collect();
        all.iter().map(|(name, known)| (Arc::clone(name), versions(known))).collect()
    }

    /// Whether something is wrong with one of them.
    pub(crate) fn check(&self) -> Result<()> {
        let all = self.all.read();
        let mut all = all.values().flat_map(BTreeMap::values);
        all.find_map(|workflow| workflow.invalid.clone()).map_or(Ok(()), Err)
    }

    /// Whether any of them says something about what it takes.
    pub(crate) fn declares(&self) -> bool {
        self.declares.load(Ordering::Acquire)
    }

    fn unknown(&self, name: &str) -> Error {
        let all = self.all.read();
        let known: Vec<_> = all.keys().map(|name| &**name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Error::WorkflowUnknown { name: name.to_owned(), known }
    }
}
