//! What a workflow does: steps, sleeps, children, recorded values.
//!
//! Every method that takes a step's name counts its uses when it is *called*: the first use of
//! `"charge"` is the step `charge`, the second `charge#2`, so loops just work. Branches whose order
//! may vary from run to run belong in a [`Cx::scope`] of their own.

mod asked;
mod attempts;
mod child;
mod compensation;
mod counted;
mod mail;
mod mapping;
mod publish;
mod sleep;
mod step;
mod stream;
mod subscription;
mod together;
mod wait;

use std::any::Any;
use std::future::pending;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::duration::IntoDuration;
use crate::engine::IntoPublication;
use crate::error::{BoxError, Error, Result};
use crate::event::Kind;
use crate::failure::Failure;
use crate::history::StepKind;
use crate::id::InstanceId;
use crate::json::Json;
use crate::run::Resident;
use crate::time::Timestamp;

pub use child::{Child, Detached};
pub(crate) use compensation::{Compensation, compensate};
pub use counted::Counted;
pub use mail::{Message, Take};
pub use publish::Publishing;
pub use sleep::Sleep;
pub use step::Step;
pub use stream::StreamStep;
pub use subscription::Subscription;
pub use together::{AllOf, AnyOf, OneOf2, OneOf3, OneOf4, Waits};
pub use wait::{OutputWait, Wait};

/// The workflow's own view of itself. Cheap to clone.
#[derive(Clone)]
pub struct Cx {
    resident: Arc<Resident>,
    prefix: Option<Arc<str>>,
    /// What everything asked through it is called.
    alias: Option<Arc<str>>,
    /// What is wrong with the name of the scope; reported when a step is awaited.
    invalid: Option<Arc<Error>>,
}

impl Cx {
    pub(crate) fn new(resident: Arc<Resident>) -> Self {
        Self { resident, prefix: None, alias: None, invalid: None }
    }

    /// The id of this instance.
    #[must_use]
    pub fn instance_id(&self) -> &InstanceId {
        &self.resident.id
    }

    /// The name of this workflow.
    #[must_use]
    pub fn workflow(&self) -> &str {
        &self.resident.workflow
    }

    /// The run of this instance, from 1.
    #[must_use]
    pub fn run(&self) -> u32 {
        self.resident.run
    }

    /// Runs a function whose result is stored before anything depends on it.
    ///
    /// Once recorded, it never runs again in this run. A function that was interrupted by a crash
    /// *may* have run: make it idempotent, or ask for at most once with [`Retry::never`].
    /// It is tried 3 times by default; see [`Step::retry`], [`Step::timeout`] and
    /// [`Step::compensate`].
    ///
    /// The function may borrow from the workflow. It may not use the `Cx`: a step inside a step
    /// could not be replayed.
    ///
    /// [`Retry::never`]: crate::Retry::never
    pub fn step<F, Fut, T, E>(&self, name: &str, function: F) -> Step<F, Fut, T>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = std::result::Result<T, E>> + Send,
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
    {
        Step::new(self, self.use_name(name), function)
    }

    /// Sleeps. Costs a row, not a thread: the instance leaves memory if it takes long.
    pub fn sleep(&self, name: &str, duration: impl IntoDuration) -> Sleep {
        Sleep::lasting(self, name, duration)
    }

    /// Sleeps until a moment; one in the past is over at once.
    pub fn sleep_until(&self, name: &str, until: Timestamp) -> Sleep {
        Sleep::until(self, name, until)
    }

    /// Starts a child workflow and waits for its result; see [`Child`].
    ///
    /// The step is named after the workflow. Dropping the future stops the waiting, not the child.
    pub fn child<O: DeserializeOwned>(&self, workflow: &str, input: impl Serialize) -> Child<O> {
        Child::new(self, workflow, &input)
    }

    /// Waits for an event sent to this instance ([`crate::Handle::send_event`]).
    ///
    /// The event may have come **early**: one that was accepted before the wait was reached is kept
    /// (by default only the **latest** of its type: a newer one replaces it) and meets the wait at
    /// once; a buffered hit does not suspend, and ignores the timeout. After the instance has ended,
    /// events for it are refused ([`Error::NotRunning`]). One event serves every wait of the instance
    /// that hears it. Without [`Wait::on`] the event type is the step's own name.
    /// A wait that is not met in time is [`Error::EventTimeout`], which the workflow may handle.
    pub fn wait_for_event<T: DeserializeOwned>(&self, step: &str) -> Wait<T> {
        Wait::new(self, step, Kind::Event)
    }

    /// Waits for a signal. Signals are queued: each meets one wait, first in, first out.
    pub fn wait_for_signal<T: DeserializeOwned>(&self, step: &str) -> Wait<T> {
        Wait::new(self, step, Kind::Signal)
    }

