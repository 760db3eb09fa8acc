//! Undoing what a workflow did, when it fails or is terminated with compensation.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::error::BoxError;
use crate::failure::Failure;
use crate::json::Json;
use crate::run::OpId;
use crate::workflow::Body;

use super::{Cx, Step};

/// Undoes a step, given its result.
pub(super) type Undo =
    Box<dyn FnMut(&Json) -> BoxFuture<'static, Result<(), BoxError>> + Send + 'static>;

/// A step that can be undone. Made anew by every replay, when the workflow sees the step's result.
pub(crate) struct Compensation {
    /// The operation of the step: they count up in order of start.
    started: OpId,
    step: Arc<str>,
    result: Json,
    undo: Undo,
}

impl Compensation {
    pub(super) fn new(started: OpId, step: &Arc<str>, result: Json, undo: Undo) -> Self {
        Self { started, step: Arc::clone(step), result, undo }
    }
}

/// Undoes steps in reverse order of start, each as a step of its own. One that fails does not keep
/// the others from being undone.
pub(crate) fn compensate(cx: Cx, mut compensations: Vec<Compensation>) -> Body {
    compensations.sort_by_key(|compensation| compensation.started);
    Box::pin(async move {
        let mut failed = Vec::new();
        for mut compensation in compensations.into_iter().rev() {
            let name = cx.resident.state.lock().use_name(&readable(&compensation.step));
            let undo = || (compensation.undo)(&compensation.result);
            let undone = Step::new(&cx, Ok(name), undo).await;
            if let Err(error) = undone {
                failed.push(error.to_string());
            }
        }
        if failed.is_empty() {
            return Ok(Json::null());
        }
        Err(Failure::new("COMPENSATION_FAILED", failed.join("; ")))
    })
}

/// The name of the step that undoes another: `compensate charge`, also for `item[3].charge#2`.
fn readable(step: &str) -> String {
    let plain = step.replace('[', "(").replace(']', ")").replace('#', " ");
    format!("compensate {plain}")
}
