//! A function whose result is stored before anything depends on it.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::Config;
use crate::duration::IntoDuration;
use crate::error::{BoxError, Result};
use crate::failure::Failure;
use crate::history::StepKind;
use crate::json::Json;
use crate::retry::Retry;
use crate::run::Resident;

use super::attempts::{Attempts, Settled, Work};
use super::{Cx, too_large};

/// A step about to run; see [`Cx::step`]. Await it for its result.
#[must_use = "a step does nothing unless awaited"]
pub struct Step<F, Fut, T> {
    attempts: Attempts<Fut>,
    work: Function<F, T>,
}

/// A function of the user's.
struct Function<F, T> {
    function: F,
    result: PhantomData<fn() -> T>,
}

/// What polls it never moves its parts out from under a pin: the future is boxed.
impl<F, Fut, T> Unpin for Step<F, Fut, T> {}

impl<F, Fut, T> Step<F, Fut, T> {
    pub(super) fn new(cx: &Cx, name: Result<Arc<str>>, function: F) -> Self {
        let work = Function { function, result: PhantomData };
        Self { attempts: Attempts::new(cx, name, StepKind::Step), work }
    }

    /// Its name as the instance calls it, unless that can't be one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.attempts.name()
    }

    /// How often it is tried; 3 times by default.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.attempts.set_retry(retry);
        self
    }

    /// How long one attempt may take. Attempts that take longer fail with `STEP_TIMEOUT`.
    pub fn timeout(mut self, timeout: impl IntoDuration) -> Self {
        self.attempts.set_timeout(timeout);
        self
    }

    /// How to undo it, given its result, if the workflow fails later or is terminated with
    /// compensation. Runs as a step of its own, in reverse order of start.
    pub fn compensate<G, Done, E>(mut self, undo: G) -> Self
    where
        G: FnMut(T) -> Done + Send + 'static,
        Done: Future<Output = std::result::Result<(), E>> + Send + 'static,
        T: DeserializeOwned,
        E: Into<BoxError> + 'static,
    {
        self.attempts.set_undo(undo);
        self
    }
}

impl<F, Fut, T, E> Work for Function<F, T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = std::result::Result<T, E>> + Send,
    T: Serialize + DeserializeOwned,
    E: Into<BoxError>,
{
    type Future = Fut;
    type Yield = T;
    type Error = E;
    type Result = T;

    fn begin(&mut self, _: &Arc<Resident>, _: &Arc<str>, _: u32) -> Fut {
        (self.function)()
    }

    fn replaced(&self, answer: &Json, _: u32) -> Result<T> {
        answer.decode()
    }

    fn settle(done: T, config: &Config) -> Result<Settled, Failure> {
        let limit = config.payload_max;
        let result = Json::encode(&done).map_err(|refused| refused.to_failure())?;
        if result.size() > limit {
            return Err(too_large("the result", result.size(), limit));
        }
        Ok(Settled { result, chunk: None })
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
        let Self { attempts, work } = &mut *self;
        attempts.poll(work, task)
    }
}
