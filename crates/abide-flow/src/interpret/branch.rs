//! Steps that hold others: beside each other, against each other, for every item.

use std::pin::pin;
use std::sync::Arc;

use abide::{Error, Failure};
use futures_util::StreamExt;
use futures_util::future::{Either, join_all, select, select_all};
use futures_util::stream;
use serde_json::{Value, json};

use crate::flow::{Branch, ForEach, Kind, Step};

use super::frame::Frame;
use super::perform::{Done, perform};
use super::{Stop, Trouble, list};

pub(super) async fn run(frame: &Frame, step: &Arc<Step>) -> Result<Value, Trouble> {
    match &step.kind {
        Kind::Parallel(branches) => parallel(frame, branches).await,
        Kind::ForEach(each) => for_each(frame, step, each).await,
        _ => Ok(Value::Null),
    }
}

/// Lets the steps within take no longer than the one that holds them may; then they are dropped.
pub(super) async fn in_time<T>(
    frame: &Frame,
    step: &Step,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let Some(timeout) = frame.duration_of(step.timeout.as_ref(), "timeout")? else {
        return work.await;
    };
    let timer = frame.cx.sleep(&format!("{} timeout", step.id), timeout);
    match select(pin!(work), timer).await {
        Either::Left((done, _)) => done,
        Either::Right((slept, _)) => {
            slept?;
            let message = format!("step {:?} took longer than {timeout:?}", step.id);
            let failure = Failure::new("STEP_TIMEOUT", message).in_step(&step.id);
            let details = json!({ "timeoutMs": timeout.as_millis() as u64 });
            Err(Error::Failed(failure.with_details(&details)).into())
        }
    }
}

/// Every branch settles; then the first that failed decides.
async fn parallel(frame: &Frame, branches: &[Branch]) -> Result<Value, Trouble> {
    let branches = branches.iter().map(|branch| list::run(frame, branch, false));
    all(join_all(branches).await)
}

fn all(outcomes: Vec<Result<Value, Stop>>) -> Result<Value, Trouble> {
    let outputs: Result<Vec<Value>, Stop> = outcomes.into_iter().collect();
    outputs.map(Value::Array).map_err(Trouble::Stop)
}

/// The first to finish decides, and the others are dropped.
pub(super) async fn race(frame: &Frame, steps: &[Arc<Step>]) -> Result<Done, Trouble> {
    let runners: Vec<_> = steps.iter().map(|step| Box::pin(perform(frame, step))).collect();
    if runners.is_empty() {
        return Err(Failure::new("VALIDATION_ERROR", "`race`: nobody runs").into());
    }
    let (went, winner, _) = select_all(runners).await;
    let went = went.map_err(Trouble::Stop)?;
    let output = json!({ "winner": steps[winner].id, "output": went.output });
    Ok(match went.goes_to {
        Some(leads) => Done::Leads(output, leads),
        None => Done::Output(output),
    })
}

async fn for_each(frame: &Frame, step: &Step, each: &ForEach) -> Result<Value, Trouble> {
    let items = match frame.render(&each.items, "forEach.items")? {
        Value::Array(items) => items,
        other => {
            let message = format!("`forEach.items` must be an array, not {}", kind_of(&other));
            return Err(Failure::new("VALIDATION_ERROR", message).into());
        }
    };
    let at_once = match &each.concurrency {
        Some(most) => frame.number(most, "forEach.concurrency")?.max(1) as usize,
        None => items.len().max(1),
    };
    let runs = items.into_iter().enumerate().map(|(place, item)| {
        let locals = [(each.name.clone(), item), ("index".to_owned(), json!(place))];
        let frame = frame.inside(&step.id, place, &locals);
        async move { list::run(&frame, &each.steps, false).await }
    });
    let outcomes: Vec<_> = stream::iter(runs).buffered(at_once).collect().await;
    all(outcomes)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
