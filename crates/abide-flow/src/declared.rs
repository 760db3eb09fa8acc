//! Which addressed events a workflow takes.

use abide::pattern;

use crate::field::Field;
use crate::flow::{Flow, Kind, Step};

impl Flow {
    /// The patterns of events that its own steps wait for. One that is a template and so not known before
    /// an instance runs is widened to everything that begins as it does.
    #[must_use]
    pub fn awaited(&self) -> Vec<String> {
        let mut patterns = Vec::new();
        self.steps.iter().chain(&self.handlers).for_each(|step| add_awaited(step, &mut patterns));
        patterns.sort();
        patterns.dedup();
        patterns
    }

    /// Whether it takes addressed events of this type: it declares none, or this one, or waits for it.
    #[must_use]
    pub fn declares(&self, event_type: &str) -> bool {
        self.events.is_empty()
            || self.events.iter().any(|taken| taken.event_type == event_type)
            || self.awaited().iter().any(|awaited| pattern::matches(awaited, event_type))
    }
}

fn add_awaited(step: &Step, patterns: &mut Vec<String>) {
    match &step.kind {
        Kind::WaitForEvent(wait) if wait.patterns.is_empty() => patterns.push(step.id.to_string()),
        Kind::WaitForEvent(wait) => patterns.extend(wait.patterns.iter().filter_map(widened)),
        Kind::Parallel(branches) => {
            branches.iter().flatten().for_each(|step| add_awaited(step, patterns));
        }
        Kind::Race(steps) => steps.iter().for_each(|step| add_awaited(step, patterns)),
        Kind::ForEach(each) => each.steps.iter().for_each(|step| add_awaited(step, patterns)),
        _ => {}
    }
}

fn widened(field: &Field) -> Option<String> {
    match field {
        Field::Constant(value) => value.as_str().map(str::to_owned),
        Field::Template(template) => {
            let known = template.source().split("${").next().unwrap_or("");
            let segments = known.rfind('.').map_or("", |dot| &known[..=dot]);
            Some(format!("{segments}**"))
        }
        Field::Items(_) | Field::Members(_) => None,
    }
}
