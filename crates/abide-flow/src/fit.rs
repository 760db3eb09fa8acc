//! Whether an instance that began with one version of a document could go on with another.
//!
//! An instance keeps its version, so nothing has to fit. But who changes a document may want to know
//! what became of those that run, had they to go on with the new one: a step that was recorded must be
//! there, in the same place among loops, and still do the same kind of thing.

use std::collections::HashMap;
use std::sync::Arc;

use abide::{StepRecord, StepStatus};

use crate::flow::{Flow, Kind, Step};

/// Two versions of a document, compared step by step.
pub struct Fit {
    before: Places,
    after: Places,
}

/// A step of an instance that has no counterpart in the other version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The step, within its loops: `each[].charge`.
    pub step: String,
    /// What it was.
    pub kind: &'static str,
    /// What it would be; nothing when it is missing.
    pub becomes: Option<&'static str>,
    /// Whether the instance is at this very step.
    pub is_open: bool,
}

impl Fit {
    /// Compares two versions.
    #[must_use]
    pub fn between(before: &Flow, after: &Flow) -> Self {
        Self { before: Places::of(before), after: Places::of(after) }
    }

    /// What stands in the way of an instance with these steps, each once. Nothing: it could go on.
    #[must_use]
    pub fn misfits(&self, steps: &[StepRecord]) -> Vec<Misfit> {
        let mut misfits: Vec<Misfit> = Vec::new();
        for record in steps {
            let place = place(&record.name);
            // What the engine notes beside the steps of the document is no step of it.
            let Some((place, kind)) = self.before.find(&place) else { continue };
            let becomes = self.after.find(place).map(|(_, kind)| kind);
            if becomes == Some(kind) {
                continue;
            }
            let is_open = matches!(
                record.status,
                StepStatus::Running | StepStatus::Sleeping | StepStatus::Waiting
            );
            match misfits.iter_mut().find(|known| known.step == place) {
                Some(known) => known.is_open |= is_open,
                None => misfits.push(Misfit { step: place.to_owned(), kind, becomes, is_open }),
            }
        }
        misfits
    }
}

/// The steps of a document by where they stand.
struct Places {
    steps: HashMap<String, &'static str>,
    /// They run wherever they are called, in loops, too.
    handlers: HashMap<Arc<str>, &'static str>,
}

impl Places {
    fn of(flow: &Flow) -> Self {
        let mut places = Self { steps: HashMap::new(), handlers: HashMap::new() };
        places.add("", &flow.steps);
        places.add("", &flow.handlers);
        let named = |handler: &Arc<Step>| (Arc::clone(&handler.id), handler.kind.name());
        places.handlers = flow.handlers.iter().map(named).collect();
        places
    }

    fn add(&mut self, within: &str, steps: &[Arc<Step>]) {
        for step in steps {
            self.steps.insert(format!("{within}{}", step.id), step.kind.name());
            match &step.kind {
                Kind::Parallel(branches) => branches.iter().for_each(|b| self.add(within, b)),
                Kind::Race(steps) => self.add(within, steps),
                Kind::ForEach(each) => self.add(&format!("{within}{}[].", step.id), &each.steps),
                _ => {}
            }
        }
    }

    /// The step at a place and what it does. What can be undone is noted once more when it is done.
    fn find<'p>(&self, place: &'p str) -> Option<(&'p str, &'static str)> {
        let at = |place: &'p str| {
            let last = place.rsplit("[].").next().unwrap_or(place);
            let found = self.steps.get(place).or_else(|| self.handlers.get(last));
            found.map(|kind| (place, *kind))
        };
        at(place).or_else(|| place.strip_suffix(" done").and_then(at))
    }
}

/// Where a step of an instance stands in its document: `each[2].charge#3` at `each[].charge`.
fn place(name: &str) -> String {
    let name = name.rsplit_once('#').map_or(name, |(name, _)| name);
    let mut parts = name.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |place, part| {
        let (_, rest) = part.split_once(']').unwrap_or(("", part));
        format!("{place}[]{rest}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_items_are_no_part_of_a_place() {
        for (name, at) in [
            ("charge", "charge"),
            ("charge#2", "charge"),
            ("each[12].charge#3", "each[].charge"),
            ("a[0].b[1].c", "a[].b[].c"),
        ] {
            assert_eq!(place(name), at);
        }
    }
}
