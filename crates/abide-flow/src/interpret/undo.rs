//! What undoes a step: another step of the document, run when the workflow fails or is terminated with
//! compensation.

use std::sync::{Arc, OnceLock};

use abide::{BoxError, Error, Failure};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::flow::{Kind, Step};

use super::effect::Effect;
use super::frame::Frame;
use super::snapshot::Snapshot;

/// Undoes a step, given its output.
pub(super) type Undo =
    Box<dyn FnMut(Value) -> BoxFuture<'static, Result<(), BoxError>> + Send + 'static>;

/// What undoes a step, if the document says so.
pub(super) fn of(
    frame: &Frame,
    step: &Step,
    known: &Arc<Snapshot>,
) -> Result<Option<Undo>, Failure> {
    let Some(id) = &step.compensate else { return Ok(None) };
    let handlers = frame.shared.flow.handlers.iter().chain(&frame.shared.flow.steps);
    let Some(handler) = handlers.into_iter().find(|handler| handler.id == *id) else {
        let message = format!("`compensate`: there is no step {id:?}");
        return Err(Failure::new("DEFINITION_INVALID", message));
    };
    let (undone, handler) = (Arc::clone(&step.id), Arc::clone(handler));
    let (known, equipment) = (Arc::clone(known), Arc::clone(&frame.shared.equipment));
    Ok(Some(Box::new(move |output| {
        let mut known = (*known).clone();
        known.steps[&*undone] = json!({ "output": output });
        let name = Arc::new(OnceLock::from(format!("compensate {undone}")));
        let (step, equipment) = (Arc::clone(&handler), Arc::clone(&equipment));
        Effect { known: Arc::new(known), step, equipment, name }
            .run()
            .map(|done| done.map(drop))
            .boxed()
    })))
}

/// Keeps how to undo a step that is not one of the SDK's: by a step that does nothing and can be undone.
pub(super) async fn keep(frame: &Frame, step: &Step, output: &Value) -> Result<(), Error> {
    let is_done = matches!(step.kind, Kind::Http(_) | Kind::Tool(_) | Kind::Call(_));
    if is_done || step.compensate.is_none() {
        return Ok(());
    }
    let known = Arc::new(frame.snapshot());
    let Some(undo) = of(frame, step, &known).map_err(Error::Failed)? else { return Ok(()) };
    let output = output.clone();
    let done = frame.cx.step(&format!("{} done", step.id), move || {
        let output = output.clone();
        async move { Ok::<_, Error>(output) }
    });
    done.compensate(undo).await.map(drop)
}
