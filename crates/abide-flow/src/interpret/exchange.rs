//! Steps that tell others something: messages, events, outputs, updates, children.

use std::sync::Arc;

use abide::{Error, Failure, Json, Message, OnTerminal, Publication, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use crate::flow::{Emit, Kind, Publish, Send, SendEvent, Sending, SetOutput, StartChild, Step};

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
    let how = How::of(frame, &send.sending, "send")?;
    shown(&how.applied(frame.cx.named(&step.id).send(&to, &topic, payload)).await?)
}

async fn event(frame: &Frame, step: &Step, send: &SendEvent) -> Result<Value, Trouble> {
    let to = frame.instance(&send.to, "sendEvent.to")?;
    let event_type = frame.text(&send.event_type, "sendEvent.type")?;
    let payload = frame.render_or(send.payload.as_ref(), "sendEvent.payload", Value::Null)?;
    let how = How::of(frame, &send.sending, "sendEvent")?;
    shown(&how.applied(frame.cx.named(&step.id).send_event(&to, &event_type, payload)).await?)
}

/// How something is sent, as the document says. Made before the step is named: one that can't begin
/// has not had its turn.
struct How {
    on_terminal: OnTerminal,
    id: Option<String>,
    visible_at: Option<Timestamp>,
}

impl How {
    fn of(frame: &Frame, sending: &Sending, at: &str) -> Result<Self, Failure> {
        let id = sending.id.as_ref().map(|id| frame.text(id, &format!("{at}.id")));
        let moment = sending.visible_at.as_ref();
        let moment = moment.map(|moment| frame.moment(moment, &format!("{at}.visibleAt")));
        let delay = frame.duration_of(sending.delay.as_ref(), &format!("{at}.delay"))?;
        let later = delay.map(|delay| frame.cx.now().after(delay));
        let visible_at = later.or(moment.transpose()?);
        Ok(Self { on_terminal: sending.on_terminal, id: id.transpose()?, visible_at })
    }

    fn applied(self, message: Message) -> Message {
        let mut message = message.on_terminal(self.on_terminal);
        if let Some(id) = &self.id {
            message = message.id(id);
        }
        match self.visible_at {
            Some(moment) => message.visible_at(moment),
            None => message,
        }
    }
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
    let id = start.id.as_ref().map(|id| frame.text(id, "workflow.id")).transpose()?;
    let timeout = frame.timeout(step)?;
    let mut child = frame.cx.named(&step.id).child::<Value>(&name, input);
    if let Some(id) = id {
        child = child.id(id);
    }
    if let Some(timeout) = timeout {
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
