//! By what the events of a type can be looked up, in memory. The rows are in `event_paths`.
//!
//! Changes are journalled, and taken back with their batch.

use abide::Result;
use abide::expr::Path;
use abide::index::Shape;
use hashbrown::HashMap;
use rusqlite::Connection;

use crate::failure::Trouble;

/// `lookback.maxPaths`: how many sets of paths are looked up by per type. Each costs a row per event.
pub(crate) const MAX_PATHS: usize = 16;

/// All of them, by type.
#[derive(Default)]
pub(crate) struct Paths {
    by_type: HashMap<String, Vec<Indexed>>,
    /// How many have yet to look at older events: most of the time none.
    incomplete: usize,
    next: i64,
    journal: Vec<Undo>,
}

/// Paths of a type at which events are looked up together.
#[derive(Clone, Debug)]
pub(crate) struct Indexed {
    pub(crate) id: i64,
    /// The type and the paths.
    pub(crate) shape: Shape,
    /// Events up to `upto` that come after this have yet to be looked at.
    pub(crate) done: i64,
    pub(crate) upto: i64,
}

impl Indexed {
    pub(crate) fn is_complete(&self) -> bool {
        self.done >= self.upto
    }
}

/// How to take back one change: what there was of a type before.
struct Undo {
    event_type: String,
    before: Vec<Indexed>,
}

impl Paths {
    pub(crate) fn read(connection: &Connection) -> Result<Self, Trouble> {
        let mut paths = Self { next: 1, ..Self::default() };
        let mut select =
            connection.prepare("SELECT id, type, paths, done, upto FROM event_paths")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let (name, text): (String, String) = (row.get(1)?, row.get(2)?);
            let shape = Shape::from_stored(&name, &text)?;
            let indexed = Indexed { id: row.get(0)?, shape, done: row.get(3)?, upto: row.get(4)? };
            paths.next = paths.next.max(indexed.id + 1);
            paths.incomplete += usize::from(!indexed.is_complete());
            paths.by_type.entry(name).or_default().push(indexed);
        }
        Ok(paths)
    }

    /// By what the events of a type are looked up.
    pub(crate) fn of(&self, event_type: &str) -> &[Indexed] {
        self.by_type.get(event_type).map_or(&[], Vec::as_slice)
    }

    /// Whether they are looked up by exactly these paths.
    pub(crate) fn find(&self, event_type: &str, paths: &[Path]) -> Option<&Indexed> {
        self.of(event_type).iter().find(|indexed| indexed.shape.paths() == paths)
    }

    /// One that has yet to look at older events.
    pub(crate) fn incomplete(&self) -> Option<&Indexed> {
        if self.incomplete == 0 {
            return None;
        }
        self.by_type.values().flatten().find(|indexed| !indexed.is_complete())
    }

    /// Adds one, under an id that it is to be stored with.
    pub(crate) fn add(&mut self, shape: Shape, upto: i64) -> Indexed {
        let indexed = Indexed { id: self.next, shape, done: 0, upto };
        self.next += 1;
        let added = indexed.clone();
        self.change(added.shape.pattern(), |all| all.push(indexed));
        added
    }

    /// Events up to a number were looked at.
    pub(crate) fn advance(&mut self, of: &Indexed, done: i64) {
        self.change(of.shape.pattern(), |all| {
            all.iter_mut().filter(|indexed| indexed.id == of.id).for_each(|i| i.done = done);
        });
    }

    /// Nothing is left of a type.
    pub(crate) fn forget(&mut self, event_type: &str) {
        if self.by_type.contains_key(event_type) {
            self.change(event_type, Vec::clear);
        }
    }

    fn change(&mut self, event_type: &str, change: impl FnOnce(&mut Vec<Indexed>)) {
        let all = self.by_type.entry(event_type.to_owned()).or_default();
        self.journal.push(Undo { event_type: event_type.to_owned(), before: all.clone() });
        self.incomplete -= incomplete(all);
        change(all);
        self.incomplete += incomplete(all);
        if all.is_empty() {
            self.by_type.remove(event_type);
        }
    }

    pub(crate) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Takes back everything since a mark, newest first.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        for Undo { event_type, before } in self.journal.drain(mark..).rev() {
            self.incomplete += incomplete(&before);
            let undone = if before.is_empty() {
                self.by_type.remove(&event_type)
            } else {
                self.by_type.insert(event_type, before)
            };
            self.incomplete -= undone.map_or(0, |all| incomplete(&all));
        }
    }

    /// The batch is durable.
    pub(crate) fn settle(&mut self) {
        self.journal.clear();
    }
}

fn incomplete(all: &[Indexed]) -> usize {
    all.iter().filter(|indexed| !indexed.is_complete()).count()
}
