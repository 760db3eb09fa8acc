//! The task of a tracker: reads what was recorded, gathers batches and sends them, one after the other.
//!
//! ```text
//!             due                     2xx, or given up
//!   Gathering ───▶ Sending ──────────────────────────▶ Gathering
//!                     │  ▲
//!               error ▼  │ time to try again
//!                   Resting
//! ```
//!
//! The history is the queue: nothing is read that there is no room for, and nothing while a batch is on its way,
//! so a sink that hangs costs nobody anything. Afterwards a volatile tracker reads to the end and keeps the newest
//! events, a durable one goes on where it was.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use abide::{Follow, Result, Timestamp};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::command::Command;
use crate::config::TrackerConfig;
use crate::counts::Counts;
use crate::cursor::{Cursor, Place};
use crate::queue::Queue;
use crate::reader::{Part, Reader};
use crate::sink::{Batch, Sink, SinkError};

/// How soon to read again after the store refused.
const AGAIN: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Pump {
    pub(crate) follow: Follow,
    pub(crate) config: TrackerConfig,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    pub(crate) reader: Reader,
    /// Where a durable one is.
    pub(crate) cursor: Option<Cursor>,
    /// Up to which row everything was read.
    pub(crate) through: i64,
    pub(crate) queue: Queue,
    pub(crate) progress: Progress,
}

/// What is left to do besides sending.
#[derive(Default)]
pub(crate) struct Progress {
    /// Whether there may be something to read.
    is_behind: bool,
    /// Not to be read before, because the store refused.
    read_at: Option<Timestamp>,
    /// Who waits until everything up to a row was told.
    flushes: Vec<(i64, oneshot::Sender<()>)>,
    /// Everything up to this row is told before it ends.
    last_row: Option<i64>,
    /// From where to tell again, once nothing is on its way.
    replay: Option<i64>,
}

/// See the module.
enum Doing {
    Gathering,
    Sending { answer: BoxFuture<'static, Result<(), SinkError>>, failed: u32 },
    Resting { until: Timestamp, failed: u32 },
}

impl Pump {
    /// Works until the engine is gone or it has finished.
    pub(crate) async fn run(mut self) {
        self.progress.is_behind = true;
        let mut doing = Some(Doing::Gathering);
        while let Some(now) = doing {
            doing = match now {
                Doing::Gathering => self.gather().await,
                Doing::Sending { answer, failed } => self.send(answer, failed).await,
                Doing::Resting { until, failed } => self.rest(until, failed).await,
            };
        }
    }

    async fn gather(&mut self) -> Option<Doing> {
        if let Some(after) = self.progress.replay.take() {
            self.go_to(after);
        }
        self.read().await;
        self.answer_flushes();
        if self.has_finished() {
            return None;
        }
        let clock = Arc::clone(self.follow.clock());
        let now = clock.now();
        let due_at = self.queue.due_at(&self.config).filter(|_| !self.is_paused());
        if due_at.is_some_and(|due| due <= now) {
            return Some(self.begin_sending(0));
        }
        let read_at = self.progress.read_at.filter(|_| self.progress.is_behind);
        let next = due_at.into_iter().chain(read_at).min();
        let wants_news = !self.is_paused() && self.queue.has_room() && read_at.is_none();
        tokio::select! {
            is_there = news(&self.follow, wants_news) => {
                self.progress.is_behind = true;
                is_there.then_some(Doing::Gathering)
            }
            () = clock.sleep_until(next.unwrap_or(Timestamp::MAX)), if next.is_some() => {
                Some(Doing::Gathering)
            }
            Some(command) = self.commands.recv() => {
                self.obey(command).await;
                Some(Doing::Gathering)
            }
        }
    }

    fn begin_sending(&mut self, failed: u32) -> Doing {
        let events = self.queue.batch(self.config.max_size);
        let clock = self.follow.clock();
        let now = clock.now();
        let timeout = clock.sleep_until(now.after(self.config.timeout));
        let (sink, limit) = (Arc::clone(&self.sink), self.config.timeout);
        let answer = async move {
            let sending = async { sink.send(Arc::new(Batch { events, at: now })).await };
            // A sink may be anybody's.
            let sending = AssertUnwindSafe(sending).catch_unwind();
            tokio::select! {
                sent = sending => sent.unwrap_or_else(|_| Err(SinkError::new("it panicked"))),
                () = timeout => Err(SinkError::new(format!("no answer within {limit:?}"))),
            }
        };
        Doing::Sending { answer: answer.boxed(), failed }
    }

    async fn send(
        &mut self,
        mut answer: BoxFuture<'static, Result<(), SinkError>>,
        failed: u32,
    ) -> Option<Doing> {
        tokio::select! {
            answered = &mut answer => Some(match answered {
                Ok(()) => self.sent().await,
                Err(error) => self.failed(&error, failed + 1).await,
            }),
            () = self.follow.gone() => None,
            Some(command) = self.commands.recv() => {
                self.obey(command).await;
                Some(Doing::Sending { answer, failed })
            }
        }
    }

    async fn rest(&mut self, until: Timestamp, failed: u32) -> Option<Doing> {
        if self.is_paused() || self.progress.replay.is_some() {
            return Some(Doing::Gathering);
        }
        let clock = Arc::clone(self.follow.clock());
        tokio::select! {
            () = clock.sleep_until(until) => {
                let before = self.queue.taken();
                self.catch_up().await;
                // When the batch that failed is no longer among the newest, this is another one.
                let failed = if self.queue.taken() == before { failed } else { 0 };
                Some(self.begin_sending(failed))
            }
            () = self.follow.gone() => None,
            Some(command) = self.commands.recv() => {
                self.obey(command).await;
                Some(Doing::Resting { until, failed })
            }
        }
    }

