//! Steps that tell others something: messages, events, outputs, updates, children.

use std::sync::Arc;

use abide::{Error, Json, Publication};
use serde::Serialize;
use serde_json::{Value, json};

use crate::flow::{Emit, Kind, Publish, Send, SendEvent, SetOutput, StartChild, Step};

use super::Trouble;
use super::frame::Frame;

pub(super) async fn run(frame: &Frame, step: &Arc<Step>) -> Result<Value, Trouble> {
    match &step.kind {
        Kind::Send(send) => message(frame, step, send).await,
        Kind::SendEvent(send) => event(frame, step, send).await,
        Kind::Publish(publish) => self::publish(frame, step, publish).await,
        Kind::SetOutput(output) => set_output(frame, output),
        Kind::Emit(emit) => self::emit(frame, emit),
        Kind::Workflow(child) => self::child(frame, step, child).await,
        _ => Ok(Value::Null),
    }
}

async fn message(frame: &Frame, step: &Step, send: &Send) -> Result<Value, Trouble> {
    let to = frame.instance(&send.to, "send.to")?;
    let topic = frame.text(&send.topic, "send.topic")?;
    let payload = frame.render_or(send.payload.as_ref(), "send.payload", Value::Null)?;
    shown(&frame.cx.named(&step.id).send(&to, &topic, payload).await?)
}

async fn event(frame: &Frame, step: &Step, send: &SendEvent) -> Result<Value, Trouble> {
    let to = frame.instance(&send.to, "sendEvent.to")?;
    let event_type = frame.text(&send.event_type, "sendEvent.type")?;
    let payload = frame.render_or(send.payload.as_ref(), "sendEvent.payload", Value::Null)?;
    shown(&frame.cx.named(&step.id).send_event(&to, &event_type, payload).await?)
}

async fn publish(frame: &Frame, step: &Step, publish: &Publish) -> Result<Value, Trouble> {
    let text =
        |field: &Option<_>, at: &str| field.as_ref().map(|field| frame.text(field, at)).transpose();
    let payload = publish.payload.as_ref().map(|field| frame.render(field, "publish.payload"));
    let payload = payload.transpose()?.map(|payload| Json::encode(&payload)).transpose()?;
    let event = Publication {
        payload,
        subject: text(&publish.subject, "publish.subject")?,
        correlation_id: text(&publish.correlation_id, "publish.correlationId")?,
        ..Publication::new(frame.text(&publish.event_type, "publish.type")?)
    };
    shown(&frame.cx.named(&step.id).publish(event).await?)
}

fn set_output(frame: &Frame, output: &SetOutput) -> Result<Value, Trouble> {
    let key = frame.text(&output.key, "setOutput.key")?;
    let value = frame.render(&output.value, "setOutput.value")?;
    frame.cx.set_output(&key, &value)?;
    Ok(json!({ key: value }))
}

fn emit(frame: &Frame, emit: &Emit) -> Result<Value, Trouble> {
    let name = frame.text(&emit.name, "emit.name")?;
    let data = frame.render_or(emit.data.as_ref(), "emit.data", Value::Null)?;
    frame.cx.emit(&name, &data)?;
    Ok(data)
}

async fn child(frame: &Frame, step: &Step, start: &StartChild) -> Result<Value, Trouble> {
    let name = frame.text(&start.name, "workflow.name")?;
    let input = frame.render_or(start.input.as_ref(), "workflow.input", Value::Null)?;
    let mut child = frame.cx.named(&step.id).child::<Value>(&name, input);
    if let Some(id) = &start.id {
        child = child.id(frame.text(id, "workflow.id")?);
    }
    if let Some(timeout) = frame.timeout(step)? {
        child = child.timeout(timeout);
    }
    if start.detached {
        return Ok(json!({ "instanceId": child.detached().await? }));
    }
    Ok(child.await?)
}

fn shown(answer: &impl Serialize) -> Result<Value, Trouble> {
    serde_json::to_value(answer)
        .map_err(|refused| Error::corrupt(format!("an answer: {refused}")).into())
}
