//! A function whose result is stored before anything depends on it.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::duration::{DurationError, IntoDuration};
use crate::error::{BoxError, Error, NonRetryable, Result};
use crate::failure::Failure;
use crate::json::Json;
use crate::replacement::StepCall;
use crate::retry::Retry;
use crate::run::{OpId, Resident};
use crate::workflow::with_causes;

use super::compensation::{Compensation, Undo};
use super::{Cx, panic_message, too_large};

/// A step about to run; see [`Cx::step`]. Await it for its result.
#[must_use = "a step does nothing unless awaited"]
pub struct Step<F, Fut, T> {
    resident: Arc<Resident>,
    /// Taken when the step was made, so that polling order does not matter.
    name: Result<Arc<str>>,
    function: F,
    retry: Retry,
    timeout: Option<Duration>,
    invalid: Option<DurationError>,
    undo: Option<Undo>,
    op: Option<OpId>,
    attempt: Option<Attempt<Fut>>,
    result: PhantomData<fn() -> T>,
}

/// A try in progress.
struct Attempt<Fut> {
    future: Pin<Box<Fut>>,
    deadline: Option<BoxFuture<'static, ()>>,
}

/// What polls it never moves its parts out from under a pin: the future is boxed.
impl<F, Fut, T> Unpin for Step<F, Fut, T> {}

impl<F, Fut, T> Step<F, Fut, T> {
    pub(super) fn new(cx: &Cx, name: Result<Arc<str>>, function: F) -> Self {
        Self {
            resident: Arc::clone(&cx.resident),
            name,
            function,
            retry: Retry::default(),
            timeout: None,
            invalid: None,
            undo: None,
            op: None,
            attempt: None,
            result: PhantomData,
        }
    }

    /// Its name as the instance calls it, unless that can't be one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().ok()
    }

    /// How often it is tried; 3 times by default.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// How long one attempt may take. Attempts that take longer fail with `STEP_TIMEOUT`.
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        match timeout.into_duration() {
            Ok(timeout) => self.timeout = Some(timeout),
            Err(refused) => self.invalid = Some(refused),
        }
        self
    }

    /// How to undo it, given its result, if the workflow fails later or is terminated with
    /// compensation. Runs as a step of its own, in reverse order of start.
    pub fn compensate<G, Done, E>(mut self, mut undo: G) -> Self
    where
        G: FnMut(T) -> Done + Send + 'static,
        Done: Future<Output = std::result::Result<(), E>> + Send + 'static,
        T: DeserializeOwned,
        E: Into<BoxError> + 'static,
    {
        self.undo = Some(Box::new(move |result: &Json| {
            let done = result.decode().map(&mut undo);
            Box::pin(async move { done?.await.map_err(Into::into) })
        }));
        self
    }

    fn check(&self) -> Result<()> {
        self.resident.check_current()?;
        self.retry.check()?;
        match &self.invalid {
            Some(refused) => {
                Err(Error::Invalid { what: "timeout".into(), message: refused.to_string() })
            }
            None => Ok(()),
        }
    }

    fn begin(&mut self) -> Result<OpId> {
        if let Some(op) = self.op {
            return Ok(op);
        }
        self.check()?;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        let ms = self.timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
        let op = self.resident.state.lock().begin_step(name, &self.retry, ms);
        self.op = Some(op);
        Ok(op)
    }
}