    async fn sent(&mut self) -> Doing {
        self.counts.add_sent(self.queue.done());
        let told = self.told_through();
        if let Some(cursor) = &mut self.cursor
            && self.progress.replay.is_none()
        {
            let place = Place { row: told, ..cursor.place };
            if let Err(error) = cursor.put(place).await {
                // It is stored with the next batch, or these events are sent again after a restart.
                tracing::warn!(sink = self.config.name, %error, "how far a sink has come was not stored");
            }
        }
        self.catch_up().await;
        Doing::Gathering
    }

    async fn failed(&mut self, error: &SinkError, failed: u32) -> Doing {
        let sink = &self.config.name;
        self.counts.failed(error.to_string());
        if failed > self.config.retry_max_attempts && self.cursor.is_none() {
            let events = self.queue.done();
            tracing::warn!(sink, events, %error, "a batch was not taken and is dropped");
            self.counts.add_dropped(events);
            self.catch_up().await;
            return Doing::Gathering;
        }
        tracing::debug!(sink, %error, failed, "a batch was not taken and is sent again");
        self.queue.failed();
        let until = self.follow.clock().now().after(self.config.delay(failed));
        Doing::Resting { until, failed }
    }

    /// Reads what there is room for.
    async fn read(&mut self) {
        while self.progress.is_behind && !self.is_paused() && self.queue.has_room() {
            if !self.read_part().await {
                return;
            }
        }
    }

    /// A volatile one keeps the newest, until it has been told to finish: then it is in no hurry.
    async fn catch_up(&mut self) {
        self.progress.is_behind = true;
        if self.cursor.is_some() || self.progress.last_row.is_some() {
            return;
        }
        while self.progress.is_behind && self.read_part().await {
            let dropped = self.queue.slide();
            if dropped > 0 {
                tracing::warn!(sink = self.config.name, dropped, "a sink can't keep up");
                self.counts.add_dropped(dropped);
            }
        }
    }

    /// Reads a part; false when it is not to be had now.
    async fn read_part(&mut self) -> bool {
        let now = self.follow.clock().now();
        if self.progress.read_at.is_some_and(|at| at > now) {
            return false;
        }
        match self.reader.next().await {
            Ok(Part { told, through, is_more }) => {
                told.into_iter().for_each(|told| self.queue.push(told, now));
                (self.through, self.progress.is_behind) = (through, is_more);
                self.progress.read_at = None;
                true
            }
            Err(error) => {
                tracing::warn!(sink = self.config.name, %error, "the history could not be read");
                self.progress.read_at = Some(now.after(AGAIN));
                false
            }
        }
    }

    /// Up to which row everything was sent, or given up.
    fn told_through(&self) -> i64 {
        self.queue.first_row().map_or(self.through, |row| row - 1)
    }

    fn is_paused(&self) -> bool {
        self.cursor.as_ref().is_some_and(|cursor| cursor.place.paused)
    }

    fn go_to(&mut self, after: i64) {
        self.queue.clear();
        self.reader.go_to(after);
        self.through = after;
        self.progress.is_behind = true;
    }

    fn has_finished(&self) -> bool {
        let is_told = |row| self.told_through() >= row;
        self.progress.last_row.is_some_and(|row| is_told(row) || self.is_paused())
    }

    fn answer_flushes(&mut self) {
        let (told, is_paused) = (self.told_through(), self.is_paused());
        for (row, reply) in std::mem::take(&mut self.progress.flushes) {
            if row <= told || is_paused {
                let _ = reply.send(());
            } else {
                self.progress.flushes.push((row, reply));
            }
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Flush(reply) => {
                self.flush(reply).await;
            }
            Command::Finish(reply) => {
                let row = self.flush(reply).await;
                self.progress.last_row = Some(row);
            }
            Command::Pending(reply) => {
                self.progress.is_behind = true;
                self.read().await;
                let _ = reply.send(self.queue.len());
            }
            Command::Lag(reply) => {
                let head = self.follow.store().tail(i64::MAX, 0).await;
                let told = self.told_through();
                let _ = reply.send(head.map(|tail| (tail.head - told).max(0)));
            }
            Command::Pause(paused, reply) => {
                let stored = match &mut self.cursor {
                    Some(cursor) => cursor.put(Place { paused, ..cursor.place }).await,
                    None => Ok(()),
                };
                self.counts.set_paused(self.is_paused());
                let _ = reply.send(stored);
            }
            Command::Replay(row, reply) => {
                let after = row.saturating_sub(1).max(0);
                let stored = match &mut self.cursor {
                    Some(cursor) => cursor.put(Place { row: after, ..cursor.place }).await,
                    None => Ok(()),
                };
                self.progress.replay = Some(after);
                let _ = reply.send(stored);
            }
        }
    }

    /// Has everything go out that is recorded by now; the row it ends with.
    async fn flush(&mut self, reply: oneshot::Sender<()>) -> i64 {
        self.progress.is_behind = true;
        let tail = self.follow.store().tail(i64::MAX, 0).await;
        let row = tail.map_or(self.through, |tail| tail.head);
        self.queue.flush(row);
        self.progress.flushes.push((row, reply));
        row
    }
}

/// Until something is worth reading, if that is wanted; false when the engine is gone.
async fn news(follow: &Follow, is_wanted: bool) -> bool {
    if is_wanted {
        return follow.news().await;
    }
    follow.gone().await;
    false
}
