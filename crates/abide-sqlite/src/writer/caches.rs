//! What the writer knows without reading. All of it can be taken back with a batch, or a part of
//! one.

use abide::{Error, Result};
use rusqlite::Connection;

use super::fanout;
use crate::failure::Trouble;
use crate::fanouts::Fanouts;
use crate::lookbacks::Lookbacks;
use crate::paths::Paths;
use crate::shapes::Shapes;
use crate::waiting::Waiting;

pub(super) struct Caches {
    pub(super) shapes: Shapes,
    pub(super) waiting: Waiting,
    pub(super) fanouts: Fanouts,
    pub(super) paths: Paths,
    pub(super) lookbacks: Lookbacks,
    /// Whether anybody may wait for an output: nobody did when the store was opened, and nobody has
    /// begun to since. Once true it stays so, because it only spares a look.
    pub(super) outputs_awaited: bool,
    /// Whether chores met damage: they are left until the store is opened again.
    pub(super) is_resting: bool,
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    shapes: usize,
    waiting: usize,
    fanouts: usize,
    paths: usize,
    lookbacks: usize,
}

impl Caches {
    pub(super) fn read(connection: &Connection, index_bytes: usize) -> Result<Self, Trouble> {
        let shapes = Shapes::read(connection)?;
        let fanouts = fanout::read(connection, &shapes)?;
        let waiting = Waiting::new(index_bytes);
        let (paths, lookbacks) = (Paths::read(connection)?, Lookbacks::read(connection)?);
        let outputs_awaited = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM workflow_event_subscriptions
              WHERE status = 'active' AND output_of IS NOT NULL)",
            [],
            |row| row.get(0),
        )?;
        let is_resting = false;
        Ok(Self { shapes, waiting, fanouts, paths, lookbacks, outputs_awaited, is_resting })
    }

    /// Whether there is something to be done when nobody asks for anything.
    pub(super) fn has_chores(&self) -> bool {
        let is_left = !self.fanouts.is_empty()
            || self.paths.incomplete().is_some()
            || self.lookbacks.first().is_some();
        is_left && !self.is_resting
    }

    /// Leaves chores alone, because something that they need is damaged.
    pub(super) fn rest(&mut self, error: &Error) {
        tracing::error!(%error, "what is left to be done rests until the store is opened again");
        self.is_resting = true;
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            shapes: self.shapes.mark(),
            waiting: self.waiting.mark(),
            fanouts: self.fanouts.mark(),
            paths: self.paths.mark(),
            lookbacks: self.lookbacks.mark(),
        }
    }

    /// Takes back everything since a mark.
    pub(super) fn undo_to(&mut self, mark: Mark) {
        self.shapes.undo_to(mark.shapes);
        self.waiting.undo_to(mark.waiting);
        self.fanouts.undo_to(mark.fanouts);
        self.paths.undo_to(mark.paths);
        self.lookbacks.undo_to(mark.lookbacks);
    }

    /// Forgets how to take back: the batch is durable.
    pub(super) fn settle(&mut self) {
        self.shapes.settle();
        self.waiting.settle();
        self.fanouts.settle();
        self.paths.settle();
        self.lookbacks.settle();
    }
}