    /// Waits for a message on a topic. Messages are queued: each meets one wait, first in, first out.
    pub fn receive<T: DeserializeOwned>(&self, step: &str) -> Wait<T> {
        Wait::new(self, step, Kind::Message)
    }

    /// Waits until the first of several waits is met; the others are cancelled in the same commit, so
    /// they eat nothing that comes later. One that gives up leaves the others waiting; when the last
    /// does, this is [`Error::EventTimeout`].
    ///
    /// ```no_run
    /// # use abide::prelude::*;
    /// # async fn review(cx: Cx, _: ()) -> Result<bool> {
    /// let approved = cx.wait_for_event::<String>("approved").timeout("2 days");
    /// let rejected = cx.wait_for_event::<String>("rejected").timeout("2 days");
    /// match cx.any((approved, rejected)).await? {
    ///     OneOf2::First(approval) => Ok(true),
    ///     OneOf2::Second(rejection) => Ok(false),
    /// }
    /// # }
    /// ```
    pub fn any<W: Waits>(&self, waits: W) -> AnyOf<W> {
        AnyOf::new(waits)
    }

    /// Waits until all of several waits are met. The first that gives up ends it with
    /// [`Error::EventTimeout`], and the others are cancelled.
    pub fn all<W: Waits>(&self, waits: W) -> AllOf<W> {
        AllOf::new(waits)
    }

    /// A durable stream of events: [`Subscription::next`] gives one after the other, each exactly
    /// once, across crashes and restarts of the process.
    ///
    /// What comes while nobody asks for the next is kept as its declaration says. Declare the type
    /// with [`crate::Buffer::Queue`] to see all of them: of `latest` only the newest is kept.
    pub fn subscribe<T: DeserializeOwned>(&self, step: &str) -> Subscription<T> {
        Subscription::new(self, step)
    }

    /// Takes a signal that is already there, or finds none; recorded either way.
    pub fn try_signal<T: DeserializeOwned>(&self, step: &str) -> Take<T> {
        Take::new(self, step, Kind::Signal)
    }

    /// Takes a message that is already there, or finds none; recorded either way.
    pub fn try_receive<T: DeserializeOwned>(&self, step: &str) -> Take<T> {
        Take::new(self, step, Kind::Message)
    }

    /// Sends an event to another instance: exactly once, in the same commit as this step.
    pub fn send_event(
        &self,
        to: &InstanceId,
        event_type: &str,
        payload: impl Serialize,
    ) -> Message {
        Message::new(self, to, Kind::Event, event_type, &payload)
    }

    /// Publishes an event to whoever wants it: exactly once, in the same commit as this step. Its source
    /// is this instance. See [`crate::Engine::publish`].
    pub fn publish(&self, event: impl IntoPublication) -> Publishing {
        Publishing::new(self, event)
    }

    /// Sends a message to another instance: exactly once, in the same commit as this step.
    pub fn send(&self, to: &InstanceId, topic: &str, payload: impl Serialize) -> Message {
        Message::new(self, to, Kind::Message, topic, &payload)
    }

    /// Publishes a value for the outside to read ([`crate::Handle::output`]); setting it again
    /// replaces it. Stored with the workflow's next commit.
    ///
    /// # Errors
    /// When the value can't be stored, or is too large.
    pub fn set_output(&self, key: &str, value: impl Serialize) -> Result<()> {
        let value = Json::encode(&value)?;
        self.check_size("the output", &value)?;
        self.resident.state.lock().set_output(&key.into(), value);
        Ok(())
    }

    /// Tells those who watch this instance: an `update` in its history, with a name and a value. Stored
    /// with the workflow's next commit; seen by those who look later, too.
    ///
    /// # Errors
    /// When the value can't be stored, or is too large.
    pub fn emit(&self, name: &str, data: impl Serialize) -> Result<()> {
        let data = Json::encode(&data)?;
        self.check_size("the update", &data)?;
        self.resident.state.lock().emit(&name.into(), &data);
        Ok(())
    }

    /// Says something to those who watch this instance right now ([`crate::Handle::watch`]), and to nobody
    /// else: it is not recorded, a replay does not say it again, and whoever is too slow may miss it. For what
    /// must be seen there is [`Cx::emit`].
    ///
    /// # Errors
    /// When the value can't be told, or is too large.
    pub fn broadcast(&self, name: &str, data: impl Serialize) -> Result<()> {
        let data = Json::encode(&data)?;
        self.check_size("the broadcast", &data)?;
        self.resident.state.lock().broadcast(&name.into(), data);
        Ok(())
    }

    /// Waits for an output of another instance.
    pub fn output_of<T: DeserializeOwned>(&self, of: &InstanceId, key: &str) -> OutputWait<T> {
        OutputWait::new(self, of, key)
    }

