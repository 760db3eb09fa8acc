//! A tracker as a program has it.

use std::fmt;
use std::sync::Arc;

use abide::{Builder, Clock, Error, Follow, Observer, Result};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::command::Command;
use crate::config::TrackerConfig;
use crate::counts::Counts;
use crate::cursor::Cursor;
use crate::http::HttpSink;
use crate::otlp::{OtlpConfig, OtlpSink};
use crate::pump::{Progress, Pump};
use crate::queue::Queue;
use crate::reader::Reader;
use crate::sink::Sink;

/// Sends what an engine's instances do to one sink. Clones are the same tracker.
///
/// It follows one engine, from its start ([`abide::Builder::observe`]) until that is shut down.
#[derive(Clone)]
pub struct Tracker(Arc<Parts>);

struct Parts {
    config: TrackerConfig,
    sink: Arc<dyn Sink>,
    counts: Arc<Counts>,
    /// Once it follows an engine.
    task: Mutex<Option<Task>>,
}

#[derive(Clone)]
struct Task {
    commands: mpsc::UnboundedSender<Command>,
    clock: Arc<dyn Clock>,
}

/// A sink and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SinkStatus {
    /// Its name.
    pub name: String,
    /// Where it sends to, without secrets.
    pub url: String,
    /// Whether everything is sent at least once.
    pub durable: bool,
    /// Whether an operator stopped it.
    pub paused: bool,
    /// Events that were taken since the engine started.
    pub sent: u64,
    /// Events that were lost since the engine started.
    pub dropped: u64,
    /// Events that wait, at most 1 000 and the batch on its way.
    pub pending: usize,
    /// Of a durable one: rows of the history that are left to be told.
    pub lag: Option<i64>,
    /// Why the last request failed, until one succeeds.
    pub last_error: Option<String>,
}

impl Tracker {
    /// A tracker that posts to a URL.
    ///
    /// # Errors
    /// When the configuration can't work.
    pub fn new(config: TrackerConfig) -> Result<Self> {
        let sink = HttpSink::new(&config)?;
        Ok(Self::with_sink(config, sink))
    }

    /// A tracker with a sink of the program's own. URL, token and secret of the configuration are not used.
    #[must_use]
    pub fn with_sink(config: TrackerConfig, sink: impl Sink) -> Self {
        Self(Arc::new(Parts {
            config,
            sink: Arc::new(sink),
            counts: Arc::default(),
            task: Mutex::new(None),
        }))
    }

    /// A tracker that tells runs and attempts of steps as spans to a collector. The engine has to pass them on
    /// as its own ([`abide::Config::own_spans`]); [`BuilderExt::otlp`] sees to that.
    ///
    /// # Errors
    /// When the configuration can't work.
    pub fn otlp(config: &OtlpConfig) -> Result<Self> {
        Ok(Self::with_sink(config.tracker(), OtlpSink::new(config)?))
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// Whether everything is sent at least once.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.0.config.durable
    }

    /// Sends everything that was recorded so far without waiting for more. Returns once it was taken or given up;
    /// at once when there is nothing, or the sink is paused.
    pub async fn flush(&self) {
        self.ask(Command::Flush).await;
    }

    /// How many events wait to be sent: at most 1 000, and the batch on its way.
    pub async fn pending_count(&self) -> usize {
        self.ask(Command::Pending).await.unwrap_or(0)
    }

