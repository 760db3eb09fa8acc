//! What the writer knows without reading. All of it can be taken back with a batch, or a part of
//! one.

use abide::Result;
use rusqlite::Connection;

use crate::failure::Trouble;
use crate::shapes::Shapes;

pub(super) struct Caches {
    pub(super) shapes: Shapes,
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    shapes: usize,
}

impl Caches {
    pub(super) fn read(connection: &Connection) -> Result<Self, Trouble> {
        Ok(Self { shapes: Shapes::read(connection)? })
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { shapes: self.shapes.mark() }
    }

    /// Takes back everything since a mark.
    pub(super) fn undo_to(&mut self, mark: Mark) {
        self.shapes.undo_to(mark.shapes);
    }

    /// Forgets how to take back: the batch is durable.
    pub(super) fn settle(&mut self) {
        self.shapes.settle();
    }
}
