//! What a step of a document knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use abide::expr::{Env, Expr};
use abide::{Cx, Error, Failure, Result};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::equipment::Equipment;
use crate::field::{Field, Unresolved};
use crate::flow::{Flow, Step};

use super::snapshot::{Known, Snapshot};

/// The most steps that a run may pass, skipped ones and switches included: a circle of `next` without
/// anything that waits has to end somewhere.
const MOST_TURNS: u32 = 100_000;

/// Where a step runs: the instance, what was done before, and the items of the loops around it.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) cx: Cx,
    pub(super) shared: Arc<Shared>,
    /// `steps`: the output or error of each, by id. Every item of a loop has its own.
    steps: Arc<Mutex<Value>>,
    /// Loop variables.
    locals: Arc<Vec<(String, Value)>>,
}

/// What all steps of a run share.
pub(super) struct Shared {
    pub(super) flow: Arc<Flow>,
    pub(super) equipment: Arc<Equipment>,
    input: Value,
    /// A copy of `workflow.context`, to be looked into without reading it anew.
    context: Mutex<Value>,
    turns: AtomicU32,
}

impl Frame {
    pub(super) fn new(cx: Cx, input: Value, flow: Arc<Flow>, equipment: Arc<Equipment>) -> Self {
        let context = Mutex::new(input.clone());
        let shared = Shared { flow, equipment, input, context, turns: AtomicU32::new(0) };
        let steps = Arc::new(Mutex::new(Value::Object(Map::new())));
        Self { cx, shared: Arc::new(shared), steps, locals: Arc::default() }
    }

    /// The same run inside a loop, with its own steps and names.
    pub(super) fn inside(&self, scope: &str, place: usize, locals: &[(String, Value)]) -> Self {
        let mut all = (*self.locals).clone();
        all.extend_from_slice(locals);
        Self {
            cx: self.cx.scope(scope, place),
            shared: Arc::clone(&self.shared),
            steps: Arc::new(Mutex::new(self.steps.lock().clone())),
            locals: Arc::new(all),
        }
    }

    /// Fills `workflow.context` as the document says.
    pub(super) fn begin_context(&self) -> Result<()> {
        let Some(written) = &self.shared.flow.context else { return Ok(()) };
        let context = self.render(written, "context").map_err(Error::Failed)?;
        self.cx.context().replace(&context)?;
        *self.shared.context.lock() = context;
        Ok(())
    }

    /// Sets a variable.
    pub(super) fn set(&self, name: &str, value: Value) -> Result<()> {
        self.cx.context().set(name, &value)?;
        let mut context = self.shared.context.lock();
        if !context.is_object() {
            *context = json!({});
        }
        context[name] = value;
        Ok(())
    }

    /// Looks with everything that is known, and more.
    pub(super) fn look<T>(&self, more: &[(&str, &Value)], look: impl FnOnce(&Env<'_>) -> T) -> T {
        let (context, steps) = (self.shared.context.lock(), self.steps.lock());
        let known = Known {
            instance: self.cx.instance_id(),
            workflow: self.cx.workflow(),
            run: self.cx.run(),
            input: &self.shared.input,
            context: &context,
            steps: &steps,
            locals: &self.locals,
        };
        known.look(more, look)
    }

    /// The value of a field of a step.
    pub(super) fn render(&self, field: &Field, at: &str) -> std::result::Result<Value, Failure> {
        match field {
            Field::Constant(value) => Ok(value.clone()),
            _ => self
                .look(&[], |known| field.render(at, known))
                .map_err(|missing| unresolved(&missing)),
        }
    }

    /// The value of a field that need not be there.
    pub(super) fn render_or(
        &self,
        field: Option<&Field>,
        at: &str,
        otherwise: Value,
    ) -> std::result::Result<Value, Failure> {
        field.map_or(Ok(otherwise), |field| self.render(field, at))
    }

    /// Whether a condition holds.
    pub(super) fn holds(&self, condition: &Expr) -> std::result::Result<bool, Failure> {
        self.look(&[], |known| condition.is_match(known)).map_err(|error| {
            Failure::new("VALIDATION_ERROR", format!("{}: {error}", condition.written()))
        })
    }

    /// What an expression about an event may know beside the instance: `steps` and loop variables,
    /// if it asks for them.
    pub(super) fn known_to(&self, expr: &Expr) -> Vec<(String, Arc<Value>)> {
        let asked: Vec<String> = expr.paths().iter().map(|path| path.root().to_owned()).collect();
        let mut known = Vec::new();
        if asked.iter().any(|root| root == "steps") {
            known.push(("steps".to_owned(), Arc::new(self.steps.lock().clone())));
        }
        for (name, value) in self.locals.iter().filter(|(name, _)| asked.contains(name)) {
            known.push((name.clone(), Arc::new(value.clone())));
        }
        known
    }

    /// Everything that is known now, for what runs later.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            instance: self.cx.instance_id().clone(),
            workflow: self.cx.workflow().to_owned(),
            run: self.cx.run(),
            input: self.shared.input.clone(),
            context: self.shared.context.lock().clone(),
            steps: self.steps.lock().clone(),
            locals: Arc::clone(&self.locals),
        }
    }

    /// Keeps what came of a step.
    pub(super) fn remember(&self, step: &Step, output: &Value) {
        self.steps.lock()[&*step.id] = json!({ "output": output });
    }

    /// Keeps how a step failed.
    pub(super) fn remember_failure(&self, step: &Step, failure: &Failure) {
        let Failure { code, message, details, .. } = failure;
        let error = json!({ "code": code, "message": message, "details": details });
        self.steps.lock()[&*step.id] = json!({ "output": null, "error": error });
    }

    /// Counts a step that is passed.
    pub(super) fn turn(&self) -> Result<()> {
        if self.shared.turns.fetch_add(1, Ordering::Relaxed) < MOST_TURNS {
            return Ok(());
        }
        let message = format!("more than {MOST_TURNS} steps were passed: is there a way out?");
        Err(Error::Failed(
            Failure::new("LIMIT_EXCEEDED", message)
                .with_details(&json!({ "limit": "flow.maxTurns" })),
        ))
    }
}

/// The failure of a step whose fields have no value.
pub(crate) fn unresolved(missing: &[Unresolved]) -> Failure {
    let told: Vec<String> = missing
        .iter()
        .map(|Unresolved { expression, field, error }| match error {
            Some(error) => format!("`{expression}` at `{field}`: {error}"),
            None => format!("`{expression}` at `{field}`"),
        })
        .collect();
    Failure::new("VALIDATION_ERROR", format!("Failed to resolve input: {}", told.join(", ")))
}
