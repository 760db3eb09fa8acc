//! One thing a workflow asked for, until it has seen what came of it.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::json::Json;
use crate::run::OpId;

use super::Cx;

/// What came of it.
type Outcome = std::result::Result<Json, Failure>;

/// What every future of a [`Cx`] is, but a step, which also runs something: it asks when it is first
/// polled, waits for the outcome to be revealed, and is cancelled when it is dropped before.
pub(super) struct Asked {
    pub(super) cx: Cx,
    /// Taken when the future was made, so that polling order does not matter.
    name: Result<Arc<str>>,
    op: Option<OpId>,
}

impl Asked {
    pub(super) fn new(cx: &Cx, name: Result<Arc<str>>) -> Self {
        Self { cx: cx.clone(), name, op: None }
    }

    pub(super) fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref().ok()
    }

    /// The outcome, once revealed.
    pub(super) fn poll(
        &mut self,
        task: &mut Context<'_>,
        ask: impl FnOnce(&Cx, &Arc<str>) -> Result<OpId>,
    ) -> Poll<Result<Outcome>> {
        let op = match self.op {
            Some(op) => op,
            None => {
                self.cx.resident.check_current()?;
                let name = self.name.as_ref().map_err(Clone::clone)?;
                *self.op.insert(ask(&self.cx, name)?)
            }
        };
        let outcome = self.cx.resident.state.lock().poll(op, task.waker());
        let Some(outcome) = outcome else { return Poll::Pending };
        self.op = None;
        Poll::Ready(Ok(outcome))
    }

    /// The value, or the failure as an error of this step.
    pub(super) fn poll_value(
        &mut self,
        task: &mut Context<'_>,
        ask: impl FnOnce(&Cx, &Arc<str>) -> Result<OpId>,
    ) -> Poll<Result<Json>> {
        self.poll(task, ask).map(|outcome| {
            let outcome = outcome?;
            let name = self.name.as_ref().map_err(Clone::clone)?;
            outcome.map_err(|failure| Error::from_step(name, failure))
        })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(op) = self.op {
            self.cx.resident.state.lock().dropped(op);
        }
    }
}
