//! Steps that do something outside: URLs, tools, functions of the program. And `set`, which does
//! something to the context.

use std::sync::{Arc, OnceLock};

use abide::BoxError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::{Map, Value};

use crate::equipment::Equipment;
use crate::flow::{Kind, Step};
use crate::http::HttpResponse;

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
    // The two kinds of steps are said the same about.
    macro_rules! run {
        ($running:expr) => {{
            let mut running = $running.retry(retry);
            if let Some(timeout) = timeout {
                running = running.timeout(timeout);
            }
            if let Some(undo) = undo {
                running = running.compensate(undo);
            }
            // Set before the step is first polled, and so before anybody asks.
            let _ = name.set(running.name().unwrap_or(&step.id).to_owned());
            Ok(running.await?)
        }};
    }
    match &step.kind {
        Kind::Http(http) if http.stream => {
            let begin = move || effect.clone().stream();
            run!(frame.cx.stream_step_with(&step.id, begin, answer))
        }
        _ => run!(frame.cx.step(&step.id, move || effect.clone().run())),
    }
}

/// What a step whose answer came piece by piece comes to.
fn answer(head: HttpResponse, text: String) -> Result<Value, BoxError> {
    Ok(serde_json::to_value(HttpResponse { body: text.into(), ..head })?)
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

/// The head of an answer, and its body piece by piece.
type Streamed = (HttpResponse, BoxStream<'static, Result<String, BoxError>>);

impl Effect {
    /// What is the same for every attempt.
    fn key(&self) -> String {
        let name = self.name.get().map_or(&*self.step.id, String::as_str);
        format!("{}/{}/{name}", self.known.instance, self.known.run)
    }

    /// Begins what is shown while it comes.
    fn stream(self) -> BoxFuture<'static, Result<Streamed, BoxError>> {
        async move {
            let key = self.key();
            match &self.step.kind {
                Kind::Http(http) => self.equipment.http_stream(&self.known, http, key).await,
                _ => Err(self.not_apart()),
            }
        }
        .boxed()
    }

    fn not_apart(&self) -> BoxError {
        let message = format!("step {:?} can't be done apart from others", self.step.id);
        abide::NonRetryable::new(message).into()
    }

    pub(super) fn run(self) -> BoxFuture<'static, Result<Value, BoxError>> {
        async move {
            let key = self.key();
            let Self { known, step, equipment, .. } = &self;
            match &step.kind {
                Kind::Http(http) => equipment.http(known, http, key).await,
                Kind::Tool(tool) => equipment.tool(known, tool, key).await,
                Kind::Call(call) => equipment.call(known, call).await,
                _ => Err(self.not_apart()),
            }
        }
        .boxed()
    }
}
