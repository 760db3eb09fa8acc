//! The events that the waits of a document hear.

use std::sync::Arc;

use crate::field::Field;
use crate::flow::{Flow, Kind, Step};

impl Flow {
    /// The patterns of its own waits: where it declares events, these count as declared. A pattern that
    /// is known only when the wait is reached may be any.
    pub(crate) fn heard(&self) -> Vec<String> {
        let mut heard = Vec::new();
        if !self.events.is_empty() {
            self.steps.iter().chain(&self.handlers).for_each(|step| hear(step, &mut heard));
        }
        heard
    }
}

fn hear(step: &Arc<Step>, heard: &mut Vec<String>) {
    match &step.kind {
        Kind::WaitForEvent(wait) if wait.patterns.is_empty() => heard.push(step.id.to_string()),
        Kind::WaitForEvent(wait) => {
            heard.extend(wait.patterns.iter().map(|pattern| match pattern {
                Field::Constant(serde_json::Value::String(pattern)) => pattern.clone(),
                _ => "**".to_owned(),
            }))
        }
        Kind::Parallel(branches) => branches.iter().flatten().for_each(|step| hear(step, heard)),
        Kind::Race(steps) => steps.iter().for_each(|step| hear(step, heard)),
        Kind::ForEach(each) => each.steps.iter().for_each(|step| hear(step, heard)),
        _ => {}
    }
}
