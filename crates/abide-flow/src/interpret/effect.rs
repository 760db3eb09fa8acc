//! Steps that do something outside: URLs, tools, functions of the program. And `set`, which does
//! something to the context.

use std::sync::{Arc, OnceLock};

use abide::BoxError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::equipment::Equipment;
use crate::flow::{Kind, Step};

use super::Trouble;
use super::frame::Frame;
use super::snapshot::Snapshot;
use super::undo;

pub(super) async fn run(frame: &Frame, step: &Arc<Step>) -> Result<Value, Trouble> {
    let output = match &step.kind {
        Kind::Set(values) => {
            let mut made = Map::new();
            for (name, field) in values {
                made.insert(name.clone(), frame.render(field, &format!("set.{name}"))?);
            }
            let made = Value::Object(made);
            let made = frame.cx.step(&step.id, move || {
                let made = made.clone();
                async move { Ok::<_, abide::Error>(made) }
            });
            made.await?
        }
        _ => outside(frame, step).await?,
    };
    if let (Kind::Set(_), Value::Object(values)) = (&step.kind, &output) {
        for (name, value) in values {
            frame.set(name, value.clone())?;
        }
    }
    Ok(output)
}

async fn outside(frame: &Frame, step: &Arc<Step>) -> Result<Value, Trouble> {
    let (retry, timeout) = (frame.retry(step)?, frame.timeout(step)?);
    let name = Arc::new(OnceLock::new());
    let effect = Effect {
        known: Arc::new(frame.snapshot()),
        step: Arc::clone(step),
        equipment: Arc::clone(&frame.shared.equipment),
        name: Arc::clone(&name),
    };
    let undo = undo::of(frame, step, &effect.known)?;
    let mut running = frame.cx.step(&step.id, move || effect.clone().run()).retry(retry);
    if let Some(timeout) = timeout {
        running = running.timeout(timeout);
    }
    if let Some(undo) = undo {
        running = running.compensate(undo);
    }
    // Set before the step is first polled, and so before anybody asks.
    let _ = name.set(running.name().unwrap_or(&step.id).to_owned());
    Ok(running.await?)
}

/// Something done outside, with everything it needs: it runs apart from the workflow's own code.
#[derive(Clone)]
pub(super) struct Effect {
    pub(super) known: Arc<Snapshot>,
    pub(super) step: Arc<Step>,
    pub(super) equipment: Arc<Equipment>,
    /// The step as the instance calls it.
    pub(super) name: Arc<OnceLock<String>>,
}

impl Effect {
    pub(super) fn run(self) -> BoxFuture<'static, Result<Value, BoxError>> {
        async move {
            let Self { known, step, equipment, name } = self;
            let name = name.get().map_or(&*step.id, String::as_str);
            let key = format!("{}/{}/{name}", known.instance, known.run);
            match &step.kind {
                Kind::Http(http) => equipment.http(&known, http, key).await,
                Kind::Tool(tool) => equipment.tool(&known, tool, key).await,
                Kind::Call(call) => equipment.call(&known, call).await,
                _ => {
                    let message = format!("step {:?} can't be done apart from others", step.id);
                    Err(abide::NonRetryable::new(message).into())
                }
            }
        }
        .boxed()
    }
}
