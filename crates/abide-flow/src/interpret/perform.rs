//! One step: whether it runs, what it does, and where it leads.

use std::sync::Arc;

use abide::{BoxError, Error, Failure, NonRetryable};
use serde_json::{Value, json};

use crate::flow::{Kind, Step};

use super::frame::Frame;
use super::{Stop, Trouble, branch, effect, exchange, missing, undo, wait};

/// What came of a step.
pub(super) struct Went {
    pub(super) output: Value,
    /// The step that comes next, if it is not the next of the list.
    pub(super) goes_to: Option<Leads>,
}

/// Where a step leads.
pub(super) enum Leads {
    /// The list goes on there.
    To(Arc<str>),
    /// That step takes care of a failure; then the list goes on behind the one that failed.
    Over(Arc<str>),
}

/// What a step came to by itself.
pub(super) enum Done {
    Output(Value),
    /// It only says where to go.
    GoTo(Arc<str>),
    /// One of the steps in it leads elsewhere.
    Leads(Value, Leads),
}

/// Runs a step, or skips it.
pub(super) async fn perform(frame: &Frame, step: &Arc<Step>) -> Result<Went, Stop> {
    let done = match step.condition.as_ref().map(|condition| frame.holds(condition)) {
        Some(Ok(false)) => {
            frame.remember(step, &Value::Null);
            return Ok(Went { output: Value::Null, goes_to: None });
        }
        Some(Err(failure)) => Err(Trouble::Unready(failure)),
        Some(Ok(true)) | None => execute(frame, step).await,
    };
    let error = match done {
        Ok(Done::Output(output)) => {
            frame.remember(step, &output);
            undo::keep(frame, step, &output).await.map_err(Stop::Fail)?;
            return Ok(Went { output, goes_to: step.next.clone().map(Leads::To) });
        }
        Ok(Done::GoTo(id)) => {
            frame.remember(step, &json!(id));
            return Ok(Went { output: json!(id), goes_to: Some(Leads::To(id)) });
        }
        Ok(Done::Leads(output, leads)) => {
            frame.remember(step, &output);
            undo::keep(frame, step, &output).await.map_err(Stop::Fail)?;
            return Ok(Went { output, goes_to: Some(leads) });
        }
        Err(Trouble::Stop(Stop::Fail(error))) => error,
        Err(Trouble::Stop(stop)) => return Err(stop),
        Err(Trouble::Unready(failure)) => {
            let failure = missing::of(frame, step).unwrap_or(failure);
            record(frame, step, failure).await
        }
    };
    frame.remember_failure(step, &error.to_failure());
    match handler(step, &error) {
        Some(handler) => Ok(Went { output: Value::Null, goes_to: Some(Leads::Over(handler)) }),
        None => Err(Stop::Fail(error)),
    }
}

/// Who takes care of a failure: of a timeout first its own handler.
fn handler(step: &Step, error: &Error) -> Option<Arc<str>> {
    let of_timeout = match (&step.kind, error) {
        (Kind::WaitForEvent(wait), Error::EventTimeout { .. }) => wait.timeout_handler.clone(),
        _ => None,
    };
    of_timeout.or_else(|| step.on_error.clone())
}

/// Records that a step could not begin, so that its history says why.
async fn record(frame: &Frame, step: &Step, failure: Failure) -> Error {
    let own = failure.clone();
    let fails = move || {
        let failed = NonRetryable::new(Error::Failed(own.clone()));
        async move { Err::<Value, BoxError>(failed.into()) }
    };
    match frame.cx.step(&step.id, fails).await {
        Err(error) => error,
        Ok(_) => Error::Failed(failure),
    }
}

async fn execute(frame: &Frame, step: &Arc<Step>) -> Result<Done, Trouble> {
    let output = match &step.kind {
        Kind::Switch(cases) => {
            for case in cases {
                if case.when.as_ref().map_or(Ok(true), |when| frame.holds(when))? {
                    return Ok(Done::GoTo(Arc::clone(&case.next)));
                }
            }
            Value::Null
        }
        Kind::Return(value) => {
            let value = frame.render(value, "return")?;
            return Err(Trouble::Stop(Stop::Return(value)));
        }
        Kind::Fail(fail) => {
            let code = text(frame.render(&fail.code, "fail.code")?);
            let message =
                text(frame.render_or(fail.message.as_ref(), "fail.message", json!(code))?);
            return Err(Trouble::Unready(Failure::new(code, message)));
        }
        Kind::Set(_) | Kind::Http(_) | Kind::Call(_) | Kind::Tool(_) => {
            effect::run(frame, step).await?
        }
        Kind::Sleep(_)
        | Kind::SleepUntil(_)
        | Kind::WaitForEvent(_)
        | Kind::WaitForSignal(_)
        | Kind::Receive(_)
        | Kind::GetOutput(_) => wait::run(frame, step).await?,
        Kind::Send(_)
        | Kind::SendEvent(_)
        | Kind::Publish(_)
        | Kind::SetOutput(_)
        | Kind::Emit(_)
        | Kind::Workflow(_) => exchange::run(frame, step).await?,
        Kind::Race(steps) => return branch::in_time(frame, step, branch::race(frame, steps)).await,
        Kind::Parallel(_) | Kind::ForEach(_) => {
            branch::in_time(frame, step, branch::run(frame, step)).await?
        }
    };
    Ok(Done::Output(output))
}

/// A text as it is, anything else as JSON.
pub(super) fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
