//! From a stream to the store: pieces gather while the group before them is being stored.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::stream::Stream;

use crate::chunk::NewChunk;
use crate::error::BoxError;

use super::sink::{self, Sink};

/// Pieces that are taken in one poll, after which others get their turn.
const PIECES_PER_POLL: usize = 128;

type Stored = Result<(), BoxError>;

/// Reads a stream to its end. Answers with the whole text and the chunk that is left to be stored.
pub(super) async fn pump<S, B, E>(
    source: S,
    sink: Sink,
) -> Result<(String, Option<NewChunk>), BoxError>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    let mut pump = Pump { sink, flight: None, timer: None, is_due: false };
    let mut source = pin!(source);
    let read = poll_fn(|task| pump.poll(source.as_mut(), task)).await;
    // What is on its way arrives before anything of another attempt.
    let stored = pump.land().await;
    read.and(stored)?;
    let limit = pump.sink.resident.env.config.stream_group_bytes;
    while pump.sink.gathered() > limit {
        pump.take_off();
        pump.land().await?;
    }
    pump.sink.finish()
}

struct Pump {
    sink: Sink,
    /// The group on its way to the store.
    flight: Option<BoxFuture<'static, Stored>>,
    /// Runs from the first piece of a group on.
    timer: Option<BoxFuture<'static, ()>>,
    /// The timer ran out: what gathered is stored as soon as the group before it is.
    is_due: bool,
}

impl Pump {
    /// Moves pieces until the stream ends or nothing moves.
    fn poll<S, B, E>(
        &mut self,
        mut source: Pin<&mut S>,
        task: &mut Context<'_>,
    ) -> Poll<Result<(), BoxError>>
    where
        S: Stream<Item = Result<B, E>>,
        B: AsRef<[u8]>,
        E: Into<BoxError>,
    {
        let limit = self.sink.resident.env.config.stream_group_bytes;
        for _ in 0..PIECES_PER_POLL {
            self.poll_store(task)?;
            if self.sink.gathered() >= limit {
                // No further ahead than one group.
                return Poll::Pending;
            }
            match source.as_mut().poll_next(task) {
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(Ok(piece))) => self.take_in(piece.as_ref())?,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error.into())),
                Poll::Pending => return Poll::Pending,
            }
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }

    fn take_in(&mut self, piece: &[u8]) -> Result<(), BoxError> {
        self.sink.push(piece)?;
        if self.sink.gathered() > 0 && self.timer.is_none() && !self.is_due {
            let env = &self.sink.resident.env;
            let at = env.clock.now().after(env.config.stream_group_interval);
            self.timer = Some(env.clock.sleep_until(at));
        }
        Ok(())
    }

    /// Looks after the group on its way, and sends the next one when it is time.
    fn poll_store(&mut self, task: &mut Context<'_>) -> Result<(), BoxError> {
        let limit = self.sink.resident.env.config.stream_group_bytes;
        loop {
            if let Some(flight) = &mut self.flight {
                match flight.as_mut().poll(task) {
                    Poll::Ready(stored) => {
                        self.flight = None;
                        stored?;
                    }
                    Poll::Pending => return Ok(()),
                }
            }
            if let Some(timer) = &mut self.timer
                && timer.as_mut().poll(task).is_ready()
            {
                (self.timer, self.is_due) = (None, true);
            }
            let gathered = self.sink.gathered();
            if gathered == 0 || (gathered < limit && !self.is_due) {
                return Ok(());
            }
            self.take_off();
        }
    }

    fn take_off(&mut self) {
        let chunk = self.sink.take();
        self.flight = Some(Box::pin(sink::store(Arc::clone(&self.sink.resident), chunk)));
        self.timer = None;
        // What is left of a large piece has waited long enough.
        self.is_due = self.sink.gathered() > 0;
    }

    async fn land(&mut self) -> Stored {
        match self.flight.take() {
            Some(flight) => flight.await,
            None => Ok(()),
        }
    }
}
