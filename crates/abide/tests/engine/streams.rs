//! Streaming steps: what readers are given while they run, later, and after something went wrong.

mod reading;
mod resuming;
mod running;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use abide::prelude::*;
use abide::{Builder, Frame, FrameKind, Frames};
use futures_util::stream::{self, Stream};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::world::{Ran, World, with};

type Piece = Result<Vec<u8>>;

/// Where a streaming step gets its pieces: one pipe for every attempt, each in the hands of the test.
#[derive(Clone, Default)]
pub(crate) struct Tap {
    pipes: Arc<Mutex<VecDeque<UnboundedReceiver<Piece>>>>,
    pub(crate) ran: Ran,
}

/// The test's end of a pipe. Dropped, it ends the stream.
pub(crate) struct Pipe(UnboundedSender<Piece>);

impl Pipe {
    pub(crate) fn give(&self, text: &str) {
        self.give_bytes(text.as_bytes());
    }

    pub(crate) fn give_bytes(&self, bytes: &[u8]) {
        self.0.send(Ok(bytes.to_vec())).unwrap();
    }

    pub(crate) fn fail(self) {
        self.0.send(Err(Error::failed("BROKEN", "the line broke"))).unwrap();
    }
}

impl Tap {
    /// The pipe of the next attempt.
    pub(crate) fn pipe(&self) -> Pipe {
        let (sender, receiver) = unbounded_channel();
        self.pipes.lock().push_back(receiver);
        Pipe(sender)
    }

    /// A source that gives some pieces and ends.
    pub(crate) fn gives(&self, pieces: &[&str]) {
        let pipe = self.pipe();
        pieces.iter().for_each(|piece| pipe.give(piece));
    }

    /// What the function of a step does.
    pub(crate) async fn open(self) -> Result<impl Stream<Item = Piece> + Send> {
        self.ran.mark("open");
        let pipe = self.pipes.lock().pop_front();
        let pipe = pipe.ok_or_else(|| Error::failed("NO_PIPE", "nobody expected that attempt"))?;
        let next = async |mut pipe: UnboundedReceiver<Piece>| Some((pipe.recv().await?, pipe));
        Ok(stream::unfold(pipe, next))
    }

    pub(crate) fn opened(&self) -> usize {
        self.ran.times("open")
    }
}

async fn talk(cx: Cx, tap: Tap, (): ()) -> Result<String> {
    let retry = Retry::times(3).delay("1s").no_jitter();
    cx.stream_step("talk", || tap.clone().open()).retry(retry).await
}

/// An engine that stores every piece at once.
fn at_once(world: &World) -> Builder {
    world.engine().configure(|c| c.stream_group_interval = Duration::ZERO)
}

async fn talking(world: &World, tap: &Tap) -> (Engine, Handle) {
    let engine = at_once(world).workflow("talk", with(tap, talk)).start().await.unwrap();
    let handle = engine.start("talk", Start::new(&()).id("a")).await.unwrap();
    (engine, handle)
}

/// A frame in words: `talk 1.0 hello`, `talk 2 rollback`.
fn in_words(frame: &Frame) -> String {
    let Frame { step, attempt, .. } = frame;
    match &frame.kind {
        FrameKind::Chunk(bytes) => {
            let text = std::str::from_utf8(bytes).unwrap();
            format!("{step} {} {text}", frame.position.unwrap())
        }
        FrameKind::Rollback => format!("{step} {attempt} rollback"),
        FrameKind::Done => format!("{step} {attempt} done"),
        FrameKind::Failed(failure) => format!("{step} {attempt} failed {}", failure.code),
    }
}

async fn next(frames: &mut Frames) -> String {
    match frames.next().await {
        Some(frame) => in_words(&frame.unwrap()),
        None => "the end".to_owned(),
    }
}

/// Everything up to the end.
async fn rest(frames: &mut Frames) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(frame) = frames.next().await {
        all.push(in_words(&frame.unwrap()));
    }
    all
}