impl<F, Fut, T, E> Step<F, Fut, T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = std::result::Result<T, E>> + Send,
    T: Serialize + DeserializeOwned,
    E: Into<BoxError>,
{
    /// Runs the attempt until it has an outcome, and records that.
    fn poll_attempt(&mut self, op: OpId, task: &mut Context<'_>) -> Poll<()> {
        if self.attempt.is_none() {
            if let Some(outcome) = self.replaced(op) {
                self.record(op, outcome);
                return Poll::Ready(());
            }
            match guarded(|| (self.function)()) {
                Ok(future) => self.attempt = Some(self.attempt_of(future)),
                Err(panic) => {
                    self.record_failure(
                        op,
                        Failure::new("STEP_FAILED", panic_message(&*panic)),
                        true,
                    );
                    return Poll::Ready(());
                }
            }
        }
        let Some(attempt) = &mut self.attempt else { return Poll::Pending };
        let polled = guarded(|| attempt.future.as_mut().poll(task));
        let outcome = match polled {
            Ok(Poll::Ready(outcome)) => outcome.map_err(Into::into),
            Ok(Poll::Pending) => {
                let Some(deadline) = &mut attempt.deadline else { return Poll::Pending };
                ready!(deadline.as_mut().poll(task));
                self.attempt = None;
                self.record_failure(op, timed_out(self.timeout.unwrap_or_default()), true);
                return Poll::Ready(());
            }
            Err(panic) => Err(panic_message(&*panic).into()),
        };
        self.attempt = None;
        self.record(op, outcome);
        Poll::Ready(())
    }

    /// What a test answers in place of the function.
    fn replaced(&self, op: OpId) -> Option<std::result::Result<T, BoxError>> {
        let replace = self.resident.env.replace.as_ref()?;
        let step = self.name.as_ref().ok()?;
        let attempt = self.resident.state.lock().attempt_of(op);
        let Resident { id: instance, workflow, run, .. } = &*self.resident;
        let call = StepCall { instance, workflow, run: *run, step, attempt };
        let answer = guarded(|| replace(&call));
        match answer.unwrap_or_else(|panic| Some(Err(panic_message(&*panic).into())))? {
            Ok(json) => Some(json.decode().map_err(|refused| {
                NonRetryable::new(format!("the replacement of {step:?}: {refused}")).into()
            })),
            Err(error) => Some(Err(error)),
        }
    }

    fn record(&self, op: OpId, outcome: std::result::Result<T, BoxError>) {
        match outcome {
            Ok(result) => self.record_result(op, &result),
            Err(error) => {
                let wrapped = error.downcast_ref::<NonRetryable>().map(NonRetryable::inner);
                let failure = match wrapped.unwrap_or(&*error).downcast_ref::<Error>() {
                    Some(Error::Failed(own)) => own.clone(),
                    _ => Failure::new("STEP_FAILED", with_causes(&*error)),
                };
                self.record_failure(op, failure, !NonRetryable::is_in(&*error));
            }
        }
    }

    fn attempt_of(&self, future: Fut) -> Attempt<Fut> {
        let clock = &self.resident.env.clock;
        let deadline = self.timeout.map(|limit| clock.sleep_until(clock.now().after(limit)));
        Attempt { future: Box::pin(future), deadline }
    }

    fn record_result(&self, op: OpId, result: &T) {
        let limit = self.resident.env.config.payload_max;
        let mut state = self.resident.state.lock();
        match Json::encode(result) {
            Ok(json) if json.size() > limit => {
                state.failed(op, too_large("the result", json.size(), limit), None);
            }
            Ok(json) => state.succeeded(op, json),
            Err(refused) => state.failed(op, refused.to_failure(), None),
        }
    }

    fn record_failure(&self, op: OpId, failure: Failure, may_retry: bool) {
        let retry = may_retry.then_some(&self.retry);
        self.resident.state.lock().failed(op, failure, retry);
    }

    fn taken(&mut self, op: OpId, outcome: std::result::Result<Json, Failure>) -> Result<T> {
        self.op = None;
        let name = self.name.as_ref().map_err(Clone::clone)?;
        let json = outcome.map_err(|failure| Error::from_step(name, failure))?;
        let result = json.decode()?;
        if let Some(undo) = self.undo.take() {
            let compensation = Compensation::new(op, name, json, undo);
            self.resident.state.lock().compensations.push(compensation);
        }
        Ok(result)
    }
}

impl<F, Fut, T, E> Future for Step<F, Fut, T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = std::result::Result<T, E>> + Send,
    T: Serialize + DeserializeOwned,
    E: Into<BoxError>,
{
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<T>> {
        let op = match self.begin() {
            Ok(op) => op,
            Err(error) => return Poll::Ready(Err(error)),
        };
        loop {
            let (outcome, may_run) = {
                let mut state = self.resident.state.lock();
                (state.poll(op, task.waker()), state.may_run(op))
            };
            if let Some(outcome) = outcome {
                return Poll::Ready(self.taken(op, outcome));
            }
            if !may_run {
                return Poll::Pending;
            }
            if let Err(error) = self.resident.check_current() {
                return Poll::Ready(Err(error));
            }
            ready!(self.poll_attempt(op, task));
        }
    }
}

impl<F, Fut, T> Drop for Step<F, Fut, T> {
    fn drop(&mut self) {
        let Some(op) = self.op else { return };
        let mut state = self.resident.state.lock();
        // It was done, though the workflow did not wait to see it: undo it with the rest.
        if let Some(result) = state.dropped(op)
            && let (Some(undo), Ok(name)) = (self.undo.take(), &self.name)
        {
            state.compensations.push(Compensation::new(op, name, result, undo));
        }
    }
}

/// Runs a part of the step's function: outside the workflow, and a panic stays in the step.
fn guarded<T>(part: impl FnOnce() -> T) -> std::thread::Result<T> {
    Resident::as_outsider(|| catch_unwind(AssertUnwindSafe(part)))
}

fn timed_out(limit: Duration) -> Failure {
    Failure::new("STEP_TIMEOUT", format!("the attempt took longer than {limit:?}"))
        .with_details(&serde_json::json!({ "timeoutMs": limit.as_millis() as u64 }))
}
