//! Reading streaming steps: one, or all of an instance.
//!
//! A reader follows two things in the store: the history, which says what began and how it ended, and the
//! chunks. It reads the history first. So a step that the history says is done has all its chunks in what is
//! read after that, and a chunk that the history knows nothing of yet is just early.

mod step;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use hashbrown::HashMap;

use crate::chunk::{ChunkFilter, Frame, StreamPosition};
use crate::engine::Inner;
use crate::error::{Error, Result};
use crate::history::{EntryKind, Recorded, StepKind};
use crate::id::InstanceId;
use crate::instance::Instance;
use crate::steps::fold;

use super::Place;
use step::Follow;

/// Entries of history that are read at once.
const ENTRIES: usize = 200;

/// Chunks that are read at once: what bounds what a slow reader has in memory.
const CHUNKS: usize = 8;

/// What streaming steps give, as it is stored; see [`crate::Handle::step_stream`] and
/// [`crate::Handle::streams`].
#[must_use = "nothing is read unless it is polled"]
pub struct Frames(BoxStream<'static, Result<Frame>>);

impl Frames {
    /// Reads one step, from the beginning or after a place.
    pub(crate) fn of_step(
        inner: &Arc<Inner>,
        id: &InstanceId,
        step: &str,
        after: Option<StreamPosition>,
    ) -> Self {
        let step: Arc<str> = step.into();
        let mut reader = Reader::new(inner, id, Some(Arc::clone(&step)));
        reader.steps.insert(step, Follow::after(after));
        reader.into_frames()
    }

    /// Reads all steps.
    pub(crate) fn of_all(inner: &Arc<Inner>, id: &InstanceId) -> Self {
        Reader::new(inner, id, None).into_frames()
    }

    /// What comes next; none once everything was given.
    pub async fn next(&mut self) -> Option<Result<Frame>> {
        self.0.next().await
    }
}

impl Stream for Frames {
    type Item = Result<Frame>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(task)
    }
}

struct Reader {
    place: Place,
    inner: Arc<Inner>,
    id: InstanceId,
    /// The one step that is read, if not all are.
    only: Option<Arc<str>>,
    /// The number of the last entry of the history that was read.
    seq: i64,
    /// The row of the last chunk that was read, when all steps are.
    row: i64,
    /// Streaming steps by name.
    steps: HashMap<Arc<str>, Follow>,
    /// The run of the last restart: chunks from before belong to steps that it kept.
    restarted_in: u32,
    ready: VecDeque<Frame>,
    has_more_history: bool,
    has_more_chunks: bool,
    may_have_ended: bool,
    over: bool,
}

impl Reader {
    fn new(inner: &Arc<Inner>, id: &InstanceId, only: Option<Arc<str>>) -> Self {
        Self {
            place: inner.env.feed.enter(Some(id.clone())),
            inner: Arc::clone(inner),
            id: id.clone(),
            only,
            seq: 0,
            row: 0,
            steps: HashMap::new(),
            restarted_in: 0,
            ready: VecDeque::new(),
            has_more_history: false,
            has_more_chunks: false,
            may_have_ended: true,
            over: false,
        }
    }

    fn into_frames(self) -> Frames {
        let next = |mut reader: Self| async move { Some((reader.next().await?, reader)) };
        Frames(stream::unfold(self, next).boxed())
    }

