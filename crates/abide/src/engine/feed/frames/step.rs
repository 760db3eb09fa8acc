//! What a reader knows of one streaming step. Pure: it is told what was read and says what to give.

use std::sync::Arc;

use crate::chunk::{Chunk, Frame, FrameKind, StreamPosition};
use crate::failure::Failure;
use crate::history::{EntryKind, Recorded};

/// An attempt of a run.
type Life = (u32, u32);

/// See the module.
pub(super) struct Follow {
    /// Chunks of earlier attempts are void.
    floor: Life,
    /// The attempt that the reader was given something of, or was told of.
    shown: Option<Life>,
    /// The last chunk that was given.
    given: Option<StreamPosition>,
    standing: Standing,
}

enum Standing {
    /// It has not begun, as far as is known.
    Unknown,
    /// An attempt began.
    Begun,
    /// It is over, and the reader has not been told.
    Over(Over),
    /// It is over, and the reader knows.
    Closed,
}

/// How it ended.
struct Over {
    life: Life,
    /// A restart kept it: its chunks are those of an earlier run.
    is_kept: bool,
    how: FrameKind,
}

impl Follow {
    /// For somebody who was given everything up to a place.
    pub(super) fn after(given: Option<StreamPosition>) -> Self {
        let shown = given.map(StreamPosition::life);
        Self { floor: (0, 0), shown, given, standing: Standing::Unknown }
    }

    /// For a step that nothing was known of, in a history that was cut in a run.
    pub(super) fn since(run: u32) -> Self {
        Self { floor: (run, 0), ..Self::after(None) }
    }

    /// The history was cut: unless the step was kept, what it gave is void.
    pub(super) fn restarted(&mut self, run: u32) {
        self.floor = (run, 0);
        self.standing = Standing::Unknown;
    }

    /// Takes in what happened to the step.
    pub(super) fn note(&mut self, recorded: &Recorded) {
        let entry = &recorded.entry;
        let life = (recorded.run, entry.attempt.unwrap_or(self.floor.1));
        self.standing = match entry.entry {
            EntryKind::StepStarted => {
                self.floor = life;
                Standing::Begun
            }
            EntryKind::StepCompleted if entry.cached => {
                self.floor = (0, 0);
                Standing::Over(Over { life, is_kept: true, how: FrameKind::Done })
            }
            EntryKind::StepCompleted => over(life, FrameKind::Done),
            EntryKind::StepFailed if !entry.will_retry => {
                let unknown = || Failure::new("STEP_FAILED", "no reason was recorded");
                let failure = entry.error.clone().unwrap_or_else(unknown);
                over(life, FrameKind::Failed(failure))
            }
            EntryKind::StepCancelled => {
                let failure = cancelled("the workflow dropped it before it finished");
                over(self.floor, FrameKind::Failed(failure))
            }
            _ => return,
        };
    }

    /// The first place that is wanted of the store.
    pub(super) fn wants(&self) -> StreamPosition {
        let next = self.given.map_or(StreamPosition::FIRST, StreamPosition::next);
        next.max(StreamPosition::beginning(self.floor))
    }

    /// Tells a reader who was given something of an earlier attempt that there is another.
    pub(super) fn announce(&mut self, name: &Arc<str>) -> Option<Frame> {
        match self.standing {
            Standing::Begun => self.announce_life(name, self.floor),
            _ => None,
        }
    }

    fn announce_life(&mut self, name: &Arc<str>, life: Life) -> Option<Frame> {
        if self.shown.is_none_or(|shown| shown >= life) {
            return None;
        }
        self.shown = Some(life);
        Some(self.frame(name, life, FrameKind::Rollback))
    }

    /// Takes in a chunk.
    pub(super) fn give(&mut self, chunk: Chunk) -> Vec<Frame> {
        let Chunk { step: name, position, bytes, .. } = chunk;
        let life = position.life();
        let is_void = life < self.floor || self.given.is_some_and(|given| position <= given);
        if is_void || (self.is_closed() && life <= self.floor) {
            return Vec::new();
        }
        let is_later = match &self.standing {
            Standing::Over(over) => life > over.life,
            Standing::Closed => true,
            Standing::Unknown | Standing::Begun => false,
        };
        if is_later {
            // It runs again, though the history that says so was not read yet: how it ended before, and what
            // it gave then, is void.
            self.standing = Standing::Begun;
        }
        let rollback = self.announce_life(&name, life);
        self.floor = self.floor.max(life);
        let mut frames: Vec<Frame> = rollback.into_iter().collect();
        // A step that gave nothing has one empty chunk.
        if !bytes.is_empty() {
            (self.shown, self.given) = (Some(life), Some(position));
            frames.push(self.frame(&name, life, FrameKind::Chunk(bytes)));
        }
        frames
    }

    /// Everything was given: tells how it ended, if it did.
    pub(super) fn close(&mut self, name: &Arc<str>) -> Vec<Frame> {
        let Over { life, is_kept, how } =
            match std::mem::replace(&mut self.standing, Standing::Closed) {
                Standing::Over(over) => over,
                other => {
                    self.standing = other;
                    return Vec::new();
                }
            };
        let life = self.shown.filter(|_| is_kept).unwrap_or(life);
        let mut frames: Vec<Frame> = self.announce_life(name, life).into_iter().collect();
        frames.push(self.frame(name, life, how));
        frames
    }

    /// The instance has ended: a step that did not will not.
    pub(super) fn cut_off(&mut self, name: &Arc<str>) -> Option<Frame> {
        if !matches!(self.standing, Standing::Begun) {
            return None;
        }
        self.standing = Standing::Closed;
        let failure = cancelled("the instance ended before the step did");
        Some(self.frame(name, self.floor, FrameKind::Failed(failure)))
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.standing, Standing::Closed)
    }

    fn frame(&self, name: &Arc<str>, (run, attempt): Life, kind: FrameKind) -> Frame {
        let position = self.given;
        Frame { step: Arc::clone(name), run, attempt, kind, position }
    }
}

fn over(life: Life, how: FrameKind) -> Standing {
    Standing::Over(Over { life, is_kept: false, how })
}

fn cancelled(message: &str) -> Failure {
    Failure::new("STEP_CANCELLED", message)
}
