//! Steps one after the other, with jumps.

use std::sync::Arc;

use abide::{Error, Failure};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::flow::Step;

use super::Stop;
use super::frame::Frame;
use super::perform::{Leads, Went, perform};

/// Where a list of steps is.
enum At {
    /// At this place of the list.
    List(usize),
    /// At a handler, after which it goes on at this place of the list.
    Handler(Arc<Step>, usize),
}

/// Runs a list to its end; the output of its last step is its own. Lists stand within lists, so the
/// future is boxed.
pub(super) fn run<'f>(
    frame: &'f Frame,
    steps: &'f [Arc<Step>],
    is_whole: bool,
) -> BoxFuture<'f, Result<Value, Stop>> {
    run_list(frame, steps, is_whole).boxed()
}

async fn run_list(frame: &Frame, steps: &[Arc<Step>], is_whole: bool) -> Result<Value, Stop> {
    let (mut at, mut last, mut completed) = (At::List(0), Value::Null, 0_u64);
    loop {
        let (step, after) = match at {
            At::List(place) => match steps.get(place) {
                Some(step) => (Arc::clone(step), place + 1),
                None => return Ok(last),
            },
            At::Handler(step, after) => (step, after),
        };
        frame.turn().map_err(Stop::Fail)?;
        let Went { output, goes_to } = perform(frame, &step).await?;
        last = output;
        completed += 1;
        if is_whole {
            progress(frame, after, steps.len(), completed).map_err(Stop::Fail)?;
        }
        at = match goes_to {
            Some(Leads::To(id)) => match steps.iter().position(|step| *step.id == *id) {
                Some(place) => At::List(place),
                None => At::Handler(find(frame, steps, &id)?, after),
            },
            Some(Leads::Over(id)) => At::Handler(find(frame, steps, &id)?, after),
            None => At::List(after),
        };
    }
}

/// A step that is called by its name: of this list, or a handler.
fn find(frame: &Frame, steps: &[Arc<Step>], id: &str) -> Result<Arc<Step>, Stop> {
    let mut all = steps.iter().chain(&frame.shared.flow.handlers);
    all.find(|step| *step.id == *id).cloned().ok_or_else(|| {
        let message = format!("step {id:?} can't be reached from here");
        Stop::Fail(Error::Failed(Failure::new("DEFINITION_INVALID", message)))
    })
}

/// Tells how far the workflow is. It is stored with whatever comes next.
fn progress(frame: &Frame, phase: usize, phases: usize, completed: u64) -> abide::Result<()> {
    let told = json!({
        "currentPhase": phase,
        "totalPhases": phases,
        "completedSteps": completed,
    });
    frame.cx.set_output("progress", told)
}
