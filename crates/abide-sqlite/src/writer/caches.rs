//! What the writer knows without reading. All of it can be taken back with a batch, or a part of
//! one.

use abide::{Error, Result};
use rusqlite::Connection;

use super::fanout;
use crate::failure::Trouble;
use crate::fanouts::Fanouts;
use crate::shapes::Shapes;
use crate::waiting::Waiting;

pub(super) struct Caches {
    pub(super) shapes: Shapes,
    pub(super) waiting: Waiting,
    pub(super) fanouts: Fanouts,
    /// Whether chores met damage: they are left until the store is opened again.
    is_resting: bool,
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    shapes: usize,
    waiting: usize,
    fanouts: usize,
}

impl Caches {
    pub(super) fn read(connection: &Connection, index_bytes: usize) -> Result<Self, Trouble> {
        let shapes = Shapes::read(connection)?;
        let fanouts = fanout::read(connection, &shapes)?;
        let waiting = Waiting::new(index_bytes);
        Ok(Self { shapes, waiting, fanouts, is_resting: false })
    }

    /// Whether there is something to be done when nobody asks for anything.
    pub(super) fn has_chores(&self) -> bool {
        !self.is_resting && !self.fanouts.is_empty()
    }

    /// Leaves chores alone, because something that they need is damaged.
    pub(super) fn rest(&mut self, error: &Error) {
        tracing::error!(%error, "what is left to be done rests until the store is opened again");
        self.is_resting = true;
    }

    pub(super) fn mark(&self) -> Mark {
        let (shapes, waiting) = (self.shapes.mark(), self.waiting.mark());
        Mark { shapes, waiting, fanouts: self.fanouts.mark() }
    }

    /// Takes back everything since a mark.
    pub(super) fn undo_to(&mut self, mark: Mark) {
        self.shapes.undo_to(mark.shapes);
        self.waiting.undo_to(mark.waiting);
        self.fanouts.undo_to(mark.fanouts);
    }

    /// Forgets how to take back: the batch is durable.
    pub(super) fn settle(&mut self) {
        self.shapes.settle();
        self.waiting.settle();
        self.fanouts.settle();
    }
}
