//! Steps by their ids.

use std::cell::Cell;
use std::collections::HashMap;

use abide::expr::nearest;

use super::outline::{Outline, StepIx};
use crate::finding::Findings;
use crate::tree::Lines;

pub(super) struct Ids<'o> {
    known: HashMap<&'o str, StepIx>,
    /// How many guesses are still made: each looks at every id.
    guesses: Cell<usize>,
}

impl<'o> Ids<'o> {
    /// Tells of ids that are given twice.
    pub(super) fn new(outline: &'o Outline, lines: &Lines<'_>, findings: &mut Findings) -> Self {
        let mut known: HashMap<&str, StepIx> = HashMap::with_capacity(outline.steps.len());
        for (ix, step) in outline.steps.iter().enumerate().filter(|(_, step)| !step.id.is_empty()) {
            if let Some(first) = known.get(&*step.id) {
                let line = lines.position(outline.steps[*first].at).line;
                let message = format!("the id `{}` is taken by the step in line {line}", step.id);
                let hint = "ids are unique in a document, branches included";
                findings.add(step.at, step.path.clone(), message, Some(hint.to_owned()));
            } else {
                known.insert(&step.id, ix);
            }
        }
        Self { known, guesses: Cell::new(100) }
    }

    pub(super) fn get(&self, id: &str) -> Option<StepIx> {
        self.known.get(id).copied()
    }

    /// What was probably meant by an id that nobody has.
    pub(super) fn hint(&self, id: &str) -> Option<String> {
        let left = self.guesses.get().checked_sub(1)?;
        self.guesses.set(left);
        let near = nearest(id, self.known.keys().copied());
        near.map(|near| format!("did you mean `{near}`?"))
    }
}
