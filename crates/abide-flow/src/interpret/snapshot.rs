//! Everything that a step knew, kept for what runs outside the workflow's own code: effects, and what
//! undoes them.

use std::sync::Arc;

use abide::InstanceId;
use abide::expr::{Env, Value as Seen};
use serde_json::Value;

/// What was known at one moment.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) instance: InstanceId,
    pub(crate) workflow: String,
    pub(crate) run: u32,
    pub(crate) input: Value,
    pub(crate) context: Value,
    pub(crate) steps: Value,
    pub(crate) locals: Arc<Vec<(String, Value)>>,
}

impl Snapshot {
    /// Looks with everything that was known.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Env<'_>) -> T) -> T {
        let Self { instance, workflow, run, input, context, steps, locals } = self;
        Known { instance, workflow, run: *run, input, context, steps, locals }.look(&[], look)
    }
}

/// What expressions of a document see.
pub(super) struct Known<'k> {
    pub(super) instance: &'k InstanceId,
    pub(super) workflow: &'k str,
    pub(super) run: u32,
    pub(super) input: &'k Value,
    pub(super) context: &'k Value,
    pub(super) steps: &'k Value,
    pub(super) locals: &'k [(String, Value)],
}

impl Known<'_> {
    pub(super) fn look<T>(self, more: &[(&str, &Value)], look: impl FnOnce(&Env<'_>) -> T) -> T {
        let workflow = [
            ("id", Seen::text(self.instance.as_str())),
            ("name", Seen::text(self.workflow)),
            ("run", Seen::Number(i64::from(self.run).into())),
            ("context", Seen::from(self.context)),
        ];
        let known = Env::new()
            .with("input", self.input)
            .with("workflow", Seen::object(workflow))
            .with("steps", self.steps);
        let known = self.locals.iter().fold(known, |known, (name, value)| known.with(name, value));
        look(&more.iter().fold(known, |known, (name, value)| known.with(name, *value)))
    }
}