    /// The present moment, recorded: a replay sees the same one.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let clock = Arc::clone(&self.resident.env.clock);
        self.value("now", StepKind::Now, || clock.now())
    }

    /// A random number, recorded.
    #[must_use]
    pub fn random(&self) -> u64 {
        let clock = Arc::clone(&self.resident.env.clock);
        self.value("random", StepKind::Random, || clock.random())
    }

    /// A fresh UUID, recorded.
    #[must_use]
    pub fn uuid(&self) -> uuid::Uuid {
        let clock = Arc::clone(&self.resident.env.clock);
        let text: String = self.value("uuid", StepKind::Uuid, || clock.uuid().to_string());
        uuid::Uuid::parse_str(&text).unwrap_or_default()
    }

    /// Whether this instance runs the changed code.
    ///
    /// True for an instance that reaches this place for the first time, and recorded; false for one
    /// that passed it before the change was deployed.
    #[must_use]
    pub fn patched(&self, change: &str) -> bool {
        let name: Arc<str> = self.prefixed(&format!("patch[{change}]")).into();
        let mut state = self.resident.state.lock();
        if state.recorded_value(&name, StepKind::Patch).is_some() {
            state.remember_patch(&name, true);
        } else if state.patch(&name).is_none() {
            let live = state.is_live();
            state.remember_patch(&name, live);
            if live {
                state.value(&name, StepKind::Patch, Json::null);
            }
        }
        state.patch(&name).unwrap_or(false)
    }

    /// `workflow.context`: starts as the input.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { resident: Arc::clone(&self.resident) }
    }

    /// The same instance with a prefix to its step names: in `cx.scope("item", 3)` the step
    /// `charge` is `item[3].charge`.
    #[must_use]
    pub fn scope(&self, name: &str, index: impl std::fmt::Display) -> Self {
        let index = index.to_string();
        let prefix = format!("{}[{index}].", self.prefixed(name)).into();
        let checked = check_name("scope name", name).and(check_name("scope index", &index));
        let invalid = self.invalid.clone().or(checked.err().map(Arc::new));
        Self { resident: Arc::clone(&self.resident), prefix: Some(prefix), alias: None, invalid }
    }

    /// The same instance, where whatever is asked next is the step of this name: a message, a child
    /// or a wait for an output has a name of its own making otherwise.
    #[must_use]
    pub fn named(&self, step: &str) -> Self {
        Self { alias: Some(step.into()), ..self.clone() }
    }

    /// Goes on as a new run of the same instance, with a new input and an empty history. Never
    /// returns: `return cx.continue_as_new(&next).await`.
    ///
    /// # Errors
    /// When the input can't be stored.
    pub async fn continue_as_new<T>(&self, input: impl Serialize) -> Result<T> {
        self.resident.check_current()?;
        let input = Json::encode(&input)?;
        self.check_size("the input", &input)?;
        self.resident.state.lock().continue_with = Some(input);
        pending().await
    }

    fn value<T: Serialize + DeserializeOwned + Default>(
        &self,
        name: &str,
        kind: StepKind,
        make: impl FnOnce() -> T,
    ) -> T {
        let mut state = self.resident.state.lock();
        let name = state.use_name(&self.prefixed(name));
        let made = || Json::encode(&make()).unwrap_or_else(|_| Json::null());
        let value = state.value(&name, kind, made);
        // A recorded value of another type is a mismatch that was noted; the run is about to stop.
        value.decode().unwrap_or_default()
    }

    fn prefixed(&self, name: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}{name}"),
            None => name.to_owned(),
        }
    }

    /// The name of this use of a step, or why it can't be one.
    fn use_name(&self, name: &str) -> Result<Arc<str>> {
        if let Some(invalid) = &self.invalid {
            return Err((**invalid).clone());
        }
        let name = self.alias.as_deref().unwrap_or(name);
        check_name("step name", name)?;
        let mut state = self.resident.state.lock();
        Ok(match &self.prefix {
            None => state.use_name(name),
            Some(prefix) => state.use_name(&format!("{prefix}{name}")),
        })
    }

    fn check_size(&self, what: &'static str, value: &Json) -> Result<()> {
        let limit = self.resident.env.config.payload_max;
        if value.size() <= limit {
            return Ok(());
        }
        Err(Error::TooLarge { what: what.into(), size: value.size(), limit })
    }
}

fn check_name(what: &'static str, name: &str) -> Result<()> {
    if !name.is_empty() && name.len() <= 255 && !name.contains(['#', '[', ']']) {
        return Ok(());
    }
    let message = format!("{name:?} must be 1 to 255 bytes without '#', '[' and ']'");
    Err(Error::Invalid { what: what.into(), message })
}

/// A result that is over its limit.
pub(crate) fn too_large(what: &str, size: usize, limit: usize) -> Failure {
    let message = format!("{what} is {size} bytes, the limit is {limit} (payload.max)");
    Failure::new("RESULT_TOO_LARGE", message)
        .with_details(&serde_json::json!({ "size": size, "limit": limit }))
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panicked: {}", said.unwrap_or_else(|| "no message".to_owned()))
}
