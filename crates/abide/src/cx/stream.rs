//! A function whose result comes piece by piece, and can be read while it does.

mod pump;
mod sink;

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{Stream, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chunk::NewChunk;
use crate::config::Config;
use crate::duration::IntoDuration;
use crate::error::{BoxError, NonRetryable, Result};
use crate::failure::Failure;
use crate::history::StepKind;
use crate::json::Json;
use crate::retry::Retry;
use crate::run::Resident;

use super::Cx;
use super::attempts::{Attempts, Settled, Work};
use sink::Sink;

/// A streaming step about to run; see [`Cx::stream_step`]. Await it for its result.
#[must_use = "a step does nothing unless awaited"]
pub struct StreamStep<'w, T> {
    attempts: Attempts<Streaming<'w>>,
    work: Source<'w, T>,
}

/// An attempt in progress.
type Streaming<'w> = BoxFuture<'w, std::result::Result<Streamed, BoxError>>;

/// Begins an attempt that gives what it streams to a sink.
type Begin<'w> = Box<dyn FnMut(Sink) -> Streaming<'w> + Send + 'w>;

/// What an attempt came to: its result, and the chunk that is stored with it.
struct Streamed {
    result: Json,
    last: Option<NewChunk>,
}

/// Where the pieces come from.
struct Source<'w, T> {
    begin: Begin<'w>,
    step: Option<Arc<str>>,
    result: PhantomData<fn() -> T>,
}

impl Cx {
    /// Runs a function that gives text piece by piece: the answer of a language model, the log of a build, a
    /// long download. What came so far can be read while it runs ([`crate::Handle::step_stream`]); the
    /// result is the whole text, stored like that of any step before anything depends on it.
    ///
    /// Nobody has to read. Pieces are stored in groups (`stream.groupInterval`, `stream.groupBytes`), and shown once
    /// they are; the source is read no further ahead than one group. A replay does not call the function again.
    /// After a failure or a crash in the middle another attempt begins from the start, and readers are told.
    /// Text that is not UTF-8, or longer than `stream.maxBytes`, fails the step.
    ///
    /// ```no_run
    /// # use abide::prelude::*;
    /// # use futures_util::stream::{self, Stream};
    /// # async fn complete(prompt: &str) -> Result<impl Stream<Item = Result<String>> + use<>> {
    /// #     Ok(stream::empty())
    /// # }
    /// # async fn answer(cx: Cx, prompt: String) -> Result<String> {
    /// cx.stream_step("answer", || complete(&prompt)).timeout("2 minutes").await
    /// # }
    /// ```
    pub fn stream_step<'w, F, Fut, S, B, E, E2>(
        &self,
        name: &str,
        mut function: F,
    ) -> StreamStep<'w, String>
    where
        F: FnMut() -> Fut + Send + 'w,
        Fut: Future<Output = std::result::Result<S, E>> + Send + 'w,
        S: Stream<Item = std::result::Result<B, E2>> + Send + 'w,
        B: AsRef<[u8]>,
        E: Into<BoxError>,
        E2: Into<BoxError>,
    {
        let function = move || {
            let stream = function();
            async move { Ok::<_, BoxError>(((), stream.await.map_err(Into::into)?)) }
        };
        self.stream_step_with(name, function, |(), text| Ok(text))
    }

    /// Runs a function that gives values one by one. Each is shown as a line of JSON; the result is all of
    /// them. Otherwise like [`Cx::stream_step`].
    pub fn stream_items<'w, F, Fut, S, T, E, E2>(
        &self,
        name: &str,
        mut function: F,
    ) -> StreamStep<'w, Vec<T>>
    where
        F: FnMut() -> Fut + Send + 'w,
        Fut: Future<Output = std::result::Result<S, E>> + Send + 'w,
        S: Stream<Item = std::result::Result<T, E2>> + Send + 'w,
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
        E2: Into<BoxError>,
    {
        let begin = move |sink: Sink| -> Streaming<'w> {
            let stream = function();
            Box::pin(async move {
                let lines = stream.await.map_err(Into::into)?.map(|item| line(item));
                let (text, last) = pump::pump(lines, sink).await?;
                Ok(Streamed { result: listed(&text)?, last })
            })
        };
        StreamStep::new(self, name, Box::new(begin))
    }

    /// The general form of [`Cx::stream_step`]: the function gives something ahead of the stream, such as the head
    /// of an answer, and `finish` makes the result of that and the whole text.
    pub fn stream_step_with<'w, F, Fut, H, S, B, E, E2, G, T>(
        &self,
        name: &str,
        mut function: F,
        finish: G,
    ) -> StreamStep<'w, T>
    where
        F: FnMut() -> Fut + Send + 'w,
        Fut: Future<Output = std::result::Result<(H, S), E>> + Send + 'w,
        H: Send + 'w,
        S: Stream<Item = std::result::Result<B, E2>> + Send + 'w,
        B: AsRef<[u8]>,
        G: Fn(H, String) -> std::result::Result<T, BoxError> + Clone + Send + 'w,
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
        E2: Into<BoxError>,
    {
        let begin = move |sink: Sink| -> Streaming<'w> {
            let (start, finish) = (function(), finish.clone());
            Box::pin(async move {
                let (head, stream) = start.await.map_err(Into::into)?;
                let (text, last) = pump::pump(stream, sink).await?;
                let result = Json::encode(&finish(head, text)?).map_err(NonRetryable::new)?;
                Ok(Streamed { result, last })
            })
        };
        StreamStep::new(self, name, Box::new(begin))
    }
}

