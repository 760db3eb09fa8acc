//! Steps that a test answers for, and how often each step ran.

use std::collections::HashMap;
use std::sync::Arc;

use abide::{BoxError, InstanceId, Json, StepCall};
use parking_lot::Mutex;

type Answer = dyn Fn(u32) -> Result<Json, BoxError> + Send + Sync;

/// An attempt that ran.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    pub(super) instance: InstanceId,
    pub(super) workflow: String,
    pub(super) run: u32,
    pub(super) step: String,
}

/// See the module. A clone has the same answers and has seen nothing run.
#[derive(Default)]
pub(super) struct Steps {
    answers: HashMap<String, Arc<Answer>>,
    ran: Mutex<Vec<Ran>>,
}

impl Clone for Steps {
    fn clone(&self) -> Self {
        Self { answers: self.answers.clone(), ran: Mutex::default() }
    }
}

impl Steps {
    pub(super) fn replace(&mut self, name: &str, answer: Arc<Answer>) {
        self.answers.insert(name.to_owned(), answer);
    }

    /// A step is about to run.
    pub(super) fn call(&self, call: &StepCall<'_>) -> Option<Result<Json, BoxError>> {
        self.ran.lock().push(Ran {
            instance: call.instance.clone(),
            workflow: call.workflow.to_owned(),
            run: call.run,
            step: call.step.to_owned(),
        });
        let answer = names(call.step).into_iter().find_map(|name| self.answers.get(name))?;
        Some(answer(call.attempt))
    }

    pub(super) fn runs_of(&self, step: &str) -> usize {
        self.ran.lock().iter().filter(|ran| names(&ran.step).contains(&step)).count()
    }

    /// Everything that ran so far, in order.
    pub(super) fn ran(&self) -> Vec<Ran> {
        self.ran.lock().clone()
    }
}

/// What a step may be called, the most particular first: `item[3].charge#2`, `item[3].charge`,
/// `charge#2`, `charge`.
pub(super) fn names(step: &str) -> [&str; 4] {
    let unscoped = step.rsplit("].").next().unwrap_or(step);
    [step, unnumbered(step), unscoped, unnumbered(unscoped)]
}

fn unnumbered(name: &str) -> &str {
    name.split('#').next().unwrap_or(name)
}
