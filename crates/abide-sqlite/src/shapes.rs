//! The shapes of open waits: few, however many waits there are, and so all in memory.
//!
//! Those that a batch adds are taken back with it.

use abide::Result;
use abide::index::{Patterns, Shape};
use hashbrown::HashMap;
use rusqlite::{Connection, params};

use crate::failure::Trouble;

/// Shapes that are never too many.
const FEW: usize = 4096;

/// All shapes by id, by themselves, and by what they cover.
#[derive(Default)]
pub(crate) struct Shapes {
    by_id: HashMap<i64, Shape>,
    ids: HashMap<Shape, i64>,
    covering: Patterns<i64>,
    next: i64,
    /// So many are worth a look for those that no wait has any more.
    swept_at: usize,
    /// Since the last batch that is durable.
    added: Vec<i64>,
}

impl Shapes {
    /// Reads what is stored, without the shapes that no wait has any more.
    pub(crate) fn read(connection: &Connection) -> Result<Self, Trouble> {
        connection.execute(
            "DELETE FROM shapes
              WHERE NOT EXISTS (SELECT 1 FROM subscription_keys WHERE shape = shapes.id)",
            [],
        )?;
        let mut shapes = Self { next: 1, ..Self::default() };
        let mut select = connection.prepare("SELECT id, pattern, paths FROM shapes")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let (pattern, paths): (String, String) = (row.get(1)?, row.get(2)?);
            shapes.hold(row.get(0)?, Shape::from_stored(&pattern, &paths)?);
        }
        shapes.swept_at = FEW.max(shapes.by_id.len() * 2);
        Ok(shapes)
    }

    /// Forgets those that no wait has any more, once there are many: patterns may have ids in them.
    /// To be called between batches.
    pub(crate) fn sweep(&mut self, connection: &Connection) {
        if self.by_id.len() < self.swept_at {
            return;
        }
        let next = self.next;
        match Self::read(connection) {
            Ok(swept) => *self = Self { next: next.max(swept.next), ..swept },
            Err(trouble) => {
                let error = abide::Error::from(trouble);
                tracing::warn!(%error, "shapes that nobody has are kept for now");
                self.swept_at *= 2;
            }
        }
    }

    fn hold(&mut self, id: i64, shape: Shape) {
        self.covering.insert(shape.pattern(), id);
        self.ids.insert(shape.clone(), id);
        self.by_id.insert(id, shape);
        self.next = self.next.max(id + 1);
    }

    /// The id of a shape that some wait has.
    pub(crate) fn known(&self, shape: &Shape) -> Option<i64> {
        self.ids.get(shape).copied()
    }

    /// The id of a shape, which is stored when it is new.
    pub(crate) fn id(&mut self, connection: &Connection, shape: &Shape) -> rusqlite::Result<i64> {
        if let Some(id) = self.known(shape) {
            return Ok(id);
        }
        let id = self.next;
        let mut insert = connection
            .prepare_cached("INSERT INTO shapes (id, pattern, paths) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![id, shape.pattern(), shape.paths_text()])?;
        self.hold(id, shape.clone());
        self.added.push(id);
        Ok(id)
    }

    /// The shapes that cover a type.
    pub(crate) fn covering(&self, event_type: &str) -> Vec<(i64, &Shape)> {
        let mut found = Vec::new();
        self.covering.covering(event_type, |id| {
            found.extend(self.by_id.get(&id).map(|shape| (id, shape)));
        });
        found
    }

    /// A place to which additions can be taken back.
    pub(crate) fn mark(&self) -> usize {
        self.added.len()
    }

    /// Takes back what was added since a mark.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        for id in self.added.drain(mark..) {
            if let Some(shape) = self.by_id.remove(&id) {
                self.covering.remove(shape.pattern(), id);
                self.ids.remove(&shape);
            }
        }
    }

    /// The batch is durable.
    pub(crate) fn settle(&mut self) {
        self.added.clear();
    }
}