    /// How many events were taken.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.0.counts.sent()
    }

    /// How many events were lost, because the sink could not keep up or refused them. None of a durable one ever is.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.counts.dropped()
    }

    /// How it is doing.
    ///
    /// # Errors
    /// The store's own.
    pub async fn status(&self) -> Result<SinkStatus> {
        let lag = match self.is_durable() {
            true => self.ask(Command::Lag).await.transpose()?,
            false => None,
        };
        Ok(SinkStatus {
            name: self.name().to_owned(),
            url: self.0.sink.address(),
            durable: self.is_durable(),
            paused: self.0.counts.is_paused(),
            sent: self.sent(),
            dropped: self.dropped(),
            pending: self.pending_count().await,
            lag,
            last_error: self.0.counts.last_error(),
        })
    }

    /// Stops a durable sink, also over restarts. What happens meanwhile is sent when it is resumed.
    ///
    /// # Errors
    /// When it is not durable or follows no engine, or the store's own.
    pub async fn pause(&self) -> Result<()> {
        self.control("pause", |reply| Command::Pause(true, reply)).await
    }

    /// Has a durable sink go on.
    ///
    /// # Errors
    /// As [`Tracker::pause`].
    pub async fn resume(&self) -> Result<()> {
        self.control("resume", |reply| Command::Pause(false, reply)).await
    }

    /// Has a durable sink told everything from a row of the history on, again. A row is a number of
    /// [`abide::store::Store::tail`]; 0 is the beginning.
    ///
    /// # Errors
    /// As [`Tracker::pause`].
    pub async fn replay(&self, from_row: i64) -> Result<()> {
        self.control("replay", |reply| Command::Replay(from_row, reply)).await
    }

    /// Sends what is left, within `shutdownTimeoutMs`. The shutdown of its engine does this.
    pub async fn shutdown(&self) {
        let Some(Task { clock, .. }) = self.task() else { return };
        let deadline = clock.sleep_until(clock.now().after(self.0.config.shutdown_timeout));
        tokio::select! {
            _ = self.ask(Command::Finish) => {}
            () = deadline => {
                tracing::warn!(sink = self.name(), "not everything was sent before the end");
            }
        }
    }

    fn task(&self) -> Option<Task> {
        self.0.task.lock().clone()
    }

    /// Asks the task; none when there is none, or no longer.
    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.task()?.commands.send(ask(reply)).ok()?;
        answer.await.ok()
    }

    async fn control(
        &self,
        what: &'static str,
        ask: impl FnOnce(oneshot::Sender<Result<()>>) -> Command,
    ) -> Result<()> {
        if !self.is_durable() {
            let message = format!("{:?} is not durable", self.name());
            return Err(Error::Invalid { what: format!("{what} of a sink").into(), message });
        }
        self.ask(ask).await.unwrap_or(Err(Error::ShutDown))
    }

    async fn follow(&self, follow: Follow) -> Result<()> {
        let Parts { config, sink, counts, task } = &*self.0;
        let (send, commands) = mpsc::unbounded_channel();
        let clock = Arc::clone(follow.clock());
        if task.lock().replace(Task { commands: send, clock }).is_some() {
            return Err(Error::Invalid {
                what: format!("sink {:?}", config.name).into(),
                message: "a tracker follows one engine, once".to_owned(),
            });
        }
        let store = follow.store();
        let cursor = match config.durable {
            true => Some(Cursor::load(store, &config.name, follow.head()).await?),
            false => None,
        };
        let after = cursor.as_ref().map_or(follow.head(), |cursor| cursor.place.row);
        counts.set_paused(cursor.as_ref().is_some_and(|cursor| cursor.place.paused));
        let pump = Pump {
            reader: Reader::new(Arc::clone(store), config.types, after),
            config: config.clone(),
            sink: Arc::clone(sink),
            counts: Arc::clone(counts),
            commands,
            cursor,
            through: after,
            queue: Queue::default(),
            progress: Progress::default(),
            follow,
        };
        tokio::spawn(pump.run());
        Ok(())
    }
}

impl Observer for Tracker {
    fn begin(&self, follow: Follow) -> BoxFuture<'_, Result<()>> {
        self.follow(follow).boxed()
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        self.shutdown().boxed()
    }
}

impl fmt::Debug for Tracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tracker").field(&self.0.config).finish()
    }
}

/// `Engine::builder(store).tracker(config)`.
pub trait BuilderExt: Sized {
    /// Sends what happens to a sink. Keep a [`Tracker`] of your own and use [`abide::Builder::observe`] to ask it things.
    ///
    /// # Errors
    /// When the configuration can't work.
    fn tracker(self, config: TrackerConfig) -> Result<Self>;

    /// Tells runs and steps as spans of traces to a collector.
    ///
    /// # Errors
    /// When the configuration can't work.
    fn otlp(self, config: &OtlpConfig) -> Result<Self>;
}

impl BuilderExt for Builder {
    fn tracker(self, config: TrackerConfig) -> Result<Self> {
        Ok(self.observe(Tracker::new(config)?))
    }

    fn otlp(self, config: &OtlpConfig) -> Result<Self> {
        Ok(self.configure(|engine| engine.own_spans = true).observe(Tracker::otlp(config)?))
    }
}