/// A value as a line.
fn line<T: Serialize, E: Into<BoxError>>(
    item: std::result::Result<T, E>,
) -> std::result::Result<String, BoxError> {
    let json = Json::encode(&item.map_err(Into::into)?).map_err(NonRetryable::new)?;
    Ok(format!("{}\n", json.as_str()))
}

/// Lines of JSON as an array.
fn listed(lines: &str) -> Result<Json> {
    let items: Vec<&str> = lines.lines().collect();
    Json::from_stored(format!("[{}]", items.join(",")))
}

impl<'w, T> StreamStep<'w, T> {
    fn new(cx: &Cx, name: &str, begin: Begin<'w>) -> Self {
        let name = cx.use_name(name);
        let work = Source { begin, step: name.clone().ok(), result: PhantomData };
        Self { attempts: Attempts::new(cx, name, StepKind::Stream), work }
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

    /// How long one attempt may take, from its beginning to the end of the stream. Attempts that take longer
    /// fail with `STEP_TIMEOUT`.
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

impl<'w, T: DeserializeOwned> Work for Source<'w, T> {
    type Future = Streaming<'w>;
    type Yield = Streamed;
    type Error = BoxError;
    type Result = T;

    fn begin(&mut self, resident: &Arc<Resident>, step: &Arc<str>, attempt: u32) -> Streaming<'w> {
        (self.begin)(Sink::new(resident, step, attempt))
    }

    /// A text is what was streamed, too, and a list is its items.
    fn replaced(&self, answer: &Json, attempt: u32) -> Result<Streamed> {
        answer.decode::<T>()?;
        let bytes = if let Ok(text) = answer.decode::<String>() {
            text
        } else if let Ok(items) = answer.decode::<Vec<Box<serde_json::value::RawValue>>>() {
            items.iter().map(|item| format!("{}\n", item.get())).collect()
        } else {
            String::new()
        };
        let chunk = |step| NewChunk { step, attempt, index: 0, bytes: Bytes::from(bytes) };
        Ok(Streamed { result: answer.clone(), last: self.step.clone().map(chunk) })
    }

    fn settle(done: Streamed, _: &Config) -> Result<Settled, Failure> {
        Ok(Settled { result: done.result, chunk: done.last })
    }
}

impl<T: DeserializeOwned> Future for StreamStep<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<T>> {
        let Self { attempts, work } = &mut *self;
        attempts.poll(work, task)
    }
}