    async fn next(&mut self) -> Option<Result<Frame>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(Ok(frame));
            }
            if self.over {
                return None;
            }
            if let Err(error) = self.look().await {
                self.over = true;
                return Some(Err(error));
            }
        }
    }

    /// Does the next thing that may give something.
    async fn look(&mut self) -> Result<()> {
        if self.place.feed.is_stopped() {
            return Err(self.inner.gone());
        }
        self.has_more_history |= self.place.bell.take_recorded();
        self.has_more_chunks |= self.place.bell.take_streamed();
        if self.has_more_history {
            self.read_history().await
        } else if self.has_more_chunks {
            self.read_chunks().await
        } else if self.may_have_ended {
            self.look_for_the_end().await
        } else {
            self.place.bell.rings().await;
            Ok(())
        }
    }

    async fn read_history(&mut self) -> Result<()> {
        let page = self.inner.store.history(&self.id, self.seq, ENTRIES).await?;
        self.has_more_history = page.len() == ENTRIES;
        // A step that it says is over is closed only when the chunks were read after it.
        self.has_more_chunks = true;
        for recorded in &page {
            self.seq = recorded.seq;
            self.note(recorded)?;
        }
        if !self.has_more_history {
            for (name, step) in &mut self.steps {
                self.ready.extend(step.announce(name));
            }
        }
        Ok(())
    }

    fn note(&mut self, recorded: &Recorded) -> Result<()> {
        let entry = &recorded.entry;
        self.may_have_ended |= entry.entry.ends();
        if entry.entry == EntryKind::WorkflowRestarted {
            self.restarted_in = recorded.run;
            self.steps.values_mut().for_each(|step| step.restarted(recorded.run));
        }
        let Some(name) = entry.step() else { return Ok(()) };
        match &self.only {
            Some(only) if only != name => return Ok(()),
            Some(_) if entry.step_kind() != StepKind::Stream => {
                let message =
                    format!("{name:?} is not a streaming step, it is a {}", entry.step_kind());
                return Err(Error::Invalid { what: "step".into(), message });
            }
            Some(_) => {}
            None if entry.step_kind() != StepKind::Stream => return Ok(()),
            None => {}
        }
        self.step(name).note(recorded);
        Ok(())
    }

    fn step(&mut self, name: &Arc<str>) -> &mut Follow {
        let since = self.restarted_in;
        self.steps.entry(Arc::clone(name)).or_insert_with(|| Follow::since(since))
    }

    async fn read_chunks(&mut self) -> Result<()> {
        let filter = match &self.only {
            Some(step) => {
                let from = self.steps.get(step).map_or(StreamPosition::FIRST, Follow::wants);
                ChunkFilter::Step { step: Arc::clone(step), from }
            }
            None => ChunkFilter::All { after: self.row },
        };
        let page = self.inner.store.chunks(&self.id, filter, CHUNKS).await?;
        self.has_more_chunks = page.len() == CHUNKS;
        for chunk in page {
            self.row = chunk.row;
            let name = Arc::clone(&chunk.step);
            let frames = self.step(&name).give(chunk);
            self.ready.extend(frames);
        }
        if !self.has_more_chunks {
            for (name, step) in &mut self.steps {
                self.ready.extend(step.close(name));
            }
            self.over = self.only.is_some() && self.steps.values().all(Follow::is_closed);
        }
        Ok(())
    }

    /// Everything that was told was given: is that all there will be?
    async fn look_for_the_end(&mut self) -> Result<()> {
        self.may_have_ended = false;
        let gone = || Error::InstanceNotFound { id: self.id.clone() };
        let instance = self.inner.store.instance(&self.id).await?.ok_or_else(gone)?;
        self.has_more_history = instance.next_seq > self.seq + 1;
        if !instance.phase.is_terminal() || self.has_more_history {
            return Ok(());
        }
        self.over = true;
        for (name, step) in &mut self.steps {
            self.ready.extend(step.cut_off(name));
        }
        match &self.only {
            Some(step) if self.ready.is_empty() => Err(self.not_found(step, &instance).await?),
            _ => Ok(()),
        }
    }

    /// The instance ended without the step.
    async fn not_found(&self, step: &str, instance: &Instance) -> Result<Error> {
        let Instance { run, run_seq, .. } = *instance;
        let history = self.inner.store.history(&self.id, run_seq - 1, ENTRIES).await?;
        let steps = fold(&history);
        let known: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Ok(Error::StepNotFound { id: self.id.clone(), run, step: step.to_owned(), known })
    }
}
