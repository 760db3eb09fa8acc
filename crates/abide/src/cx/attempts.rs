//! What every step that runs something of the user's has in common: its attempts.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tracing::{Span, debug_span, field};

use crate::chunk::NewChunk;
use crate::config::Config;
use crate::duration::{DurationError, IntoDuration};
use crate::error::{BoxError, Error, NonRetryable, Result};
use crate::failure::Failure;
use crate::history::StepKind;
use crate::json::Json;
use crate::replacement::StepCall;
use crate::retry::Retry;
use crate::run::{OpId, Resident};
use crate::trace::{self, Trace};
use crate::workflow::with_causes;

use super::compensation::{Compensation, Undo};
use super::{Cx, panic_message};

/// What a step does in an attempt.
pub(super) trait Work {
    /// An attempt in progress.
    type Future: Future<Output = std::result::Result<Self::Yield, Self::Error>>;
    /// What it comes to.
    type Yield;
    /// How it fails.
    type Error: Into<BoxError>;
    /// What the workflow gets.
    type Result: DeserializeOwned;

    /// Begins an attempt.
    fn begin(&mut self, resident: &Arc<Resident>, step: &Arc<str>, attempt: u32) -> Self::Future;

    /// What a test's answer in place of an attempt comes to.
    fn replaced(&self, answer: &Json, attempt: u32) -> Result<Self::Yield>;

    /// What of it is stored.
    fn settle(done: Self::Yield, config: &Config) -> Result<Settled, Failure>;
}

/// What is stored of an attempt that came to something.
pub(super) struct Settled {
    pub(super) result: Json,
    /// The last of what it streamed.
    pub(super) chunk: Option<NewChunk>,
}

/// The attempts of one step, and everything that was said about them.
pub(super) struct Attempts<Fut> {
    resident: Arc<Resident>,
    /// Taken when the step was made, so that polling order does not matter.
    name: Result<Arc<str>>,
    kind: StepKind,
    retry: Retry,
    timeout: Option<Duration>,
    invalid: Option<DurationError>,
    undo: Option<Undo>,
    op: Option<OpId>,
    attempt: Option<Attempt<Fut>>,
}

/// A try in progress.
struct Attempt<Fut> {
    future: Pin<Box<Fut>>,
    deadline: Option<BoxFuture<'static, ()>>,
    span: Span,
    trace: Option<Trace>,
}

impl<Fut> Attempts<Fut> {
    pub(super) fn new(cx: &Cx, name: Result<Arc<str>>, kind: StepKind) -> Self {
        Self {
            resident: Arc::clone(&cx.resident),
            name,
            kind,
            retry: Retry::default(),
            timeout: None,
            invalid: None,
            undo: None,
            op: None,
            attempt: None,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref().ok()
    }

    pub(super) fn set_retry(&mut self, retry: Retry) {
        self.retry = retry;
    }

    pub(super) fn set_timeout(&mut self, timeout: impl IntoDuration) {
        match timeout.into_duration() {
            Ok(timeout) => self.timeout = Some(timeout),
            Err(refused) => self.invalid = Some(refused),
        }
    }

    pub(super) fn set_undo<G, Done, T, E>(&mut self, mut undo: G)
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
        let op = self.resident.state.lock().begin_step(name, self.kind, &self.retry, ms);
        self.op = Some(op);
        Ok(op)
    }

    /// The workflow polls: its outcome once revealed; until then, whatever may run does.
    pub(super) fn poll<W>(
        &mut self,
        work: &mut W,
        task: &mut Context<'_>,
    ) -> Poll<Result<W::Result>>
    where
        W: Work<Future = Fut>,
        Fut: Future<Output = std::result::Result<W::Yield, W::Error>>,
    {
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
            ready!(self.poll_attempt(op, work, task));
        }
    }

    /// Runs the attempt until it has an outcome, and records that.
    fn poll_attempt<W>(&mut self, op: OpId, work: &mut W, task: &mut Context<'_>) -> Poll<()>
    where
        W: Work<Future = Fut>,
        Fut: Future<Output = std::result::Result<W::Yield, W::Error>>,
    {
        if self.attempt.is_none() {
            let Ok(step) = self.name.clone() else { return Poll::Pending };
            let attempt = self.resident.state.lock().attempt_of(op);
            if let Some(answer) = self.replaced(&step, attempt) {
                let outcome = answer.and_then(|json| {
                    work.replaced(&json, attempt).map_err(|refused| {
                        NonRetryable::new(format!("the replacement of {step:?}: {refused}")).into()
                    })
                });
                self.record::<W>(op, outcome);
                return Poll::Ready(());
            }
            let trace = self.resident.trace_of(&step, attempt);
            let span = debug_span!(
                target: "abide::step", "step",
                step = %step, attempt, trace = trace.map(field::display)
            );
            let begin = || guarded(|| work.begin(&self.resident, &step, attempt));
            match span.in_scope(|| trace::inside(trace, begin)) {
                Ok(future) => self.attempt = Some(self.attempt_of(future, span, trace)),
                Err(panic) => {
                    let failure = Failure::new("STEP_FAILED", panic_message(&*panic));
                    self.record_failure(op, failure, true);
                    return Poll::Ready(());
                }
            }
        }
        let Some(attempt) = &mut self.attempt else { return Poll::Pending };
        let span = attempt.span.clone();
        let _inside = span.enter();
        let poll = || guarded(|| attempt.future.as_mut().poll(task));
        let polled = trace::inside(attempt.trace, poll);
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
        self.record::<W>(op, outcome);
        Poll::Ready(())
    }

    /// What a test answers in place of the function.
    fn replaced(
        &self,
        step: &Arc<str>,
        attempt: u32,
    ) -> Option<std::result::Result<Json, BoxError>> {
        let replace = self.resident.env.replace.as_ref()?;
        let Resident { id: instance, workflow, run, .. } = &*self.resident;
        let call = StepCall { instance, workflow, run: *run, step, attempt };
        let answer = guarded(|| replace(&call));
        answer.unwrap_or_else(|panic| Some(Err(panic_message(&*panic).into())))
    }

    fn attempt_of(&self, future: Fut, span: Span, trace: Option<Trace>) -> Attempt<Fut> {
        let clock = &self.resident.env.clock;
        let deadline = self.timeout.map(|limit| clock.sleep_until(clock.now().after(limit)));
        Attempt { future: Box::pin(future), deadline, span, trace }
    }

    fn record<W: Work>(&self, op: OpId, outcome: std::result::Result<W::Yield, BoxError>) {
        match outcome {
            Ok(done) => {
                let settled = W::settle(done, &self.resident.env.config);
                let mut state = self.resident.state.lock();
                match settled {
                    Ok(Settled { result, chunk }) => {
                        state.next.chunks.extend(chunk);
                        state.succeeded(op, result);
                    }
                    Err(failure) => state.failed(op, failure, None),
                }
            }
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

    fn record_failure(&self, op: OpId, failure: Failure, may_retry: bool) {
        // Its message may repeat a payload; whoever may see that reads the history.
        tracing::debug!(target: "abide::step", code = &*failure.code, "an attempt failed");
        let retry = may_retry.then_some(&self.retry);
        self.resident.state.lock().failed(op, failure, retry);
    }

    fn taken<T: DeserializeOwned>(
        &mut self,
        op: OpId,
        outcome: std::result::Result<Json, Failure>,
    ) -> Result<T> {
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

impl<Fut> Drop for Attempts<Fut> {
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
